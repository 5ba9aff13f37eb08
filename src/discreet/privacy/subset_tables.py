"""Weights and elementary symmetric polynomials as whole numbers: lower bounds of any precision.

The error bounds are in ``docs/proofs/selection.md``, Theorem 8.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.privacy.numbers import exp_minus

__all__ = ["symmetric_polynomials", "weights"]

GAP_BITS = 64
"""Differences of int64 scores are below 2^GAP_BITS."""


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
