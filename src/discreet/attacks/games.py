"""One game of an attack: the two worlds, what was answered, and how the answers of many games add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale

__all__ = ["Game", "Outcome", "Tally", "guessed_right", "one_step_off"]

CONTINUOUS = 200
"""On a scale without steps a guess is right within this part of its width."""


@dataclass(frozen=True)
class Game:
    """One target: what is known, what is hidden, who is invented."""

    target: int
    hidden: NDArray[np.int32]
    truth: NDArray[np.float64] | None
    probe: int
    observer: int
    sybils: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64] | None]

    def world(self, data: Interactions, *, present: bool) -> Interactions:
        """The records with the sybils, and with or without the target."""
        kept = slice(None) if present else data.user != self.target
        user, item, rating = self.sybils
        columns: dict[str, Any] = {
            "user_id": np.concatenate([data.user[kept].astype(np.int64), user]),
            "item_id": data.items.take(np.concatenate([data.item[kept], item])),
        }
        if data.rating is not None and rating is not None:
            columns["rating"] = np.concatenate([data.rating[kept].astype(np.float64), rating])
        return Interactions(pl.DataFrame(columns), items=data.items, scale=data.scale, name=data.name)


@dataclass(frozen=True)
class Outcome:
    """One game: which hidden ratings were guessed right, which were answered, how far off the answers were."""

    right: NDArray[np.bool_]
    answered: NDArray[np.bool_]
    errors: NDArray[np.float64] | None
    probe: int


@dataclass(frozen=True)
class Tally:
    """All games of one kind together."""

    exact: float
    unanswered: float
    mae: float | None
    hits: int

    @classmethod
    def of(cls, outcomes: list[Outcome]) -> Tally:
        right = np.concatenate([outcome.right for outcome in outcomes])
        answered = np.concatenate([outcome.answered for outcome in outcomes])
        errors = [o.errors[o.answered] for o in outcomes if o.errors is not None]
        flat = np.concatenate(errors) if errors else np.zeros(0)
        return cls(
            exact=float(right.mean()),
            unanswered=float(1 - answered.mean()),
            mae=float(flat.mean()) if flat.size else None,
            hits=sum(bool(outcome.right[outcome.probe]) for outcome in outcomes),
        )


def guessed_right(guesses: NDArray[np.float64], truth: NDArray[np.float64], scale: RatingScale) -> NDArray[np.bool_]:
    """Which guesses come to the true rating when they are rounded to the step of the scale.

    Examples
    --------
    >>> guessed_right(np.array([3.4, 3.5]), np.array([3.0, 3.0]), RatingScale.of("1:5"))
    array([ True, False])
    """
    if scale.step is None:
        return np.abs(guesses - truth) <= float(scale.width) / CONTINUOUS
    low, step = float(scale.low), float(scale.step)
    rounded = low + step * np.floor((guesses - low) / step + 0.5)
    return np.abs(rounded - truth) < step / 2


def one_step_off(ratings: NDArray[np.float64], scale: RatingScale) -> NDArray[np.float64]:
    """The next rating above, or below for the highest; a tenth of the width on a scale without steps.

    Examples
    --------
    >>> one_step_off(np.array([1.0, 5.0]), RatingScale.of("1:5"))
    array([2., 4.])
    """
    step = float(scale.step or scale.width / 10)
    return np.where(ratings + step <= float(scale.high) + step / 1000, ratings + step, ratings - step)
