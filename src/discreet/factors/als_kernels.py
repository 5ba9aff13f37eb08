"""Compiled steps of alternating least squares: one row after the other, so that no row depends on its companions."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from discreet.common.splitmix import GOLDEN, splitmix

__all__ = ["all_scores", "fixed_normals", "ridge_rows"]


@njit(parallel=True, cache=True)
def ridge_rows(
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    factors: NDArray[np.float64],
    gram: NDArray[np.float64],
    penalty: NDArray[np.float64],
    begin: NDArray[np.float64],
    steps: int,
) -> NDArray[np.float64]:
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
def _applied(
    first: int,
    last: int,
    columns: NDArray[np.int32],
    factors: NDArray[np.float64],
    gram: NDArray[np.float64],
    penalty: float,
    x: NDArray[np.float64],
) -> NDArray[np.float64]:
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
def all_scores(people: NDArray[np.float64], factors: NDArray[np.float64]) -> NDArray[np.float64]:
    """people · factors, with the factors as columns; every row is added up in the same order."""
    scores = np.zeros((people.shape[0], factors.shape[1]))
    for row in prange(people.shape[0]):
        for a in range(people.shape[1]):
            weight = people[row, a]
            for column in range(factors.shape[1]):
                scores[row, column] += weight * factors[a, column]
    return scores


def fixed_normals(rows: int, width: int) -> NDArray[np.float64]:
    """Numbers that look independent and normal and are always the same: where a search may begin.

    Quantiles of the finalizer of splitmix64, applied to the places of the matrix.
    """
    from scipy.special import ndtri

    words = splitmix(np.arange(1, rows * width + 1, dtype=np.uint64) * np.uint64(GOLDEN))
    uniform = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    return ndtri(uniform).reshape(rows, width)
