"""A strong method for marginals: a tree of pairs of attributes, chosen and measured with the whole budget."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.coupled.budgets import Budget
from discreet.coupled.forests import ForestPlan, fit_forest
from discreet.coupled.histograms import forest_parts
from discreet.coupled.query_method import Answered, QueryMethod, QueryPlan, QuerySetting
from discreet.data.tables import Table
from discreet.privacy.numbers import Rational, as_positive, as_probability

__all__ = ["TreeMarginals"]


@dataclass(frozen=True)
class TreeMarginals(QueryMethod):
    """All marginals from one tree-shaped model, after MST, the winner of a contest for synthetic data.

    Parameters
    ----------
    epsilon
        The budget; from ``of`` any number.
    delta
        0 for pure privacy, above 0 for discrete Gaussian noise.

    Privacy
    -------
    Rows replaced. Counts of attributes, the choice of pairs and counts of pairs share one budget. PROVED,
    ``docs/proofs/query_strategies.md``, Theorem 2.

    Notes
    -----
    The package ``mbi`` of the authors of MST solves the same task for any set of measured marginals; it stands on jax.
    A tree needs no iterative inference, so it is computed here in closed form. Shares of the budget, shrinking,
    and the rule for how many pairs are worth measuring are this house's.

    References
    ----------
    R. McKenna, G. Miklau, D. Sheldon: Winning the NIST contest. J. Privacy Confid. 2021.

    Examples
    --------
    >>> from discreet.coupled import all_marginals
    >>> from discreet.data.synthetic import survey
    >>> table = survey(households=200, seed=1)
    >>> release = TreeMarginals.of(epsilon=4).release(table, all_marginals(table, 2))
    >>> release.table("pairs").columns
    ['first', 'second']
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    name: ClassVar[str] = "tree"

    @classmethod
    def of(cls, epsilon: Rational, *, delta: Rational = 0) -> TreeMarginals:
        return cls(as_positive(epsilon, "epsilon"), as_probability(delta))

    def _plan(self, setting: QuerySetting) -> QueryPlan:
        if setting.coupling is not None:
            setting.coupling.require_public("a proved model")
        setting.workload.require_dense("a histogram of all cells")
        budget = Budget.of(self.epsilon, self.delta)
        plan = ForestPlan.of(setting, budget)
        plan.check(setting, budget)
        return QueryPlan(
            loss=budget.loss,
            basis="tables in adaptive composition, docs/proofs/query_strategies.md, Theorem 2",
            expected=plan.facts(),
        )

    def _answer(self, table: Table, setting: QuerySetting) -> Answered:
        forest = fit_forest(table, setting, Budget.of(self.epsilon, self.delta))
        histogram = forest.histogram()
        answers = np.asarray(setting.workload.answers(histogram), np.float64)
        return Answered(answers, histogram=histogram, parts=forest_parts(table, forest))
