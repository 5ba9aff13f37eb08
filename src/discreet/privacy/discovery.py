"""Discovery: which keys are held by enough people to be named, when no public list of them exists.

References
----------
A. Korolova, K. Kenthapadi, N. Mishra, A. Ntoulas: Releasing search queries and clicks privately. WWW 2009.
R. Wilson et al.: Differentially private SQL with bounded user contribution. PoPETs 2020.
M. Swanberg, D. Desfontaines, S. Haney: DP-SIPS: a simpler, more scalable mechanism for differentially private
partition selection. PoPETs 2023 (the Gaussian threshold).
S. Gopi, P. Gulhane, J. Kulkarni, J. H. Shen, M. Shokouhi, S. Yekhanin: Differentially private set union. ICML 2020
(the policy that they call L2 descent).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.id_forms import id_as_text
from discreet.data.ids import IdMap, stable_text
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedInteractions
from discreet.privacy.draws import CHECKS, SAMPLERS, Draw, NoiseLaw, Spend, observed
from discreet.privacy.losses import Approximate, mu_for, rho_for
from discreet.privacy.noise import LEAST_SCALE
from discreet.privacy.numbers import Rational, as_fraction, as_positive, as_probability, sqrt_up
from discreet.privacy.rounded_gaussian import LEAST_DEVIATION

__all__ = ["GaussianSelection", "KeySelection", "PolicySelection", "StabilitySelection"]

BITS = 42
"""With a policy one user weighs 2^BITS steps: so fine that the rounding of all steps of 2³¹ users hardly counts."""

MOST_USERS = 2**31
"""More records, let alone users, do not fit into one table."""

MOST_KEYS = 4_000
"""Up to so many keys a user, a computed step of the policy is off by less than two grid steps."""


@dataclass(frozen=True)
class KeySelection(ABC):
    """Keys whose weight, with fresh noise, reaches a threshold. Only keys that occur are candidates.

    Parameters
    ----------
    epsilon, delta
        The budget.
    """

    epsilon: Fraction
    delta: Fraction
    name: ClassVar[str]
    theorem: ClassVar[str]
    law: ClassVar[NoiseLaw]

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise UsageError(f"delta = {self.delta} must be above 0 and below 1.", remedy="Choose for example 1e-6.")

    @classmethod
    def of(cls, *, epsilon: Rational, delta: Rational) -> Self:
        return cls(as_positive(epsilon, "epsilon"), as_probability(delta))

    @property
    def loss(self) -> Approximate:
        return Approximate(self.epsilon, self.delta)

    @abstractmethod
    def parameter(self, cap: int) -> Fraction:
        """The parameter of the noise, for users who hold at most ``cap`` keys; at least what can be drawn."""

    @abstractmethod
    def threshold(self, cap: int) -> float:
        """What the noisy weight of a key must reach, in units of one user's weight."""

    def cutoff(self, cap: int) -> int:
        """The same in the steps that weights are whole numbers of."""
        return int(self.threshold(cap))

    def weights(self, data: BoundedInteractions) -> NDArray[np.int64]:
        """The weight of every key before noise, above 0 for each that occurs: secret."""
        return data.records.records_per_item.astype(np.int64)

    def check(self, data: BoundedInteractions) -> None:
        """Refuse data that nothing can be found in privately: to be called before anything is charged."""
        if data.most_repeats != 1:
            raise UsageError("a user must hold each item once here.", remedy="Bound the records with cap_items.")
        CHECKS[self.law](self.parameter(data.most_records))

    def release(self, data: BoundedInteractions) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
        """Codes of the keys that pass, and their noisy numbers of users where these are released.

        Charge the ledger first.
        """
        self.check(data)
        keys, weights = data.records.items, self.weights(data)
        parameter, cutoff = self.parameter(data.most_records), self.cutoff(data.most_records)
        held = np.flatnonzero(weights)
        names = keys.take(held)

        def sample() -> tuple[pl.Series, NDArray[np.int64]]:
            noisy = weights[held] + SAMPLERS[self.law](held.shape, parameter)
            passed = noisy >= cutoff
            return names.filter(pl.Series(passed)), noisy[passed]

        secret = dict(zip(names, weights[held].tolist(), strict=True))
        draw = Draw(f"keys by {self.law}", secret, parameter, (cutoff,), Spend(self.name, self.loss))
        found, noisy = observed(draw, sample)
        return keys.encode(found).astype(np.int64), noisy


@dataclass(frozen=True)
class StabilitySelection(KeySelection):
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

    name: ClassVar[str] = "stability-based selection"
    theorem: ClassVar[str] = "stability-based selection, docs/proofs/selection.md, Theorem 7"
    law: ClassVar[NoiseLaw] = "laplace"

    def __post_init__(self) -> None:
        if not 0 < self.delta <= -math.expm1(-float(self.epsilon)):
            raise UsageError(
                f"delta = {self.delta} must be above 0 and at most 1 − e^−ε.", remedy="Choose for example 1e-6."
            )

    def parameter(self, cap: int) -> Fraction:
        return max(Fraction(cap) / self.epsilon, LEAST_SCALE)

    def threshold(self, cap: int) -> int:
        """The least τ with Pr[1 + X ≥ τ] = a^(τ−1)/(1+a) ≤ δ₁, a = e^(−ε/l); rounding goes up."""
        scale = float(self.parameter(cap))
        one_item = -math.expm1(math.log1p(-float(self.delta)) / cap)
        steps = scale * -math.log(one_item * (1 + math.exp(-1 / scale)))
        return 1 + max(0, math.ceil(steps * (1 + 1e-12)))


@dataclass(frozen=True)
class GaussianSelection(KeySelection):
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

    name: ClassVar[str] = "Gaussian selection"
    theorem: ClassVar[str] = "Gaussian selection, docs/proofs/tagging.md, Theorem 2"
    law: ClassVar[NoiseLaw] = "normal"

    def parameter(self, cap: int) -> Fraction:
        mu_squared = mu_for(self.epsilon, self.delta / 2) ** 2
        return max(sqrt_up(cap / mu_squared, bits=24), LEAST_DEVIATION)

    def threshold(self, cap: int) -> int:
        """The least whole number k with Pr[1 + X ≥ k] ≤ 1 − (1−δ/2)^(1/l), X the rounded noise."""
        # 1 + X ≥ k where the noise before rounding is at least k − 3/2.
        return math.ceil(gaussian_cutoff(cap, self.parameter(cap), self.delta / 2) + 0.5)


@dataclass(frozen=True)
class PolicySelection(KeySelection):
    """Items that enough weight reaches, with weights that follow what others have already given.

    With equal weights most of a user's goes to keys that are far above the threshold anyway. Here users come one after
    the other, in an order that nobody can change for the others, and each moves the weights of the user's own keys
    towards a goal a few deviations above the threshold. One user more or less still changes the result by at most one
    user's weight, because moving towards a goal never brings two points further apart.

    Parameters
    ----------
    epsilon, delta
        The budget. Half of δ pays for the noise, half for items that one user alone holds.
    reach
        How many deviations of the noise the goal lies above the threshold.

    Notes
    -----
    **Privacy.** Each user holds at most l distinct items. One user more or less changes the vector of weights by at
    most 1 + √l/512 in L2 norm (the second term is what rounding could add up to), so discrete Gaussian noise of
    variance (1 + √l/512)²/(2ρ) keeps ρ-zCDP, ρ the largest that keeps (ε, δ/2). Items that one user alone holds all
    weigh the same, at most 1/√j for j of them, and pass with a chance of δ/2 at most. (ε, δ)-DP for one user, present
    or absent: ``docs/proofs/tagging.md``, Theorem 3. Weights are no numbers of users, and none are released.
    """

    reach: Fraction = Fraction(5)
    name: ClassVar[str] = "policy selection"
    theorem: ClassVar[str] = "policy selection, docs/proofs/tagging.md, Theorem 3"
    law: ClassVar[NoiseLaw] = "gaussian"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.reach <= 100:
            raise UsageError(f"reach = {self.reach} must be a number of deviations from 0 to 100.")

    @classmethod
    def of(cls, *, epsilon: Rational, delta: Rational, reach: Rational = 5) -> PolicySelection:
        return cls(as_positive(epsilon, "epsilon"), as_probability(delta), as_fraction(reach, "reach"))

    def sensitivity(self, cap: int) -> Fraction:
        """What one user can change, in grid steps, L2: 2^b, and 4√l for the rounding of each of 2³¹ users."""
        return 2**BITS + 4 * MOST_USERS * sqrt_up(Fraction(cap), bits=24)

    def parameter(self, cap: int) -> Fraction:
        return self.sensitivity(cap) ** 2 / (2 * rho_for(self.epsilon, self.delta / 2))

    def cutoff(self, cap: int) -> int:
        """The threshold in grid steps: over all j up to l, what j items of weight 2^b/√j do not pass."""
        deviation = sqrt_up(self.parameter(cap), bits=4)
        # The tail of the discrete law beyond k is at most the normal tail beyond k − 1.
        cutoffs = (
            1 + gaussian_cutoff(many, deviation, self.delta / 2, weight=2**BITS / math.sqrt(many) * (1 + 1e-9))
            for many in range(1, cap + 1)
        )
        return math.ceil(max(cutoffs))

    def threshold(self, cap: int) -> float:
        """The threshold in units of one user's weight."""
        return self.cutoff(cap) / 2**BITS

    def check(self, data: BoundedInteractions) -> None:
        if data.most_records > MOST_KEYS:
            raise UsageError(f"a cap above {MOST_KEYS:,} is not offered here.", remedy="Choose a smaller cap.")
        super().check(data)

    def weights(self, data: BoundedInteractions) -> NDArray[np.int64]:
        from discreet.privacy.kernels import descend

        cap = data.most_records
        goal = self.cutoff(cap) + math.ceil(self.reach * sqrt_up(self.parameter(cap), bits=4))
        records = data.records
        starts = np.concatenate([[0], np.cumsum(records.records_per_user)]).astype(np.int64)
        order = _own_order(records.users)
        return descend(order, starts, records.item, records.n_items, goal, 2**BITS)

    def release(self, data: BoundedInteractions) -> tuple[NDArray[np.int64], None]:
        return super().release(data)[0], None


def _own_order(users: IdMap) -> NDArray[np.int64]:
    """Users by the text of their ids: by codes, one id of another type could put the others in a new order."""
    keys = [(id_as_text(user) or stable_text(user), type(user).__name__) for user in users.ids()]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)


def gaussian_cutoff(cap: int, deviation: Fraction, delta: Fraction, *, weight: float = 1.0) -> float:
    """weight + σ·Φ⁻¹((1−δ)^(1/l)), rounded up: what none of l keys of this weight passes but for a chance of δ.

    Examples
    --------
    >>> round(gaussian_cutoff(5, Fraction("11.1803"), Fraction("5e-7")), 2)
    59.13
    """
    one_key = -math.expm1(math.log1p(-float(delta)) / cap)
    quantile = -NormalDist().inv_cdf(one_key)
    return weight + float(deviation) * (quantile + 1e-9 * abs(quantile))
