"""What is released to predict ratings (how far above its raters' means an item stands), and what released sums say.

``docs/proofs/factors.md`` proves each bound. Ratings are in halves of the scale: from −1 to 1 about its middle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numba import njit, prange

from discreet.common.arrays import Codes, Floats, Integers
from discreet.data.interactions import Interactions
from discreet.factors.kernels import fit_to_grid, ridge_solutions
from discreet.factors.statistics import USER, NoisyPopularity
from discreet.models.item_likeness import shrunk_spectrum
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

__all__ = [
    "OFFSET_CAPS",
    "Offsets",
    "item_factors",
    "offset_sums",
    "rating_head",
    "ratings_each",
    "record_sums",
    "residuals_of",
    "standing_of",
]

BITS = 20
CLIP = Fraction(35, 100)
"""The most that one user's weighted ratings, relative to the user's mean, have in length."""

LEVEL_SHARE = Fraction(5, 100)
"""Length of the coordinate that carries the level of ratings."""

RECORD = Unit("record")

OFFSET_CAPS = (f"each user's ratings were scaled to a length of at most {float(CLIP)} halves of the scale",)
"""What offsets are bounded by, as a phrase for the guarantee."""

RECORD_WEIGHT, RECORD_VALUE = 0.6, 0.8

# Fixed once, in squared halves of the scale: how ratings scatter, and how people differ in level and in slopes.
SCATTER, LEVELS, SLOPES = 0.2, 0.05, 0.0075
SHORTENED = 0.7
"""The share of a user's length that clipping usually leaves."""

HEAD, MOST_HEAD, MOST_FACTORS = 6.0, 1_500, 30
CO_COUNT = 1.5
"""How much oftener two items meet in one history than if all histories were equally long."""


def relative_ratings(data: Interactions) -> Floats:
    """Ratings in halves of the public scale about its middle: from −1 to 1."""
    assert data.rating is not None
    assert data.scale is not None
    low, high = float(data.scale.low), float(data.scale.high)
    return np.clip((data.rating.astype(np.float64) - (low + high) / 2) / ((high - low) / 2), -1, 1)


def offset_sums(data: Interactions, weights: Floats, center: float) -> BoundedSums:
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
        unit=USER,
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
        unit=RECORD,
        caps=(),
    )


@njit(parallel=True, cache=True)
def _user_offsets(
    starts: Integers, items: Integers, ratings: Floats, weights: Floats, center: float, side: int, unit: int
) -> tuple[Floats, Floats]:
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
        # In units of the grid, at most ``side`` long.
        fit_to_grid(steps[begin:end], min(float(1 << 20), side / max(np.sqrt(norm), 1e-300)), side)
    return steps, levels


# What released sums say about items and their ratings, and where people stand on it: post-processing


def ratings_each(raters: NoisyPopularity) -> float:
    """About how many ratings a person has given: each adds the root of that number to the popularity."""
    return (max(0.0, float(raters.items.sum())) / raters.users) ** 2


def rating_head(raters: NoisyPopularity, mu: float) -> Codes:
    """Codes of the items that factors are learned for: a rule in users × μ."""
    return raters.most_popular(min(MOST_HEAD, max(60, round(HEAD * math.sqrt(raters.users * mu)))))


@dataclass(frozen=True)
class Offsets:
    """Offsets of items in halves of the scale, the general level, and what people's ratings are regressed on."""

    offset: Floats
    level: float
    features: Floats
    prior: Floats

    @classmethod
    def of(cls, raters: NoisyPopularity, noisy: Floats, noise: float, weights: Floats) -> Offsets:
        """From released ``offset_sums`` with these weights of items."""
        typical = math.sqrt(np.average(weights**2, weights=raters.known))
        strength = SHORTENED * weights * raters.known / typical
        level = float(np.clip(noisy[-1] / float(LEVEL_SHARE) / raters.users, -1, 1))
        offset = _shrunk_towards_popularity(noisy[:-1] / strength, (noise / strength) ** 2, raters.known)
        return cls._with(offset, level, raters.known)

    @classmethod
    def of_records(cls, noisy: Floats, noise: float) -> Offsets:
        n_items = noisy.size // 2
        counts = noisy[:n_items] / RECORD_WEIGHT
        known = np.maximum(counts, max(1.0, noise))
        level = float(np.clip(noisy[n_items:].sum() / RECORD_VALUE / max(counts.sum(), 1.0), -1, 1))
        offset = noisy[n_items:] / RECORD_VALUE / known - level
        # What one rating tells is uncertain by how ratings scatter, and by the noise.
        variance = (noise / known) ** 2 + SCATTER / known
        return cls._with(_shrunk_towards_popularity(offset, variance, known), level, known)

    @classmethod
    def _with(cls, offset: Floats, level: float, known: Floats) -> Offsets:
        slopes = [_standardized(offset, known), _standardized(np.log(known), known)]
        features = np.stack([np.ones(offset.size), *slopes], axis=1)
        return cls(offset, level, features, np.array([LEVELS, SLOPES, SLOPES]))


def _shrunk_towards_popularity(seen: Floats, variance: Floats, known: Floats) -> Floats:
    """Empirical Bayes: every offset is drawn towards what items so popular usually have.

    The usual offset is a regression on (1, ln c, ln² c); how far items scatter about it is estimated by moments.
    """
    popularity = np.log(known)
    design = np.stack([np.ones(seen.size), popularity, popularity**2], axis=1)
    scatter = 0.025
    usual = np.zeros(seen.size)
    for _ in range(20):
        trust = 1 / (variance + scatter)
        weighted = design * trust[:, None]
        usual = design @ np.linalg.lstsq(weighted.T @ design, weighted.T @ seen, rcond=None)[0]
        scatter = max(0.0025, float((trust**2 * ((seen - usual) ** 2 - variance)).sum() / (trust**2).sum()))
    return np.clip(usual + scatter / (scatter + variance) * (seen - usual), -2, 2)


def standing_of(
    starts: Integers, items: Integers, ratings: Floats, offsets: Offsets, features: Floats, prior: Floats
) -> Floats:
    """Where each person stands on every feature: ridge regression of what offsets leave of the person's ratings."""
    targets = ratings - offsets.level - offsets.offset[items]
    return ridge_solutions(starts, items, targets, np.ascontiguousarray(features), SCATTER / prior)


def residuals_of(data: Interactions, offsets: Offsets) -> Floats:
    """What a person's own level and slopes leave of each rating."""
    ratings, items = relative_ratings(data), data.item.astype(np.int64)
    where = standing_of(data.user_starts, items, ratings, offsets, offsets.features, offsets.prior)
    explained = (offsets.features[items] * where[data.user]).sum(axis=1)
    return ratings - offsets.level - offsets.offset[items] - explained


def item_factors(release: Release, raters: NoisyPopularity, weights: Floats) -> Floats:
    """Factors of items, scaled so that people stand on each with variance 1.

    Residuals that have nothing to do with each other put users/head on the diagonal and nothing elsewhere. What two
    items of weights c share by covariance shows in the matrix κ·√(c c′) times, κ being how often items meet.
    """
    head, matrix = release.array("head").astype(np.int32), release.array("residuals")
    apart = matrix - np.eye(head.size) * raters.users / head.size
    values, vectors = shrunk_spectrum(apart, release.parameters["noise_residuals"])
    strongest = np.argsort(-values)[:MOST_FACTORS]
    meeting = CO_COUNT * np.maximum(raters.items, 0).sum() / (raters.users * head.size * 0.875 * SCATTER)
    factors = np.zeros((raters.items.size, strongest.size))
    factors[head] = vectors[:, strongest] * np.sqrt(values[strongest] / meeting)
    # With the weights 1/√c of items this is √c.
    factors[head] /= (raters.known * weights)[head][:, None]
    return factors


def _standardized(values: Floats, weights: Floats) -> Floats:
    """Values with weighted mean 0 and weighted variance 1; all zero where they do not differ."""
    centered = values - np.average(values, weights=weights)
    spread = np.sqrt(np.average(centered**2, weights=weights))
    return centered / spread if spread > 0 else centered
