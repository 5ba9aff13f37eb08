"""Mechanisms of μ-Gaussian differential privacy: whole numbers with rounded normal noise.

Losses add up as μ², and the curve of (ε, δ) is that of two normal laws at distance μ: at ε = 1 and δ = 10⁻⁶ that is
7 % less noise than zCDP proves enough (``docs/proofs/noise.md``, Theorem 6).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.bounding import BoundedSums
from discreet.privacy.draws import NoiseLaw
from discreet.privacy.gram import BoundedGram, SymmetricMechanism
from discreet.privacy.losses import GaussianLoss, mu_for
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.numbers import Rational, sqrt_up
from discreet.privacy.rounded_gaussian import LEAST_DEVIATION, check_deviation

__all__ = ["NormalGramMechanism", "NormalMechanism"]


@dataclass(frozen=True)
class NormalMechanism(AdditiveMechanism):
    """Rounded normal noise of standard deviation Δ₂/μ.

    Parameters
    ----------
    mu_squared
        The budget μ², above 0. Budgets of releases one after the other add up.

    Notes
    -----
    **Privacy.** The output is the rounding of sums + N(0, (Δ₂/μ)²), so it is μ-GDP by post-processing.

    References
    ----------
    J. Dong, A. Roth, W. Su: Gaussian differential privacy. J. R. Stat. Soc. B, 2022.
    """

    mu_squared: Fraction
    name: ClassVar[str] = "rounded normal"
    theorem: ClassVar[str] = "rounded normal mechanism, docs/proofs/noise.md, Theorem 6"
    reference: ClassVar[str] = "Dong, Roth and Su 2022"
    law: ClassVar[NoiseLaw] = "normal"

    @classmethod
    def of(cls, *, epsilon: Rational, delta: Rational) -> NormalMechanism:
        """The mechanism that keeps (ε, δ)."""
        return cls(mu_for(epsilon, delta) ** 2)

    @property
    def loss(self) -> GaussianLoss:
        return GaussianLoss(self.mu_squared)

    def parameter(self, sums: BoundedSums) -> Fraction:
        """The standard deviation Δ₂/μ, rounded up, and at least what can be drawn."""
        return _deviation(sums.l2_sensitivity_squared / self.mu_squared)

    def check(self, sums: BoundedSums) -> None:
        check_deviation(self.parameter(sums))

    def log_pmf(self, sums: BoundedSums) -> Callable[[NDArray[np.int64]], NDArray[np.float64]]:
        from scipy.special import log_ndtr

        deviation = float(self.parameter(sums))

        def log_mass(noise: NDArray[np.int64]) -> NDArray[np.float64]:
            # On the side of the tails both numbers are far below 1, and their difference keeps its digits.
            size = np.abs(noise).astype(np.float64)
            near, far = log_ndtr(-(size - 0.5) / deviation), log_ndtr(-(size + 0.5) / deviation)
            return near + np.log(-np.expm1(far - near))

        return log_mass

    def standard_deviation(self, sums: BoundedSums) -> float:
        """That of the normal noise; rounding adds at most a quarter of a squared grid step."""
        return float(sums.step) * float(self.parameter(sums))

    def interval(self, sums: BoundedSums, confidence: float) -> float:
        deviations = NormalDist().inv_cdf((1 + confidence) / 2)
        return math.ceil(deviations * float(self.parameter(sums)) + 0.5) * float(sums.step)


@dataclass(frozen=True)
class NormalGramMechanism(SymmetricMechanism):
    """Symmetric matrices with rounded normal noise: deviation F/μ on the diagonal and F/(μ√2) off it.

    Parameters
    ----------
    mu_squared
        The budget μ², above 0.

    Notes
    -----
    **Privacy.** With noise of deviation σ on the diagonal and σ/√2 off it, one user's contribution X moves the upper
    triangle by Σᵢ Xᵢᵢ²/σ² + Σᵢ<ⱼ 2Xᵢⱼ²/σ² = ‖X‖_F²/σ² in squared units of the noise, which is at most μ² for σ = F/μ.
    """

    mu_squared: Fraction
    name: ClassVar[str] = "rounded normal Gram"
    theorem: ClassVar[str] = "rounded normal mechanism, docs/proofs/noise.md, Theorem 6"
    law: ClassVar[NoiseLaw] = "normal"

    @property
    def loss(self) -> GaussianLoss:
        return GaussianLoss(self.mu_squared)

    def deviations(self, gram: BoundedGram) -> tuple[Fraction, Fraction]:
        """Standard deviations on the diagonal and off it, in grid steps."""
        # Where one contribution is exchanged for another the difference is at most twice as long.
        variance = gram.frobenius_squared * (4 if gram.exchanged else 1) / self.mu_squared
        return _deviation(variance), _deviation(variance / 2)

    def check(self, gram: BoundedGram) -> None:
        for deviation in self.deviations(gram):
            check_deviation(deviation)

    def standard_deviation(self, gram: BoundedGram) -> float:
        return float(gram.step) * float(self.deviations(gram)[1])

    def spectral_deviation(self, gram: BoundedGram) -> float:
        return float(gram.step) * float(self.deviations(gram)[0])

    def _parameters(self, gram: BoundedGram) -> tuple[Fraction, Fraction]:
        return self.deviations(gram)


def _deviation(variance: Fraction) -> Fraction:
    """The root, rounded up, short enough to compute with: a 64-bit numerator is far finer than any noise."""
    return max(sqrt_up(variance, bits=24), LEAST_DEVIATION)
