"""What a strategy chooses from: one list of candidates, many lists, blocks of them as matrices; rankings and ties."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.common.arrays import Integers, Mask, Matrix, Vector
from discreet.errors import UsageError
from discreet.privacy.published_draws import uniforms

__all__ = [
    "Block",
    "CandidateLists",
    "Candidates",
    "Ties",
    "count_splits",
    "rankings",
    "ranks_of",
    "splits",
    "tied_groups",
]

Ties = Literal["random", "id"]

# A block holds about so many cells: large enough for numpy, small enough for the cache of a laptop.
CELLS = 2**21


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidates of one target. Strategies name them by their place in these arrays.

    Parameters
    ----------
    similarity
        Similarity of each candidate to the target.
    sensitivity
        RS of each pair, in the form that the strategy asks for; strategies without RS do without.
    """

    similarity: Vector
    sensitivity: Vector | None = None

    def __post_init__(self) -> None:
        _check_columns(self)

    def __len__(self) -> int:
        return self.similarity.size


@dataclass(frozen=True, eq=False)
class CandidateLists:
    """The candidates of many targets, one list after the other.

    Parameters
    ----------
    similarity, sensitivity
        As in ``Candidates``, all lists joined.
    starts
        Where each list begins, and at the end where the last one ends: one number more than there are lists.

    Examples
    --------
    >>> lists = CandidateLists(np.array([0.9, 0.5, 0.7]), np.array([0, 2, 3]))
    >>> len(lists), lists[1].similarity
    (2, array([0.7]))
    """

    similarity: Vector
    starts: Integers
    sensitivity: Vector | None = None

    def __post_init__(self) -> None:
        _check_columns(self)
        starts = np.asarray(self.starts, dtype=np.int64)
        if starts.ndim != 1 or starts.size == 0 or starts[0] != 0 or starts[-1] != self.similarity.size:
            raise UsageError(f"starts must run from 0 to the number of candidates, {self.similarity.size}.")
        if np.any(np.diff(starts) < 0):
            raise UsageError("starts must not fall: a list cannot end before it begins.")
        object.__setattr__(self, "starts", starts)

    @classmethod
    def of(cls, lists: Sequence[Candidates]) -> CandidateLists:
        """Join single lists; either all of them have a sensitivity or none."""
        if not lists:
            raise UsageError("there is no list of candidates to join.")
        given = [one.sensitivity for one in lists if one.sensitivity is not None]
        if given and len(given) < len(lists):
            raise UsageError("some lists have a sensitivity and some have none.")
        similarity = np.concatenate([one.similarity for one in lists])
        return cls(similarity, np.cumsum([0, *map(len, lists)]), np.concatenate(given) if given else None)

    def __len__(self) -> int:
        return self.starts.size - 1

    def __getitem__(self, place: int) -> Candidates:
        if not 0 <= place < len(self):
            raise IndexError(place)
        part = slice(int(self.starts[place]), int(self.starts[place + 1]))
        return Candidates(self.similarity[part], None if self.sensitivity is None else self.sensitivity[part])

    @property
    def sizes(self) -> Integers:
        return np.diff(self.starts)

    def blocks(self) -> Iterator[tuple[Integers, Block]]:
        """Lists of about equal length together as matrices, with the numbers of the lists."""
        by_size = np.argsort(self.sizes, kind="stable")
        widths = self.sizes[by_size].tolist()
        begin = 0
        while begin < len(widths):
            end = begin + 1
            # Sorted by size, so the last list of a block decides how wide it is.
            while end < len(widths) and (end + 1 - begin) * widths[end] <= CELLS:
                end += 1
            rows = by_size[begin:end]
            yield rows, self._block(rows)
            begin = end

    def _block(self, rows: Integers) -> Block:
        sizes = self.sizes[rows]
        columns = np.arange(int(sizes.max(initial=0)))
        present = columns < sizes[:, None]
        cells = np.where(present, self.starts[rows][:, None] + columns, 0)
        return Block(
            similarity=np.where(present, self.similarity[cells], -np.inf),
            present=present,
            sensitivity=None if self.sensitivity is None else np.where(present, self.sensitivity[cells], 0.0),
        )


@dataclass(frozen=True, eq=False)
class Block:
    """Lists as rows of a matrix, filled up on the right with candidates that are not ``present``.

    Parameters
    ----------
    similarity
        −∞ where nobody is present.
    sensitivity
        0 where nobody is present.
    """

    similarity: Matrix
    present: Mask
    sensitivity: Matrix | None

    @classmethod
    def of(cls, candidates: Candidates) -> Block:
        """A block of one row."""
        return CandidateLists.of([candidates])._block(np.zeros(1, dtype=np.int64))

    @property
    def sizes(self) -> Integers:
        return self.present.sum(axis=1)

    def ranked_similarity(self, rank: int) -> Vector:
        """Similarity at that rank, from 1, in every row: of the last one where there are fewer, 0 where is nobody."""
        rows, columns = self.similarity.shape
        if columns == 0:
            return np.zeros(rows)
        lowest = np.where(self.present, self.similarity, np.inf).min(axis=1)
        lowest = np.where(self.sizes > 0, lowest, 0.0)
        if rank > columns:
            return lowest
        at_rank = -np.partition(-self.similarity, rank - 1, axis=1)[:, rank - 1]
        return np.where(self.sizes >= rank, at_rank, lowest)


def _check_columns(given: Candidates | CandidateLists) -> None:
    for name in ("similarity", "sensitivity"):
        values = getattr(given, name)
        if values is None and name != "similarity":
            continue
        column = np.asarray(values, dtype=np.float64)
        object.__setattr__(given, name, column)
        if column.ndim != 1 or column.shape != given.similarity.shape:
            raise UsageError(f"{name} of shape {column.shape} does not fit {given.similarity.shape[0]} candidates.")
        if not np.isfinite(column).all() or (name == "sensitivity" and np.any(column < 0)):
            what = "finite numbers from 0" if name == "sensitivity" else "finite numbers"
            raise UsageError(f"{name} must consist of {what}.", remedy="Leave out pairs that have no similarity.")


# Rankings by similarity, and what ties do to them


def rankings(block: Block, *, ties: Ties) -> Integers:
    """Places of the candidates from the most similar to the least, in every row; who is absent comes last.

    Parameters
    ----------
    block
        The lists.
    ties
        "random": a fresh coin decides among equals. "id": the one that stands first in the list. Only equal numbers
        are equal: two ways to compute one similarity may differ in the last bit.
    """
    columns = np.broadcast_to(np.arange(block.similarity.shape[1]), block.similarity.shape)
    last = uniforms(block.similarity.shape) if ties == "random" else columns
    return np.lexsort([last, -block.similarity, ~block.present], axis=1)


def ranks_of(rankings: Integers) -> Integers:
    """Rank, from 0, of the candidate at each place."""
    ranks = np.empty_like(rankings)
    columns = np.broadcast_to(np.arange(rankings.shape[1]), rankings.shape)
    np.put_along_axis(ranks, rankings, columns, axis=1)
    return ranks


def tied_groups(candidates: Candidates) -> list[list[int]]:
    """Candidates that nothing but the rule for ties tells apart, best group first."""
    keys = (-candidates.similarity).tolist()
    order = sorted(range(len(candidates)), key=keys.__getitem__)
    return [list(group) for _, group in itertools.groupby(order, key=keys.__getitem__)]


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
