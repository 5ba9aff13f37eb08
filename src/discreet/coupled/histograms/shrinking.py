"""Shrinking noisy counts to what a model expects, as far as the noise deserves.

All of it is post-processing: it looks at noisy counts, at the public variance of their noise, and at a model that was
released. How far to shrink is estimated from the noisy counts themselves, cautiously: where few counts are pooled,
chance alone must not pass for signal. Small tables are shrunk as a whole (after James and Stein), the many cells of a
histogram each by itself, given what all of them are like (``deconvolution``).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.coupled.histograms.consistency import onto_simplex
from discreet.coupled.histograms.deconvolution import FAR, Law, expected_differences

__all__ = ["kept_share", "shrink_cells", "shrink_table"]

Floats = NDArray[np.float64]

# Relative variance of the square of one noise variable: E[z⁴]/E[z²]² − 1.
_SPREAD: dict[Law, float] = {"laplace": 5.0, "gaussian": 2.0}

TABLE_CAUTION = 0.5
"""Standard deviations by which the mean square of pure noise may exceed its variance before it counts as signal."""

LEAST_EXPECTED = 0.1
"""In deviations of noise: cells with an expected count below twice this are shrunk alike, those above in groups within
a factor of 2."""

SLIGHT_NOISE = 0.25
"""Deviation below which whole numbers are their own best estimate."""


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
    """Noisy counts of all cells, each moved to a model as far as cells of which it expects about as much suggest.

    Where the model is right, noisy counts differ from it by noise alone, and the model is kept. Where it is far off,
    or misses a few crowded cells, counts that stand out of the noise are kept and the rest follow the model.

    Parameters
    ----------
    noisy, model
        Flat counts of all cells.
    variance
        Of the noise on each cell.
    total
        Number of rows; public.

    Notes
    -----
    What is found beyond the model must be missing elsewhere: it is taken from the cells that follow the model, in
    proportion to what it expects of them.
    """
    deviation = math.sqrt(variance)
    if deviation < SLIGHT_NOISE:
        return onto_simplex(noisy, total)
    group = np.floor(np.log2(np.maximum(model / (LEAST_EXPECTED * deviation), 1.0))).astype(np.int64)
    difference = noisy - model
    share = np.ones(model.size)
    near = np.abs(difference) < FAR * deviation
    for one in np.unique(group):
        members = np.flatnonzero((group == one) & near)
        if members.size:
            kept = expected_differences(
                difference[members],
                deviation=deviation,
                lowest=-float(model[members].mean()),
                highest=total,
                cells=model.size,
                law=law,
            )
            difference[members], share[members] = kept.differences, kept.share
    counts = np.maximum(model + difference, 0.0)
    following = np.minimum(model, counts) * (1 - share)
    surplus = (counts.sum() - total) / max(float(following.sum()), 1e-300)
    return onto_simplex(counts - min(max(surplus, -1.0), 1.0) * following, total)
