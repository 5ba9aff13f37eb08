"""The plan of private multiplicative weights: scales, thresholds and expected figures, from public values alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.coupled.bounds import NONE, single_sum
from discreet.coupled.query_method import QuerySetting
from discreet.errors import UsageError
from discreet.privacy.budget import Budget
from discreet.privacy.losses import Concentrated, Loss, Pure
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.noise import check_scale
from discreet.privacy.numbers import round_up
from discreet.privacy.threshold import AboveThreshold

__all__ = ["MOST_UPDATES", "PMWPlan", "usual_threshold", "usual_updates"]

MOST_UPDATES = 100_000
HALF = Fraction(1, 2)
FORESIGHT = 4.0
"""How much smaller the error of an estimate usually is than what is known for the worst table and queries: a guess."""


@dataclass(frozen=True)
class PMWPlan:
    """Tests and measurements of a whole session.

    Parameters
    ----------
    tests
        The sparse vector of one phase.
    answers
        The noise on each measured answer.
    phases
        How many sparse vectors follow each other, each with a fresh threshold: 1 with a pure budget, one for each
        update with a concentrated one.
    """

    tests: AboveThreshold
    answers: AdditiveMechanism
    phases: int

    @classmethod
    def of(cls, budget: Budget, updates: int, threshold: Fraction) -> PMWPlan:
        """Half of the budget for the answers, half for the tests."""
        each = budget.part(HALF / updates)
        if budget.is_pure:
            tests = AboveThreshold.of(budget.amount * HALF, threshold=threshold, most=updates, answers=False)
            return cls(tests, each.for_sums(), 1)
        # A phase is ε′-DP and so ε′²/2-zCDP, and half of ρ makes ε′ = √(ρ/c), rounded down.
        epsilon = Fraction(math.isqrt(math.floor(2 * each.amount * 4**64)), 2**64)
        return cls(AboveThreshold.of(epsilon, threshold=threshold, most=1, answers=False), each.for_sums(), updates)

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


def usual_threshold(budget: Budget, updates: int, setting: QuerySetting, queries: int) -> Fraction:
    """A threshold that noise alone passes so rarely that queries without any error spend a quarter of the updates."""
    plan = PMWPlan.of(budget, updates, Fraction(1))
    like = single_sum(NONE, setting)
    scale = plan.tests.test_scale(like) * like.step
    # Discrete Laplace noise of scale b passes T with probability of at most e^(−T/b)/2 or so.
    return round_up(float(scale) * max(1.0, math.log(2 * queries / updates)), 6)


def usual_updates(budget: Budget, setting: QuerySetting, queries: int, cells: int) -> int:
    """The number of updates at which the threshold meets the error that this number of updates leaves at most."""

    def gap(updates: int) -> float:
        left = math.sqrt(math.log(cells + 1) / (2 * updates)) * setting.n_rows
        return float(usual_threshold(budget, updates, setting, queries)) - left / FORESIGHT

    low, high = 1, min(queries, MOST_UPDATES)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if gap(middle) <= 0 else (low, middle - 1)
    return low
