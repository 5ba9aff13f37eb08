"""Additive mechanisms: bounded sums in, sums with exact discrete noise out.

A mechanism works its scale out from the bounds that the sums carry; there is no argument for a sensitivity.
``docs/proofs/noise.md`` has the theorems.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import PrivacyError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.draws import NoiseLaw, Spend, noisy
from discreet.privacy.losses import Concentrated, Loss, Pure, rho_for
from discreet.privacy.noise import LEAST_SCALE, check_scale, check_variance
from discreet.privacy.numbers import Rational, as_positive

__all__ = ["AdditiveMechanism", "Exact", "GaussianMechanism", "LaplaceMechanism"]


@dataclass(frozen=True)
class AdditiveMechanism(ABC):
    """Independent integer noise of one law on every sum of a public list."""

    name: ClassVar[str]
    theorem: ClassVar[str]
    reference: ClassVar[str]
    law: ClassVar[NoiseLaw]

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """What one release spends, whatever the sums."""

    @abstractmethod
    def parameter(self, sums: BoundedSums) -> Fraction:
        """The parameter of the noise law, in grid steps."""

    @abstractmethod
    def check(self, sums: BoundedSums) -> None:
        """Refuse sums that the noise cannot be drawn for: to be called before anything is charged."""

    @abstractmethod
    def log_pmf(self, sums: BoundedSums) -> Callable[[NDArray[np.int64]], NDArray[np.float64]]:
        """Log-probabilities of noise values: the law that the sampler follows."""

    @abstractmethod
    def standard_deviation(self, sums: BoundedSums) -> float:
        """Standard deviation of the noise on each sum, in the units of the sums. There is no bias."""

    def release(self, sums: BoundedSums) -> NDArray[np.int64]:
        """The sums with fresh noise, in grid steps. Charge the ledger first."""
        return noisy(sums.values, self.law, self.parameter(sums), Spend(self.name, self.loss))

    @abstractmethod
    def interval(self, sums: BoundedSums, confidence: float) -> float:
        """Half-width that the noise on one sum keeps within, with at least this probability, in units of the sums."""


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

    References
    ----------
    A. Ghosh, T. Roughgarden, M. Sundararajan: Universally utility-maximizing privacy mechanisms. SIAM J. Comput. 2012.
    """

    epsilon: Fraction
    name: ClassVar[str] = "discrete Laplace"
    theorem: ClassVar[str] = "discrete Laplace mechanism, docs/proofs/noise.md, Theorem 2"
    reference: ClassVar[str] = "Ghosh, Roughgarden and Sundararajan 2012"
    law: ClassVar[NoiseLaw] = "laplace"

    @classmethod
    def of(cls, epsilon: Rational) -> LaplaceMechanism:
        return cls(as_positive(epsilon, "epsilon"))

    @property
    def loss(self) -> Pure:
        return Pure(self.epsilon)

    def parameter(self, sums: BoundedSums) -> Fraction:
        """The scale Δ₁/ε, and at least what can be drawn."""
        return max(sums.l1_sensitivity / self.epsilon, LEAST_SCALE)

    def check(self, sums: BoundedSums) -> None:
        check_scale(self.parameter(sums))

    def log_pmf(self, sums: BoundedSums) -> Callable[[NDArray[np.int64]], NDArray[np.float64]]:
        scale = float(self.parameter(sums))
        log_mass = math.log(math.tanh(1 / (2 * scale)))
        return lambda noise: log_mass - np.abs(noise) / scale

    def standard_deviation(self, sums: BoundedSums) -> float:
        # √(2q)/(1−q) = 1/(√2·sinh(1/2t))
        return float(sums.step) / (math.sqrt(2) * math.sinh(1 / (2 * float(self.parameter(sums)))))

    def interval(self, sums: BoundedSums, confidence: float) -> float:
        # Pr[|X| > k] = 2q^(k+1)/(1+q)
        scale = float(self.parameter(sums))
        tail = (1 - confidence) * (1 + math.exp(-1 / scale)) / 2
        return max(0, math.ceil(-math.log(tail) * scale - 1)) * float(sums.step)


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
    """

    rho: Fraction
    name: ClassVar[str] = "discrete Gaussian"
    theorem: ClassVar[str] = "discrete Gaussian mechanism, docs/proofs/noise.md, Theorem 3"
    reference: ClassVar[str] = "Canonne, Kamath and Steinke 2020"
    law: ClassVar[NoiseLaw] = "gaussian"

    @classmethod
    def of(cls, *, epsilon: Rational, delta: Rational) -> GaussianMechanism:
        """The mechanism that keeps (ε, δ)."""
        return cls(rho_for(epsilon, delta))

    @property
    def loss(self) -> Concentrated:
        return Concentrated(self.rho)

    def parameter(self, sums: BoundedSums) -> Fraction:
        """The variance Δ₂²/(2ρ), and at least what can be drawn."""
        return max(sums.l2_sensitivity_squared / (2 * self.rho), LEAST_SCALE**2)

    def check(self, sums: BoundedSums) -> None:
        check_variance(self.parameter(sums))

    def log_pmf(self, sums: BoundedSums) -> Callable[[NDArray[np.int64]], NDArray[np.float64]]:
        variance = float(self.parameter(sums))
        # From σ = 10 on the sum over the integers is the Gaussian integral, to hundreds of digits.
        reach = np.arange(math.ceil(40 * math.sqrt(min(variance, 100.0))) + 2, dtype=np.float64)
        total = 2 * np.exp(-(reach**2) / (2 * variance)).sum() - 1 if variance < 100 else math.sqrt(math.tau * variance)
        log_mass = -math.log(total)
        return lambda noise: log_mass - noise.astype(float) ** 2 / (2 * variance)

    def standard_deviation(self, sums: BoundedSums) -> float:
        """σ itself, an upper bound that is exact to many digits from σ = 1 on."""
        return float(sums.step) * math.sqrt(self.parameter(sums))

    def interval(self, sums: BoundedSums, confidence: float) -> float:
        # The discrete tail beyond k is at most the Gaussian tail beyond k − 1 (Canonne, Kamath and Steinke, Prop. 25).
        deviations = NormalDist().inv_cdf((1 + confidence) / 2)
        return math.ceil(1 + deviations * math.sqrt(self.parameter(sums))) * float(sums.step)


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

    def release(self, sums: BoundedSums) -> NDArray[np.int64]:
        """The sums themselves; refused where one neighboring step can change them."""
        if sums.l1:
            raise PrivacyError(f"exact sums must not depend on what is protected, but one step changes {sums.l1}.")
        return sums.values
