"""A model of a table from few small tables: a forest of pairs of attributes, chosen and measured privately.

Attributes that depend on each other most are paired, greedily and without a circle; the tables of single attributes
and of the chosen pairs are measured with noise, shrunk, and multiplied to one histogram. How many tables are worth
measuring follows from public numbers alone: rows, domains, budget, and the size of coupled groups.

References
----------
C. Chow, C. Liu: Approximating discrete probability distributions with dependence trees. IEEE Trans. Inf. Theory, 1968.
R. McKenna, G. Miklau, D. Sheldon: Winning the NIST contest: a scalable and general approach to differentially private
synthetic data. J. Privacy Confid. 2021.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.coupled.budgets import Budget, Law
from discreet.coupled.consistency import raked
from discreet.coupled.query_method import QuerySetting
from discreet.coupled.shrinking import shrink_table
from discreet.data.tables import Table
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums

__all__ = ["Forest", "ForestPlan", "Measured", "count_sums", "fit_forest"]

Floats = NDArray[np.float64]
Axes = tuple[int, ...]

# Shares of a budget. Without pairs: choosing attributes, measuring them. With pairs: attributes, choosing, pairs.
CHOOSE_SINGLES = Fraction(3, 10)
SINGLES, CHOOSE_PAIRS, PAIRS = Fraction(1, 4), Fraction(1, 10), Fraction(13, 20)

# Tables are measured while the noise on a count is at most this share of what a count would be if all were alike.
SINGLE_NOISE, PAIR_NOISE = 0.14, 0.3
FEWEST_PAIRS = 2

MOST_BUDGET = 2**40

LEAST_SHARE = 1e-6
"""No value of an attribute is taken to be impossible: a zero in a product could never be corrected."""


def count_sums(counts: NDArray[np.int64], setting: QuerySetting) -> BoundedSums:
    """Counts of cells that do not overlap: k rows move at most k counts down by 1 each and as many up."""
    k = Fraction(setting.largest)
    return BoundedSums(
        values=np.asarray(counts, dtype=np.int64),
        step=Fraction(1),
        l1=k,
        l2_squared=k**2,
        linf=k,
        nonnegative=True,
        unit=setting.unit,
        caps=(),
    )


def distance_scores(distances: list[int], setting: QuerySetting) -> BoundedSums:
    """L1 distances of tables of counts from public tables of whole numbers: replaced rows move each by at most 2k."""
    k = Fraction(setting.largest)
    return BoundedSums(
        values=np.array(distances, dtype=np.int64),
        step=Fraction(1),
        l1=k * len(distances),
        l2_squared=k**2 * len(distances),
        linf=k,
        nonnegative=False,
        unit=setting.unit,
        caps=(),
    )


@dataclass(frozen=True)
class Measured:
    """A noisy table and the variance of its noise."""

    counts: Floats
    variance: float


@dataclass(frozen=True)
class ForestPlan:
    """How many tables a budget is worth.

    Parameters
    ----------
    singles
        How many attributes are measured by themselves.
    pairs
        How many pairs of attributes are measured; 0, or all attributes are measured, too.
    single_noise, pair_noise
        Standard deviation of the noise on their counts.
    """

    singles: int
    pairs: int
    single_noise: float
    pair_noise: float

    @classmethod
    def of(cls, setting: QuerySetting, budget: Budget) -> ForestPlan:
        """From public numbers alone."""
        shape, rows = setting.workload.shape, setting.n_rows
        pair_size = float(np.mean([a * b for a, b in combinations(shape, 2)])) if len(shape) > 1 else 1.0
        for pairs in range(len(shape) - 1, 0, -1):
            if pairs < min(FEWEST_PAIRS, len(shape) - 1):
                break
            noise = _noise(setting, budget.part(PAIRS / pairs))
            if noise <= PAIR_NOISE * rows / pair_size:
                return cls(len(shape), pairs, _noise(setting, budget.part(SINGLES / len(shape))), noise)
        for singles in range(len(shape), 0, -1):
            noise = _noise(setting, budget.part(_single_share(singles, len(shape))))
            if singles == 1 or noise <= SINGLE_NOISE * rows / float(np.mean(shape)):
                return cls(singles, 0, noise, 0.0)
        raise AssertionError("a table has attributes")

    def facts(self) -> dict[str, float]:
        """For an estimate."""
        facts = {"attributes_measured": self.singles, "attribute_noise_sd": self.single_noise}
        return {**facts, "pairs_measured": self.pairs, "pair_noise_sd": self.pair_noise} if self.pairs else facts

    def check(self, setting: QuerySetting, budget: Budget) -> None:
        """Refuse a budget that noise or choices cannot be drawn for, before anything is charged."""
        if budget.amount > MOST_BUDGET:
            raise UsageError("a budget this large keeps nothing secret.", remedy="Choose a smaller epsilon.")
        sums = count_sums(np.zeros(1, dtype=np.int64), setting)
        shares = [SINGLES / self.singles, PAIRS / self.pairs] if self.pairs else [(1 - CHOOSE_SINGLES) / self.singles]
        for share in shares:
            budget.part(share).noise().check(sums)


@dataclass(frozen=True)
class Forest:
    """What was measured, and the model that follows.

    Parameters
    ----------
    shape
        Codes of each attribute.
    total
        Number of rows.
    singles, pairs
        Measured tables by the places of their attributes.
    edges
        The pairs of the forest, in the order they were chosen.
    """

    shape: tuple[int, ...]
    total: int
    law: Law
    singles: Mapping[int, Measured] = field(default_factory=dict)
    pairs: Mapping[Axes, Measured] = field(default_factory=dict)
    edges: tuple[tuple[int, int], ...] = ()

    def single(self, axis: int) -> Floats:
        """Expected counts of the values of one attribute: alike, unless it was measured."""
        even = np.full(self.shape[axis], self.total / self.shape[axis])
        measured = self.singles.get(axis)
        if measured is None:
            return even
        counts = shrink_table(measured.counts, even, measured.variance, self.total, law=self.law)
        lifted = np.maximum(counts, LEAST_SHARE * self.total)
        return lifted * (self.total / lifted.sum())

    def expected_pair(self, first: int, second: int) -> Floats:
        """Counts of a pair of attributes if they were independent."""
        return np.outer(self.single(first), self.single(second)) / self.total

    def pair(self, first: int, second: int) -> Floats:
        """Expected counts of a measured pair, with the sums that its attributes have."""
        measured = self.pairs[first, second]
        shrunk = shrink_table(
            measured.counts, self.expected_pair(first, second), measured.variance, self.total, law=self.law
        )
        return raked(shrunk, self.single(first), self.single(second))

    def histogram(self) -> Floats:
        """The model of all cells, flat: Π of attributes × Π over edges of (pair / product of its attributes)."""
        shares = [self.single(axis) / self.total for axis in range(len(self.shape))]
        model = np.full(self.shape, float(self.total))
        for axis, share in enumerate(shares):
            model *= _along(share, (axis,), len(self.shape))
        for first, second in self.edges:
            ratio = self.pair(first, second) / self.expected_pair(first, second)
            model *= _along(ratio, (first, second), len(self.shape))
        return (model * (self.total / model.sum())).ravel()


def fit_forest(table: Table, setting: QuerySetting, budget: Budget) -> Forest:
    """Spend a budget on the tables of a forest. Charge the ledger first."""
    plan = ForestPlan.of(setting, budget)
    if not plan.pairs:
        chosen = _choose_singles(table, setting, plan.singles, budget)
        share = _single_share(len(chosen), len(table.shape)) * len(chosen)
        return _measure_singles(table, setting, chosen, budget.part(share))
    every = list(range(len(table.shape)))
    known = _measure_singles(table, setting, every, budget.part(SINGLES))
    edges = _choose_pairs(table, setting, known, plan.pairs, budget.part(CHOOSE_PAIRS))
    return _measure_pairs(table, setting, known, edges, budget.part(PAIRS))


def _choose_singles(table: Table, setting: QuerySetting, number: int, budget: Budget) -> list[int]:
    """Attributes whose counts are furthest from even."""
    if number == len(table.shape):
        return list(range(number))
    distances = []
    for attribute, size in zip(table.attributes, table.shape, strict=True):
        even = round(setting.n_rows / size)
        distances.append(int(np.abs(table.histogram([attribute]) - even).sum()))
    return budget.part(CHOOSE_SINGLES).pick_many(distance_scores(distances, setting), number).tolist()


def _measure_singles(table: Table, setting: QuerySetting, chosen: list[int], budget: Budget) -> Forest:
    each = budget.part(Fraction(1, len(chosen)))
    singles = {axis: _measure(table.histogram([table.attributes[axis]]), setting, each) for axis in chosen}
    return Forest(table.shape, setting.n_rows, budget.law, singles)


def _choose_pairs(
    table: Table, setting: QuerySetting, known: Forest, number: int, budget: Budget
) -> list[tuple[int, int]]:
    """Pairs whose counts are furthest from those of independent attributes, one after the other, without a circle."""
    distance = {}
    for first, second in combinations(range(len(table.shape)), 2):
        expected = np.rint(known.expected_pair(first, second)).astype(np.int64)
        counts = table.histogram([table.attributes[first], table.attributes[second]])
        distance[first, second] = int(np.abs(counts - expected).sum())
    tree_of = list(range(len(table.shape)))
    edges: list[tuple[int, int]] = []
    for _ in range(number):
        open_pairs = [pair for pair in distance if tree_of[pair[0]] != tree_of[pair[1]]]
        scores = distance_scores([distance[pair] for pair in open_pairs], setting)
        first, second = open_pairs[budget.part(Fraction(1, number)).pick(scores)]
        edges.append((first, second))
        joined = tree_of[second]
        tree_of = [tree_of[first] if tree == joined else tree for tree in tree_of]
    return edges


def _measure_pairs(
    table: Table, setting: QuerySetting, known: Forest, edges: list[tuple[int, int]], budget: Budget
) -> Forest:
    each = budget.part(Fraction(1, len(edges)))
    pairs = {
        edge: _measure(table.histogram([table.attributes[axis] for axis in edge]), setting, each) for edge in edges
    }
    return Forest(known.shape, known.total, known.law, known.singles, pairs, tuple(edges))


def _measure(counts: NDArray[np.int64], setting: QuerySetting, budget: Budget) -> Measured:
    sums = count_sums(counts, setting)
    mechanism = budget.noise()
    return Measured(mechanism.release(sums).astype(np.float64), mechanism.standard_deviation(sums) ** 2)


def _single_share(chosen: int, attributes: int) -> Fraction:
    """What is left for each attribute: choosing costs nothing where all are measured."""
    return (Fraction(1) if chosen == attributes else 1 - CHOOSE_SINGLES) / chosen


def _noise(setting: QuerySetting, budget: Budget) -> float:
    return budget.noise().standard_deviation(count_sums(np.zeros(1, dtype=np.int64), setting))


def _along(table: Floats, axes: Axes, dimensions: int) -> Floats:
    """A table laid along some axes of a larger array."""
    sizes = iter(table.shape)
    return table.reshape([next(sizes) if axis in axes else 1 for axis in range(dimensions)])
