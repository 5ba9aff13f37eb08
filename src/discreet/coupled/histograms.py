"""Many queries at once from one histogram: of noisy cells, of cells shrunk to a private model, of a model alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.common.arrays import Floats, Integers
from discreet.coupled.bounds import NONE, Scored, count_sums, largest_count
from discreet.coupled.consistency import onto_simplex
from discreet.coupled.forests import (
    Forest,
    ForestPlan,
    NoisyTable,
    forest_parts,
    forest_rounds,
)
from discreet.coupled.query_method import BudgetedMethod, QuerySetting, answer_parts
from discreet.coupled.shrinking import Law, law_of, noise_height, shrink_cells
from discreet.privacy.budget import Budget
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.method import Plan, Round, Rounds

__all__ = ["HistogramRelease", "ShrunkHistogram", "TreeMarginals"]

Way = Literal["cells", "model", "look"]

LOOK = Fraction(1, 10)
"""Share of the budget for the largest count of a cell, which tells whether any is above the noise on cells."""

PLAIN = 1.0
"""Rows a cell over the noise on it, from which on cells are measured without that release."""

SUM_NOISE = 1.5
"""Sums of noisy cells are used while their noise is at most this many times what a sum would be if all were alike."""

MOST_IN_ONE = 0.5
"""A cell that would need more than this share of the rows to be above the noise is not looked for."""


@dataclass(frozen=True)
class HistogramRelease(BudgetedMethod):
    """Noise on every cell, then the nearest histogram without negative counts, from which all queries are answered.

    Parameters
    ----------
    epsilon, delta
        The budget. With delta = 0 the noise is Laplace noise, otherwise Gaussian noise.

    Privacy
    -------
    Rows replaced: k rows of one coupled group move the histogram by at most 2k in L1 and √2·k in L2. PROVED,
    ``docs/proofs/query_strategies.md``, Theorem 1. The cost is the same however many queries are asked, and later ones
    cost nothing.

    Notes
    -----
    For random queries with independent weights of variance v the expected squared error of an answer is v times the
    squared L2 error of the histogram: the best estimate of the histogram gives the best answers.

    Examples
    --------
    >>> from discreet.coupled import random_queries
    >>> from discreet.data import Table
    >>> table = Table({"a": [0, 1, 1, 1] * 50, "b": [0, 0, 1, 1] * 50}, domains={"a": range(2), "b": range(2)})
    >>> release = HistogramRelease(epsilon=1).release(table, random_queries(table, 5, seed=1))
    >>> round(release.array("histogram").sum())
    200
    """

    name: ClassVar[str] = "histogram"

    def _plan(self, public: QuerySetting) -> Plan:
        budget = self._budget
        _check_cells(public, budget)
        return public.plan(
            self.name,
            budget.loss,
            "noise on the counts of all cells, docs/proofs/query_strategies.md, Theorem 1",
            expected={"cell_noise_sd": _cell_noise(public, budget)},
        )

    def _rounds(self, plan: Plan) -> Rounds:
        noisy = yield _cells(plan.public, self._budget.for_sums())
        return answer_parts(plan.public, histogram=onto_simplex(noisy, plan.public.n_rows))


@dataclass(frozen=True)
class ShrunkHistogram(BudgetedMethod):
    """Noisy cells shrunk to a private model, or the model alone: for many queries at once.

    A tenth of the budget buys the largest count of a cell. If it is above the noise on cells, the rest goes
    to the cells, which are shrunk to what their own sums by attribute expect; otherwise the rest goes to a model from
    small tables (``forests``). Where public numbers decide this, nothing is spent on it.

    Parameters
    ----------
    epsilon, delta
        The budget. With delta = 0 the noise is Laplace noise, otherwise Gaussian noise.

    Privacy
    -------
    Rows replaced. Every choice and every table is paid for out of one budget, and what is done next depends on what
    was paid for and on public numbers alone. PROVED, ``docs/proofs/query_strategies.md``, Theorem 2.

    Notes
    -----
    Shares and thresholds are constants of this file, of ``forests`` and of ``deconvolution``, the same for every table.
    They were chosen by trying values on Adult, on the built-in tables of the study ``cim`` and on a few tables with
    independent attributes, so errors on these are not those of unseen data.

    Examples
    --------
    >>> from discreet.coupled import random_queries
    >>> from discreet.data.synthetic import survey
    >>> table = survey(households=200, seed=1)
    >>> release = ShrunkHistogram(epsilon=1).release(table, random_queries(table, 5, seed=1))
    >>> print(release.guarantee.loss, round(release.array("histogram").sum()) == len(table))
    ε = 1 True
    """

    name: ClassVar[str] = "shrunk-histogram"

    def _spends(self, setting: QuerySetting) -> Budget:
        """On μ where no table is selected, whichever way the release takes; on ρ otherwise."""
        noise_only = self._budget
        way = _way(setting, noise_only)
        selects = way != "cells" and ForestPlan.of(setting, _rest(way, noise_only)).selects
        return replace(self._budget, selects=True) if selects else noise_only

    def _plan(self, public: QuerySetting) -> Plan:
        budget = self._spends(public)
        _check_cells(public, budget)
        way = _way(public, budget)
        rest = _rest(way, budget)
        expected: dict[str, Any] = {"way": way}
        if way == "look":
            look, like = budget.part(LOOK).for_sums(), largest_count(NONE, public)
            look.check(like)
            expected["largest_cell_noise_sd"] = look.standard_deviation(like)
        if way != "cells":
            forest = ForestPlan.of(public, rest)
            forest.check(public, rest)
            expected |= forest.facts()
        if way != "model":
            _check_cells(public, rest)
            expected["cell_noise_sd"] = _cell_noise(public, rest)
        basis = "tables and cells in adaptive composition, docs/proofs/query_strategies.md, Theorem 2"
        return public.plan(self.name, budget.loss, basis, expected=expected)

    def _rounds(self, plan: Plan) -> Rounds:
        setting = plan.public
        budget = self._spends(setting)
        way = _way(setting, budget)
        rest = _rest(way, budget)
        if way == "look":
            look = budget.part(LOOK).for_sums()
            statistic = Scored(look.loss, look.release, lambda counts: largest_count(counts, setting))
            (largest,) = yield _cells(setting, statistic)
            height = noise_height(_cell_noise(setting, rest), setting.workload.n_cells, law=law_of(rest))
            way = "cells" if largest >= height else "model"
        if way == "model":
            forest = yield from forest_rounds(setting, rest)
            return answer_parts(setting, **forest_parts(setting, forest))
        noisy = yield _cells(setting, rest.for_sums())
        variance, law = _cell_noise(setting, rest) ** 2, law_of(rest)
        model = independent_model(noisy, setting, variance, law=law)
        cells = shrink_cells(noisy, model, variance, setting.n_rows, law=law)
        return answer_parts(setting, histogram=cells, source="cells")


def _cells(setting: QuerySetting, mechanism: AdditiveMechanism | Scored) -> Round:
    return Round(lambda table: count_sums(table.histogram().ravel(), setting), mechanism)


def _check_cells(setting: QuerySetting, budget: Budget) -> None:
    """Refuse a domain that is too large and noise that cannot be drawn, before anything is charged."""
    setting.workload.require_dense("a histogram of all cells")
    budget.for_sums().check(count_sums(NONE, setting))


def _cell_noise(setting: QuerySetting, budget: Budget) -> float:
    return budget.for_sums().standard_deviation(count_sums(NONE, setting))


def _way(setting: QuerySetting, budget: Budget) -> Way:
    """What public numbers decide: cells alone, a model alone, or by the largest cell ("look")."""
    cells, noise = setting.workload.n_cells, _cell_noise(setting, budget)
    # A model of one attribute would be the histogram itself. Several curators have cells in common, and no look.
    if setting.several or len(setting.workload.shape) == 1 or setting.n_rows / cells >= PLAIN * noise:
        return "cells"
    return "model" if noise_height(noise, cells, law=law_of(budget)) > MOST_IN_ONE * setting.n_rows else "look"


def _rest(way: Way, budget: Budget) -> Budget:
    """What is left for tables and cells."""
    return budget.part(1 - LOOK) if way == "look" else budget


def independent_model(noisy: Integers, setting: QuerySetting, variance: float, *, law: Law) -> Floats:
    """What noisy cells themselves expect of each cell if attributes were independent; even for one attribute.

    Sums over many cells are free, and where rows are many they stand out of their noise although single cells do not.
    """
    shape, cells = setting.workload.shape, noisy.size
    if len(shape) == 1:
        return np.full(cells, setting.n_rows / cells)
    cube = noisy.reshape(shape).astype(np.float64)
    singles = {}
    for axis, size in enumerate(shape):
        noise = variance * cells / size
        if noise <= (SUM_NOISE * setting.n_rows / size) ** 2:
            counts = cube.sum(axis=tuple(other for other in range(len(shape)) if other != axis))
            singles[axis,] = NoisyTable(counts, noise)
    return Forest(shape, setting.n_rows, law, singles).histogram()


@dataclass(frozen=True)
class TreeMarginals(BudgetedMethod):
    """All marginals from one tree-shaped model, after MST, the winner of the NIST contest for synthetic data.

    Parameters
    ----------
    epsilon, delta
        The budget. With delta = 0 the noise is Laplace noise, otherwise Gaussian noise.

    Privacy
    -------
    Rows replaced. Counts of attributes, the selection of pairs and counts of pairs share one budget. PROVED,
    ``docs/proofs/query_strategies.md``, Theorem 2.

    Notes
    -----
    The package ``mbi`` of the authors of MST solves the same task for any set of measured marginals; it needs jax.
    A tree needs no iterative inference, so it is computed here in closed form. Shares of the budget, shrinking,
    and the rule for how many pairs are measured differ from MST.

    References
    ----------
    R. McKenna, G. Miklau, D. Sheldon: Winning the NIST contest. J. Privacy Confid. 2021.

    Examples
    --------
    >>> from discreet.coupled import all_marginals
    >>> from discreet.data.synthetic import survey
    >>> table = survey(households=200, seed=1)
    >>> release = TreeMarginals(epsilon=4).release(table, all_marginals(table, 2))
    >>> release.table("pairs").columns
    ['first', 'second']
    """

    name: ClassVar[str] = "tree"
    chooses: ClassVar[bool] = True

    def _spends(self, setting: QuerySetting) -> Budget:
        """On μ where nothing is selected, on ρ otherwise."""
        noise_only = self._budget
        return replace(self._budget, selects=True) if ForestPlan.of(setting, noise_only).selects else noise_only

    def _plan(self, public: QuerySetting) -> Plan:
        public.workload.require_dense("a histogram of all cells")
        budget = self._spends(public)
        forest = ForestPlan.of(public, budget)
        forest.check(public, budget)
        basis = "tables in adaptive composition, docs/proofs/query_strategies.md, Theorem 2"
        return public.plan(self.name, budget.loss, basis, expected=forest.facts())

    def _rounds(self, plan: Plan) -> Rounds:
        forest = yield from forest_rounds(plan.public, self._spends(plan.public))
        return answer_parts(plan.public, **forest_parts(plan.public, forest))
