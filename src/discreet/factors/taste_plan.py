"""What the first release of a ranking model decides: whether tastes pay, for which items, and how these weigh."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.factors.statistics import COUNT_SHARE

__all__ = ["CROSSOVER", "ITEMS_SHARE", "USUAL_ALIKENESS", "TastePlan", "below_zero", "head_size"]

CROSSOVER = 112
"""Below this length of the popularity × μ popularity itself ranks better than tastes do.

Each user adds a vector of length 1 to it, so its length is users × how alike they are: 0.32 on MovieLens 1M, where the
crossover was found (at 350 users × μ), 0.35 on MovieLens 100K, 0.09 on CiaoDVD with its few likes among many items.
"""

USUAL_ALIKENESS = 0.32

HEAD = 8.0
LEAST_HEAD = 60
FLATTENING = 0.2
"""Items weigh less by this power of their popularity: noise is the same for all and would drown the rare."""

ITEMS_SHARE = math.sqrt(1 - COUNT_SHARE**2)
"""Length of a user's items in the first release, beside the coordinate that counts users."""


@dataclass(frozen=True)
class TastePlan:
    """A function of the first release and of public values.

    Parameters
    ----------
    popularity
        Noisy popularity of every item.
    users, strength
        How many users there are, and that number times μ.
    signal
        Length of the popularity, times μ: how far what people share stands out of the noise.
    ranking
        "tastes" where they pay, otherwise "popularity".
    head
        Codes of the items that tastes are learned for.
    weights, direction
        How items weigh in a taste; and what a taste looks like that is mere popularity, at length 1 on the head.
    """

    popularity: NDArray[np.float64]
    users: float
    strength: float
    signal: float
    ranking: str
    head: NDArray[np.int32]
    weights: NDArray[np.float64]
    direction: NDArray[np.float64]

    @classmethod
    def of(
        cls, noisy: NDArray[np.float64], public: Mapping[str, Any], *, users: int | None, most: int | None
    ) -> TastePlan:
        """Read the first release; the number of users and the size of the head may be given as public."""
        popularity = noisy[:-1] / ITEMS_SHARE
        count = float(users) if users is not None else max(1.0, noisy[-1] / float(COUNT_SHARE))
        mu = math.sqrt(Fraction(public["mu_squared"]))
        strength = count * mu
        # Noise adds its variance to the square of every item.
        noise = public["noise_first"] / ITEMS_SHARE
        signal = mu * math.sqrt(max(0.0, float(popularity @ popularity) - popularity.size * noise**2))
        size = head_size(strength, popularity.size, most)
        head = np.sort(np.argsort(-popularity, kind="stable")[:size]).astype(np.int32)
        # Nothing is as rare as the noise can make it look.
        known = np.maximum(popularity, public["noise_first"])
        weights = known**-FLATTENING
        weights /= weights.mean()
        direction = known[head] * weights[head]
        direction /= np.linalg.norm(direction)
        ranking = "tastes" if signal >= CROSSOVER else "popularity"
        return cls(popularity, count, strength, signal, ranking, head, weights, direction)


def head_size(strength: float, n_items: int, most: int | None) -> int:
    """How many items tastes are learned for: what was asked for, or a rule in users × μ."""
    return min(n_items, most if most is not None else max(LEAST_HEAD, round(HEAD * math.sqrt(strength))))


def below_zero(popularity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers from −1 up to 0 in the order of popularity: where items stand that nothing else speaks for."""
    return -1 / (1 + np.maximum(popularity, 0)) + 1e-9 * np.minimum(popularity, 0)
