"""A new model for every run, and whether its noise is independent of that of all other runs."""

from __future__ import annotations

import copy
import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from discreet.attacks.engine.foreign import is_foreign, name_of
from discreet.attacks.engine.randomness import fixed_seeds, reseed
from discreet.attacks.games.observing import everything_shown
from discreet.errors import DiscreetError, EvaluationError, Remedy, UsageError
from discreet.models.foreign.lookup import is_outside, of_library
from discreet.models.foreign.making import called
from discreet.models.recommender import Recommender
from discreet.models.registry import create

if TYPE_CHECKING:
    from discreet.attacks.engine.targets import Target

__all__ = ["by_name", "is_maker", "made", "makers_of", "notes_on_noise", "speaks_for_itself"]

REFITS = 8
"""Fits of each of two copies: equal answers in all of them are no accident."""


def is_maker(prototype: Any) -> bool:
    """Whether it makes models, and is not one itself."""
    if isinstance(prototype, type | partial) or inspect.isroutine(prototype):
        return True
    return callable(prototype) and not any(callable(getattr(prototype, name, None)) for name in ("fit", "release"))


def by_name(model: Any) -> Any:
    """A model, method or maker as it is; of a name what it stands for, with the settings that it has without any.

    Names are those of discreet and of models of other libraries ("lenskit:ItemKNN"), never code.
    """
    if not isinstance(model, str):
        return model
    return of_library(model) if is_outside(model) else create(model)


def makers_of(models: Any) -> dict[str, Callable[[], Any]]:
    """What makes models, by name: of one maker or name, or of several with their names."""
    listed = models if isinstance(models, Mapping) else {"": models}
    makers = {name: partial(made, by_name(one)) if isinstance(one, str) else one for name, one in listed.items()}
    return {name or name_of(make()): make for name, make in makers.items()}


def made(prototype: Any) -> Any:
    """A model for one run: from a class or function by calling it, from an object by building or copying it.

    Generators inside a copy get a new state, but for those with a fixed seed.
    """
    if not is_maker(prototype):
        return _copied(prototype)
    try:
        return prototype()
    except DiscreetError:
        raise
    except Exception as error:
        raise EvaluationError(
            f"{called(prototype)}() raised {type(error).__name__}: {error}.",
            remedy=Remedy("Give a function that makes it.", cli="Give its settings with --option NAME=VALUE."),
        ) from error


def speaks_for_itself(prototype: Any) -> bool:
    """Whether a model states its own guarantee."""
    example = made(prototype)
    return isinstance(example, Recommender) or callable(getattr(example, "release", None))


def _copied(prototype: Any) -> Any:
    if not is_foreign(prototype):
        return copy.deepcopy(prototype)
    try:
        model = _built_again(prototype)
        if model is None:
            model = copy.deepcopy(prototype)
    except Exception as error:
        raise UsageError(
            f"{type(prototype).__name__} cannot be copied for every run: {type(error).__name__}: {error}.",
            remedy="Give its class, or a function that makes it.",
        ) from error
    reseed(model)
    return model


def _built_again(prototype: Any) -> Any:
    """A new object, which draws again what it draws when it is made, where the class says what its settings are."""
    if is_dataclass(prototype):
        settings = {one.name: getattr(prototype, one.name) for one in fields(prototype) if one.init}
    elif callable(getattr(prototype, "get_params", None)):
        settings = prototype.get_params(deep=False)
    else:
        return None
    return type(prototype)(**copy.deepcopy(settings))


def notes_on_noise(target: Target, small: Any, *, seconds: float) -> tuple[str, ...]:
    """Notes about a model with a claim that gives the same answers in every fit to a small dataset.

    Copies of an object that draw the same noise one after the other are refused: each has the state of the same
    generator, which cannot be given a new one, and no run would be independent of the others.
    """
    ends = time.monotonic() + seconds
    try:
        one, other = target.fit(small), target.fit(small)
        first = last = everything_shown(one, target.views)
        if everything_shown(other, target.views) != first:
            return ()
        seeds = fixed_seeds(getattr(one.model, "model_", one.model))
        if seeds:
            return (
                f"the noise comes from a fixed seed ({', '.join(seeds[:3])}): two fits to the same records gave the "
                "same answers",
            )
        if not is_maker(target.prototype):
            for _ in range(REFITS - 1):
                if time.monotonic() > ends:
                    break
                one, other = (target.fit_again(each, small) for each in (one, other))
                last = everything_shown(one, target.views)
                if everything_shown(other, target.views) != last:
                    return ()
        if last != first:
            raise UsageError(
                f"copies of this {target.name} draw the same noise: it has a random state that cannot be renewed, so "
                "that runs would not be independent.",
                remedy="Give its class, or a function that makes one with a state of its own.",
            )
    except UsageError:
        raise
    except DiscreetError:
        return ()
    return (
        "two fits to the same records gave the same answers: there is no noise, or it comes from a fixed seed or from "
        "the records (noise that is drawn when an object is made needs its class or a function instead of the object)",
    )
