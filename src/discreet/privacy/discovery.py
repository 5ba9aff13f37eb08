"""Discovery: which keys are held by enough people to be named, when no public list of them exists.

References
----------
A. Korolova, K. Kenthapadi, N. Mishra, A. Ntoulas: Releasing search queries and clicks privately. WWW 2009.
R. Wilson et al.: Differentially private SQL with bounded user contribution. PoPETs 2020.
M. Swanberg, D. Desfontaines, S. Haney: DP-SIPS: a simpler, more scalable mechanism for differentially private
partition selection. PoPETs 2023 (the Gaussian threshold).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import ClassVar, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.ids import IdMap
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedInteractions
from discreet.privacy.draws import SAMPLERS, Draw, NoiseLaw, Spend, observed
from discreet.privacy.losses import Approximate, mu_for
from discreet.privacy.noise import LEAST_SCALE, check_scale
from discreet.privacy.numbers import Rational, as_positive, as_probability, sqrt_up
from discreet.privacy.rounded_gaussian import LEAST_DEVIATION, check_deviation

__all__ = ["GaussianSelection", "KeySelection", "StabilitySelection"]


class KeySelection(Protocol):
    """What every way of finding keys offers: its promise, a check before the charge, and the draw after it."""

    @property
    def name(self) -> str: ...

    @property
    def theorem(self) -> str: ...

    @property
    def loss(self) -> Approximate: ...

    def threshold(self, cap: int) -> float:
        """What a noisy number must reach, for users who hold at most ``cap`` keys."""
        ...

    def check(self, data: BoundedInteractions) -> None:
        """Refuse data that nothing can be found in privately: to be called before anything is charged."""
        ...

    def release(self, data: BoundedInteractions) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
        """Codes of the keys that pass, and their noisy numbers of users where these were released."""
        ...


@dataclass(frozen=True)
class StabilitySelection:
    """Items that at least about ``threshold`` users hold, found among those that occur.

    Parameters
    ----------
    epsilon, delta
        The budget. δ may not pass 1 − e^−ε.

    Notes
    -----
    **Privacy.** Each user holds at most l distinct items (the cap that the data carry). Every item that occurs gets
    discrete Laplace noise of scale l/ε on its number of users, and is named, with the noisy number, if that reaches
    the threshold. An item that only one user holds passes with probability at most δ₁ = 1 − (1−δ)^(1/l), so that none
    of a user's own items passes but for a chance of δ. Otherwise one user changes counts over the same items by at
    most l.
    (ε, δ)-DP for one user, present or absent: ``docs/proofs/selection.md``, Theorem 7.
    """

    epsilon: Fraction
    delta: Fraction
    name: ClassVar[str] = "stability-based selection"
    theorem: ClassVar[str] = "stability-based selection, docs/proofs/selection.md, Theorem 7"

    def __post_init__(self) -> None:
        if not 0 < self.delta <= -math.expm1(-float(self.epsilon)):
            raise UsageError(
                f"delta = {self.delta} must be above 0 and at most 1 − e^−ε.", remedy="Choose for example 1e-6."
            )

    @classmethod
    def of(cls, *, epsilon: Rational, delta: Rational) -> StabilitySelection:
        return cls(as_positive(epsilon, "epsilon"), as_probability(delta))

    @property
    def loss(self) -> Approximate:
        return Approximate(self.epsilon, self.delta)

    def scale(self, cap: int) -> Fraction:
        """Of the noise, and at least what can be drawn."""
        return max(Fraction(cap) / self.epsilon, LEAST_SCALE)

    def threshold(self, cap: int) -> int:
        """The least τ with Pr[1 + X ≥ τ] = a^(τ−1)/(1+a) ≤ δ₁, a = e^(−ε/l); rounding goes up."""
        scale = float(self.scale(cap))
        one_item = -math.expm1(math.log1p(-float(self.delta)) / cap)
        steps = scale * -math.log(one_item * (1 + math.exp(-1 / scale)))
        return 1 + max(0, math.ceil(steps * (1 + 1e-12)))

    def check(self, data: BoundedInteractions) -> None:
        """Refuse data that nothing can be found in privately: to be called before anything is charged."""
        require_once(data)
        check_scale(self.scale(data.most_records))

    def release(self, data: BoundedInteractions) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Codes of the items that pass, and their noisy numbers of users. Charge the ledger first."""
        self.check(data)
        cap, spend = data.most_records, Spend(self.name, self.loss)
        counts = data.records.records_per_item.astype(np.int64)
        return passing_keys(data.records.items, counts, "laplace", self.scale(cap), self.threshold(cap), spend)


@dataclass(frozen=True)
class GaussianSelection:
    """Items that at least about ``threshold`` users hold, found with normal noise: better from five items a user on.

    Parameters
    ----------
    epsilon, delta
        The budget. Half of δ pays for the noise, half for items that one user alone holds.

    Notes
    -----
    **Privacy.** Each user holds at most l distinct items. Every item that occurs gets rounded normal noise of deviation
    √l/μ on its number of users and is named, with the noisy number, if that reaches the threshold; μ is the largest
    with which μ-GDP keeps (ε, δ/2). An item that only one user holds passes with probability at most 1 − (1−δ/2)^(1/l).
    (ε, δ)-DP for one user, present or absent: ``docs/proofs/tagging.md``, Theorem 2.

    Examples
    --------
    >>> selection = GaussianSelection.of(epsilon="1/2", delta="1e-6")
    >>> selection.threshold(20) < StabilitySelection.of(epsilon="1/2", delta="1e-6").threshold(20)
    True
    """

    epsilon: Fraction
    delta: Fraction
    name: ClassVar[str] = "Gaussian selection"
    theorem: ClassVar[str] = "Gaussian selection, docs/proofs/tagging.md, Theorem 2"

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise UsageError(f"delta = {self.delta} must be above 0 and below 1.", remedy="Choose for example 1e-6.")

    @classmethod
    def of(cls, *, epsilon: Rational, delta: Rational) -> GaussianSelection:
        return cls(as_positive(epsilon, "epsilon"), as_probability(delta))

    @property
    def loss(self) -> Approximate:
        return Approximate(self.epsilon, self.delta)

    def deviation(self, cap: int) -> Fraction:
        """Of the noise, rounded up, and at least what can be drawn."""
        return gaussian_deviation(cap, self._mu_squared)

    @cached_property
    def _mu_squared(self) -> Fraction:
        return mu_for(self.epsilon, self.delta / 2) ** 2

    def threshold(self, cap: int) -> int:
        """The least whole number k with Pr[1 + X ≥ k] ≤ 1 − (1−δ/2)^(1/l), X the rounded noise."""
        # 1 + X ≥ k where the noise before rounding is at least k − 3/2.
        return math.ceil(gaussian_cutoff(cap, self.deviation(cap), self.delta / 2) + 0.5)

    def check(self, data: BoundedInteractions) -> None:
        """Refuse data that nothing can be found in privately: to be called before anything is charged."""
        require_once(data)
        check_deviation(self.deviation(data.most_records))

    def release(self, data: BoundedInteractions) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Codes of the items that pass, and their noisy numbers of users. Charge the ledger first."""
        self.check(data)
        cap, spend = data.most_records, Spend(self.name, self.loss)
        counts = data.records.records_per_item.astype(np.int64)
        return passing_keys(data.records.items, counts, "normal", self.deviation(cap), self.threshold(cap), spend)


def passing_keys(
    keys: IdMap, weights: NDArray[np.int64], law: NoiseLaw, parameter: Fraction, threshold: int, spend: Spend
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes of the keys whose weight, of those above 0, reaches the threshold with fresh noise, and what it is then."""
    held = np.flatnonzero(weights)
    names = keys.take(held)

    def sample() -> tuple[pl.Series, NDArray[np.int64]]:
        noisy = weights[held] + SAMPLERS[law](held.shape, parameter)
        passed = noisy >= threshold
        return names.filter(pl.Series(passed)), noisy[passed]

    secret = dict(zip(names, weights[held].tolist(), strict=True))
    found, noisy = observed(Draw(f"keys by {law}", secret, parameter, (threshold,), spend), sample)
    return keys.encode(found).astype(np.int64), noisy


def gaussian_deviation(cap: int, mu_squared: Fraction) -> Fraction:
    """√l/μ for users of at most l keys, rounded up."""
    return max(sqrt_up(cap / mu_squared, bits=24), LEAST_DEVIATION)


def gaussian_cutoff(cap: int, deviation: Fraction, delta: Fraction, *, weight: float = 1.0) -> float:
    """weight + σ·Φ⁻¹((1−δ)^(1/l)), rounded up: what none of l keys of this weight passes but for a chance of δ.

    Examples
    --------
    >>> deviation = gaussian_deviation(5, 2 * Fraction("0.02"))
    >>> round(float(deviation), 2), round(gaussian_cutoff(5, deviation, Fraction("5e-7")), 2)
    (11.18, 59.13)
    """
    one_key = -math.expm1(math.log1p(-float(delta)) / cap)
    quantile = -NormalDist().inv_cdf(one_key)
    return weight + float(deviation) * (quantile + 1e-9 * abs(quantile))


def require_once(data: BoundedInteractions) -> None:
    """Refuse records in which a user may hold a key twice."""
    if data.most_repeats != 1:
        raise UsageError("a user must hold each item once here.", remedy="Bound the records with cap_items.")
