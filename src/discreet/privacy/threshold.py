"""Above threshold: a stream of questions, of which only those with a large answer cost anything.

References
----------
C. Dwork, A. Roth: The algorithmic foundations of differential privacy. 2014, section 3.6.
M. Lyu, D. Su, N. Li: Understanding the sparse vector technique for differential privacy. VLDB 2017.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import PrivacyError, UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.draws import Draw, Spend, observed
from discreet.privacy.losses import Pure
from discreet.privacy.noise import LEAST_SCALE, discrete_laplace
from discreet.privacy.numbers import Rational, as_fraction, as_positive, round_down

__all__ = ["AboveThreshold", "ThresholdSession"]

DRAWN_AT_ONCE = 1024
"""Noise on tests that is drawn at once for blocks of sums."""


@dataclass(frozen=True)
class AboveThreshold:
    """Sparse vector: says of each sum whether it passes a threshold. ``begin`` opens a run of it.

    Parameters
    ----------
    threshold
        The public threshold, in the units of the sums.
    most
        After so many passes the run is over and no longer touches data.
    epsilon_threshold, epsilon_tests
        Shares of the budget: noise on the threshold and on the tests.

    Notes
    -----
    **Privacy.** With Δ the largest change of one sum and c = ``most``: the threshold gets discrete Laplace noise of
    scale Δ/ε₁, each test fresh noise of scale 2cΔ/ε₂ (cΔ/ε₂ where a user only raises sums). The whole run, with any
    number of questions, is (ε₁+ε₂)-DP and so (ε₁+ε₂)²/2-zCDP (``docs/proofs/selection.md``, Theorem 6, without
    answers). The questions may depend on earlier replies.
    """

    threshold: Fraction
    most: int
    epsilon_threshold: Fraction
    epsilon_tests: Fraction
    name: ClassVar[str] = "above threshold"
    theorem: ClassVar[str] = "sparse vector, docs/proofs/selection.md, Theorem 6"

    def __post_init__(self) -> None:
        if self.most < 1:
            raise UsageError(f"most = {self.most} must be at least 1.")
        if min(self.epsilon_threshold, self.epsilon_tests) <= 0:
            raise UsageError("the shares of the budget must be above 0.")

    @classmethod
    def of(cls, epsilon: Rational, *, threshold: Rational, most: int) -> AboveThreshold:
        """Split a budget 1 : (2c)^⅔ between threshold and tests."""
        total = as_positive(epsilon, "epsilon")
        share = total * round_down(1 / (1 + (2 * most) ** (2 / 3)), 6)
        return cls(as_fraction(threshold, "threshold"), most, share, total - share)

    @property
    def loss(self) -> Pure:
        return Pure(self.epsilon_threshold + self.epsilon_tests)

    def threshold_scale(self, sums: BoundedSums) -> Fraction:
        return max(sums.linf_sensitivity / self.epsilon_threshold, LEAST_SCALE)

    def test_scale(self, sums: BoundedSums) -> Fraction:
        # score_range is Δ where one user moves all sums one way, 2Δ elsewhere.
        return max(self.most * sums.score_range / self.epsilon_tests, LEAST_SCALE)

    def begin(self, like: BoundedSums) -> ThresholdSession:
        """Open a session for sums bounded like these. Charge the ledger first."""
        return ThresholdSession(self, like)


class ThresholdSession:
    """One run of ``AboveThreshold``, which is asked about blocks of sums and says which is the first to pass.

    Attributes
    ----------
    passes_left : int
        How many more sums may pass.

    Privacy
    -------
    The replies are those to one sum after the other (``docs/proofs/selection.md``, Theorem 6): sums behind the first
    that passes are not tested, and each test has noise of its own. Noise is drawn ahead of the tests, in stock; it
    depends on nothing.
    """

    def __init__(self, mechanism: AboveThreshold, like: BoundedSums) -> None:
        self.mechanism, self.like = mechanism, like
        self.passes_left = mechanism.most
        self._spend = Spend(mechanism.name, mechanism.loss)
        self._stock = np.empty(0, dtype=np.int64)
        steps, scale = math.ceil(mechanism.threshold / like.step), mechanism.threshold_scale(like)
        draw = Draw("threshold", np.array([steps]), scale, (), self._spend)
        self._threshold = observed(draw, lambda: steps + int(discrete_laplace(1, scale)[0]))

    def first_pass(self, sums: BoundedSums) -> int | None:
        """Place of the first sum that passes, or None; sums behind it are left untested."""
        if not self.passes_left:
            raise PrivacyError(
                f"{self.mechanism.most} sums have passed: this session is over.", remedy="Open and charge another one."
            )
        if sums.step != self.like.step or sums.unit != self.like.unit:
            raise PrivacyError("these sums are on another grid or for another unit than the session was opened for.")
        if sums.linf_sensitivity > self.like.linf_sensitivity or (self.like.one_sided and not sums.one_sided):
            raise PrivacyError("these sums can change in more ways than those that the session was opened for.")
        values, scale = sums.values.reshape(-1), self.mechanism.test_scale(self.like)
        public = (self.mechanism.threshold_scale(self.like), self.mechanism.most)
        draw = Draw("above threshold", values, scale, public, self._spend)
        place = observed(draw, lambda: self._first(values, scale))
        if place is not None:
            self.passes_left -= 1
        return place

    def _first(self, values: NDArray[np.int64], scale: Fraction) -> int | None:
        missing = values.size - self._stock.size
        if missing > 0:
            self._stock = np.concatenate([self._stock, discrete_laplace(max(missing, DRAWN_AT_ONCE), scale)])
        above = values + self._stock[: values.size] >= self._threshold
        place = int(np.argmax(above)) if above.any() else None
        self._stock = self._stock[values.size if place is None else place + 1 :]
        return place
