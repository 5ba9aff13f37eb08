"""Weighing: what one person adds to sums is scaled down to a public norm, and put on a grid of whole numbers.

A weight depends on one user's records and on public values alone; it is rounded down, so that the bound holds for the
integers that noise is added to (``docs/proofs/bounding.md``, Theorems 2 and 3).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums, check_cap, require_catalog
from discreet.privacy.numbers import Rational, as_positive, plain
from discreet.privacy.units import Unit

__all__ = [
    "GRID_BITS",
    "clip_l2",
    "squared_norms",
    "sums_within_l1",
    "sums_within_l2",
    "weigh",
    "weights_within_l1",
    "weights_within_l2",
]

GRID_BITS = 20
"""Weights are whole numbers of 2^−20 unless said otherwise."""


def weigh(data: Interactions, cap: int, *, bits: int = GRID_BITS) -> BoundedSums:
    """Item counts in which each record of user u weighs min(1, cap/|T_u|), rounded down to the grid 2^−bits.

    What ``cap`` random records of each user would give on average, without the chance.
    """
    require_catalog(data, "item counts")
    weight = weights_within_l1(data.records_per_user, cap, bits=bits)
    return sums_within_l1(_item_sums(data, weight), cap, may_repeat=data.may_repeat, bits=bits)


def clip_l2(data: Interactions, norm_squared: Rational, *, bits: int = GRID_BITS) -> BoundedSums:
    """Item counts in which each user's vector is scaled to an L2 norm of at most √norm_squared, on the grid."""
    require_catalog(data, "item counts")
    bound = as_positive(norm_squared, "norm_squared")
    norms = squared_norms(data.user, data.item, data.user_starts, may_repeat=data.may_repeat)
    weight = weights_within_l2(norms, bound, bits=bits)
    return sums_within_l2(_item_sums(data, weight), bound, may_repeat=data.may_repeat, bits=bits)


def weights_within_l1(records_per_user: NDArray[np.int64], cap: int, *, bits: int = GRID_BITS) -> NDArray[np.int64]:
    """For each user the weight of a record, in steps of 2^−bits, with which all of them weigh at most ``cap``.

    Of T records each weighs ⌊2^bits·cap/T⌋ steps, so a user weighs at most cap·2^bits in all: rounding down keeps the
    bound exact.

    Examples
    --------
    >>> weights_within_l1(np.array([1, 2, 3]), 2, bits=2)
    array([4, 4, 2])
    """
    check_cap(cap)
    _check_bits(bits)
    return np.minimum(2**bits, cap * 2**bits // np.maximum(records_per_user, 1))


def weights_within_l2(
    norms_squared: NDArray[np.int64], norm_squared: Fraction, *, bits: int = GRID_BITS
) -> NDArray[np.int64]:
    """For each user the weight of a record with which the user's vector has an L2 norm of at most √norm_squared.

    A user whose squared norm is s gets ⌊2^bits·√(norm_squared/s)⌋ steps, found by integer square roots. Norms may be
    those over coarser cells, which are at least as large: then finer counts of the same weighted records keep to the
    bound, too.

    Examples
    --------
    >>> weights_within_l2(np.array([1, 4, 16]), Fraction(4), bits=2)
    array([4, 4, 2])
    """
    _check_bits(bits)
    distinct, inverse = np.unique(norms_squared, return_inverse=True)
    roots = [min(2**bits, math.isqrt(math.floor(norm_squared * 4**bits / max(int(s), 1)))) for s in distinct]
    return np.array(roots, dtype=np.int64)[inverse]


def sums_within_l1(values: NDArray[np.int64], cap: int, *, may_repeat: bool, bits: int = GRID_BITS) -> BoundedSums:
    """Sums over cells of weights in steps of 2^−bits, of which those of one user add up to cap·2^bits at most.

    Parameters
    ----------
    may_repeat
        Whether one user may have several records of a cell; public policy.
    """
    # One cell takes at most all records of a user, or one where the public policy admits no repeats.
    linf = cap if may_repeat else 1
    return BoundedSums(
        values=values,
        step=Fraction(1, 2**bits),
        l1=Fraction(cap * 2**bits),
        l2_squared=Fraction((cap * linf) * 4**bits),
        linf=Fraction(linf * 2**bits),
        nonnegative=True,
        unit=Unit("user"),
        caps=(f"each user's total weight was held to at most {cap}",),
    )


def sums_within_l2(
    values: NDArray[np.int64], norm_squared: Fraction, *, may_repeat: bool, bits: int = GRID_BITS
) -> BoundedSums:
    """Sums over cells of weights, of which one user's have a squared length of at most norm_squared·4^bits."""
    total = norm_squared * 4**bits
    one_cell = total if may_repeat else min(total, Fraction(4**bits))
    return BoundedSums(
        values=values,
        step=Fraction(1, 2**bits),
        l1=_sqrt_up_int(total * values.size),
        l2_squared=total,
        linf=_sqrt_up_int(one_cell),
        nonnegative=True,
        unit=Unit("user"),
        caps=(f"each user's counts were scaled to a squared length of at most {plain(norm_squared)}",),
    )


def squared_norms(
    user: NDArray[np.integer], item: NDArray[np.integer], user_starts: NDArray[np.int64], *, may_repeat: bool
) -> NDArray[np.int64]:
    """Σ over items of the squared number of records, for each user, in whole numbers.

    Records are sorted by user and item; those of user u are the ones from ``user_starts[u]`` to ``user_starts[u + 1]``.
    """
    if not may_repeat:
        return np.diff(user_starts)
    begins = np.ones(user.size, dtype=bool)
    begins[1:] = (user[1:] != user[:-1]) | (item[1:] != item[:-1])
    first = np.flatnonzero(begins)
    repeats = np.diff(np.append(first, user.size))
    running = np.concatenate([[0], np.cumsum(repeats * repeats)])
    return np.diff(running[np.searchsorted(first, user_starts)])


def _item_sums(data: Interactions, weight: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sums of the weights of users over the items that they touched."""
    return np.bincount(data.item, weights=weight[data.user], minlength=data.n_items).astype(np.int64)


def _check_bits(bits: int) -> None:
    """Sums of at most 2³¹ weights of at most 2^bits must be exact in the float64 that bincount adds in."""
    if not 0 <= bits <= 21:
        raise UsageError(f"a grid of 2^−{bits} is not offered.", remedy="Take from 0 to 21 bits.")


def _sqrt_up_int(value: Fraction) -> Fraction:
    """The least whole number that is not below the root."""
    floor = math.isqrt(math.floor(value))
    return Fraction(floor if floor * floor == value else floor + 1)
