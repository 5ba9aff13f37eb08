"""Choosing at most so many records of each user: at random, or those of the items with the highest public scores.

Every user is treated alone, given public values (``docs/proofs/counting.md``, Theorem 1).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from discreet.counting.cells import Cells
from discreet.privacy import entropy

__all__ = ["best_records", "random_records"]

MOST_WORDS = 2**22
"""Random words that are drawn at a time: 32 MB."""


def random_records(cells: Cells, cap: int) -> NDArray[np.bool_]:
    """Mask of a uniform choice of ``cap`` records of each user; all of those who have no more.

    Examples
    --------
    >>> cells = Cells(np.zeros(5, np.int32), np.arange(5, dtype=np.int32), np.zeros(5, np.int32), 1, 5, (), False)
    >>> int(random_records(cells, 2).sum())
    2
    """
    from discreet.counting.sampling_kernels import choose_uniform

    kept = _uncrowded(cells, cap)
    for users, words in _blocks(cells, cap):
        choose_uniform(cells.starts, users, cap, words, kept)
    return kept


def best_records(cells: Cells, cap: int, score: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mask of the ``cap`` records of each user whose items have the highest scores, ties uniformly at random.

    Parameters
    ----------
    score
        One whole number an item; public or released.

    Examples
    --------
    >>> cells = Cells(np.zeros(5, np.int32), np.arange(5, dtype=np.int32), np.zeros(5, np.int32), 1, 5, (), False)
    >>> best_records(cells, 2, np.array([4, 0, 7, 5, 1])).tolist()
    [False, False, True, True, False]
    """
    from discreet.counting.sampling_kernels import choose_best

    kept = _uncrowded(cells, cap)
    for users, words in _blocks(cells, cap):
        choose_best(cells.starts, users, cap, cells.item, score, words, kept)
    return kept


def _uncrowded(cells: Cells, cap: int) -> NDArray[np.bool_]:
    """Records of users who have no more than the cap."""
    return np.repeat(cells.records_per_user <= cap, cells.records_per_user)


def _blocks(cells: Cells, cap: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint64]]]:
    """Users with more records than the cap, some at a time, with as many random words as their choices can need."""
    crowded = np.flatnonzero(cells.records_per_user > cap)
    need = np.minimum(cap, cells.records_per_user[crowded] - cap)
    before = np.concatenate([[0], np.cumsum(need)])
    first = 0
    while first < crowded.size:
        # At least one user, however many words that takes: never more than half a word for each record.
        last = max(first + 1, int(np.searchsorted(before, before[first] + MOST_WORDS, side="right")) - 1)
        yield crowded[first:last], entropy.random_words(int(before[last] - before[first]))
        first = last
