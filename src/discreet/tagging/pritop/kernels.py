"""Compiled work on lists of tags, topic by topic."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from discreet.common.arrays import Integers, Matrix, Vector

__all__ = ["replaced", "revised_lists", "weight_matrix"]


@njit(cache=True, nogil=True)
def revised_lists(
    starts: Integers, tags: Integers, rank: Integers, sizes: Integers, ranking: Integers, n_tags: int
) -> tuple[Integers, Integers, Integers]:
    """Starts, tags and origins of the lists: see ``revise``.

    ``rank`` says how many tags of the same list are more probable; it is counted from the first entry of the topic.
    """
    most = 0
    for user in range(sizes.size):
        most += min(sizes[user], starts[user + 1] - starts[user] + ranking.size)
    new_starts = np.zeros(sizes.size + 1, dtype=np.int64)
    tag, origin = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    holder = np.full(n_tags, -1, dtype=np.int64)  # who was the last to have a tag in the list
    filled = 0
    for user in range(sizes.size):
        for entry in range(starts[user], starts[user + 1]):
            holder[tags[entry]] = user
            if rank[entry - starts[0]] < sizes[user]:
                tag[filled], origin[filled] = tags[entry], entry
                filled += 1
        missing = sizes[user] - (starts[user + 1] - starts[user])
        place = 0
        while missing > 0 and place < ranking.size:
            if holder[ranking[place]] != user:
                tag[filled], origin[filled] = ranking[place], -1
                filled += 1
                missing -= 1
            place += 1
        new_starts[user + 1] = filled
    return new_starts, tag[:filled], origin[:filled]


@njit(cache=True, nogil=True)
def _fill_weights(
    target: int,
    candidates: Integers,
    starts: Integers,
    column: Integers,
    value: Vector,
    value_log: Vector,
    rate: float,
    own: Matrix,
    weights: Vector,
) -> None:
    """exp(−rate·JS) of a target and each of the candidates, JS being of base 2.

    Where only one of two tags has a topic, the logarithm is log₂ 2 = 1; a common topic needs one logarithm, since
    p·log₂ p and q·log₂ q are at hand. ``own`` is room for p and p·log₂ p of the target; it is empty before and after.
    """
    for place in range(starts[target], starts[target + 1]):
        own[0, column[place]] = value[place]
        own[1, column[place]] = value_log[place]
    for j in range(candidates.size):
        both, alone = 0.0, 2.0
        for place in range(starts[candidates[j]], starts[candidates[j] + 1]):
            first = own[0, column[place]]
            if first > 0.0:
                total = first + value[place]
                both += own[1, column[place]] + value_log[place] - total * (math.log2(total) - 1.0)
                alone -= total
        weights[j] = math.exp(-rate * min(max((both + alone) / 2, 0.0), 1.0))
    for place in range(starts[target], starts[target + 1]):
        own[0, column[place]] = 0.0


@njit(cache=True, nogil=True)
def weight_matrix(
    tags: Integers, starts: Integers, column: Integers, value: Vector, value_log: Vector, n_topics: int, rate: float
) -> Matrix:
    """exp(−rate·JS) of each pair of tags."""
    weights = np.empty((tags.size, tags.size))
    own = np.zeros((2, n_topics))
    for i in range(tags.size):
        _fill_weights(tags[i], tags, starts, column, value, value_log, rate, own, weights[i])
    return weights


@njit(cache=True, nogil=True)
def _draw(weights: Vector, left: Integers, chance: float) -> int:
    """Take one of what is left, with probability proportional to its weight; −1 where nothing is."""
    total = 0.0
    for place in range(left.size):
        total += left[place] * weights[place]
    passed, last = 0.0, -1
    for place in range(left.size):
        if left[place] > 0:
            last = place
            passed += left[place] * weights[place]
            if passed > chance * total:
                break
    if last >= 0:
        left[last] -= 1
    return last


@njit(cache=True, nogil=True)
def replaced(
    list_starts: Integers,
    tags: Integers,
    candidates: Integers,
    own_lists: bool,
    starts: Integers,
    column: Integers,
    value: Vector,
    value_log: Vector,
    n_topics: int,
    rate: float,
    chance: Vector,
    slots: int,
) -> Integers:
    """Replace the lists of all users by candidates, without replacement inside a list; −1 where none is left.

    With ``own_lists`` a user's candidates are the tags of the list itself. Weights depend on the tag to be replaced and
    on nothing else, so they are kept for as many tags as there are slots; when these are used up, all are given free.
    """
    chosen = np.empty(tags.size, dtype=np.int64)
    weights = np.empty((slots, candidates.size))
    own = np.zeros((2, n_topics))
    slot_of = np.full(starts.size - 1, -1, dtype=np.int64)
    place_of = np.full(starts.size - 1, -1, dtype=np.int64)
    for place in range(candidates.size):
        place_of[candidates[place]] = place
    used = 0
    for user in range(list_starts.size - 1):
        left = np.full(candidates.size, 0 if own_lists else 1, dtype=np.int64)
        if own_lists:
            for entry in range(list_starts[user], list_starts[user + 1]):
                left[place_of[tags[entry]]] += 1
        for entry in range(list_starts[user], list_starts[user + 1]):
            tag = tags[entry]
            if slot_of[tag] < 0:
                if used == slots:
                    slot_of.fill(-1)
                    used = 0
                _fill_weights(tag, candidates, starts, column, value, value_log, rate, own, weights[used])
                slot_of[tag] = used
                used += 1
            place = _draw(weights[slot_of[tag]], left, chance[entry])
            chosen[entry] = candidates[place] if place >= 0 else -1
    return chosen
