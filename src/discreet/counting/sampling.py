"""A bounded number of records of each user: chosen at random, or by the highest public scores of their items.

Every user is treated alone, given public values and a fresh key (``docs/proofs/counting.md``, Theorem 1). With one key
the choice for all users is that for any parts of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from discreet.counting.cells import Cells
from discreet.privacy import entropy
from discreet.privacy.choosing import Key

__all__ = ["best_records", "fresh_key", "random_records"]

MOST_RECORDS = 2**22
"""Records that are hashed at a time: some 100 MB of words."""


def fresh_key() -> Key:
    """A new key for one choice of records of all users."""
    return entropy.bounding_key()


def random_records(cells: Cells, cap: int, key: Key | None = None) -> NDArray[np.bool_]:
    """Mask of a uniform choice of ``cap`` records of each user; all of those who have no more.

    Examples
    --------
    >>> cells = Cells(np.zeros(5, np.int32), np.arange(5, dtype=np.int32), np.zeros(5, np.int32), 1, 5, (), False)
    >>> int(random_records(cells, 2).sum())
    2
    """
    return best_records(cells, cap, np.zeros(cells.n_items, dtype=np.int64), key)


def best_records(cells: Cells, cap: int, score: NDArray[np.int64], key: Key | None = None) -> NDArray[np.bool_]:
    """Mask of the ``cap`` records of each user whose items have the highest scores, ties uniformly at random.

    Parameters
    ----------
    score
        One whole number an item; public or released.
    key
        What decides among equal scores; a fresh one unless given.

    Examples
    --------
    >>> cells = Cells(np.zeros(5, np.int32), np.arange(5, dtype=np.int32), np.zeros(5, np.int32), 1, 5, (), False)
    >>> best_records(cells, 2, np.array([4, 0, 7, 5, 1])).tolist()
    [False, False, True, True, False]
    """
    from discreet.counting.sampling_kernels import choose_best

    key = fresh_key() if key is None else key
    kept = np.repeat(cells.records_per_user <= cap, cells.records_per_user)
    for rows, starts in _blocks(cells, cap):
        chosen = np.zeros(rows.size, dtype=np.bool_)
        choose_best(starts, cap, score[cells.item[rows]], cells.words(rows, key), chosen)
        kept[rows] = chosen
    return kept


def _blocks(cells: Cells, cap: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Records of users with more than the cap, some users at a time, and where each user's begin among them."""
    crowded = np.flatnonzero(cells.records_per_user > cap)
    sizes = cells.records_per_user[crowded]
    before = np.concatenate([[0], np.cumsum(sizes)])
    first = 0
    while first < crowded.size:
        # At least one user, however many records that takes.
        last = max(first + 1, int(np.searchsorted(before, before[first] + MOST_RECORDS, side="right")) - 1)
        starts = before[first : last + 1] - before[first]
        shift = cells.starts[crowded[first:last]] - starts[:-1]
        yield np.arange(starts[-1]) + np.repeat(shift, sizes[first:last]), starts
        first = last
