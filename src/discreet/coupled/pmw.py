"""Private multiplicative weights: many queries, of which only those that the estimate answers badly touch the data.

References
----------
M. Hardt, G. Rothblum: A multiplicative weights mechanism for privacy-preserving data analysis. FOCS 2010.
C. Dwork, A. Roth: The algorithmic foundations of differential privacy. 2014, section 4.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.coupled.budgets import Budget
from discreet.coupled.multiplicative_weights import LearnedHistogram
from discreet.coupled.pmw_plan import MOST_UPDATES, Advice, PMWPlan, accuracy, usual_threshold, usual_updates
from discreet.coupled.pmw_run import ESTIMATED, MEASURED, PMWRun
from discreet.coupled.query_method import Answered, QueryMethod, QueryPlan, QuerySetting
from discreet.coupled.workload import Workload
from discreet.data.tables import Table
from discreet.errors import UsageError
from discreet.privacy.numbers import Rational, as_positive, as_probability

if TYPE_CHECKING:
    from discreet.coupled.coupling import Coupling

__all__ = ["PMW"]

PASSES = 4
MOST_STEP = 8
"""No step of the accuracy theorem is longer; e^8 is far from what a float cannot hold."""


@dataclass(frozen=True)
class PMW(QueryMethod):
    """Private multiplicative weights by numeric sparse vector.

    Parameters
    ----------
    epsilon, delta
        The budget: pure without a delta, concentrated with one.
    updates
        c, the hard cap: so many answers are measured at most. Chosen from public values unless told.
    threshold
        The error, in records, beyond which an answer is measured. Chosen from public values unless told.
    step
        η of the textbook's update exp(±η·f), for which the accuracy bound holds; see ``advise``. None for steps in
        proportion to the error and several passes over all measurements, which does better on most tables.
    passes
        How often all measurements are gone through after each.
    stream
        Whether the released answers are those given as the queries came, of which measured ones carry their own
        noise. Otherwise all answers are those of the last histogram, and consistent with each other.

    Privacy
    -------
    Unit: one row, or one group of at most k coupled rows, replaced; the number of rows is public. One answer moves by
    at most Δ = k records, and so does its distance |f(x) − p| to a public estimate p, *in either direction*: tests get
    discrete Laplace noise of scale 2cΔ/ε₂, the threshold Δ/ε₁, measured answers fresh noise of scale cΔ/ε₃. The whole
    session costs ε₁ + ε₂ + ε₃ = ε however many queries it answers (``docs/proofs/coupled.md``, Theorem 3); after c
    updates the data are not touched. With a delta there are c sparse vectors of one pass each and Gaussian answers
    (Theorem 4). PROVED.

    Notes
    -----
    Everything is compared in whole grid steps: true answers are exact, estimates are rounded to the grid before they
    are tested and handed out. Updates are post-processing, so neither the step nor the number of passes can harm.

    Examples
    --------
    >>> from discreet.coupled import random_queries
    >>> from discreet.data import synthetic
    >>> table = synthetic.survey(households=100, seed=7)
    >>> release = PMW.of(epsilon=1, updates=5).release(table, random_queries(table, 50, seed=1))
    >>> release.table("answers").height, round(release.array("histogram").sum())
    (50, 244)
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    updates: int | None = None
    threshold: Fraction | None = None
    step: Fraction | None = None
    passes: int = PASSES
    stream: bool = False
    name: ClassVar[str] = "pmw"

    def __post_init__(self) -> None:
        if self.updates is not None and not 1 <= self.updates <= MOST_UPDATES:
            raise UsageError(f"updates = {self.updates} must be a whole number from 1 to {MOST_UPDATES:,}.")
        if self.step is not None and self.step > MOST_STEP:
            raise UsageError(f"step = {float(self.step):g} must be at most {MOST_STEP}.", remedy="Steps of 4 suffice.")
        if not 1 <= self.passes <= 1000:
            raise UsageError(f"passes = {self.passes} must be a whole number from 1 to 1000.")

    @classmethod
    def of(
        cls,
        epsilon: Rational,
        *,
        delta: Rational = 0,
        updates: int | None = None,
        threshold: Rational | None = None,
        step: Rational | None = None,
        passes: int = PASSES,
        stream: bool = False,
    ) -> PMW:
        """The mechanism with plain numbers."""
        return cls(
            as_positive(epsilon, "epsilon"),
            as_probability(delta),
            updates,
            None if threshold is None else as_positive(threshold, "threshold"),
            None if step is None else as_positive(step, "step"),
            passes,
            stream,
        )

    @classmethod
    def advise(
        cls,
        table: Table,
        workload: Workload,
        *,
        epsilon: Rational,
        coupling: Coupling | None = None,
        updates: int | None = None,
        beta: float = 0.05,
    ) -> tuple[PMW, Advice]:
        """The settings for which the accuracy bound is best, and the bound. Nothing is read but public values.

        Parameters
        ----------
        updates
            The cap; the one with the least bound unless told.
        beta
            Probability that the bound may fail.

        Notes
        -----
        The bound holds for every table and every order of questions, so it is pessimistic; the settings of ``of`` do
        better on most tables but promise no accuracy.
        """
        if not 0 < beta < 1:
            raise UsageError(f"beta = {beta} must be between 0 and 1.")
        setting = QuerySetting.of(table, workload, coupling)
        budget, cells = Budget.of(epsilon), max(workload.n_cells, 2)
        rungs = {
            round(1.1**rung)
            for rung in range(math.ceil(math.log(min(len(workload), MOST_UPDATES)) / math.log(1.1)) + 1)
        }
        tried = [updates] if updates is not None else sorted(rungs)
        found = [accuracy(budget, cap, setting, len(workload), cells, beta) for cap in tried]
        best = min(found, key=lambda advice: advice.lazy_error)
        method = cls(budget.amount, updates=best.updates, threshold=best.threshold, step=best.step, stream=True)
        return method, best

    def planned(self, setting: QuerySetting, queries: int) -> PMWPlan:
        """Tests and measurements for about so many queries; more of them cost accuracy, not privacy."""
        setting.workload.require_dense("an estimate of all cells, which pmw keeps,")
        budget = Budget.of(self.epsilon, self.delta)
        updates = self.updates or usual_updates(budget, setting, queries, setting.workload.n_cells)
        threshold = self.threshold or usual_threshold(budget, updates, setting, queries)
        plan = PMWPlan.of(budget, updates, threshold)
        plan.check(setting)
        return plan

    def begin(self, table: Table, setting: QuerySetting, queries: int) -> PMWRun:
        """Begin to answer. Charge the ledger first."""
        histogram = np.ascontiguousarray(table.histogram().ravel(), dtype=np.int64)
        plan = self.planned(setting, queries)
        learned = LearnedHistogram(
            setting.n_rows,
            setting.workload.n_cells,
            noise=plan.expected(setting)["noise_sd"],
            step=None if self.step is None else float(self.step),
            passes=self.passes,
        )
        return PMWRun(plan, setting, learned, lambda block: block.answers(histogram))

    def basis(self) -> str:
        theorem = 4 if self.delta else 3
        return f"private multiplicative weights by sparse vector, docs/proofs/coupled.md, Theorem {theorem}"

    def _plan(self, setting: QuerySetting) -> QueryPlan:
        plan = self.planned(setting, len(setting.workload))
        return QueryPlan(loss=plan.loss, basis=self.basis(), expected=plan.expected(setting))

    def _answer(self, table: Table, setting: QuerySetting) -> Answered:
        run = self.begin(table, setting, len(setting.workload))
        answers, measured = run.answer(setting.workload)
        if not self.stream:
            answers = np.asarray(setting.workload.answers(run.learned.estimate), dtype=np.float64)
            measured[:] = False
        source = np.where(measured, MEASURED, ESTIMATED).tolist()
        return Answered(answers, source, histogram=run.learned.estimate)
