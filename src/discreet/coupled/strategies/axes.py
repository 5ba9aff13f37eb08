"""What to count along one attribute: every value, or a tree of ranges as well.

A strategy is a matrix A of 0 and 1 that says which values go into which count. With noise of variance 1 on each count
the least squares estimate of the values has covariance M⁻¹, M = AᵀA. Trees are nested, so M⁻¹ is applied level by level
(Sherman and Morrison's formula) and never written down.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError

__all__ = ["BRANCHINGS", "AxisStrategy"]

Floats = NDArray[np.float64]

BRANCHINGS = (2, 4, 8, 16)
"""Trees that are tried."""


@dataclass(frozen=True)
class AxisStrategy:
    """Counts along one attribute.

    Parameters
    ----------
    size
        Number of values.
    branching
        0 to count every value; b from 2 to count all ranges of b, b², … values that begin at a multiple, too.

    Attributes
    ----------
    widths : tuple of int
        Width of the ranges of each level, the narrowest first. The range of all values is left out: the number of
        rows is public.

    Examples
    --------
    >>> tree = AxisStrategy(5, 2)
    >>> tree.widths, tree.levels
    ((1, 2, 4), 3)
    >>> tree.counts(np.array([1, 2, 3, 4, 5]), axis=0)
    array([ 1,  2,  3,  4,  5,  3,  7,  5, 10,  5])
    """

    size: int
    branching: int = 0

    def __post_init__(self) -> None:
        if self.size < 1 or self.branching < 0 or self.branching == 1:
            raise UsageError(
                f"a tree needs at least 1 value and 0, 2 or more branches, got {self.size} and {self.branching}."
            )

    def __str__(self) -> str:
        return "every value" if len(self.widths) == 1 else f"ranges in a tree of {self.branching}"

    @cached_property
    def widths(self) -> tuple[int, ...]:
        widths = [1]
        while self.branching and widths[-1] * self.branching < self.size:
            widths.append(widths[-1] * self.branching)
        return tuple(widths)

    @property
    def levels(self) -> int:
        """How many counts each value goes into."""
        return len(self.widths)

    @cached_property
    def n_counts(self) -> int:
        return sum(-(-self.size // width) for width in self.widths)

    def counts(self, values: NDArray[np.int64], axis: int) -> NDArray[np.int64]:
        """A applied along an axis: exact sums, the narrowest ranges first."""
        return np.concatenate([np.add.reduceat(values, self._starts(width), axis=axis) for width in self.widths], axis)

    def estimate(self, noisy: Floats, axis: int) -> Floats:
        """Least squares along an axis: M⁻¹Aᵀ."""
        ends = np.cumsum([-(-self.size // width) for width in self.widths])[:-1]
        spread = np.zeros((*noisy.shape[:axis], self.size, *noisy.shape[axis + 1 :]))
        for width, level in zip(self.widths, np.split(noisy, ends, axis=axis), strict=True):
            spread += np.repeat(level, self._lengths(width), axis=axis)
        return self.solve(spread, axis)

    def solve(self, values: Floats, axis: int) -> Floats:
        """M⁻¹ applied along an axis."""
        solved = np.array(values, dtype=np.float64)
        ones = np.ones(self.size)
        shape = [-1 if place == axis else 1 for place in range(solved.ndim)]
        for width in self.widths[1:]:
            # M grows by 11ᵀ on each range: M⁻¹v loses M⁻¹1·(1ᵀM⁻¹v)/(1 + 1ᵀM⁻¹1).
            starts, lengths = self._starts(width), self._lengths(width)
            growth = 1 + np.add.reduceat(ones, starts)
            sums = np.add.reduceat(solved, starts, axis=axis) / growth.reshape(shape)
            solved -= np.repeat(sums, lengths, axis=axis) * ones.reshape(shape)
            ones = ones / np.repeat(growth, lengths)
        return solved

    def variances(self, weights: Floats) -> tuple[Floats, Floats]:
        """wᵀM⁻¹w and wᵀM⁻¹1 of each row of weights."""
        solved = self.solve(np.asarray(weights, dtype=np.float64), axis=1)
        return (solved * weights).sum(axis=1), solved.sum(axis=1)

    @cached_property
    def of_everything(self) -> float:
        """1ᵀM⁻¹1."""
        return float(self.solve(np.ones(self.size), 0).sum())

    def _starts(self, width: int) -> NDArray[np.int64]:
        return np.arange(0, self.size, width)

    def _lengths(self, width: int) -> NDArray[np.int64]:
        return np.diff(np.append(self._starts(width), self.size))
