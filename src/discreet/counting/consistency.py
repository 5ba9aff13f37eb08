"""Post-processing of noisy counts: item counts that equal the sums of their edges, and counts that are not negative."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["consistent", "consistent_variances", "nonnegative", "nonnegative_rows"]


def consistent(
    items: NDArray[np.float64], edges: NDArray[np.float64], *, item_variance: float, edge_variance: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Item counts and edge counts of the same records, made consistent by least squares.

    An item's count and the sum of its h edges are two measurements of one number, with variances v₁ and h·v₂. The total
    is their inverse-variance mean; what it differs from the sum of the edges is shared equally among them, which is
    the least-squares solution for equal variances.

    Parameters
    ----------
    items, edges
        One noisy count an item; one row an item.
    item_variance, edge_variance
        Variances of the noise, of one item count and of one edge count.

    Examples
    --------
    >>> items, edges = consistent(np.array([10.0]), np.array([[2.0, 4.0]]), item_variance=2, edge_variance=1)
    >>> items.tolist(), edges.tolist()
    ([8.0], [[3.0, 5.0]])
    """
    width = edges.shape[1]
    trust = edge_variance * width / (item_variance + edge_variance * width)
    summed = edges.sum(axis=1)
    total = summed + trust * (items - summed)
    return total, edges + ((total - summed) / width)[:, None]


def consistent_variances(width: int, *, item_variance: float, edge_variance: float) -> tuple[float, float]:
    """What is left of the variances of an item's count and of each of its ``width`` edges after ``consistent``.

    Examples
    --------
    >>> consistent_variances(2, item_variance=2, edge_variance=1)
    (1.0, 0.75)
    """
    summed = width * edge_variance
    total = item_variance * summed / (item_variance + summed)
    return total, edge_variance + (total - summed) / width**2


def nonnegative(counts: NDArray[np.float64], total: float | None = None) -> NDArray[np.float64]:
    """The nearest counts, in Euclidean distance, that are nowhere negative and, where a total is given, add up to it.

    With a total this is the projection onto a simplex: one number is taken from all counts, and what falls below zero
    is set to zero.

    Examples
    --------
    >>> nonnegative(np.array([3.0, -1.0])).tolist()
    [3.0, 0.0]
    >>> nonnegative(np.array([3.0, 1.0, -2.0]), total=2.0).tolist()
    [2.0, 0.0, 0.0]
    """
    if total is None:
        return np.maximum(counts, 0)
    return nonnegative_rows(counts.reshape(1, -1), np.array([total])).reshape(counts.shape)


def nonnegative_rows(counts: NDArray[np.float64], totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same for every row, each with a total of its own.

    Examples
    --------
    >>> nonnegative_rows(np.array([[3.0, -1.0], [1.0, 1.0]]), np.array([2.0, 4.0])).tolist()
    [[2.0, 0.0], [2.0, 2.0]]
    """
    if not counts.size:
        return counts.copy()
    goal = np.maximum(totals, 0)[:, None]
    falling = -np.sort(-counts, axis=1)
    surplus = (np.cumsum(falling, axis=1) - goal) / np.arange(1, counts.shape[1] + 1)
    last = counts.shape[1] - 1 - np.argmax((falling > surplus)[:, ::-1], axis=1)
    taken = np.take_along_axis(surplus, last[:, None], axis=1)
    return np.where(goal > 0, np.maximum(counts - taken, 0), 0.0)
