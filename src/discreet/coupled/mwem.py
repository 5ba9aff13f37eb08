"""Multiplicative weights with the exponential mechanism: the worst answered query is measured, round by round.

References
----------
M. Hardt, K. Ligett, F. McSherry: A simple and practical algorithm for differentially private data release. NIPS 2012.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import polars as pl

from discreet.common.arguments import require_whole
from discreet.common.arrays import Integers
from discreet.coupled.bounds import NONE, Scored, all_sums, single_sum
from discreet.coupled.learned_histogram import MOST_PASSES, LearnedHistogram, on_grid
from discreet.coupled.query_method import BudgetedMethod, QuerySetting, answer_parts
from discreet.coupled.workloads.workload import GRID
from discreet.data.tables import Table
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.losses import Concentrated, Loss, Pure
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.method import Plan, Round, Rounds
from discreet.privacy.selection import ExponentialMechanism

__all__ = ["MWEM"]

MOST_ROUNDS = 10_000

PASSES = 10


@dataclass(frozen=True)
class MWEM(BudgetedMethod):
    """MWEM: in each round the exponential mechanism picks a badly answered query, which is then measured.

    Parameters
    ----------
    epsilon, delta
        The budget. With delta = 0 the guarantee is pure, otherwise zCDP. Half of it selects, half of it measures.
    rounds
        How many queries are measured. Chosen from public values by default.
    passes
        How often all measurements are gone through after each.
    average
        Whether the histogram is the mean over all rounds, for which the paper's bound holds; otherwise it is that of
        the last round.

    Privacy
    -------
    Unit: one row, or one group of at most k coupled rows, replaced; the number of rows is public. The score of a query
    is the distance of its true answer to that of the estimate, which moves by at most Δ = k records *in either
    direction*: the exponential mechanism uses exp(ε_s·score/2Δ). A measured answer gets fresh noise of scale Δ/ε_m.
    I rounds cost I·(ε_s + ε_m) = ε, or I·(ε_s²/8 + ρ_m) with a delta (``docs/proofs/coupled.md``, Theorem 6). PROVED.

    Notes
    -----
    A query is measured once at most; the list of those left is public. Passes over past measurements and averages are
    post-processing. Scores are whole grid steps and the mechanism is exact.

    Examples
    --------
    >>> from discreet.coupled import random_queries
    >>> from discreet.data import synthetic
    >>> table = synthetic.survey(households=100, seed=7)
    >>> release = MWEM(epsilon=1, rounds=5).release(table, random_queries(table, 50, seed=1))
    >>> release.table("measurements").height, round(release.array("histogram").sum())
    (5, 244)
    """

    name: ClassVar[str] = "mwem"
    chooses: ClassVar[bool] = True

    rounds: int | None = None
    passes: int = PASSES
    average: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rounds is not None:
            require_whole(self.rounds, "rounds", most=MOST_ROUNDS)
        require_whole(self.passes, "passes", most=MOST_PASSES)

    def _plan(self, public: QuerySetting) -> Plan:
        public.workload.require_dense("an estimate of all cells, which mwem keeps,")
        rounds, like = self._rounds_for(public), single_sum(NONE, public)
        picking, measuring = self.mechanisms(rounds)
        measuring.check(like)
        if picking.rate(like) > 2**60:
            raise UsageError("a budget this large cannot be used.", remedy="Choose a smaller epsilon.")
        return public.plan(
            self.name,
            _loss(rounds, picking, measuring),
            "multiplicative weights with the exponential mechanism, docs/proofs/coupled.md, Theorem 6",
            expected={
                "rounds": rounds,
                "score_scale": float(like.step / picking.rate(like)),
                "noise_sd": measuring.standard_deviation(like),
                "noise_95": measuring.interval(like, 0.95),
            },
        )

    def mechanisms(self, rounds: int) -> tuple[ExponentialMechanism, AdditiveMechanism]:
        """What picks a query and what measures it, in each of ``rounds`` rounds."""
        each = replace(self._budget, selects=True).part(Fraction(1, 2 * rounds))
        if each.is_pure:
            return ExponentialMechanism(each.amount), each.for_sums()
        # ε²/8 = ρ, rounded down.
        return ExponentialMechanism(Fraction(math.isqrt(math.floor(8 * each.amount * 4**64)), 2**64)), each.for_sums()

    def _rounds_for(self, setting: QuerySetting) -> int:
        """Rounds that balance the two parts of the paper's error bound, with twice the weight on noise."""
        if self.rounds is not None:
            return min(self.rounds, len(setting.workload))
        cells, queries = max(setting.workload.n_cells, 2), max(len(setting.workload), 2)
        epsilon = float(self.epsilon) / setting.largest
        balance = (setting.n_rows * math.sqrt(math.log(cells)) * epsilon / (20 * math.log(queries))) ** (2 / 3)
        return max(1, min(round(balance), len(setting.workload), MOST_ROUNDS))

    def _prepare(self, data: Table, plan: Plan) -> Integers:
        """The true answers of some of the rows, in grid steps."""
        return plan.public.workload.true_answers(data)

    def _rounds(self, plan: Plan) -> Rounds:
        setting: QuerySetting = plan.public
        workload, rounds = setting.workload, self._rounds_for(setting)
        picking, measuring = self.mechanisms(rounds)
        noise = measuring.standard_deviation(single_sum(NONE, setting))
        learned = LearnedHistogram(setting.n_rows, workload.n_cells, noise=noise, passes=self.passes)
        left, total = np.arange(len(workload)), np.zeros(workload.n_cells)
        picked: list[int] = []
        measured: list[float] = []
        for _ in range(rounds):
            estimates = on_grid(workload, learned.estimate, setting.n_rows)[left]

            def errors(truth: Integers, left: Any = left, estimates: Any = estimates) -> BoundedSums:
                return single_sum(np.abs(truth[left] - estimates), setting)

            worst = Scored(picking.loss, picking.choose, errors)
            query = int(left[(yield Round(lambda truth: all_sums(truth, setting), worst))])
            noisy = yield Round(lambda truth, query=query: single_sum(truth[query : query + 1], setting), measuring)
            picked.append(query)
            # No table gives less than 0 or more than all rows.
            measured.append(min(max(int(noisy[0]), 0), setting.n_rows * GRID) / GRID)
            learned.learn(workload[query : query + 1], measured[-1])
            left = left[left != query]
            total += learned.estimate
        histogram = total / rounds if self.average else learned.estimate
        measurements = pl.DataFrame({"query": picked, "answer": measured})
        return answer_parts(setting, histogram=histogram, measurements=measurements)


def _loss(rounds: int, picking: ExponentialMechanism, measuring: AdditiveMechanism) -> Loss:
    if isinstance(measuring.loss, Pure):
        return Pure(rounds * (picking.epsilon + measuring.loss.epsilon))
    measured = measuring.loss.concentrated()
    assert measured is not None
    return Concentrated(rounds * (picking.concentrated_loss.rho + measured.rho))
