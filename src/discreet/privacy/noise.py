"""Exact discrete noise: integers whose law is the stated one, bit for bit, from the operating system's entropy.

Every event is decided by comparing a lazily drawn uniform number with a real threshold known to any precision
(``numbers.Real``), so no probability is rounded and nothing is added to delta. ``docs/proofs/noise.md`` has the
proofs and says what is and is not exact.

References
----------
C. Canonne, G. Kamath, T. Steinke: The discrete Gaussian for differential privacy. NeurIPS 2020.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.privacy import entropy
from discreet.privacy.numbers import Real, exp_minus

__all__ = ["LEAST_SCALE", "check_scale", "check_variance", "discrete_gaussian", "discrete_laplace"]

MOST_SCALE = 2**48
LEAST_SCALE = Fraction(1, 64)
"""Noise of this scale is zero but once in 10²⁷ draws; less noise than that is not drawn."""

CHUNK = 2**15

Shape = int | tuple[int, ...]


def discrete_laplace(shape: Shape, scale: Fraction) -> NDArray[np.int64]:
    """Independent integers with Pr[X = x] ∝ exp(−|x| / scale).

    Zero is decided first, with its probability (1−q)/(1+q), q = e^(−1/scale). Otherwise the size is 1 + G with G
    geometric, and the sign is a fair bit. The binary digits of a geometric variable are independent: digit i is 1
    with probability 1/(1 + e^(2^i/scale)). How many bytes are drawn depends on the scale, and on the noise itself only
    through comparisons that need a second byte.

    Parameters
    ----------
    shape
        Shape of the result.
    scale
        A rational from 1/64 to 2⁴⁸.

    Notes
    -----
    Sums with integers are meant modulo 2⁶⁴, which is post-processing of the exact sum; a wrapped value is less
    likely than e^(−2¹⁴) for every admitted scale.
    """
    check_scale(scale)
    thresholds = _laplace_thresholds(scale)
    flat = np.empty(math.prod(shape) if isinstance(shape, tuple) else shape, dtype=np.int64)
    for start in range(0, flat.size, CHUNK):
        part = flat[start : start + CHUNK]
        part[:] = _laplace_chunk(part.size, scale, thresholds)
    return flat.reshape(shape)


def discrete_gaussian(shape: Shape, variance: Fraction) -> NDArray[np.int64]:
    """Independent integers with Pr[X = x] ∝ exp(−x² / (2·variance)).

    Rejection from the discrete Laplace law (Canonne, Kamath and Steinke, Algorithm 3). Acceptance is decided in
    floating point only where the margin exceeds 2⁻³⁶, which is larger than any error the computation can have;
    otherwise exactly.

    Parameters
    ----------
    shape
        Shape of the result.
    variance
        A rational from 1/64² to 2⁹⁶: the parameter σ², which the variance of the noise never exceeds.
    """
    check_variance(variance)
    scale = math.isqrt(math.floor(variance)) + 1
    size = math.prod(shape) if isinstance(shape, tuple) else shape
    flat = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        proposals = discrete_laplace((size - filled) * 3 // 2 + 16, Fraction(scale))
        accepted = proposals[_accept_gaussian(proposals, variance, scale)][: size - filled]
        flat[filled : filled + accepted.size] = accepted
        filled += accepted.size
    return flat.reshape(shape)


def check_scale(scale: Fraction) -> None:
    """Whether discrete Laplace noise of this scale can be drawn; a UsageError if not."""
    if not LEAST_SCALE <= scale <= MOST_SCALE:
        raise UsageError(
            f"discrete Laplace noise is drawn for scales from 1/64 to 2^48 grid steps, not {float(scale):.6g}.",
            remedy="Choose a larger epsilon or a smaller cap." if scale > MOST_SCALE else "Choose a smaller epsilon.",
        )


def check_variance(variance: Fraction) -> None:
    """Whether discrete Gaussian noise of this variance can be drawn; a UsageError if not."""
    if not LEAST_SCALE**2 <= variance <= MOST_SCALE**2:
        raise UsageError(
            f"discrete Gaussian noise is drawn for variances from 2^−12 to 2^96, not {float(variance):.6g}.",
            remedy="Choose a larger budget." if variance > 1 else "Choose a smaller budget.",
        )


@lru_cache(maxsize=256)
def _laplace_thresholds(scale: Fraction) -> tuple[Real, ...]:
    """Thresholds of zero, of the sum going beyond the last digit, and of each digit, lowest first."""
    # With 2^digits ≥ 45·scale the digits are all there is, but for a chance below 2^−64 that is drawn all the same.
    digits = max(1, math.ceil(45 * scale)).bit_length()
    return (
        Real(lambda precision: _zero_probability(scale, precision)),
        Real(lambda precision: exp_minus(2**digits / scale, precision)),
        *(_digit_threshold(Fraction(2**place) / scale) for place in range(digits)),
    )


def _zero_probability(scale: Fraction, precision: int) -> tuple[Fraction, Fraction]:
    # (1−q)/(1+q) falls in q; enough further digits make up for the cancellation in 1−q.
    low, high = exp_minus(1 / scale, precision + math.ceil(scale).bit_length())
    return (1 - high) / (1 + high), (1 - low) / (1 + low)


def _digit_threshold(x: Fraction) -> Real:
    """1/(1+e^x) = r/(1+r) with r = e^−x, which rises in r."""

    def bounds(precision: int) -> tuple[Fraction, Fraction]:
        low, high = exp_minus(x, precision)
        return low / (1 + low), high / (1 + high)

    return Real(bounds)


def _laplace_chunk(n: int, scale: Fraction, thresholds: tuple[Real, ...]) -> NDArray[np.int64]:
    bits = _below_rows(n, thresholds)
    zero, beyond, digits = bits[0], bits[1], bits[2:]
    size = np.ones(n, dtype=np.uint64)
    for place in range(0, len(digits), 8):
        size += _octets(digits[place : place + 8]).astype(np.uint64) << np.uint64(place)
    if beyond.any():  # less likely than 2^−64 a value; the law has no end, so neither has the sampler
        size[beyond] += _whole_periods(int(beyond.sum()), thresholds[1]) << np.uint64(len(digits))
    size[zero] = 0
    negative = entropy.random_bytes(n) < 128
    np.negative(size, out=size, where=negative)
    return size.view(np.int64)


def _octets(digits: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Up to eight rows of bits as one row of bytes, lowest first."""
    octets = np.zeros(digits.shape[1], dtype=np.uint8)
    for place, row in enumerate(digits.view(np.uint8)):
        octets |= row << np.uint8(place)
    return octets


def _whole_periods(n: int, threshold: Real) -> NDArray[np.uint64]:
    """1 + geometric, by repeated coins."""
    periods = np.ones(n, dtype=np.uint64)
    going = np.arange(n)
    while going.size:
        going = going[_below_rows(going.size, (threshold,))[0]]
        periods[going] += np.uint64(1)
    return periods


def _below_rows(n: int, thresholds: Sequence[Real]) -> NDArray[np.bool_]:
    """A row of ``n`` exact coins for each threshold.

    A uniform number is drawn byte by byte and compared with the expansion of the threshold, until they differ:
    after one byte in 255 cases of 256.
    """
    first = np.array([threshold.byte(0) for threshold in thresholds], dtype=np.uint8)
    drawn = entropy.random_bytes(n * len(thresholds)).reshape(len(thresholds), n)
    bits = drawn < first[:, None]
    flat = bits.reshape(-1)
    tied = np.flatnonzero(drawn == first[:, None])
    place = 1
    while tied.size:
        digit = np.array([threshold.byte(place) for threshold in thresholds], dtype=np.uint8)[tied // n]
        further = entropy.random_bytes(tied.size)
        flat[tied] = further < digit
        tied = tied[further == digit]
        place += 1
    return bits


def _accept_gaussian(proposals: NDArray[np.int64], variance: Fraction, scale: int) -> NDArray[np.bool_]:
    """Coins with probability exp(−(|y| − variance/scale)² / (2·variance))."""
    words = entropy.random_words(proposals.size)
    exponent = (np.abs(proposals) - float(variance / scale)) ** 2 / (2 * float(variance))
    gap = np.exp(-exponent) - words.astype(np.float64) * 2.0**-64
    accepted = gap > 0
    for place in np.flatnonzero(np.abs(gap) < 2.0**-36):
        y = abs(int(proposals[place]))
        exact = (y - variance / scale) ** 2 / (2 * variance)
        accepted[place] = not exact or entropy.Uniform(int(words[place])).below(
            lambda bits, exact=exact: exp_minus(exact, 20 + bits // 3)
        )
    return accepted
