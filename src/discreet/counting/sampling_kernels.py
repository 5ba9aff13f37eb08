"""Compiled loops that choose records of each user. Import it inside the function that needs it: numba is heavy."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["choose_best", "choose_uniform"]


@njit(cache=True, nogil=True)
def _below(word: np.uint64, bound: int) -> int:
    """A uniform whole number below ``bound`` from the upper 53 bits of a word: its bias is below bound/2⁵³."""
    return min(bound - 1, int(float(word >> np.uint64(11)) * 2.0**-53 * bound))


@njit(cache=True, nogil=True)
def _draw(places: NDArray[np.int64], many: int, words: NDArray[np.uint64], kept: NDArray[np.bool_]) -> int:
    """Keep a uniform choice of ``many`` of these places, none of which is kept yet; tells how many words it used.

    Floyd's way: one draw for each place of the smaller part. The mask itself is the set of what was drawn so far.
    """
    total = places.size
    invert = 2 * many > total
    draws = total - many if invert else many
    if invert:
        for place in places:
            kept[place] = True
    for step in range(draws):
        last = total - draws + step
        drawn = places[_below(words[step], last + 1)]
        if kept[drawn] != invert:
            drawn = places[last]
        kept[drawn] = not invert
    return draws


@njit(cache=True, nogil=True)
def choose_uniform(
    starts: NDArray[np.int64],
    users: NDArray[np.int64],
    cap: int,
    words: NDArray[np.uint64],
    kept: NDArray[np.bool_],
) -> None:
    """For each of these users, who all have more than ``cap`` records, keep a uniform choice of ``cap``.

    Parameters
    ----------
    words
        At least min(cap, records − cap) words a user.
    kept
        One entry a record, false on entry for these users.
    """
    used = 0
    for user in users:
        first, last = int(starts[user]), int(starts[user + 1])
        used += _draw(np.arange(first, last), cap, words[used:], kept)


@njit(cache=True, nogil=True)
def choose_best(
    starts: NDArray[np.int64],
    users: NDArray[np.int64],
    cap: int,
    item: NDArray[np.int32],
    score: NDArray[np.int64],
    words: NDArray[np.uint64],
    kept: NDArray[np.bool_],
) -> None:
    """As ``choose_uniform``, but keep the ``cap`` records whose items have the highest scores, ties at random.

    Records above the cap-th highest score are in, those at it share the room that is left.
    """
    most = 0
    for user in users:
        most = max(most, int(starts[user + 1] - starts[user]))
    scores, order, ties = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    used = 0
    for user in users:
        first = int(starts[user])
        total = int(starts[user + 1]) - first
        for at in range(total):
            scores[at] = order[at] = score[item[first + at]]
        threshold = _nth_highest(order[:total], cap)
        above = tied = 0
        for at in range(total):
            kept[first + at] = scores[at] > threshold
            above += scores[at] > threshold
            ties[tied] = first + at
            tied += scores[at] == threshold
        used += _draw(ties[:tied], cap - above, words[used:], kept)


@njit(cache=True, nogil=True)
def _nth_highest(values: NDArray[np.int64], n: int) -> int:
    """The n-th highest of the values, n from 1, which are put into another order: Hoare's selection.

    The pivot is the middle one of three, so that sorted values are no worst case.
    """
    target = values.size - n
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
