"""Compiled loop of the policy that hands out weights. Import it inside the function that needs it: numba is heavy."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["descend"]


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
