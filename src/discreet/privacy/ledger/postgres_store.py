"""A ledger in a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sql
from sqlalchemy.engine import URL, Connection
from sqlalchemy.pool import NullPool

from discreet.errors import MissingExtraError
from discreet.privacy.ledger import chain
from discreet.privacy.ledger.migration import check_version, create_tables, migrate
from discreet.privacy.ledger.schema import ACCOUNTS, LEDGER, SPENDS, VERSION
from discreet.privacy.ledger.troubles import clearly

__all__ = ["PostgresStore"]

WAIT_SECONDS = 60
"""How long a writer waits for the others."""


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
                    if version == VERSION:
                        chain.verify(connection, self.where)
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
            if check_version(connection, self.where) != VERSION:
                migrate(connection)

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
        if account is None:
            connection.execute(sql.select(sql.func.pg_advisory_xact_lock(self._ACCOUNTS)))
        else:
            connection.execute(sql.select(ACCOUNTS.c.id).where(ACCOUNTS.c.id == account).with_for_update())
