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
from functools import cached_property, reduce
from typing import ClassVar, Literal, get_args

import numpy as np

from discreet.common.arguments import require_choice
from discreet.common.arrays import Floats, Integers
from discreet.coupled.bounds import NONE, answer_sums, count_sums
from discreet.coupled.consistency import onto_simplex
from discreet.coupled.query_method import BudgetedMethod, QuerySetting, answer_parts
from discreet.coupled.workloads.product import ProductWorkload
from discreet.coupled.workloads.workload import GRID, Workload
from discreet.data.tables import MOST_DENSE_CELLS, Table
from discreet.errors import Remedy, UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.mechanisms import AdditiveMechanism, LaplaceMechanism, NormalMechanism
from discreet.privacy.method import Plan, Round, Rounds

__all__ = ["AxisStrategy", "FixedStrategy", "Strategy", "product_error", "sampled_error", "tree_bounds"]

Strategy = Literal["best", "cells", "tree", "queries"]

BRANCHINGS = (2, 4, 8, 16)
"""Trees that are tried."""

MOST_SAMPLED = 64
"""Queries that are looked at where each weighs every cell."""


@dataclass(frozen=True)
class FixedStrategy(BudgetedMethod):
    """Noise on counts that are chosen for the queries: cells, trees of ranges, or the answers themselves.

    Parameters
    ----------
    epsilon, delta
        The budget. With delta = 0 the noise is Laplace noise, otherwise Gaussian noise.
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
    >>> method = FixedStrategy(epsilon=1)
    >>> method.estimate(table, prefix_sums(table, "age"))["chosen"]
    'age: ranges in a tree of 16'
    """

    name: ClassVar[str] = "strategy"

    strategy: Strategy = "best"
    nonnegative: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice(self.strategy, "strategy", get_args(Strategy))

    def _plan(self, public: QuerySetting) -> Plan:
        noise = self._budget.for_sums()
        # Several curators have to choose alike, whatever their budgets are.
        usual = (LaplaceMechanism if self._budget.is_pure else NormalMechanism)(Fraction(1))
        design = usual if public.several else noise
        candidates = _candidates(public, design)
        chosen = self._best(candidates)
        if self.nonnegative and chosen.axes is None:
            raise UsageError(
                "answers that are measured one by one do not come from one histogram.",
                remedy=Remedy(
                    'Leave nonnegative out, or take strategy="cells" or "tree".',
                    cli="Leave nonnegative out, or give --option strategy=cells or --option strategy=tree.",
                ),
            )
        noise.check(chosen.bounds)

        def error(one: Candidate) -> float:
            return one.error * (noise.standard_deviation(one.bounds) / design.standard_deviation(one.bounds)) ** 2

        plan = public.plan(
            self.name,
            noise.loss,
            "counts chosen for the queries, docs/proofs/query_strategies.md, Theorem 3",
            expected={
                "chosen": str(chosen),
                "counts": chosen.n_counts,
                "noise_sd": noise.standard_deviation(chosen.bounds),
                "expected_mse": error(chosen),
                **{f"expected_mse_{one.kind}": error(one) for one in candidates},
            },
        )
        return replace(plan, public=(public, chosen))

    def draws_rows(self, plan: Plan) -> bool:
        """Whether the counts that are measured are about all attributes, and none is negative."""
        setting, chosen = plan.public
        return self.nonnegative and list(chosen.attributes) == setting.attributes

    def _best(self, candidates: list[Candidate]) -> Candidate:
        able = [one for one in candidates if self.strategy in ("best", one.kind)]
        if not able:
            raise UsageError(
                f"the strategy {self.strategy!r} does not work for these queries.",
                remedy="Cells and trees need at most 2^24 counts, trees also queries that ask attribute by attribute.",
            )
        return min(able, key=lambda one: one.error)

    def _rounds(self, plan: Plan) -> Rounds:
        setting, chosen = plan.public
        noisy = yield Round(
            lambda table: replace(chosen.bounds, values=chosen.measured(table)), self._budget.for_sums()
        )
        if chosen.axes is None:
            return answer_parts(setting, noisy / GRID, source="measured")
        estimate = noisy.astype(np.float64)
        for place, axis in enumerate(chosen.axes):
            estimate = axis.estimate(estimate, place)
        estimate = _with_total(estimate, chosen.axes, setting.n_rows)
        if self.nonnegative:
            estimate = onto_simplex(estimate, setting.n_rows)
        answers = np.asarray(chosen.workload.answers(estimate.ravel()), dtype=np.float64)
        return answer_parts(setting, answers, histogram=estimate.ravel() if self.draws_rows(plan) else None)


@dataclass(frozen=True)
class Candidate:
    """One strategy: what is counted along each attribute that is asked of, and the queries on these attributes alone.

    There are no axes where the answers themselves are measured. The error is the expected mean squared error of an
    answer, in squared records.
    """

    kind: Strategy
    attributes: tuple[str, ...]
    axes: tuple[AxisStrategy, ...] | None
    workload: Workload
    bounds: BoundedSums
    error: float

    @property
    def n_counts(self) -> int:
        return len(self.workload) if self.axes is None else math.prod(axis.n_counts for axis in self.axes)

    def __str__(self) -> str:
        if self.axes is None:
            return "the answers"
        return ", ".join(f"{name}: {axis}" for name, axis in zip(self.attributes, self.axes, strict=True))

    def measured(self, table: Table) -> Integers:
        """The counts of some of the rows."""
        if self.axes is None:
            return self.workload.true_answers(table)
        counts = table.histogram(self.attributes)
        for place, axis in enumerate(self.axes):
            counts = axis.counts(counts, place)
        return counts


def tree_bounds(axes: tuple[AxisStrategy, ...], setting: QuerySetting) -> BoundedSums:
    """Bounds for counts of overlapping ranges: one row goes into as many of them as the levels multiply to."""
    return count_sums(NONE, setting, levels=math.prod(axis.levels for axis in axes))


def _candidates(setting: QuerySetting, noise: AdditiveMechanism) -> list[Candidate]:
    """Every strategy that can be carried out, with its expected error; from public numbers alone."""
    workload = setting.workload
    attributes = tuple(workload.domains)
    together = answer_sums(NONE, setting)
    found = [Candidate("queries", attributes, None, workload, together, noise.standard_deviation(together) ** 2)]
    if not isinstance(workload, ProductWorkload):
        if workload.is_dense:
            cells = tuple(AxisStrategy(size) for size in workload.shape)
            bounds = tree_bounds(cells, setting)
            error = noise.standard_deviation(bounds) ** 2 * sampled_error(workload)
            found.append(Candidate("cells", attributes, cells, workload, bounds, error))
        return found
    asked = workload.on_asked_attributes()

    def candidate(kind: Strategy, axes: tuple[AxisStrategy, ...]) -> Candidate:
        bounds = tree_bounds(axes, setting)
        error = noise.standard_deviation(bounds) ** 2 * product_error(asked, axes)
        return Candidate(kind, tuple(asked.domains), axes, asked, bounds, error)

    if asked.is_dense:
        axes = tuple(AxisStrategy(size) for size in asked.shape)
        best = candidate("cells", axes)
        found.append(best)
        for place, size in enumerate(asked.shape):  # one attribute after the other: never worse than cells
            for branching in BRANCHINGS:
                tried = candidate("tree", (*axes[:place], AxisStrategy(size, branching), *axes[place + 1 :]))
                if tried.n_counts <= MOST_DENSE_CELLS and tried.error < best.error:
                    best = tried
            axes = best.axes or axes
        found.append(replace(best, kind="tree"))
    return found


def _with_total(estimate: Floats, axes: tuple[AxisStrategy, ...], total: int) -> Floats:
    """The least squares estimate among those that add up to the public number of rows."""
    direction = reduce(np.multiply.outer, [axis.solve(np.ones(axis.size), 0) for axis in axes])
    return estimate + direction * ((total - float(estimate.sum())) / float(direction.sum()))


@dataclass(frozen=True)
class AxisStrategy:
    """Counts along one attribute: every value and, with b branches, the ranges of b, b², … values from a multiple on.

    A strategy is a matrix A of 0 and 1 that says which values go into which count. With noise of variance 1 on each
    count the least squares estimate of the values has covariance M⁻¹, M = AᵀA. Trees are nested, so M⁻¹ is applied
    level by level (Sherman and Morrison's formula) and never written down. The range of all values is left
    out: the number of rows is public.

    Examples
    --------
    >>> tree = AxisStrategy(5, 2)
    >>> tree.widths, tree.levels
    ((1, 2, 4), 3)
    >>> tree.counts(np.array([1, 2, 3, 4, 5]), axis=0)
    array([ 1,  2,  3,  4,  5,  3,  7,  5, 10,  5])
    """

    size: int
    branching: int = 0

    def __post_init__(self) -> None:
        if self.size < 1 or self.branching < 0 or self.branching == 1:
            raise UsageError(
                f"a tree needs at least 1 value and 0, 2 or more branches, got {self.size} and {self.branching}."
            )

    def __str__(self) -> str:
        return "every value" if len(self.widths) == 1 else f"ranges in a tree of {self.branching}"

    @cached_property
    def widths(self) -> tuple[int, ...]:
        widths = [1]
        while self.branching and widths[-1] * self.branching < self.size:
            widths.append(widths[-1] * self.branching)
        return tuple(widths)

    @property
    def levels(self) -> int:
        """How many counts each value goes into."""
        return len(self.widths)

    @cached_property
    def n_counts(self) -> int:
        return sum(-(-self.size // width) for width in self.widths)

    def counts(self, values: Integers, axis: int) -> Integers:
        """A applied along an axis: exact sums, the narrowest ranges first."""
        return np.concatenate([np.add.reduceat(values, self._starts(width), axis=axis) for width in self.widths], axis)

    def estimate(self, noisy: Floats, axis: int) -> Floats:
        """Least squares along an axis: M⁻¹Aᵀ."""
        ends = np.cumsum([-(-self.size // width) for width in self.widths])[:-1]
        spread = np.zeros((*noisy.shape[:axis], self.size, *noisy.shape[axis + 1 :]))
        for width, level in zip(self.widths, np.split(noisy, ends, axis=axis), strict=True):
            spread += np.repeat(level, self._lengths(width), axis=axis)
        return self.solve(spread, axis)

    def solve(self, values: Floats, axis: int) -> Floats:
        """M⁻¹ applied along an axis."""
        solved = np.array(values, dtype=np.float64)
        ones = np.ones(self.size)
        shape = [-1 if place == axis else 1 for place in range(solved.ndim)]
        for width in self.widths[1:]:
            # M grows by 11ᵀ on each range: M⁻¹v loses M⁻¹1·(1ᵀM⁻¹v)/(1 + 1ᵀM⁻¹1).
            starts, lengths = self._starts(width), self._lengths(width)
            growth = 1 + np.add.reduceat(ones, starts)
            sums = np.add.reduceat(solved, starts, axis=axis) / growth.reshape(shape)
            solved -= np.repeat(sums, lengths, axis=axis) * ones.reshape(shape)
            ones = ones / np.repeat(growth, lengths)
        return solved

    def _starts(self, width: int) -> Integers:
        return np.arange(0, self.size, width)

    def _lengths(self, width: int) -> Integers:
        return np.diff(np.append(self._starts(width), self.size))


def product_error(workload: ProductWorkload, axes: tuple[AxisStrategy, ...]) -> float:
    """Mean over the queries of the variance of an answer, in units of the variance of the noise on one count.

    With M the Kronecker product of the axes' matrices and the total known, that is wᵀM⁻¹w − (wᵀM⁻¹1)²/(1ᵀM⁻¹1), and
    each term is a product over the attributes.
    """
    squares, sums, everything = np.ones(len(workload)), np.ones(len(workload)), 1.0
    for axis, (weights, row) in zip(axes, workload.weights_by_attribute(), strict=True):
        solved = axis.solve(weights, axis=1)
        squares *= (solved * weights).sum(axis=1)[row]
        sums *= solved.sum(axis=1)[row]
        everything *= float(axis.solve(np.ones(axis.size), 0).sum())
    return float(np.mean(np.maximum(squares - sums**2 / everything, 0.0)))


def sampled_error(workload: Workload) -> float:
    """The same for noise on every cell, from some of the queries: mean of Σw² − (Σw)²/cells."""
    places = np.unique(np.linspace(0, len(workload) - 1, MOST_SAMPLED).astype(np.int64))
    errors = []
    for place in places:
        weights = workload.weights(int(place)) / GRID
        errors.append(float(weights @ weights) - float(weights.sum()) ** 2 / weights.size)
    return float(np.mean(errors))
