"""Rankings by similarity, and what ties do to them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.neighbors.selection.lists import Block, Candidates
from discreet.privacy.published_draws import uniforms

__all__ = ["Ties", "count_splits", "rankings", "ranks_of", "splits", "tied_groups"]

Ties = Literal["random", "id"]
Integers = NDArray[np.int64]


def rankings(block: Block, *, ties: Ties) -> Integers:
    """Places of the candidates from the most similar to the least, in every row; who is absent comes last.

    Parameters
    ----------
    block
        The lists.
    ties
        "random": a fresh coin decides among equals. "id": the one that stands first in the list. Only equal numbers
        are equal: two ways to compute one similarity may differ in the last bit. A priority, where given, goes before.
    """
    columns = np.broadcast_to(np.arange(block.similarity.shape[1]), block.similarity.shape)
    last = uniforms(block.similarity.shape) if ties == "random" else columns
    keys = [last, -block.similarity] if block.priority is None else [last, -block.priority, -block.similarity]
    return np.lexsort([*keys, ~block.present], axis=1)


def ranks_of(rankings: Integers) -> Integers:
    """Rank, from 0, of the candidate at each place."""
    ranks = np.empty_like(rankings)
    columns = np.broadcast_to(np.arange(rankings.shape[1]), rankings.shape)
    np.put_along_axis(ranks, rankings, columns, axis=1)
    return ranks


def tied_groups(candidates: Candidates) -> list[list[int]]:
    """Candidates that nothing but the rule for ties tells apart, best group first."""
    priority = np.zeros(len(candidates)) if candidates.priority is None else candidates.priority
    keys = list(zip((-candidates.similarity).tolist(), (-priority).tolist(), strict=True))
    order = sorted(range(len(candidates)), key=lambda place: keys[place])
    return [list(group) for _, group in itertools.groupby(order, key=lambda place: keys[place])]


def splits(candidates: Candidates, cuts: Sequence[int], *, ties: Ties) -> Iterator[tuple[Integers, float]]:
    """Every ranking that differs in who stands on which side of the cuts, with its probability.

    Parameters
    ----------
    candidates
        One list.
    cuts
        Ranks before which the list is cut.
    ties
        As in ``rankings``.
    """
    if ties == "id":
        yield rankings(Block.of(candidates), ties="id")[0], 1.0
        return
    ways, begin = [], 0
    for group in tied_groups(candidates):
        inside = [cut - begin for cut in cuts if begin < cut < begin + len(group)]
        ways.append(list(_fillings(group, [b - a for a, b in itertools.pairwise([0, *inside, len(group)])])))
        begin += len(group)
    probability = 1 / math.prod(map(len, ways))
    for way in itertools.product(*ways):
        yield np.array(list(itertools.chain.from_iterable(way)), dtype=np.int64), probability


def count_splits(candidates: Candidates, cuts: Sequence[int], *, ties: Ties) -> int:
    """How many rankings ``splits`` has."""
    count, begin = 1, 0
    for group in tied_groups(candidates) if ties == "random" else []:
        inside = [cut - begin for cut in cuts if begin < cut < begin + len(group)]
        left = len(group)
        for size in (b - a for a, b in itertools.pairwise([0, *inside, len(group)])):
            count *= math.comb(left, size)
            left -= size
        begin += len(group)
    return count


def _fillings(group: list[int], sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every way to deal a tied group into consecutive cells of these sizes, whatever the order within a cell."""
    if len(sizes) == 1:
        yield tuple(group)
        return
    for first in itertools.combinations(group, sizes[0]):
        rest = [member for member in group if member not in first]
        for others in _fillings(rest, sizes[1:]):
            yield (*first, *others)
