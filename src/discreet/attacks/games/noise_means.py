"""The mean of many independent draws of Laplace noise: how often it goes beyond a limit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError

__all__ = ["mean_noise_tail"]

Floats = NDArray[np.float64]

EXACT = 48
"""Up to this many outputs the law of their mean is summed exactly; beyond, two terms of its expansion are enough."""


def mean_noise_tail(limit: Floats | float, *, noise: float, outputs: NDArray[np.int64] | int) -> Floats:
    """P(mean of independent Laplace draws > limit), for limits from 0.

    Parameters
    ----------
    limit
        The limit, one or an array of them.
    noise
        Scale of each draw.
    outputs
        How many draws, one number or as many as limits.

    Notes
    -----
    The sum of J standard Laplace draws is the difference of two Gamma(J) times. It exceeds x if the first process has
    fewer than J events when the second has its J-th, x later: a Poisson(x) number of events comes before, and then a
    negative binomial one, which makes a finite sum. For many draws the sum is normal but for its fourth cumulant.

    Examples
    --------
    >>> mean_noise_tail(1.0, noise=1.0, outputs=1).round(4)  # exp(−1)/2
    array([0.1839])
    """
    if not noise > 0:
        raise UsageError(f"noise must be a scale above 0, got {noise}.")
    limits, counts = np.broadcast_arrays(np.atleast_1d(np.asarray(limit, dtype=np.float64)), outputs)
    tails = np.empty(limits.shape)
    for count in np.unique(counts[counts <= EXACT]):
        here = counts == count
        tails[here] = _sum_tail(limits[here] * count / noise, int(count))
    many = counts > EXACT
    tails[many] = _expanded_tail(limits[many] / noise, counts[many])
    return tails


def _sum_tail(x: Floats, count: int) -> Floats:
    """P(sum of ``count`` standard Laplace draws > x)."""
    from scipy.stats import nbinom, poisson

    before = np.arange(count)
    left = nbinom.cdf(count - 1 - before, count, 0.5)
    return poisson.pmf(before, x[:, np.newaxis]) @ left


def _expanded_tail(limit: Floats, count: NDArray[np.int64]) -> Floats:
    """P(mean of ``count`` standard Laplace draws > limit): normal, and the next term of Edgeworth's expansion."""
    from scipy.special import ndtr

    z = limit * np.sqrt(count / 2)
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    # The excess kurtosis of one draw is 3, of the mean 3/J.
    return np.clip(ndtr(-z) + 3 / count / 24 * (z**3 - 3 * z) * density, 0.0, 0.5)
