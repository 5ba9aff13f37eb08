"""Exact draws for channels: whole numbers that are equally likely, and the chances that coins are thrown with."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.privacy import entropy
from discreet.privacy.numbers import Real, exp_minus

__all__ = ["decay", "kept_chance", "uniform_below"]


def uniform_below(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each entry a whole number from 0 up to, but not including, its size (at least 1), all equally likely.

    Words from the end of the range that would favor small numbers are drawn again.
    """
    many = sizes.astype(np.uint64)
    drawn = entropy.random_words(many.size).copy()
    # 2⁶⁴ mod size of the words are left over at the end.
    most = ~((np.uint64(0) - many) % many) if many.size else many
    again = np.flatnonzero(drawn > most)
    while again.size:
        drawn[again] = entropy.random_words(again.size)
        again = again[drawn[again] > most[again]]
    return (drawn % many).astype(np.int64)


def kept_chance(budget: Fraction, others: int) -> Real:
    """1/(1 + others·e^−a), which falls in e^−a."""

    def bounds(digits: int) -> tuple[Fraction, Fraction]:
        low, high = exp_minus(budget, digits) if budget else (Fraction(1), Fraction(1))
        return 1 / (1 + others * high), 1 / (1 + others * low)

    return Real(bounds)


def decay(exponent: Fraction) -> Real:
    """e^−x for a rational x > 0."""
    return Real(lambda digits: exp_minus(exponent, digits))
