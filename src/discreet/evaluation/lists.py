"""Recommendation lists from tables with the caller's ids, or from matrices of item codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.common.arrays import Integers
from discreet.data import IdMap
from discreet.data.frames import as_frame
from discreet.data.ids import as_id_series
from discreet.errors import EvaluationError
from discreet.evaluation.checks import check_k

__all__ = ["RankedLists", "encode", "ranked_lists"]

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
    n_users : int
        Number of codes; users without a row have an empty list.
    users, items : IdMap or None
        Ids of the codes; None for a matrix beside data without ids.
    n_unknown_users : int
        Number of users of the table that are not evaluated.
    """

    user: Integers
    item: Integers
    place: Integers
    n_users: int
    users: IdMap | None = None
    items: IdMap | None = None
    n_unknown_users: int = 0

    def lengths(self, k: int | None = None) -> Integers:
        """Number of items in the first ``k`` places of each user."""
        return np.bincount(self.user if k is None else self.user[self.place <= k], minlength=self.n_users)

    def user_ids(self, codes: Integers) -> pl.Series:
        """Ids of users; row numbers where there are no ids."""
        return pl.Series(codes) if self.users is None else self.users.take(codes)


def ranked_lists(
    recommended: Any, *, items: IdMap | None, n_items: int, users: IdMap | None = None, depth: int | None = None
) -> RankedLists:
    """The lists in a table ``user_id, item_id, rank``, or in a matrix of item codes.

    In a table the order is that of the ranks, from 1, and a skipped rank is an empty place; rows of users who are not
    in ``users`` are left out and counted. A matrix has one row per user with codes in the order of places, −1 for an
    empty place. A list that has an item twice, or two items at one place, is refused: a hit would count twice.

    Parameters
    ----------
    items, n_items
        The catalog; without ids only a matrix can be read.
    users
        The users to evaluate; those of the table if not given.
    depth
        Use only the first ``depth`` places.
    """
    most = MOST_PLACES if depth is None else check_k(depth)
    if isinstance(recommended, np.ndarray):
        lists = _of_codes(recommended, most, n_items, users, items)
    elif items is None:
        raise EvaluationError(
            "a table of recommendations names users and items by id, and what it is compared with has no ids.",
            remedy="Give the data as Interactions, or the recommendations as a matrix of item codes.",
        )
    else:
        lists = _of_table(recommended, most, users, items)
    _refuse_repeats(lists, n_items)
    return lists


def _of_table(table: Any, most: int, users: IdMap | None, items: IdMap) -> RankedLists:
    frame = as_frame(table, ["user_id", "item_id", "score", "rank"], ids=("user_id", "item_id"))
    if users is None:
        if not len(frame) or "user_id" not in frame.columns:
            raise EvaluationError("there are no recommendations.", remedy="Give a table user_id, item_id, rank.")
        users = IdMap(frame["user_id"], what="user")
    user, item, place = encode(frame, "user_id", users), encode(frame, "item_id", items), _ranks(frame)
    unknown = user < 0
    n_unknown = len(IdMap(frame["user_id"].filter(pl.Series(unknown)), what="user"))
    if user.size and unknown.all():
        raise EvaluationError(
            f"none of the {n_unknown:,} users with recommendations is among the {len(users):,} users to evaluate.",
            remedy="Check that both sides use the same user ids.",
        )
    keep = ~unknown & (place <= most)
    return RankedLists(user[keep], item[keep], place[keep], len(users), users, items, n_unknown)


def _of_codes(matrix: NDArray[Any], most: int, n_items: int, users: IdMap | None, items: IdMap | None) -> RankedLists:
    if matrix.ndim != 2 or matrix.dtype.kind not in "iu":
        raise EvaluationError(
            f"recommendations of shape {matrix.shape} and type {matrix.dtype} are not a matrix of item codes.",
            remedy="Give one row of integers per user, padded with -1.",
        )
    matrix = matrix[:, :most]
    wrong = (matrix < -1) | (matrix >= n_items)
    if wrong.any():
        row, column = np.unravel_index(int(np.argmax(wrong)), matrix.shape)
        raise EvaluationError(
            f"row {row}, place {column + 1}: {matrix[row, column]} is not an item code.",
            remedy=f"Codes run from 0 to {n_items - 1}; -1 marks an empty place.",
        )
    filled = matrix >= 0
    user, column = np.nonzero(filled)
    return RankedLists(user, matrix[filled].astype(np.int64), column + 1, matrix.shape[0], users, items)


def encode(frame: pl.DataFrame, column: str, ids: IdMap) -> Integers:
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


def _kind(series: pl.Series) -> str:
    return "numbers" if series.dtype.is_integer() else "text"


def _ranks(frame: pl.DataFrame) -> Integers:
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


def _refuse_repeats(lists: RankedLists, n_items: int) -> None:
    twice = _first_repeat(lists.user, lists.place, int(lists.place.max(initial=0)) + 1)
    if twice is not None:
        raise EvaluationError(
            f"user {lists.user_ids(np.array(twice[:1]))[0]!r} has more than one item of rank {twice[1]}.",
            remedy="Break ties before: the rank is the place in the list.",
        )
    known = lists.item >= 0
    twice = _first_repeat(lists.user[known], lists.item[known], n_items)
    if twice is not None:
        item = twice[1] if lists.items is None else lists.items.decode([twice[1]])[0]
        raise EvaluationError(
            f"user {lists.user_ids(np.array(twice[:1]))[0]!r} is recommended item {item!r} more than once.",
            remedy="A list names an item once.",
        )


def _first_repeat(user: Integers, other: Integers, n_others: int) -> tuple[int, int] | None:
    keys = user * n_others + other
    if np.all(keys[1:] > keys[:-1]):
        return None  # tables are mostly sorted, and sorting takes time
    keys.sort()
    repeated = np.flatnonzero(keys[1:] == keys[:-1])
    return divmod(int(keys[repeated[0]]), n_others) if repeated.size else None
