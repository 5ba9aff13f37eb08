"""A noisy popularity of items, released before something that depends on it."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.counting.cells import Cells
from discreet.counting.levels import within
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.budget import Budget
from discreet.privacy.method import Round

__all__ = ["head_of", "noisy_popularity", "of_items", "popularity_sums", "smoothed"]


def popularity_sums(cells: Cells, first: int, norm: int) -> BoundedSums:
    """Item counts in which each user weighs ``first`` records; of that squared length for norm 2.

    Weighing has the mean of drawing ``first`` records, and none of its variance.
    """
    sums = within(cells, "items", first, norm)
    return replace(sums, caps=tuple(f"for the popularity {phrase}" for phrase in sums.caps))


def noisy_popularity(public: Cells, first: int, budget: Budget) -> Generator[Round, Any, NDArray[np.float64]]:
    """A round that releases the popularity, in records."""
    released = yield Round(partial(popularity_sums, first=first, norm=budget.norm), budget.for_sums())
    return released.astype(np.float64) * float(popularity_sums(public, first, budget.norm).step)


def smoothed(popularity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares of popularity above 0 that add up to 1: max(p, 0) + 1, normalized.

    Examples
    --------
    >>> smoothed(np.array([7.0, -3.0, 0.0])).tolist()
    [0.8, 0.1, 0.1]
    """
    raised = np.maximum(popularity, 0) + 1
    return raised / raised.sum()


def head_of(popularity: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Codes of the ``size`` most popular items in the order of the catalog; ties go to the earlier item."""
    if not 1 <= size <= popularity.size:
        raise UsageError(f"the head must have between 1 and {popularity.size:,} items, got {size!r}.")
    return np.sort(np.argsort(-popularity, kind="stable")[:size])


def of_items(cells: Cells, codes: NDArray[np.int64]) -> Cells:
    """The records of some items, given in the order of the catalog, as cells of a catalog of these alone."""
    place = np.full(cells.n_items, -1, dtype=np.int32)
    place[codes] = np.arange(codes.size, dtype=np.int32)
    item = place[cells.item]
    kept = item >= 0
    return replace(cells, user=cells.user[kept], item=item[kept], place=cells.place[kept], n_items=codes.size)
