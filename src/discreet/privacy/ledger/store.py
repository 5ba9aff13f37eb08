"""Where a ledger is kept: which place a path or URL names, and ledgers in a PostgreSQL database.

A store gives transactions for reading, each of which sees one state, and for writing. After a write transaction of an
account has begun (``lock``), no other thread, process or machine changes that account until it ends; when it ends well,
what it wrote is on the disk. ``is_there`` raises a LedgerError where there is a ledger that cannot be trusted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import sqlalchemy as sql
from sqlalchemy.engine import URL, Connection
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool

from discreet.errors import MissingExtraError, UsageError
from discreet.privacy.ledger import chain
from discreet.privacy.ledger.chain import check_version, create_tables, migrate
from discreet.privacy.ledger.schema import ACCOUNTS, LEDGER, SPENDS, TABLES, VERSION
from discreet.privacy.ledger.sqlite_store import WAIT_SECONDS, SqliteStore
from discreet.privacy.ledger.troubles import clearly

__all__ = ["PostgresStore", "Store", "sqlite_path", "store_at"]

_POSTGRES = "postgresql+psycopg"


class PostgresStore:
    """A ledger in a PostgreSQL database, for every process of every machine that reaches it.

    Its tables begin with ``discreet_`` and live in the first schema of the search path. The second place of the chain
    is the table ``discreet_head``; its one row is also the lock under which steps are added.
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
            with clearly(self.where), self._engine.connect() as plain:
                # All tables as they were at one moment, whatever others write meanwhile.
                connection = plain.execution_options(isolation_level="REPEATABLE READ")
                with connection.begin():
                    if not sql.inspect(connection).has_table(LEDGER.name):
                        return False
                    version = check_version(connection, self.where)
                    if version >= 2:
                        chain.verify(connection, self.where, version)
            if version != VERSION:
                self._migrate()
            self._trusted = True
        return True

    def create(self) -> None:
        if not self.is_there():
            with self.write() as connection:
                self.lock(connection, None)
                if not sql.inspect(connection).has_table(LEDGER.name):
                    create_tables(connection)
            self.is_there()

    def _migrate(self) -> None:
        with self.write() as connection:
            self.lock(connection, None)
            connection.exec_driver_sql(f"LOCK TABLE {SPENDS.name}, {ACCOUNTS.name} IN ACCESS EXCLUSIVE MODE")
            version = check_version(connection, self.where)
            if version != VERSION:
                _keep_copies(connection, version)
                migrate(connection, version)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with clearly(self.where), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        with clearly(self.where), self._engine.connect() as connection, connection.begin():
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{WAIT_SECONDS}s'")
            # A server may be set up to answer before it has written; for us it must not.
            connection.exec_driver_sql(
                "SELECT set_config('synchronous_commit', 'on', true)"
                " WHERE current_setting('synchronous_commit') = 'off'"
            )
            yield connection

    def lock(self, connection: Connection, account: int | None) -> None:
        """Hold an account, or (None) the list of accounts, until the transaction ends."""
        if account is None:
            connection.execute(sql.select(sql.func.pg_advisory_xact_lock(self._ACCOUNTS)))
        else:
            connection.execute(sql.select(ACCOUNTS.c.id).where(ACCOUNTS.c.id == account).with_for_update())


def _keep_copies(connection: Connection, version: int) -> None:
    """Copy every table of the ledger, in the transaction that migrates them."""
    present = set(sql.inspect(connection).get_table_names())
    for name in present & set(TABLES.tables):
        kept = next(free for n in count(1) if (free := f"{name}_version_{version}{_numbered(n)}") not in present)
        connection.exec_driver_sql(f"CREATE TABLE {kept} AS TABLE {name}")


def _numbered(n: int) -> str:
    return "" if n == 1 else f"_{n}"


Store = SqliteStore | PostgresStore


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
