"""Compiled loops over the records of each user. Import it inside the function that needs it: numba is heavy."""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from discreet.common.arrays import Codes, Floats, Integers, Mask

__all__ = ["choose_best", "fill"]


@njit(cache=True, nogil=True)
def choose_best(starts: Integers, cap: int, score: Integers, words: NDArray[np.uint64], chosen: Mask) -> None:
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
        threshold = -np.partition(-score[first:last], cap - 1)[cap - 1]
        above = 0
        for at in range(first, last):
            chosen[at] = score[at] > threshold
            above += chosen[at]
        tied = np.flatnonzero(score[first:last] == threshold) + first
        room = cap - above
        limit = np.partition(words[tied], room - 1)[room - 1]
        for at in tied:
            if words[at] < limit:
                chosen[at] = True
                room -= 1
        for at in tied:
            if words[at] == limit and room > 0:
                chosen[at] = True
                room -= 1


@njit(parallel=True, cache=True)
def fill(starts: Integers, item: Codes, rank: Codes, score: Floats, allowance: int, bits: int, squared: bool) -> Codes:
    """Weights min(1, τ_u·e^score) of records in steps of 2^−bits, for each user with the τ_u that uses the allowance.

    With k items of the user at weight 1, the others share the rest in proportion to e^score. R_k = Σ_{j≥k} a_j
    e^(score_j − score_k), summed from the lowest score upwards, has terms of at most a_j: nothing overflows, and what
    underflows does not matter. An item is full as long as the rest of the allowance is at least R_k.

    Floating point decides how the allowance is divided, never how much it is: at the end the bound is checked in
    whole steps, and a user who is over it by rounding loses a step of every weight until it holds.

    Parameters
    ----------
    starts, item
        Records sorted by user and item; those of user u are from ``starts[u]`` to ``starts[u + 1]``.
    rank
        The place of each item in the order of falling scores.
    score
        Scores in that order.
    allowance
        A bound on Σ m·w over the items of a user with m records each; where ``squared``, on Σ (m·w)².
    """
    weight = np.empty(item.size, dtype=np.int32)
    unit = 1 << bits
    limit = allowance * unit * unit if squared else allowance * unit
    for user in prange(starts.size - 1):
        begin, end = starts[user], starts[user + 1]
        weight[begin:end] = unit
        if not squared and end - begin <= allowance:
            continue
        # Runs of one item, each packed with the rank of its item: sorting brings the highest scores to the front.
        runs = np.empty(end - begin + 1, dtype=np.int64)
        keys = np.empty(end - begin, dtype=np.int64)
        many = 0
        for record in range(begin, end):
            if record == begin or item[record] != item[record - 1]:
                runs[many] = record
                keys[many] = (np.int64(rank[item[record]]) << 32) | many
                many += 1
        runs[many] = end
        keys = np.sort(keys[:many])

        amount = np.empty(many, dtype=np.float64)
        total = 0.0
        for k in range(many):
            run = keys[k] & 0xFFFFFFFF
            repeats = float(runs[run + 1] - runs[run])
            amount[k] = repeats * repeats if squared else repeats
            total += amount[k]
        if total <= allowance:
            continue

        rest = np.empty(many, dtype=np.float64)
        rest[many - 1] = amount[many - 1]
        for k in range(many - 2, -1, -1):
            fall = score[keys[k + 1] >> 32] - score[keys[k] >> 32]
            rest[k] = amount[k] + rest[k + 1] * math.exp(fall)

        left = float(allowance)
        full = 0
        while full < many and left >= rest[full]:
            left -= amount[full]
            full += 1
        steps = np.full(many, unit, dtype=np.int64)
        for k in range(full, many):
            share = left * math.exp(score[keys[k] >> 32] - score[keys[full] >> 32]) / rest[full]
            steps[k] = min(unit, int((math.sqrt(share) if squared else share) * unit))

        while True:
            used = 0
            for k in range(many):
                run = keys[k] & 0xFFFFFFFF
                taken = (runs[run + 1] - runs[run]) * steps[k]
                used += taken * taken if squared else taken
            if used <= limit:
                break
            for k in range(many):
                steps[k] = max(0, steps[k] - 1)
        for k in range(many):
            run = keys[k] & 0xFFFFFFFF
            weight[runs[run] : runs[run + 1]] = steps[k]
    return weight
