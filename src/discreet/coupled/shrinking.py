"""Shrinking noisy counts to what a model expects, as far as the noise deserves.

All of it is post-processing: it looks at noisy counts, at the public variance of their noise, and at a model that was
released. How far to shrink is estimated from the noisy counts themselves (after James and Stein), cautiously: where
few counts are pooled, chance alone must not pass for signal.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.coupled.budgets import Law
from discreet.coupled.consistency import onto_simplex

__all__ = ["kept_share", "shrink_cells", "shrink_table"]

Floats = NDArray[np.float64]

# Relative variance of the square of one noise variable: E[z⁴]/E[z²]² − 1.
_SPREAD: dict[Law, float] = {"laplace": 5.0, "gaussian": 2.0}

TABLE_CAUTION = 0.5
CELL_CAUTION = 1.0
"""Standard deviations by which the mean square of pure noise may exceed its variance before it counts as signal."""

GROUP_RATIO = 2.0
"""Cells whose expected counts are within this factor are shrunk alike."""


def kept_share(
    mean_square: Floats | float, variance: float, pooled: NDArray[np.floating] | float, *, law: Law, caution: float
) -> Floats:
    """How much of the difference between noisy counts and a model to keep: 1 − (variance of the noise)/(mean square).

    Parameters
    ----------
    mean_square
        Mean of the squared differences.
    variance
        Of the noise.
    pooled
        How many differences the mean is over.
    caution
        See ``TABLE_CAUTION``; 0 for the estimator of James and Stein.

    Examples
    --------
    >>> kept_share(np.array([4.0, 0.9]), 1.0, 100, law="gaussian", caution=0.0)
    array([0.75, 0.  ])
    """
    margin = 1 + caution * np.sqrt(_SPREAD[law] / np.maximum(pooled, 1.0))
    # Differences far smaller than the noise are kept to nothing; the floor only avoids a division by 0.
    return np.maximum(0.0, 1 - margin * variance / np.maximum(mean_square, 1e-9 * variance))


def shrink_table(noisy: Floats, center: Floats, variance: float, total: float, *, law: Law) -> Floats:
    """A small noisy table, shrunk as a whole to what is expected, then without negative counts.

    Parameters
    ----------
    noisy, center
        Noisy counts and what they are expected to be, of the same shape.
    variance
        Of the noise on each count.
    total
        What the counts add up to; public.
    """
    # The total is known, so its share of the noise can be taken out of every count.
    settled = noisy + (total - float(noisy.sum())) / noisy.size
    difference = settled - center
    free = max(noisy.size - 1, 1)
    share = kept_share(float((difference**2).sum()) / free, variance, free, law=law, caution=TABLE_CAUTION)
    return onto_simplex(center + float(share) * difference, total)


def shrink_cells(noisy: NDArray[np.int64], model: Floats, variance: float, total: float, *, law: Law) -> Floats:
    """Noisy counts of all cells, shrunk to a model: cells of which it expects about as much are shrunk alike.

    Where a model is far off, noisy counts differ from it by more than noise and are kept; where it is right, they
    differ by the noise alone, and the model is kept. Large cells decide for themselves, as they are few; the many that
    are nearly empty decide together.

    Parameters
    ----------
    noisy, model
        Flat counts of all cells.
    variance
        Of the noise on each cell.
    total
        Number of rows; public.
    """
    least = max(total, 1.0) * 2.0**-60
    group = np.floor(np.log(np.maximum(model, least)) / math.log(GROUP_RATIO)).astype(np.int64)
    group -= group.min()
    difference = noisy - model
    members = np.bincount(group)
    mean_square = np.bincount(group, weights=difference**2) / np.maximum(members, 1)
    share = kept_share(mean_square, variance, members.astype(np.float64), law=law, caution=CELL_CAUTION)
    return onto_simplex(model + share[group] * difference, total)
