"""Many queries at once from one noisy histogram: plain, and shrunk to a private model of the table."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.coupled.budgets import Budget
from discreet.coupled.consistency import onto_simplex
from discreet.coupled.forests import Forest, ForestPlan, count_sums, fit_forest
from discreet.coupled.query_method import Answered, QueryMethod, QueryPlan, QuerySetting
from discreet.coupled.shrinking import shrink_cells
from discreet.data.tables import Table
from discreet.privacy.numbers import Rational, as_positive, as_probability

__all__ = ["HistogramRelease", "ShrunkHistogram"]

Way = Literal["cells", "model", "scout"]

SCOUT = Fraction(1, 4)
"""Share of the budget for the model that the cells are shrunk to."""

WORTH_COUNTING = {True: 1.2, False: 0.5}
"""Cells are measured if the count of a row's cell, averaged over rows, is expected to be this many deviations of noise.

A model without all its pairs (False) spreads rows too evenly and expects too little."""

HOPELESS, PLAIN = 0.01, 2.0
"""Rows a cell over the noise on it: below the first a scout that affords one attribute cannot change the verdict, from
the second on the cells need no model."""


@dataclass(frozen=True)
class HistogramRelease(QueryMethod):
    """Noise on every cell, then the nearest histogram without negative counts; all answers follow from it.

    Parameters
    ----------
    epsilon
        The budget; from ``of`` any number.
    delta
        0 for pure privacy and discrete Laplace noise; above 0 for discrete Gaussian noise.

    Privacy
    -------
    Rows replaced: k rows of one coupled group move the histogram by at most 2k in L1 and √2·k in L2. PROVED,
    ``docs/proofs/query_strategies.md``, Theorem 1. The cost is the same however many queries are asked, and later ones
    cost nothing.

    Notes
    -----
    For random queries with independent weights of variance v the expected squared error of an answer is v times the
    squared L2 error of the histogram: who estimates the histogram best answers best.

    Examples
    --------
    >>> from discreet.coupled import random_queries
    >>> table = Table({"a": [0, 1, 1, 1] * 50, "b": [0, 0, 1, 1] * 50}, domains={"a": range(2), "b": range(2)})
    >>> release = HistogramRelease.of(epsilon=1).release(table, random_queries(table, 5, seed=1))
    >>> round(release.array("histogram").sum())
    200
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    name: ClassVar[str] = "histogram"

    @classmethod
    def of(cls, epsilon: Rational, *, delta: Rational = 0) -> HistogramRelease:
        return cls(as_positive(epsilon, "epsilon"), as_probability(delta))

    def _plan(self, setting: QuerySetting) -> QueryPlan:
        budget = _checked(setting, self.epsilon, self.delta)
        deviation = _cell_noise(setting, budget)
        return QueryPlan(
            loss=budget.loss,
            basis="noise on the counts of all cells, docs/proofs/query_strategies.md, Theorem 1",
            expected={"cell_noise_sd": deviation},
        )

    def _answer(self, table: Table, setting: QuerySetting) -> Answered:
        noisy = _noisy_cells(table, setting, Budget.of(self.epsilon, self.delta))
        return _from_histogram(setting, onto_simplex(noisy, setting.n_rows), {})


@dataclass(frozen=True)
class ShrunkHistogram(QueryMethod):
    """The house's best for many queries at once: noisy cells shrunk to a private model, or the model alone.

    A quarter of the budget buys a model from small tables (``forests``). If it expects rows to crowd in few cells, the
    rest of the budget goes to the cells, which are shrunk to the model as far as they agree with it; otherwise it goes
    to measuring the small tables again. Where public numbers settle the question, all goes one way.

    Parameters
    ----------
    epsilon
        The budget; from ``of`` any number.
    delta
        0 for pure privacy and discrete Laplace noise; above 0 for discrete Gaussian noise.

    Privacy
    -------
    Rows replaced. Every choice and every table is paid for out of one budget, and what is done next depends on what
    was paid for and on public numbers alone. PROVED, ``docs/proofs/query_strategies.md``, Theorem 2.

    Notes
    -----
    Shares and thresholds are constants of this file and of ``forests``, the same for every table. They were settled by
    trying a few values on Adult and on the built-in survey, so errors on these two are not those of unseen data.

    Examples
    --------
    >>> from discreet.coupled import random_queries
    >>> from discreet.data.synthetic import survey
    >>> table = survey(households=200, seed=1)
    >>> release = ShrunkHistogram.of(epsilon=1).release(table, random_queries(table, 5, seed=1))
    >>> print(release.guarantee.loss, round(release.array("histogram").sum()) == len(table))
    ε = 1 True
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    name: ClassVar[str] = "shrunk-histogram"

    @classmethod
    def of(cls, epsilon: Rational, *, delta: Rational = 0) -> ShrunkHistogram:
        return cls(as_positive(epsilon, "epsilon"), as_probability(delta))

    def _plan(self, setting: QuerySetting) -> QueryPlan:
        budget = _checked(setting, self.epsilon, self.delta)
        scout, rest = budget.part(SCOUT), budget.part(1 - SCOUT)
        way = _way(setting, budget)
        expected: dict[str, Any] = {"way": way}
        if way != "cells":
            for part in (budget,) if way == "model" else (scout, rest):
                ForestPlan.of(setting, part).check(setting, part)
            expected |= ForestPlan.of(setting, budget if way == "model" else scout).facts()
        if way != "model":
            expected["cell_noise_sd"] = _cell_noise(setting, budget if way == "cells" else rest)
        return QueryPlan(
            loss=budget.loss,
            basis="tables and cells in adaptive composition, docs/proofs/query_strategies.md, Theorem 2",
            expected=expected,
        )

    def _answer(self, table: Table, setting: QuerySetting) -> Answered:
        budget = Budget.of(self.epsilon, self.delta)
        way = _way(setting, budget)
        if way == "cells":
            even = np.full(setting.workload.n_cells, setting.n_rows / setting.workload.n_cells)
            return _from_histogram(setting, _shrunk_cells(table, setting, budget, even), {}, "cells")
        if way == "model":
            forest = fit_forest(table, setting, budget)
            return _from_histogram(setting, forest.histogram(), forest_parts(table, forest))
        scouted = fit_forest(table, setting, budget.part(SCOUT))
        model, rest = scouted.histogram(), budget.part(1 - SCOUT)
        # Σ model²/rows is the expected count of a row's own cell: large where rows crowd in few cells.
        complete = len(scouted.edges) == len(table.shape) - 1
        if float(model @ model) / setting.n_rows >= WORTH_COUNTING[complete] * _cell_noise(setting, rest):
            return _from_histogram(
                setting, _shrunk_cells(table, setting, rest, model), forest_parts(table, scouted), "cells"
            )
        forest = fit_forest(table, setting, rest, earlier=scouted)
        return _from_histogram(setting, forest.histogram(), forest_parts(table, forest))


def forest_parts(table: Table, forest: Forest) -> dict[str, Any]:
    """The pairs of a model, by name, for its release."""
    import polars as pl

    names = table.attributes
    pairs = [(names[first], names[second]) for first, second in forest.edges]
    return {"pairs": pl.DataFrame(pairs, schema={"first": pl.String, "second": pl.String}, orient="row")}


def _checked(setting: QuerySetting, epsilon: Fraction, delta: Fraction) -> Budget:
    """The budget, after everything that could be wrong with a request was looked at."""
    if setting.coupling is not None:
        setting.coupling.require_public("a proved histogram")
    setting.workload.require_dense("a histogram of all cells")
    budget = Budget.of(epsilon, delta)
    budget.noise().check(count_sums(np.zeros(1, dtype=np.int64), setting))
    return budget


def _way(setting: QuerySetting, budget: Budget) -> Way:
    """What public numbers settle: cells alone, a model alone, or a scout that decides."""
    crowd = setting.n_rows / setting.workload.n_cells
    # A model of one attribute would be the histogram itself.
    if len(setting.workload.shape) == 1 or crowd >= PLAIN * _cell_noise(setting, budget):
        return "cells"
    hopeless = crowd < HOPELESS * _cell_noise(setting, budget.part(1 - SCOUT))
    return "model" if hopeless and ForestPlan.of(setting, budget.part(SCOUT)).singles == 1 else "scout"


def _cell_noise(setting: QuerySetting, budget: Budget) -> float:
    return budget.noise().standard_deviation(count_sums(np.zeros(1, dtype=np.int64), setting))


def _noisy_cells(table: Table, setting: QuerySetting, budget: Budget) -> NDArray[np.int64]:
    return budget.noise().release(count_sums(table.histogram().ravel(), setting))


def _shrunk_cells(
    table: Table, setting: QuerySetting, budget: Budget, model: NDArray[np.float64]
) -> NDArray[np.float64]:
    variance = _cell_noise(setting, budget) ** 2
    noisy = _noisy_cells(table, setting, budget)
    return shrink_cells(noisy, model, variance, setting.n_rows, law=budget.law)


def _from_histogram(
    setting: QuerySetting, histogram: NDArray[np.float64], parts: dict[str, Any], source: str = "estimate"
) -> Answered:
    return Answered(
        np.asarray(setting.workload.answers(histogram), np.float64), source=source, histogram=histogram, parts=parts
    )
