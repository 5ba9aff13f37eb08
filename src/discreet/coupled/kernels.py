"""Compiled loops: random queries, multiplicative weights, the largest response of coupled rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.common.arrays import Floats, Integers, Mask

__all__ = [
    "bend",
    "inner",
    "largest_response",
    "query_key",
    "subset_sums",
    "subset_weights",
    "weighted_sums",
    "weighted_weights",
]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)

FEW = 40
"""Number of queries from which the shared tables are cheaper than adding up bit by bit."""

BLOCK = 4096

# Sums may be added up in any order, which lets them use wide registers; the order is that of the machine code, always.
REORDER = {"reassoc", "contract"}


@njit(cache=True, nogil=True)
def _mix(word: Any) -> Any:
    word = np.uint64(word)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@njit(cache=True, nogil=True)
def query_key(base: Any, query: int) -> Any:
    """The key of a query: seed and number, each mixed, so that neither seeds nor queries next to each other meet."""
    return _mix(_mix(np.uint64(base) + GOLDEN) ^ _mix(np.uint64(query) * GOLDEN + np.uint64(1)))


@njit(cache=True, nogil=True)
def _word(key: Any, place: int) -> Any:
    return _mix(key + np.uint64(place) * GOLDEN)


@njit(cache=True, nogil=True)
def subset_weights(base: Any, query: int, cells: int) -> Mask:
    """Which cells one query counts."""
    inside = np.empty(cells, dtype=np.bool_)
    key = query_key(base, query)
    for start in range(0, cells, 64):
        word = _word(key, start // 64)
        for cell in range(start, min(start + 64, cells)):
            inside[cell] = word & np.uint64(1)
            word >>= np.uint64(1)
    return inside


@njit(cache=True, nogil=True)
def _fill_tables(tables: Any, histogram: Any, start: int) -> None:
    """Subset sums of each of the eight runs of eight cells from ``start``; cells beyond the end count 0."""
    for run in range(8):
        tables[run, 0] = 0
        size = 1
        for bit in range(8):
            cell = start + 8 * run + bit
            value = histogram[cell] if cell < histogram.size else histogram[0] * 0
            for subset in range(size):
                tables[run, size + subset] = tables[run, subset] + value
            size *= 2


@njit(cache=True, nogil=True)
def subset_sums(histogram: Any, base: Any, first: int, queries: int) -> Any:
    """Counts inside each of the queries first … first + queries − 1."""
    sums = np.zeros(queries, dtype=histogram.dtype)
    words = (histogram.size + 63) // 64
    if queries < FEW:
        for query in range(queries):
            key = query_key(base, first + query)
            for place in range(words):
                word = _word(key, place)
                total = histogram[0] * 0
                for cell in range(64 * place, min(64 * place + 64, histogram.size)):
                    if word & np.uint64(1):
                        total += histogram[cell]
                    word >>= np.uint64(1)
                sums[query] += total
        return sums
    tables = np.zeros((8, 256), dtype=histogram.dtype)
    keys = np.empty(min(queries, BLOCK), dtype=np.uint64)
    byte = np.uint64(255)
    for begin in range(0, queries, BLOCK):
        size = min(BLOCK, queries - begin)
        for query in range(size):
            keys[query] = query_key(base, first + begin + query)
        for place in range(words):
            _fill_tables(tables, histogram, 64 * place)
            for query in range(size):
                word = _word(keys[query], place)
                sums[begin + query] += (
                    (tables[0, word & byte] + tables[1, (word >> np.uint64(8)) & byte])
                    + (tables[2, (word >> np.uint64(16)) & byte] + tables[3, (word >> np.uint64(24)) & byte])
                ) + (
                    (tables[4, (word >> np.uint64(32)) & byte] + tables[5, (word >> np.uint64(40)) & byte])
                    + (tables[6, (word >> np.uint64(48)) & byte] + tables[7, word >> np.uint64(56)])
                )
    return sums


@njit(cache=True, nogil=True)
def _weight(word: Any, grid: int) -> Any:
    """A whole number from 0 to ``grid`` from the lowest 16 bits."""
    return ((np.int64(word & np.uint64(0xFFFF))) * (grid + 1)) >> 16


@njit(cache=True, nogil=True)
def weighted_weights(base: Any, query: int, cells: int, grid: int) -> Integers:
    """Weights of one query, four cells a word."""
    weights = np.empty(cells, dtype=np.int64)
    key = query_key(base, query)
    for start in range(0, cells, 4):
        word = _word(key, start // 4)
        for cell in range(start, min(start + 4, cells)):
            weights[cell] = _weight(word, grid)
            word >>= np.uint64(16)
    return weights


@njit(cache=True, nogil=True, fastmath=REORDER)
def weighted_sums(histogram: Any, base: Any, first: int, queries: int, grid: int) -> Any:
    """Σ weight × count of each query, in grid steps."""
    sums = np.zeros(queries, dtype=histogram.dtype)
    for query in range(queries):
        key = query_key(base, first + query)
        total = histogram[0] * 0
        whole = histogram.size // 4
        for place in range(whole):
            word = _word(key, place)
            total += (
                _weight(word, grid) * histogram[4 * place]
                + _weight(word >> np.uint64(16), grid) * histogram[4 * place + 1]
            ) + (
                _weight(word >> np.uint64(32), grid) * histogram[4 * place + 2]
                + _weight(word >> np.uint64(48), grid) * histogram[4 * place + 3]
            )
        word = _word(key, whole)
        for cell in range(4 * whole, histogram.size):
            total += _weight(word, grid) * histogram[cell]
            word >>= np.uint64(16)
        sums[query] = total
    return sums


@njit(cache=True, nogil=True, fastmath=REORDER)
def inner(estimate: Floats, weights: NDArray[np.uint16]) -> float:
    """What a query gives on the estimate, in grid steps."""
    found = 0.0
    for cell in range(estimate.size):
        found += estimate[cell] * weights[cell]
    return found


@njit(cache=True, nogil=True, fastmath=REORDER)
def bend(
    estimate: Floats, weights: NDArray[np.uint16], step: float, total: float, grid: int, all_or_nothing: bool
) -> None:
    """Multiply each cell by exp(step × weight) and bring the sum back to ``total``, in place. Weights are in grid
    steps.

    Where there are no weights in between (``all_or_nothing``), one exponential does for all cells.
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


@njit(cache=True, nogil=True)
def largest_response(
    starts: Integers,
    cells: Integers,
    degrees: Floats,
    totals: Floats,
    cell_of_row: Integers,
    weights: Floats,
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
