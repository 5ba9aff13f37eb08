"""The tables of a ledger, the same in SQLite and PostgreSQL.

Budgets are kept as text, numerator over denominator: a database has no rationals, and its decimals round.
"""

from __future__ import annotations

import sqlalchemy as sql

__all__ = ["ACCOUNTS", "AUDITS", "CHAIN", "FINGERPRINTS", "HEAD", "LEDGER", "SPENDS", "TABLES", "UNKNOWN", "VERSION"]

VERSION = 4
"""Version of the tables. A ledger of an older version is migrated; one of a newer version is left alone."""

UNKNOWN = "unknown"
"""``saved_at`` of entries from version 1, which did not record whether a release was saved."""

TABLES = sql.MetaData()
LEDGER = sql.Table(
    "discreet_book",
    TABLES,
    sql.Column("version", sql.Integer, primary_key=True),
)
ACCOUNTS = sql.Table(
    "discreet_accounts",
    TABLES,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("name", sql.Text, nullable=False, unique=True),
    sql.Column("epsilon", sql.Text, nullable=False),
    sql.Column("delta", sql.Text, nullable=False),
    sql.Column("unit", sql.Text, nullable=False),
    sql.Column("view", sql.Text, nullable=False),
    sql.Column("opened", sql.Text, nullable=False),
    sql.Column("who", sql.Text, nullable=False),
    # Since version 3. Of accounts per period: where days begin, and the limit on all periods together.
    sql.Column("time_zone", sql.Text),
    sql.Column("lifetime_epsilon", sql.Text),
    sql.Column("lifetime_delta", sql.Text),
    sqlite_autoincrement=True,
)
FINGERPRINTS = sql.Table(
    "discreet_fingerprints",
    TABLES,
    sql.Column("fingerprint", sql.Text, primary_key=True),
    sql.Column("account", sql.ForeignKey(ACCOUNTS.c.id), nullable=False, index=True),
    sql.Column("linked", sql.Text, nullable=False),
)
SPENDS = sql.Table(
    "discreet_spends",
    TABLES,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("account", sql.ForeignKey(ACCOUNTS.c.id), nullable=False),
    sql.Column("counted", sql.Boolean, nullable=False),
    sql.Column("state", sql.Text, sql.CheckConstraint("state IN ('reserved', 'settled')"), nullable=False),
    sql.Column("loss", sql.Text, nullable=False),
    sql.Column("mechanism", sql.Text, nullable=False),
    sql.Column("parameters", sql.Text, nullable=False),
    sql.Column("guarantee", sql.Text, nullable=False),
    sql.Column("release", sql.Text),
    sql.Column("reserved_at", sql.Text, nullable=False),
    sql.Column("settled_at", sql.Text),
    sql.Column("who", sql.Text, nullable=False),
    sql.Column("saved_at", sql.Text),
    # Since version 3. In accounts per period ``loss`` is what each period is charged, ``whole_loss`` what a person's
    # whole history is. A key, and the hash of what was asked for under it; when drawing began; where the release is.
    sql.Column("periods", sql.Text),
    sql.Column("whole_loss", sql.Text),
    sql.Column("key", sql.Text, index=True),
    sql.Column("request", sql.Text),
    sql.Column("drawing_at", sql.Text),
    sql.Column("saved_in", sql.Text),
    # Checking a limit reads this index and no row.
    sql.Index("discreet_spends_sums", "account", "counted", "state", "loss"),
    sqlite_autoincrement=True,
)
# Since version 4: audits that were kept.
AUDITS = sql.Table(
    "discreet_audits",
    TABLES,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("account", sql.ForeignKey(ACCOUNTS.c.id), nullable=False, index=True),
    sql.Column("model", sql.Text, nullable=False),
    sql.Column("settings", sql.Text, nullable=False),
    sql.Column("claim", sql.Text),
    sql.Column("outcome", sql.Text, nullable=False),
    sql.Column("verdict", sql.Text, nullable=False),
    sql.Column("digest", sql.Text, nullable=False),
    sql.Column("saved_in", sql.Text),
    sql.Column("at", sql.Text, nullable=False),
    sql.Column("who", sql.Text, nullable=False),
    sqlite_autoincrement=True,
)
CHAIN = sql.Table(
    "discreet_chain",
    TABLES,
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("kind", sql.Text, nullable=False),
    sql.Column("key", sql.Text, nullable=False),
    sql.Column("head", sql.Text, nullable=False),
)
# One row: the position of the chain. PostgreSQL locks it while a step is added.
HEAD = sql.Table(
    "discreet_head",
    TABLES,
    sql.Column("id", sql.Integer, sql.CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    sql.Column("number", sql.Integer, nullable=False),
    sql.Column("head", sql.Text, nullable=False),
)
