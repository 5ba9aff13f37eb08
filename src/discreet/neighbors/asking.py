"""A model that is asked: predictions and recommendations made of answers that are paid for once and kept."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.neighbors.questions import Recipient, strangers
from discreet.recommender import Recommender

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["AskedModel", "Roster"]


class Roster(Protocol):
    """The users who may ask, with their own ratings."""

    @property
    def data(self) -> Interactions: ...

    @property
    def users(self) -> IdMap: ...

    def row(self, code: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]: ...


class AskedModel(Recommender):
    """The public methods of a model whose only source of scores is ``_ask``."""

    _raters: Roster | None

    @abstractmethod
    def _ask(self, asked: Sequence[tuple[Recipient, int]]) -> NDArray[np.float64]:
        """Answers in stars to (who, code of the item); new ones are paid for, all of them or none. NaN: no answer."""

    def recommend(
        self,
        users: Iterable[Hashable] | None = None,
        n: int = 10,
        *,
        history: Mapping[Any, float] | Sequence[Any] | None = None,
        exclude_seen: bool = True,
        items: Iterable[Hashable] | None = None,
    ) -> pl.DataFrame:
        """The best ``n`` of ``items`` (all, unless told), one question for each of them and each user."""
        self._require_fitted()
        if n < 1:
            raise UsageError(f"n = {n} must be at least 1.")
        named = np.arange(len(self.items_)) if items is None else self.items_.encode(list(items))
        codes = np.unique(named).astype(np.int32)
        recipients = self._strangers(users, history) if history is not None else self._users(users)
        if any(recipient.items is None for recipient in recipients):
            raise UsageError(
                "a saved model holds nobody's records.",
                remedy="Give a history, or the records: attach(data, ledger=…).",
            )
        scores = self._scored(recipients, codes)
        tables = []
        for recipient, row in zip(recipients, scores, strict=True):
            assert recipient.items is not None
            left = ~np.isnan(row)
            if exclude_seen:
                left &= ~np.isin(codes, recipient.items)
            order = np.flatnonzero(left)[np.argsort(-row[left], kind="stable")[:n]]
            best = {"item_id": self.items_.take(codes[order]), "score": row[order], "rank": np.arange(order.size) + 1}
            if history is None:
                best = {"user_id": pl.Series([recipient.key[1]] * order.size, dtype=self._user_type), **best}
            tables.append(pl.DataFrame(best))
        if tables:
            return pl.concat(tables)
        types = {"user_id": self._user_type, "item_id": self.items_.series.dtype, "score": pl.Float64, "rank": pl.Int64}
        return pl.DataFrame(schema=types)

    def predict(
        self, pairs: Iterable[Any], *, history: Mapping[Any, float] | Sequence[Any] | None = None
    ) -> pl.DataFrame:
        """Predicted ratings of (user, item) pairs, or of items for somebody with the given history.

        What was not asked before is charged: the ledger first, then the noise is drawn.
        """
        if history is not None:
            return super().predict(pairs, history=history)
        self._require_fitted()
        asked = list(pairs)
        if any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in asked):
            raise UsageError("give (user, item) pairs.")
        users, names = [user for user, _ in asked], [item for _, item in asked]
        people = {recipient.key[1]: recipient for recipient in self._users(users)}
        item = self.items_.encode(names) if names else np.zeros(0, dtype=np.int32)
        scores = self._ask([(people[user], int(code)) for user, code in zip(users, item, strict=True)])
        return pl.DataFrame(
            {"user_id": users, "item_id": self.items_.take(item), "score": pl.Series(scores).fill_nan(None)}
        )

    def _score(self, rows: csr_array) -> NDArray[np.float64]:
        return self._scored(strangers(rows), np.arange(len(self.items_), dtype=np.int32))

    def _rate(self, rows: csr_array, row: NDArray[np.int64], item: NDArray[np.int32]) -> NDArray[np.float64]:
        people = strangers(rows)
        return self._ask([(people[r], int(code)) for r, code in zip(row, item, strict=True)])

    def _similar(self, items: NDArray[np.int32]) -> NDArray[np.float64]:
        raise UsageError("this model compares users, not items.", remedy="Take PrivateItemKNN.")

    def _scored(self, recipients: Sequence[Recipient], codes: NDArray[np.int32]) -> NDArray[np.float64]:
        asked = [(recipient, int(code)) for recipient in recipients for code in codes]
        return self._ask(asked).reshape(len(recipients), codes.size)

    def _users(self, users: Iterable[Hashable] | None) -> list[Recipient]:
        """Users as recipients; without records only by name, for what is answered already."""
        if users is None:
            raise UsageError("say either whom to recommend to or which history to go by.")
        wanted = list(dict.fromkeys([users] if isinstance(users, str) else users))
        if self._raters is None:
            return [Recipient(("user", user)) for user in wanted]
        codes = self._raters.users.encode(wanted).tolist() if wanted else []
        names = self._raters.users.decode(codes)
        return [
            Recipient(("user", user), code, *self._raters.row(code)) for user, code in zip(names, codes, strict=True)
        ]

    @property
    def _user_type(self) -> pl.DataType | None:
        return None if self._raters is None else self._raters.users.series.dtype

    def _strangers(self, users: object, history: Mapping[Any, float] | Sequence[Any]) -> list[Recipient]:
        if users is not None:
            raise UsageError("say either whom to recommend to or which history to go by.")
        rows, _ = self._histories(None, history)
        return strangers(rows)
