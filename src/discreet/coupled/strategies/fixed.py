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
from functools import reduce
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from discreet.common.arguments import require_choice
from discreet.coupled.bounds import NONE, answer_sums, count_sums
from discreet.coupled.histograms.consistency import onto_simplex
from discreet.coupled.query_method import BudgetedMethod, QuerySetting, answer_parts
from discreet.coupled.strategies.axes import BRANCHINGS, AxisStrategy
from discreet.coupled.strategies.errors import AxisWeights, product_error, sampled_error
from discreet.coupled.workloads.product import ProductWorkload
from discreet.coupled.workloads.workload import GRID, Workload
from discreet.data.tables import MOST_DENSE_CELLS, Table
from discreet.errors import Remedy, UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.method import Plan, Round, Rounds

__all__ = ["FixedStrategy", "Strategy", "tree_bounds"]

Strategy = Literal["best", "cells", "tree", "queries"]


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
        noise = self._budget().for_sums()
        candidates = _candidates(public, noise)
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
        plan = public.plan(
            self.name,
            noise.loss,
            "counts chosen for the queries, docs/proofs/query_strategies.md, Theorem 3",
            expected={
                "chosen": str(chosen),
                "counts": chosen.n_counts,
                "noise_sd": noise.standard_deviation(chosen.bounds),
                "expected_mse": chosen.error,
                **{f"expected_mse_{one.kind}": one.error for one in candidates},
            },
        )
        return replace(plan, public=(public, chosen))

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
            lambda table: replace(chosen.bounds, values=chosen.measured(table)), self._budget().for_sums()
        )
        if chosen.axes is None:
            return answer_parts(setting, noisy / GRID, source="measured")
        estimate = _with_total(_least_squares(chosen.axes, noisy.astype(np.float64)), chosen.axes, setting.n_rows)
        if self.nonnegative:
            estimate = onto_simplex(estimate, setting.n_rows)
        answers = np.asarray(chosen.workload.answers(estimate.ravel()), dtype=np.float64)
        whole = list(chosen.attributes) == setting.attributes
        return answer_parts(setting, answers, histogram=estimate.ravel() if self.nonnegative and whole else None)


@dataclass(frozen=True)
class Candidate:
    """One strategy with its expected error.

    Parameters
    ----------
    kind
        "cells", "tree" or "queries".
    attributes, axes
        What is counted along each attribute that is asked of; no axes where the answers are measured.
    workload
        The queries, on these attributes alone.
    bounds
        What k rows can change in the counts that are measured.
    error
        Expected mean squared error of an answer, in squared records.
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

    def measured(self, table: Table) -> NDArray[np.int64]:
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
    weights = AxisWeights.of(workload)

    def candidate(kind: Strategy, axes: tuple[AxisStrategy, ...]) -> Candidate:
        bounds = tree_bounds(axes, setting)
        error = noise.standard_deviation(bounds) ** 2 * product_error(weights, axes)
        return Candidate(kind, weights.attributes, axes, weights.workload, bounds, error)

    if math.prod(weights.sizes) <= MOST_DENSE_CELLS:
        axes = tuple(AxisStrategy(size) for size in weights.sizes)
        best = candidate("cells", axes)
        found.append(best)
        for place, size in enumerate(weights.sizes):  # one attribute after the other: never worse than cells
            for branching in BRANCHINGS:
                tried = candidate("tree", (*axes[:place], AxisStrategy(size, branching), *axes[place + 1 :]))
                if tried.n_counts <= MOST_DENSE_CELLS and tried.error < best.error:
                    best = tried
            axes = best.axes or axes
        found.append(replace(best, kind="tree"))
    return found


def _least_squares(axes: tuple[AxisStrategy, ...], noisy: NDArray[np.float64]) -> NDArray[np.float64]:
    for place, axis in enumerate(axes):
        noisy = axis.estimate(noisy, place)
    return noisy


def _with_total(estimate: NDArray[np.float64], axes: tuple[AxisStrategy, ...], total: int) -> NDArray[np.float64]:
    """The least squares estimate among those that add up to the public number of rows."""
    direction = reduce(np.multiply.outer, [axis.solve(np.ones(axis.size), 0) for axis in axes])
    return estimate + direction * ((total - float(estimate.sum())) / float(direction.sum()))
