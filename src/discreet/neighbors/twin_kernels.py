"""Compiled steps of the similarity lists: one profile against all rows, and sorted lists that grow.

Every similarity, whichever kernel computes it, adds the products of the common entries in rising order of their
column, in 64-bit floating point without fast mathematics, and ends in the same ``_cosine``. So the similarity of two
rows has the same bits from either side and from either kernel, and may be compared with ``==``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from discreet.common.arrays import Codes, Floats, Integers

__all__ = ["by_columns", "by_rows", "settle_lists", "squared_norm"]

Starts = Integers


@njit(cache=True)
def _cosine(dot: float, left: float, right: float) -> float:
    """Cosine from a product and two squared norms; 0 where a norm is 0.

    One root of the product, not a product of roots: a row against itself then has similarity 1 and not nearly 1.
    """
    product = left * right
    return dot / np.sqrt(product) if product > 0.0 else 0.0


@njit(cache=True)
def squared_norm(ratings: Floats) -> float:
    total = 0.0
    for rating in ratings:
        total += rating * rating
    return total


@njit(cache=True)
def by_rows(
    own_columns: Codes,
    own_ratings: Floats,
    n_columns: int,
    starts: Starts,
    columns: Codes,
    ratings: Floats,
    norms: Floats,
    rows: Starts,
    corated: bool,
) -> Floats:
    """Similarity of a profile to the given rows: every rating of every such row is visited."""
    own = np.full(n_columns, np.nan)  # not 0: somebody may have rated 0
    own[own_columns] = own_ratings
    norm = squared_norm(own_ratings)
    similarities = np.empty(rows.size)
    for k in range(rows.size):
        row = rows[k]
        dot, left, right = 0.0, 0.0, 0.0
        for entry in range(starts[row], starts[row + 1]):
            mine = float(own[columns[entry]])
            if not np.isnan(mine):
                theirs = float(ratings[entry])
                dot += mine * theirs
                left += mine * mine
                right += theirs * theirs
        similarities[k] = _cosine(dot, left, right) if corated else _cosine(dot, norm, float(norms[row]))
    return similarities


@njit(cache=True)
def by_columns(
    own_columns: Codes,
    own_ratings: Floats,
    column_starts: Starts,
    column_rows: Codes,
    column_ratings: Floats,
    norms: Floats,
    n_rows: int,
    corated: bool,
) -> Floats:
    """Similarity of a profile to the first ``n_rows`` rows: only the ratings in the profile's columns are visited."""
    dot, left, right = np.zeros(n_rows), np.zeros(n_rows), np.zeros(n_rows)
    norm = squared_norm(own_ratings)
    for k in range(own_columns.size):
        mine = own_ratings[k]
        for entry in range(column_starts[own_columns[k]], column_starts[own_columns[k] + 1]):
            row, theirs = column_rows[entry], column_ratings[entry]
            dot[row] += mine * theirs
            left[row] += mine * mine
            right[row] += theirs * theirs
    for row in range(n_rows):
        dot[row] = _cosine(dot[row], left[row], right[row]) if corated else _cosine(dot[row], norm, norms[row])
    return dot


@njit(cache=True)
def settle_lists(
    rows: Starts, codes: Codes, values: Floats, reaches: Starts, waiting: Floats, n_settled: int, n_rows: int, most: int
) -> None:
    """Merge those who wait into the lists of the given rows.

    ``reaches[row]`` says that the row's list covers the codes below it. ``waiting[c − n_settled, row]`` is the
    similarity of the row to a later code ``c``. The merge goes from the back of the list and stops where the last
    of those who wait has found a place; beyond ``most`` nothing is kept.
    """
    arrivals, similarities = np.empty(n_rows - n_settled, dtype=np.int32), np.empty(n_rows - n_settled)
    for row in rows:
        reach = reaches[row]
        # Falling similarity, equals in order of arrival. They are few, so that the simplest sort is the fastest.
        for k in range(n_rows - reach):
            similarity, hole = waiting[reach + k - n_settled, row], k
            while hole > 0 and similarities[hole - 1] < similarity:
                arrivals[hole], similarities[hole] = arrivals[hole - 1], similarities[hole - 1]
                hole -= 1
            arrivals[hole], similarities[hole] = reach + k, similarity
        old, new = min(reach - 1, most) - 1, n_rows - reach - 1
        while new >= 0:
            place = old + new + 1
            # Among equals those who were there before stay in front: their codes are lower.
            if old >= 0 and values[row, old] < similarities[new]:
                if place < most:
                    codes[row, place], values[row, place] = codes[row, old], values[row, old]
                old -= 1
            else:
                if place < most:
                    codes[row, place], values[row, place] = arrivals[new], similarities[new]
                new -= 1
        reaches[row] = n_rows
