"""What released sums say about items and their ratings, and where people stand on it. All of it is post-processing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data.interactions import Interactions
from discreet.factors.kernels import ridge_solutions
from discreet.factors.rating_statistics import LEVEL_SHARE, relative_ratings
from discreet.factors.spectrum import shrunk_spectrum
from discreet.factors.statistics import COUNT_SHARE
from discreet.privacy.release import Release

__all__ = ["Offsets", "Raters", "item_factors", "residuals_of", "standing_of"]

RECORD_WEIGHT, RECORD_VALUE = 0.6, 0.8

# Fixed once, in squared halves of the scale: how ratings scatter, and how people differ in level and in slopes.
SCATTER, LEVELS, SLOPES = 0.2, 0.05, 0.0075
SHORTENED = 0.7
"""The share of a user's length that clipping usually leaves."""

HEAD, MOST_HEAD, MOST_FACTORS = 6.0, 1_500, 30
CO_COUNT = 1.5
"""How much oftener two items meet in one history than if all histories were equally long."""


@dataclass(frozen=True)
class Raters:
    """How much each item is rated: the first release."""

    weights: NDArray[np.float64]
    known: NDArray[np.float64]
    users: float

    @classmethod
    def of(cls, noisy: NDArray[np.float64], noise: float) -> Raters:
        weights = noisy[:-1] / math.sqrt(1 - COUNT_SHARE**2)
        return cls(weights, np.maximum(weights, noise), max(1.0, noisy[-1] / float(COUNT_SHARE)))

    @property
    def ratings_each(self) -> float:
        """About how many ratings a person has given: each adds the root of that number to the weights."""
        return (max(0.0, float(self.weights.sum())) / self.users) ** 2

    def head(self, mu: float) -> NDArray[np.int32]:
        """Codes of the items that factors are learned for: a rule in users × μ."""
        size = min(self.weights.size, MOST_HEAD, max(60, round(HEAD * math.sqrt(self.users * mu))))
        return np.sort(np.argsort(-self.weights, kind="stable")[:size]).astype(np.int32)


@dataclass(frozen=True)
class Offsets:
    """Offsets of items in halves of the scale, the general level, and what people's ratings are regressed on."""

    offset: NDArray[np.float64]
    level: float
    features: NDArray[np.float64]
    prior: NDArray[np.float64]

    @classmethod
    def of(cls, raters: Raters, noisy: NDArray[np.float64], noise: float) -> Offsets:
        weights = raters.known**-0.5
        typical = math.sqrt(np.average(weights**2, weights=raters.known))
        strength = SHORTENED * weights * raters.known / typical
        level = float(np.clip(noisy[-1] / float(LEVEL_SHARE) / raters.users, -1, 1))
        offset = _shrunk_towards_popularity(noisy[:-1] / strength, (noise / strength) ** 2, raters.known)
        return cls._with(offset, level, raters.known)

    @classmethod
    def of_records(cls, noisy: NDArray[np.float64], noise: float) -> Offsets:
        n_items = noisy.size // 2
        counts = noisy[:n_items] / RECORD_WEIGHT
        known = np.maximum(counts, max(1.0, noise))
        level = float(np.clip(noisy[n_items:].sum() / RECORD_VALUE / max(counts.sum(), 1.0), -1, 1))
        offset = noisy[n_items:] / RECORD_VALUE / known - level
        # What one rating tells is uncertain by how ratings scatter, and by the noise.
        variance = (noise / known) ** 2 + SCATTER / known
        return cls._with(_shrunk_towards_popularity(offset, variance, known), level, known)

    @classmethod
    def _with(cls, offset: NDArray[np.float64], level: float, known: NDArray[np.float64]) -> Offsets:
        slopes = [_standardized(offset, known), _standardized(np.log(known), known)]
        features = np.stack([np.ones(offset.size), *slopes], axis=1)
        return cls(offset, level, features, np.array([LEVELS, SLOPES, SLOPES]))


def _shrunk_towards_popularity(
    seen: NDArray[np.float64], variance: NDArray[np.float64], known: NDArray[np.float64]
) -> NDArray[np.float64]:
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
    starts: NDArray[np.int64],
    items: NDArray[np.int64],
    ratings: NDArray[np.float64],
    offsets: Offsets,
    features: NDArray[np.float64],
    prior: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Where each person stands on every feature: ridge regression of what offsets leave of the person's ratings."""
    targets = ratings - offsets.level - offsets.offset[items]
    return ridge_solutions(starts, items, targets, np.ascontiguousarray(features), SCATTER / prior)


def residuals_of(data: Interactions, offsets: Offsets) -> NDArray[np.float64]:
    """What a person's own level and slopes leave of each rating."""
    ratings, items = relative_ratings(data), data.item.astype(np.int64)
    where = standing_of(data.user_starts, items, ratings, offsets, offsets.features, offsets.prior)
    explained = (offsets.features[items] * where[data.user]).sum(axis=1)
    return ratings - offsets.level - offsets.offset[items] - explained


def item_factors(release: Release, raters: Raters) -> NDArray[np.float64]:
    """Factors of items, scaled so that people stand on each with variance 1.

    Residuals that have nothing to do with each other put users/head on the diagonal and nothing elsewhere. What two
    items of weights c share by covariance shows in the matrix κ·√(c c′) times, κ being how often items meet.
    """
    public: Mapping[str, Any] = release.parameters
    head, matrix = release.array("head").astype(np.int32), release.array("residuals")
    apart = matrix - np.eye(head.size) * raters.users / head.size
    values, vectors = shrunk_spectrum(apart, public["noise_residuals"])
    strongest = np.argsort(-values)[:MOST_FACTORS]
    meeting = CO_COUNT * np.maximum(raters.weights, 0).sum() / (raters.users * head.size * 0.875 * SCATTER)
    factors = np.zeros((raters.weights.size, strongest.size))
    factors[head] = vectors[:, strongest] * np.sqrt(values[strongest] / meeting)
    factors[head] /= np.sqrt(raters.known[head])[:, None]
    return factors


def _standardized(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values with weighted mean 0 and weighted variance 1; all zero where they do not differ."""
    centered = values - np.average(values, weights=weights)
    spread = np.sqrt(np.average(centered**2, weights=weights))
    return centered / spread if spread > 0 else centered
