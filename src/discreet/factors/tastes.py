"""From the releases of a ranking model to what each item says about the others. All of it is post-processing.

References
----------
H. Steck: Embarrassingly shallow autoencoders for sparse data. WWW 2019.
M. Gavish, D. Donoho: Optimal shrinkage of singular values. IEEE Trans. Inf. Theory 2017.
"""

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
from discreet.models.item_likeness import shrunk_spectrum
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
    "shrunk_rectangle",
    "taste_regression",
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
"""How releases are made and read now. Those that say nothing were made before: they are read as they were then."""

SHARES = (Fraction(3, 20), Fraction(1, 5), Fraction(3, 10), Fraction(2, 5), Fraction(1, 2))
"""Shares of μ² that popularity may need before tastes are learned from the rest."""

FLATTENING = 0.2
"""Items weigh less by this power of their popularity: noise is the same for all and would drown the rare."""

NOISE_RIDGE, USER_RIDGE = 1.25, 0.003
"""Ridge in units of the edge of the noise, and for each user: the same constants for all data."""

# Recall@20 of PrivateRecommender over that of EASE on MovieLens 1M, strong generalization, mean of three splits, at
# ε = 0.25, 0.5, 1, 2, 4, 8, 20 and δ = 10⁻⁵: `discreet study frontier --data ml-1m` prints the table.
CURVE = ((409, 0.53), (772, 0.62), (1456, 0.73), (2723, 0.79), (5022, 0.87), (9046, 0.92), (18722, 0.96))


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
    weights, direction
        How items of the head weigh in a taste; and what a taste looks like that is mere popularity, at length 1.
    """

    first: NoisyPopularity
    strength: float
    ranking: str
    head: Codes
    weights: Floats
    direction: Floats

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
        weights = weights[head] / weights.mean()
        direction = shown[head] * weights
        direction /= np.linalg.norm(direction)
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
    (0.73, True)
    """
    points = np.array(CURVE)
    return float(np.interp(np.log(max(strength, 1.0)), np.log(points[:, 0]), points[:, 1]))


def taste_regression(noisy: Floats, noise: float, users: float, direction: Floats, features: Floats | None) -> Floats:
    """Weights with which the other items of the head speak for each, as releases before ``READING`` were read.

    With Q = (matrix + ridge)⁻¹ the regression of item j on all others has the weights −Q_ij/Q_jj (Steck 2019). The
    ridge stands for the noise that shrinkage leaves, and for how little even many users say about a rare pair.
    """
    # The true matrix has no part along popularity; what is there is noise.
    matrix = noisy - np.outer(direction, direction @ noisy)
    matrix -= np.outer(matrix @ direction, direction)
    if features is None:
        values, vectors = shrunk_spectrum(matrix, noise)
    else:
        values, vectors = np.linalg.eigh(_block_shrunk(matrix, noise, direction, features))
        values = np.maximum(values, 0)
    ridge = NOISE_RIDGE * noise * math.sqrt(noisy.shape[0] / 2) + USER_RIDGE * users
    # ridge·(V·diag(η)·Vᵀ + ridge)⁻¹ = 1 − V·diag(η/(η + ridge))·Vᵀ. Along popularity tastes have no variance, because
    # it was taken out; taken as infinite there, no item is explained by the mere fact that all of them add up.
    inverse = np.eye(noisy.shape[0]) - (vectors * (values / (values + ridge))) @ vectors.T
    inverse -= np.outer(direction, direction)
    weights = -inverse / np.maximum(inverse.diagonal(), 1e-9)
    np.fill_diagonal(weights, 0)
    return weights


def _block_shrunk(matrix: Floats, noise: float, direction: Floats, features: Floats) -> Floats:
    """The matrix without its noise, seen from the few directions that public features span.

    Inside these directions and between them and the others the noise has much lower edges than in the whole, so that
    tastes that follow genres stand out where there are too few users for others.
    """
    spanned = features * direction[:, None]
    spanned -= np.outer(direction, direction @ spanned)
    left, sizes, _ = np.linalg.svd(spanned, full_matrices=False)
    basis = left[:, sizes > 1e-6 * max(sizes.max(initial=0), 1e-12)]
    inside = basis.T @ matrix @ basis
    values, vectors = shrunk_spectrum(inside, noise)
    kept = (vectors * values) @ vectors.T
    across = matrix @ basis - basis @ inside
    across = shrunk_rectangle(across, noise / math.sqrt(2))
    outside = matrix - basis @ (basis.T @ matrix)
    outside -= (outside @ basis) @ basis.T
    values, vectors = shrunk_spectrum(outside, noise)
    cross = across @ basis.T
    return basis @ kept @ basis.T + cross + cross.T + (vectors * values) @ vectors.T


def shrunk_rectangle(matrix: Floats, noise: float) -> Floats:
    """A rectangular matrix without its noise of deviation ``noise`` in each entry, by shrinking singular values.

    With β = rows/columns ≤ 1 and y a singular value over noise·√columns, what comes nearest is √((y² − β − 1)² − 4β)/y
    above the edge 1 + √β and nothing below it.
    """
    if not matrix.size:
        return matrix
    wide = max(matrix.shape)
    beta = min(matrix.shape) / wide
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    unit = noise * np.sqrt(wide)
    if unit == 0:
        return matrix
    y = values / unit
    inside = np.maximum((y**2 - beta - 1) ** 2 - 4 * beta, 0)
    kept = np.where(y > 1 + np.sqrt(beta), np.sqrt(inside) / np.maximum(y, 1e-12), 0) * unit
    return (left * kept) @ right
