"""Queries that name few attributes at a time, on a table of any width: the marginals that they need, measured at once.

References
----------
R. McKenna, G. Miklau, M. Hay, A. Machanavajjhala: Optimizing error of high-dimensional statistical queries under
differential privacy. VLDB 2018.
Y. Xiao, G. He, D. Zhang, D. Kifer: An optimal and scalable matrix mechanism for noisy marginals under convex loss
functions. NeurIPS 2023.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar

import numpy as np

from discreet.common.arrays import Floats, Integers
from discreet.coupled.bounds import NONE, weighted_count_sums
from discreet.coupled.marginal_tables import consistent_tables, tree_parts
from discreet.coupled.query_method import BudgetedMethod, QuerySetting, answer_parts
from discreet.coupled.residuals import Axes, MarginalSets, asked_sets, least_squares, subsets
from discreet.coupled.shrinking import law_of
from discreet.coupled.workloads.product import ProductWorkload
from discreet.coupled.workloads.workload import Workload
from discreet.data.tables import MOST_DENSE_CELLS, Table
from discreet.errors import Remedy, UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.method import Plan, Round, Rounds

__all__ = ["MeasuredMarginals", "why_not_measurable"]

MOST_SETS = 2**14
"""Sets of attributes, with their subsets, that are worked with at a time."""

MOST_TOGETHER = 10
"""Attributes of one query: a marginal of more of them has too many subsets."""

USUAL = (2.0, 1.0)
"""How far counts of one attribute are from even, and counts of a pair from those of independent attributes, as a share
of an even count: a public guess that decides what is worth measuring."""

USUAL_FALL = 0.25
"""What each further attribute makes of it."""


@dataclass(frozen=True)
class MeasuredMarginals(BudgetedMethod):
    """Noise on the marginals of the attributes that queries ask of, all at once; no domain is too wide for it.

    Parameters
    ----------
    epsilon, delta
        The budget. With delta = 0 the noise is Laplace noise, otherwise Gaussian noise.
    nonnegative
        Whether answers come from tables without negative counts, shrunk to what smaller tables expect. Without it they
        are the least squares answers: unbiased, with the expected error that ``estimate`` prints, and worse where the
        noise is larger than most counts.

    Privacy
    -------
    Rows replaced. A row goes into one count of each marginal m, with a whole weight w_m, so k rows of one coupled group
    move the weighted counts by at most 2k·Σw_m in L1 and k·√(2Σw_m²) in L2. One round of noise pays for all. Which
    marginals are measured and how much they weigh follows from queries, domains, the number of rows and the budget.
    PROVED, ``docs/proofs/query_strategies.md``, Theorem 4.

    Notes
    -----
    Noisy marginals of overlapping sets of attributes measure the same things again. The least squares estimate from all
    of them is computed in closed form (``residuals``), and weights are those with the least expected error. With
    ``nonnegative`` the weights take into account that what is not measured is not unknown: a table whose noise would be
    far above its counts is left to its smaller tables. The public guess of what is usual (``USUAL``) was chosen by
    trying values on Adult and on a built-in table of disabilities, so errors on these are not those of unseen data.

    Rows can be drawn from the release (``synthetic_rows``): from the tree of measured pairs that tell most.

    Examples
    --------
    >>> from discreet.coupled import all_marginals
    >>> from discreet.data.synthetic import survey
    >>> table = survey(households=200, seed=1)
    >>> release = MeasuredMarginals(epsilon=4).release(table, all_marginals(table, 2))
    >>> release.table("tree").columns, release.table("answers").height
    (['attribute', 'parent', 'start'], 352)
    """

    name: ClassVar[str] = "marginals"

    nonnegative: bool = True

    def _plan(self, public: QuerySetting) -> Plan:
        workload = public.workload
        if (reason := why_not_measurable(workload)) is not None:
            raise UsageError(
                f"these queries cannot be answered from marginals: {reason}.",
                remedy=Remedy(
                    "Take FixedStrategy, which measures single answers, or ShrunkHistogram, which works on all cells.",
                    cli="Give --method strategy, which measures single answers, or --method shrunk-histogram, which "
                    "works on all cells.",
                ),
            )
        noise = self._budget.for_sums()
        sets = MarginalSets.of(workload, asked_sets(workload))
        strategy = _Strategy(sets, self._weights(sets, public))
        bounds = strategy.bounds(public)
        noise.check(bounds)
        deviation = noise.standard_deviation(bounds)
        measured = [deviation / weight for weight in strategy.weights if weight]
        expected: dict[str, Any] = {
            "marginals_measured": len(measured),
            "counts": strategy.n_counts,
            "noise_sd_least": min(measured),
            "noise_sd_most": max(measured),
        }
        if not self.nonnegative:
            error = deviation**2 * sets.error(strategy.weights.astype(np.float64))
            expected["expected_mse"] = error / len(workload)
        basis = "weighted marginals in one round, docs/proofs/query_strategies.md, Theorem 4"
        return replace(public.plan(self.name, noise.loss, basis, expected=expected), public=(public, strategy))

    def _weights(self, sets: MarginalSets, public: QuerySetting) -> Integers:
        budget = self._budget
        if not self.nonnegative or public.several:
            return sets.weights(budget.norm)
        # The noise on counts that all of the budget would buy, against what is usually there to be measured.
        variance = budget.for_sums().standard_deviation(weighted_count_sums(NONE, public, [1])) ** 2
        usual = np.array(
            [USUAL[0] if len(axes) == 1 else USUAL[1] * USUAL_FALL ** (len(axes) - 2) for axes in sets.sets]
        )
        cells = sets.cells[: len(sets.sets)]
        return sets.weights(budget.norm, variance * cells / (usual * public.n_rows) ** 2)

    def _rounds(self, plan: Plan) -> Rounds:
        setting, strategy = plan.public
        budget = self._budget
        noisy = yield Round(lambda table: strategy.measured(table, setting), budget.for_sums())
        sets, weights = strategy.sets, strategy.weights
        tables = least_squares(sets, weights, strategy.tables(noisy), setting.n_rows)
        parts: dict[str, Any] = {}
        if self.nonnegative:
            deviation = budget.for_sums().standard_deviation(strategy.bounds(setting))
            variances = deviation**2 * sets.variance(weights.astype(np.float64))
            of_sets = dict(zip(sets.sets, variances.tolist(), strict=True))
            tables = consistent_tables(tables, of_sets, setting.n_rows, law=law_of(budget))
            parts = tree_parts(tables, sets.shape, setting.attributes, setting.n_rows)
        return answer_parts(setting, _answers(setting, tables), **parts)


def _answers(setting: QuerySetting, tables: Mapping[Axes, Floats]) -> Floats:
    workload = setting.workload
    if isinstance(workload, ProductWorkload):
        return workload.answers_from(lambda axes: tables[axes] if axes else np.array(setting.n_rows))
    return workload.answers(tables[tuple(range(len(workload.shape)))].ravel())


def why_not_measurable(workload: Workload) -> str | None:
    """Why marginals cannot answer these queries; None if they can. From public numbers alone."""
    top = asked_sets(workload)
    if (most := max(map(len, top))) > MOST_TOGETHER:
        return f"one of them asks of {most} attributes at once; {MOST_TOGETHER} is the most"
    cells = sum(prod(workload.shape[axis] for axis in axes) for axes in top)
    if cells > MOST_DENSE_CELLS:
        return f"their marginals have {cells:,} cells; {MOST_DENSE_CELLS:,} is the most"
    if (
        sum(2 ** len(axes) for axes in top) > MOST_SETS
        and len({part for axes in top for part in subsets(axes)}) > MOST_SETS
    ):
        return f"their attributes have more than {MOST_SETS:,} combinations"
    return None


@dataclass(frozen=True)
class _Strategy:
    """What is measured: each candidate with a whole weight, 0 for those that are not."""

    sets: MarginalSets
    weights: Integers

    @property
    def chosen(self) -> list[tuple[Axes, int]]:
        """The sets that are measured, and their weights."""
        return [(axes, int(weight)) for axes, weight in zip(self.sets.candidates, self.weights, strict=True) if weight]

    @property
    def n_counts(self) -> int:
        return sum(self._size(axes) for axes, _ in self.chosen)

    def _size(self, axes: Axes) -> int:
        return prod(self.sets.shape[axis] for axis in axes)

    def bounds(self, setting: QuerySetting) -> BoundedSums:
        return weighted_count_sums(NONE, setting, [weight for _, weight in self.chosen])

    def measured(self, table: Table, setting: QuerySetting) -> BoundedSums:
        """The weighted counts of some of the rows, marginal after marginal."""
        names = table.attributes
        counts = [table.histogram([names[axis] for axis in axes]).ravel() * weight for axes, weight in self.chosen]
        return replace(self.bounds(setting), values=np.concatenate(counts))

    def tables(self, noisy: Integers) -> dict[Axes, Floats]:
        """Noisy weighted counts as noisy counts, by set of attributes."""
        found, start = {}, 0
        for axes, weight in self.chosen:
            stop = start + self._size(axes)
            found[axes] = noisy[start:stop].reshape([self.sets.shape[axis] for axis in axes]) / weight
            start = stop
        return found
