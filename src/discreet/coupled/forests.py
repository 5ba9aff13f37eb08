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

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from discreet.common.arrays import Floats, Integers
from discreet.coupled.bounds import NONE, Scored, count_sums, distance_scores
from discreet.coupled.consistency import iterative_proportional_fit
from discreet.coupled.query_method import QuerySetting
from discreet.coupled.shrinking import Law, law_of, shrink_table
from discreet.data.tables import Table
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.budget import Budget
from discreet.privacy.method import Round
from discreet.privacy.selection import PermuteAndFlip, TopK

__all__ = ["Forest", "ForestPlan", "NoisyTable", "forest_parts", "forest_rounds"]

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


class NoisyTable(NamedTuple):
    """Noisy counts and the variance of their noise."""

    counts: Floats
    variance: float


@dataclass(frozen=True)
class ForestPlan:
    """How many tables a budget is worth: of attributes and of pairs, the noise on their counts, whether by selection.

    There are no pairs, or all attributes are measured, too.
    """

    singles: int
    pairs: int
    single_noise: float
    pair_noise: float
    selects: bool

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
                return cls(len(shape), pairs, _noise(setting, budget.part(SINGLES / len(shape))), noise, True)
        for singles in range(len(shape), 0, -1):
            noise = _noise(setting, budget.part(_single_share(singles, len(shape))))
            if singles == 1 or noise <= SINGLE_NOISE * rows / float(np.mean(shape)):
                return cls(singles, 0, noise, 0.0, singles < len(shape))
        raise AssertionError("a table has attributes")

    def facts(self) -> dict[str, float]:
        """For an estimate."""
        facts = {"attributes_measured": self.singles, "attribute_noise_sd": self.single_noise}
        return {**facts, "pairs_measured": self.pairs, "pair_noise_sd": self.pair_noise} if self.pairs else facts

    def check(self, setting: QuerySetting, budget: Budget) -> None:
        """Refuse a budget that noise or choices cannot be drawn for, before anything is charged."""
        if budget.amount > MOST_BUDGET:
            raise UsageError("a budget this large keeps nothing secret.", remedy="Choose a smaller epsilon.")
        shares = [SINGLES / self.singles, PAIRS / self.pairs] if self.pairs else [(1 - CHOOSE_SINGLES) / self.singles]
        for share in shares:
            budget.part(share).for_sums().check(count_sums(NONE, setting))


@dataclass(frozen=True)
class Forest:
    """What was measured, and the model that follows.

    Tables are those of single attributes and of pairs, by the places of their attributes; edges are the pairs of the
    forest, in the order they were chosen.
    """

    shape: tuple[int, ...]
    total: int
    law: Law
    tables: Mapping[Axes, NoisyTable] = field(default_factory=dict)
    edges: tuple[Axes, ...] = ()

    def single(self, axis: int) -> Floats:
        """Expected counts of the values of one attribute: alike, unless it was measured."""
        even = np.full(self.shape[axis], self.total / self.shape[axis])
        measured = self.tables.get((axis,))
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
        measured = self.tables[first, second]
        shrunk = shrink_table(
            measured.counts, self.expected_pair(first, second), measured.variance, self.total, law=self.law
        )
        return iterative_proportional_fit(shrunk, self.single(first), self.single(second))

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


def forest_rounds(setting: QuerySetting, budget: Budget) -> Generator[Round, Any, Forest]:
    """Spend a budget on the tables of a forest."""
    plan = ForestPlan.of(setting, budget)
    shape = setting.workload.shape
    every = range(len(shape))
    if not plan.pairs:
        chosen = (yield from _choose_singles(setting, plan.singles, budget)) if plan.selects else every
        each = budget.part(_single_share(len(chosen), len(shape)))
        singles = yield from _measure(setting, [(axis,) for axis in chosen], each)
        return Forest(shape, setting.n_rows, law_of(budget), singles)
    singles = yield from _measure(setting, [(axis,) for axis in every], budget.part(SINGLES / len(shape)))
    known = Forest(shape, setting.n_rows, law_of(budget), singles)
    edges = yield from _choose_pairs(setting, known, plan.pairs, budget.part(CHOOSE_PAIRS))
    pairs = yield from _measure(setting, edges, budget.part(PAIRS / len(edges)))
    return replace(known, tables={**singles, **pairs}, edges=tuple(edges))


def _choose_singles(setting: QuerySetting, number: int, budget: Budget) -> Generator[Round, Any, list[int]]:
    """Attributes whose counts are furthest from even."""
    even = [np.full(size, round(setting.n_rows / size)) for size in setting.workload.shape]
    selection = budget.part(CHOOSE_SINGLES).for_top(number)
    places = yield _choice(setting, [(axis,) for axis in range(len(even))], even, selection)
    return np.ravel(places).tolist()


def _choose_pairs(
    setting: QuerySetting, known: Forest, number: int, budget: Budget
) -> Generator[Round, Any, list[Axes]]:
    """Pairs whose counts are furthest from those of independent attributes, one after the other, without a circle."""
    tree_of = list(range(len(known.shape)))
    edges: list[Axes] = []
    for _ in range(number):
        pairs = [pair for pair in combinations(range(len(tree_of)), 2) if tree_of[pair[0]] != tree_of[pair[1]]]
        expected = [np.rint(known.expected_pair(*pair)).astype(np.int64).ravel() for pair in pairs]
        place = yield _choice(setting, pairs, expected, budget.part(Fraction(1, number)).for_best())
        first, second = pairs[int(np.ravel(place)[0])]
        edges.append((first, second))
        joined = tree_of[second]
        tree_of = [tree_of[first] if tree == joined else tree for tree in tree_of]
    return edges


def _choice(
    setting: QuerySetting, tables: Sequence[Axes], expected: Sequence[Integers], selection: PermuteAndFlip | TopK
) -> Round:
    """Select tables of counts that are far, in L1, from what is expected of them: whole numbers, public or released."""
    cuts = np.cumsum([one.size for one in expected])[:-1]

    def statistics(table: Table) -> BoundedSums:
        # Each row is in one count of each table.
        return count_sums(np.concatenate([_counts(table, axes) for axes in tables]), setting, levels=len(tables))

    def distances(counts: Integers) -> BoundedSums:
        far = [int(np.abs(table - one).sum()) for table, one in zip(np.split(counts, cuts), expected, strict=True)]
        return distance_scores(far, setting)

    return Round(statistics, Scored(selection.loss, selection.choose, distances))


def _counts(table: Table, axes: Axes) -> Integers:
    """Counts of some of the rows by some attributes, given by their places, flat."""
    return table.histogram([table.attributes[axis] for axis in axes]).ravel()


def _measure(
    setting: QuerySetting, tables: Sequence[Axes], each: Budget
) -> Generator[Round, Any, dict[Axes, NoisyTable]]:
    """Noisy counts by each of some sets of attributes."""
    mechanism = each.for_sums()
    variance = mechanism.standard_deviation(count_sums(NONE, setting)) ** 2
    found = {}
    for axes in tables:
        noisy = yield Round(lambda table, axes=axes: count_sums(_counts(table, axes), setting), mechanism)
        shape = [setting.workload.shape[axis] for axis in axes]
        found[axes] = NoisyTable(noisy.astype(np.float64).reshape(shape), variance)
    return found


def forest_parts(setting: QuerySetting, forest: Forest) -> dict[str, Any]:
    """The model behind the answers: its histogram, and the pairs of attributes by name."""
    names = setting.attributes
    pairs = [(names[first], names[second]) for first, second in forest.edges]
    table = pl.DataFrame(pairs, schema={"first": pl.String, "second": pl.String}, orient="row")
    return {"histogram": forest.histogram(), "pairs": table}


def _single_share(chosen: int, attributes: int) -> Fraction:
    """What is left for each attribute: choosing costs nothing where all are measured."""
    return (Fraction(1) if chosen == attributes else 1 - CHOOSE_SINGLES) / chosen


def _noise(setting: QuerySetting, budget: Budget) -> float:
    return budget.for_sums().standard_deviation(count_sums(NONE, setting))


def _along(table: Floats, axes: Axes, dimensions: int) -> Floats:
    """A table laid along some axes of a larger array."""
    sizes = iter(table.shape)
    return table.reshape([next(sizes) if axis in axes else 1 for axis in range(dimensions)])
