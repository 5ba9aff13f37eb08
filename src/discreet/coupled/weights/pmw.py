"""Private multiplicative weights: many queries, of which only those that the estimate answers badly touch the data.

References
----------
M. Hardt, G. Rothblum: A multiplicative weights mechanism for privacy-preserving data analysis. FOCS 2010.
C. Dwork, A. Roth: The algorithmic foundations of differential privacy. 2014, section 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.common.arguments import require_whole
from discreet.coupled.query_method import BudgetedMethod, QuerySetting, answer_parts
from discreet.coupled.weights.learned_histogram import MOST_PASSES, LearnedHistogram
from discreet.coupled.weights.pmw_plan import MOST_UPDATES, PMWPlan, usual_threshold, usual_updates
from discreet.coupled.weights.pmw_run import ESTIMATED, MEASURED, PMWRun
from discreet.data.tables import Table
from discreet.privacy.method import Parts, Plan
from discreet.privacy.numbers import Rational, as_positive

__all__ = ["PMW"]

PASSES = 4


@dataclass(frozen=True)
class PMW(BudgetedMethod):
    """Private multiplicative weights by numeric sparse vector.

    Parameters
    ----------
    epsilon, delta
        The budget. With delta = 0 the guarantee is pure, otherwise zCDP.
    updates
        c: the most answers that are measured. Chosen from public values by default.
    threshold
        The error, in records, beyond which an answer is measured. Chosen from public values by default.
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
    are tested and released. Updates are post-processing, so the number of passes does not change the guarantee.

    Examples
    --------
    >>> from discreet.coupled import random_queries
    >>> from discreet.data import synthetic
    >>> table = synthetic.survey(households=100, seed=7)
    >>> release = PMW(epsilon=1, updates=5).release(table, random_queries(table, 50, seed=1))
    >>> release.table("answers").height, round(release.array("histogram").sum())
    (50, 244)
    """

    name: ClassVar[str] = "pmw"
    reads = "answers"

    updates: int | None = None
    threshold: Rational | None = None
    passes: int = PASSES
    stream: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.updates is not None:
            require_whole(self.updates, "updates", most=MOST_UPDATES)
        if self.threshold is not None:
            self._set(threshold=as_positive(self.threshold, "threshold"))
        require_whole(self.passes, "passes", most=MOST_PASSES)

    def planned(self, setting: QuerySetting, queries: int) -> PMWPlan:
        """Tests and measurements for about ``queries`` queries; more of them cost accuracy, not privacy."""
        setting.workload.require_dense("an estimate of all cells, which pmw keeps,")
        budget = self._budget(selects=True)
        updates = self.updates or usual_updates(budget, setting, queries, setting.workload.n_cells)
        threshold = usual_threshold(budget, updates, setting, queries) if self.threshold is None else self.threshold
        plan = PMWPlan.of(budget, updates, as_positive(threshold))
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
            passes=self.passes,
        )
        return PMWRun(plan, setting, learned, lambda block: block.answers(histogram))

    def session_plan(self, setting: QuerySetting, queries: int, *, subject: str | None = None) -> Plan:
        """The plan of a release or a session of about ``queries`` queries."""
        plan, theorem = self.planned(setting, queries), 4 if self.delta else 3
        basis = f"private multiplicative weights by sparse vector, docs/proofs/coupled.md, Theorem {theorem}"
        return setting.plan(self.name, plan.loss, basis, expected=plan.expected(setting), subject=subject)

    def _plan(self, public: QuerySetting) -> Plan:
        return self.session_plan(public, len(public.workload))

    def _draw(self, data: Table, plan: Plan) -> Parts:
        setting: QuerySetting = plan.public
        run = self.begin(data, setting, len(setting.workload))
        answers, measured = run.answer(setting.workload)
        if not self.stream:
            return answer_parts(setting, histogram=run.learned.estimate)
        source = np.where(measured, MEASURED, ESTIMATED).tolist()
        return answer_parts(setting, answers, source=source, histogram=run.learned.estimate)
