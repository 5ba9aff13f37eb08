"""Compiled loops over pairs of items. Import it inside the function that needs it: numba is heavy.

The sums of ``neighbors/`` are symmetric: products, squares, counts. Slope One needs Σ (x_i − x_j), which none of them
is, so it has one loop of its own; whole numbers, weighed or not, for the plain and for the private models.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.common.arrays import AnyIntegers, Codes, Floats, Integers
from discreet.pairs.pair_sums import Pairs

__all__ = ["PairRecords", "add_pairs", "mirror", "pair_means", "pair_scores"]

Numbers = NDArray[Any]


class PairRecords(NamedTuple):
    """Records by item and by user. Arrays only: compiled loops take it whole.

    Attributes
    ----------
    item_starts
        Records of item ``i`` are those from ``item_starts[i]`` to ``item_starts[i + 1]`` of the next two.
    item_users
        Whose they are.
    item_places
        Where the same record stands among those by user.
    user_starts
        Records of user ``u`` are those from ``user_starts[u]`` to ``user_starts[u + 1]`` of the next two.
    user_items
        Items, rising within each user.
    values
        Ratings.
    """

    item_starts: Integers
    item_users: Codes
    item_places: Codes
    user_starts: Integers
    user_items: NDArray[np.uint32]
    values: Numbers


@njit(cache=True, nogil=True)
def add_pairs(
    first: int, records: PairRecords, weights: AnyIntegers, differences: Numbers, counts: AnyIntegers
) -> None:
    """Add Σ w·(x_i − x_j) and Σ w over common users, for the items i from ``first`` on that the sums have rows for.

    Only items j behind i are looked at: the sums of the others are these with the sign changed.
    """
    for row in range(counts.shape[0]):
        of_differences, of_counts = differences[row], counts[row]
        for entry in range(records.item_starts[first + row], records.item_starts[first + row + 1]):
            user, place = records.item_users[entry], records.item_places[entry]
            last = records.user_starts[user + 1]
            weight, mine = weights[user], records.values[place]
            # Slices spare the check for negative indices in the innermost loop.
            items, values = records.user_items[place + 1 : last], records.values[place + 1 : last]
            for other in range(items.size):
                j = items[other]
                of_differences[j] += weight * (mine - values[other])
                of_counts[j] += weight


@njit(cache=True, nogil=True)
def mirror(
    upper_starts: AnyIntegers, upper_others: AnyIntegers, upper_differences: Numbers, upper_counts: AnyIntegers
) -> tuple[Integers, AnyIntegers, Numbers, AnyIntegers]:
    """Both sides of every pair from one: first the others before an item, then those behind it, all rising."""
    n = upper_starts.size - 1
    fill = np.zeros(n, dtype=np.int64)
    for j in upper_others:
        fill[j] += 1
    starts = np.zeros(n + 1, dtype=np.int64)
    for i in range(n):
        starts[i + 1] = starts[i] + fill[i] + upper_starts[i + 1] - upper_starts[i]
        fill[i] = starts[i]
    others = np.empty(2 * upper_others.size, dtype=upper_others.dtype)
    differences = np.empty(2 * upper_others.size, dtype=upper_differences.dtype)
    counts = np.empty(2 * upper_others.size, dtype=upper_counts.dtype)
    for i in range(n):
        begin, end = upper_starts[i], upper_starts[i + 1]
        behind = starts[i + 1] - (end - begin)
        for entry in range(begin, end):
            j = upper_others[entry]
            place = behind + entry - begin
            others[place], differences[place], counts[place] = j, upper_differences[entry], upper_counts[entry]
            place = fill[j]
            fill[j] = place + 1
            others[place], differences[place], counts[place] = i, -upper_differences[entry], upper_counts[entry]
    return starts, others, differences, counts


@njit(cache=True, nogil=True)
def pair_scores(
    people: Integers, touched: AnyIntegers, said: Floats, pairs: Pairs, sums: Floats, totals: Floats
) -> None:
    """Add for each person and item the sum over the person's items k of w·(value + said), and of w; w is 1 without
    weights.

    Entries of item k are what it says about others. A person's sums are added in the order of the person's items,
    whoever is asked for beside them.
    """
    starts, others, values, weights = pairs
    for person in range(people.size - 1):
        of_sums, of_totals = sums[person], totals[person]
        for record in range(people[person], people[person + 1]):
            k = touched[record]
            for entry in range(starts[k], starts[k + 1]):
                weight = float(weights[entry]) if weights.size else 1.0
                of_sums[others[entry]] += weight * (values[entry] + said[record])
                of_totals[others[entry]] += weight


@njit(cache=True, nogil=True)
def pair_means(
    people: Integers,
    touched: AnyIntegers,
    said: Floats,
    pairs: Pairs,
    who: Integers,
    item: AnyIntegers,
    sums: Floats,
    totals: Floats,
) -> None:
    """The numbers of ``pair_scores`` for some people and items only, to the last bit."""
    starts, others, values, weights = pairs
    for question in range(item.size):
        wanted = item[question]
        for record in range(people[who[question]], people[who[question] + 1]):
            k = touched[record]
            low, high = starts[k], starts[k + 1]
            while low < high:
                middle = (low + high) // 2
                if others[middle] < wanted:
                    low = middle + 1
                else:
                    high = middle
            if low < starts[k + 1] and others[low] == wanted:
                weight = float(weights[low]) if weights.size else 1.0
                sums[question] += weight * (values[low] + said[record])
                totals[question] += weight
