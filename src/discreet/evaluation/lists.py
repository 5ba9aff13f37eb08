"""Recommendation lists from tables with the caller's ids, or from matrices of item codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data import IdMap
from discreet.data.frames import as_frame
from discreet.data.ids import as_id_series
from discreet.errors import EvaluationError
from discreet.evaluation.checks import check_k

__all__ = ["RankedLists", "encode", "lists_of_codes", "lists_of_table", "look_up"]

MOST_PLACES = 2**31 - 1


@dataclass(frozen=True, eq=False)
class RankedLists:
    """The lists of many users: one row per recommended item.

    Attributes
    ----------
    user, item : int64 arrays
        Codes. An item that the catalog does not know has the code −1.
    place : int64 array
        Position of the item in its user's list, from 1.
    n_users, n_items : int
        Number of codes; users without a row have an empty list.
    n_unknown_users : int
        Number of users of the table that are not evaluated.
    """

    user: NDArray[np.int64]
    item: NDArray[np.int64]
    place: NDArray[np.int64]
    n_users: int
    n_items: int
    n_unknown_users: int = 0

    def lengths(self, k: int | None = None) -> NDArray[np.int64]:
        """Number of items in the first ``k`` places of each user."""
        return np.bincount(self.user if k is None else self.user[self.place <= k], minlength=self.n_users)


def lists_of_table(table: Any, *, users: IdMap, items: IdMap, depth: int | None = None) -> RankedLists:
    """Lists from a table ``user_id, item_id, rank``; the order is that of the ranks, from 1.

    A skipped rank is an empty place. Rows of users who are not in ``users`` are left out and counted.

    Parameters
    ----------
    depth
        Use only the first ``depth`` places.
    """
    frame = as_frame(table, ["user_id", "item_id", "score", "rank"], ids=("user_id", "item_id"))
    user = encode(frame, "user_id", users)
    item = encode(frame, "item_id", items)
    place = _ranks(frame)
    unknown = user < 0
    n_unknown = len(IdMap(frame["user_id"].filter(pl.Series(unknown)), what="user"))
    if user.size and unknown.all():
        raise EvaluationError(
            f"none of the {n_unknown:,} users with recommendations is among the {len(users):,} users to evaluate.",
            remedy="Check that both sides use the same user ids.",
        )
    keep = ~unknown if depth is None else ~unknown & (place <= check_k(depth))
    lists = RankedLists(user[keep], item[keep], place[keep], len(users), len(items), n_unknown)
    _refuse_repeats(lists, users=users, items=items)
    return lists


def lists_of_codes(codes: Any, *, n_items: int, depth: int | None = None) -> RankedLists:
    """Lists from a matrix: one row per user, item codes in the order of places, −1 for an empty place."""
    matrix = np.asarray(codes)
    if matrix.ndim != 2 or matrix.dtype.kind not in "iu":
        raise EvaluationError(
            f"recommendations of shape {matrix.shape} and type {matrix.dtype} are not a matrix of item codes.",
            remedy="Give one row of integers per user, padded with -1.",
        )
    matrix = matrix if depth is None else matrix[:, : check_k(depth)]
    wrong = (matrix < -1) | (matrix >= n_items)
    if wrong.any():
        row, column = np.unravel_index(int(np.argmax(wrong)), matrix.shape)
        raise EvaluationError(
            f"row {row}, place {column + 1}: {matrix[row, column]} is not an item code.",
            remedy=f"Codes run from 0 to {n_items - 1}; -1 marks an empty place.",
        )
    _refuse_repeats_in_rows(matrix)
    filled = matrix >= 0
    user, column = np.nonzero(filled)
    return RankedLists(user, matrix[filled].astype(np.int64), column + 1, matrix.shape[0], n_items)


def encode(frame: pl.DataFrame, column: str, ids: IdMap) -> NDArray[np.int64]:
    """Codes of a column of ids, −1 for unknown ones; ids of another type are an error, not unknown."""
    if column not in frame.columns:
        raise EvaluationError(
            f"the table has no column {column!r}; its columns are {', '.join(map(repr, frame.columns))}.",
            remedy="Rename the columns to user_id, item_id, score, rank.",
        )
    given = as_id_series(frame[column], what=ids.what)
    types = {given.dtype, ids.series.dtype}
    if len(given) and len(ids) and len(types) > 1 and pl.Object not in types:
        raise EvaluationError(
            f"the {ids.what} ids of the table are {_kind(given)} ({given[0]!r}), those it is compared with are "
            f"{_kind(ids.series)} ({ids.series[0]!r}).",
            remedy="Use the same ids on both sides.",
        )
    return ids.encode(given, unknown="mark").astype(np.int64)


def look_up(wanted: NDArray[np.int64], *, keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The position of each wanted key among the sorted keys, and whether it is among them.

    Examples
    --------
    >>> look_up(np.array([7, 5, 9]), keys=np.array([5, 7, 8]))
    (array([1, 0, 2]), array([ True,  True, False]))
    """
    if not keys.size:
        return np.zeros(wanted.size, dtype=np.int64), np.zeros(wanted.size, dtype=bool)
    index = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return index, keys[index] == wanted


def _kind(series: pl.Series) -> str:
    return "numbers" if series.dtype.is_integer() else "text"


def _ranks(frame: pl.DataFrame) -> NDArray[np.int64]:
    if "rank" not in frame.columns:
        raise EvaluationError(
            "the table of recommendations has no column 'rank'.", remedy="Number each user's items from 1."
        )
    ranks = frame["rank"]
    if not ranks.dtype.is_integer() or ranks.null_count():
        raise EvaluationError(
            f"the column 'rank' holds {ranks.dtype} values with {ranks.null_count()} blanks.",
            remedy="Ranks are whole numbers from 1.",
        )
    place = ranks.cast(pl.Int64).to_numpy()
    wrong = (place < 1) | (place > MOST_PLACES)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise EvaluationError(f"row {row} has the rank {place[row]}.", remedy="Ranks are whole numbers from 1.")
    return place


def _refuse_repeats(lists: RankedLists, *, users: IdMap, items: IdMap) -> None:
    """Refuse an item that a list has twice, and two items at one place: a hit would count twice."""
    twice = _first_repeat(lists.user, lists.place, int(lists.place.max(initial=0)) + 1)
    if twice is not None:
        raise EvaluationError(
            f"user {users.decode([twice[0]])[0]!r} has more than one item of rank {twice[1]}.",
            remedy="Break ties before: the rank is the place in the list.",
        )
    known = lists.item >= 0
    twice = _first_repeat(lists.user[known], lists.item[known], lists.n_items)
    if twice is not None:
        raise EvaluationError(
            f"user {users.decode([twice[0]])[0]!r} is recommended item {items.decode([twice[1]])[0]!r} more than once.",
            remedy="A list names an item once.",
        )


def _first_repeat(user: NDArray[np.int64], other: NDArray[np.int64], n_others: int) -> tuple[int, int] | None:
    keys = user * n_others + other
    if np.all(keys[1:] > keys[:-1]):
        return None  # tables are mostly sorted, and sorting takes time
    keys.sort()
    repeated = np.flatnonzero(keys[1:] == keys[:-1])
    return divmod(int(keys[repeated[0]]), n_others) if repeated.size else None


def _refuse_repeats_in_rows(matrix: NDArray[np.integer[Any]]) -> None:
    ordered = np.sort(matrix, axis=1)
    repeated = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    if repeated.any():
        row, column = np.unravel_index(int(np.argmax(repeated)), repeated.shape)
        raise EvaluationError(
            f"row {row} recommends item {ordered[row, column]} more than once.", remedy="A list names an item once."
        )
