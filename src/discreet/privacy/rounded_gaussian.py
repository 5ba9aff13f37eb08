"""Normal noise, rounded to whole numbers, exactly: what μ-Gaussian differential privacy asks for.

A sum of whole numbers plus a normal variable, rounded to the nearest whole number, is the sum plus the rounded
variable. It is therefore post-processing of the Gaussian mechanism in real arithmetic, and keeps its whole curve of
(ε, δ), which the discrete Gaussian law keeps only up to the conversion from zCDP.

Each value is the rounded quantile of a uniform number that is drawn lazily: floating point decides where its bounds
suffice, certain bounds on the normal distribution function and further random bits where they do not
(``docs/proofs/noise.md``, Theorem 6).
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.privacy import entropy

__all__ = ["check_deviation", "rounded_gaussian"]

LEAST_DEVIATION, MOST_DEVIATION = Fraction(1, 64), Fraction(2**48)

MARGIN = 2.0**-44
"""Error allowed to floating-point quantiles, in deviations and relatively: dozens of times what they have."""

CHUNK = 2**18


def check_deviation(deviation: Fraction) -> None:
    """Whether rounded normal noise of this standard deviation can be drawn; a UsageError if not."""
    if not LEAST_DEVIATION <= deviation <= MOST_DEVIATION:
        raise UsageError(
            f"normal noise is drawn for deviations from 1/64 to 2^48 grid steps, not {float(deviation):.6g}.",
            remedy="Choose a larger budget." if deviation > 1 else "Choose a smaller budget.",
        )


def rounded_gaussian(shape: int | tuple[int, ...], deviation: Fraction) -> NDArray[np.int64]:
    """Independent normal variables of mean 0 and this standard deviation, each rounded to the nearest whole number.

    Parameters
    ----------
    shape
        Shape of the result.
    deviation
        A rational from 1/64 to 2⁴⁸.
    """
    check_deviation(deviation)
    flat = np.empty(math.prod(shape) if isinstance(shape, tuple) else shape, dtype=np.int64)
    for start in range(0, flat.size, CHUNK):
        part = flat[start : start + CHUNK]
        part[:] = _chunk(part.size, deviation)
    return flat.reshape(shape)


def _chunk(n: int, deviation: Fraction) -> NDArray[np.int64]:
    from scipy.special import ndtri

    words = entropy.random_words(n)
    negative = entropy.random_bytes(n) < 128
    # The upper tail is (word + something in [0, 1])·2⁻⁶⁵, so the size is between the quantiles of both ends.
    tail = words.astype(np.float64) * 2.0**-65
    most = -ndtri(tail) * float(deviation)
    least = -ndtri(tail + 2.0**-65) * float(deviation)
    with np.errstate(invalid="ignore"):
        slack = MARGIN * (float(deviation) + np.where(np.isfinite(most), np.abs(most), 0))
        low, high = np.rint(np.maximum(least - slack, 0)), np.rint(most + slack)
    sizes = np.where(low == high, low, 0).astype(np.int64)
    # A value within the slack of a half is not known to round either way; it is among those with low ≠ high.
    for place in np.flatnonzero(~(low == high)):
        sizes[place] = _settled(int(words[place]), deviation, int(low[place]))
    return np.where(negative, -sizes, sizes)


def _settled(word: int, deviation: Fraction, size: int) -> int:
    """The rounded size of the value whose tail begins with these bits, found from a size that it is not below."""
    uniform = entropy.Uniform(word)

    def above(size: int) -> bool:
        """Whether the size is above this one: whether the tail is below that of 1/2 more."""
        x = (size + Fraction(1, 2)) / deviation
        return uniform.below(lambda bits: twice_tail(x, 20 + bits // 3))

    least, step = max(0, size - 1), 1
    while above(least + step):
        step *= 2
    most = least + step  # the size is at least ``least`` and at most ``most``
    while least < most:
        middle = (least + most) // 2
        if above(middle):
            least = middle + 1
        else:
            most = middle
    return least


@lru_cache(maxsize=4096)
def twice_tail(x: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Bounds below and above 2·Q(x) = erfc(x/√2) for a rational x ≥ 0, about ``digits`` digits wide.

    2·Q(x) = 1 − √(2/π)·e^(−x²/2)·Σ x^(2n+1)/(1·3·…·(2n+1)). All terms are positive, and from where the ratio of
    terms is below 1/2 the rest is less than the last term.
    """
    if x == 0:
        return Fraction(1), Fraction(1)
    # The sum is near e^(x²/2): as many further digits keep what remains of 1 minus a product near 1.
    precision = digits + 10 + int(x * x)
    down = Context(prec=precision, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)
    up = Context(prec=precision, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
    square_low, square_high = _divided(x * x, down, up)
    low_term, high_term = _divided(x, down, up)
    low, high, n = low_term, high_term, 0
    while True:
        n += 1
        odd = Decimal(2 * n + 1)
        low_term = down.divide(down.multiply(low_term, square_low), odd)
        high_term = up.divide(up.multiply(high_term, square_high), odd)
        low, high = down.add(low, low_term), up.add(high, high_term)
        if 2 * square_high < odd and high_term < high.scaleb(-precision):
            high = up.add(high, high_term)
            break
    half = Decimal(2)
    decay_low = down.next_minus(down.exp(up.divide(square_high, half).copy_negate()))
    decay_high = up.next_plus(up.exp(down.divide(square_low, half).copy_negate()))
    pi_low, pi_high = _pi(precision)
    front_low = down.next_minus(down.sqrt(down.divide(half, pi_high)))
    front_high = up.next_plus(up.sqrt(up.divide(half, pi_low)))
    most = up.multiply(up.multiply(front_high, decay_high), high)
    least = down.multiply(down.multiply(front_low, decay_low), low)
    return Fraction(max(down.subtract(Decimal(1), most), Decimal(0))), Fraction(up.subtract(Decimal(1), least))


def _divided(x: Fraction, down: Context, up: Context) -> tuple[Decimal, Decimal]:
    numerator, denominator = Decimal(x.numerator), Decimal(x.denominator)
    return down.divide(numerator, denominator), up.divide(numerator, denominator)


@lru_cache(maxsize=64)
def _pi(digits: int) -> tuple[Decimal, Decimal]:
    """Bounds on π by Machin's formula 16·arctan(1/5) − 4·arctan(1/239), in whole numbers of 10^−digits."""
    unit = 10 ** (digits + 10)

    def arctan_inverse(n: int) -> int:
        total, term, k = 0, unit // n, 0
        while term:
            total += -(term // (2 * k + 1)) if k % 2 else term // (2 * k + 1)
            term //= n * n
            k += 1
        return total

    value = 16 * arctan_inverse(5) - 4 * arctan_inverse(239)
    # Each division rounds by less than one unit; ten digits more than are kept swallow all of them.
    kept = value // 10**10
    exact = Context(prec=digits + 20, Emin=MIN_EMIN, Emax=MAX_EMAX)
    return Decimal(kept - 1).scaleb(-digits, exact), Decimal(kept + 2).scaleb(-digits, exact)
