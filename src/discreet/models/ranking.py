"""The best of each row of a matrix of scores."""

from __future__ import annotations

import numpy as np
import polars as pl

from discreet.common.arrays import Floats, Integers

__all__ = ["largest", "ranked_table"]


def largest(scores: Floats, n: int) -> tuple[Integers, Floats]:
    """Columns and values of the n largest of each row in order; equal ones stand in the order of the columns."""
    if n == 0:
        return np.zeros((scores.shape[0], 0), dtype=np.int64), np.zeros((scores.shape[0], 0))
    # A full stable sort only where few are left out.
    order = np.argsort(-scores, axis=1, kind="stable")[:, :n] if scores.shape[1] <= 4 * n else _partial(scores, n)
    return order, np.take_along_axis(scores, order, axis=1)


def _partial(scores: Floats, n: int) -> Integers:
    """Indices of the n largest of each row, best first, ties by index."""
    cut = -np.partition(-scores, n - 1, axis=1)[:, n - 1 : n]
    above, level = scores > cut, scores == cut
    # Of those at the level of the n-th, the first ones fill the places that the better ones leave.
    room = n - above.sum(axis=1, keepdims=True)
    taken = above | (level & (np.cumsum(level, axis=1) <= room))
    columns = np.nonzero(taken)[1].reshape(scores.shape[0], n)
    values = np.take_along_axis(scores, columns, axis=1)
    return np.take_along_axis(columns, np.argsort(-values, axis=1, kind="stable"), axis=1)


def ranked_table(codes: Integers, scores: Floats) -> pl.DataFrame:
    """One row for each finite score, row by row: row, item_id (a code), score, rank."""
    row, place = np.nonzero(np.isfinite(scores))
    return pl.DataFrame({"row": row, "item_id": codes[row, place], "score": scores[row, place], "rank": place + 1})
