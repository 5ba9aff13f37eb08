"""Compiled sums of user contributions to Gram matrices, in whole numbers."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from discreet.common.arrays import Codes, Integers

__all__ = ["gram_sums", "outer_sums"]


@njit(parallel=True, cache=True)
def gram_sums(
    item_starts: Integers,
    item_users: Codes,
    item_places: Integers,
    user_starts: Integers,
    user_items: Codes,
    values: Integers,
    weights: Integers,
    one: int,
) -> tuple[Integers, Integers]:
    """Upper triangles of Σ_u w_u·x_i x_j and Σ_u w_u·one over the items of each user.

    A row of the result belongs to one thread: the item's raters are visited one after the other, and of each the items
    from this one on. ``item_places`` tells where a rater's record of the item stands among the records by user.
    """
    n_items = item_starts.size - 1
    products = np.zeros((n_items, n_items), dtype=np.int64)
    counts = np.zeros((n_items, n_items), dtype=np.int64)
    for i in prange(n_items):
        for entry in range(item_starts[i], item_starts[i + 1]):
            user = item_users[entry]
            place = item_places[entry]
            weight = weights[user]
            x = weight * values[place]
            for other in range(place, user_starts[user + 1]):
                j = user_items[other]
                products[i, j] += x * values[other]
                counts[i, j] += weight * one
    return products, counts


@njit(parallel=True, cache=True)
def outer_sums(
    item_starts: Integers,
    item_users: Codes,
    item_places: Integers,
    user_starts: Integers,
    user_items: Integers,
    values: Integers,
) -> Integers:
    """The upper triangle of Σ_u x_i x_j over the items of each user; rows belong to threads as in ``gram_sums``.

    The work is Σ_u n_u², whatever the number of items is.
    """
    n_items = item_starts.size - 1
    total = np.zeros((n_items, n_items), dtype=np.int64)
    for i in prange(n_items):
        for entry in range(item_starts[i], item_starts[i + 1]):
            place = item_places[entry]
            x = values[place]
            for other in range(place, user_starts[item_users[entry] + 1]):
                total[i, user_items[other]] += x * values[other]
    return total
