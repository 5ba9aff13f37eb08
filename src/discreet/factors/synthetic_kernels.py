"""Compiled drawing of histories of people who do not exist. Nothing here sees a record."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from discreet.common.arrays import Codes, Floats, Integers

__all__ = ["draw_histories"]

TRIES = 8
"""Draws that repeat an item are drawn again, so often for each item that is wanted; then the rest is drawn by keys."""


@njit(cache=True, inline="always")
def _next(state: np.uint64) -> np.uint64:
    return state + np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, inline="always")
def _uniform(state: np.uint64) -> float:
    """A number in (0, 1): the finalizer of SplitMix64."""
    word = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word = word ^ (word >> np.uint64(31))
    return (np.float64(word >> np.uint64(11)) + 0.5) * 2.0**-53


@njit(cache=True)
def _fill(
    items: Codes,
    taken: np.ndarray,
    weights: Floats,
    head: Codes,
    tail_running: Floats,
    tail: Codes,
    state: np.uint64,
) -> np.uint64:
    """Draw different items one after the other, each by its weight among those that are left."""
    running = np.empty(weights.size)
    total = 0.0
    for place in range(weights.size):
        total += weights[place]
        running[place] = total
    whole = total + (tail_running[-1] if tail_running.size else 0.0)
    found, tries = 0, 0
    while found < items.size and tries < TRIES * items.size + 64:
        tries += 1
        state = _next(state)
        point = _uniform(state) * whole
        if point < total or not tail.size:
            item = head[min(np.searchsorted(running, point, side="right"), head.size - 1)]
        else:
            item = tail[min(np.searchsorted(tail_running, point - total, side="right"), tail.size - 1)]
        if not taken[item]:
            taken[item] = True
            items[found] = item
            found += 1
    if found == items.size:
        return state
    # What is left has little weight: exponential keys give the same law without another try.
    keys = np.full(taken.size, np.inf)
    for place in range(head.size + tail.size):
        item = head[place] if place < head.size else tail[place - head.size]
        if taken[item]:
            continue
        state = _next(state)
        if place < head.size:
            weight = weights[place]
        else:
            other = place - head.size
            weight = tail_running[other] - (tail_running[other - 1] if other else 0.0)
        keys[item] = -np.log(_uniform(state)) / max(weight, 1e-300)
    order = np.argsort(keys)
    for place in range(items.size - found):
        items[found + place] = order[place]
        taken[order[place]] = True
    return state


@njit(parallel=True, cache=True)
def draw_histories(
    starts: Integers,
    liked: Integers,
    tastes: Floats,
    lean: float,
    offsets: Floats,
    other_offsets: Floats,
    head: Codes,
    tail_running: Floats,
    other_tail_running: Floats,
    tail: Codes,
    seeds: np.ndarray,
) -> Codes:
    """Items of each person: first those that are liked, then the others; all of one person are different.

    Parameters
    ----------
    starts, liked
        Where each person's items begin, and how many of them are liked.
    tastes
        A row for each person: what the person's taste adds to the offset of each item of the head.
    lean
        How much of that counts for items that are not liked.
    offsets, other_offsets
        Logarithms of the weights of the head, for likes and for others.
    tail_running, other_tail_running
        Running sums of the weights of the other items.
    seeds
        A word for each person.
    """
    items = np.empty(starts[-1], dtype=np.int32)
    for person in prange(liked.size):
        first, middle, last = starts[person], starts[person] + liked[person], starts[person + 1]
        taken = np.zeros(head.size + tail.size, dtype=np.bool_)
        weights = np.empty(head.size)
        state = seeds[person]
        for place in range(head.size):
            weights[place] = np.exp(min(max(offsets[place] + tastes[person, place], -60.0), 60.0))
        state = _fill(items[first:middle], taken, weights, head, tail_running, tail, state)
        if last > middle:
            for place in range(head.size):
                raised = other_offsets[place] + lean * tastes[person, place]
                weights[place] = np.exp(min(max(raised, -60.0), 60.0))
            _fill(items[middle:last], taken, weights, head, other_tail_running, tail, state)
    return items
