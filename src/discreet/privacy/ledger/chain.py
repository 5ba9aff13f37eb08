"""The hash chain over a ledger: one step for each thing that was ever written, so that a change or a loss shows.

A *step* stands for an account that was opened, a fingerprint that was linked, a charge that was reserved, settled or
saved, or an audit that was kept. What version 3 added to a row (the terms of an account per period; the periods and the
key of a charge; when drawing began; where a release was saved) has steps of its own, so that chains of version 2 stay
as they are. The steps are numbered 1, 2, 3, … The head after step n is SHA-256 over the head after step n - 1, the
number, the kind and key of the step, and the hash of the columns that the step wrote. A *position* is a number of steps
and the head after the last of them.

Invariants
----------
1. Rows and steps correspond one to one, and both are written in one transaction (``append``). Columns are written
   once; no row is deleted.
2. The position of the whole chain stands in ``discreet_head``, in the same transaction. With SQLite it is also kept in
   a second place, a file beside the database (``heads.py``), and is written there after the commit and before the
   writer continues. So noise is drawn only for charges that both places know.
3. Hence the second place always holds a position that the chain contains. A chain that is *longer* comes from a
   crash between the two writes, or from a writer at this moment, and is no alarm: nothing is missing. A chain that
   is *shorter*, or that has another head at that number, has lost or changed something: an error (``require``).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from discreet.errors import LedgerError
from discreet.privacy.ledger.schema import (
    ACCOUNTS,
    AUDITS,
    CHAIN,
    FINGERPRINTS,
    HEAD,
    LEDGER,
    SPENDS,
    TABLES,
    UNKNOWN,
    VERSION,
)
from discreet.privacy.ledger.troubles import RESTORE

__all__ = [
    "START",
    "Position",
    "Step",
    "append",
    "check_version",
    "create_tables",
    "migrate",
    "position",
    "require",
    "steps",
    "verify",
]


class Position(NamedTuple):
    """A number of steps, and the head after the last of them."""

    number: int
    head: str


class Step(NamedTuple):
    """One step as the chain names it."""

    kind: str
    key: str


START = Position(0, hashlib.sha256(b"discreet ledger").hexdigest())

_ADDED = {
    ACCOUNTS: ("time_zone", "lifetime_epsilon", "lifetime_delta"),
    SPENDS: ("periods", "whole_loss", "key", "request", "drawing_at", "saved_in"),
}
"""The columns that version 3 added."""

_BEGUN = HEAD.insert().values(id=1, **START._asdict())

_spelled = json.JSONEncoder(default=repr).encode


class _Kind(NamedTuple):
    """Where the columns of a step stand, and for which rows there is such a step."""

    table: sql.Table
    key: str
    columns: tuple[str, ...]
    rows: sql.ColumnElement[bool]
    since: int = 2


def _any(*columns: sql.Column[Any]) -> sql.ColumnElement[bool]:
    return sql.or_(*(column.is_not(None) for column in columns))


_KINDS = {
    "account": _Kind(ACCOUNTS, "id", ("id", "name", "epsilon", "delta", "unit", "view", "opened", "who"), sql.true()),
    "fingerprint": _Kind(FINGERPRINTS, "fingerprint", ("fingerprint", "account", "linked"), sql.true()),
    "reserved": _Kind(
        SPENDS,
        "id",
        ("id", "account", "counted", "loss", "mechanism", "parameters", "guarantee", "reserved_at", "who"),
        sql.true(),
    ),
    # An entry that has anything of a settled one counts as settled here, so that a changed state shows as well.
    "settled": _Kind(
        SPENDS,
        "id",
        ("id", "state", "release", "settled_at"),
        (SPENDS.c.state != "reserved") | SPENDS.c.settled_at.is_not(None) | SPENDS.c.release.is_not(None),
    ),
    "saved": _Kind(SPENDS, "id", ("id", "saved_at"), SPENDS.c.saved_at.is_not(None)),
    "terms": _Kind(
        ACCOUNTS,
        "id",
        ("id", "time_zone", "lifetime_epsilon", "lifetime_delta"),
        _any(ACCOUNTS.c.time_zone, ACCOUNTS.c.lifetime_epsilon, ACCOUNTS.c.lifetime_delta),
        since=3,
    ),
    "periods": _Kind(
        SPENDS, "id", ("id", "periods", "whole_loss"), _any(SPENDS.c.periods, SPENDS.c.whole_loss), since=3
    ),
    "key": _Kind(SPENDS, "id", ("id", "key", "request"), _any(SPENDS.c.key, SPENDS.c.request), since=3),
    "drawing": _Kind(SPENDS, "id", ("id", "drawing_at"), SPENDS.c.drawing_at.is_not(None), since=3),
    "audit": _Kind(AUDITS, "id", tuple(AUDITS.columns.keys()), sql.true(), since=4),
    "place": _Kind(SPENDS, "id", ("id", "saved_in"), SPENDS.c.saved_in.is_not(None), since=3),
}


def append(connection: Connection, kind: str, key: int | str) -> None:
    """Add the step for a row that was just written."""
    columns = _KINDS[kind]
    (row,) = _rows(connection, columns, columns.table.c[columns.key] == key)
    _add(connection, [(Step(kind, str(key)), _digest(row))])


def position(connection: Connection, *, lock: bool = False) -> Position:
    """The position of the whole chain; with ``lock`` nobody else adds a step until the transaction ends."""
    query = sql.select(HEAD.c.number, HEAD.c.head)
    found = connection.execute(query.with_for_update() if lock else query).all()
    if len(found) != 1:
        raise LedgerError(f"the ledger is damaged: it has {len(found)} heads of its chain.", remedy=RESTORE)
    return Position(*found[0])


def steps(connection: Connection) -> Iterator[tuple[Position, Step]]:
    """All steps with the positions after them."""
    for number, kind, key, head in connection.execute(sql.select(CHAIN).order_by(CHAIN.c.number)):
        yield Position(number, head), Step(kind, key)


def require(connection: Connection, noted: Position, where: str, second: str) -> None:
    """Check that the chain contains a position that the second place holds."""
    if noted == START:
        return
    found = connection.execute(sql.select(CHAIN.c.head).where(CHAIN.c.number == noted.number)).scalar()
    if found == noted.head:
        return
    if found is None:
        reached = connection.execute(sql.select(sql.func.count()).select_from(CHAIN)).scalar()
        what = f"{where} has lost entries: it has {reached} steps, and {second} knows of {noted.number}."
    else:
        what = f"{where} is not the ledger that {second} belongs to: their step {noted.number} differs."
    raise LedgerError(f"{what} Nothing was charged.", remedy=RESTORE)


def verify(connection: Connection, where: str, version: int = VERSION) -> Position:
    """Compute the whole chain again from the rows; its position. A row that was changed, lost or added is an error."""
    written = dict(_written(connection, version))
    at = START
    for (number, head), step in steps(connection):
        digest = written.pop(step, None)
        if number != at.number + 1:
            raise _damaged(where, f"step {at.number + 1} of its chain is missing")
        if digest is None:
            raise _damaged(where, f"{_named(step)} is missing")
        at = _next(at, step, digest)
        if at.head != head:
            raise _damaged(where, f"{_named(step)} was changed")
    if written:
        raise _damaged(where, f"{_named(next(iter(written)))} is not in its chain")
    if at != position(connection):
        raise _damaged(where, f"its chain has {at.number} steps and its head says {position(connection).number}")
    return at


# Versions


def check_version(connection: Connection, where: str) -> int:
    """The version of a ledger, if this discreet knows it."""
    version = connection.execute(sql.select(sql.func.max(LEDGER.c.version))).scalar()
    if version is None or version < 1:
        raise LedgerError(f"{where} does not say which version of a ledger it is; it was left as it is.")
    if version > VERSION:
        raise LedgerError(
            f"{where} is a ledger of version {version}; this discreet knows versions up to {VERSION}.",
            remedy="Upgrade discreet.",
        )
    return int(version)


def create_tables(connection: Connection) -> None:
    """Make the tables of an empty ledger."""
    TABLES.create_all(connection, checkfirst=False)
    connection.execute(LEDGER.insert().values(version=VERSION))
    connection.execute(_BEGUN)


def migrate(connection: Connection, version: int) -> None:
    """Bring the tables of an older version to today's. The caller holds all locks.

    Version 2 has the chain, its head, and whether a release was saved. Version 3 has periods, lifetimes and keys; the
    chain stays as it was. Version 4 has audits.
    """
    if version < 2:
        connection.exec_driver_sql(f"ALTER TABLE {SPENDS.name} ADD COLUMN saved_at TEXT")
        connection.execute(SPENDS.update().where(SPENDS.c.state == "settled").values(saved_at=UNKNOWN))
        TABLES.create_all(connection, tables=[CHAIN, HEAD], checkfirst=False)
        connection.execute(_BEGUN)
        _add(connection, _written(connection, 2))
    if version < 3:
        for table, columns in _ADDED.items():
            for column in columns:
                connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {column} TEXT")
        for index in SPENDS.indexes:
            if SPENDS.c.key in index.columns.values():
                index.create(connection)
    TABLES.create_all(connection, tables=[AUDITS], checkfirst=False)
    connection.execute(LEDGER.update().values(version=VERSION))


# Steps and rows


def _add(connection: Connection, new: Iterable[tuple[Step, bytes]]) -> None:
    at = position(connection, lock=True)
    rows: list[dict[str, Any]] = []
    for step, digest in new:
        at = _next(at, step, digest)
        rows.append({**step._asdict(), **at._asdict()})
    if rows:
        connection.execute(CHAIN.insert(), rows)
        connection.execute(HEAD.update().values(at._asdict()))


def _written(connection: Connection, version: int) -> Iterator[tuple[Step, bytes]]:
    """The steps that the rows stand for, with the hashes of their columns, kind by kind."""
    for name, kind in _KINDS.items():
        if kind.since > version:
            continue
        for row in _rows(connection, kind):
            yield Step(name, str(row[0])), _digest(row)


def _rows(
    connection: Connection, kind: _Kind, condition: sql.ColumnElement[bool] | None = None
) -> Iterable[tuple[Any, ...]]:
    """The columns of the steps of a kind, as the database has them: converted values would hide some damage."""
    columns = [sql.literal_column(name) for name in kind.columns if name != kind.key]
    query = sql.select(sql.literal_column(kind.key), *columns).select_from(kind.table)
    query = query.where(kind.rows if condition is None else condition).order_by(kind.table.c[kind.key])
    return (tuple(row) for row in connection.execute(query))


def _digest(row: tuple[Any, ...]) -> bytes:
    # PostgreSQL has truth values where SQLite has 0 and 1.
    plain = [int(value) if isinstance(value, bool) else value for value in row]
    return hashlib.sha256(_spelled(plain).encode()).digest()


def _next(before: Position, step: Step, digest: bytes) -> Position:
    number = before.number + 1
    text = f"{before.head} {number} {digest.hex()} {step.kind} {step.key}"
    return Position(number, hashlib.sha256(text.encode()).hexdigest())


def _named(step: Step) -> str:
    if step.kind in ("account", "terms"):
        return f"account {step.key}"
    if step.kind == "audit":
        return f"audit {step.key}"
    return "the link of a dataset to its account" if step.kind == "fingerprint" else f"entry {step.key} ({step.kind})"


def _damaged(where: str, what: str) -> LedgerError:
    return LedgerError(f"{where} is damaged or was changed: {what}. It was left as it is.", remedy=RESTORE)
