"""The positions of relevant items in the recommended lists, from which all ranking metrics are computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.common.arguments import require_choice
from discreet.data import Interactions
from discreet.errors import EvaluationError
from discreet.evaluation.lists import RankedLists, lists_of_codes, lists_of_table, look_up

__all__ = ["Gains", "Matches", "RankedItems", "match"]

Gains = Literal["binary", "linear", "exponential"]


@dataclass(frozen=True, eq=False)
class RankedItems:
    """Items in users' lists, sorted by user, then place.

    Attributes
    ----------
    user : int64 array
        Number of the user, from 0 to ``n_users`` − 1.
    place : int64 array
        Place in that user's list, from 1.
    gain : float64 array
        Gain of the item.
    """

    user: NDArray[np.int64]
    place: NDArray[np.int64]
    gain: NDArray[np.float64]
    n_users: int

    def total(self, worth: NDArray[np.float64], *, k: int) -> NDArray[np.float64]:
        """Sum of ``worth`` over the first ``k`` places of each user."""
        near = self.place <= k
        # bincount of an empty array returns integers, whatever the weights.
        return np.bincount(self.user[near], weights=worth[near], minlength=self.n_users).astype(np.float64)

    def number(self) -> NDArray[np.int64]:
        """The number of each item among the items of its user: 1 for the first, 2 for the second …"""
        first = np.cumsum(np.bincount(self.user, minlength=self.n_users))
        first = np.concatenate([[0], first[:-1]])
        return np.arange(self.user.size) - first[self.user] + 1


@dataclass(frozen=True, eq=False)
class Matches:
    """The hits in the lists of many users. Made by :func:`match`, used by the ``…_at_k`` metrics.

    Only users with a relevant item are included, in the order of ``users``.

    Attributes
    ----------
    users : polars.Series
        Ids of the users counted (row numbers where the lists came as a matrix beside a sparse matrix).
    n_relevant : int64 array
        Number of relevant items of each user.
    lengths : int64 array
        Number of recommended items of each user, within ``depth``.
    hits : RankedItems
        The relevant items that were recommended.
    ideal : RankedItems
        The relevant items in the best order: by decreasing gain, from the first place on.
    depth : int or None
        Number of places of the lists that were used; None for all.
    n_without_relevant, n_unknown : int
        Number of users left out because they have no relevant item, and of users with a list who are not in the
        held-out data.
    """

    users: pl.Series
    n_relevant: NDArray[np.int64]
    lengths: NDArray[np.int64]
    hits: RankedItems
    ideal: RankedItems
    depth: int | None
    n_without_relevant: int
    n_unknown: int

    def __len__(self) -> int:
        return int(self.n_relevant.size)


@dataclass(frozen=True, eq=False)
class _Relevant:
    """The relevant user-item pairs, sorted by user, then item, with their gains."""

    user: NDArray[np.int64]
    item: NDArray[np.int64]
    gain: NDArray[np.float64]
    n_users: int
    n_items: int


def match(
    recommended: Any,
    *,
    held_out: Any,
    depth: int | None = None,
    gains: Gains = "binary",
    relevant_from: float | None = None,
) -> Matches:
    """Find the relevant items in the recommended lists.

    Parameters
    ----------
    recommended
        A table with ``user_id``, ``item_id`` and ``rank`` (from 1; the order is that of the ranks, a ``score`` is
        ignored), or a matrix of item codes with one row per user, −1 for an empty place.
    held_out
        :class:`Interactions` that the model has not seen, or, with a matrix, a ``scipy.sparse`` matrix of users × items
        in which every stored entry is relevant. With Interactions the rows and codes of a matrix are those of the data.
    depth
        Use only the first ``depth`` places.
    gains
        The gain of a relevant item in nDCG: 1 (``"binary"``), its rating r (``"linear"``) or 2ʳ − 1
        (``"exponential"``). Graded gains must be positive.
    relevant_from
        The lowest rating of a relevant item; None if all held-out items are relevant.

    Notes
    -----
    Users without relevant items are left out and counted. Users without a list, or with a short one, are included: what
    is not recommended is missed. Lists of users who are not in the held-out data are left out and counted. A
    recommended item that is not in the held-out data is a miss.

    Repeated records that Interactions keep are one relevant item, with the sum of the ratings (or the number of
    records, where there are no ratings).

    Examples
    --------
    >>> held_out = Interactions([("ann", "tea"), ("ann", "rum"), ("bob", "tea")])
    >>> table = {"user_id": ["ann", "ann"], "item_id": ["gin", "rum"], "rank": [1, 2]}
    >>> found = match(table, held_out=held_out)
    >>> found.users.to_list(), found.hits.place, found.lengths
    (['ann', 'bob'], array([2]), array([2, 0]))
    """
    require_choice(gains, "gains", ("binary", "linear", "exponential"), error=EvaluationError)
    relevant = _relevant(held_out, gains=gains, relevant_from=relevant_from)
    lists = _lists(recommended, held_out, relevant, depth)
    n_relevant = np.bincount(relevant.user, minlength=relevant.n_users)
    counted = n_relevant > 0
    if not counted.any():
        raise EvaluationError(
            "no user has a relevant held-out item.",
            remedy="Hold records out, or lower relevant_from." if relevant_from is not None else "Hold records out.",
        )
    row_of = np.cumsum(counted) - 1
    return Matches(
        users=_user_ids(held_out, np.flatnonzero(counted)),
        n_relevant=n_relevant[counted],
        lengths=lists.lengths()[counted],
        hits=_hits(lists, relevant, row_of, int(counted.sum())),
        ideal=_ideal(relevant, row_of, int(counted.sum())),
        depth=depth,
        n_without_relevant=int((~counted).sum()),
        n_unknown=lists.n_unknown_users,
    )


def _user_ids(held_out: Any, codes: NDArray[np.int64]) -> pl.Series:
    return held_out.users.take(codes) if isinstance(held_out, Interactions) else pl.Series(codes)


def _lists(recommended: Any, held_out: Any, relevant: _Relevant, depth: int | None) -> RankedLists:
    if not isinstance(recommended, np.ndarray):
        if not isinstance(held_out, Interactions):
            raise EvaluationError(
                "a table of recommendations names users and items by id, a sparse matrix does not.",
                remedy="Give the held-out data as Interactions, or the recommendations as a matrix of item codes.",
            )
        return lists_of_table(recommended, users=held_out.users, items=held_out.items, depth=depth)
    lists = lists_of_codes(recommended, n_items=relevant.n_items, depth=depth)
    if lists.n_users != relevant.n_users:
        raise EvaluationError(
            f"there are {lists.n_users:,} rows of recommendations and {relevant.n_users:,} users in the held-out data.",
            remedy="Give one row per user, of -1 where nothing is recommended.",
        )
    return lists


def _relevant(held_out: Any, *, gains: Gains, relevant_from: float | None) -> _Relevant:
    if isinstance(held_out, Interactions):
        if held_out.rating is None and not held_out.may_repeat and (gains != "binary" or relevant_from is not None):
            raise EvaluationError(
                "the held-out records have no ratings.",
                remedy="Use gains='binary' and no relevant_from.",
            )
        matrix: Any = held_out.csr
    elif hasattr(held_out, "tocsr"):
        matrix = held_out.tocsr()
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
    else:
        raise EvaluationError(
            f"held_out must be Interactions or a scipy.sparse matrix, got {type(held_out).__name__}.",
        )
    user = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    item, value = matrix.indices.astype(np.int64), matrix.data.astype(np.float64)
    if relevant_from is not None:
        keep = value >= relevant_from
        user, item, value = user[keep], item[keep], value[keep]
    return _Relevant(user, item, _graded(value, gains), int(matrix.shape[0]), int(matrix.shape[1]))


def _graded(value: NDArray[np.float64], gains: Gains) -> NDArray[np.float64]:
    if gains == "binary":
        return np.ones(value.size)
    with np.errstate(over="ignore"):
        gain = value if gains == "linear" else np.exp2(value) - 1
    wrong = ~(np.isfinite(gain) & (gain > 0))
    if wrong.any():
        raise EvaluationError(
            f"a held-out value of {value[int(np.argmax(wrong))]:g} has no {gains} gain: gains are positive and finite.",
            remedy="Leave low values out with relevant_from, or use other gains.",
        )
    return gain


def _hits(lists: RankedLists, relevant: _Relevant, row_of: NDArray[np.int64], n_users: int) -> RankedItems:
    known = lists.item >= 0
    wanted = lists.user[known] * relevant.n_items + lists.item[known]
    keys = relevant.user * relevant.n_items + relevant.item
    index, hit = look_up(wanted, keys=keys)
    user, place, gain = lists.user[known][hit], lists.place[known][hit], relevant.gain[index[hit]]
    order = np.lexsort((place, user))
    return RankedItems(row_of[user[order]], place[order], gain[order], n_users)


def _ideal(relevant: _Relevant, row_of: NDArray[np.int64], n_users: int) -> RankedItems:
    order = np.lexsort((-relevant.gain, relevant.user))
    best = RankedItems(row_of[relevant.user[order]], np.empty(0, np.int64), relevant.gain[order], n_users)
    return RankedItems(best.user, best.number(), best.gain, n_users)
