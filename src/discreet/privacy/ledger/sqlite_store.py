"""A ledger in a SQLite file."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import lru_cache
from itertools import count
from pathlib import Path

import sqlalchemy as sql
from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.pool import NullPool

from discreet.errors import DiscreetWarning, LedgerError
from discreet.privacy.ledger import chain
from discreet.privacy.ledger.chain import START, Position, check_version, create_tables, migrate
from discreet.privacy.ledger.heads import HeadFile, aside, publish
from discreet.privacy.ledger.schema import VERSION
from discreet.privacy.ledger.troubles import RESTORE, clearly

__all__ = ["SqliteStore", "check_copy", "connected", "copy_database", "free_name"]

WAIT_SECONDS = 60
"""How long a writer waits for the others."""

_MARK = 0x64637274  # application_id of our files


class SqliteStore:
    """A ledger in one SQLite file, for every process of one machine, and the file of its head beside it.

    Invariants
    ----------
    - The files are made aside and then given their names, the head first: where there is a database, it is whole and
      has a head. A head of no steps without a database is what a crash of the first opening leaves.
    - A commit is in the database file, and flushed, before it returns. There is no write-ahead log; after a crash a
      ``-journal`` holds what the unfinished transaction must be undone to, never a charge.
    - The head is written after the commit, under the lock of the database, and before ``write`` ends.
    - No connection outlives its transaction: nothing can leak through a fork.
    - The database is never opened but by SQLite: closing another handle on it would drop the locks of this process.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.where = str(self.path)
        self.head = HeadFile(path)
        self._trusted = False
        self._engine = _engine(self.path)
        self.is_there()

    def is_there(self) -> bool:
        with clearly(self.where):
            noted = self.head.read()
            if not self._has_file():
                self._trusted = False
                if noted not in (None, START):
                    raise LedgerError(
                        f"{self.where} is gone, and {self.head.path} knows of {noted.number} steps that were in it.",
                        remedy=RESTORE,
                    )
                return False
            if noted is None:  # another process may have made both files since: the head is there before the database
                noted = self.head.read()
            if not self._trusted:
                _check_mark(self.path)
                if self._check(noted) != VERSION:
                    self._migrate()
                self._trusted = True
        return True

    def create(self) -> None:
        if self.is_there():
            return
        with clearly(self.where), aside(self.path) as new:
            _fill(new)
            self.head.begin()
            publish(new, self.path)
        self.is_there()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with clearly(self.where):
            noted = self.head.read()  # before the database, which may only be further
            with self._engine.connect() as connection, connection.begin():
                self._require(connection, noted)
                yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        with clearly(self.where):
            noted = self.head.read()
            with self._writing() as connection:
                self._require(connection, noted)
                yield connection
                after = chain.position(connection)
            self._note(after)

    def lock(self, connection: Connection, account: int | None) -> None:
        """Nothing more to hold: BEGIN IMMEDIATE admits one writer to the whole file."""

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._engine.connect() as plain:
            connection = plain.execution_options(discreet_writes=True)
            with connection.begin():
                yield connection

    def _note(self, reached: Position) -> None:
        """Bring the head to what is committed, unless another writer has done so."""
        noted = self.head.read()
        if noted is not None and noted.number >= reached.number:
            return
        try:
            with self._writing() as connection:
                chain.require(connection, reached, self.where, "the program that wrote it")
                self.head.write(chain.position(connection))
        except OSError as error:
            raise LedgerError(
                f"{self.head.path} cannot be written: {error.strerror or error}. What was charged stays charged.",
                remedy="Make room on the disk, or ask for the right to write there, and try again.",
            ) from error

    def _require(self, connection: Connection, noted: Position | None) -> None:
        if noted is None:
            raise LedgerError(
                f"{self.head.path} is missing, so that losses in {self.where} would not be noticed.",
                remedy=self.head.remedy,
            )
        chain.require(connection, noted, self.where, str(self.head.path))

    def _check(self, noted: Position | None) -> int:
        """Look at the whole ledger; its version."""
        with self._engine.connect() as connection, connection.begin():
            _check_health(connection, self.where)
            version = check_version(connection, self.where)
            if version >= 2:
                self._require(connection, noted)
                chain.verify(connection, self.where, version)
            elif noted not in (None, START):
                raise LedgerError(
                    f"{self.where} is of version {version}, and {self.head.path} knows of {noted.number} later steps.",
                    remedy=RESTORE,
                )
        return version

    def _migrate(self) -> None:
        """Bring a ledger of an older version to today's, after a copy of it was written beside it."""
        self._leave_write_ahead_log()
        with self._writing() as connection:
            version = check_version(connection, self.where)
            if version == VERSION:  # by another process, meanwhile
                return
            kept = free_name(self.path, f"version-{version}")
            copy_database(self.path, kept)
            self.head.begin()
            migrate(connection, version)
            reached = chain.position(connection)
        self._note(reached)
        warnings.warn(
            f"{self.where} was migrated to version {VERSION} of the ledger; a copy from before is {kept}.",
            DiscreetWarning,
            stacklevel=2,
        )

    def _leave_write_ahead_log(self) -> None:
        """Switch to a rollback journal. For this SQLite needs the file to itself and does not wait for others."""
        until = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                with closing(_plain(self.path)) as connection:
                    connection.execute("PRAGMA journal_mode = DELETE")
                return
            except sqlite3.OperationalError as error:
                if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > until:
                    raise
                time.sleep(0.02)

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


def copy_database(source: Path, target: Path) -> None:
    """A flushed copy under a name that is free, readable by its owner alone; of a ledger in use, one whole state."""
    with clearly(str(source)):
        _check_mark(source)
    with clearly(str(target)), aside(target) as new:
        with clearly(str(source)), closing(_plain(new)) as copy, closing(_plain(source)) as ledger:
            ledger.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
        with new.open("rb") as file:
            os.fsync(file.fileno())
        if not publish(new, target):
            raise LedgerError(f"{target} is there already; it was left as it is.", remedy="Give another name.")


def _plain(path: Path) -> sqlite3.Connection:
    # mode=rw: a file that has vanished is an error, not a new and empty ledger.
    return sqlite3.connect(
        f"{path.as_uri()}?mode=rw", uri=True, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False
    )


def check_copy(path: Path) -> Position:
    """Check a copy of a ledger that has no head, and bring it to today's version; the position of its chain."""
    with clearly(str(path)):
        _check_mark(path)
        with _engine(path).connect() as plain, plain.execution_options(discreet_writes=True).begin():
            _check_health(plain, str(path))
            version = check_version(plain, str(path))
            if version != VERSION:
                migrate(plain, version)
            return chain.verify(plain, str(path))


@contextmanager
def connected(path: Path) -> Iterator[Connection]:
    """A transaction for reading a ledger that may be damaged: nothing is checked."""
    with clearly(str(path)), _engine(path).connect() as connection, connection.begin():
        yield connection


def free_name(path: Path, what: str) -> Path:
    """A name beside the path that nothing has."""
    names = (path.with_name(f"{path.name}.{what}{'' if n == 1 else f'-{n}'}") for n in count(1))
    return next(name for name in names if not os.path.lexists(name))


def _check_mark(path: Path) -> None:
    """Recognize a ledger without changing the file, as SQLite does by opening some files in the usual way."""
    try:
        mark = _mark(f"{path.as_uri()}?mode=ro&immutable=1")
    except sqlite3.DatabaseError:
        # Read without a lock, a ledger that another process is writing looks damaged: look again with one.
        mark = _mark(f"{path.as_uri()}?mode=ro")
    if mark == _MARK:
        return
    what = "is empty" if not path.stat().st_size else "is not a ledger of discreet, or its beginning is damaged"
    raise LedgerError(
        f"{path} {what}; it was left as it is.",
        remedy="Give another path; if it was a ledger, restore it from a backup.",
    )


def _mark(uri: str) -> int | None:
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=WAIT_SECONDS)) as connection:
            return connection.execute("PRAGMA application_id").fetchone()[0]
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorname != "SQLITE_NOTADB":
            raise
        return None


def _check_health(connection: Connection, where: str) -> None:
    """Look at every page, every index and every reference."""
    found = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar()
    if found == "ok" and connection.exec_driver_sql("PRAGMA foreign_key_check").first() is not None:
        found = "an entry refers to an account that is not there"
    if found != "ok":
        raise LedgerError(f"{where} is damaged ({found}); it was left as it is.", remedy=RESTORE)


def _fill(path: Path) -> None:
    with _engine(path).connect() as plain, plain.execution_options(discreet_writes=True).begin():
        create_tables(plain)
        plain.exec_driver_sql(f"PRAGMA application_id = {_MARK}")


@lru_cache(maxsize=64)  # an engine keeps its compiled statements, and no connection
def _engine(path: Path) -> Engine:
    def connect() -> sqlite3.Connection:
        connection = _plain(path)
        # EXTRA flushes the folder, too, when the journal of a commit is deleted: otherwise a power cut could bring the
        # journal back, and with it the state before the commit.
        for setting in ("synchronous = EXTRA", "fullfsync = ON", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {setting}")
        return connection

    engine = sql.create_engine("sqlite://", creator=connect, poolclass=NullPool)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("discreet_writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine
