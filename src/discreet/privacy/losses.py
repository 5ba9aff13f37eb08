"""How much is lost: pure, approximate, concentrated and Gaussian differential privacy, and the ways between them.

Each kind is one small class. Everything a bound depends on is rational; what must be computed in floating point is
rounded towards the larger loss.

References
----------
M. Bun, T. Steinke: Concentrated differential privacy. TCC 2016.
C. Canonne, G. Kamath, T. Steinke: The discrete Gaussian for differential privacy. NeurIPS 2020 (Proposition 12).
J. Dong, A. Roth, W. Su: Gaussian differential privacy. JRSS B 2022.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from discreet.common.numerals import parse_rational
from discreet.errors import PrivacyError, UsageError
from discreet.privacy.numbers import (
    Rational,
    as_positive,
    as_probability,
    plain,
    round_down,
    round_up,
    stated,
)

__all__ = [
    "Approximate",
    "Concentrated",
    "GaussianLoss",
    "Loss",
    "Pure",
    "add",
    "delta_of_mu",
    "loss_from_json",
    "mu_for",
    "rho_for",
]


@dataclass(frozen=True)
class Loss(ABC):
    """What one neighboring step can change. Subclasses say in which sense."""

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            # A negative loss would be a refund, and a float would make sums that are not exact.
            if not isinstance(value, int | Fraction) or value < 0:
                raise UsageError(f"{name} = {value!r} of a {self.kind} loss must be a rational number from 0.")

    @abstractmethod
    def epsilon_at(self, delta: Fraction) -> Fraction:
        """The least epsilon this loss is known to stay within at that delta, rounded up."""

    @abstractmethod
    def for_group(self, steps: int) -> Loss:
        """The loss over so many neighboring steps."""

    @abstractmethod
    def concentrated(self) -> Concentrated | None:
        """The same loss as zCDP, or None where there is no such bound."""

    def to_json(self) -> dict[str, Any]:
        fields = {name: str(value) for name, value in vars(self).items()}
        return {"kind": self.kind, **fields}


@dataclass(frozen=True)
class Pure(Loss):
    """ε-differential privacy."""

    epsilon: Fraction
    kind: ClassVar[str] = "pure"

    @property
    def delta(self) -> Fraction:
        return Fraction(0)

    def epsilon_at(self, delta: Fraction) -> Fraction:
        return self.epsilon

    def for_group(self, steps: int) -> Pure:
        return Pure(self.epsilon * steps)

    def concentrated(self) -> Concentrated:
        return Concentrated(self.epsilon**2 / 2)

    def __str__(self) -> str:
        return stated("ε", self.epsilon)


@dataclass(frozen=True)
class Approximate(Loss):
    """(ε, δ)-differential privacy."""

    epsilon: Fraction
    delta: Fraction
    kind: ClassVar[str] = "approximate"

    def epsilon_at(self, delta: Fraction) -> Fraction:
        if delta < self.delta:
            raise PrivacyError(f"known for delta = {plain(self.delta)} only, not for {plain(delta)}.")
        return self.epsilon

    def for_group(self, steps: int) -> Approximate:
        growth = round_up(math.exp(float(self.epsilon) * (steps - 1)) * (1 + 1e-12)) if self.delta else Fraction(1)
        return Approximate(self.epsilon * steps, min(Fraction(1), steps * growth * self.delta))

    def concentrated(self) -> Concentrated | None:
        return None if self.delta else Pure(self.epsilon).concentrated()

    def __str__(self) -> str:
        return f"{stated('ε', self.epsilon)}, {stated('δ', self.delta)}"


@dataclass(frozen=True)
class Concentrated(Loss):
    """ρ-zero-concentrated differential privacy, but for an event of probability δ."""

    rho: Fraction
    delta: Fraction = Fraction(0)
    kind: ClassVar[str] = "concentrated"

    def epsilon_at(self, delta: Fraction) -> Fraction:
        rest = delta - self.delta
        if rest <= 0:
            raise PrivacyError(f"zCDP has no finite epsilon at delta = {plain(delta)}.")
        return _epsilon_of_rho(float(self.rho), float(rest))

    def for_group(self, steps: int) -> Concentrated:
        if self.delta:
            raise PrivacyError("no group bound is implemented for approximate zCDP.")
        return Concentrated(self.rho * steps**2)

    def concentrated(self) -> Concentrated:
        return self

    def __str__(self) -> str:
        usual = max(Fraction(1, 10**6), 2 * self.delta)
        text = f"{stated('ρ', self.rho)} (zCDP; {stated('ε', self.epsilon_at(usual))} at {stated('δ', usual)})"
        return text + (f", {stated('δ', self.delta)}" if self.delta else "")


@dataclass(frozen=True)
class GaussianLoss(Loss):
    """μ-Gaussian differential privacy, kept as μ², which is rational and adds up."""

    mu_squared: Fraction
    kind: ClassVar[str] = "gaussian"

    @property
    def mu(self) -> float:
        return math.sqrt(self.mu_squared)

    def epsilon_at(self, delta: Fraction) -> Fraction:
        if delta <= 0:
            raise PrivacyError("Gaussian noise has no finite epsilon at delta = 0.")
        return _epsilon_of_mu(self.mu, float(delta))

    def for_group(self, steps: int) -> GaussianLoss:
        return GaussianLoss(self.mu_squared * steps**2)

    def concentrated(self) -> Concentrated:
        return Concentrated(self.mu_squared / 2)

    def __str__(self) -> str:
        usual = Fraction(1, 10**6)
        return f"μ = {self.mu:.6g} (GDP; {stated('ε', self.epsilon_at(usual))} at {stated('δ', usual)})"


_KINDS: dict[str, type[Loss]] = {cls.kind: cls for cls in (Pure, Approximate, Concentrated, GaussianLoss)}


def loss_from_json(data: dict[str, Any]) -> Loss:
    """The inverse of ``Loss.to_json``."""
    try:
        kind = _KINDS[data["kind"]]
        return kind(**{name: _stored(value) for name, value in data.items() if name != "kind"})
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise UsageError(f"{str(data)[:60]!r} is not a privacy loss.") from error


def _stored(value: object) -> Fraction:
    """A share of a budget can have many digits: it is longer than what a person types."""
    return parse_rational(str(value), longest=8000)


def add(first: Loss, second: Loss) -> Loss:
    """Adaptive composition of two losses, in the strongest of the four senses that both have.

    Examples
    --------
    >>> print(add(Pure(Fraction(1, 2)), Pure(Fraction(1, 4))))
    ε = 0.75
    >>> print(add(Pure(Fraction(1)), Concentrated(Fraction(1, 2))))
    ρ = 1 (zCDP; ε ≈ 7.76622 at δ = 1e-6)
    """
    if isinstance(first, Pure) and isinstance(second, Pure):
        return Pure(first.epsilon + second.epsilon)
    if isinstance(first, GaussianLoss) and isinstance(second, GaussianLoss):
        return GaussianLoss(first.mu_squared + second.mu_squared)
    if isinstance(first, Pure | Approximate) and isinstance(second, Pure | Approximate):
        return Approximate(first.epsilon + second.epsilon, first.delta + second.delta)
    left, right = first.concentrated(), second.concentrated()
    if left is not None and right is not None:
        return Concentrated(left.rho + right.rho, left.delta + right.delta)
    raise PrivacyError(
        f"an (ε, δ) loss and a {'zCDP' if left or right else 'Gaussian'} loss have no common sum.",
        remedy="Turn the second into (ε, δ) at a delta of your choice: Approximate(loss.epsilon_at(delta), delta).",
    )


@lru_cache(maxsize=256)
def rho_for(epsilon: Rational, delta: Rational) -> Fraction:
    """The largest ρ (rounded down) for which ρ-zCDP gives (ε, δ).

    Examples
    --------
    >>> float(rho_for(1, "1e-6"))  # doctest: +ELLIPSIS
    0.0243...
    """
    wanted, at = _target(epsilon, delta)
    return _largest(lambda rho: float(_epsilon_of_rho(rho, at)) <= wanted)


@lru_cache(maxsize=256)
def mu_for(epsilon: Rational, delta: Rational) -> Fraction:
    """The largest μ (rounded down) for which μ-GDP gives (ε, δ).

    Examples
    --------
    >>> round(float(mu_for(1, "1e-6")), 4)
    0.2367
    """
    wanted, at = _target(epsilon, delta)
    return _largest(lambda mu: delta_of_mu(mu, wanted) <= at)


def _target(epsilon: Rational, delta: Rational) -> tuple[float, float]:
    wanted, at = as_positive(epsilon, "epsilon"), as_probability(delta)
    if at == 0:
        raise UsageError("delta must be above 0 here.", remedy="Gaussian noise needs a delta such as 1e-6.")
    return float(wanted), float(at)


def _largest(allowed: Callable[[float], bool]) -> Fraction:
    """The largest float for which a monotone condition holds, and a hair less."""
    low, high = 0.0, 1e-9
    while allowed(high) and high < 1e9:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if allowed(middle) else (low, middle)
    largest = round_down(low * (1 - 1e-12))
    if largest <= 0:
        raise UsageError("a budget this small leaves nothing to spend.", remedy="Choose a larger epsilon or delta.")
    return largest


def _epsilon_of_rho(rho: float, delta: float) -> Fraction:
    """min over α of ρα + [ln(1/δ) + (α−1)·ln(1−1/α) − ln α]/(α−1); any α gives a valid bound."""
    from scipy.optimize import minimize_scalar

    if rho == 0:
        return Fraction(0)

    def bound(log_excess: float) -> float:
        excess = math.exp(log_excess)  # α − 1
        tail = math.log(1 / delta) - math.log1p(excess)
        return rho * (1 + excess) + tail / excess - math.log1p(1 / excess)

    # The best α is near 1 + √(ln(1/δ)/ρ), the optimum of the looser classical bound.
    guess = math.log(math.sqrt(math.log(1 / delta) / rho)) if delta < 1 else 0.0
    found = minimize_scalar(bound, bounds=(guess - 6, guess + 3), method="bounded", options={"xatol": 1e-10})
    return round_up(max(0.0, float(found.fun)) * (1 + 1e-12) + 1e-15)


def _epsilon_of_mu(mu: float, delta: float) -> Fraction:
    if mu == 0 or delta_of_mu(mu, 0.0) <= delta:
        return Fraction(0)
    low, high = 0.0, 1.0
    while delta_of_mu(mu, high) > delta:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if delta_of_mu(mu, middle) <= delta else (middle, high)
    return round_up(high * (1 + 1e-12))


def delta_of_mu(mu: float | Fraction, epsilon: float | Fraction) -> float:
    """δ(ε) of μ-GDP: Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2)."""
    from scipy.special import log_ndtr

    mu, epsilon = float(mu), float(epsilon)
    if mu == 0:
        return 0.0
    first = float(log_ndtr(-epsilon / mu + mu / 2))
    second = epsilon + float(log_ndtr(-epsilon / mu - mu / 2))
    return math.exp(first) * -math.expm1(min(0.0, second - first))
