"""Private multiplicative weights: many queries, of which only those that the estimate answers badly touch the data.

References
----------
M. Hardt, G. Rothblum: A multiplicative weights mechanism for privacy-preserving data analysis. FOCS 2010.
C. Dwork, A. Roth: The algorithmic foundations of differential privacy. 2014, section 4.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.common.arguments import require_whole
from discreet.common.arrays import Floats, Integers, Mask
from discreet.coupled.bounds import NONE, single_sum
from discreet.coupled.learned_histogram import MOST_PASSES, LearnedHistogram, on_grid
from discreet.coupled.query_method import BudgetedMethod, QuerySetting, answer_parts
from discreet.coupled.workloads.workload import GRID, Workload
from discreet.data.tables import Table
from discreet.errors import UsageError
from discreet.privacy.budget import Budget
from discreet.privacy.losses import Concentrated, Loss, Pure
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.method import Parts, Plan
from discreet.privacy.noise import check_scale
from discreet.privacy.numbers import Rational, as_positive, round_up
from discreet.privacy.threshold import AboveThreshold, ThresholdSession

__all__ = [
    "ESTIMATED",
    "MEASURED",
    "MOST_UPDATES",
    "PMW",
    "PMWPlan",
    "PMWRun",
]

PASSES = 4

MOST_UPDATES = 100_000

HALF = Fraction(1, 2)

FORESIGHT = 4.0
"""How much smaller the error of an estimate usually is than what is known for the worst table and queries: a guess."""

LEAST_BLOCK, MOST_BLOCK = 64, 8192

ESTIMATED, MEASURED = "estimate", "measured"


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
        budget = replace(self._budget, selects=True)
        updates = self.updates or _usual_updates(budget, setting, queries, setting.workload.n_cells)
        threshold = _usual_threshold(budget, updates, setting, queries) if self.threshold is None else self.threshold
        plan = PMWPlan.of(budget, updates, as_positive(threshold))
        plan.check(setting)
        return plan

    def begin(self, table: Table, setting: QuerySetting, queries: int) -> PMWRun:
        """Begin to answer. Charge the ledger first."""
        histogram = np.ascontiguousarray(table.histogram().ravel(), dtype=np.int64)
        plan = self.planned(setting, queries)
        return PMWRun(plan, setting, self.passes, lambda block: block.answers(histogram))

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


@dataclass(frozen=True)
class PMWPlan:
    """Tests and measurements of a whole session: the sparse vector of one phase, the noise on each measured answer.

    Phases follow each other, each with a fresh threshold: one with a pure budget, one for each update with a
    concentrated one.
    """

    tests: AboveThreshold
    answers: AdditiveMechanism
    phases: int

    @classmethod
    def of(cls, budget: Budget, updates: int, threshold: Fraction) -> PMWPlan:
        """Half of the budget for the answers, half for the tests."""
        each = budget.part(HALF / updates)
        if budget.is_pure:
            tests = AboveThreshold.of(budget.amount * HALF, threshold=threshold, most=updates)
            return cls(tests, each.for_sums(), 1)
        # A phase is ε′-DP and so ε′²/2-zCDP, and half of ρ makes ε′ = √(ρ/c), rounded down.
        epsilon = Fraction(math.isqrt(math.floor(2 * each.amount * 4**64)), 2**64)
        return cls(AboveThreshold.of(epsilon, threshold=threshold, most=1), each.for_sums(), updates)

    @property
    def updates(self) -> int:
        """The hard cap c."""
        return self.phases * self.tests.most

    @property
    def loss(self) -> Loss:
        """What a session costs, however many questions it is asked."""
        spent = self.tests.loss
        if self.phases == 1 and isinstance(self.answers.loss, Pure):
            return Pure(spent.epsilon + self.updates * self.answers.loss.epsilon)
        measured = self.answers.loss.concentrated()
        assert measured is not None
        return Concentrated(self.phases * spent.concentrated().rho + self.updates * measured.rho)

    def check(self, setting: QuerySetting) -> None:
        """Refuse noise that cannot be drawn, before anything is charged."""
        like = single_sum(NONE, setting)
        check_scale(self.tests.threshold_scale(like))
        check_scale(self.tests.test_scale(like))
        self.answers.check(like)
        if self.tests.threshold / like.step >= 2**62:
            raise UsageError(f"a threshold of {float(self.tests.threshold):.6g} records is beyond any table.")

    def expected(self, setting: QuerySetting) -> dict[str, Any]:
        """Figures in records."""
        like = single_sum(NONE, setting)
        return {
            "updates": self.updates,
            "threshold": float(self.tests.threshold),
            "threshold_scale": float(self.tests.threshold_scale(like) * like.step),
            "test_scale": float(self.tests.test_scale(like) * like.step),
            "noise_sd": self.answers.standard_deviation(like),
            "noise_95": self.answers.interval(like, 0.95),
        }


def _usual_threshold(budget: Budget, updates: int, setting: QuerySetting, queries: int) -> Fraction:
    """A threshold that noise alone passes so rarely that queries without any error spend a quarter of the updates."""
    plan = PMWPlan.of(budget, updates, Fraction(1))
    like = single_sum(NONE, setting)
    scale = plan.tests.test_scale(like) * like.step
    # Discrete Laplace noise of scale b passes T with probability of at most e^(−T/b)/2 or so.
    return round_up(float(scale) * max(1.0, math.log(2 * queries / updates)), 6)


def _usual_updates(budget: Budget, setting: QuerySetting, queries: int, cells: int) -> int:
    """The number of updates at which the threshold meets the error that this number of updates leaves at most."""

    def gap(updates: int) -> float:
        left = math.sqrt(math.log(cells + 1) / (2 * updates)) * setting.n_rows
        return float(_usual_threshold(budget, updates, setting, queries)) - left / FORESIGHT

    low, high = 1, min(queries, MOST_UPDATES)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if gap(middle) <= 0 else (low, middle - 1)
    return low


class PMWRun:
    """One run of private multiplicative weights. Charge the ledger before making one.

    ``truth`` gives the true answers of a workload in grid steps. It is the only access to the data, and is dropped when
    no more answers can be measured (``updates_left`` is 0).
    """

    def __init__(
        self, plan: PMWPlan, setting: QuerySetting, passes: int, truth: Callable[[Workload], Integers]
    ) -> None:
        noise = plan.answers.standard_deviation(single_sum(NONE, setting))
        self.learned = LearnedHistogram(setting.n_rows, setting.workload.n_cells, noise=noise, passes=passes)
        self.updates_left = plan.updates
        self._plan, self._setting = plan, setting
        self._truth: Callable[[Workload], Integers] | None = truth
        self._stream = self._new_stream()
        self._block = LEAST_BLOCK

    def answer(self, workload: Workload) -> tuple[Floats, Mask]:
        """Answers in records, in the order of the queries, and which of them were measured."""
        answers = np.empty(len(workload), dtype=np.int64)
        measured = np.zeros(len(workload), dtype=bool)
        done = 0
        while done < len(workload):
            # Blocks shrink where updates make estimates of the rest of a block worthless, and grow where they do not.
            size = self._block if self._truth is not None else MOST_BLOCK
            block = slice(done, min(done + size, len(workload)))
            before = self.updates_left
            self._answer_block(workload[block], answers[block], measured[block])
            self._block = min(2 * size, MOST_BLOCK) if self.updates_left == before else max(size // 2, LEAST_BLOCK)
            done = block.stop
        return answers / GRID, measured

    def stop(self) -> None:
        """Drop the data: from now on answers come from the estimate."""
        self._truth = None

    def _answer_block(self, block: Workload, answers: Integers, measured: Mask) -> None:
        """Fill in the answers of a block: from the estimate up to the first test that passes, and on from there."""
        truth = None if self._truth is None else self._truth(block)
        answers[:] = self._estimates(block)
        done = 0
        while self._truth is not None and truth is not None and self.updates_left > 0 and done < len(block):
            gaps = np.abs(truth[done:] - answers[done:])
            place = self._stream.first_pass(single_sum(gaps, self._setting))
            if place is None:
                return
            done += place
            # Counted before it is measured: whatever fails from here on, the cap holds.
            self.updates_left -= 1
            noisy = self._plan.answers.release(single_sum(truth[done : done + 1], self._setting))
            # No table gives less than 0 or more than all rows.
            answers[done] = min(max(int(noisy[0]), 0), self._setting.n_rows * GRID)
            measured[done] = True
            self._update(block[done : done + 1], answers[done] / GRID)
            done += 1
            if done < len(block):
                answers[done:] = self._estimates(block[done:])

    def _update(self, query: Workload, answer: float) -> None:
        self.learned.learn(query, answer)
        if not self.updates_left:
            self._truth = None
        elif not self._stream.passes_left:
            self._stream = self._new_stream()

    def _estimates(self, block: Workload) -> Integers:
        """What the estimate gives, on the grid: tests compare whole numbers, and these are what is released."""
        return on_grid(block, self.learned.estimate, self._setting.n_rows)

    def _new_stream(self) -> ThresholdSession:
        return self._plan.tests.begin(single_sum(NONE, self._setting))
