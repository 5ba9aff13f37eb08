"""What neighbors think of each item, in whole grid steps, and how far one user or one rating can move it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.numbers import Rational, as_positive
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["BITS", "bound_steps", "bounded_list", "bounded_questions", "neighbor_sums"]

BITS = 20


def neighbor_sums(
    rows: csr_array, neighbors: NDArray[np.int64], centers: NDArray[np.float64], bound: int, *, bits: int = BITS
) -> NDArray[np.int64]:
    """Sum over the neighbors of each item's rating minus its center, cut to ±bound; in grid steps, 0 where unrated.

    Each neighbor's part is put on the grid, towards zero, before it is added: the sum is exact.
    """
    near = rows[neighbors]
    steps = np.trunc((near.data - centers[near.indices]) * 2**bits)
    steps = np.clip(steps, -bound, bound)
    # Whole numbers below 2^53 in all: adding them as floats makes no error.
    return np.bincount(near.indices, weights=steps, minlength=centers.size).astype(np.int64)


def bound_steps(bound: Rational, *, bits: int = BITS) -> int:
    """The bound B in whole grid steps, rounded down."""
    steps = math.floor(as_positive(bound, "bound") * 2**bits)
    if steps < 1:
        raise UsageError(f"bound = {bound} is too small.")
    return steps


def bounded_questions(values: NDArray[np.int64], bound: int) -> BoundedSums:
    """Sums of so many questions, each of which one user moves by at most 2B: one neighbor out, one in."""
    most = 2 * bound
    return BoundedSums(
        values=values,
        step=Fraction(1, 2**BITS),
        l1=Fraction(values.size * most),
        l2_squared=Fraction(values.size * most**2),
        linf=Fraction(most),
        nonnegative=False,
        unit=Unit("user"),
        caps=(),
    )


def bounded_list(values: NDArray[np.int64], bound: int, *, bits: int = BITS) -> BoundedSums:
    """Sums of all items over *given* neighbors, of which one rating moves one by at most B: without it, it counts 0."""
    return BoundedSums(
        values=values,
        step=Fraction(1, 2**bits),
        l1=Fraction(bound),
        l2_squared=Fraction(bound**2),
        linf=Fraction(bound),
        nonnegative=False,
        unit=Unit("record"),
        caps=(),
    )
