"""Where a ledger is kept.

A store gives transactions for reading and for writing. After a write transaction of an account has begun, no other
thread, process or machine changes that account until it ends; when it ends well, what it wrote is on the disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import sqlalchemy as sql
from sqlalchemy.engine import URL, Connection
from sqlalchemy.exc import ArgumentError

from discreet.errors import UsageError
from discreet.privacy.ledger.postgres_store import PostgresStore
from discreet.privacy.ledger.sqlite_store import SqliteStore

__all__ = ["PostgresStore", "SqliteStore", "Store", "sqlite_path", "store_at"]

_POSTGRES = "postgresql+psycopg"


class Store(Protocol):
    """A place for a ledger."""

    where: str

    def is_there(self) -> bool:
        """Whether there is a ledger; one that cannot be trusted is a LedgerError."""
        ...

    def create(self) -> None:
        """Make the ledger unless it is there."""
        ...

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that sees one state of the ledger."""
        ...

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that is on the disk when the block has ended."""
        ...

    def lock(self, connection: Connection, account: int | None) -> None:
        """Hold an account, or (None) the list of accounts, until the transaction ends."""
        ...


def store_at(place: str | os.PathLike[str]) -> Store:
    """The store of a path or a URL."""
    path = sqlite_path(place)
    return SqliteStore(path) if path is not None else PostgresStore(_url(str(place)).set(drivername=_POSTGRES))


def sqlite_path(place: str | os.PathLike[str]) -> Path | None:
    """The path of a ledger in a file; None for one in PostgreSQL."""
    if isinstance(place, str) and "://" in place:
        url = _url(place)
        if url.drivername in ("postgresql", "postgres", _POSTGRES):
            return None
        if url.drivername == "sqlite" and url.database:
            return sqlite_path(url.database)
        raise UsageError(
            f"a ledger cannot be kept in {url.drivername!r}.",
            remedy='Give it a file such as "budget.db", or a URL that begins with "postgresql://".',
        )
    if not os.fspath(place) or os.fspath(place) == ":memory:":
        raise UsageError("a ledger must outlive the program.", remedy='Give it a file, such as "budget.db".')
    try:
        return Path(place).expanduser().resolve()
    except (RuntimeError, ValueError) as error:  # no such home, a circle of links, a zero byte
        raise UsageError(f"{os.fspath(place)!r} is not a path: {error}.") from None


def _url(text: str) -> URL:
    try:
        return sql.make_url(text)
    except ArgumentError:
        raise UsageError(
            "this is not the URL of a database.", remedy='Write for example "postgresql://user@host/database".'
        ) from None
