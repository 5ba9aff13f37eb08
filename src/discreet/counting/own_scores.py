"""Scores of records from one person's own records: a column, or a function of one person's records.

What decides about a record may be anything that follows from the same person's records (``docs/proofs/counting.md``,
Theorem 13). So a value is read by itself, whatever others have in the column, and a function is called once for each
person, with that person's records and nothing else. Whatever it does with one person's records (fail, return nonsense)
is about this person's choice alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from discreet.common.arrays import Floats, Integers
from discreet.counting.cells import Cells
from discreet.data.interactions import Interactions
from discreet.data.values import number_in, spelled_column, truth_in
from discreet.errors import UsageError

__all__ = ["Score", "check_score", "own_scores", "score_name"]

Score = str | Callable[[pl.DataFrame], Any]
"""The name of a column, or a function of one person's records that returns one number for each of them."""

LOWEST = -np.inf


def check_score(score: Score, data: Interactions) -> None:
    """Refuse a column that the data do not have, and a function that does not work without records. Reads no record."""
    empty = data.emptied()
    if isinstance(score, str):
        _column(empty, score)
        return
    try:
        size = np.asarray(score(_table(empty)), dtype=np.float64).size
    except Exception as error:
        raise UsageError(f"score fails on a table without records: {error}") from error
    if size:
        raise UsageError("score must return one number for each record that it is given.")


def score_name(score: Score) -> str:
    """What a guarantee and a release call a score."""
    return score if isinstance(score, str) else f"function {getattr(score, '__qualname__', type(score).__name__)}"


def own_scores(cells: Cells, score: Score, cap: int) -> Integers:
    """One whole number for each record, larger for higher scores; only the order among one person's records matters.

    Records without a score come last. Functions are called for people with more than ``cap`` records: the others keep
    all of theirs.
    """
    data = cells.data
    assert data is not None
    if isinstance(score, str):
        values = _column(data, score)
    else:
        values, table = np.zeros(data.user.size), _table(data)
        for start, end in zip(data.user_starts[:-1], data.user_starts[1:], strict=True):
            if end - start > cap:
                values[start:end] = _of_one_person(score, table[int(start) : int(end)])
    known = np.ones(values.size, dtype=bool)
    for context in cells.contexts:
        known &= context.codes(data) >= 0
    return _in_order(values[known])


def _of_one_person(score: Callable[[pl.DataFrame], Any], records: pl.DataFrame) -> Floats:
    """The scores of one person's records; all equal where the function fails: an error would tell about this person."""
    try:
        values = np.asarray(score(records), dtype=np.float64)
    except Exception:
        return np.zeros(records.height)
    return values if values.shape == (records.height,) else np.zeros(records.height)


def _table(data: Interactions) -> pl.DataFrame:
    return data.to_frame().drop("user_id")


def _column(data: Interactions, name: str) -> Floats:
    """A column as numbers: true is 1, false is 0, values with a declared order have their place in it."""
    if name == "rating" and data.rating is not None:
        return data.rating.astype(np.float64)
    if name == "timestamp" and data.timestamp is not None:
        return data.timestamp.astype(np.float64)
    if name not in data.context.columns:
        known = [column for column in ("rating", "timestamp") if getattr(data, column) is not None]
        listed = ", ".join([*known, *data.context.columns]) or "none"
        raise UsageError(f"records have no column {name!r} to score by.", remedy=f"They have {listed}.")
    column = data.context[name]
    if isinstance(column.dtype, pl.Enum):
        return column.to_physical().cast(pl.Float64).fill_null(LOWEST).to_numpy()
    # Every distinct value is read by itself: what somebody else has in the column changes nobody's score.
    distinct = column.unique()
    numbers = pl.Series([_number(text) for text in spelled_column(distinct)], dtype=pl.Float64)
    return column.replace_strict(distinct, numbers, return_dtype=pl.Float64).to_numpy().astype(np.float64)


def _number(text: str | None) -> float:
    if text is None:
        return LOWEST
    number, truth = number_in(text), truth_in(text)
    return float(number) if number is not None else LOWEST if truth is None else float(truth)


def _in_order(values: Floats) -> Integers:
    """Whole numbers in the order of floating-point numbers: their bits, with the sign of the number.

    Examples
    --------
    >>> order = _in_order(np.array([2.5, -np.inf, -1.0, 0.0, -0.0, np.nan, np.inf]))
    >>> np.argsort(order, kind="stable").tolist(), bool(order[3] == order[4])
    ([1, 5, 2, 3, 4, 0, 6], True)
    """
    bits = np.where(np.isnan(values), LOWEST, values).view(np.int64)
    return np.where(bits < 0, -(bits & np.int64(2**63 - 1)), bits)
