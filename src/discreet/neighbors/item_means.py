"""Noisy item means: one small release that says how popular and how well liked each item is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.common.remedies import DECLARE_SCALE
from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.units import Unit

__all__ = ["ItemMeans", "item_sums"]

BITS = 20
VALUE_BITS = 10
STEPS = 2**BITS
# What one user's length is divided into: weights of items, their ratings, the user, the user's mean.
ITEM_PART, USER_PART = Fraction(4, 10), Fraction(1, 10)
SPREAD = 0.25
"""How far the means of items usually lie apart, in half-ranges of the scale: known without the records."""


@dataclass(frozen=True)
class ItemMeans:
    """What noisy sums tell about items; a function of the release and of public numbers.

    Parameters
    ----------
    popularity
        Weight of the raters of each item, each user's items sharing a weight of 1.
    means
        Mean rating of each item in stars, drawn towards the general level as far as noise may have moved it; zeros
        where there are no ratings.
    level
        The general level in stars.
    """

    popularity: NDArray[np.float64]
    means: NDArray[np.float64]
    level: float

    @classmethod
    def of(cls, noisy: NDArray[np.int64], scale: RatingScale | None, noise: float) -> ItemMeans:
        """Read them from noisy ``item_sums`` in grid steps; ``noise`` is the standard deviation in users."""
        n_items = (noisy.size - 2) // 2
        part = float(ITEM_PART)
        sums = noisy.astype(np.float64) / STEPS
        popularity, noise = sums[:n_items] / part, noise / part
        if scale is None:
            return cls(popularity, np.zeros(n_items), 0.0)
        half = float(scale.width) / 2
        users = max(1.0, sums[-2] / float(USER_PART))
        level = float(np.clip(sums[-1] / float(USER_PART) / users, -1, 1))
        safe = np.maximum(popularity, 4 * noise + 1e-9)
        apart = np.clip((sums[n_items:-2] / part - level * popularity) / safe, -2, 2)
        trust = SPREAD**2 / (SPREAD**2 + 2 * (noise / safe) ** 2)
        means = float(scale.low) + half + half * np.clip(level + trust * apart, -1, 1)
        return cls(popularity, means, float(scale.low) + half + half * level)


def item_sums(data: Interactions) -> BoundedSums:
    """Weights of items, weighed ratings, number of users and sum of their means: one vector, one bound.

    A user with n items gives each of them 4/10·1/n and 4/10·y/n, where y is the rating on the scale from −1 to 1, and
    1/10 and 1/10 of the mean of y to the last two sums, all rounded towards zero: at most 1 in L1 norm, and at most
    34/100 in squared L2 norm (docs/proofs/neighbors.md, Theorem 1).

    Parameters
    ----------
    data
        Records with a public catalog, each user and item once.
    """
    if data.may_repeat:
        raise UsageError("item means need one record of each user and item.", remedy="Call distinct_items first.")
    counts = data.records_per_user
    weight = int(ITEM_PART * STEPS) // np.maximum(counts, 1)
    popularity = np.bincount(data.item, weights=weight[data.user], minlength=data.n_items)
    rated, levels = np.zeros(data.n_items), 0
    person = int(USER_PART * STEPS)
    if data.rating is not None:
        values = _on_scale(data)
        steps = np.sign(values) * (np.abs(values) * weight[data.user] // 2**VALUE_BITS)
        rated = np.bincount(data.item, weights=steps, minlength=data.n_items)
        totals = np.bincount(data.user, weights=values, minlength=data.n_users).astype(np.int64)
        means = np.sign(totals) * (np.abs(totals) * person // (np.maximum(counts, 1) * 2**VALUE_BITS))
        levels = int(means.sum())
    people = int((counts > 0).sum()) * person
    return BoundedSums(
        values=np.concatenate([popularity, rated, [people, levels]]).astype(np.int64),
        step=Fraction(1, STEPS),
        l1=Fraction(STEPS),
        l2_squared=(2 * ITEM_PART**2 + 2 * USER_PART**2) * STEPS**2,
        linf=ITEM_PART * STEPS,
        nonnegative=False,
        unit=Unit("user"),
        caps=(),
    )


def _on_scale(data: Interactions) -> NDArray[np.int64]:
    """Ratings from −2^VALUE_BITS to 2^VALUE_BITS."""
    if data.scale is None:
        raise UsageError("ratings need a public scale.", remedy=DECLARE_SCALE)
    assert data.rating is not None
    half = float(data.scale.width) / 2
    values = (data.rating.astype(np.float64) - float(data.scale.low) - half) / half
    return np.trunc(np.clip(values, -1, 1) * 2**VALUE_BITS).astype(np.int64)
