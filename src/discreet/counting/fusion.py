"""After the release: counts that agree with each other, and counts that could be counts. All of it is free."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["fuse", "nonnegative"]


def fuse(
    items: NDArray[np.float64], edges: NDArray[np.float64], *, item_variance: float, edge_variance: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Item counts and edge counts of the same records, made consistent by least squares.

    An item's count and the sum of its h edges are two measurements of one number, with variances v₁ and h·v₂. The
    best total weighs them inversely; what it differs from the sum of the edges is shared equally among them, which is
    the least-squares solution for equal variances.

    Parameters
    ----------
    items, edges
        One noisy count an item; one row an item.
    item_variance, edge_variance
        Variances of the noise, of one item count and of one edge count.

    Examples
    --------
    >>> items, edges = fuse(np.array([10.0]), np.array([[2.0, 4.0]]), item_variance=2, edge_variance=1)
    >>> items.tolist(), edges.tolist()
    ([8.0], [[3.0, 5.0]])
    """
    width = edges.shape[1]
    trust = edge_variance * width / (item_variance + edge_variance * width)
    summed = edges.sum(axis=1)
    total = summed + trust * (items - summed)
    return total, edges + ((total - summed) / width)[:, None]


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
    if total <= 0:
        return np.zeros_like(counts)
    flat = np.sort(counts, axis=None)[::-1]
    surplus = (np.cumsum(flat) - total) / np.arange(1, flat.size + 1)
    return np.maximum(counts - surplus[np.flatnonzero(flat > surplus)[-1]], 0)
