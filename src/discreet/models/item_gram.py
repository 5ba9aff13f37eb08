"""What is released about pairs of items: how their ratings go together and how often they come together.

A user with n items in the head contributes W_n·x xᵀ and W_n·1 1ᵀ. The weights fall with n as fast as the unit and the
norm of the noise ask for, and no faster (``docs/proofs/gram.md``, Theorems 2, 4 and 5).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.common.arrays import Codes, Floats, Integers
from discreet.data.ids import group_order
from discreet.data.interactions import Interactions
from discreet.models.item_statistics import ItemStatistics, Norm
from discreet.privacy.gram import BoundedGram
from discreet.privacy.units import Unit

__all__ = ["empty_gram", "gram_weights", "item_gram"]

VALUE_BITS = 6
WEIGHT_BITS = 20
USER_WEIGHT_BITS = 16
"""Whole users with Gaussian noise: coarser, so that a year of sums over ten million people fits into 64 bits."""
FINE_WEIGHT_BITS = 28
"""Where a record moves all weights of its user and every step of every entry counts, weights need finer steps."""


def gram_weights(most: int, *, unit: Unit, norm: Norm) -> tuple[list[int], int]:
    """W_1 … W_most and how many steps make a weight of 1.

    Users: 1/n for Gaussian noise, 2/n² for Laplace noise. Records: 1/√n and 1/n.
    """
    bits = FINE_WEIGHT_BITS if unit.what == "record" and norm == 1 else WEIGHT_BITS
    if unit.what == "user" and norm == 2:
        bits = min(bits, USER_WEIGHT_BITS)
    one = 2**bits
    if unit.what == "user":
        return [one // n if norm == 2 else 2 * one // n**2 for n in range(1, most + 1)], one
    return [math.isqrt(one**2 // n) if norm == 2 else one // n for n in range(1, most + 1)], one


def item_gram(
    data: Interactions, first: ItemStatistics, head: Codes, *, unit: Unit, norm: Norm, most: int | None = None
) -> BoundedGram:
    """Products of relative ratings (where there are ratings) and co-occurrence of the items of the head.

    Parameters
    ----------
    first
        What was released before: values are relative to its offsets.
    most
        The most items that a user has, if a cap was applied.
    """
    from discreet.models.gram_kernels import gram_sums

    place = np.full(data.n_items, -1, dtype=np.int32)
    place[head] = np.arange(head.size, dtype=np.int32)
    values = np.rint(np.clip(_relative(data, first, unit), -1, 1) * 2**VALUE_BITS).astype(np.int64)
    kept = np.flatnonzero(place[data.item] >= 0)
    item, user, values = place[data.item[kept]], data.user[kept], values[kept]
    starts = np.searchsorted(user, np.arange(data.n_users + 1))
    table, _ = gram_weights(_most(head.size, most), unit=unit, norm=norm)
    weights = np.array([0, *table], dtype=np.int64)[np.diff(starts)]
    order, item_starts = group_order(item, head.size)
    products, counts = gram_sums(
        item_starts, user[order], order.astype(np.int64), starts, item, values, weights, 4**VALUE_BITS
    )
    matrices = (products, counts) if data.rating is not None else (counts,)
    return _bounded(matrices, _most(head.size, most), unit, norm)


def empty_gram(head: int, *, rated: bool, unit: Unit, norm: Norm, most: int | None = None) -> BoundedGram:
    """Sums over nobody for a head of no items, with the bounds of a head of this size: to try a mechanism on."""
    matrices = (np.zeros((0, 0), dtype=np.int64),) * (2 if rated else 1)
    return _bounded(matrices, _most(head, most), unit, norm)


def _bounded(matrices: tuple[Integers, ...], most: int, unit: Unit, norm: Norm) -> BoundedGram:
    weights, one = gram_weights(most, unit=unit, norm=norm)
    step = Fraction(1, one * 4**VALUE_BITS)
    return BoundedGram.weighted(matrices, weights, largest=4**VALUE_BITS, step=step, unit=unit)


def _most(head: int, cap: int | None) -> int:
    return head if cap is None else min(head, cap)


def _relative(data: Interactions, first: ItemStatistics, unit: Unit) -> Floats:
    """Ratings in half-ranges, relative to the items' offsets and to a level; ones where there are no ratings.

    The level is the user's own if the user is the unit. One rating must not move the others of its user, so for records
    it is the general one.
    """
    if data.rating is None:
        return np.ones(len(data))
    assert first.low is not None
    assert first.high is not None
    own = data.rating.astype(np.float64) - first.offsets[data.item]
    if unit.what == "user":
        own -= (np.add.reduceat(own, data.user_starts[:-1]) / data.records_per_user)[data.user]
    else:
        own -= first.level
    return own / ((first.high - first.low) / 2)
