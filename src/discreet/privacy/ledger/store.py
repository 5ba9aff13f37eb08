"""Where a ledger is kept: how SQLite and PostgreSQL are made to keep it safe.

A store gives transactions for reading and for writing. After a write transaction of an account has begun, no other
thread, process or machine changes that account until it ends; when it ends well, what it wrote is on the disk.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

import sqlalchemy as sql
from sqlalchemy import event
from sqlalchemy.engine import URL, Connection, Engine
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from discreet.errors import DiscreetError, LedgerError, MissingExtraError, UsageError
from discreet.privacy.ledger.tables import ACCOUNTS, BOOK, TABLES, VERSION, check_version

__all__ = ["PostgresStore", "SqliteStore", "Store", "store_at"]

WAIT_SECONDS = 60
"""How long a writer waits for the others."""


class Store(Protocol):
    """A place for a book."""

    where: str

    def is_there(self) -> bool:
        """Whether there is a book; one that cannot be trusted is a LedgerError."""
        ...

    def create(self) -> None:
        """Make the book unless it is there."""
        ...

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that sees one state of the book."""
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
    if isinstance(place, str) and "://" in place:
        return _store_at_url(place)
    if not os.fspath(place) or os.fspath(place) == ":memory:":
        raise UsageError("a ledger must outlive the program.", remedy='Give it a file, such as "budget.db".')
    try:
        return SqliteStore(Path(place).expanduser().resolve())
    except (RuntimeError, ValueError) as error:  # no such home, a circle of links, a zero byte
        raise UsageError(f"{os.fspath(place)!r} is not a path: {error}.") from None


def _store_at_url(text: str) -> Store:
    try:
        url = sql.make_url(text)
    except ArgumentError:
        raise UsageError(
            "this is not the URL of a database.", remedy='Write for example "postgresql://user@host/database".'
        ) from None
    if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        return PostgresStore(url.set(drivername="postgresql+psycopg"))
    if url.drivername == "sqlite" and url.database:
        return store_at(url.database)
    raise UsageError(
        f"a ledger cannot be kept in {url.drivername!r}.",
        remedy='Give it a file such as "budget.db", or a URL that begins with "postgresql://".',
    )


class SqliteStore:
    """A book in one SQLite file, for every process of one machine.

    The file is made aside and then given its name, so that under that name there is never half a book. A commit is
    flushed to the disk before it returns. No connection outlives its transaction: nothing can leak through a fork.
    """

    _HEADER = b"SQLite format 3\x00"
    _MARK = 0x64637274  # application_id of our files, at byte 68

    def __init__(self, path: Path) -> None:
        self.path = path
        self.where = str(self.path)
        self._trusted = False
        self._engine = _sqlite_engine(self.path)
        self.is_there()

    def is_there(self) -> bool:
        with _clearly(self.where):
            if not self._has_file():
                self._trusted = False
                return False
            if not self._trusted:
                self._check_mark()
                with self._engine.connect() as connection, connection.begin():
                    _check_health(connection, self.where)
                    check_version(connection, self.where)
                self._trusted = True
        return True

    def create(self) -> None:
        if self.is_there():
            return
        with _clearly(self.where):
            handle, name = tempfile.mkstemp(prefix=f".{self.path.name}.", suffix=".new", dir=self.path.parent)
            os.close(handle)
            aside = Path(name)
            try:
                self._fill(aside)
                _publish(aside, self.path)
            finally:
                for leftover in (name, f"{name}-journal", f"{name}-wal", f"{name}-shm"):
                    with suppress(FileNotFoundError):
                        os.unlink(leftover)
        self.is_there()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with _clearly(self.where), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        with _clearly(self.where), self._engine.connect() as plain:
            connection = plain.execution_options(discreet_writes=True)
            with connection.begin():
                yield connection

    def lock(self, connection: Connection, account: int | None) -> None:
        """Nothing more to hold: BEGIN IMMEDIATE admits one writer to the whole file."""

    def _has_file(self) -> bool:
        try:
            mode = self.path.stat().st_mode
        except FileNotFoundError:
            if not self.path.parent.is_dir():
                raise LedgerError(
                    f"{self.path.parent} is not a folder, so there can be no ledger in it.", remedy="Make it first."
                ) from None
            return False
        if not stat.S_ISREG(mode):
            raise LedgerError(f"{self.where} is not a file.", remedy='Name a file in it, such as "budget.db".')
        return True

    def _check_mark(self) -> None:
        """Look at the first bytes before SQLite does: it would change some files by opening them."""
        with self.path.open("rb") as file:
            head = file.read(100)
        if len(head) == 100 and head[:16] == self._HEADER and head[68:72] == self._MARK.to_bytes(4, "big"):
            return
        what = "is empty" if not head else "is not a ledger of discreet, or its beginning is damaged"
        raise LedgerError(
            f"{self.where} {what}; it was left as it is.",
            remedy="Give another path; if it was a ledger, restore it from a backup.",
        )

    def _fill(self, path: Path) -> None:
        engine = _sqlite_engine(path)
        with engine.connect() as plain, plain.execution_options(discreet_writes=True).begin():
            TABLES.create_all(plain, checkfirst=False)
            plain.execute(BOOK.insert().values(version=VERSION))
            plain.exec_driver_sql(f"PRAGMA application_id = {self._MARK}")
        # Write-ahead logging lets readers read while one writes. The setting stays with the file.
        raw = engine.raw_connection()
        try:
            raw.cursor().execute("PRAGMA journal_mode = WAL")
        finally:
            raw.close()


def _sqlite_engine(path: Path) -> Engine:
    def connect() -> sqlite3.Connection:
        # mode=rw: a file that has vanished is an error, not a new and empty book.
        connection = sqlite3.connect(
            f"{path.as_uri()}?mode=rw", uri=True, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False
        )
        for setting in ("synchronous = FULL", "fullfsync = ON", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {setting}")
        return connection

    engine = sql.create_engine("sqlite://", creator=connect, poolclass=NullPool)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("discreet_writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _publish(aside: Path, path: Path) -> None:
    """Give a finished file its name, unless another process was quicker."""
    try:
        os.link(aside, path)
    except FileExistsError:
        return
    except OSError:  # a file system without hard links
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            os.replace(aside, path)
    with suppress(OSError):  # not every system lets a folder be flushed
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


class PostgresStore:
    """A book in a PostgreSQL database, for every process of every machine that reaches it.

    Its tables begin with ``discreet_`` and live in the first schema of the search path.
    """

    _ACCOUNTS = 0x64637274  # the advisory lock under which tables are made and accounts opened

    def __init__(self, url: URL) -> None:
        self.where = url.render_as_string(hide_password=True)
        self._trusted = False
        try:
            # Read committed: what is read after the lock was got is what the last holder left. A stricter level
            # would show the state from before the lock.
            self._engine = sql.create_engine(url, poolclass=NullPool, isolation_level="READ COMMITTED")
        except ImportError:
            raise MissingExtraError("psycopg", "postgres") from None

    def is_there(self) -> bool:
        if not self._trusted:
            with self.read() as connection:
                if not sql.inspect(connection).has_table(BOOK.name):
                    return False
                check_version(connection, self.where)
            self._trusted = True
        return True

    def create(self) -> None:
        if not self.is_there():
            with self.write() as connection:
                self.lock(connection, None)
                if not sql.inspect(connection).has_table(BOOK.name):
                    TABLES.create_all(connection, checkfirst=False)
                    connection.execute(BOOK.insert().values(version=VERSION))
            self.is_there()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with _clearly(self.where), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        with _clearly(self.where), self._engine.connect() as connection, connection.begin():
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{WAIT_SECONDS}s'")
            # A server may be set up to answer before it has written; for us it must not.
            connection.exec_driver_sql(
                "SELECT set_config('synchronous_commit', 'on', true)"
                " WHERE current_setting('synchronous_commit') = 'off'"
            )
            yield connection

    def lock(self, connection: Connection, account: int | None) -> None:
        if account is None:
            connection.execute(sql.select(sql.func.pg_advisory_xact_lock(self._ACCOUNTS)))
        else:
            connection.execute(sql.select(ACCOUNTS.c.id).where(ACCOUNTS.c.id == account).with_for_update())


def _check_health(connection: Connection, where: str) -> None:
    found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
    if found != "ok":
        raise LedgerError(
            f"{where} is damaged ({found}); it was left as it is.", remedy="Restore the ledger from a backup."
        )


_TROUBLES = {
    "SQLITE_BUSY": ("is held by another program for too long.", "Try again; nothing was written."),
    "SQLITE_LOCKED": ("is held by another program for too long.", "Try again; nothing was written."),
    "SQLITE_FULL": ("cannot be written: the disk is full.", "Make room; nothing was written."),
    "SQLITE_IOERR": ("cannot be written or read: the disk reports an error or is full.", "Look after the disk."),
    "SQLITE_CORRUPT": ("is damaged; it was left as it is.", "Restore the ledger from a backup."),
    "SQLITE_NOTADB": ("is damaged; it was left as it is.", "Restore the ledger from a backup."),
    "SQLITE_READONLY": ("may not be written.", "Ask for the right to write the file and its folder."),
    "SQLITE_PERM": ("may not be opened.", "Ask for the right to read and write the file and its folder."),
    "SQLITE_CANTOPEN": ("cannot be opened.", "Look whether it exists and may be read and written, with its folder."),
}


@contextmanager
def _clearly(where: str) -> Iterator[None]:
    """Turn what databases and disks say into a LedgerError."""
    try:
        yield
    except DiscreetError:
        raise
    except (SQLAlchemyError, sqlite3.Error, UnicodeError) as error:
        raise _explained(where, error) from error
    except OSError as error:
        raise LedgerError(f"{where} cannot be used: {error.strerror or error}.") from error


def _explained(where: str, error: Exception) -> LedgerError:
    cause = getattr(error, "orig", None) or error
    code = getattr(cause, "sqlite_errorname", "")
    for prefix, (what, remedy) in _TROUBLES.items():
        if code.startswith(prefix):
            return LedgerError(f"{where} {what}", remedy=remedy)
    first_line = str(cause).strip().partition("\n")[0]
    return LedgerError(f"the ledger at {where} failed: {first_line or type(cause).__name__}.")
