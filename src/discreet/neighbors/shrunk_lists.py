"""What the repaired PNCF releases, in whole grid steps, and how far one user can move it: item means and lists."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.common.arrays import AnyIntegers, Floats, Integers
from discreet.common.remedies import DECLARE_SCALE
from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale
from discreet.errors import UsageError
from discreet.neighbors.similarity import Similarity, similarity_rows
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.numbers import Rational, as_fraction, as_positive
from discreet.privacy.units import Unit
from discreet.privacy.weighing import on_grid

__all__ = ["BITS", "ItemMeans", "ListRule", "item_sums", "whole_ratings"]

BITS = 20
VALUE_BITS = 10
STEPS = 2**BITS
# What one user's length is divided into: weights of items, their ratings, the user, the user's mean.
ITEM_PART, USER_PART = Fraction(4, 10), Fraction(1, 10)
SPREAD = 0.25
"""How far the means of items usually lie apart, in half-ranges of the scale: known without the records."""
LEVELS = 1000
"""Ratings of a scale without steps are put on so many levels."""
FLOAT_ERROR = Fraction(1, 2**40)
"""A computed similarity is off by less; docs/proofs/neighbors.md says why, with a margin of several hundred."""


@dataclass(frozen=True)
class ListRule:
    """How one list is made, in whole grid steps, and how far one user can move what it is made of.

    Parameters
    ----------
    k
        Neighbors of a list.
    cap
        The most items of one user.
    shrinkage
        λ of the shrunk cosine.
    truncation
        w in grid steps.
    bits
        A grid step is 2^−bits.
    """

    k: int
    cap: int
    shrinkage: Fraction
    truncation: int
    bits: int = BITS

    @classmethod
    def of(cls, *, k: int, cap: int, shrinkage: Rational, truncation: Rational, bits: int = BITS) -> ListRule:
        """Check and put on the grid."""
        if k < 1:
            raise UsageError(f"k = {k} must be at least 1.")
        if cap < 2:
            raise UsageError(f"cap = {cap} must be at least 2: one item alone is like no other.")
        most = as_fraction(truncation, "truncation")
        if most < 0:
            raise UsageError(f"truncation = {truncation} must not be below 0.")
        return cls(k, cap, as_positive(shrinkage, "shrinkage"), math.ceil(most * 2**bits), bits)

    @property
    def sensitivity(self) -> int:
        """How many steps one user can move a similarity: ⌈2^bits·(1/(1+λ) + 2·error)⌉, rounding included."""
        return math.ceil(2**self.bits * (1 / (1 + self.shrinkage) + 2 * FLOAT_ERROR))

    def similarities(self, data: Interactions, targets: AnyIntegers) -> Integers:
        """Shrunk cosines of some items to all, rounded down to the grid; ratings must be whole numbers."""
        kind = Similarity("cosine_shrunk", shrinkage=self.shrinkage)
        rows = similarity_rows(data, axis="item", similarity=kind, rows=targets.tolist())
        return on_grid(rows, self.bits)

    def scores(self, grid: Integers) -> BoundedSums:
        """What the candidates are chosen by: similarities, the low ones raised to w below the k-th."""
        kth = np.partition(grid, grid.size - self.k)[grid.size - self.k]
        raised = np.maximum(grid, max(0, int(kth) - self.truncation))
        return self._bounded(raised, grid.size)

    def weights(self, chosen: Integers) -> BoundedSums:
        """Similarities of those chosen; one user has co-rated at most cap − 1 of them with the target."""
        return self._bounded(chosen, min(self.k, self.cap - 1))

    def _bounded(self, values: Integers, moved: int) -> BoundedSums:
        return BoundedSums(
            values=values,
            step=Fraction(1, 2**self.bits),
            l1=Fraction(moved * self.sensitivity),
            l2_squared=Fraction(moved * self.sensitivity**2),
            linf=Fraction(self.sensitivity),
            nonnegative=False,
            unit=Unit("user"),
            caps=(),
        )


def whole_ratings(data: Interactions) -> Interactions:
    """The same records with ratings as whole numbers from 0 on, so that sums of products are exact.

    Where the scale has steps from 0 on, ratings are counted in steps; otherwise they are put on 1000 levels. Each
    rating is changed by itself, which costs nothing.
    """
    if data.rating is None:
        return data
    scale = data.scale
    if scale is None:
        raise UsageError("ratings need a public scale.", remedy=DECLARE_SCALE)
    if scale.low < 0:
        raise UsageError(
            f"a shrunk cosine of bounded sensitivity needs ratings from 0 on, not the scale {scale}.",
            remedy="Shift the ratings, for example from −10…10 to 0…20.",
        )
    step = scale.step
    if step is None or scale.low % step or scale.high / step > LEVELS:
        step = scale.high / LEVELS
    top = int(scale.high / step)
    values = np.clip(np.rint(data.rating.astype(np.float64) / float(step)), 0, top)
    return data.with_ratings(values, RatingScale(Fraction(0), Fraction(top), Fraction(1)))


# Item means: one small release that says how popular and how well liked each item is


@dataclass(frozen=True)
class ItemMeans:
    """What noisy sums tell about items; a function of the release and of public numbers.

    Parameters
    ----------
    popularity
        Weight of the raters of each item, each user's items sharing a weight of 1.
    means
        Mean rating of each item in stars, drawn towards the general level as far as noise may have moved it; zeros
        where there are no ratings.
    level
        The general level in stars.
    """

    popularity: Floats
    means: Floats
    level: float

    @classmethod
    def of(cls, noisy: Integers, scale: RatingScale | None, noise: float) -> ItemMeans:
        """Read them from noisy ``item_sums`` in grid steps; ``noise`` is the standard deviation in users."""
        n_items = (noisy.size - 2) // 2
        part = float(ITEM_PART)
        sums = noisy.astype(np.float64) / STEPS
        popularity, noise = sums[:n_items] / part, noise / part
        if scale is None:
            return cls(popularity, np.zeros(n_items), 0.0)
        half = float(scale.width) / 2
        users = max(1.0, sums[-2] / float(USER_PART))
        level = float(np.clip(sums[-1] / float(USER_PART) / users, -1, 1))
        safe = np.maximum(popularity, 4 * noise + 1e-9)
        apart = np.clip((sums[n_items:-2] / part - level * popularity) / safe, -2, 2)
        trust = SPREAD**2 / (SPREAD**2 + 2 * (noise / safe) ** 2)
        means = float(scale.low) + half + half * np.clip(level + trust * apart, -1, 1)
        return cls(popularity, means, float(scale.low) + half + half * level)


def item_sums(data: Interactions) -> BoundedSums:
    """Weights of items, weighed ratings, number of users and sum of their means: one vector, one bound.

    A user with n items gives each of them 4/10·1/n and 4/10·y/n, where y is the rating on the scale from −1 to 1, and
    1/10 and 1/10 of the mean of y to the last two sums, all rounded towards zero: at most 1 in L1 norm, and at most
    34/100 in squared L2 norm (docs/proofs/neighbors.md, Theorem 1).

    Parameters
    ----------
    data
        Records with a public catalog, each user and item once.
    """
    if data.may_repeat:
        raise UsageError("item means need one record of each user and item.", remedy="Call distinct_items first.")
    counts = data.records_per_user
    weight = int(ITEM_PART * STEPS) // np.maximum(counts, 1)
    popularity = np.bincount(data.item, weights=weight[data.user], minlength=data.n_items)
    rated, levels = np.zeros(data.n_items), 0
    person = int(USER_PART * STEPS)
    if data.rating is not None:
        values = _on_scale(data)
        steps = np.sign(values) * (np.abs(values) * weight[data.user] // 2**VALUE_BITS)
        rated = np.bincount(data.item, weights=steps, minlength=data.n_items)
        totals = np.bincount(data.user, weights=values, minlength=data.n_users).astype(np.int64)
        means = np.sign(totals) * (np.abs(totals) * person // (np.maximum(counts, 1) * 2**VALUE_BITS))
        levels = int(means.sum())
    people = int((counts > 0).sum()) * person
    return BoundedSums(
        values=np.concatenate([popularity, rated, [people, levels]]).astype(np.int64),
        step=Fraction(1, STEPS),
        l1=Fraction(STEPS),
        l2_squared=(2 * ITEM_PART**2 + 2 * USER_PART**2) * STEPS**2,
        linf=ITEM_PART * STEPS,
        nonnegative=False,
        unit=Unit("user"),
        caps=(),
    )


def _on_scale(data: Interactions) -> Integers:
    """Ratings from −2^VALUE_BITS to 2^VALUE_BITS."""
    if data.scale is None:
        raise UsageError("ratings need a public scale.", remedy=DECLARE_SCALE)
    assert data.rating is not None
    half = float(data.scale.width) / 2
    values = (data.rating.astype(np.float64) - float(data.scale.low) - half) / half
    return np.trunc(np.clip(values, -1, 1) * 2**VALUE_BITS).astype(np.int64)
