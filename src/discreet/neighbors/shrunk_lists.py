"""One private list of item neighbors: scores and weights in whole grid steps, and how far one user can move them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.common.remedies import DECLARE_SCALE
from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale
from discreet.errors import UsageError
from discreet.neighbors.similarity import Similarity, similarity_rows
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.numbers import Rational, as_fraction, as_positive
from discreet.privacy.units import Unit
from discreet.privacy.weighing import on_grid

__all__ = ["BITS", "ListRule", "whole_ratings"]

BITS = 20
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

    def similarities(self, data: Interactions, targets: NDArray[np.integer]) -> NDArray[np.int64]:
        """Shrunk cosines of some items to all, rounded down to the grid; ratings must be whole numbers."""
        kind = Similarity("cosine_shrunk", shrinkage=self.shrinkage)
        rows = similarity_rows(data, axis="item", similarity=kind, rows=targets.tolist())
        return on_grid(rows, self.bits)

    def scores(self, grid: NDArray[np.int64]) -> BoundedSums:
        """What the candidates are chosen by: similarities, the low ones raised to w below the k-th."""
        kth = np.partition(grid, grid.size - self.k)[grid.size - self.k]
        raised = np.maximum(grid, max(0, int(kth) - self.truncation))
        return self._bounded(raised, grid.size)

    def weights(self, chosen: NDArray[np.int64]) -> BoundedSums:
        """Similarities of those chosen; one user has co-rated at most cap − 1 of them with the target."""
        return self._bounded(chosen, min(self.k, self.cap - 1))

    def _bounded(self, values: NDArray[np.int64], moved: int) -> BoundedSums:
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
