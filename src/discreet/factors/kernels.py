"""Compiled work on one user after the other: nothing here lets one person's numbers depend on another's."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from discreet.common.arrays import Codes, Floats, Integers, Mask

__all__ = [
    "all_scores",
    "best_by_votes",
    "best_of_one",
    "fit_to_grid",
    "projected_values",
    "ridge_rows",
    "ridge_solutions",
    "summed_rows",
    "unit_values",
]


@njit(cache=True)
def fit_to_grid(row: Floats, scale: float, side: int) -> None:
    """Scale a row and round it towards zero, so that its squared length in whole numbers is certainly at most side².

    A row that is longer, by rounding errors of the scale or by being scaled too far, is shortened until it is not.
    """
    while True:
        squared = 0
        for j in range(row.size):
            step = np.int64(row[j] * scale)
            squared += step * step
        if squared <= side * side:
            break
        scale *= 1 - 2.0**-30
    for j in range(row.size):
        row[j] = np.float64(np.int64(row[j] * scale))


@njit(parallel=True, cache=True)
def projected_values(
    starts: Integers, items: Integers, weights: Floats, direction: Integers, bits: int, side: int, longest: int
) -> Integers:
    """Each user's weights in whole steps x, so long that x − k·(k·x)/4^bits has a squared length of at most side².

    There is one weight for each record. The length without the direction k is |x|² − (k·x)²·(2·4^bits − |k|²)/16^bits.
    It is bounded in whole numbers, from above: what is divided is rounded down before it is taken off. Users whose x
    would be longer than side·longest are shorter; those without a finite length have zeros.
    """
    values = np.zeros(items.size, dtype=np.int64)
    off = 2 * 4**bits - (direction * direction).sum()
    for user in prange(starts.size - 1):
        first, last = starts[user], starts[user + 1]
        along, length = 0.0, 0.0
        for place in range(first, last):
            weight = weights[place]
            along += weight * direction[items[place]]
            length += weight * weight
        if not 0 < length < np.inf:
            continue
        left = max(length - along / 2.0 ** (2 * bits) * along / 2.0 ** (2 * bits) * off, length / longest**2)
        scale = side / np.sqrt(left)
        while True:
            squared, dot = 0, 0
            for place in range(first, last):
                step = np.int64(np.rint(weights[place] * scale))
                values[place] = step
                squared += step * step
                dot += step * direction[items[place]]
            taken = (((dot * dot) >> (2 * bits)) * off) >> (2 * bits)
            if squared <= (longest * side) ** 2 and squared - taken <= side * side:
                break
            scale *= 1 - 2.0**-12
    return values


@njit(parallel=True, cache=True)
def unit_values(starts: Integers, values: Floats, side: int) -> Integers:
    """Each user's values as whole numbers of squared length at most side²; zeros where they have no finite length."""
    steps = np.zeros(values.size, dtype=np.int64)
    for user in prange(starts.size - 1):
        row = values[starts[user] : starts[user + 1]].copy()
        squared = (row * row).sum()
        if 1e-18 < squared < np.inf:
            fit_to_grid(row, side / np.sqrt(squared), side)
            for place in range(row.size):
                steps[starts[user] + place] = np.int64(row[place])
    return steps


@njit(cache=True)
def _solve_in_place(matrix: Floats, side: Floats) -> None:
    """The solution of a positive definite system, by Cholesky; both arguments are overwritten.

    Written out, because a library may add up in another order on another day, and one person's numbers must depend on
    nothing but that person's records.
    """
    size = side.size
    for a in range(size):
        for b in range(a + 1):
            total = matrix[a, b]
            for k in range(b):
                total -= matrix[a, k] * matrix[b, k]
            matrix[a, b] = np.sqrt(total) if a == b else total / matrix[b, b]
    for a in range(size):
        for k in range(a):
            side[a] -= matrix[a, k] * side[k]
        side[a] /= matrix[a, a]
    for a in range(size - 1, -1, -1):
        for k in range(a + 1, size):
            side[a] -= matrix[k, a] * side[k]
        side[a] /= matrix[a, a]


@njit(parallel=True, cache=True)
def ridge_solutions(starts: Integers, items: Integers, targets: Floats, features: Floats, penalty: Floats) -> Floats:
    """For each user the θ that minimizes Σ (target − features[item]·θ)² + Σ penalty·θ²."""
    width = features.shape[1]
    solutions = np.zeros((starts.size - 1, width))
    for user in prange(starts.size - 1):
        matrix = np.diag(penalty)
        side = np.zeros(width)
        for place in range(starts[user], starts[user + 1]):
            row = features[items[place]]
            for a in range(width):
                side[a] += row[a] * targets[place]
                for b in range(width):
                    matrix[a, b] += row[a] * row[b]
        _solve_in_place(matrix, side)
        solutions[user] = side
    return solutions


@njit(cache=True)
def _add_rows(
    rows: NDArray[np.float32], places: Integers, strengths: Floats, first: int, last: int, own: int, sums: Floats
) -> bool:
    """Add the rows at places[first:last] to the sums, each as strong as it is; whether any is one of the first ``own``.

    Rows are read four at a time, so that the sums are read and written a quarter as often; the order of additions
    stays that of the places.
    """
    four, waiting, spoke = np.empty(4, dtype=np.int64), 0, False
    for entry in range(first, last):
        if places[entry] < 0:
            continue
        four[waiting], waiting, spoke = entry, waiting + 1, spoke or places[entry] < own
        if waiting == 4:
            a, b, c, d = rows[places[four[0]]], rows[places[four[1]]], rows[places[four[2]]], rows[places[four[3]]]
            p, q, r, s = strengths[four[0]], strengths[four[1]], strengths[four[2]], strengths[four[3]]
            for j in range(sums.size):
                sums[j] = (((sums[j] + p * a[j]) + q * b[j]) + r * c[j]) + s * d[j]
            waiting = 0
    for rest in range(waiting):
        row, strength = rows[places[four[rest]]], strengths[four[rest]]
        for j in range(sums.size):
            sums[j] += strength * row[j]
    return spoke


@njit(parallel=True, cache=True)
def summed_rows(
    starts: Integers, places: Integers, strengths: Floats, rows: NDArray[np.float32], own: int
) -> tuple[Floats, Mask]:
    """For each person the sum of the rows at their places, and whether there were any of the first ``own``.

    A place of −1 has no row. Sums of one person are added in one order whoever is asked for beside them, so answers do
    not depend on the company.
    """
    people = starts.size - 1
    sums = np.zeros((people, rows.shape[1]))
    any_of = np.zeros(people, dtype=np.bool_)
    for person in prange(people):
        first, last = starts[person], starts[person + 1]
        any_of[person] = _add_rows(rows, places, strengths, first, last, own, sums[person])
    return sums, any_of


@njit(cache=True, nogil=True)
def best_of_one(
    liked: Integers,
    strengths: Floats,
    hidden: Codes,
    votes: NDArray[np.float32],
    own: int,
    voted: Codes,
    place: Integers,
    order: Integers,
    level: Floats,
    below: Floats,
    allowed: Mask,
    n: int,
) -> tuple[Integers, Floats]:
    """The best n items of one person, as in ``best_by_votes``; ``hidden`` are the codes that are not to be shown."""
    codes, scores = np.full(n, -1), np.full(n, -np.inf)
    sums = np.zeros(voted.size)
    spoke = _add_rows(votes, liked, strengths, 0, liked.size, own, sums)
    found, bottom = 0, 0.0
    if spoke:
        bottom = min(0.0, sums.min()) - 1
        for item in hidden:
            if place[item] >= 0:
                sums[place[item]] = -np.inf
        for j in range(voted.size):
            # Equal scores stand in the order of the items: a later one does not pass.
            if allowed[voted[j]] and sums[j] > scores[n - 1]:
                at = min(found, n - 1)
                while at > 0 and scores[at - 1] < sums[j]:
                    codes[at], scores[at] = codes[at - 1], scores[at - 1]
                    at -= 1
                codes[at], scores[at] = voted[j], sums[j]
                found = min(found + 1, n)
    for item in order:
        if found == n:
            break
        if not allowed[item] or (spoke and place[item] >= 0):
            continue
        where = np.searchsorted(hidden, item)
        if where < hidden.size and hidden[where] == item:
            continue
        codes[found], scores[found] = item, bottom + below[item] if spoke else level[item]
        found += 1
    return codes, scores


@njit(parallel=True, cache=True)
def best_by_votes(
    starts: Integers,
    liked: Integers,
    strengths: Floats,
    seen_starts: Integers,
    seen: Codes,
    votes: NDArray[np.float32],
    own: int,
    voted: Codes,
    place: Integers,
    order: Integers,
    level: Floats,
    below: Floats,
    allowed: Mask,
    n: int,
) -> tuple[Integers, Floats]:
    """The best n items of each person, best first: codes, and −1 where there are fewer; and their scores.

    Items that votes are about score the sum of the votes at the person's places, as in ``summed_rows``; the others
    stand below all of them, in a given order. For somebody without a place among the first ``own`` everything stands in
    that order.

    Parameters
    ----------
    starts, liked, strengths
        Rows of votes for what each person likes, and how strongly; −1 for what has none.
    seen_starts, seen
        Codes of the items that each person is not to be shown, rising.
    votes, own, voted
        One column for each item that votes are about, and their codes, rising.
    place
        The column of each item; −1 for the others.
    order, level, below
        All items, best first; what each scores for somebody without any place; and, for others, above the lowest score
        of a vote, negative.
    allowed
        Which items may be shown at all.
    """
    people = starts.size - 1
    codes, scores = np.empty((people, n), dtype=np.int64), np.empty((people, n))
    for person in prange(people):
        codes[person], scores[person] = best_of_one(
            liked[starts[person] : starts[person + 1]],
            strengths[starts[person] : starts[person + 1]],
            seen[seen_starts[person] : seen_starts[person + 1]],
            votes,
            own,
            voted,
            place,
            order,
            level,
            below,
            allowed,
            n,
        )
    return codes, scores


# Alternating least squares


@njit(parallel=True, cache=True)
def ridge_rows(
    starts: Integers, columns: Codes, factors: Floats, gram: Floats, penalty: Floats, begin: Floats, steps: int
) -> Floats:
    """For each row r the x of (gram + Σ y yᵀ + penalty[r]·I) x = Σ y, the sums over the factors y of its columns.

    Conjugate gradients from ``begin[r]`` on: a few steps where the last sweep left a good start, about as many as
    there are factors where it is nothing.
    """
    n_rows, width = begin.shape
    solutions = np.empty((n_rows, width))
    for row in prange(n_rows):
        x = begin[row].copy()
        first, last = starts[row], starts[row + 1]
        rest = -_applied(first, last, columns, factors, gram, penalty[row], x)
        for place in range(first, last):
            y = factors[columns[place]]
            for a in range(width):
                rest[a] += y[a]
        along = rest.copy()
        size = np.sum(rest * rest)
        small = 1e-24 * (size + 1e-300)
        for _ in range(steps):
            if size <= small:
                break
            image = _applied(first, last, columns, factors, gram, penalty[row], along)
            steep = np.sum(along * image)
            if not steep > 0:
                # Numbers so small that their products are 0: to divide would stop everybody's fit.
                break
            length = size / steep
            before = size
            size = 0.0
            for a in range(width):
                x[a] += length * along[a]
                rest[a] -= length * image[a]
                size += rest[a] * rest[a]
            for a in range(width):
                along[a] = rest[a] + size / before * along[a]
        solutions[row] = x
    return solutions


@njit(cache=True)
def _applied(first: int, last: int, columns: Codes, factors: Floats, gram: Floats, penalty: float, x: Floats) -> Floats:
    """(gram + Σ y yᵀ + penalty·I) x."""
    width = x.size
    image = penalty * x
    for a in range(width):
        for b in range(width):
            image[b] += gram[a, b] * x[a]
    for place in range(first, last):
        y = factors[columns[place]]
        product = 0.0
        for a in range(width):
            product += y[a] * x[a]
        for a in range(width):
            image[a] += product * y[a]
    return image


@njit(parallel=True, cache=True)
def all_scores(people: Floats, factors: Floats) -> Floats:
    """people · factors, with the factors as columns; every row is added up in the same order."""
    scores = np.zeros((people.shape[0], factors.shape[1]))
    for row in prange(people.shape[0]):
        for a in range(people.shape[1]):
            weight = people[row, a]
            for column in range(factors.shape[1]):
                scores[row, column] += weight * factors[a, column]
    return scores
