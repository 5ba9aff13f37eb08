"""What one neighboring step can change in each statistic of this package: every sum that gets noise is made here.

A step replaces the rows of one group of at most k rows; k is 1 without a coupling. Proofs: ``docs/proofs/coupled.md``
and ``docs/proofs/query_strategies.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.common.arrays import Integers
from discreet.coupled.query_method import QuerySetting
from discreet.coupled.workloads.workload import GRID
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.losses import Loss

__all__ = [
    "NONE",
    "Scored",
    "all_sums",
    "answer_sums",
    "count_sums",
    "distance_scores",
    "largest_count",
    "single_sum",
    "weighted_count_sums",
]

NONE = np.zeros(1, dtype=np.int64)
"""Stands for sums that are not computed yet: bounds and noise do not depend on the values."""


@dataclass(frozen=True)
class Scored:
    """A mechanism for a statistic of the sums over all rows, which has bounds of its own: the largest of them, scores.

    ``draw`` is the release or the choice of the mechanism, of what ``statistic`` makes of the sums.
    """

    loss: Loss
    draw: Callable[[BoundedSums], Any]
    statistic: Callable[[Integers], BoundedSums]

    def release(self, sums: BoundedSums) -> Any:
        return self.draw(self.statistic(sums.values))


def single_sum(values: Integers, setting: QuerySetting) -> BoundedSums:
    """Answers in grid steps, each to be used **by itself**.

    A weight is from 0 to 1; measured from ½ it is at most ½ either way. The number of rows is public, so that is a
    shift by a public number, and with k rows replaced one answer moves by at most k.
    """
    half = Fraction(setting.largest * GRID, 2)
    return _sums(values, setting, half, half**2, half, step=Fraction(1, GRID), nonnegative=False)


def all_sums(values: Integers, setting: QuerySetting) -> BoundedSums:
    """Answers to all queries together: each moves by at most k."""
    half, queries = Fraction(setting.largest * GRID, 2), len(setting.workload)
    return _sums(values, setting, half * queries, half**2 * queries, half, step=Fraction(1, GRID), nonnegative=False)


def answer_sums(values: Integers, setting: QuerySetting) -> BoundedSums:
    """Answers to all queries together, with the best bound that the weights allow.

    A row adds its weights: at most the largest sum of weights of one cell. With few queries it is better to measure
    weights from ½, which shifts answers by a public number.
    """
    k, queries = setting.largest, len(setting.workload)
    overlap = Fraction(queries * GRID)
    if setting.workload.is_dense:
        overlap = Fraction(math.ceil(float(setting.workload.combine(np.ones(queries)).max()) * GRID))
    if Fraction(queries * GRID, 2) < overlap:
        return all_sums(values, setting)
    # Σw² ≤ max(w)·Σw, and weights are at most GRID.
    return _sums(values, setting, k * overlap, k**2 * overlap * GRID, Fraction(k * GRID), step=Fraction(1, GRID))


def count_sums(counts: Integers, setting: QuerySetting, *, levels: int = 1) -> BoundedSums:
    """Counts of rows, where one row goes into ``levels`` of them: k rows move k·levels down by 1 and as many up."""
    k = Fraction(setting.largest)
    return _sums(counts, setting, k * levels, k**2 * levels, k)


def weighted_count_sums(counts: Integers, setting: QuerySetting, weights: Sequence[int]) -> BoundedSums:
    """Counts by several sets of attributes, each times its whole weight: a row goes into one count of each set."""
    k, total = Fraction(setting.largest), sum(weights)
    return _sums(counts, setting, k * total, k**2 * sum(one**2 for one in weights), k * max(weights))


def largest_count(histogram: Integers, setting: QuerySetting) -> BoundedSums:
    """The largest count of a cell: k replaced rows move every count, and so the largest, by at most k."""
    # A step takes one contribution out and puts another in: half of k each, of either sign.
    half = Fraction(setting.largest, 2)
    return _sums(np.array([histogram.max()]), setting, half, half**2, half, nonnegative=False)


def distance_scores(distances: list[int], setting: QuerySetting) -> BoundedSums:
    """L1 distances of tables of counts from public tables of whole numbers: replaced rows move each by at most 2k."""
    k, many = Fraction(setting.largest), len(distances)
    return _sums(np.array(distances), setting, k * many, k**2 * many, k, nonnegative=False)


def _sums(
    values: Integers,
    setting: QuerySetting,
    l1: Fraction,
    l2_squared: Fraction,
    linf: Fraction,
    *,
    step: Fraction = Fraction(1),
    nonnegative: bool = True,
) -> BoundedSums:
    return BoundedSums(
        values=np.asarray(values, dtype=np.int64),
        step=step,
        l1=l1,
        l2_squared=l2_squared,
        linf=linf,
        nonnegative=nonnegative,
        unit=setting.unit,
        caps=(),
    )
