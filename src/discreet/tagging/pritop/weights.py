"""Step 2 of PriTop: noise on the topic weights, and the lists of tags that follow from it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.published_draws import laplace

__all__ = ["RevisedLists", "expected_insertions", "noisy_sizes", "revise"]

Integers = NDArray[np.int64]
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RevisedLists:
    """The lists T~_z(u) of all users in one topic.

    Attributes
    ----------
    starts
        The list of user ``u`` goes from ``starts[u]`` to ``starts[u + 1]``.
    tag
        What stands in the lists: what was kept in the order of the profile, then what was added, most probable first.
    origin
        Which entry of the profile it was; −1 for a tag that was added.
    """

    starts: Integers
    tag: Integers
    origin: Integers


def noisy_sizes(weights: Integers, scales: Matrix) -> Integers:
    """How long each list shall be: the weight with Laplace noise, equation 4.3.6, rounded; at least 0."""
    return rounded(weights + laplace(np.broadcast_to(scales, weights.shape)))


def rounded(noisy: Matrix) -> Integers:
    """A noisy weight as a number of tags."""
    return np.maximum(np.floor(noisy + 0.5), 0).astype(np.int64)


def expected_insertions(scale: float) -> float:
    """How many tags noise adds to a list on average.

    Examples
    --------
    >>> round(expected_insertions(4.0), 3)
    1.995
    """
    # Σ_{n ≥ 1} Pr[noise ≥ n − 1/2], each e^−(n − 1/2)/scale / 2: a geometric series.
    return math.exp(-0.5 / scale) / (2 * -math.expm1(-1 / scale))


def revise(
    starts: Integers, tags: Integers, sizes: Integers, *, probability: Vector, ranking: Integers
) -> RevisedLists:
    """Lengthen or shorten the list of every user in one topic, equations 4.3.7 and 4.3.8.

    Parameters
    ----------
    starts, tags
        The entries of user ``u`` are ``tags[starts[u]:starts[u + 1]]``.
    sizes
        How long each list shall be.
    probability
        Pr(t|z) of every tag in this topic. The least probable go first.
    ranking
        What can be added, most probable first. A list gets what it does not have yet, and ends early where nothing is
        left to add.
    """
    from discreet.tagging.pritop.kernels import revised_lists

    low, high = int(starts[0]), int(starts[-1])
    user = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    order = np.lexsort((-probability[tags[low:high]], user))  # equally probable ones in the order of the list
    rank = np.empty(high - low, dtype=np.int64)
    rank[order] = np.arange(high - low) - (starts[:-1] - low)[user]
    return RevisedLists(*revised_lists(starts, tags, rank, sizes, ranking, probability.size))
