"""A new model for every run, with noise that is independent of all other runs."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from typing import Any

from discreet.attacks.engine.foreign.wrapper import is_foreign
from discreet.attacks.engine.randomness import reseed
from discreet.errors import DiscreetError, EvaluationError, Remedy, UsageError

__all__ = ["Made", "is_maker", "made"]


@dataclass(frozen=True)
class Made:
    """A class or function with its settings, called anew for every run.

    Parameters
    ----------
    make
        What makes a model.
    settings
        Its keyword arguments.

    Examples
    --------
    >>> from discreet.counting import ItemCounts
    >>> Made(ItemCounts, {"epsilon": 1, "cap": 3})().cap
    3
    """

    make: Callable[..., Any]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            inspect.signature(self.make).bind(**self.settings)
        except TypeError as error:
            raise UsageError(
                f"{_called(self.make)} cannot be made with these settings: {error}.",
                remedy=Remedy("Give a function that makes it.", cli="Give its settings with --option NAME=VALUE."),
            ) from None
        except ValueError:
            pass  # a signature that Python does not know; the call will tell

    def __call__(self) -> Any:
        return self.make(**copy.deepcopy(dict(self.settings)))


def is_maker(prototype: Any) -> bool:
    """Whether it makes models, and is not one itself."""
    if isinstance(prototype, type | partial) or inspect.isroutine(prototype):
        return True
    return callable(prototype) and not any(callable(getattr(prototype, name, None)) for name in ("fit", "release"))


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
            f"{_called(prototype)}() raised {type(error).__name__}: {error}.",
            remedy=Remedy("Give a function that makes it.", cli="Give its settings with --option NAME=VALUE."),
        ) from error


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
    """The same settings in a new object, where the class says what its settings are: what it draws when it is made, it
    draws again. None where it does not say.
    """
    if is_dataclass(prototype):
        settings = {one.name: getattr(prototype, one.name) for one in fields(prototype) if one.init}
    elif callable(getattr(prototype, "get_params", None)):
        settings = prototype.get_params(deep=False)
    else:
        return None
    return type(prototype)(**copy.deepcopy(settings))


def _called(make: Any) -> str:
    if isinstance(make, Made):
        return _called(make.make)
    return getattr(make, "__qualname__", None) or type(make).__name__
