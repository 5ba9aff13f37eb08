"""Versions of the tables of a ledger, and the way from one to the next."""

from __future__ import annotations

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from discreet.errors import LedgerError
from discreet.privacy.ledger import chain
from discreet.privacy.ledger.schema import CHAIN, HEAD, LEDGER, SPENDS, TABLES, UNKNOWN, VERSION

__all__ = ["check_version", "create_tables", "migrate"]


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
    chain.start(connection)


def migrate(connection: Connection) -> None:
    """From version 1 to 2: the chain, its head, and whether a release was saved. The caller holds all locks."""
    connection.exec_driver_sql(f"ALTER TABLE {SPENDS.name} ADD COLUMN saved_at TEXT")
    connection.execute(SPENDS.update().where(SPENDS.c.state == "settled").values(saved_at=UNKNOWN))
    TABLES.create_all(connection, tables=[CHAIN, HEAD], checkfirst=False)
    chain.start(connection)
    chain.append_all(connection)
    connection.execute(LEDGER.update().values(version=VERSION))
