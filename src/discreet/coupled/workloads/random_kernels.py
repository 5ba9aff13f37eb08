"""Compiled evaluation of random queries: weights are made from a counter on the way, never stored.

The bits of query i over the cells 64w … 64w+63 are one word: the finalizer of SplitMix64 (G. Steele, D. Lea, C. Flood:
Fast splittable pseudorandom number generators. OOPSLA 2014) of the key of the query plus w golden ratios. Subset sums
of eight cells are looked up in a table of 256 that all queries of a block share: eight additions for 64 cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = [
    "query_key",
    "subset_combination",
    "subset_sums",
    "subset_weights",
    "weighted_combination",
    "weighted_sums",
    "weighted_weights",
]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FEW = 40
"""Number of queries from which the shared tables are cheaper than adding up bit by bit."""
BLOCK = 4096


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
def subset_weights(base: Any, query: int, cells: int) -> NDArray[np.bool_]:
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
def subset_combination(coefficients: NDArray[np.float64], base: Any, first: int, cells: int) -> NDArray[np.float64]:
    """Σ of the coefficients of the queries that count a cell, for each cell: the transpose, with the same tables."""
    combined = np.zeros(cells)
    tables = np.zeros((8, 256))
    keys = np.empty(coefficients.size, dtype=np.uint64)
    for query in range(coefficients.size):
        keys[query] = query_key(base, first + query)
    for place in range((cells + 63) // 64):
        tables[:] = 0.0
        for query in range(coefficients.size):
            word = _word(keys[query], place)
            for run in range(8):
                tables[run, word & np.uint64(255)] += coefficients[query]
                word >>= np.uint64(8)
        for cell in range(64 * place, min(64 * place + 64, cells)):
            run, bit = (cell % 64) // 8, cell % 8
            total = 0.0
            for subset in range(256):
                if (subset >> bit) & 1:
                    total += tables[run, subset]
            combined[cell] = total
    return combined


@njit(cache=True, nogil=True)
def _weight(word: Any, grid: int) -> Any:
    """A whole number from 0 to ``grid`` from the lowest 16 bits."""
    return ((np.int64(word & np.uint64(0xFFFF))) * (grid + 1)) >> 16


@njit(cache=True, nogil=True)
def weighted_weights(base: Any, query: int, cells: int, grid: int) -> NDArray[np.int64]:
    """Weights of one query, four cells a word."""
    weights = np.empty(cells, dtype=np.int64)
    key = query_key(base, query)
    for start in range(0, cells, 4):
        word = _word(key, start // 4)
        for cell in range(start, min(start + 4, cells)):
            weights[cell] = _weight(word, grid)
            word >>= np.uint64(16)
    return weights


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def weighted_combination(
    coefficients: NDArray[np.float64], base: Any, first: int, cells: int, grid: int
) -> NDArray[np.float64]:
    """Σ coefficient × weight (in grid steps) for each cell."""
    combined = np.zeros(cells)
    for query in range(coefficients.size):
        key = query_key(base, first + query)
        for start in range(0, cells, 4):
            word = _word(key, start // 4)
            for cell in range(start, min(start + 4, cells)):
                combined[cell] += coefficients[query] * _weight(word, grid)
                word >>= np.uint64(16)
    return combined
