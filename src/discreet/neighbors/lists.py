"""Neighbor lists: of each entity the most similar others, best first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.common.arrays import Codes, Floats, Integers
from discreet.common.threads import share_out
from discreet.errors import UsageError
from discreet.neighbors.profiles import Profiles

if TYPE_CHECKING:
    from discreet.neighbors.kernels import Rule

__all__ = ["NeighborLists", "nearest"]

MOST_BYTES = 4 * 2**30  # of all lists together while they are made
ROWS = 32  # rows that a thread takes at a time


@dataclass(frozen=True)
class NeighborLists:
    """Of each entity the most similar others, best first.

    Attributes
    ----------
    indices : int32 array, one row an entity
        Codes of the neighbors; −1 where there are no more. Nobody is a neighbor of oneself, and nobody without the
        minimum of co-raters is.
    scores : float64 array
        Their similarities; 0 where there are no more.

    Examples
    --------
    >>> lists = NeighborLists(np.array([[1, -1], [0, -1]], dtype=np.int32), np.array([[0.5, 0], [0.5, 0]]))
    >>> lists.of(0)
    (array([1], dtype=int32), array([0.5]))
    """

    indices: Codes
    scores: Floats

    def __len__(self) -> int:
        return self.indices.shape[0]

    @property
    def k(self) -> int:
        """The most neighbors that a list can have."""
        return self.indices.shape[1]

    @property
    def sizes(self) -> Integers:
        """How many neighbors each entity has."""
        return np.count_nonzero(self.indices >= 0, axis=1)

    def of(self, code: int) -> tuple[Codes, Floats]:
        """Codes and similarities of the neighbors of one entity."""
        if not 0 <= code < len(self):
            raise UsageError(f"there is no list of {code}: the codes run from 0 to {len(self) - 1}.")
        size = int(np.count_nonzero(self.indices[code] >= 0))
        return self.indices[code, :size], self.scores[code, :size]


def nearest(profiles: Profiles, rule: Rule, order: Integers, width: int, threads: int) -> tuple[Floats, Codes]:
    """Scores and codes of the best candidates of each entity, best first."""
    from discreet.neighbors.list_kernels import EMPTY, merge, settle

    n = profiles.n
    rank = np.empty(n, dtype=np.int32)
    rank[profiles.position[order]] = np.arange(n, dtype=np.int32)
    # Every thread has lists of its own; where these would be large, there are fewer threads.
    threads = max(1, min(threads, MOST_BYTES // (12 * n * width + 1)))
    scores = [np.full((n, width), -np.inf) for _ in range(threads)]
    ranks = [np.full((n, width), EMPTY, dtype=np.int32) for _ in range(threads)]
    if width:
        _fill(profiles, rule, rank, scores, ranks)

    def finish(_: int, rows: slice) -> None:
        for other in range(1, threads):
            merge(scores[0][rows], ranks[0][rows], scores[other][rows], ranks[other][rows])
        settle(scores[0][rows], ranks[0][rows], order)

    share_out(finish, [slice(first, first + 1024) for first in range(0, n, 1024)], threads)
    return scores[0], ranks[0]


def _fill(profiles: Profiles, rule: Rule, rank: Codes, scores: list[Floats], ranks: list[Codes]) -> None:
    """Offer every pair with a common rater to the lists of both, in whichever thread's set."""
    from discreet.neighbors.kernels import SUMS
    from discreet.neighbors.list_kernels import EMPTY, LEAST, nearest_by_products, nearest_by_sums

    n, threads = profiles.n, len(scores)
    whole_numbers = profiles.value.dtype == np.uint8
    largest = max(profiles.squares.max(initial=0), np.diff(profiles.starts).max(initial=0))
    # Products of positive whole numbers: above 0 exactly where there is a common rater.
    if (
        rule.whole
        and rule.overlap == 1
        and not rule.shrinkage
        and whole_numbers
        and largest < 2**31
        and profiles.value.all()
    ):
        with np.errstate(divide="ignore"):
            inverse = np.where(profiles.squares > 0, 1 / np.sqrt(profiles.squares), 0).astype(np.float32)
        products = [np.zeros(n, dtype=np.int32) for _ in range(threads)]
        floors = np.full(n, LEAST, dtype=np.float32)

        def work(worker: int, rows: tuple[int, int]) -> None:
            nearest_by_products(
                *rows, profiles, rule, rank, inverse, products[worker], floors, scores[worker], ranks[worker]
            )
    else:
        # Whole numbers up to 2²⁴ are exact in 32 bits, and more of these fit into the cache.
        dtype = np.float32 if whole_numbers and largest <= 2**24 else np.float64
        sums = [np.zeros((n, SUMS), dtype=dtype) for _ in range(threads)]
        tops = [(np.full(n, -np.inf), np.full(n, EMPTY, dtype=np.int32)) for _ in range(threads)]

        def work(worker: int, rows: tuple[int, int]) -> None:
            nearest_by_sums(*rows, profiles, rule, rank, sums[worker], *tops[worker], scores[worker], ranks[worker])

    share_out(work, [(max(last - ROWS, 0), last) for last in range(n, 0, -ROWS)], threads)
