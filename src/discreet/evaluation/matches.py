"""The positions of relevant items in the recommended lists, from which all ranking metrics are computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from discreet.common.arguments import require_choice
from discreet.common.arrays import Floats, Integers
from discreet.data import Interactions
from discreet.errors import EvaluationError
from discreet.evaluation.lists import ranked_lists

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

    user: Integers
    place: Integers
    gain: Floats
    n_users: int

    def total(self, worth: Floats, *, k: int) -> Floats:
        """Sum of ``worth`` over the first ``k`` places of each user."""
        near = self.place <= k
        # bincount of an empty array returns integers, whatever the weights.
        return np.bincount(self.user[near], weights=worth[near], minlength=self.n_users).astype(np.float64)

    def number(self) -> Integers:
        """The number of each item among the items of its user: 1 for the first, 2 for the second …"""
        return _numbered(self.user)


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
    n_relevant: Integers
    lengths: Integers
    hits: RankedItems
    ideal: RankedItems
    depth: int | None
    n_without_relevant: int
    n_unknown: int

    def __len__(self) -> int:
        return int(self.n_relevant.size)


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
    shape, relevant = _relevant(held_out, gains=gains, relevant_from=relevant_from)
    ids = {"users": held_out.users, "items": held_out.items} if isinstance(held_out, Interactions) else {"items": None}
    lists = ranked_lists(recommended, **ids, n_items=shape[1], depth=depth)
    if lists.n_users != shape[0]:
        raise EvaluationError(
            f"there are {lists.n_users:,} rows of recommendations and {shape[0]:,} users in the held-out data.",
            remedy="Give one row per user, of -1 where nothing is recommended.",
        )
    n_relevant = np.bincount(relevant["user"].to_numpy(), minlength=shape[0])
    counted = n_relevant > 0
    if not counted.any():
        raise EvaluationError(
            "no user has a relevant held-out item.",
            remedy="Hold records out, or lower relevant_from." if relevant_from is not None else "Hold records out.",
        )
    row_of, n_users = np.cumsum(counted) - 1, int(counted.sum())
    listed = pl.DataFrame({"user": lists.user, "item": lists.item, "place": lists.place})
    hits = listed.join(relevant, on=["user", "item"]).sort("user", "place")
    best = relevant.sort("user", "gain", descending=[False, True])
    best = best.with_columns(place=_numbered(best["user"].to_numpy()))
    return Matches(
        users=lists.user_ids(np.flatnonzero(counted)),
        n_relevant=n_relevant[counted],
        lengths=lists.lengths()[counted],
        hits=_items(hits, row_of, n_users),
        ideal=_items(best, row_of, n_users),
        depth=depth,
        n_without_relevant=int((~counted).sum()),
        n_unknown=lists.n_unknown_users,
    )


def _items(rows: pl.DataFrame, row_of: Integers, n_users: int) -> RankedItems:
    user, place, gain = (rows[name].to_numpy() for name in ("user", "place", "gain"))
    return RankedItems(row_of[user], place, gain, n_users)


def _numbered(user: Integers) -> Integers:
    """The number of each row among the rows of its user, from 1; users are sorted."""
    return np.arange(user.size) - np.searchsorted(user, user) + 1


def _relevant(held_out: Any, *, gains: Gains, relevant_from: float | None) -> tuple[tuple[int, int], pl.DataFrame]:
    """The number of users and of items, and the relevant pairs with their gains."""
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
    return matrix.shape, pl.DataFrame({"user": user, "item": item, "gain": _graded(value, gains)})


def _graded(value: Floats, gains: Gains) -> Floats:
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
