"""Lists for posted histories without a table on the way: what a server answers requests with.

``Recommender.recommend`` returns a table and takes about a millisecond whatever the model does; here one history takes
what the model takes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from discreet.common.arrays import Codes, Floats, Integers, Mask
from discreet.data.id_forms import typed
from discreet.errors import DataError, UsageError
from discreet.models.item_histories import unrated_value
from discreet.models.recommender import Recommender

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["QuickList", "QuickLists"]

History = Mapping[Any, float] | Sequence[Any]


class QuickList(NamedTuple):
    """The best items of one history, best first.

    Attributes
    ----------
    items : list
        Their ids.
    scores : list of float
        Their scores.
    unknown : list
        Items of the history that the model does not know; they were ignored.
    """

    items: list[Any]
    scores: list[float]
    unknown: list[Any]


class QuickLists:
    """A fitted or loaded model, asked for one list after the other.

    Ids may be given as text or as whole numbers, whichever the model has. The lists are those of ``model.recommend``.

    Examples
    --------
    >>> import discreet as dc
    >>> model = dc.PrivateRecommender(epsilon=8).fit(dc.synthetic.films(users=600, items=80, seed=7))
    >>> answer = QuickLists(model).recommend(["film-3", "no such film"], n=2)
    >>> answer.items == model.recommend(history=["film-3"], n=2)["item_id"].to_list(), answer.unknown
    (True, ['no such film'])
    """

    def __init__(self, model: Recommender) -> None:
        model._require_fitted()
        self.model, self.ids, self._unrated = model, model.items_.ids(), unrated_value(model)
        self._all: Mask = np.ones(len(self.ids), dtype=bool)
        self._names = np.fromiter(self.ids, dtype=object, count=len(self.ids))
        plain = model.items_.series.dtype != pl.Object
        self._code_of: dict[Any, int] = {item: code for code, item in enumerate(self.ids)} if plain else {}
        if model.items_.series.dtype == pl.Int64:  # names in JSON are text
            self._code_of |= {str(item): code for code, item in enumerate(self.ids)}

    def code(self, item: Any) -> int | None:
        """The code of an item; None for one that the model does not know."""
        found = self._code_of.get(item)
        if found is not None or not isinstance(item, str | int):
            return found
        return self.model.items_._find(typed(item, self.model.items_.series))

    def codes(self, history: History) -> tuple[Codes, Floats, list[Any]]:
        """Codes in order, ratings or likes, and what is unknown. Of two ratings the last one counts."""
        found = [self._code_of.get(item) for item in history]
        if None not in found and not isinstance(history, Mapping):
            several = sorted(set(found))  # type: ignore[type-var]
            return np.array(several, dtype=np.int32), np.full(len(several), self._unrated), []
        known, unknown = dict[int, float](), []
        given = history.items() if isinstance(history, Mapping) else ((item, self._unrated) for item in history)
        for item, value in given:
            code = self.code(item)
            if code is None:
                unknown.append(item)
            else:
                known[code] = value
        order = sorted(known)
        values = np.array([known[code] for code in order], dtype=np.float64)
        if not np.isfinite(values).all():
            raise DataError("a rating of the history is not a finite number.")
        return np.array(order, dtype=np.int32), values, unknown

    def recommend(
        self, history: History, n: int = 10, *, exclude_seen: bool = True, items: Iterable[Any] | None = None
    ) -> QuickList:
        """The best ``n`` items for one history; ``items`` to recommend from these only."""
        codes, values, unknown = self.codes(history)
        return self.of_codes(codes, values, n, exclude_seen=exclude_seen, items=items)._replace(unknown=unknown)

    def of_codes(
        self, codes: Codes, values: Floats, n: int, *, exclude_seen: bool = True, items: Iterable[Any] | None = None
    ) -> QuickList:
        """The same for a history of codes, rising."""
        best, scores = self.model._top_of_one(
            codes, values, self._most(n), allowed=self._allowed(items), exclude_seen=exclude_seen
        )
        return self.named(best.tolist(), scores.tolist())

    def recommend_many(self, histories: Sequence[History], n: int = 10) -> list[QuickList]:
        """The same for many histories, in their order: faster than one after the other."""
        rows, unknown = self.rows_of(histories)
        lists = self.of_rows(rows, n)
        for place, items in unknown.items():
            lists[place] = lists[place]._replace(unknown=items)
        return lists

    def rows_of(self, histories: Sequence[History]) -> tuple[csr_array, dict[int, list[Any]]]:
        """Histories as rows over the items of the model, and of those that have any, by place, the unknown items."""
        from scipy.sparse import csr_array

        get, codes, values = self._code_of.get, list[int](), list[float]()
        starts, unknown = [0], dict[int, list[Any]]()
        for place, history in enumerate(histories):
            found = [get(item) for item in history]
            if None in found or len(set(found)) < len(found):
                some, rated, others = self.codes(history)
                found, rating = some.tolist(), rated.tolist()
                if others:
                    unknown[place] = others
            else:
                rating = history.values() if isinstance(history, Mapping) else [self._unrated] * len(found)
            codes += found  # type: ignore[arg-type]
            values += rating
            starts.append(len(codes))
        rated = np.array(values, dtype=np.float64)
        if not np.isfinite(rated).all():
            raise DataError("a rating of the history is not a finite number.")
        parts = (rated, np.array(codes, dtype=np.int32), np.array(starts, dtype=np.int32))
        rows = csr_array(parts, shape=(len(starts) - 1, len(self.ids)))
        rows.sort_indices()
        return rows, unknown

    def best_of_rows(self, rows: csr_array, n: int = 10) -> tuple[Integers, Floats]:
        """Codes of the best items and their scores, a row for each history; −inf where fewer exist."""
        return self.model._top(rows, self._most(n), allowed=self._all, exclude_seen=True)

    def of_rows(self, rows: csr_array, n: int = 10) -> list[QuickList]:
        """The same for histories that are rows over the items of the model."""
        best, scores = self.best_of_rows(rows, n)
        if not np.isfinite(scores).all():
            return [self.named(codes, values) for codes, values in zip(best.tolist(), scores.tolist(), strict=True)]
        names = self._names[best].tolist()
        return [QuickList(items, values, []) for items, values in zip(names, scores.tolist(), strict=True)]

    def _most(self, n: int) -> int:
        if n < 1:
            raise UsageError(f"n = {n} must be at least 1.")
        return min(n, len(self.ids))

    def _allowed(self, items: Iterable[Any] | None) -> Mask:
        if items is None:
            return self._all
        allowed = np.zeros(len(self.ids), dtype=bool)
        allowed[[code for item in items if (code := self.code(item)) is not None]] = True
        return allowed

    def named(self, codes: list[int], scores: list[float], unknown: Sequence[Any] = ()) -> QuickList:
        """A list of codes, best first, with ids. Where fewer exist, what is left over scores −inf and stands last."""
        many = len(scores)
        while many and not math.isfinite(scores[many - 1]):
            many -= 1
        return QuickList([self.ids[code] for code in codes[:many]], scores[:many], list(unknown))
