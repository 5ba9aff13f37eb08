"""Above threshold: a stream of questions, of which only those with a large answer cost anything.

References
----------
C. Dwork, A. Roth: The algorithmic foundations of differential privacy. 2014, section 3.6.
M. Lyu, D. Su, N. Li: Understanding the sparse vector technique for differential privacy. VLDB 2017.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.errors import PrivacyError, UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.draws import Draw, Spend, observed
from discreet.privacy.losses import Concentrated, Pure
from discreet.privacy.noise import LEAST_SCALE, discrete_laplace
from discreet.privacy.numbers import Rational, as_fraction, as_positive, round_down

__all__ = ["AboveThreshold", "ThresholdSession"]

DRAWN_AT_ONCE = 1024
"""Noise on tests that is drawn at once for blocks of sums."""


@dataclass(frozen=True)
class AboveThreshold:
    """Numeric sparse vector: says of each sum whether it passes a threshold, and its noisy value if it does.

    Parameters
    ----------
    threshold
        The public threshold, in the units of the sums.
    most
        After so many passes the session is over and no longer touches data.
    epsilon_threshold, epsilon_tests, epsilon_answers
        Shares of the budget: noise on the threshold, on the tests, on the answers (0: no answers are given).

    Notes
    -----
    **Privacy.** With Δ the largest change of one sum and c = ``most``: the threshold gets discrete Laplace noise of
    scale Δ/ε₁, each test fresh noise of scale 2cΔ/ε₂ (cΔ/ε₂ where a user only raises sums), each answer fresh noise
    of scale cΔ/ε₃. The whole session, with any number of questions, is (ε₁+ε₂+ε₃)-DP and so (ε₁+ε₂+ε₃)²/2-zCDP
    (``docs/proofs/selection.md``, Theorem 6). The questions may depend on earlier replies.
    """

    threshold: Fraction
    most: int
    epsilon_threshold: Fraction
    epsilon_tests: Fraction
    epsilon_answers: Fraction = Fraction(0)
    name: ClassVar[str] = "above threshold"
    theorem: ClassVar[str] = "numeric sparse vector, docs/proofs/selection.md, Theorem 6"

    def __post_init__(self) -> None:
        if self.most < 1:
            raise UsageError(f"most = {self.most} must be at least 1.")
        if min(self.epsilon_threshold, self.epsilon_tests) <= 0 or self.epsilon_answers < 0:
            raise UsageError("the shares of the budget must be above 0 (the one for answers may be 0).")

    @classmethod
    def of(cls, epsilon: Rational, *, threshold: Rational, most: int, answers: bool = True) -> AboveThreshold:
        """Split a budget: half for the answers, the rest 1 : (2c)^⅔ between threshold and tests."""
        total = as_positive(epsilon, "epsilon")
        for_answers = total / 2 if answers else Fraction(0)
        rest = total - for_answers
        share = rest * round_down(1 / (1 + (2 * most) ** (2 / 3)), 6)
        return cls(as_fraction(threshold, "threshold"), most, share, rest - share, for_answers)

    @property
    def loss(self) -> Pure:
        return Pure(self.epsilon_threshold + self.epsilon_tests + self.epsilon_answers)

    @property
    def concentrated_loss(self) -> Concentrated:
        return self.loss.concentrated()

    def threshold_scale(self, sums: BoundedSums) -> Fraction:
        return max(sums.linf_sensitivity / self.epsilon_threshold, LEAST_SCALE)

    def test_scale(self, sums: BoundedSums) -> Fraction:
        # score_range is Δ where one user moves all sums one way, 2Δ elsewhere.
        return max(self.most * sums.score_range / self.epsilon_tests, LEAST_SCALE)

    def answer_scale(self, sums: BoundedSums) -> Fraction:
        return max(self.most * sums.linf_sensitivity / self.epsilon_answers, LEAST_SCALE)

    def noisy_threshold(self, like: BoundedSums, spend: Spend) -> int:
        """The threshold in grid steps with fresh noise: secret."""
        steps, scale = math.ceil(self.threshold / like.step), self.threshold_scale(like)
        draw = Draw("threshold", np.array([steps]), scale, (), spend)
        return observed(draw, lambda: steps + int(discrete_laplace(1, scale)[0]))

    def test(self, sums: BoundedSums, like: BoundedSums, spend: Spend) -> Draw:
        """What a test of these sums, one after the other up to the first that passes, is as a draw."""
        answer_scale = self.answer_scale(like) if self.epsilon_answers else None
        public = (self.threshold_scale(like), answer_scale, self.most)
        return Draw("above threshold", sums.values.reshape(-1), self.test_scale(like), public, spend)

    def begin(self, like: BoundedSums) -> ThresholdSession:
        """Open a session for sums bounded like these. Charge the ledger first."""
        return ThresholdSession(self, like)


class ThresholdSession:
    """One run of ``AboveThreshold``; see there.

    Attributes
    ----------
    passes_left : int
        How many more sums may pass.
    """

    def __init__(self, mechanism: AboveThreshold, like: BoundedSums) -> None:
        self.mechanism, self.like = mechanism, like
        self.passes_left = mechanism.most
        self._spend = Spend(mechanism.name, mechanism.loss)
        self._threshold = mechanism.noisy_threshold(like, self._spend)
        self._stock = np.empty(0, dtype=np.int64)

    def ask(self, sums: BoundedSums) -> Fraction | bool | None:
        """The noisy value of a sum that passes (or True where no values are given); None if it does not pass."""
        reply = self._tested(sums, self._reply, most=1)
        return reply if reply is None or reply is True else reply * sums.step

    def first_pass(self, sums: BoundedSums) -> int | None:
        """Place of the first of several sums that passes, or None: the replies of asking one after the other.

        Sums behind it are not tested. Noise is drawn ahead of the tests, in stock; it depends on nothing.
        """
        if self.mechanism.epsilon_answers:
            raise PrivacyError("the first pass gives no answer.", remedy="Leave the share for answers at 0.")
        return self._tested(sums, self._first)

    def _tested(self, sums: BoundedSums, test: Callable[[BoundedSums], Any], most: int | None = None) -> Any:
        """What a test gives, and one pass less if that is not None."""
        if self.passes_left == 0:
            raise PrivacyError(
                f"{self.mechanism.most} sums have passed: this session is over.", remedy="Open and charge another one."
            )
        if most is not None and sums.values.size != most:
            raise UsageError("ask about one sum at a time.")
        if sums.step != self.like.step or sums.unit != self.like.unit:
            raise PrivacyError("this sum is on another grid or for another unit than the session was opened for.")
        if sums.linf_sensitivity > self.like.linf_sensitivity or (self.like.one_sided and not sums.one_sided):
            raise PrivacyError("this sum can change in more ways than those that the session was opened for.")
        reply = observed(self.mechanism.test(sums, self.like, self._spend), lambda: test(sums))
        self.passes_left -= reply is not None
        return reply

    def _reply(self, sums: BoundedSums) -> int | None:
        """The noisy value in grid steps, or True where no values are given; None if the sum does not pass."""
        value = int(sums.values.reshape(-1)[0])
        if value + int(discrete_laplace(1, self.mechanism.test_scale(self.like))[0]) < self._threshold:
            return None
        if self.mechanism.epsilon_answers == 0:
            return True
        return value + int(discrete_laplace(1, self.mechanism.answer_scale(self.like))[0])

    def _first(self, sums: BoundedSums) -> int | None:
        size = sums.values.size
        if (missing := size - self._stock.size) > 0:
            fresh = discrete_laplace(max(missing, DRAWN_AT_ONCE), self.mechanism.test_scale(self.like))
            self._stock = np.concatenate([self._stock, fresh])
        above = sums.values.reshape(-1) + self._stock[:size] >= self._threshold
        place = int(np.argmax(above)) if above.any() else None
        self._stock = self._stock[size if place is None else place + 1 :]
        return place
