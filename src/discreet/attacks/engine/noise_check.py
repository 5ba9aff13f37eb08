"""Whether independent fits draw independent noise: found out before anything counts."""

from __future__ import annotations

import time
from typing import Any

from discreet.attacks.engine.making import is_maker
from discreet.attacks.engine.randomness import fixed_seeds
from discreet.attacks.engine.targets import Target
from discreet.attacks.games.observing import everything_shown
from discreet.errors import DiscreetError, UsageError

__all__ = ["notes_on_noise"]

REFITS = 8
"""Fits of each of two copies: equal answers in all of them are no accident."""


def notes_on_noise(target: Target, small: Any, *, seconds: float) -> tuple[str, ...]:
    """Notes about a model with a claim that gives the same answers in every fit.

    Parameters
    ----------
    small
        Something small to fit.
    seconds
        After this time nothing more is tried.

    Raises
    ------
    UsageError
        Where copies of an object draw the same noise one after the other: each has the state of the same generator,
        which cannot be given a new one, and no run would be independent of the others.
    """
    ends = time.monotonic() + seconds
    try:
        one, other = target.fit(small), target.fit(small)
        first = last = everything_shown(one, target.views)
        if everything_shown(other, target.views) != first:
            return ()
        seeds = fixed_seeds(_inside(one.model))
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


def _inside(model: Any) -> Any:
    return getattr(model, "model_", model)
