"""A private set of k: every k-subset of a public list is possible, the better ones are likelier, exactly.

The law is P(S) ∝ exp(rate·Σ_{j∈S} score(j)) over all subsets of k candidates. Going through the candidates one after
the other, each is put in with a probability that is a ratio of elementary symmetric polynomials of the weights
exp(rate·score). These probabilities are known between certain bounds, from floating point with a margin first and in
whole numbers where that is not enough; a coin is decided by a uniform number that is drawn lazily, and where bits or
digits do not suffice, more of both are taken. The set therefore has the law of real arithmetic
(``docs/proofs/selection.md``, Theorems 8 and 11), and nothing is added to epsilon or delta.

References
----------
F. McSherry, K. Talwar: Mechanism design via differential privacy. FOCS 2007.
X.-H. Chen, A. Dempster, J. Liu: Weighted finite population sampling to maximize entropy. Biometrika 1994.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import PrivacyError, UsageError
from discreet.privacy import entropy
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.draws import Draw, Spend, observed
from discreet.privacy.losses import Concentrated, Pure
from discreet.privacy.numbers import Rational, as_positive
from discreet.privacy.subset_tables import symmetric_polynomials, weights

__all__ = ["SubsetMechanism", "draw_subset", "draw_subsets"]

WORD = 64
MOST_WORDS = 16
"""A coin that is open after so many words is no coin: the entropy source is broken."""
MOST_EXPONENT = 900
"""Tables and rates up to 2^MOST_EXPONENT are within the range of floats, with room to spare."""
TINY = 2.0**-100
"""Absolute error allowed to a floating-point probability: more than what underflow can do."""
CELLS_AT_ONCE = 2**22
"""Words and scores are held for so many users × candidates at a time."""


@dataclass(frozen=True)
class SubsetMechanism:
    """k candidates of a public list as a set: P(S) ∝ exp(rate·Σ score) over *all* subsets of k.

    Parameters
    ----------
    k
        How many; public.
    epsilon
        The budget of the whole set.

    Privacy
    -------
    The budget buys the rate ε/w, where w bounds how far apart one neighboring step can move the totals of two subsets.
    With Δ₁ and Δ∞ for what a step can change in all scores together and in one of them, κ = min(k, candidates − k):

    * w = min(Δ₁, κ·Δ∞) where a step moves all scores in one direction,
    * w = min(Δ₁, 2κ·Δ∞) elsewhere.

    A step that changes one score by at most Δ (one rating) thus pays for Δ, however large k is; a whole row of scores
    pays 2kΔ, or kΔ if they all rise or all fall. Drawing k times (:class:`~discreet.privacy.selection.TopK`) pays k
    times in every case. ε-DP; for zCDP see ``concentrated_loss``. Proof: ``docs/proofs/selection.md``, Theorems 8–10.

    Notes
    -----
    Drawing takes M·k steps in floating point (M candidates): 10 of 10,000 take 2 milliseconds. Where a coin is left
    open, with probability below 10⁻⁸ for this size, and where (M over k) is beyond the range of floats (k above 110 of
    10,000), it takes as many steps on whole numbers of some hundred bits: a tenth of a second for 10 of 10,000. The
    set comes sorted by place in the list: an order by score would tell more than the set.

    Examples
    --------
    >>> from discreet.privacy.units import Unit
    >>> one = Fraction(1)
    >>> scores = BoundedSums(np.array([9, 0, 8, 1]), one, one, one, one, False, Unit("record"), ())
    >>> mechanism = SubsetMechanism.of(2, 20)
    >>> mechanism.rate(scores)
    Fraction(20, 1)
    >>> mechanism.choose(scores)
    array([0, 2])
    """

    k: int
    epsilon: Fraction
    name: ClassVar[str] = "k-subset exponential mechanism"
    theorem: ClassVar[str] = "k-subset exponential mechanism, docs/proofs/selection.md, Theorem 9"

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or self.k < 1:
            raise UsageError(f"k = {self.k} must be a whole number, at least 1.")

    @classmethod
    def of(cls, k: int, epsilon: Rational) -> SubsetMechanism:
        return cls(k, as_positive(epsilon, "epsilon"))

    @classmethod
    def for_rho(cls, k: int, rho: Rational, scores: BoundedSums) -> SubsetMechanism:
        """The mechanism that spends a zCDP budget on scores bounded like these, rounded down."""
        unit = cls(k, Fraction(1))
        squared = as_positive(rho, "rho") / unit.concentrated_loss(scores).rho
        return cls(k, Fraction(math.isqrt(math.floor(squared * 4**WORD)), 2**WORD))

    @property
    def loss(self) -> Pure:
        return Pure(self.epsilon)

    def concentrated_loss(self, scores: BoundedSums) -> Concentrated:
        """The zCDP bound: the least of ε²/8, κ·(rate·W)²/8 and (rate·Δ₂)²/2.

        W is how far apart a step can move two scores, Δ₂ what it can change in L2 norm.
        """
        rate = self.rate(scores)
        apart = self._exchangeable(scores) * scores.score_range**2 / 8
        return Concentrated(min(self.epsilon**2 / 8, rate**2 * min(apart, scores.l2_sensitivity_squared / 2)))

    def rate(self, scores: BoundedSums) -> Fraction:
        """What a score is multiplied with: ε over how far apart one neighboring step can move two subsets."""
        # What two subsets share cancels: the one has at most κ candidates that the other lacks.
        by_one = scores.linf_sensitivity * self._exchangeable(scores) * (1 if scores.one_sided else 2)
        return self.epsilon / min(scores.l1_sensitivity, by_one)

    def check(self, scores: BoundedSums) -> None:
        """Refuse what cannot be drawn: to be called before anything is charged."""
        if scores.values.ndim != 1 or self.k > scores.values.size:
            raise UsageError(
                f"k must be between 1 and the number of candidates ({scores.values.size:,}), got {self.k:,}."
            )

    def choose(self, scores: BoundedSums) -> NDArray[np.int64]:
        """Indices of the chosen candidates, in the order of the list. Charge the ledger first."""
        self.check(scores)
        spend = Spend(self.name, self.loss, self.concentrated_loss(scores))
        return draw_subsets(scores.values[None, :], self.rate(scores), self.k, spend=spend)[0]

    def law(self, scores: BoundedSums) -> dict[tuple[int, ...], float]:
        """Probability of each subset, its indices ascending; for short lists of candidates."""
        self.check(scores)
        exponents = float(self.rate(scores)) * (scores.values - scores.values.max()).astype(np.float64)
        subsets = list(itertools.combinations(range(exponents.size), self.k))
        totals = np.array([math.fsum(exponents[j] for j in subset) for subset in subsets])
        weights = np.exp(totals - totals.max())
        return dict(zip(subsets, (weights / weights.sum()).tolist(), strict=True))

    def _exchangeable(self, scores: BoundedSums) -> int:
        # The whole list is the only subset of its size; 1 keeps its rate finite.
        return max(1, min(self.k, scores.values.size - self.k))


def draw_subset(scores: NDArray[np.int64], rate: Fraction, k: int) -> NDArray[np.int64]:
    """Ascending indices of a k-subset, drawn with probability proportional to exp(rate·Σ score).

    Parameters
    ----------
    scores
        Whole numbers.
    rate
        An exact rational above 0.
    k
        From 1 to the number of scores.
    """
    return draw_subsets(scores[None, :], rate, k)[0]


def draw_subsets(scores: NDArray[np.int64], rate: Fraction, k: int, *, spend: Spend | None = None) -> NDArray[np.int64]:
    """An independent k-subset for each row of scores: users × k ascending indices.

    Floating point decides nearly every coin, with a margin for all of its errors; a row with a coin that is left open
    is drawn in whole numbers from the same random bits, so that its law is exact too.

    Parameters
    ----------
    scores
        Users × candidates, whole numbers.
    rate
        An exact rational above 0.
    k
        From 1 to the number of candidates.

    Examples
    --------
    >>> draw_subsets(np.array([[9, 0, 8, 1], [0, 9, 1, 8]]), Fraction(20), 2)
    array([[0, 2],
           [1, 3]])
    """
    return observed(Draw("subset", scores, rate, (k,), spend), lambda: _drawn_subsets(scores, rate, k))


def _drawn_subsets(scores: NDArray[np.int64], rate: Fraction, k: int) -> NDArray[np.int64]:
    users, size = scores.shape
    drawn = np.empty((users, k), dtype=np.int64)
    step = max(1, CELLS_AT_ONCE // size)
    for begin in range(0, users, step):
        part = scores[begin : begin + step]
        # Best first. ~s falls in s like −s, and unlike that it exists for the smallest int64 too.
        order = np.argsort(~part, axis=1, kind="stable")
        words = entropy.random_words(part.size).reshape(part.shape)
        chosen = _places(np.take_along_axis(part, order, axis=1), words, rate, k)
        drawn[begin : begin + step] = np.take_along_axis(order, chosen, axis=1)
    return np.sort(drawn, axis=1)


def _places(falling: NDArray[np.int64], words: NDArray[np.uint64], rate: Fraction, k: int) -> NDArray[np.int64]:
    """Places of those that are taken, for rows of falling scores: by floating point where that is certain."""
    users, size = falling.shape
    chosen = np.empty((users, k), dtype=np.int64)
    left_open = np.arange(users)
    margin = 4 * (size * 2.0**-52 + k * 2.0**-40)
    # All of this is public, so that the choice of the way tells nothing. C(M, k) ≤ (eM/k)^k bounds the table.
    if k * math.log2(math.e * size / k) <= MOST_EXPONENT and rate <= 2**MOST_EXPONENT and margin <= 2.0**-10:
        from discreet.privacy.subset_kernels import decide_coins

        table = np.empty((size + 1, k + 1))
        open_at = decide_coins(falling.view(np.uint64), words, float(rate), WORD, margin, TINY, table, chosen)
        left_open = np.flatnonzero(open_at)
    for user in left_open:
        chosen[user] = _exact_places(falling[user], words[user].tolist(), rate, k)
    return chosen


def _exact_places(falling: NDArray[np.int64], words: list[int], rate: Fraction, k: int) -> list[int]:
    """The same for one row, in whole numbers."""
    best = int(falling[0])
    tables = _Tables([best - int(score) for score in falling], rate, k)
    chosen, left = [], k
    for place in range(len(words), 0, -1):
        if left == place:
            chosen += range(place)
            break
        if tables.includes(place, left, words[place - 1]):
            chosen.append(place - 1)
            left -= 1
            if left == 0:
                break
    return chosen


@dataclass
class _Tables:
    """The coins of one draw, with as many bits and digits as it takes.

    Parameters
    ----------
    gaps
        How far each candidate is below the best, ascending.
    """

    gaps: list[int]
    rate: Fraction
    k: int
    known: dict[int, list[list[int]]] = field(default_factory=dict)

    def includes(self, place: int, left: int, word: int) -> bool:
        """Whether the last of the first ``place`` candidates is among the ``left`` that are to come from these."""
        bits = WORD
        while True:
            verdict = self._verdict(place, left, word, bits)
            if verdict is not None:
                return verdict
            if bits >= WORD * MOST_WORDS:
                raise PrivacyError("the entropy source repeats itself: no choice was made.")
            word = (word << WORD) | int(entropy.random_words(1)[0])
            bits += WORD

    def _verdict(self, place: int, left: int, word: int, bits: int) -> bool | None:
        """Whether a uniform number that begins with these bits is below the probability; None if that is open."""
        precision = bits + WORD
        table = self._at(precision)
        total, without = table[place][left], table[place - 1][left]
        share = total - without
        # Table entries are too small by a relative 2^−slack at most (Theorem 8).
        slack = precision - (2 * self.k + len(self.gaps) + 4).bit_length()
        almost = (1 << slack) - 1
        if ((word + 1) * total) << slack <= (share * almost) << bits:
            return True
        if word * total * almost >= (share + 1) << (bits + slack):
            return False
        return None

    def _at(self, precision: int) -> list[list[int]]:
        if precision not in self.known:
            found = weights(self.gaps, self.rate, precision)
            self.known[precision] = symmetric_polynomials(found, self.k, precision)
        return self.known[precision]
