"""The sets that the published chain moves through, in their order (Park and Acharya, section 4.4)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError

__all__ = ["States", "all_states", "printed_swap", "swap", "window_states"]

MOST_STATES = 10**6
"""The largest number of subsets that are listed."""


@dataclass(frozen=True, eq=False)
class States:
    """Sets of k items in the order of a chain.

    Parameters
    ----------
    members
        Sets × k: the items of each, ascending.
    totals
        The sum of the ratings of each.
    """

    members: NDArray[np.int64]
    totals: NDArray[np.float64]

    def __len__(self) -> int:
        return self.totals.size

    def sets(self) -> Iterator[tuple[int, ...]]:
        """The sets, one after the other."""
        return (tuple(row) for row in self.members.tolist())


def swap(j: int, left: int, right: int) -> tuple[int, int]:
    """The item that set number j + 1 leaves out, and the one it has instead, counted from rank k to either side.

    The first is 1 for the k-th best item, the second 1 for the best item that is not among the k. This follows the text
    of the paper: a window of ``left`` ranks and one of ``right`` ranks, the latter moving on after ``left·right`` sets.

    Examples
    --------
    >>> [swap(j, 2, 3) for j in range(7)]
    [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (1, 4)]
    """
    return j // right % left + 1, j // (left * right) * right + j % right + 1


def printed_swap(j: int, left: int, right: int) -> tuple[int, int]:
    """The same by the formulas as printed, j from 1: they repeat pairs and leave the windows.

    Examples
    --------
    >>> [printed_swap(j, 2, 3) for j in range(1, 8)]
    [(1, 1), (1, 2), (1, 2), (1, 3), (1, 4), (1, 4), (2, 8)]
    """
    block = (j - 1) // right + 1
    return block - block // left, (j - 1) // (left * right) * right + j - j // right


def window_states(ratings: NDArray[np.float64], k: int, left: int, right: int) -> States:
    """The k best and every set that exchanges one of them, window after window.

    Parameters
    ----------
    ratings
        One user's completed row.
    k
        Number of items of a set.
    left, right
        Sizes of the windows (N₁ and N₂): how many of the k best can be left out, and how many of the others replace
        them before the window moves on. Windows that the list does not fill are left out, as in the paper.
    """
    _check(ratings, k)
    if not 1 <= left <= k or right < 1:
        raise UsageError(
            f"the windows must be 1 to k = {k} to the left and at least 1 to the right, got {left} and {right}."
        )
    order = np.argsort(-ratings, kind="stable")
    n = (ratings.size - k) // right * right * left
    pairs = np.array([swap(j, left, right) for j in range(n)], dtype=np.int64).reshape(n, 2)
    out, into = k - pairs[:, 0], k + pairs[:, 1] - 1
    members = np.tile(order[:k], (n + 1, 1))
    members[np.arange(1, n + 1), out] = order[into]
    ranked = ratings[order]
    gained = np.concatenate([[0.0], ranked[into] - ranked[out]])
    return States(np.sort(members, axis=1), math.fsum(ranked[:k]) + gained)


def all_states(ratings: NDArray[np.float64], k: int) -> States:
    """Every set of k items, the best first."""
    _check(ratings, k)
    if math.comb(ratings.size, k) > MOST_STATES:
        raise UsageError(f"there are {math.comb(ratings.size, k):,} sets of {k} of {ratings.size} items: too many.")
    sets = np.array(list(itertools.combinations(range(ratings.size), k)), dtype=np.int64)
    totals = ratings[sets].sum(axis=1)
    order = np.argsort(-totals, kind="stable")
    return States(sets[order], totals[order])


def _check(ratings: NDArray[np.float64], k: int) -> None:
    if ratings.ndim != 1 or not 1 <= k <= ratings.size:
        raise UsageError(f"k must be between 1 and the number of ratings in the row ({ratings.size:,}), got {k}.")
    if not np.isfinite(ratings).all():
        raise UsageError("a completed row has a rating for every item.", remedy="Leave out items without a prediction.")
