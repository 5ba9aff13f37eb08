"""Runs that are tried again under a key: what was asked for, and what became of the run before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any, Self

from sqlalchemy.engine import Connection

from discreet.common.folders import MANIFEST
from discreet.common.plain_json import read_json
from discreet.data.periods import Window
from discreet.errors import LedgerError, UsageError
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.ledger import tables
from discreet.privacy.ledger.families import Dataset, by_person, family_of
from discreet.privacy.ledger.requests import as_json
from discreet.privacy.ledger.statements import Entry, Spend
from discreet.privacy.ledger.store import Store

__all__ = ["KeyedRuns", "charged_again", "requests_of"]

FORMAT = 1
"""Of requests; part of their hash."""


def requests_of(
    data: Dataset | str, guarantee: Guarantee, mechanism: str, parameters: str, window: Window | None
) -> tuple[str, ...]:
    """Hashes of what is asked for: the settings and the fingerprint of the data.

    The first is the same for records in memory and in parts: a run may be repeated with the other. The last is the one
    that was written down before there were parts.
    """
    named = dict.fromkeys((*by_person(data)[:1], family_of(data)[0]))
    return tuple(_request(one, data, guarantee, mechanism, parameters, window) for one in named)


def _request(
    named: str,
    data: Dataset | str,
    guarantee: Guarantee,
    mechanism: str,
    parameters: str,
    window: Window | None,
) -> str:
    declared = window or getattr(data, "window", None)
    asked = {
        "format": FORMAT,
        "data": named,
        "window": None if declared is None else str(declared),
        "mechanism": mechanism,
        "parameters": json.loads(parameters),
        "loss": guarantee.loss.to_json(),
        "unit": guarantee.unit.code,
        "standing": guarantee.standing.name,
    }
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def require_same(entry: Entry, requests: Sequence[str]) -> None:
    """Refuse another request under a key."""
    if entry.request not in requests:
        raise LedgerError(
            f"something else was asked for under the key {entry.key!r}: entry {entry.id}, {entry.mechanism}, of "
            f"{entry.reserved_at}. The settings or the data differ. Nothing was charged.",
            remedy="Give another key, or repeat the settings and data of that run.",
        )


def kept_in(entry: Entry) -> Path | None:
    """Where the saved release of an entry is; None where none was saved. One that is missing is an error."""
    if entry.saved_at is None:
        return None
    place = None if entry.saved_in is None else Path(entry.saved_in)
    if place is None or not holds(place, entry.release):
        raise LedgerError(
            f"the release of the key {entry.key!r} was saved, and is no longer in {place}: entry {entry.id} of "
            f"{entry.reserved_at}, release {(entry.release or '')[:12]}. Nothing was charged.",
            remedy="Put it back there; or give another key, which is charged.",
        )
    return place


def holds(folder: Path, release: str | None) -> bool:
    """Whether a folder holds the release of this id."""
    try:
        manifest = read_json(folder / MANIFEST)
    except (OSError, ValueError):
        return False
    return release is not None and isinstance(manifest, dict) and manifest.get("id") == release


def saved_already(entry: Entry) -> LedgerError:
    """The error for a charge under a key whose release was saved."""
    return LedgerError(
        f"the release of the key {entry.key!r} was made and saved in {entry.saved_in}: entry {entry.id}. Nothing was "
        "charged.",
        remedy="Load it from there, or give another key.",
    )


def charged_again(entry: Entry, number: int) -> str:
    """What to tell about a second charge under one key."""
    return (
        f"entry {entry.id} under the key {entry.key!r} left no saved release, and noise may have been drawn and seen: "
        f"this run is charged again, as entry {number}."
    )


class KeyedRuns:
    """What a ledger does about runs that are tried again under a key."""

    key: str | None
    _store: Store

    def _now(self) -> str:
        raise NotImplementedError("a ledger tells the time")

    def keyed(self, key: str | None) -> Self:
        """The same ledger for one run that may be tried again: everything it charges is charged under this key.

        A run that crashed is repeated with the same key: ``docs/ledger.md``, "Retries", has the table of what happens.
        """
        if key is not None and not key.strip():
            raise UsageError("a key must not be empty.", remedy="Write for example customers-2026-11-16.")
        keyed = copy(self)
        keyed.key = key
        return keyed

    def latest(self) -> Entry | None:
        """The latest entry under the key, whatever became of it; None where nothing was charged."""
        if self.key is None or not self._store.is_there():
            return None
        with self._store.read() as connection:
            return tables.entry_under(connection, self.key)

    def charged(self) -> tuple[Entry, ...]:
        """All entries under the key, the first first: more than one where a run died while it was drawing."""
        if self.key is None or not self._store.is_there():
            return ()
        with self._store.read() as connection:
            return tables.entries_under(connection, self.key)

    def _earlier(self, connection: Connection, requests: Sequence[str]) -> Entry | None:
        """The latest entry under the key; refuses another request, and one whose release was saved."""
        if self.key is None or not requests:
            return None
        entry = tables.entry_under(connection, self.key)
        if entry is not None:
            require_same(entry, requests)
            if entry.saved_at is not None:
                raise saved_already(entry)
        return entry

    def _begin_drawing(self, spend: Spend) -> None:
        """Write the mark "drawing" durably; whoever writes it may draw with this charge, and nobody else may."""
        with self._store.write() as connection:
            if not tables.note_drawing(connection, spend.id, self._now()):
                raise LedgerError(
                    f"another run under the key {self.key!r} took entry {spend.id} at the same moment.",
                    remedy="Wait for that run, and try again with the same key.",
                )

    def kept(
        self,
        data: Dataset | str,
        guarantee: Guarantee,
        *,
        mechanism: str,
        parameters: Mapping[str, Any] | None = None,
        window: Window | None = None,
    ) -> Entry | None:
        """The entry under the key whose release was saved and is there; None where there is none.

        A release that was saved and is missing is refused, and so is another request than the one under the key.
        """
        if self.key is None or not self._store.is_there():
            return None
        with self._store.read() as connection:
            entry = tables.entry_under(connection, self.key)
        if entry is None:
            return None
        require_same(entry, requests_of(data, guarantee, mechanism, as_json(parameters), window))
        return entry if kept_in(entry) else None

    def saved_under(self, key: str, folder: Path) -> bool:
        """Whether a folder holds the release of the latest run under a key.

        A crash after the release got its name and before that was recorded is made good here.
        """
        if not self._store.is_there():
            return False
        with self._store.read() as connection:
            entry = tables.entry_under(connection, key)
        if entry is None or not holds(folder, entry.release):
            return False
        if entry.saved_at is None:
            with self._store.write() as connection:
                tables.note_saved(connection, entry.id, self._now(), str(folder.absolute()))
        return True
