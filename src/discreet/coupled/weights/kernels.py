"""Compiled multiplicative weights: an estimate bent towards a measured answer."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["bend", "inner"]


# Sums may be added up in any order, which lets them use wide registers; the order is that of the machine code, always.
REORDER = {"reassoc", "contract"}


@njit(cache=True, nogil=True, fastmath=REORDER)
def inner(estimate: NDArray[np.float64], weights: NDArray[np.uint16]) -> float:
    """What a query gives on the estimate, in grid steps."""
    found = 0.0
    for cell in range(estimate.size):
        found += estimate[cell] * weights[cell]
    return found


@njit(cache=True, nogil=True, fastmath=REORDER)
def bend(
    estimate: NDArray[np.float64],
    weights: NDArray[np.uint16],
    step: float,
    total: float,
    grid: int,
    all_or_nothing: bool,
) -> None:
    """Multiply each cell by exp(step × weight) and bring the sum back to ``total``, in place.

    Parameters
    ----------
    weights
        In grid steps, from 0 to ``grid``.
    all_or_nothing
        Whether there are no weights in between, so that one exponential does for all cells.
    """
    after = 0.0
    # Only ratios of cells matter. Falling ones cannot overflow: a rise of the chosen cells is a fall of the others.
    if all_or_nothing:
        fall = np.expm1(-abs(step)) / grid
        for cell in range(estimate.size):
            estimate[cell] *= 1.0 + fall * (weights[cell] if step < 0 else grid - weights[cell])
            after += estimate[cell]
    else:
        for cell in range(estimate.size):
            estimate[cell] *= np.exp(-abs(step) * ((weights[cell] if step < 0 else grid - weights[cell]) / grid))
            after += estimate[cell]
    scale = total / after
    for cell in range(estimate.size):
        estimate[cell] *= scale
