"""What private alternating least squares decides from its first release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.factors.statistics import COUNT_SHARE

if TYPE_CHECKING:
    from discreet.factors.dp_als import DPALS

__all__ = ["FactorPlan"]

# Tuned on MovieLens 1M (one split), like all defaults of this model.
HEAD, LEAST_HEAD = 8.0, 60
FACTORS, LEAST_FACTORS, MOST_FACTORS = 0.45, 4, 64


@dataclass(frozen=True)
class FactorPlan:
    """What follows from the first release.

    Attributes
    ----------
    popularity
        Of all items.
    head, known, weights, totals
        The items that get factors; how popular each certainly looks; how it weighs among the items of one person; what
        it weighs in all, expected from its popularity.
    factors
        How many.
    """

    popularity: NDArray[np.float64]
    head: NDArray[np.int32]
    known: NDArray[np.float64]
    weights: NDArray[np.float64]
    totals: NDArray[np.float64]
    factors: int

    @classmethod
    def of(cls, noisy: NDArray[np.float64], noise: float, mu: float, model: DPALS) -> FactorPlan:
        popularity = noisy[:-1] / math.sqrt(1 - COUNT_SHARE**2)
        strength = math.sqrt(max(1.0, noisy[-1] / float(COUNT_SHARE)) * mu)
        size = model.head or max(LEAST_HEAD, round(HEAD * strength))
        head = np.sort(np.argsort(-popularity, kind="stable")[:size]).astype(np.int32)
        # Nothing is as rare as the noise can make it look.
        known = np.maximum(popularity[head], noise)
        weights = known ** -(0.0 if model.cap else model.weight_exponent)
        # Among n items of one person one weighs about w/√(n·mean w²), and Σ 1/√n over its people is the popularity.
        totals = known * weights / math.sqrt(np.average(weights**2, weights=known))
        factors = model.factors or min(MOST_FACTORS, max(LEAST_FACTORS, round(FACTORS * strength)))
        return cls(popularity, head, known, weights, totals, factors)
