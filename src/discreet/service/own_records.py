"""A person's own records, for that person's own answers: the curator's side of asking."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from os import stat
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy.engine import Row

from discreet.data import Interactions, TagAssignments
from discreet.data.id_forms import recognized, typed
from discreet.data.ids import IdMap
from discreet.service.access import Caller
from discreet.service.datasets import Data, Datasets
from discreet.service.problems import Problem
from discreet.service.remembering import Bounded, Recent
from discreet.service.store import Store

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["OwnRecords"]


class OwnRecords:
    """Records of datasets for which the curator allowed it; each is read once, and few are kept.

    Somebody who is not among them is answered like somebody without records, and no later than somebody with one: what
    differs in time is what differs with the length of a history.
    """

    def __init__(self, store: Store) -> None:
        self.datasets = Datasets(store)
        self._kept: Bounded[Data] = Bounded(store.settings.records_in_memory)
        self._rows: Recent[Any] = Recent()
        self._reading = threading.Lock()

    def forget(self) -> None:
        """Keep no records, and no permission, from before a change."""
        self._rows.clear()
        self._kept.clear()

    def require(self, caller: Caller, release: Row[Any], users: list[Any]) -> None:
        """Refuse users that the key may not ask for, and data for which it was not allowed."""
        caller.require("ask for users")
        if not caller.may_ask_for(users):
            raise Problem(
                403,
                "users",
                "This key may not ask for this user.",
                remedy="Post the history, or use a key whose scope names the user.",
            )
        row = self._row(release)
        if row is None or not row.asks_users:
            raise Problem(
                409,
                "users",
                "Answers from people's own records are not allowed for the data of this release.",
                remedy="Post the history; or the curator allows it under /datasets/{dataset}/asking.",
            )

    def history(self, release: Row[Any], user: Any) -> dict[Any, float]:
        """The items and ratings of a user; empty for somebody who is not there."""
        data = self._histories(release)
        code = data.users._find(typed(user, data.users.series))
        if code is None:
            return {}
        rows = data.csr
        mine = slice(rows.indptr[code], rows.indptr[code + 1])
        return dict(zip(data.items.decode(rows.indices[mine]), rows.data[mine].tolist(), strict=True))

    def rows(self, release: Row[Any], users: Sequence[Any], items: IdMap) -> csr_array:
        """The histories of many users as rows over some items; empty for somebody who is not there."""
        from scipy.sparse import csr_array

        data = self._histories(release)
        codes = recognized(data.users, users)
        there = codes >= 0
        rows = data.csr[codes[there]]
        lengths = np.zeros(codes.size, dtype=np.int64)
        lengths[there] = np.diff(rows.indptr)
        index, values = rows.indices, rows.data.astype(np.float64)
        if data.items != items:
            index = recognized(items, data.items.series)[index]
            lengths = np.bincount(np.repeat(np.arange(codes.size), lengths)[index >= 0], minlength=codes.size)
            index, values = index[index >= 0], values[index >= 0]
        found = csr_array((values, index, np.append(0, np.cumsum(lengths))), shape=(codes.size, len(items)))
        found.sort_indices()
        return found

    def triples(self, release: Row[Any], user: Any) -> list[tuple[Any, Any]]:
        """Resources and tags of a user; empty for somebody who is not there."""
        data = self._data(release)
        if not isinstance(data, TagAssignments):
            raise Problem(409, "not-tags", "The data of this release are no tags.")
        code = data.users._find(typed(user, data.users.series))
        if code is None:
            return []
        mine = slice(data.user_starts[code], data.user_starts[code + 1])
        return list(zip(data.resources.decode(data.resource[mine]), data.tags.decode(data.tag[mine]), strict=True))

    def _histories(self, release: Row[Any]) -> Interactions:
        data = self._data(release)
        if not isinstance(data, Interactions):
            raise Problem(409, "not-a-model", "The data of this release are no histories of items.")
        return data

    def _row(self, release: Row[Any]) -> Row[Any] | None:
        if release.dataset is None:
            return None
        return self._rows.of(
            (release.tenant, release.dataset), lambda: self.datasets._find(release.tenant, release.dataset)
        )

    def _data(self, release: Row[Any]) -> Data:
        row = self._row(release)
        try:
            assert row is not None
            seen = stat(row.file)
        except FileNotFoundError:
            raise Problem(
                409, "users", "The data of this release are gone.", remedy="Post the history, or register them again."
            ) from None
        name = (row.tenant, row.id, seen.st_mtime_ns, seen.st_size)
        known = self._kept.get(name)
        if known is not None:
            return known
        with self._reading:  # whoever waits finds it read
            known = self._kept.get(name)
            return known if known is not None else self._kept.put(name, self.datasets.load(row.tenant, row.id))
