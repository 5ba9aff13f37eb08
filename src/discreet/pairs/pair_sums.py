"""Common users of pairs of items, and how far apart they rate them: exact sums of the pairs that have any."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.common.arrays import AnyIntegers, Codes, Floats, Integers, Mask
from discreet.common.threads import available_threads, share_out
from discreet.data.ids import group_order
from discreet.data.interactions import Interactions

if TYPE_CHECKING:
    from discreet.pairs.pair_kernels import PairRecords

__all__ = ["PairSums", "Pairs", "pair_records", "pair_sums"]

ASKED = 256
"""So many people, or questions, are answered by a thread at a time."""

CELLS = 2**20
"""About so many sums are held open by a thread at a time."""


@dataclass(frozen=True, eq=False)
class PairSums:
    """Σ (x_i − x_j) and the number of common users, for each item i and each other j; pairs that have too few are left
    out.

    Attributes
    ----------
    starts
        The others of item ``i`` are those from ``starts[i]`` to ``starts[i + 1]`` of the next three, rising.
    others
        Codes of the items.
    differences
        Sums of differences in steps: whole numbers where ratings are on a scale with steps.
    counts
        Numbers of common users.
    step
        What a step is worth.
    """

    starts: Integers
    others: AnyIntegers
    differences: NDArray[Any]
    counts: AnyIntegers
    step: float

    @property
    def rows(self) -> Integers:
        """The item i of every entry."""
        return np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))


class Pairs(NamedTuple):
    """A number for each pair of items, with its weight, laid out for histories. Compiled loops take it whole.

    Attributes
    ----------
    starts, others
        As in ``PairSums``.
    values
        What item i says about the other j.
    weights
        How much it counts; empty where all count the same.
    """

    starts: Integers
    others: AnyIntegers
    values: Floats
    weights: NDArray[Any]

    def scores(self, starts: AnyIntegers, items: AnyIntegers, said: Floats) -> tuple[Floats, Floats]:
        """Of each history and item the sum of w·(value + said) over the history, and the sum of the w."""
        from discreet.pairs.pair_kernels import pair_scores

        people, touched = starts.astype(np.int64), items.astype(np.int32)
        sums, totals = (np.zeros((people.size - 1, self.starts.size - 1)) for _ in range(2))

        def work(_: int, part: slice) -> None:
            some = people[part.start : part.stop + 1]
            pair_scores(some, touched, said, self, sums[part], totals[part])

        share_out(work, _parts(people.size - 1), available_threads())
        return sums, totals

    def means(
        self, starts: AnyIntegers, items: AnyIntegers, said: Floats, row: Integers, item: Codes
    ) -> tuple[Floats, Floats]:
        """The same for some histories and items only."""
        from discreet.pairs.pair_kernels import pair_means

        people, touched = starts.astype(np.int64), items.astype(np.int32)
        sums, totals = np.zeros(item.size), np.zeros(item.size)

        def work(_: int, part: slice) -> None:
            pair_means(people, touched, said, self, row[part], item[part], sums[part], totals[part])

        share_out(work, _parts(item.size), available_threads())
        return sums, totals


def pair_sums(
    data: Interactions, *, minimum_overlap: int = 0, head: int | None = None, threads: int | None = None
) -> PairSums:
    """Sums over common users of all pairs that have more than the minimum of them.

    Parameters
    ----------
    data
        Records, one of each user and item; without ratings differences are 0.
    minimum_overlap
        Pairs with at most so many common users are left out.
    head
        Compare the items with the most records only, so many of them; None for all.
    threads
        How many to use; the result does not depend on it.

    Notes
    -----
    Memory goes by the pairs that are kept, 12 bytes for each side of one, and twice that while they are put together;
    there is no square matrix. Sums are whole numbers where ratings are on steps of a scale, so they are exact.

    Examples
    --------
    >>> rows = [("ann", "rum", 3.5), ("ann", "tea", 5), ("bob", "rum", 4.5), ("bob", "tea", 4)]
    >>> sums = pair_sums(Interactions(rows, scale="0.5:5:0.5"))
    >>> sums.differences * sums.step, sums.counts
    (array([-1.,  1.]), array([2, 2], dtype=int32))
    """
    from discreet.pairs.pair_kernels import add_pairs, mirror

    values, step = _in_steps(data)
    kept = _of_head(data, head)
    records = pair_records(data.user[kept], data.item[kept], values[kept], data.n_users, data.n_items)
    ones = np.ones(data.n_users, dtype=np.int32)
    n = data.n_items
    height = max(1, CELLS // max(n, 1))
    wide = values.dtype if values.dtype.kind == "f" else _whole_numbers(data)
    found: dict[int, tuple[NDArray[Any], ...]] = {}

    def work(_: int, first: int) -> None:
        shape = (min(height, n - first), n)
        differences, counts = np.zeros(shape, dtype=wide), np.zeros(shape, dtype=np.int32)
        add_pairs(first, records, ones, differences, counts)
        row, other = np.nonzero(counts > minimum_overlap)
        lengths = np.bincount(row, minlength=shape[0])
        found[first] = (lengths, other.astype(np.int32), differences[row, other], counts[row, other])

    share_out(work, range(0, n, height), available_threads(threads))
    blocks = [found.pop(first) for first in sorted(found)]
    lengths, others, differences, counts = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return PairSums(*mirror(starts, others, differences, counts), step=step)


def pair_records(user: Codes, item: Codes, values: NDArray[Any], n_users: int, n_items: int) -> PairRecords:
    """Records, sorted by user and item, laid out for the compiled loops."""
    from discreet.pairs.pair_kernels import PairRecords

    order, item_starts = group_order(item, n_items)
    return PairRecords(
        item_starts=item_starts,
        item_users=user[order],
        item_places=order,
        user_starts=np.searchsorted(user, np.arange(n_users + 1)).astype(np.int64),
        user_items=item.astype(np.uint32),
        values=values,
    )


def _of_head(data: Interactions, head: int | None) -> slice | Mask:
    """Records of the items that are compared."""
    if head is None or head >= data.n_items:
        return slice(None)
    among = np.zeros(data.n_items, dtype=bool)
    among[np.argsort(-data.records_per_item, kind="stable")[:head]] = True
    return among[data.item]


def _in_steps(data: Interactions) -> tuple[NDArray[Any], float]:
    """Ratings as whole numbers of steps above the low end where the scale has steps; differences do not care where a
    scale begins.
    """
    if data.rating is None:
        return np.zeros(len(data), dtype=np.int32), 1.0
    ratings = data.rating.astype(np.float64)
    if data.scale is not None and data.scale.step is not None:
        step = float(data.scale.step)
        return np.rint((ratings - float(data.scale.low)) / step).astype(np.int32), step
    return ratings, 1.0


def _whole_numbers(data: Interactions) -> type[np.int32] | type[np.int64]:
    """32 bits where every possible sum of steps fits."""
    scale = data.scale
    span = 1 if scale is None or scale.step is None else int(scale.width / scale.step)
    return np.int32 if data.n_users * span < 2**31 else np.int64


def _parts(size: int) -> list[slice]:
    return [slice(first, min(first + ASKED, size)) for first in range(0, size, ASKED)]
