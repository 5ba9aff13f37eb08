"""A method for marginals: a tree of pairs of attributes, selected and measured with the whole budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.coupled.histograms.forests import ForestPlan, MarginalCounts, forest_parts, forest_rounds
from discreet.coupled.query_method import BudgetedMethod, QuerySetting, answer_parts
from discreet.data.tables import Table
from discreet.privacy.budget import Budget
from discreet.privacy.method import Plan, Rounds

__all__ = ["TreeMarginals"]


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

    def _spends(self, setting: QuerySetting) -> Budget:
        """On μ where nothing is selected, on ρ otherwise."""
        noise_only = self._budget()
        return self._budget(selects=True) if ForestPlan.of(setting, noise_only).selects else noise_only

    def _plan(self, public: QuerySetting) -> Plan:
        public.workload.require_dense("a histogram of all cells")
        budget = self._spends(public)
        forest = ForestPlan.of(public, budget)
        forest.check(public, budget)
        basis = "tables in adaptive composition, docs/proofs/query_strategies.md, Theorem 2"
        return public.plan(self.name, budget.loss, basis, expected=forest.facts())

    def _prepare(self, data: Table, plan: Plan) -> MarginalCounts:
        return MarginalCounts(data)

    def _rounds(self, plan: Plan) -> Rounds:
        forest = yield from forest_rounds(plan.public, self._spends(plan.public))
        return answer_parts(plan.public, **forest_parts(plan.public, forest))
