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

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.privacy import entropy
from discreet.privacy.draws import Draw, Spend, observed
from discreet.privacy.numbers import exp_minus

__all__ = ["draw_subsets"]

MOST_EXPONENT = 900
"""Tables and rates up to 2^MOST_EXPONENT are within the range of floats, with room to spare."""
TINY = 2.0**-100
"""Absolute error allowed to a floating-point probability: more than what underflow can do."""
CELLS_AT_ONCE = 2**22
"""Words and scores are held for so many users × candidates at a time."""
GAP_BITS = 64
"""Differences of int64 scores are below 2^GAP_BITS."""


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
        from discreet.privacy.kernels import decide_coins

        table = np.empty((size + 1, k + 1))
        open_at = decide_coins(falling.view(np.uint64), words, float(rate), entropy.WORD, margin, TINY, table, chosen)
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
        return entropy.Uniform(word).below(lambda bits: self._chance(place, left, bits))

    def _chance(self, place: int, left: int, bits: int) -> tuple[Fraction, Fraction]:
        """Bounds on the probability of that, from tables with 64 binary digits more than these."""
        precision = bits + entropy.WORD
        table = self._at(precision)
        total, without = table[place][left], table[place - 1][left]
        share = total - without
        # Table entries are too small by a relative 2^−slack at most (Theorem 8).
        slack = precision - (2 * self.k + len(self.gaps) + 4).bit_length()
        almost = (1 << slack) - 1
        return Fraction(share * almost, total << slack), Fraction((share + 1) << slack, total * almost)

    def _at(self, precision: int) -> list[list[int]]:
        if precision not in self.known:
            found = weights(self.gaps, self.rate, precision)
            self.known[precision] = symmetric_polynomials(found, self.k, precision)
        return self.known[precision]


def symmetric_polynomials(weights: list[tuple[int, int]], k: int, bits: int) -> list[list[int]]:
    """Row m, place q: lower bounds of the q-th elementary symmetric polynomial of the first m weights, in fixed point.

    Weight j is a_j·2^−b_j with a_j from 1 to 2. Column q is scaled by 2^(b_1 + … + b_q), so that no entry with q ≤ m is
    below 1, however small the weights are.
    """
    row = [1 << bits]
    rows = [row]
    scales: list[int] = []
    for a, b in weights:
        if len(scales) < k:
            scales.append(b)
            row = [*row, 0]
        shift = bits + b
        added = [
            with_q + (a * before >> shift - scale) for with_q, before, scale in zip(row[1:], row, scales, strict=False)
        ]
        row = [row[0], *added]
        rows.append(row)
    return rows


def weights(gaps: list[int], rate: Fraction, bits: int) -> list[tuple[int, int]]:
    """Lower bounds of exp(−rate·gap) as (a, b): a·2^−bits·2^−b, a of bits + 1 binary digits; relative error 2^(1−bits).

    exp(−rate·gap) is a product of the powers exp(−rate·2^i) over the binary digits of the gap.
    """
    halvings = math.ceil(rate).bit_length()
    work = bits + GAP_BITS + halvings + 8
    low, _ = exp_minus(rate / 2**halvings, work * 3 // 10 + 8)
    power = _normal(math.floor(low * 2 ** (work + 2)), work + 2, work)
    powers = []
    for rung in range(halvings + GAP_BITS):
        if rung >= halvings:
            powers.append(power)
        power = _times(power, power, work)
    found: dict[int, tuple[int, int]] = {}
    for gap in gaps:
        if gap not in found:
            product = (1 << work, 0)
            for digit in range(gap.bit_length()):
                if gap >> digit & 1:
                    product = _times(product, powers[digit], work)
            found[gap] = (product[0] >> work - bits, product[1])
    return [found[gap] for gap in gaps]


def _times(x: tuple[int, int], y: tuple[int, int], bits: int) -> tuple[int, int]:
    return _normal(x[0] * y[0], 2 * bits + x[1] + y[1], bits)


def _normal(mantissa: int, exponent: int, bits: int) -> tuple[int, int]:
    """mantissa·2^−exponent as (a, b) with a of bits + 1 binary digits, rounded down."""
    extra = mantissa.bit_length() - bits - 1
    return mantissa >> extra, exponent - bits - extra
