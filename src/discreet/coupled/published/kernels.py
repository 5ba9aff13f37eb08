"""Compiled maximum over coupled rows, for one query after the other."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["largest_response"]


@njit(cache=True, nogil=True)
def largest_response(
    starts: NDArray[np.int64],
    cells: NDArray[np.int64],
    degrees: NDArray[np.float64],
    totals: NDArray[np.float64],
    cell_of_row: NDArray[np.int64],
    weights: NDArray[np.float64],
    largest: float,
) -> float:
    """max over the rows that respond of Σ degree × weight, not below the largest weight itself.

    Rows come in falling order of the sum of their degrees: once that sum times the largest weight is no more than
    what was found, the rest cannot be either.
    """
    found = largest
    for row in range(totals.size):
        if totals[row] * largest <= found:
            break
        if weights[cell_of_row[row]] > 0:
            total = 0.0
            for place in range(starts[row], starts[row + 1]):
                total += degrees[place] * weights[cells[place]]
            found = max(found, total)
    return found
