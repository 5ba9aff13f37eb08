"""Where a service keeps keys, jobs and lists of releases: a SQLite file, or a PostgreSQL database."""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from copy import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sql
from sqlalchemy import event
from sqlalchemy.engine import Connection, Row
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from discreet.errors import LedgerError, MissingExtraError
from discreet.privacy import Ledger, entropy
from discreet.service.schema import LOG, SERVICE, TABLES, VERSION
from discreet.service.settings import ServiceSettings

__all__ = ["Store", "clock", "dated", "day_of", "fresh_id", "now"]

WAIT_SECONDS = 60
MOST_CONNECTIONS = 40
"""To a database, of one process: as many as requests are worked on at a time."""

AnyLedger = TypeVar("AnyLedger", bound=Ledger)


_INVENTED: ContextVar[datetime | None] = ContextVar("invented", default=None)


def clock() -> datetime:
    """The time that everything is dated with."""
    return _INVENTED.get() or datetime.now(UTC)


def now() -> str:
    """The time in UTC, to the second."""
    return clock().isoformat(timespec="seconds").replace("+00:00", "Z")


@contextmanager
def dated(at: datetime) -> Iterator[None]:
    """Whatever is written within is dated with this time: for the invented history of a demo."""
    token = _INVENTED.set(at)
    try:
        yield
    finally:
        _INVENTED.reset(token)


def day_of(time: str) -> str:
    """The beginning of the day of a time."""
    return f"{time[:10]}T00:00:00Z"


def fresh_id(prefix: str) -> str:
    """A new name that nobody can guess."""
    return f"{prefix}_{entropy.public_bytes(12).tobytes().hex()}"


class Store:
    """Transactions on the tables of a service, and the places of a tenant's files.

    Invariants
    ----------
    - ``write`` admits one writer at a time to what ``lock`` names (SQLite: to everything), and what it wrote is on the
      disk when it ends.
    - ``holding`` is a lock of the process: it is free again as soon as the process is gone, however it went. On
      PostgreSQL it is a lock in the shared folder and one of a connection of its own: a worker that loses its
      connection is still known to live on its machine, and no pool keeps the lock of a job that ended.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        settings.prepare()
        self.settings = settings
        self.is_postgres = settings.database is not None
        if self.is_postgres:
            url = sql.make_url(str(settings.database)).set(drivername="postgresql+psycopg")
            try:
                self.engine = sql.create_engine(
                    url,
                    isolation_level="READ COMMITTED",
                    pool_pre_ping=True,
                    pool_timeout=WAIT_SECONDS,
                    max_overflow=MOST_CONNECTIONS,
                    hide_parameters=True,
                )
            except ImportError:
                raise MissingExtraError("psycopg", "postgres") from None
            self._locks = sql.create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT", hide_parameters=True)
        else:
            self.engine = sql.create_engine(
                f"sqlite:///{settings.folder / 'service.db'}", max_overflow=-1, hide_parameters=True
            )
            event.listen(self.engine, "connect", _prepare_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)
        # SQLite admits one writer to the file; the threads of one process wait here, in order, and not in its polling.
        self._writer = nullcontext() if self.is_postgres else threading.Lock()
        self._ledgers: dict[tuple[str, type[Ledger]], Ledger] = {}
        self._create()

    def _create(self) -> None:
        with self.write("schema") as connection:
            if not sql.inspect(connection).has_table(SERVICE.name):
                TABLES.create_all(connection)
                connection.execute(sql.insert(SERVICE).values(version=VERSION))
                for statement in _append_only(self.is_postgres):
                    connection.exec_driver_sql(statement)
            found = connection.execute(sql.select(SERVICE.c.version)).scalar_one()
            if found != VERSION:
                raise LedgerError(
                    f"the tables of this service are of version {found}; this discreet has version {VERSION}.",
                    remedy="Install the version of discreet that wrote them.",
                )

    # Transactions

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self, what: str = "") -> Iterator[Connection]:
        """A transaction that changes something, with everybody else who names the same thing waiting."""
        with self._writer, self.engine.connect() as plain:
            connection = plain.execution_options(discreet_writes=True)
            with connection.begin():
                if self.is_postgres:
                    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{WAIT_SECONDS}s'")
                    if what:
                        connection.execute(sql.select(sql.func.pg_advisory_xact_lock(_number(what))))
                yield connection

    def try_write(self, statement: Any) -> bool:
        """Change something that may as well stay as it is; False where somebody else writes, who is not waited for."""
        with ExitStack() as stack:
            if not self.is_postgres:
                writer: Any = self._writer
                if not writer.acquire(blocking=False):
                    return False
                stack.callback(writer.release)
            try:
                plain = stack.enter_context(self.engine.connect())
                if not self.is_postgres:
                    driver: Any = plain.connection.driver_connection
                    driver.execute("PRAGMA busy_timeout = 0")
                    stack.callback(driver.execute, f"PRAGMA busy_timeout = {WAIT_SECONDS}000")
                connection = plain.execution_options(discreet_writes=True)
                with connection.begin():
                    if self.is_postgres:
                        connection.exec_driver_sql("SET LOCAL lock_timeout = '50ms'")
                    connection.execute(statement)
            except SQLAlchemyError:
                return False
        return True

    def all(self, query: Any) -> list[Row[Any]]:
        with self.read() as connection:
            return list(connection.execute(query))

    def one(self, query: Any) -> Row[Any] | None:
        with self.read() as connection:
            return connection.execute(query).first()

    def log(self, connection: Connection, tenant: str, who: str, action: str, subject: str, outcome: str = "") -> None:
        """Add a line about who did what, in the transaction that does it."""
        connection.execute(
            sql.insert(LOG).values(tenant=tenant, at=now(), who=who, action=action, subject=subject, outcome=outcome)
        )

    # Locks that end with the process

    @contextmanager
    def holding(self, job: str) -> Iterator[bool]:
        """Hold a job, as long as this process lives; False where another process holds it."""
        with _locked(self._lock_folder() / job) as mine:
            if not (mine and self.is_postgres):
                yield mine
                return
            with closing(self._locks.connect()) as connection:  # the server frees the lock when it is gone
                # The server notices within a minute that the machine of a worker is gone.
                for setting in ("tcp_keepalives_idle = 20", "tcp_keepalives_interval = 10", "tcp_keepalives_count = 3"):
                    connection.exec_driver_sql(f"SET {setting}")
                lock = _number(job)
                held = bool(connection.execute(sql.select(sql.func.pg_try_advisory_lock(lock))).scalar_one())
                try:
                    yield held
                finally:
                    if held:  # the server notices some time later that a connection was closed
                        with suppress(SQLAlchemyError):
                            connection.execute(sql.select(sql.func.pg_advisory_unlock(lock)))

    @contextmanager
    def marked(self, name: str) -> Iterator[bool]:
        """Mark something in the folder as being worked on, as long as this process lives; False where it is."""
        with _locked(self._lock_folder() / name) as mine:
            yield mine

    def sweep_locks(self) -> None:
        """Remove the files of locks that nobody holds: those of processes that were killed at their very end."""
        for file in [*self._lock_folder().iterdir()]:
            with _locked(file):
                pass

    def _lock_folder(self) -> Path:
        folder = self.settings.folder / "locks"
        folder.mkdir(exist_ok=True, mode=0o700)
        return folder

    # Places

    def folder(self, tenant: str, *parts: str) -> Path:
        """A folder of a tenant."""
        place = self.settings.folder.joinpath("tenants", tenant, *parts)
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        return place

    def ledger(self, tenant: str, who: str, kind: type[AnyLedger] = Ledger) -> AnyLedger:
        """The ledger of a tenant: a file in its folder, or a schema of its own in the database."""
        # One for each tenant and process: it is checked as a whole when it is first used, and at every use where its
        # chain ends.
        known = self._ledgers.get((tenant, kind))
        if known is None:
            known = self._ledgers[tenant, kind] = self._open(tenant, kind)
        mine: Any = copy(known)
        mine.who = who
        return mine

    def _open(self, tenant: str, kind: type[AnyLedger]) -> AnyLedger:
        if not self.is_postgres:
            return kind(self.folder(tenant) / "ledger.db", clock=clock)
        schema = f"discreet_{tenant}"
        with self.write(f"schema {schema}") as connection:
            connection.exec_driver_sql(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        place = _in_schema(sql.make_url(str(self.settings.database)), schema)
        _require_schema(place, schema)
        return kind(place.render_as_string(hide_password=False), clock=clock)


@contextmanager
def _locked(file: Path) -> Iterator[bool]:
    """A lock on a file that is made for it and removed with it; False where somebody else has it."""
    while True:
        handle = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
                return
            if not _is_named(handle, file):  # whoever had it has removed it since it was opened here
                continue
            try:
                yield True
            finally:
                file.unlink(missing_ok=True)
            return
        finally:
            os.close(handle)


def _in_schema(url: sql.URL, schema: str) -> sql.URL:
    """The same database, with tables in a schema of their own."""
    given = url.query.get("options", "")
    options = f"{given if isinstance(given, str) else ' '.join(given)} -csearch_path={schema}"
    return url.update_query_dict({"options": options.strip()})


def _require_schema(url: sql.URL, schema: str) -> None:
    """Refuse a pooler that drops the schema from a connection: the ledgers of all tenants would be one."""
    engine = sql.create_engine(url.set(drivername="postgresql+psycopg"), poolclass=NullPool, hide_parameters=True)
    with engine.connect() as connection:
        found = connection.execute(sql.select(sql.func.current_schema())).scalar_one()
    if found != schema:
        raise LedgerError(
            "the database does not keep the ledgers of tenants apart: a pooler drops the options of connections.",
            remedy="Connect to the database itself (docs/operating.md, PostgreSQL).",
        )


def _is_named(handle: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), file.stat())
    except FileNotFoundError:
        return False


def _number(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions are begun by hand
    for pragma in (
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
        f"busy_timeout = {WAIT_SECONDS}000",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("discreet_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _append_only(postgres: bool) -> list[str]:
    """Statements after which the log refuses changes."""
    if not postgres:
        refuse = "BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END"
        return [f"CREATE TRIGGER log_{one} BEFORE {one} ON {LOG.name} {refuse}" for one in ("UPDATE", "DELETE")]
    return [
        "CREATE OR REPLACE FUNCTION service_refuse() RETURNS trigger AS "
        "$$ BEGIN RAISE EXCEPTION 'the log is append-only'; END $$ LANGUAGE plpgsql",
        f"CREATE TRIGGER log_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON {LOG.name} "
        "FOR EACH STATEMENT EXECUTE FUNCTION service_refuse()",
    ]
