"""Additive mechanisms: bounded sums in, sums with exact discrete noise out.

A mechanism works its scale out from the bounds that the sums carry; there is no argument for a sensitivity. Symmetric
matrices are released as their upper triangle. Their diagonal has the noise that a vector with the bounds of the whole
matrix would have; off it half of the scale (Laplace) or of the variance is enough, since those entries are bounded
twice. ``docs/proofs/noise.md`` and ``docs/proofs/gram.md`` have the theorems.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import ClassVar, overload

import numpy as np
from numpy.typing import NDArray

from discreet.errors import PrivacyError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.draws import CHECKS, NoiseLaw, Spend, noisy
from discreet.privacy.gram import BoundedGram
from discreet.privacy.losses import Concentrated, GaussianLoss, Loss, Pure, mu_for, rho_for
from discreet.privacy.noise import LEAST_SCALE
from discreet.privacy.numbers import Rational, as_positive, sqrt_up
from discreet.privacy.rounded_gaussian import LEAST_DEVIATION

__all__ = ["AdditiveMechanism", "Exact", "GaussianMechanism", "LaplaceMechanism", "NormalMechanism"]

Sums = BoundedSums | BoundedGram
LogLaw = Callable[[NDArray[np.int64]], NDArray[np.float64]]


@dataclass(frozen=True)
class AdditiveMechanism(ABC):
    """Independent integer noise of one law on every sum of a public list, or on symmetric matrices of sums."""

    name: ClassVar[str]
    theorem: ClassVar[str]
    law: ClassVar[NoiseLaw]

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """What one release spends, whatever the sums."""

    @abstractmethod
    def parameter(self, sums: Sums, *, off_diagonal: bool = False) -> Fraction:
        """The parameter of the noise law, in grid steps; of matrices the one on the diagonal, or off it."""

    @abstractmethod
    def log_pmf(self, sums: Sums) -> LogLaw:
        """Log-probabilities of noise values: the law that the sampler follows."""

    @abstractmethod
    def interval(self, sums: BoundedSums, confidence: float) -> float:
        """Half-width that the noise on one sum keeps within, with at least this probability, in units of the sums."""

    @abstractmethod
    def _deviation(self, parameter: float) -> float:
        """Standard deviation of the law, in grid steps. There is no bias."""

    def check(self, sums: Sums) -> None:
        """Refuse sums that the noise cannot be drawn for: to be called before anything is charged."""
        CHECKS[self.law](self.parameter(sums))

    def standard_deviation(self, sums: Sums) -> float:
        """Of the noise on each sum, in the units of the sums; of matrices, off the diagonal."""
        parameter = self.parameter(sums, off_diagonal=isinstance(sums, BoundedGram))
        return float(sums.step) * self._deviation(float(parameter))

    def spectral_deviation(self, gram: BoundedGram) -> float:
        """σ of the noise as a random symmetric matrix: √2 times the deviation off the diagonal. Its eigenvalues stay
        within σ·√(2n) for n × n matrices.
        """
        return math.sqrt(2) * self.standard_deviation(gram)

    @overload
    def release(self, sums: BoundedSums) -> NDArray[np.int64]: ...

    @overload
    def release(self, sums: BoundedGram) -> list[NDArray[np.float64]]: ...

    def release(self, sums: Sums) -> NDArray[np.int64] | list[NDArray[np.float64]]:
        """The sums with noise, in grid steps; matrices whole, in the units of the sums. Charge the ledger first."""
        spend = Spend(self.name, self.loss)
        if isinstance(sums, BoundedSums):
            return noisy(sums.values, self.law, self.parameter(sums), spend)
        return [self._symmetric(matrix, sums, spend) * float(sums.step) for matrix in sums.matrices]

    def _symmetric(self, matrix: NDArray[np.int64], gram: BoundedGram, spend: Spend) -> NDArray[np.float64]:
        above = np.triu_indices(matrix.shape[0], 1)
        released = np.zeros(matrix.shape, dtype=np.int64)
        released[above] = noisy(matrix[above], self.law, self.parameter(gram, off_diagonal=True), spend)
        released += released.T
        np.fill_diagonal(released, noisy(matrix.diagonal(), self.law, self.parameter(gram), spend))
        return released.astype(np.float64)


@dataclass(frozen=True)
class LaplaceMechanism(AdditiveMechanism):
    """Discrete Laplace noise of scale Δ₁/ε.

    Parameters
    ----------
    epsilon
        The budget, above 0.

    Notes
    -----
    **Privacy.** With q = e^(−ε/Δ₁), Pr[X = x] ∝ q^|x|. Outputs are integers; shifting the sums by an integer vector d
    with ‖d‖₁ ≤ Δ₁ changes each probability by a factor of at most q^−‖d‖₁ ≤ e^ε. The scale is an exact rational.
    For a symmetric contribution A with Σ_ij |A_ij| ≤ L and noise of scale t off the diagonal and 2t on it, t = L/(2ε):
    Σ_{i<j} |A_ij|/t + Σ_i |A_ii|/(2t) = Σ_ij |A_ij|/(2t) ≤ ε (``docs/proofs/gram.md``, Theorem 5).

    References
    ----------
    A. Ghosh, T. Roughgarden, M. Sundararajan: Universally utility-maximizing privacy mechanisms. SIAM J. Comput. 2012.
    """

    epsilon: Fraction
    name: ClassVar[str] = "discrete Laplace"
    theorem: ClassVar[str] = "discrete Laplace mechanism, docs/proofs/noise.md, Theorem 2"
    law: ClassVar[NoiseLaw] = "laplace"

    @classmethod
    def of(cls, epsilon: Rational) -> LaplaceMechanism:
        return cls(as_positive(epsilon, "epsilon"))

    @property
    def loss(self) -> Pure:
        return Pure(self.epsilon)

    def parameter(self, sums: Sums, *, off_diagonal: bool = False) -> Fraction:
        """The scale Δ₁/ε, or half of it, and at least what can be drawn."""
        return max(sums.l1_sensitivity / self.epsilon / (2 if off_diagonal else 1), LEAST_SCALE)

    def log_pmf(self, sums: Sums) -> LogLaw:
        scale = float(self.parameter(sums))
        log_mass = math.log(math.tanh(1 / (2 * scale)))
        return lambda noise: log_mass - np.abs(noise) / scale

    def interval(self, sums: BoundedSums, confidence: float) -> float:
        # Pr[|X| > k] = 2q^(k+1)/(1+q)
        scale = float(self.parameter(sums))
        tail = (1 - confidence) * (1 + math.exp(-1 / scale)) / 2
        return max(0, math.ceil(-math.log(tail) * scale - 1)) * float(sums.step)

    def _deviation(self, parameter: float) -> float:
        # √(2q)/(1−q) = 1/(√2·sinh(1/2t))
        return 1 / (math.sqrt(2) * math.sinh(1 / (2 * parameter)))


@dataclass(frozen=True)
class GaussianMechanism(AdditiveMechanism):
    """Discrete Gaussian noise of variance Δ₂²/(2ρ).

    Parameters
    ----------
    rho
        The zCDP budget, above 0.

    Notes
    -----
    **Privacy.** Pr[X = x] ∝ exp(−x²/2σ²). For integer shifts of squared length at most Δ₂² the Rényi divergence of
    order α is at most α·Δ₂²/(2σ²) = αρ (Canonne, Kamath and Steinke, Theorem 4, coordinate by coordinate).
    For a symmetric contribution A with ‖A‖_F² ≤ F² and variances v off the diagonal and 2v on it, v = F²/(4ρ):
    Σ_{i<j} A_ij²/(2v) + Σ_i A_ii²/(4v) = ‖A‖_F²/(4v) ≤ ρ (``docs/proofs/gram.md``, Theorem 1).
    """

    rho: Fraction
    name: ClassVar[str] = "discrete Gaussian"
    theorem: ClassVar[str] = "discrete Gaussian mechanism, docs/proofs/noise.md, Theorem 3"
    law: ClassVar[NoiseLaw] = "gaussian"

    @classmethod
    def of(cls, *, epsilon: Rational, delta: Rational) -> GaussianMechanism:
        """The mechanism that keeps (ε, δ)."""
        return cls(rho_for(epsilon, delta))

    @property
    def loss(self) -> Concentrated:
        return Concentrated(self.rho)

    def parameter(self, sums: Sums, *, off_diagonal: bool = False) -> Fraction:
        """The variance Δ₂²/(2ρ), or half of it, and at least what can be drawn."""
        return max(sums.l2_sensitivity_squared / (2 * self.rho) / (2 if off_diagonal else 1), LEAST_SCALE**2)

    def log_pmf(self, sums: Sums) -> LogLaw:
        variance = float(self.parameter(sums))
        # From σ = 10 on the sum over the integers is the Gaussian integral, to hundreds of digits.
        reach = np.arange(math.ceil(40 * math.sqrt(min(variance, 100.0))) + 2, dtype=np.float64)
        total = 2 * np.exp(-(reach**2) / (2 * variance)).sum() - 1 if variance < 100 else math.sqrt(math.tau * variance)
        log_mass = -math.log(total)
        return lambda noise: log_mass - noise.astype(float) ** 2 / (2 * variance)

    def interval(self, sums: BoundedSums, confidence: float) -> float:
        # The discrete tail beyond k is at most the Gaussian tail beyond k − 1 (Canonne, Kamath and Steinke, Prop. 25).
        deviations = NormalDist().inv_cdf((1 + confidence) / 2)
        return math.ceil(1 + deviations * math.sqrt(self.parameter(sums))) * float(sums.step)

    def _deviation(self, parameter: float) -> float:
        """σ itself, an upper bound that is exact to many digits from σ = 1 on."""
        return math.sqrt(parameter)


@dataclass(frozen=True)
class NormalMechanism(AdditiveMechanism):
    """Rounded normal noise of standard deviation Δ₂/μ: μ-Gaussian differential privacy.

    Losses add up as μ², and the curve of (ε, δ) is that of two normal laws at distance μ: at ε = 1 and δ = 10⁻⁶ that is
    7 % less noise than zCDP proves enough.

    Parameters
    ----------
    mu_squared
        The budget μ², above 0. Budgets of releases one after the other add up.

    Notes
    -----
    **Privacy.** The output is the rounding of sums + N(0, (Δ₂/μ)²), so it is μ-GDP by post-processing
    (``docs/proofs/noise.md``, Theorem 6). For a symmetric contribution A with ‖A‖_F² ≤ F² and deviations σ on the
    diagonal and σ/√2 off it, σ = F/μ: Σ_i A_ii²/σ² + Σ_{i<j} 2A_ij²/σ² = ‖A‖_F²/σ² ≤ μ².

    References
    ----------
    J. Dong, A. Roth, W. Su: Gaussian differential privacy. J. R. Stat. Soc. B, 2022.
    """

    mu_squared: Fraction
    name: ClassVar[str] = "rounded normal"
    theorem: ClassVar[str] = "rounded normal mechanism, docs/proofs/noise.md, Theorem 6"
    law: ClassVar[NoiseLaw] = "normal"

    @classmethod
    def of(cls, *, epsilon: Rational, delta: Rational) -> NormalMechanism:
        """The mechanism that keeps (ε, δ)."""
        return cls(mu_for(epsilon, delta) ** 2)

    @property
    def loss(self) -> GaussianLoss:
        return GaussianLoss(self.mu_squared)

    def parameter(self, sums: Sums, *, off_diagonal: bool = False) -> Fraction:
        """The standard deviation Δ₂/μ, or its √½, rounded up, and at least what can be drawn."""
        variance = sums.l2_sensitivity_squared / self.mu_squared / (2 if off_diagonal else 1)
        # A 64-bit numerator is far finer than any noise.
        return max(sqrt_up(variance, bits=24), LEAST_DEVIATION)

    def log_pmf(self, sums: Sums) -> LogLaw:
        from scipy.special import log_ndtr

        deviation = float(self.parameter(sums))

        def log_mass(noise: NDArray[np.int64]) -> NDArray[np.float64]:
            # On the side of the tails both numbers are far below 1, and their difference keeps its digits.
            size = np.abs(noise).astype(np.float64)
            near, far = log_ndtr(-(size - 0.5) / deviation), log_ndtr(-(size + 0.5) / deviation)
            return near + np.log(-np.expm1(far - near))

        return log_mass

    def interval(self, sums: BoundedSums, confidence: float) -> float:
        deviations = NormalDist().inv_cdf((1 + confidence) / 2)
        return math.ceil(deviations * float(self.parameter(sums)) + 0.5) * float(sums.step)

    def _deviation(self, parameter: float) -> float:
        """That of the normal noise; rounding adds at most a quarter of a squared grid step."""
        return parameter


@dataclass(frozen=True)
class Exact:
    """No noise: for sums that nothing protected can change.

    Parameters
    ----------
    reason
        Why these sums are public under the guarantee's unit.
    """

    reason: str

    @property
    def loss(self) -> Pure:
        return Pure(Fraction(0))

    def check(self, sums: BoundedSums) -> None:
        """Refuse sums that one neighboring step can change."""
        if sums.l1:
            raise PrivacyError(f"exact sums must not depend on what is protected, but one step changes {sums.l1}.")

    def standard_deviation(self, sums: BoundedSums) -> float:
        return 0.0

    def release(self, sums: BoundedSums) -> NDArray[np.int64]:
        """The sums themselves; refused where one neighboring step can change them."""
        self.check(sums)
        return sums.values
