"""Distances between distributions of sets, for studies, in floating point. Nothing is drawn from these."""

from __future__ import annotations

import math

import numpy as np

from discreet.common.arrays import Floats
from discreet.errors import UsageError

__all__ = ["inclusion_probabilities", "relative_entropy", "total_variation"]


def total_variation(first: Floats, second: Floats) -> float:
    """The largest difference of the probabilities of any event.

    Examples
    --------
    >>> total_variation(np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    0.5
    """
    return float(np.abs(first - second).sum() / 2)


def relative_entropy(exact: Floats, other: Floats) -> float:
    """KL(exact ‖ other), in nats: infinite where the other distribution lacks a possible outcome of the exact one.

    Examples
    --------
    >>> relative_entropy(np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    inf
    """
    possible = exact > 0
    if np.any(other[possible] <= 0):
        return math.inf
    return float(np.sum(exact[possible] * np.log(exact[possible] / other[possible])))


def inclusion_probabilities(exponents: Floats, k: int) -> Floats:
    """Users × items: the probability that each item is in a set S of k drawn with P(S) ∝ exp(Σ exponents).

    Examples
    --------
    >>> inclusion_probabilities(np.array([[3.0, 3.0, 3.0, 3.0]]), 2)
    array([[0.5, 0.5, 0.5, 0.5]])
    """
    users, size = exponents.shape
    if not 1 <= k <= size:
        raise UsageError(f"k must be between 1 and the number of items ({size:,}), got {k}.")
    table = _log_symmetric(exponents, k)
    found = np.empty((users, size))
    # The probability that q of the items are among the first m.
    sought = np.zeros((users, k + 1))
    sought[:, k] = 1.0
    for m in range(size, 0, -1):
        with np.errstate(invalid="ignore"):
            taken = np.exp(exponents[:, m - 1, None] + table[m - 1, :, :-1] - table[m, :, 1:])
        moved = sought[:, 1:] * np.where(sought[:, 1:] > 0, taken, 0.0)
        found[:, m - 1] = moved.sum(axis=1)
        sought[:, 1:] -= moved
        sought[:, :-1] += moved
        np.maximum(sought, 0.0, out=sought)
    return found


def _log_symmetric(exponents: Floats, k: int) -> Floats:
    """Items + 1 × users × k + 1: logarithms of the elementary symmetric polynomials of the first weights."""
    users, size = exponents.shape
    table = np.full((size + 1, users, k + 1), -np.inf)
    table[:, :, 0] = 0.0
    for m in range(1, size + 1):
        np.logaddexp(table[m - 1, :, 1:], exponents[:, m - 1, None] + table[m - 1, :, :-1], out=table[m, :, 1:])
    return table
