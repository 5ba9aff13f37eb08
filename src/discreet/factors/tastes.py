"""What the first release of a ranking model decides, and what to expect of it. All of it is post-processing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.common.arrays import Codes, Floats
from discreet.factors.popular import Spread, share_needed
from discreet.factors.statistics import ITEMS_SHARE, NoisyPopularity
from discreet.privacy.gram import MOST_PROJECTED

__all__ = [
    "CROSSOVER",
    "READING",
    "USUAL_ALIKENESS",
    "TastePlan",
    "below_zero",
    "expected_share",
    "head_size",
    "popularity_share",
    "without_popular",
]

CROSSOVER = 112
"""Below this length of the popularity × μ popularity itself ranks better than tastes do.

Each user adds a vector of length 1 to it, so its length is users × how alike they are: 0.32 on MovieLens 1M, where the
crossover was found (at 350 users × μ), 0.35 on MovieLens 100K, 0.09 on CiaoDVD with its few likes among many items.
"""

USUAL_ALIKENESS = 0.32

HEAD, HEAD_OF_FEATURES = 6.5, 8.0
"""The head has so many times √(users × μ) items; public features make larger ones pay."""

FIRST_HEAD = 8.0
"""That of releases without a number of their reading."""

LEAST_HEAD = 60
READING = 2
"""How tastes are measured now. Releases that say nothing were made before, with other heads and directions."""

SHARES = (Fraction(3, 20), Fraction(1, 5), Fraction(3, 10), Fraction(2, 5), Fraction(1, 2))
"""Shares of μ² that popularity may need before tastes are learned from the rest."""

FLATTENING = 0.2
"""Items weigh less by this power of their popularity: noise is the same for all and would drown the rare."""

# Recall@20 of PrivateRecommender over that of EASE on MovieLens 1M, strong generalization, mean of three splits, at
# ε = 0.25, 0.5, 1, 2, 4, 8, 20 and δ = 10⁻⁵: `discreet study frontier --data ml-1m` prints the table.
CURVE = ((409, 0.55), (772, 0.65), (1456, 0.75), (2723, 0.82), (5022, 0.90), (9046, 0.95), (18722, 0.98))


@dataclass(frozen=True)
class TastePlan:
    """What the first release decides: whether tastes pay, for which items, and how these weigh.

    Parameters
    ----------
    first
        What was released, with the number of users where that is public.
    strength
        Users × μ.
    ranking
        "tastes" where they pay, otherwise "popularity".
    head
        Codes of the items that tastes are learned for.
    item_weights, item_direction
        How items weigh in a taste; and what a taste looks like that is mere popularity, of length 1 in the head.
    """

    first: NoisyPopularity
    strength: float
    ranking: str
    head: Codes
    item_weights: Floats
    item_direction: Floats

    @property
    def weights(self) -> Floats:
        """Those of the head."""
        return self.item_weights[self.head]

    @property
    def direction(self) -> Floats:
        """That of the head."""
        return self.item_direction[self.head]

    @classmethod
    def of(
        cls,
        noisy: Floats,
        public: Mapping[str, Any],
        *,
        users: int | None,
        most: int | None,
        more: Floats | None = None,
        head: Codes | None = None,
    ) -> TastePlan:
        """Read the first release.

        Parameters
        ----------
        noisy, more
            What was released first and, where that was too noisy, once more.
        public
            Deviations of the noise, μ², and how the release is to be read.
        users, most
            The number of users and the size of the head, where they were given as public.
        head
            The head, where it is known.
        """
        first = NoisyPopularity.of(noisy, public["noise_first"])
        if more is not None:
            first = first.with_more(NoisyPopularity.of(more, public["noise_more"]))
        first = first if users is None else replace(first, users=float(users))
        mu = math.sqrt(Fraction(public["mu_squared"]))
        strength = first.users * mu
        # How far what people share stands out: noise adds its variance to the square of every item.
        length = float(first.items @ first.items) - first.items.size * (first.noise / ITEMS_SHARE) ** 2
        if public.get("reading") == READING:
            factor = HEAD_OF_FEATURES if public.get("feature_names") else HEAD
            true = Spread.of(first.items, first.noise / ITEMS_SHARE).expected
            known, shown = np.maximum(true, first.noise), np.maximum(true, 1e-3 * first.noise)
        else:
            factor, known, shown = FIRST_HEAD, first.known, first.known
        if head is None:
            head = first.most_popular(head_size(strength, first.items.size, most, factor))
        weights = known**-FLATTENING
        weights /= weights.mean()
        direction = shown * weights
        direction /= np.linalg.norm(direction[head])
        ranking = "tastes" if mu * math.sqrt(max(0.0, length)) >= CROSSOVER else "popularity"
        return cls(first, strength, ranking, head, weights, direction)


def popularity_share(plan: TastePlan, whole: float, first_share: Fraction) -> Fraction | None:
    """The share of μ² that popularity needs, the first release included; None where it needs all.

    Parameters
    ----------
    whole
        Deviation of the noise where all of μ² is spent on popularity.
    first_share
        What was spent first.
    """
    if plan.ranking == "popularity":
        return None
    shares = (first_share, *(share for share in SHARES if share > first_share))
    spread = Spread.of(plan.first.items, plan.first.noise / ITEMS_SHARE)
    found = share_needed(spread, whole / ITEMS_SHARE, np.array([float(share) for share in shares]))
    return None if found is None else next(share for share in shares if float(share) == found)


def head_size(strength: float, n_items: int, most: int | None, factor: float = HEAD) -> int:
    """How many items tastes are learned for: what was asked for, or a rule in users × μ."""
    rule = min(max(LEAST_HEAD, round(factor * math.sqrt(strength))), MOST_PROJECTED)
    return min(n_items, rule if most is None else most)


def below_zero(popularity: Floats) -> Floats:
    """Numbers from −1 up to 0 in the order of popularity: where items stand that nothing else speaks for."""
    return -1 / (1 + np.maximum(popularity, 0)) + 1e-9 * np.minimum(popularity, 0)


def expected_share(strength: float) -> float:
    """The share of the recall without privacy that users × μ = strength reached on MovieLens 1M, interpolated.

    Below the first point popularity is what is shown; beyond the last one the share is taken to stay.

    Examples
    --------
    >>> round(expected_share(1456), 2), expected_share(10) == expected_share(409)
    (0.75, True)
    """
    points = np.array(CURVE)
    return float(np.interp(np.log(max(strength, 1.0)), np.log(points[:, 0]), points[:, 1]))


def without_popular(regression: Floats, direction: Floats) -> Floats:
    """What items say without what they have in common with popularity."""
    return regression - np.outer(direction, direction @ regression)
