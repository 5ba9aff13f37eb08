"""Fixed workloads: the counts to measure are chosen for the queries, before any row is read.

References
----------
M. Hay, V. Rastogi, G. Miklau, D. Suciu: Boosting the accuracy of differentially private histograms through
consistency. VLDB 2010.
C. Li, G. Miklau, M. Hay, A. McGregor, V. Rastogi: The matrix mechanism. VLDB Journal, 2015.
R. McKenna, G. Miklau, M. Hay, A. Machanavajjhala: Optimizing error of high-dimensional statistical queries under
differential privacy. VLDB 2018.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from discreet.coupled.axis_strategies import BRANCHINGS, AxisStrategy
from discreet.coupled.budgets import Budget
from discreet.coupled.consistency import onto_simplex
from discreet.coupled.product_workload import ProductWorkload
from discreet.coupled.query_method import Answered, QueryMethod, QueryPlan, QuerySetting
from discreet.coupled.strategy_errors import AxisWeights, product_error, sampled_error
from discreet.coupled.workload import GRID, Workload
from discreet.data.tables import MOST_DENSE_CELLS, Table
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.numbers import Rational, as_positive, as_probability

__all__ = ["FixedStrategy", "Strategy"]

Strategy = Literal["best", "cells", "tree", "queries"]


@dataclass(frozen=True)
class FixedStrategy(QueryMethod):
    """Noise on counts that are chosen for the queries: cells, trees of ranges, or the answers themselves.

    Parameters
    ----------
    epsilon
        The budget; from ``of`` any number.
    delta
        0 for pure privacy and discrete Laplace noise; above 0 for discrete Gaussian noise.
    strategy
        "cells": every cell of the attributes that are asked of. "tree": along each of them also ranges of b, b² …
        values, with the b that suits the queries, where that helps. "queries": the answers. "best": whichever has the
        least expected squared error.
    nonnegative
        Whether to move the estimate to the nearest histogram without negative counts. Cells get better by it, wide
        ranges of sparse data worse.

    Privacy
    -------
    Rows replaced. One row goes into L counts (L the product of the levels of the trees), so k rows of one coupled group
    move them by at most 2kL in L1 and k√(2L) in L2. PROVED, ``docs/proofs/query_strategies.md``, Theorem 3. The choice
    looks at queries, domains and budget, never at rows.

    Notes
    -----
    The expected error is exact: least squares with the public number of rows as a constraint is linear in the noise.
    ``estimate`` prints what was chosen and what the alternatives would give.

    Examples
    --------
    >>> from discreet.coupled import prefix_sums
    >>> table = Table({"age": list(range(256)) * 4}, domains={"age": range(256)})
    >>> method = FixedStrategy.of(epsilon=1)
    >>> method.estimate(table, prefix_sums(table, "age"))["chosen"]
    'age: ranges in a tree of 16'
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    strategy: Strategy = "best"
    nonnegative: bool = False
    name: ClassVar[str] = "strategy"

    @classmethod
    def of(
        cls, epsilon: Rational, *, delta: Rational = 0, strategy: Strategy = "best", nonnegative: bool = False
    ) -> FixedStrategy:
        if strategy not in get_args(Strategy):
            raise UsageError(f"strategy={strategy!r}?", remedy=f"Choose from {', '.join(get_args(Strategy))}.")
        return cls(as_positive(epsilon, "epsilon"), as_probability(delta), strategy, nonnegative)

    def _plan(self, setting: QuerySetting) -> QueryPlan:
        if setting.coupling is not None:
            setting.coupling.require_public("a proved strategy")
        budget = Budget.of(self.epsilon, self.delta)
        outlooks = _outlooks(setting, budget)
        chosen = self._chosen(outlooks)
        if self.nonnegative and chosen.axes is None:
            raise UsageError(
                "answers that were measured one by one are not those of one histogram.",
                remedy='Leave nonnegative out, or take strategy="cells" or "tree".',
            )
        budget.noise().check(chosen.sums(setting))
        return QueryPlan(
            loss=budget.loss,
            basis="counts chosen for the queries, docs/proofs/query_strategies.md, Theorem 3",
            expected={
                "chosen": chosen.words,
                "counts": chosen.n_counts,
                "noise_sd": budget.noise().standard_deviation(chosen.sums(setting)),
                "expected_mse": chosen.error,
                **{f"expected_mse_{outlook.kind}": outlook.error for outlook in outlooks},
            },
        )

    def _chosen(self, outlooks: list[Outlook]) -> Outlook:
        able = [one for one in outlooks if self.strategy in ("best", one.kind)]
        if not able:
            raise UsageError(
                f"the strategy {self.strategy!r} is not open to these queries.",
                remedy="Cells and trees need at most 2^24 counts, trees also queries that ask attribute by attribute.",
            )
        return min(able, key=lambda one: one.error)

    def _answer(self, table: Table, setting: QuerySetting) -> Answered:
        budget = Budget.of(self.epsilon, self.delta)
        chosen = self._chosen(_outlooks(setting, budget))
        if chosen.axes is None:
            sums = chosen.sums(setting, setting.workload.true_answers(table))
            return Answered(budget.noise().release(sums) / GRID, source="measured")
        counts = table.histogram(chosen.attributes)
        for axis, one in enumerate(chosen.axes):
            counts = one.counts(counts, axis)
        noisy = budget.noise().release(chosen.sums(setting, counts)).astype(np.float64)
        estimate = _with_total(_least_squares(chosen.axes, noisy), chosen.axes, setting.n_rows)
        if self.nonnegative:
            estimate = onto_simplex(estimate, setting.n_rows)
        answers = np.asarray(chosen.workload.answers(estimate.ravel()), dtype=np.float64)
        whole = chosen.attributes == tuple(setting.workload.domains)
        return Answered(answers, histogram=estimate.ravel() if self.nonnegative and whole else None)


@dataclass(frozen=True)
class Outlook:
    """One strategy and what to expect of it.

    Parameters
    ----------
    kind
        "cells", "tree" or "queries".
    attributes, axes
        What is counted along each attribute that is asked of; no axes where the answers are measured.
    workload
        The queries, on these attributes alone.
    error
        Expected mean squared error of an answer, in squared records.
    """

    kind: Strategy
    attributes: tuple[str, ...]
    axes: tuple[AxisStrategy, ...] | None
    workload: Workload
    error: float

    @property
    def n_counts(self) -> int:
        return len(self.workload) if self.axes is None else math.prod(axis.n_counts for axis in self.axes)

    @property
    def words(self) -> str:
        if self.axes is None:
            return "the answers"
        return ", ".join(f"{name}: {axis}" for name, axis in zip(self.attributes, self.axes, strict=True))

    def sums(self, setting: QuerySetting, values: NDArray[np.int64] | None = None) -> BoundedSums:
        """The counts to measure, with what k rows can change in them."""
        placed = np.zeros(1, dtype=np.int64) if values is None else values
        if self.axes is None:
            return answer_sums(placed, setting)
        return tree_sums(placed, self.axes, setting)


def tree_sums(counts: NDArray[np.int64], axes: tuple[AxisStrategy, ...], setting: QuerySetting) -> BoundedSums:
    """Counts of overlapping ranges: one row goes into as many of them as the levels multiply to."""
    k, levels = Fraction(setting.largest), math.prod(axis.levels for axis in axes)
    return BoundedSums(
        values=counts,
        step=Fraction(1),
        l1=k * levels,
        l2_squared=k**2 * levels,
        linf=k,
        nonnegative=True,
        unit=setting.unit,
        caps=(),
    )


def answer_sums(values: NDArray[np.int64], setting: QuerySetting) -> BoundedSums:
    """The answers to all queries, released together.

    A row adds its weights: at most the largest sum of weights of one cell. With few queries it is better to measure
    weights from ½, which shifts answers by a public number.
    """
    k, queries = setting.largest, len(setting.workload)
    overlap = Fraction(queries * GRID)
    if setting.workload.is_dense:
        overlap = Fraction(math.ceil(float(setting.workload.combine(np.ones(queries)).max()) * GRID))
    half = Fraction(queries * GRID, 2)
    centered = half < overlap
    return BoundedSums(
        values=values,
        step=Fraction(1, GRID),
        l1=k * min(half, overlap),
        # Σw² ≤ max(w)·Σw, and weights are at most GRID.
        l2_squared=k**2 * (Fraction(queries * GRID**2, 4) if centered else overlap * GRID),
        linf=k * (Fraction(GRID, 2) if centered else Fraction(GRID)),
        nonnegative=not centered,
        unit=setting.unit,
        caps=(),
    )


def _outlooks(setting: QuerySetting, budget: Budget) -> list[Outlook]:
    """Every strategy that can be carried out, with its expected error. Public numbers alone."""
    workload = setting.workload
    noise = budget.noise()
    direct = Outlook("queries", tuple(workload.domains), None, workload, 0.0)
    spread = noise.standard_deviation(direct.sums(setting)) ** 2
    outlooks = [Outlook("queries", direct.attributes, None, workload, spread)]
    if not isinstance(workload, ProductWorkload):
        if workload.is_dense:
            cells = tuple(AxisStrategy(size) for size in workload.shape)
            variance = noise.standard_deviation(tree_sums(np.zeros(1, np.int64), cells, setting)) ** 2
            outlooks.append(Outlook("cells", direct.attributes, cells, workload, variance * sampled_error(workload)))
        return outlooks
    weights = AxisWeights.of(workload)
    cells = tuple(AxisStrategy(size) for size in weights.sizes)

    def outlook(kind: Strategy, axes: tuple[AxisStrategy, ...]) -> Outlook:
        variance = noise.standard_deviation(tree_sums(np.zeros(1, np.int64), axes, setting)) ** 2
        return Outlook(kind, weights.attributes, axes, weights.workload, variance * product_error(weights, axes))

    if math.prod(weights.sizes) <= MOST_DENSE_CELLS:
        best = outlook("cells", cells)
        outlooks.append(best)
        for place, size in enumerate(weights.sizes):  # one attribute after the other: never worse than cells
            for branching in BRANCHINGS:
                axes = (*(best.axes or ())[:place], AxisStrategy(size, branching), *(best.axes or ())[place + 1 :])
                tried = outlook("tree", axes)
                if tried.n_counts <= MOST_DENSE_CELLS and tried.error < best.error:
                    best = tried
        outlooks.append(replace(best, kind="tree"))
    return outlooks


def _least_squares(axes: tuple[AxisStrategy, ...], noisy: NDArray[np.float64]) -> NDArray[np.float64]:
    for place, axis in enumerate(axes):
        noisy = axis.estimate(noisy, place)
    return noisy


def _with_total(estimate: NDArray[np.float64], axes: tuple[AxisStrategy, ...], total: int) -> NDArray[np.float64]:
    """The least squares estimate among those that add up to the public number of rows."""
    direction = reduce(np.multiply.outer, [axis.solve(np.ones(axis.size), 0) for axis in axes])
    return estimate + direction * ((total - float(estimate.sum())) / float(direction.sum()))
