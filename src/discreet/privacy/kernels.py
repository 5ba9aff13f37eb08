"""Compiled loops of selections. Import them inside the function that needs them: numba is heavy.

Nothing is drawn here: random words are handed in.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["decide_coins", "descend"]


@njit(cache=True, nogil=True)
def descend(
    order: NDArray[np.int64],
    starts: NDArray[np.int64],
    keys: NDArray[np.int32],
    n_keys: int,
    goal: int,
    length: int,
) -> NDArray[np.int64]:
    """Weights of all keys after every user, one after the other, has moved their own keys towards the goal.

    A user moves along the straight line to the point where all of the user's keys weigh ``goal``, by ``length`` at
    most. Whole numbers; steps are rounded towards zero.
    """
    weights = np.zeros(n_keys, dtype=np.int64)
    for user in order:
        first, last = starts[user], starts[user + 1]
        squared = 0.0
        for place in range(first, last):
            gap = float(goal - weights[keys[place]])
            squared += gap * gap
        distance = math.sqrt(squared)
        for place in range(first, last):
            key = keys[place]
            if distance <= length:
                weights[key] = goal
            else:
                weights[key] += np.int64(float(goal - weights[key]) * (length / distance))
    return weights


@njit(cache=True)
def _fill(scores: NDArray[np.uint64], rate: float, k: int, table: NDArray[np.float64]) -> None:
    """Row m, place q: e_q of the first m weights over the product of the first q of them; from 1 upwards for q ≤ m.

    Scores fall. Their differences are taken modulo 2^64, where they are exact, and become floats afterwards.
    """
    table[0, 0] = 1.0
    for q in range(1, k + 1):
        table[0, q] = 0.0
    for m in range(1, scores.size + 1):
        table[m, 0] = 1.0
        most = min(m, k)
        for q in range(1, most + 1):
            ratio = math.exp(-rate * np.float64(scores[q - 1] - scores[m - 1]))
            table[m, q] = table[m - 1, q] + ratio * table[m - 1, q - 1]
        for q in range(most + 1, k + 1):
            table[m, q] = 0.0


@njit(cache=True)
def decide_coins(
    scores: NDArray[np.uint64],
    words: NDArray[np.uint64],
    rate: float,
    bits: int,
    margin: float,
    tiny: float,
    table: NDArray[np.float64],
    chosen: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Flip the coins of each row in floating point until the set is complete or a coin is within the margin.

    Parameters
    ----------
    scores
        Users × candidates, each row falling; int64 seen as uint64.
    words
        The first ``bits`` bits of the uniform number of each candidate.
    margin, tiny
        Relative and absolute error allowed to a probability.
    table
        Room for (candidates + 1) × (k + 1) numbers.
    chosen
        Users × k: places of those that were taken, filled from the front.

    Returns
    -------
    int64 array
        For each user the number of candidates that were not yet asked when a coin was left open; 0 where none was.
    """
    users, size = scores.shape
    k = chosen.shape[1]
    unit = 2.0**-bits
    open_at = np.zeros(users, dtype=np.int64)
    for user in range(users):
        _fill(scores[user], rate, k, table)
        left = k
        for place in range(size, 0, -1):
            if left == place:
                for rest in range(place - 1, -1, -1):
                    chosen[user, k - left] = rest
                    left -= 1
                break
            ratio = math.exp(-rate * np.float64(scores[user, left - 1] - scores[user, place - 1]))
            chance = ratio * table[place - 1, left - 1] / table[place, left]
            word = np.float64(words[user, place - 1])
            if (word + 1.0) * unit <= chance * (1.0 - margin) - tiny:
                chosen[user, k - left] = place - 1
                left -= 1
                if left == 0:
                    break
            elif word * unit < chance * (1.0 + margin) + tiny:
                open_at[user] = place
                break
    return open_at
