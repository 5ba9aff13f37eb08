"""Private selection: the best of a public list, exactly.

Every candidate i gets the key rate·score(i) + noise, with continuous noise made from a uniform number that is drawn
lazily, and the largest keys win. Keys are compared through certain bounds: floating point where it suffices, more
digits and more random bits where it does not. The winner is therefore the winner in real arithmetic, and no
rounding can show in the output (``docs/proofs/selection.md``).

References
----------
F. McSherry, K. Talwar: Mechanism design via differential privacy. FOCS 2007.
D. Durfee, R. Rogers: Practical differentially private top-k selection with pay-what-you-get composition. NeurIPS 2019.
R. McKenna, D. Sheldon: Permute-and-flip: a new mechanism for differentially private selection. NeurIPS 2020.
Z. Ding et al.: The permute-and-flip mechanism is identical to report-noisy-max with exponential noise. 2021.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.privacy import entropy
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.draws import Draw, Spend, observed
from discreet.privacy.losses import Concentrated, Pure
from discreet.privacy.numbers import Rational, as_positive

__all__ = ["ExponentialMechanism", "PermuteAndFlip", "Selection", "TopK", "noisy_order"]

Noise = Literal["gumbel", "exponential"]


@dataclass(frozen=True)
class Selection(ABC):
    """One candidate of a public list: the largest of rate·score + noise.

    Parameters
    ----------
    epsilon
        The budget, above 0.
    """

    epsilon: Fraction
    name: ClassVar[str]
    theorem: ClassVar[str]
    noise: ClassVar[Noise]

    @classmethod
    def of(cls, epsilon: Rational) -> Self:
        return cls(as_positive(epsilon, "epsilon"))

    @property
    def loss(self) -> Pure:
        return Pure(self.epsilon)

    @property
    def concentrated_loss(self) -> Concentrated:
        """The zCDP bound: ε²/2, which every ε-DP mechanism has."""
        return self.loss.concentrated()

    def rate(self, scores: BoundedSums) -> Fraction:
        """What a score is multiplied with: ε over how far apart one neighboring step can move two scores."""
        return self.epsilon / scores.score_range

    def choose(self, scores: BoundedSums) -> int:
        """Index of the winner. Charge the ledger first."""
        spend = Spend(self.name, self.loss, self.concentrated_loss)
        return int(noisy_order(scores.values, self.rate(scores), noise=self.noise, most=1, spend=spend)[0])

    release = choose

    @abstractmethod
    def law(self, scores: BoundedSums) -> NDArray[np.float64]:
        """Probability of each candidate; for short lists."""


@dataclass(frozen=True)
class ExponentialMechanism(Selection):
    """One candidate, with probability proportional to exp(ε·score/range).

    Notes
    -----
    **Privacy.** The range is how far apart one neighboring step can move two scores: Δ where a user only raises
    scores, 2Δ elsewhere. The mechanism has bounded range ε: ε-DP and ε²/8-zCDP.
    """

    name: ClassVar[str] = "exponential mechanism"
    theorem: ClassVar[str] = "exponential mechanism, docs/proofs/selection.md, Theorem 2"
    noise: ClassVar[Noise] = "gumbel"

    @property
    def concentrated_loss(self) -> Concentrated:
        """The zCDP bound ε²/8 of a mechanism of bounded range."""
        return Concentrated(self.epsilon**2 / 8)

    def law(self, scores: BoundedSums) -> NDArray[np.float64]:
        return _softmax(self.rate(scores), scores.values)


@dataclass(frozen=True)
class TopK:
    """The k best candidates in order, by one shot of Gumbel noise: k exponential mechanisms, each on what is left.

    Parameters
    ----------
    k
        How many; public.
    epsilon
        The budget of *each* of the k picks.

    Notes
    -----
    **Privacy.** k·ε pure and k·ε²/8 zCDP, by adaptive composition of k exponential mechanisms. ``for_total`` and
    ``for_rho`` divide a whole budget.
    """

    k: int
    epsilon: Fraction
    name: ClassVar[str] = "one-shot Gumbel top-k"
    theorem: ClassVar[str] = "one-shot top-k, docs/proofs/selection.md, Theorem 3"

    def __post_init__(self) -> None:
        if self.k < 1:
            raise UsageError(f"k = {self.k} must be at least 1.")

    @classmethod
    def for_total(cls, k: int, epsilon: Rational) -> TopK:
        """Share a pure budget between the picks."""
        return cls(k, as_positive(epsilon, "epsilon") / max(k, 1))

    @classmethod
    def for_rho(cls, k: int, rho: Rational) -> TopK:
        """Share a zCDP budget: ε = √(8ρ/k) a pick, rounded down."""
        share = 8 * as_positive(rho, "rho") / max(k, 1)
        return cls(k, Fraction(math.isqrt(math.floor(share * 4**64)), 2**64))

    @property
    def loss(self) -> Pure:
        return Pure(self.k * self.epsilon)

    @property
    def concentrated_loss(self) -> Concentrated:
        return Concentrated(self.k * self.epsilon**2 / 8)

    def rate(self, scores: BoundedSums) -> Fraction:
        return self.epsilon / scores.score_range

    def choose(self, scores: BoundedSums) -> NDArray[np.int64]:
        """Indices of the winners, best first. Charge the ledger first."""
        if self.k > scores.values.size:
            raise UsageError(
                f"k must be between 1 and the number of candidates ({scores.values.size:,}), got {self.k:,}."
            )
        spend = Spend(self.name, self.loss, self.concentrated_loss)
        return noisy_order(scores.values, self.rate(scores), noise="gumbel", most=self.k, spend=spend)

    release = choose

    def law(self, scores: BoundedSums) -> dict[tuple[int, ...], float]:
        """Probability of each ordered list of k candidates; for short lists of candidates."""
        weights = _softmax(self.rate(scores), scores.values)
        law = {}
        for picks in itertools.permutations(range(weights.size), self.k):
            left, probability = 1.0, 1.0
            for pick in picks:
                probability *= weights[pick] / left
                left -= weights[pick]
            law[picks] = probability
        return law


@dataclass(frozen=True)
class PermuteAndFlip(Selection):
    """One candidate by exponential noise: in expectation never worse than the exponential mechanism.

    Notes
    -----
    **Privacy.** ε-DP at the same rate as the exponential mechanism. Its range is not bounded by ε, so its zCDP bound
    is the general one.
    """

    name: ClassVar[str] = "permute-and-flip"
    theorem: ClassVar[str] = "permute-and-flip, docs/proofs/selection.md, Theorem 4"
    noise: ClassVar[Noise] = "exponential"

    def law(self, scores: BoundedSums) -> NDArray[np.float64]:
        """Probability of each candidate: pᵢ·∫₀¹ Π_{j≠i}(1 − x·pⱼ) dx with p = exp(rate·(score − best))."""
        heads = np.exp(float(self.rate(scores)) * (scores.values - scores.values.max()))
        law = np.empty(heads.size)
        for i, head in enumerate(heads):
            product = np.polynomial.Polynomial([1.0])
            for p in np.delete(heads, i):
                product *= np.polynomial.Polynomial([1.0, -p])
            law[i] = head * product.integ()(1.0)
        return law


def noisy_order(
    scores: NDArray[np.int64], rate: Fraction, *, noise: Noise, most: int, spend: Spend | None = None
) -> NDArray[np.int64]:
    """Indices of the ``most`` largest keys rate·score + noise, in order.

    Parameters
    ----------
    scores
        Whole numbers.
    rate
        An exact rational.
    noise
        "gumbel": −ln E, "exponential": E, with E of the standard exponential law.
    spend
        What the choice is paid from; None where whoever calls accounts for it.
    """
    if scores.size == 0:
        raise UsageError("there is nothing to choose from.")
    if rate > 2**60 or int(scores.max()) - int(scores.min()) >= 2**62:
        raise UsageError("scores this far apart, or a budget this large, cannot be compared.")
    draw = Draw(f"best by {noise}", scores, rate, (most,), spend)
    return observed(draw, lambda: _largest_keys(scores, rate, noise, most))


def _largest_keys(scores: NDArray[np.int64], rate: Fraction, noise: Noise, most: int) -> NDArray[np.int64]:
    words = entropy.random_words(scores.size)
    low, high = _float_keys(scores, rate, noise, words)
    threshold = np.partition(low, scores.size - most)[scores.size - most]
    # Whoever cannot be excluded by the bounds stays in; usually just the winners.
    stay = np.flatnonzero(high >= threshold)
    order = stay[np.argsort(-low[stay], kind="stable")]
    if stay.size == most and np.all(low[order[:-1]] > high[order[1:]]):
        return order.astype(np.int64)
    best = int(scores.max())
    keys = [_Key(int(i), rate * (int(scores[i]) - best), noise, int(words[i])) for i in stay]
    return np.array([key.index for key in _settle(keys, most)], dtype=np.int64)


def _float_keys(
    scores: NDArray[np.int64], rate: Fraction, noise: Noise, words: NDArray[np.uint64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bounds on the keys from the first 64 bits of each uniform number.

    The exponential variable is E = −ln(1−V), V in [v, v+1]·2⁻⁶⁴. 1−V is formed from integers, so each logarithm is
    good to a few units in the last place; the margin 2⁻⁴⁰·(1 + |term|) is thousands of times that.
    """
    best = scores.max()
    base = float(rate) * (scores - best).astype(np.float64)
    least, most = _exponential(words, upper=False), _exponential(words, upper=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        if noise == "gumbel":
            low, high = -np.log(most), -np.log(least)
        else:
            low, high = least, most
        slack = 2.0**-40 * (1 + np.abs(base))
        low = base + low - slack - 2.0**-40 * np.where(np.isfinite(low), np.abs(low), 0)
        high = base + high + slack + 2.0**-40 * np.where(np.isfinite(high), np.abs(high), 0)
    return low, high


def _exponential(words: NDArray[np.uint64], *, upper: bool) -> NDArray[np.float64]:
    """−ln(1−V) at one end of the interval that the 64 bits of V leave."""
    with np.errstate(divide="ignore"):
        near = words < np.uint64(2**63)
        v = words.astype(np.float64) + (1.0 if upper else 0.0)
        rest = (~words).astype(np.float64) + (0.0 if upper else 1.0)  # 2^64 − v − upper, without overflow
        return np.where(near, -np.log1p(-np.where(near, v, 0.0) * 2.0**-64), -np.log(rest * 2.0**-64))


class _Key(entropy.Uniform):
    """One candidate's key with as many random bits and digits as it takes."""

    def __init__(self, index: int, base: Fraction, noise: Noise, word: int) -> None:
        super().__init__(word)
        self.index, self.base, self.noise = index, base, noise

    def bounds(self) -> tuple[Decimal, Decimal]:
        digits = 30 + self.bits // 3
        down = Context(prec=digits, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)
        up = Context(prec=digits, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
        # Signs are changed by copy_negate: the minus sign would round to the precision of the caller's context.
        whole = Decimal(2**self.bits)
        rest = 2**self.bits - self.word
        least = up.next_plus(up.ln(up.divide(Decimal(rest), whole))).copy_negate()
        least = max(least, Decimal(0))
        most = Decimal("Infinity")
        if rest > 1:
            most = down.next_minus(down.ln(down.divide(Decimal(rest - 1), whole))).copy_negate()
        if self.noise == "gumbel":
            low = up.next_plus(up.ln(most)).copy_negate() if most.is_finite() else Decimal("-Infinity")
            high = down.next_minus(down.ln(least)).copy_negate() if least > 0 else Decimal("Infinity")
        else:
            low, high = least, most
        numerator, denominator = Decimal(self.base.numerator), Decimal(self.base.denominator)
        return (
            down.add(down.divide(numerator, denominator), low),
            up.add(up.divide(numerator, denominator), high),
        )


def _settle(keys: list[_Key], most: int) -> list[_Key]:
    """The largest keys in order; those that cannot be told apart yet get more bits."""
    while True:
        bounds = {key.index: key.bounds() for key in keys}
        keys = sorted(keys, key=lambda key: bounds[key.index][0], reverse=True)
        unsettled: set[int] = set()
        for place, key in enumerate(keys[:most]):
            low = bounds[key.index][0]
            rivals = [other for other in keys[place + 1 :] if bounds[other.index][1] >= low]
            if rivals:
                unsettled.update([key.index, *(other.index for other in rivals)])
        if not unsettled:
            return keys[:most]
        for key in keys:
            if key.index in unsettled:
                key.refine()


def _softmax(rate: Fraction, scores: NDArray[np.int64]) -> NDArray[np.float64]:
    weights = np.exp(float(rate) * (scores - scores.max()).astype(np.float64))
    return weights / weights.sum()
