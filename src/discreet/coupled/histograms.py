"""Many queries at once from one noisy histogram: plain, and shrunk to a private model of the table."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.coupled.budgets import Budget, Law
from discreet.coupled.consistency import onto_simplex
from discreet.coupled.deconvolution import noise_height
from discreet.coupled.forests import Forest, ForestPlan, Measured, count_sums, fit_forest
from discreet.coupled.query_method import Answered, QueryMethod, QueryPlan, QuerySetting
from discreet.coupled.shrinking import shrink_cells
from discreet.data.tables import Table
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.numbers import Rational, as_positive, as_probability

__all__ = ["HistogramRelease", "ShrunkHistogram"]

Way = Literal["cells", "model", "look"]

LOOK = Fraction(1, 10)
"""Share of the budget for the largest count of a cell, which tells whether any stands out of the noise on cells."""

PLAIN = 1.0
"""Rows a cell over the noise on it, from which on cells are measured without a look."""

SUM_NOISE = 1.5
"""Sums of noisy cells are used while their noise is at most this many times what a sum would be if all were alike."""

MOST_IN_ONE = 0.5
"""A cell that would need more than this share of the rows to stand out of the noise is not looked for."""


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

    A tenth of the budget buys the largest count of a cell. If it would stand out of the noise on cells, the rest goes
    to the cells, which are shrunk to what their own sums by attribute expect; otherwise the rest goes to a model from
    small tables (``forests``). Where public numbers settle the question, nothing is spent on it.

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
    Shares and thresholds are constants of this file, of ``forests`` and of ``deconvolution``, the same for every table.
    They were settled by trying values on Adult, on the built-in tables of the study ``cim`` and on a few tables with
    independent attributes, so errors on these are not those of unseen data.

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
        way, rest, one = _way(setting, budget), budget, np.zeros(1, dtype=np.int64)
        expected: dict[str, Any] = {"way": way}
        if way == "look":
            look, rest = budget.part(LOOK).noise(), budget.part(1 - LOOK)
            look.check(largest_count(one, setting))
            expected["largest_cell_noise_sd"] = look.standard_deviation(largest_count(one, setting))
        if way != "cells":
            plan = ForestPlan.of(setting, rest)
            plan.check(setting, rest)
            expected |= plan.facts()
        if way != "model":
            rest.noise().check(count_sums(one, setting))
            expected["cell_noise_sd"] = _cell_noise(setting, rest)
        return QueryPlan(
            loss=budget.loss,
            basis="tables and cells in adaptive composition, docs/proofs/query_strategies.md, Theorem 2",
            expected=expected,
        )

    def _answer(self, table: Table, setting: QuerySetting) -> Answered:
        budget = Budget.of(self.epsilon, self.delta)
        way, rest = _way(setting, budget), budget
        if way == "look":
            rest = budget.part(1 - LOOK)
            way = "cells" if _stands_out(table, setting, budget.part(LOOK), rest) else "model"
        if way == "cells":
            return _from_histogram(setting, _shrunk_cells(table, setting, rest), {}, source="cells")
        forest = fit_forest(table, setting, rest)
        return _from_histogram(setting, forest.histogram(), forest_parts(table, forest))


def largest_count(histogram: NDArray[np.int64], setting: QuerySetting) -> BoundedSums:
    """The largest count of a cell: k rows, replaced, move every count and so the largest by at most k."""
    # A step takes one contribution out and puts another in: half of k each, of either sign.
    half = Fraction(setting.largest, 2)
    return BoundedSums(
        values=np.array([histogram.max()], dtype=np.int64),
        step=Fraction(1),
        l1=half,
        l2_squared=half**2,
        linf=half,
        nonnegative=False,
        unit=setting.unit,
        caps=(),
    )


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
    """What public numbers settle: cells alone, a model alone, or a look at the largest cell that decides."""
    cells, noise = setting.workload.n_cells, _cell_noise(setting, budget)
    # A model of one attribute would be the histogram itself.
    if len(setting.workload.shape) == 1 or setting.n_rows / cells >= PLAIN * noise:
        return "cells"
    return "model" if noise_height(noise, cells, law=budget.law) > MOST_IN_ONE * setting.n_rows else "look"


def _stands_out(table: Table, setting: QuerySetting, look: Budget, rest: Budget) -> bool:
    """Whether the largest count, as far as the noise on it lets see, is above what noise on the cells would reach."""
    seen = int(look.noise().release(largest_count(table.histogram(), setting))[0])
    return seen >= noise_height(_cell_noise(setting, rest), setting.workload.n_cells, law=rest.law)


def _cell_noise(setting: QuerySetting, budget: Budget) -> float:
    return budget.noise().standard_deviation(count_sums(np.zeros(1, dtype=np.int64), setting))


def _noisy_cells(table: Table, setting: QuerySetting, budget: Budget) -> NDArray[np.int64]:
    return budget.noise().release(count_sums(table.histogram().ravel(), setting))


def _shrunk_cells(table: Table, setting: QuerySetting, budget: Budget) -> NDArray[np.float64]:
    variance = _cell_noise(setting, budget) ** 2
    noisy = _noisy_cells(table, setting, budget)
    model = independent_model(noisy, setting, variance, law=budget.law)
    return shrink_cells(noisy, model, variance, setting.n_rows, law=budget.law)


def independent_model(
    noisy: NDArray[np.int64], setting: QuerySetting, variance: float, *, law: Law
) -> NDArray[np.float64]:
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
            singles[axis] = Measured(counts, noise)
    return Forest(shape, setting.n_rows, law, singles).histogram()


def _from_histogram(
    setting: QuerySetting, histogram: NDArray[np.float64], parts: dict[str, Any], source: str = "estimate"
) -> Answered:
    return Answered(
        np.asarray(setting.workload.answers(histogram), np.float64), source=source, histogram=histogram, parts=parts
    )
