"""Compiled evaluation of product queries on a marginal: a product of short sums, one for each attribute."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["product_sums", "scatter_products"]


@njit(cache=True, nogil=True)
def _advance(place: NDArray[np.int64], ends: NDArray[np.int64], begins: NDArray[np.int64]) -> bool:
    """The next combination of terms, the last attribute first; False after the last one."""
    for axis in range(place.size - 1, -1, -1):
        place[axis] += 1
        if place[axis] < ends[axis]:
            return True
        place[axis] = begins[axis]
    return False


@njit(cache=True, nogil=True)
def product_sums(
    marginal: Any,
    chosen: NDArray[np.int64],
    starts: NDArray[np.int64],
    offsets: NDArray[np.int64],
    factors: NDArray[np.int64],
) -> Any:
    """Σ over the combinations of terms of Π factor × marginal[Σ offset], for each query.

    Parameters
    ----------
    marginal
        The flat marginal, summed up along the attributes that ask for it.
    chosen
        For each query and attribute the list of terms: its place in ``starts``.
    starts, offsets, factors
        The lists of terms one after the other; offsets are multiplied with the stride of their attribute.
    """
    sums = np.zeros(chosen.shape[0], dtype=marginal.dtype)
    axes = chosen.shape[1]
    place, begins, ends = np.empty(axes, np.int64), np.empty(axes, np.int64), np.empty(axes, np.int64)
    for query in range(chosen.shape[0]):
        for axis in range(axes):
            begins[axis], ends[axis] = starts[chosen[query, axis]], starts[chosen[query, axis] + 1]
        place[:] = begins
        total = marginal[0] * 0
        while True:
            cell, factor = 0, 1
            for axis in range(axes):
                cell += offsets[place[axis]]
                factor *= factors[place[axis]]
            total += factor * marginal[cell]
            if not _advance(place, ends, begins):
                break
        sums[query] = total
    return sums


@njit(cache=True, nogil=True)
def scatter_products(
    cells: int,
    coefficients: NDArray[np.float64],
    chosen: NDArray[np.int64],
    starts: NDArray[np.int64],
    offsets: NDArray[np.int64],
    factors: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The transpose: each query adds coefficient × Π factor at the cells of its combinations."""
    scattered = np.zeros(cells)
    axes = chosen.shape[1]
    place, begins, ends = np.empty(axes, np.int64), np.empty(axes, np.int64), np.empty(axes, np.int64)
    for query in range(chosen.shape[0]):
        for axis in range(axes):
            begins[axis], ends[axis] = starts[chosen[query, axis]], starts[chosen[query, axis] + 1]
        place[:] = begins
        while True:
            cell, factor = 0, 1
            for axis in range(axes):
                cell += offsets[place[axis]]
                factor *= factors[place[axis]]
            scattered[cell] += factor * coefficients[query]
            if not _advance(place, ends, begins):
                break
    return scattered
