"""What is released about pairs for Slope One: weighed sums of differences and of common raters, with exact bounds.

A user with n items in the head contributes W_n·(x_j − x_k) and W_n for every pair j < k of them; x are ratings in whole
steps and W_n is a public table of whole numbers. ``docs/proofs/pairs.md`` proves the bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from discreet.common.arrays import Codes, Integers
from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale
from discreet.errors import UsageError
from discreet.models.item_gram import gram_weights
from discreet.models.item_statistics import Norm
from discreet.pairs.pair_sums import pair_records
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.units import Unit

__all__ = ["PairBounds", "WeighedPairs", "difference_sums", "pair_bounds", "pair_weights", "rating_steps"]

VALUE_BITS = 6
"""A scale without steps is cut into so many binary digits."""

USER, RECORD, VALUE = Unit("user"), Unit("record"), Unit("record", "value")


@dataclass(frozen=True)
class PairBounds:
    """How far one step can move the sums, in whole steps: differences and counts, L1 and squared L2."""

    differences_l1: int
    differences_l2: int
    counts_l1: int
    counts_l2: int


class WeighedPairs(NamedTuple):
    """Σ W·(x_j − x_k) and Σ W over users for all pairs j < k of the head, in the order of the upper triangle."""

    differences: BoundedSums
    counts: BoundedSums


def rating_steps(scale: RatingScale) -> tuple[int, Fraction]:
    """How many whole steps a scale has, and what one is worth: public.

    Examples
    --------
    >>> rating_steps(RatingScale.of("0.5:5:0.5"))
    (9, Fraction(1, 2))
    """
    if scale.step is not None:
        return int(scale.width / scale.step), scale.step
    return 2**VALUE_BITS, scale.width / 2**VALUE_BITS


def pair_weights(most: int, *, unit: Unit, norm: Norm, equal: bool = False) -> tuple[list[int], int]:
    """W_1 … W_most and how many steps make a weight of 1.

    Users: 1/n for normal noise, 2/(n(n − 1)) for Laplace noise. Records: 1/√n and 1/n. Everybody's the same if
    ``equal``.
    """
    base = USER if unit == USER else RECORD
    weights, one = gram_weights(most, unit=base, norm=norm)
    if equal:
        return [one] * most, one
    if base == USER and norm == 1:
        return [2 * one // max(1, n * (n - 1)) for n in range(1, most + 1)], one
    return weights, one


def pair_bounds(weights: Sequence[int], *, unit: Unit, span: int) -> PairBounds:
    """The exact maxima over all histories of at most as many items as there are weights.

    Parameters
    ----------
    weights
        W_1, W_2, …: whole numbers from 0.
    unit
        One user or one record, present or absent, or the value of one record.
    span
        How many steps the scale has.

    Examples
    --------
    >>> pair_bounds([6, 3, 2], unit=Unit("user"), span=4)
    PairBounds(differences_l1=16, differences_l2=144, counts_l1=6, counts_l2=12)
    """
    if unit == USER:
        # Of n ratings the differences are largest with half of them at either end.
        moved = [(w * (n * n // 4), w * w * (n * n // 4), w * _pairs(n), w * w * _pairs(n)) for n, w in _count(weights)]
    elif unit == RECORD:
        before = (0, *weights)
        moved = [_one_more(n, abs(before[n] - after), after) for n, after in enumerate(weights)]
    elif unit == VALUE:
        moved = [(w * (n - 1), w * w * (n - 1), 0, 0) for n, w in _count(weights)]
    else:
        raise UsageError(f"differences of pairs are not bounded for {unit}.", remedy="Take user or record.")
    d1, d2, c1, c2 = (max(column) for column in zip(*moved, strict=True))
    return PairBounds(d1 * span, d2 * span * span, c1, c2)


def difference_sums(
    data: Interactions, head: Codes, *, unit: Unit, norm: Norm, most: int | None = None, equal: bool = False
) -> WeighedPairs:
    """Weighed differences and counts of all pairs of the head.

    Parameters
    ----------
    data
        Rated records on a public scale, each user and item once.
    head
        Codes of the items, rising: public, or released before.
    most
        The most items that a user has, if a cap was applied.
    equal
        Weigh everybody the same, which needs a cap.
    """
    from discreet.pairs.pair_kernels import add_pairs

    assert data.scale is not None
    place = np.full(data.n_items, -1, dtype=np.int32)
    place[head] = np.arange(head.size, dtype=np.int32)
    kept = np.flatnonzero(place[data.item] >= 0)
    user, item = data.user[kept], place[data.item[kept]]
    records = pair_records(user, item, _steps(data)[kept], data.n_users, head.size)
    table, _ = pair_weights(_most(head.size, most), unit=unit, norm=norm, equal=equal)
    weights = np.array([0, *table], dtype=np.int64)[np.diff(records.user_starts)]
    differences = np.zeros((head.size, head.size), dtype=np.int64)
    counts = np.zeros_like(differences)
    add_pairs(0, records, weights, differences, counts)
    above = np.triu_indices(head.size, 1)
    return _bounded(
        differences[above], counts[above], data.scale, _most(head.size, most), unit=unit, norm=norm, equal=equal
    )


def empty_sums(
    scale: RatingScale, head: int, *, unit: Unit, norm: Norm, most: int | None = None, equal: bool = False
) -> WeighedPairs:
    """Sums of no pairs with the bounds of a head of this size: to try mechanisms on."""
    none = np.zeros(0, dtype=np.int64)
    return _bounded(none, none, scale, _most(head, most), unit=unit, norm=norm, equal=equal)


def _bounded(
    differences: Integers, counts: Integers, scale: RatingScale, most: int, *, unit: Unit, norm: Norm, equal: bool
) -> WeighedPairs:
    table, one = pair_weights(most, unit=unit, norm=norm, equal=equal)
    span, step = rating_steps(scale)
    bounds = pair_bounds(table, unit=unit, span=span)
    # Sums count the exchange of a value as one contribution out and one in: each is then half of what may change.
    half = 2 if unit == VALUE else 1
    largest = max(table, default=0)

    def sums(values: Integers, worth: Fraction, l1: int, l2: int, linf: int, positive: bool) -> BoundedSums:
        return BoundedSums(
            values=values,
            step=worth / one,
            l1=Fraction(l1, half),
            l2_squared=Fraction(l2, half**2),
            linf=Fraction(linf, half),
            nonnegative=positive,
            unit=unit,
            caps=(),
        )

    return WeighedPairs(
        sums(differences, step, bounds.differences_l1, bounds.differences_l2, largest * span, False),
        sums(counts, Fraction(1), bounds.counts_l1, bounds.counts_l2, largest, unit == USER),
    )


def _one_more(n: int, shift: int, after: int) -> tuple[int, int, int, int]:
    """What a record more can change for somebody with n: old pairs are weighed anew, n pairs are new.

    With p of the n old ratings at the other end of the scale it is shift·p(n − p) + after·p (or the same of squares),
    a parabola in p.
    """
    d1, d2 = (_largest(n, s, a) for s, a in ((shift, after), (shift**2, after**2)))
    return d1, d2, shift * _pairs(n) + after * n, shift**2 * _pairs(n) + after**2 * n


def _largest(n: int, old: int, new: int) -> int:
    """max over p = 0 … n of old·p(n − p) + new·p."""
    if old == 0:
        return new * n
    top = (old * n + new) // (2 * old)
    return max(old * p * (n - p) + new * p for p in (min(n, top), min(n, top + 1)))


def _steps(data: Interactions) -> Integers:
    """Ratings in whole steps above the low end of the scale."""
    assert data.rating is not None
    assert data.scale is not None
    span, step = rating_steps(data.scale)
    steps = np.rint((data.rating.astype(np.float64) - float(data.scale.low)) / float(step))
    return np.clip(steps, 0, span).astype(np.int64)


def _count(weights: Sequence[int]) -> enumerate[int]:
    return enumerate(weights, start=1)


def _pairs(n: int) -> int:
    return n * (n - 1) // 2


def _most(head: int, cap: int | None) -> int:
    return head if cap is None else min(head, cap)
