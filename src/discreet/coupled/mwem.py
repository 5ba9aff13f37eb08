"""Multiplicative weights with the exponential mechanism: the worst answered query is measured, round by round.

References
----------
M. Hardt, K. Ligett, F. McSherry: A simple and practical algorithm for differentially private data release. NIPS 2012.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.coupled.budgets import Budget
from discreet.coupled.multiplicative_weights import LearnedHistogram, on_grid
from discreet.coupled.query_method import Answered, QueryMethod, QueryPlan, QuerySetting, single_sum
from discreet.coupled.workload import GRID
from discreet.data.tables import Table
from discreet.errors import UsageError
from discreet.privacy.losses import Concentrated, Loss, Pure
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.numbers import Rational, as_positive, as_probability
from discreet.privacy.selection import ExponentialMechanism

__all__ = ["MWEM"]

MOST_ROUNDS = 10_000
PASSES = 10


@dataclass(frozen=True)
class MWEM(QueryMethod):
    """MWEM: in each round the exponential mechanism picks a badly answered query, which is then measured.

    Parameters
    ----------
    epsilon, delta
        The budget: pure without a delta, concentrated with one. Half of it picks, half of it measures.
    rounds
        How many queries are measured. Chosen from public values unless told.
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
    >>> release = MWEM.of(epsilon=1, rounds=5).release(table, random_queries(table, 50, seed=1))
    >>> release.table("measurements").height, round(release.array("histogram").sum())
    (5, 244)
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rounds: int | None = None
    passes: int = PASSES
    average: bool = False
    name: ClassVar[str] = "mwem"

    def __post_init__(self) -> None:
        if self.rounds is not None and not 1 <= self.rounds <= MOST_ROUNDS:
            raise UsageError(f"rounds = {self.rounds} must be a whole number from 1 to {MOST_ROUNDS:,}.")
        if not 1 <= self.passes <= 1000:
            raise UsageError(f"passes = {self.passes} must be a whole number from 1 to 1000.")

    @classmethod
    def of(
        cls,
        epsilon: Rational,
        *,
        delta: Rational = 0,
        rounds: int | None = None,
        passes: int = PASSES,
        average: bool = False,
    ) -> MWEM:
        """The mechanism with plain numbers."""
        return cls(as_positive(epsilon, "epsilon"), as_probability(delta), rounds, passes, average)

    def _plan(self, setting: QuerySetting) -> QueryPlan:
        setting.workload.require_dense("an estimate of all cells, which mwem keeps,")
        rounds = self._rounds(setting)
        like = single_sum(np.zeros(1, dtype=np.int64), setting)
        picking, measuring = self.mechanisms(rounds)
        measuring.check(like)
        if picking.rate(like) > 2**60:
            raise UsageError("a budget this large cannot be used.", remedy="Choose a smaller epsilon.")
        return QueryPlan(
            loss=_loss(rounds, picking, measuring),
            basis="multiplicative weights with the exponential mechanism, docs/proofs/coupled.md, Theorem 6",
            expected={
                "rounds": rounds,
                "score_scale": float(like.step / picking.rate(like)),
                "noise_sd": measuring.standard_deviation(like),
                "noise_95": measuring.interval(like, 0.95),
            },
        )

    def mechanisms(self, rounds: int) -> tuple[ExponentialMechanism, AdditiveMechanism]:
        """What picks and what measures in each of so many rounds."""
        each = Budget.of(self.epsilon, self.delta).part(Fraction(1, 2 * rounds))
        if each.law == "laplace":
            return ExponentialMechanism(each.amount), each.noise()
        # ε²/8 = ρ, rounded down.
        return ExponentialMechanism(Fraction(math.isqrt(math.floor(8 * each.amount * 4**64)), 2**64)), each.noise()

    def _rounds(self, setting: QuerySetting) -> int:
        """Rounds at which the two parts of the paper's error bound are in balance, with twice the weight on noise, and
        no more than there are queries.
        """
        if self.rounds is not None:
            return min(self.rounds, len(setting.workload))
        cells, queries = max(setting.workload.n_cells, 2), max(len(setting.workload), 2)
        epsilon = float(self.epsilon) / setting.largest
        balance = (setting.n_rows * math.sqrt(math.log(cells)) * epsilon / (20 * math.log(queries))) ** (2 / 3)
        return max(1, min(round(balance), len(setting.workload), MOST_ROUNDS))

    def _answer(self, table: Table, setting: QuerySetting) -> Answered:
        import polars as pl

        workload = setting.workload
        rounds = self._rounds(setting)
        picking, measuring = self.mechanisms(rounds)
        truth = workload.true_answers(table)
        noise = measuring.standard_deviation(single_sum(truth[:1], setting))
        learned = LearnedHistogram(setting.n_rows, workload.n_cells, noise=noise, passes=self.passes)
        left = np.arange(len(workload))
        total = np.zeros(workload.n_cells)
        picked: list[int] = []
        measured: list[float] = []
        for _ in range(rounds):
            found = self._estimates(learned, setting)
            scores = single_sum(np.abs(truth - found)[left], setting)
            query = int(left[picking.choose(scores)])
            noisy = measuring.release(single_sum(truth[query : query + 1], setting))
            picked.append(query)
            # No table gives less than 0 or more than all rows.
            measured.append(min(max(int(noisy[0]), 0), setting.n_rows * GRID) / GRID)
            learned.learn(workload[query : query + 1], measured[-1])
            left = left[left != query]
            total += learned.estimate
        histogram = total / rounds if self.average else learned.estimate
        answers = np.asarray(workload.answers(histogram), dtype=np.float64)
        parts = {"measurements": pl.DataFrame({"query": picked, "answer": measured})}
        return Answered(answers, "estimate", histogram=histogram, parts=parts)

    @staticmethod
    def _estimates(learned: LearnedHistogram, setting: QuerySetting) -> NDArray[np.int64]:
        """What the estimate gives, in whole grid steps."""
        return on_grid(setting.workload, learned.estimate, setting.n_rows)


def _loss(rounds: int, picking: ExponentialMechanism, measuring: AdditiveMechanism) -> Loss:
    if isinstance(measuring.loss, Pure):
        return Pure(rounds * (picking.epsilon + measuring.loss.epsilon))
    measured = measuring.loss.concentrated()
    assert measured is not None
    return Concentrated(rounds * (picking.concentrated_loss.rho + measured.rho))
