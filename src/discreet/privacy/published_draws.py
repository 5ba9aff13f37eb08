"""Draws of the published strategies: floating point made from the operating system's entropy.

Releases with a proved guarantee draw exactly, in ``privacy/noise.py`` and ``privacy/selection.py``. What is drawn here
serves baselines whose guarantee is refuted or that have none, so that the last bits of a logarithm cannot break
anything; in exchange thousands of lists are drawn from at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.privacy import entropy

__all__ = ["first_arrivals", "laplace", "log_exponentials", "uniforms"]

Shape = tuple[int, ...]


def uniforms(shape: Shape) -> NDArray[np.float64]:
    """Numbers from the open unit interval, in steps of 2⁻⁵²: neither end is ever met."""
    words = entropy.random_words(int(np.prod(shape))).reshape(shape)
    return ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def log_exponentials(shape: Shape) -> NDArray[np.float64]:
    """Logarithms of exponential variables: Gumbel variables with the sign changed.

    The logarithm of an arrival time at rate w is one of these minus ln w. Whoever arrives first is drawn with
    probability proportional to the rates, and so is the next one among those who are left.
    """
    return np.log(-np.log(uniforms(shape)))


def laplace(scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """Laplace noise of these scales; 0 where the scale is 0."""
    half = uniforms(scale.shape) - 0.5
    return -np.sign(half) * np.log1p(-2 * np.abs(half)) * scale


def first_arrivals(log_times: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """The k earliest columns of each row in order; −1 for arrivals that never happen.

    Examples
    --------
    >>> first_arrivals(np.array([[0.3, -2.0, np.inf]]), 4)
    array([[ 1,  0, -1, -1]])
    """
    rows, columns = log_times.shape
    chosen = np.full((rows, k), -1, dtype=np.int64)
    most = min(k, columns)
    if most == 0:
        return chosen
    best = np.argpartition(log_times, most - 1, axis=1)[:, :most]
    times = np.take_along_axis(log_times, best, axis=1)
    in_order = np.argsort(times, axis=1, kind="stable")
    arrived = np.isfinite(np.take_along_axis(times, in_order, axis=1))
    chosen[:, :most] = np.where(arrived, np.take_along_axis(best, in_order, axis=1), -1)
    return chosen
