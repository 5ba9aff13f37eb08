"""Means over people, with bands for what other people of the same kind would give."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.bounds import rate_at_least, rate_at_most

__all__ = ["Band", "band", "share"]


class Band(NamedTuple):
    """A mean or a share, and where it lies with the confidence asked for."""

    mean: float
    low: float
    high: float


def band(values: NDArray[np.float64], confidence: float) -> Band:
    """The mean of shares of many people, with a normal band within 0 and 1.

    Examples
    --------
    >>> [round(end, 4) for end in band(np.array([0.4, 0.6] * 50), 0.95)]
    [0.5, 0.4803, 0.5197]
    """
    from scipy.special import ndtri

    mean = float(values.mean())
    spread = float(values.std(ddof=1)) / math.sqrt(values.size) if values.size > 1 else 0.0
    half = float(ndtri((1 + confidence) / 2)) * spread
    return Band(mean, max(0.0, mean - half), min(1.0, mean + half))


def share(hits: int, games: int, confidence: float) -> Band:
    """A share of games won, with its Clopper–Pearson interval.

    Examples
    --------
    >>> share(10, 10, 0.95)
    Band(mean=1.0, low=0.6915028921812392, high=1.0)
    """
    alpha = (1 - confidence) / 2
    return Band(hits / games, rate_at_least(hits, games, alpha=alpha), rate_at_most(hits, games, alpha=alpha))
