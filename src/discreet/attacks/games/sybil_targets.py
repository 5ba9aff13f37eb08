"""One target of the sybil attack: the two datasets, what was answered, and sums over many targets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from discreet.attacks.games.datasets import with_users
from discreet.common.arrays import Codes, Floats, Integers, Mask
from discreet.common.remedies import DECLARE_SCALE, KEEP_LATEST
from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale
from discreet.errors import UsageError

__all__ = ["Outcome", "Sees", "SybilTarget", "as_features", "guessed_right", "one_step_off", "tally"]

Sees = Literal["ratings", "list"]

CONTINUOUS = 200
"""On a scale without steps a guess is right within this part of its width."""
FAR_BELOW = 2**40


@dataclass(frozen=True)
class SybilTarget:
    """One target: what is known, what is hidden, who is invented."""

    target: int
    hidden: Codes
    truth: Floats | None
    probe: int
    observer: int
    sybils: tuple[Integers, Codes, Floats | None]
    first: bool = False
    """Whether the target and the sybils have the lowest numbers of all users."""
    computed: dict[int, Any] = field(default_factory=dict, compare=False, repr=False)
    """What the attacker computed for it once."""

    def dataset(self, data: Interactions, *, present: bool) -> Interactions:
        """The records with the sybils, and with or without the target."""
        return with_users(data, *self.sybils, without=None if present else self.target, number=self.number)

    def number(self, codes: Any) -> Any:
        """The ids of users, from their codes."""
        favored = self.first & ((codes == self.target) | (codes >= self.observer))
        return codes - FAR_BELOW * favored


@dataclass(frozen=True)
class Outcome:
    """Which hidden ratings of a target were guessed right, which were answered, how far off the answers were."""

    right: Mask
    answered: Mask
    errors: Floats | None
    probe: int


def as_features(outcome: Outcome) -> Floats:
    """What an audit learns from: whether the rating drawn beforehand was guessed, its error, and both over all."""
    assert outcome.errors is not None
    errors = np.where(outcome.answered, outcome.errors, np.nan)
    told = errors[outcome.answered]
    average = told.mean() if told.size else np.nan
    return np.array([outcome.right[outcome.probe], errors[outcome.probe], outcome.right.mean(), average])


def tally(outcomes: list[Outcome], when: str) -> dict[str, Any]:
    """The figures of a row about all targets, when they were present or when they were absent."""
    errors = [one.errors[one.answered] for one in outcomes if one.errors is not None]
    flat = np.concatenate(errors) if errors else np.zeros(0)
    found = {
        "exact": float(np.concatenate([one.right for one in outcomes]).mean()) if outcomes else 0.0,
        "unanswered": float(1 - np.concatenate([one.answered for one in outcomes]).mean()) if outcomes else 1.0,
        "mae": float(flat.mean()) if flat.size else None,
        "hits": sum(bool(one.right[one.probe]) for one in outcomes),
    }
    return {f"{name}_{when}": value for name, value in found.items()}


def guessed_right(guesses: Floats, truth: Floats, scale: RatingScale) -> Mask:
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


def one_step_off(ratings: Floats, scale: RatingScale) -> Floats:
    """The next rating above, or below for the highest; a tenth of the width on a scale without steps.

    Examples
    --------
    >>> one_step_off(np.array([1.0, 5.0]), RatingScale.of("1:5"))
    array([2., 4.])
    """
    step = float(scale.step or scale.width / 10)
    return np.where(ratings + step <= float(scale.high) + step / 1000, ratings + step, ratings - step)


def check_records(data: Interactions) -> None:
    """Refuse records that the attack cannot be played on."""
    if data.may_repeat:
        raise UsageError("the attack needs one record per user and item; these may repeat.", remedy=KEEP_LATEST)
    if data.rating is not None and data.scale is None:
        raise UsageError("a rating cannot be guessed without knowing which ratings there are.", remedy=DECLARE_SCALE)


def readable_views(model: Any, data: Interactions) -> list[Sees]:
    """What a client of a model sees that the attack can read."""
    able: dict[Sees, bool] = {
        "ratings": callable(getattr(model, "predict", None)) and data.rating is not None,
        "list": callable(getattr(model, "recommend", None)),
    }
    return [view for view, shown in able.items() if shown]


def instead(able: list[Sees]) -> str:
    """What to do where a view does not apply."""
    return f"; attack its {able[0]} (--sees {able[0]})" if able else "; audit it by what it does show (discreet audit)"
