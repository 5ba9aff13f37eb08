"""The Hodges–Lehmann estimate and its interval, for as many differences as there are users.

Both are order statistics of the n(n + 1)/2 *Walsh averages* (xᵢ + xⱼ)/2, i ≤ j. For 100,000 users these are five
billion numbers, so they are never stored: a bisection counts how many are below a value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["hodges_lehmann", "walsh_average"]

EXACT_UP_TO = 50  # beyond, the normal approximation of the rank sum is good to the third digit


def hodges_lehmann(differences: NDArray[np.float64], *, confidence: float) -> tuple[float, float, float]:
    """Median of the Walsh averages, and the interval between two of them that belongs to the signed-rank test.

    Examples
    --------
    >>> hodges_lehmann(np.array([1.0, 2.0, 4.0, 8.0, 3.0, 9.0]), confidence=0.95)
    (4.5, 1.0, 9.0)
    """
    ordered = np.sort(differences) + 0.0  # −0.0 becomes 0.0
    number = ordered.size * (ordered.size + 1) // 2
    middle = (walsh_average(ordered, (number + 1) // 2) + walsh_average(ordered, number // 2 + 1)) / 2
    outer = _rank_of_the_end(ordered.size, confidence)
    return middle, walsh_average(ordered, outer), walsh_average(ordered, number + 1 - outer)


def walsh_average(ordered: NDArray[np.float64], rank: int) -> float:
    """The Walsh average of the given rank (from 1) of differences in rising order.

    Examples
    --------
    >>> walsh_average(np.array([0.0, 2.0, 6.0]), 4)  # of 0, 1, 2, 3, 4, 6
    3.0
    """
    # Invariant: fewer than `rank` averages are at most low, at least `rank` are at most high.
    low, high = np.nextafter(ordered[0], -np.inf), ordered[-1]
    resolution = np.spacing(np.abs(ordered).max())
    while high - low > 2 * resolution:
        middle = low + (high - low) / 2
        if _number_up_to(ordered, middle) >= rank:
            high = middle
        else:
            low = middle
    return _next_above(ordered, low)


def _number_up_to(ordered: NDArray[np.float64], bound: float) -> int:
    """How many Walsh averages are at most ``bound``."""
    partners = np.searchsorted(ordered, 2 * bound - ordered, side="right")
    return int(np.maximum(partners - np.arange(ordered.size), 0).sum())


def _next_above(ordered: NDArray[np.float64], bound: float) -> float:
    """The smallest Walsh average above ``bound``, exactly."""
    first = np.arange(ordered.size)
    partner = np.maximum(np.searchsorted(ordered, 2 * bound - ordered, side="right"), first)
    exists = partner < ordered.size
    return float((ordered[exists] + ordered[partner[exists]]).min() / 2)


def _rank_of_the_end(n: int, confidence: float) -> int:
    """Which Walsh average, counted from either side, ends the interval: C with P(C ≤ W ≤ M − C) ≥ confidence, or 1.

    With few differences even the outermost averages do not reach the confidence; they are used then.
    """
    tail = (1 - confidence) / 2
    if n <= EXACT_UP_TO:
        # C is the number of values w with P(W ≤ w) ≤ tail: one more than the largest such w.
        below = np.cumsum(_signed_rank_law(n))
        return max(1, int((below <= tail).sum()))
    from scipy.stats import norm

    mean, spread = n * (n + 1) / 4, np.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    return max(1, int(np.floor(mean - norm.ppf(1 - tail) * spread)))


def _signed_rank_law(n: int) -> NDArray[np.float64]:
    """P(W = w), w = 0 … n(n + 1)/2: W is the sum of a random subset of 1 … n."""
    law = np.zeros(n * (n + 1) // 2 + 1)
    law[0] = 1.0
    for rank in range(1, n + 1):
        shifted = np.zeros_like(law)
        shifted[rank:] = law[:-rank]
        law = (law + shifted) / 2
    return law
