"""Compiled work on one user after the other: nothing here lets one person's numbers depend on another's."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

__all__ = ["dot_products", "projected_rows", "ridge_solutions", "summed_rows", "unit_rows"]


@njit(cache=True)
def _fit_to_grid(row: NDArray[np.float64], norm: float, side: int) -> None:
    """Scale a row to the length ``side`` at most and round it towards zero, so that its squared length in whole
    numbers is certainly at most side²: where rounding errors of the division left it longer, it is shortened."""
    scale = side / norm
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
def projected_rows(
    starts: NDArray[np.int64],
    items: NDArray[np.int64],
    weights: NDArray[np.float64],
    direction: NDArray[np.float64],
    side: int,
) -> NDArray[np.float64]:
    """Each user's weights without their part along a direction, as whole numbers of squared length at most side².

    A user whose weights are all along the direction, or who has none, gets a row of zeros.
    """
    rows = np.zeros((starts.size - 1, direction.size))
    for user in prange(starts.size - 1):
        row = rows[user]
        along, length = 0.0, 0.0
        for place in range(starts[user], starts[user + 1]):
            weight = weights[items[place]]
            row[items[place]] = weight
            along += weight * direction[items[place]]
            length += weight * weight
        squared = 0.0
        for j in range(row.size):
            row[j] -= along * direction[j]
            squared += row[j] * row[j]
        if squared > 1e-9 * length:
            _fit_to_grid(row, np.sqrt(squared), side)
        else:
            row[:] = 0.0
    return rows


@njit(parallel=True, cache=True)
def unit_rows(
    starts: NDArray[np.int64], items: NDArray[np.int64], values: NDArray[np.float64], n_items: int, side: int
) -> NDArray[np.float64]:
    """Each user's values as whole numbers of squared length at most side²."""
    rows = np.zeros((starts.size - 1, n_items))
    for user in prange(starts.size - 1):
        row = rows[user]
        squared = 0.0
        for place in range(starts[user], starts[user + 1]):
            row[items[place]] = values[place]
            squared += values[place] * values[place]
        if squared > 1e-18:
            _fit_to_grid(row, np.sqrt(squared), side)
        else:
            row[:] = 0.0
    return rows


@njit(cache=True)
def _solve_in_place(matrix: NDArray[np.float64], side: NDArray[np.float64]) -> None:
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
def ridge_solutions(
    starts: NDArray[np.int64],
    items: NDArray[np.int64],
    targets: NDArray[np.float64],
    features: NDArray[np.float64],
    penalty: NDArray[np.float64],
) -> NDArray[np.float64]:
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


@njit(parallel=True, cache=True)
def summed_rows(
    starts: NDArray[np.int64], places: NDArray[np.int64], rows: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """For each person the sum of the rows at their places, and whether there were any; a place of −1 has no row.

    Sums of one person are added in one order whoever is asked for beside them, so answers do not depend on the company.
    """
    people = starts.size - 1
    sums = np.zeros((people, rows.shape[1]))
    any_of = np.zeros(people, dtype=np.bool_)
    for person in prange(people):
        for entry in range(starts[person], starts[person + 1]):
            if places[entry] >= 0:
                any_of[person] = True
                sums[person] += rows[places[entry]]
    return sums, any_of


@njit(parallel=True, cache=True)
def dot_products(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """left · rightᵀ, every entry added in one order."""
    products = np.zeros((left.shape[0], right.shape[0]))
    for row in prange(left.shape[0]):
        for other in range(right.shape[0]):
            total = 0.0
            for k in range(left.shape[1]):
                total += left[row, k] * right[other, k]
            products[row, other] = total
    return products
