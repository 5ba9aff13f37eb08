"""Noisy item means at the level of ratings: every rating counts in full, and one rating is all that is hidden."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale
from discreet.errors import UsageError
from discreet.neighbors.item_means import SPREAD, ItemMeans
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.units import Unit

__all__ = ["rating_means", "rating_sums"]

BITS = 10


def rating_sums(data: Interactions) -> BoundedSums:
    """Number of ratings of each item and, after these, their sums on the scale from −1 to 1, in steps of 2^−BITS.

    One rating adds 2^BITS to one number and, rounded towards zero, at most as much to one sum.

    Parameters
    ----------
    data
        Records with a public catalog and a public scale, each user and item once.
    """
    if data.may_repeat:
        raise UsageError(
            "sums of ratings need one record of each user and item.", remedy='Read with duplicates="last".'
        )
    if data.rating is None or data.scale is None:
        raise UsageError("ratings need a public scale.", remedy='Declare it: Interactions(…, scale="1:5").')
    half = float(data.scale.width) / 2
    values = (data.rating.astype(np.float64) - float(data.scale.low) - half) / half
    steps = np.trunc(np.clip(values, -1, 1) * 2**BITS)
    counts = data.records_per_item.astype(np.int64) * 2**BITS
    # Whole numbers below 2^53 in all: adding them as floats makes no error.
    sums = np.bincount(data.item, weights=steps, minlength=data.n_items).astype(np.int64)
    return BoundedSums(
        values=np.concatenate([counts, sums]),
        step=Fraction(1, 2**BITS),
        l1=Fraction(2 * 2**BITS),
        l2_squared=Fraction(2 * 4**BITS),
        linf=Fraction(2**BITS),
        nonnegative=False,
        unit=Unit("record"),
        caps=(),
    )


def rating_means(noisy: NDArray[np.int64], scale: RatingScale, noise: float) -> ItemMeans:
    """Means read from noisy ``rating_sums``, drawn towards the general level as far as noise may have moved them.

    Parameters
    ----------
    noise
        Standard deviation of the noise, in ratings.
    """
    counts, sums = (noisy.astype(np.float64) / 2**BITS).reshape(2, -1)
    level = float(np.clip(sums.sum() / max(1.0, counts.sum()), -1, 1))
    safe = np.maximum(counts, 4 * noise + 1e-9)
    apart = np.clip((sums - level * counts) / safe, -2, 2)
    trust = SPREAD**2 / (SPREAD**2 + 2 * (noise / safe) ** 2)
    half = float(scale.width) / 2
    middle = float(scale.low) + half
    return ItemMeans(counts, middle + half * np.clip(level + trust * apart, -1, 1), middle + half * level)
