"""Compiled loops of the neighbor lists: each pair is visited once, and offered to the lists of both its ends.

A list is a heap with its worst entry on top. An entry is a score and a rank: of two equal scores the lower rank is
the better one, and no two candidates have the same rank. So the best k are the same whatever the order of the offers.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.common.arrays import AnyFloats, AnyIntegers, Codes
from discreet.neighbors.kernels import Rule, add_row, look_ahead, pair_similarity, similarity_at
from discreet.neighbors.profiles import Profiles

__all__ = ["EMPTY", "merge", "nearest_by_products", "nearest_by_sums", "settle"]

EMPTY = np.iinfo(np.int32).max  # the rank of an entry that is not there; its score is −∞

BLOCK = 32  # scores that are compared at once
SLACK = np.float32(1 - 1e-6)  # 32-bit scores are right to 3e-7
LEAST = np.float32(1e-30)  # below every 32-bit score of a pair with a common rater, above 0


@njit(cache=True, nogil=True)
def nearest_by_products(
    first: int,
    last: int,
    profiles: Profiles,
    rule: Rule,
    rank: Codes,
    inverse: NDArray[np.float32],
    products: Codes,
    floors: NDArray[np.float32],
    scores: AnyFloats,
    ranks: Codes,
) -> None:
    """Full-vector cosines of positive values, of each position from ``first`` to ``last`` with all later ones.

    Only inner products are added; a product above 0 tells that there is a common rater. A quick score, in 32 bits and
    many at a time, tells which pairs may enter a list at all; only those are computed exactly.

    Parameters
    ----------
    rank
        Rank of the candidate at each position.
    inverse
        One over the norm of each position.
    products
        Room for one row, all 0 on entry and on return.
    floors
        Quick scores below this cannot enter the list of a position. All threads share them: whichever of them has k
        better ones, and whichever of two writes at a time wins, it is true.
    scores, ranks
        The heaps, one row a code.
    """
    # Popular entities first: their high similarities raise the floors early.
    for i in range(last - 1, first - 1, -1):
        if profiles.starts[i] == profiles.starts[i + 1]:
            continue
        _add_products(profiles, i, products)
        code, mine = profiles.code[i], inverse[i]
        for begin in range(i + 1, profiles.code.size, BLOCK):
            row = products[begin : begin + BLOCK]
            theirs, lows = inverse[begin : begin + BLOCK], floors[begin : begin + BLOCK]
            low = floors[i]
            hits = 0
            for at in range(row.size):
                hits += np.float32(row[at]) * mine * theirs[at] >= min(low, lows[at])
            if hits:
                for at in range(row.size):
                    quick = np.float32(row[at]) * mine * theirs[at]
                    if quick >= min(floors[i], lows[at]):
                        j = begin + at
                        score = pair_similarity(rule, 1, row[at], profiles.squares[i], profiles.squares[j])
                        if quick >= floors[i]:
                            offer(scores[code], ranks[code], score, rank[j])
                            floors[i] = max(floors[i], np.float32(scores[code, 0]) * SLACK)
                        if quick >= lows[at]:
                            other = profiles.code[j]
                            offer(scores[other], ranks[other], score, rank[i])
                            lows[at] = max(lows[at], np.float32(scores[other, 0]) * SLACK)
            row[:] = 0


@njit(cache=True, nogil=True)
def _add_products(profiles: Profiles, i: int, products: Codes) -> None:
    """Inner products of the entity at position ``i`` with all later ones."""
    end = profiles.starts[i + 1]
    for record in range(profiles.starts[i], end):
        look_ahead(profiles, record, end)
        place = profiles.place[record]
        last = profiles.rater_starts[profiles.rater[record] + 1]
        # Slices spare the check for negative indices in the innermost loop.
        others, values = profiles.entity[place + 1 : last], profiles.value[place + 1 : last]
        mine = np.int32(profiles.value[place])
        for other in range(others.size):
            products[others[other]] += mine * np.int32(values[other])


@njit(cache=True, nogil=True)
def nearest_by_sums(
    first: int,
    last: int,
    profiles: Profiles,
    rule: Rule,
    rank: Codes,
    sums: AnyFloats,
    floors: AnyFloats,
    floor_ranks: Codes,
    scores: AnyFloats,
    ranks: Codes,
) -> None:
    """Any similarity, of each position from ``first`` to ``last`` with all later ones; see ``nearest_by_products``."""
    for i in range(last - 1, first - 1, -1):
        if profiles.starts[i] == profiles.starts[i + 1]:
            continue
        add_row(profiles, i, False, sums)
        code = profiles.code[i]
        for j in range(i + 1, profiles.code.size):
            count = sums[j, 0]
            if count == 0:
                continue
            score = similarity_at(profiles, rule, sums, i, j)
            sums[j, 0] = sums[j, 1] = sums[j, 2] = sums[j, 3] = 0
            if count < rule.overlap:
                continue
            if _worse(floors[i], floor_ranks[i], score, rank[j]):
                offer(scores[code], ranks[code], score, rank[j])
                floors[i], floor_ranks[i] = scores[code, 0], ranks[code, 0]
            if _worse(floors[j], floor_ranks[j], score, rank[i]):
                other = profiles.code[j]
                offer(scores[other], ranks[other], score, rank[i])
                floors[j], floor_ranks[j] = scores[other, 0], ranks[other, 0]
        sums[i, :] = 0


@njit(cache=True, nogil=True)
def offer(scores: AnyFloats, ranks: Codes, score: float, rank: int) -> None:
    """Put an entry in the place of the worst one of a list, if it is better."""
    if _worse(score, rank, scores[0], ranks[0]):
        return
    _sift(scores, ranks, scores.size, score, rank)


@njit(cache=True, nogil=True)
def _sift(scores: AnyFloats, ranks: Codes, size: int, score: float, rank: int) -> None:
    """Put an entry on top of a heap whose top is free, and down to where it belongs."""
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and _worse(scores[child + 1], ranks[child + 1], scores[child], ranks[child]):
            child += 1
        if not _worse(scores[child], ranks[child], score, rank):
            break
        scores[hole], ranks[hole] = scores[child], ranks[child]
        hole = child
    scores[hole], ranks[hole] = score, rank


@njit(cache=True, nogil=True)
def _worse(score: float, rank: int, other_score: float, other_rank: int) -> bool:
    return score < other_score or (score == other_score and rank > other_rank)


@njit(cache=True, nogil=True)
def merge(scores: AnyFloats, ranks: Codes, other_scores: AnyFloats, other_ranks: Codes) -> None:
    """Offer the entries of other heaps to these, row by row."""
    for row in range(scores.shape[0]):
        for at in range(scores.shape[1]):
            if other_ranks[row, at] != EMPTY:
                offer(scores[row], ranks[row], other_scores[row, at], other_ranks[row, at])


@njit(cache=True, nogil=True)
def settle(scores: AnyFloats, ranks: Codes, code_of_rank: AnyIntegers) -> None:
    """Sort each heap, the best entry first, and name candidates by their codes; −1 and score 0 where there are none."""
    for row in range(scores.shape[0]):
        for size in range(scores.shape[1] - 1, 0, -1):
            score, rank = scores[row, size], ranks[row, size]
            scores[row, size], ranks[row, size] = scores[row, 0], ranks[row, 0]
            _sift(scores[row], ranks[row], size, score, rank)
        for at in range(scores.shape[1]):
            if ranks[row, at] == EMPTY:
                scores[row, at], ranks[row, at] = 0.0, -1
            else:
                ranks[row, at] = code_of_rank[ranks[row, at]]
