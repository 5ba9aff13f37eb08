"""A compiled loop that chooses records of each user. Import it inside the function that needs it: numba is heavy."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["choose_best"]


@njit(cache=True, nogil=True)
def choose_best(
    starts: NDArray[np.int64],
    cap: int,
    score: NDArray[np.int64],
    words: NDArray[np.uint64],
    chosen: NDArray[np.bool_],
) -> None:
    """For each user, who has more than ``cap`` records, choose the ``cap`` with the highest scores.

    Records above the cap-th highest score are in; of those at it the ones with the smallest words fill the room that is
    left. Equal words go by their order.

    Parameters
    ----------
    starts
        Records of the n-th user are those from ``starts[n]`` to ``starts[n + 1]``.
    chosen
        One entry a record, false on entry.
    """
    for user in range(starts.size - 1):
        first, last = starts[user], starts[user + 1]
        threshold = -_nth_smallest(-score[first:last], cap)
        above = 0
        for at in range(first, last):
            chosen[at] = score[at] > threshold
            above += chosen[at]
        tied = np.flatnonzero(score[first:last] == threshold) + first
        room = cap - above
        limit = _nth_smallest(words[tied], room)
        for at in tied:
            if words[at] < limit:
                chosen[at] = True
                room -= 1
        for at in tied:
            if words[at] == limit and room > 0:
                chosen[at] = True
                room -= 1


@njit(cache=True, nogil=True)
def _nth_smallest(given: NDArray, n: int):  # type: ignore[no-untyped-def, type-arg]
    """The n-th smallest of the values, n from 1: Hoare's selection.

    The pivot is the middle one of three, so that sorted values are no worst case.
    """
    values = given.copy()
    target = n - 1
    low, high = 0, values.size - 1
    while low < high:
        a, b, c = values[low], values[(low + high) // 2], values[high]
        pivot = max(min(a, b), min(max(a, b), c))
        left, right = low, high
        while left <= right:
            while values[left] < pivot:
                left += 1
            while values[right] > pivot:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left += 1
                right -= 1
        if target <= right:
            high = right
        elif target >= left:
            low = left
        else:
            return values[target]
    return values[target]
