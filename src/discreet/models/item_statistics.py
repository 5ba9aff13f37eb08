"""What is released about single items: how much each was rated and how well, for one user or one rating as the unit.

The parts of one contribution are the same for every unit and every noise: 3/10 for the weight of an item, 1/2 for its
ratings, 1/10 for the number of users and, for users, 1/10 for the level of their ratings. ``docs/proofs/gram.md`` has
the bounds (Theorems 3 and 6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from discreet.common.arrays import Codes, Floats, Integers
from discreet.common.remedies import DECLARE_SCALE
from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.units import Unit

__all__ = ["ItemStatistics", "Norm", "item_statistics_sums", "public_ends"]

Norm = Literal[1, 2]
"""The norm that the noise asks for: 1 for Laplace, 2 for Gaussian."""

BITS = 20
STEPS = 2**BITS
SPREAD = 0.25
"""How far the means of items usually lie apart, in half-ranges of the scale: known without the records."""


@dataclass(frozen=True)
class ItemStatistics:
    """What the first release tells; a function of the release and of public numbers.

    Parameters
    ----------
    weights
        Weight of the raters of each item: Σ 1/√n or Σ 1/n over raters with n items each, or their number.
    offsets
        How far above the general level an item is rated, in stars; zeros where there are no ratings.
    users
        Number of users, at least 1.
    level
        The general level of ratings in stars.
    low, high
        The ends of the scale; None where there are no ratings.
    """

    weights: Floats
    offsets: Floats
    users: float
    level: float
    low: float | None
    high: float | None

    @classmethod
    def read(cls, noisy: Floats, *, unit: Unit, ends: tuple[float, float] | None, noise: float) -> ItemStatistics:
        """Read them from noisy sums in units of one contribution; ``noise`` is their standard deviation."""
        n_items = noisy.size // 2 - (unit.what == "user")
        weights, sums = noisy[:n_items] / 0.3, noisy[n_items : 2 * n_items]
        users = max(1.0, float(noisy[2 * n_items]) / 0.1)
        if ends is None:
            return cls(weights, np.zeros(n_items), users, 0.0, None, None)
        half = (ends[1] - ends[0]) / 2
        safe = np.maximum(weights, 4 * noise)
        if unit.what == "user":
            # Every rating is relative to its rater's mean already, and means have a sum of their own.
            level, apart, deviation = float(noisy[-1]) / 0.1 / users, sums / safe, noise / safe
        else:
            sums, deviation = sums / 0.5, noise / 0.5 / safe
            level = float(sums.sum()) / max(1.0, float(weights.sum()))
            apart = (sums - level * weights) / safe
        # The mean of an item's ratings has this deviation by noise; what items usually differ by is SPREAD.
        trust = SPREAD**2 / (SPREAD**2 + deviation**2)
        offsets = half * trust * np.clip(apart, -1, 1)
        return cls(weights, offsets, users, (ends[0] + ends[1]) / 2 + half * float(np.clip(level, -1, 1)), *ends)

    def head(self, size: int) -> Codes:
        """Codes of the items of largest weight, in the order of the catalog."""
        return np.sort(np.argsort(-self.weights, kind="stable")[:size]).astype(np.int32)


def public_ends(scale: RatingScale | None) -> tuple[float, float] | None:
    """The ends of a rating scale as floats."""
    return None if scale is None else (float(scale.low), float(scale.high))


def item_statistics_sums(data: Interactions, *, unit: Unit, norm: Norm) -> BoundedSums:
    """Weights of items, their ratings, number of users and, for users, levels: one vector, one bound.

    Parameters
    ----------
    data
        Records with a public catalog, each user and item once.
    unit
        One user, or one record, present or absent.
    norm
        What noise will be added: users share a length of 1 among their items in this norm.
    """
    if data.rating is not None and data.scale is None:
        raise UsageError("ratings need a public scale.", remedy=DECLARE_SCALE)
    return _sums_for_users(data, norm) if unit.what == "user" else _sums_for_records(data)


def _sums_for_users(data: Interactions, norm: Norm) -> BoundedSums:
    """With n items of a user and w = ⌊2^b/n^(1/p)⌋ the four parts have L_p norms of at most 3/10, 1/2, 1/10 and 1/10
    of 2^b (Theorem 3).
    """
    counts = data.records_per_user
    shares = [STEPS // n if norm == 1 else math.isqrt(STEPS**2 // n) for n in range(1, int(counts.max(initial=1)) + 1)]
    weight = np.array(shares, dtype=np.int64)[counts - 1]
    weights = np.bincount(data.item, weights=(3 * weight // 10)[data.user], minlength=data.n_items)
    relative, levels = np.zeros(data.n_items), 0
    if data.rating is not None:
        steps, level = _relative_ratings(data, weight, norm)
        relative = np.bincount(data.item, weights=steps, minlength=data.n_items)
        levels = int(level.sum())
    people = data.n_users * (STEPS // 10)
    values = np.concatenate([weights, relative, [people, levels]]).astype(np.int64)
    squared = Fraction(36, 100) * STEPS**2
    return BoundedSums(
        values=values,
        step=Fraction(1, STEPS),
        l1=Fraction(STEPS if norm == 1 else math.isqrt(math.floor(squared * values.size)) + 1),
        l2_squared=squared,
        linf=Fraction(STEPS),
        nonnegative=False,
        unit=Unit("user"),
        caps=(),
    )


def _relative_ratings(data: Interactions, weight: Integers, norm: Norm) -> tuple[Integers, Integers]:
    """Each rating minus its rater's mean, in half-ranges, weighed; and each rater's mean on the scale.

    A rater's vector is held to length 1/2. Floating point may leave it a hair longer, so the length is checked in whole
    steps, and what is over is shrunk by a step in a thousand until it is not.
    """
    begins = data.user_starts[:-1]
    values = _on_scale(data)
    means = np.add.reduceat(values, begins) / data.records_per_user
    apart = values - means[data.user]
    spread = (np.add.reduceat(np.abs(apart) ** norm, begins) / data.records_per_user) ** (1 / norm)
    factor = np.minimum(1.0, 0.5 / np.maximum(spread, 1e-12))
    steps = np.trunc(apart * factor[data.user] * weight[data.user]).astype(np.int64)
    limit = STEPS**norm // 2**norm
    while (over := np.add.reduceat(np.abs(steps) ** norm, begins) > limit).any():
        steps = np.where(over[data.user], np.trunc(steps * (1 - 2.0**-10)).astype(np.int64), steps)
    level = np.trunc(np.clip(means, -1, 1) * (STEPS // 10)).astype(np.int64)
    return steps, level


def _sums_for_records(data: Interactions) -> BoundedSums:
    """One record adds ⌊3·2^b/10⌋ to the weight of its item and at most 2^b/2 to its ratings, whoever gave it; if it is
    its user's first, ⌊2^b/10⌋ to the number of users (Theorem 6).
    """
    weights = data.records_per_item * (3 * STEPS // 10)
    ratings = np.zeros(data.n_items)
    if data.rating is not None:
        steps = np.rint(np.clip(_on_scale(data), -1, 1) * (STEPS // 2))
        ratings = np.bincount(data.item, weights=steps, minlength=data.n_items)
    people = int((data.records_per_user > 0).sum()) * (STEPS // 10)
    parts = (3 * STEPS // 10, STEPS // 2, STEPS // 10)
    return BoundedSums(
        values=np.concatenate([weights, ratings, [people]]).astype(np.int64),
        step=Fraction(1, STEPS),
        l1=Fraction(sum(parts)),
        l2_squared=Fraction(sum(part**2 for part in parts)),
        linf=Fraction(max(parts)),
        nonnegative=False,
        unit=Unit("record"),
        caps=(),
    )


def _on_scale(data: Interactions) -> Floats:
    """Ratings in half-ranges from the middle of the scale."""
    assert data.rating is not None
    assert data.scale is not None
    half = float(data.scale.width) / 2
    return (data.rating.astype(np.float64) - (float(data.scale.low) + half)) / half
