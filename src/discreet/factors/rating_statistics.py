"""What is released to predict ratings: how far above its raters' means an item stands, and how residuals go together.

``docs/proofs/factors.md`` proves each bound. Ratings are in halves of the scale: from −1 to 1 about its middle.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from discreet.data.interactions import Interactions
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.units import Unit

__all__ = ["CLIP", "LEVEL_SHARE", "OFFSET_CAPS", "offset_sums", "record_sums", "relative_ratings"]

BITS = 20
CLIP = Fraction(35, 100)
"""The most that one user's weighted ratings, relative to the user's mean, have in length."""

LEVEL_SHARE = Fraction(5, 100)
"""Length of the coordinate that carries the level of ratings."""


OFFSET_CAPS = (f"each user's ratings were scaled to a length of at most {float(CLIP)} halves of the scale",)
"""What offsets are bounded by, as a phrase for the guarantee."""


def relative_ratings(data: Interactions) -> NDArray[np.float64]:
    """Ratings in halves of the public scale about its middle: from −1 to 1."""
    assert data.rating is not None
    assert data.scale is not None
    low, high = float(data.scale.low), float(data.scale.high)
    return np.clip((data.rating.astype(np.float64) - (low + high) / 2) / ((high - low) / 2), -1, 1)


def offset_sums(data: Interactions, weights: NDArray[np.float64], center: float) -> BoundedSums:
    """Σ_u of weighted ratings relative to each user's mean, clipped in length; and Σ_u of the means.

    Parameters
    ----------
    weights
        How items weigh among those of one user; public.
    center
        The level that a user's mean is drawn towards with two ratings' worth; public.
    """
    side = math.floor(CLIP * 2**BITS)
    unit = math.floor(LEVEL_SHARE * 2**BITS)
    offsets, levels = _user_offsets(
        data.user_starts, data.item.astype(np.int64), relative_ratings(data), weights, center, side, unit
    )
    values = np.append(np.bincount(data.item, weights=offsets, minlength=data.n_items), levels.sum())
    squared = Fraction(side**2 + unit**2)
    return BoundedSums(
        values=values.astype(np.int64),
        step=Fraction(1, 2**BITS),
        l1=Fraction((side + unit) * (math.isqrt(data.n_items) + 1)),
        l2_squared=squared,
        linf=Fraction(max(side, unit)),
        nonnegative=False,
        unit=Unit("user"),
        caps=OFFSET_CAPS,
    )


def record_sums(data: Interactions) -> BoundedSums:
    """Counts and sums of ratings of every item, for one record present or absent: nothing depends on whose it is.

    A record adds 3/5 to the count and at most 4/5 to the sum of its item: length 1 at most.
    """
    one, whole = 3 * 2**BITS // 5, 4 * 2**BITS // 5
    steps = np.trunc(relative_ratings(data) * whole).astype(np.int64)
    counts = np.bincount(data.item, minlength=data.n_items).astype(np.int64) * one
    sums = np.bincount(data.item, weights=steps, minlength=data.n_items).astype(np.int64)
    return BoundedSums(
        values=np.concatenate([counts, sums]),
        step=Fraction(1, 2**BITS),
        l1=Fraction(one + whole),
        l2_squared=Fraction(one**2 + whole**2),
        linf=Fraction(whole),
        nonnegative=False,
        unit=Unit("record"),
        caps=(),
    )


@njit(parallel=True, cache=True)
def _user_offsets(
    starts: NDArray[np.int64],
    items: NDArray[np.int64],
    ratings: NDArray[np.float64],
    weights: NDArray[np.float64],
    center: float,
    side: int,
    unit: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Whole steps for each record and each user's level; a user's records have squared length at most side²."""
    steps = np.zeros(items.size)
    levels = np.zeros(starts.size - 1)
    for user in prange(starts.size - 1):
        begin, end = starts[user], starts[user + 1]
        if begin == end:
            continue
        total, weight = 0.0, 0.0
        for place in range(begin, end):
            total += ratings[place]
            weight += weights[items[place]] ** 2
        mean = (total + 2 * center) / (end - begin + 2)
        levels[user] = np.float64(np.int64(min(1.0, max(-1.0, mean)) * unit))
        norm, scale = 0.0, 1 / np.sqrt(weight)
        for place in range(begin, end):
            steps[place] = (ratings[place] - mean) * weights[items[place]] * scale
            norm += steps[place] ** 2
        # In units of the grid, at most ``side`` long; a row that rounding left longer is shortened a little.
        factor = min(float(1 << 20), side / max(np.sqrt(norm), 1e-300))
        while True:
            squared = 0
            for place in range(begin, end):
                step = np.int64(steps[place] * factor)
                squared += step * step
            if squared <= side * side:
                break
            factor *= 1 - 2.0**-30
        for place in range(begin, end):
            steps[place] = np.float64(np.int64(steps[place] * factor))
    return steps, levels
