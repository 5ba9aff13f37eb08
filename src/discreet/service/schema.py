"""The tables of a service."""

from __future__ import annotations

import sqlalchemy as sql

__all__ = [
    "DATASETS",
    "JOBS",
    "KEYS",
    "LOG",
    "POPULATIONS",
    "RELEASES",
    "REPORTS",
    "SERVICE",
    "SESSIONS",
    "TABLES",
    "TENANTS",
    "TOKENS",
    "VERSION",
]

VERSION = 1

TABLES = sql.MetaData()

SERVICE = sql.Table("service", TABLES, sql.Column("version", sql.Integer, nullable=False))

TENANTS = sql.Table(
    "service_tenants",
    TABLES,
    sql.Column("id", sql.String, primary_key=True),
    sql.Column("name", sql.String, nullable=False, unique=True),
    sql.Column("created", sql.String, nullable=False),
)

TOKENS = sql.Table(  # one-time links by which the first curator of a tenant gets a key
    "service_tokens",
    TABLES,
    sql.Column("hash", sql.String, primary_key=True),
    sql.Column("tenant", sql.ForeignKey(TENANTS.c.id), nullable=False),
    sql.Column("expires", sql.String, nullable=False),
    sql.Column("used", sql.String),
)

KEYS = sql.Table(
    "service_keys",
    TABLES,
    sql.Column("id", sql.String, primary_key=True),
    sql.Column("tenant", sql.ForeignKey(TENANTS.c.id), nullable=False, index=True),
    sql.Column("name", sql.String, nullable=False),
    sql.Column("role", sql.String, nullable=False),
    sql.Column("hash", sql.String, nullable=False),
    sql.Column("scope", sql.JSON, nullable=False),
    sql.Column("created", sql.String, nullable=False),
    sql.Column("expires", sql.String),
    sql.Column("revoked", sql.String),
    sql.Column("last_used", sql.String),
)

SESSIONS = sql.Table(  # of people who signed in with a key in a browser
    "service_sessions",
    TABLES,
    sql.Column("hash", sql.String, primary_key=True),
    sql.Column("key", sql.ForeignKey(KEYS.c.id), nullable=False),
    sql.Column("csrf", sql.String, nullable=False),
    sql.Column("expires", sql.String, nullable=False),
)

DATASETS = sql.Table(
    "service_datasets",
    TABLES,
    sql.Column("id", sql.String, primary_key=True),
    sql.Column("tenant", sql.ForeignKey(TENANTS.c.id), nullable=False, index=True),
    sql.Column("name", sql.String, nullable=False),
    sql.Column("population", sql.String, nullable=False),
    sql.Column("kind", sql.String, nullable=False),
    sql.Column("file", sql.String, nullable=False),
    sql.Column("reading", sql.JSON, nullable=False),
    sql.Column("declared", sql.JSON, nullable=False),  # public figures: users, records, rows
    sql.Column("asks_users", sql.Boolean, nullable=False, default=False),
    sql.Column("created", sql.String, nullable=False),
    sql.Column("who", sql.String, nullable=False),
    sql.UniqueConstraint("tenant", "name"),
)

POPULATIONS = sql.Table(  # what the ledger does not keep about a population
    "service_populations",
    TABLES,
    sql.Column("tenant", sql.ForeignKey(TENANTS.c.id), primary_key=True),
    sql.Column("name", sql.String, primary_key=True),
    sql.Column("open_to_analysts", sql.Boolean, nullable=False, default=False),
    sql.Column("allowances", sql.JSON, nullable=False),  # key: {"epsilon": "1", "delta": "1e-6"}
)

JOBS = sql.Table(
    "service_jobs",
    TABLES,
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=True),
    sql.Column("id", sql.String, nullable=False, unique=True),
    sql.Column("tenant", sql.ForeignKey(TENANTS.c.id), nullable=False, index=True),
    sql.Column("key", sql.String, nullable=False),
    sql.Column("who", sql.String, nullable=False),
    sql.Column("kind", sql.String, nullable=False),  # run, rehearse, audit, attack, risk, frontier, step
    sql.Column("request", sql.JSON, nullable=False),
    sql.Column("request_hash", sql.String, nullable=False),
    sql.Column("idempotency", sql.String),
    sql.Column("population", sql.String),
    sql.Column("spends", sql.Boolean, nullable=False, default=False),
    sql.Column(
        "cost", sql.JSON
    ),  # {"epsilon": …, "delta": …}: what one attempt is reserved in the allowance of the key
    sql.Column("charges", sql.Integer, nullable=False, default=0),  # how many times that is reserved
    sql.Column("state", sql.String, nullable=False, index=True),
    sql.Column("phase", sql.String, nullable=False, default=""),
    sql.Column("progress", sql.Float),
    sql.Column("rate", sql.String, nullable=False, default=""),
    sql.Column("attempts", sql.Integer, nullable=False, default=0),
    sql.Column("cancel", sql.Boolean, nullable=False, default=False),
    sql.Column("created", sql.String, nullable=False),
    sql.Column("started", sql.String),
    sql.Column("finished", sql.String),
    sql.Column("problem", sql.JSON),
    sql.Column("result", sql.JSON),
    sql.Column("entry", sql.Integer),  # of the ledger
    sql.UniqueConstraint("tenant", "key", "idempotency"),
)

RELEASES = sql.Table(
    "service_releases",
    TABLES,
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=True),
    sql.Column("id", sql.String, nullable=False, unique=True),
    sql.Column("tenant", sql.ForeignKey(TENANTS.c.id), nullable=False, index=True),
    sql.Column("job", sql.String, nullable=False),
    sql.Column("name", sql.String, nullable=False),
    sql.Column("population", sql.String),
    sql.Column("dataset", sql.String),
    sql.Column("method", sql.String, nullable=False),
    sql.Column("kind", sql.String, nullable=False),
    sql.Column("gives", sql.String, nullable=False),
    sql.Column("release", sql.String),  # the id of the release itself
    sql.Column("guarantee", sql.JSON),
    sql.Column("is_model", sql.Boolean, nullable=False),
    sql.Column("secret", sql.Boolean, nullable=False),  # holds records, or guarantees nothing: for curators alone
    sql.Column("rehearsal", sql.Boolean, nullable=False),
    sql.Column("place", sql.String, nullable=False),
    sql.Column("created", sql.String, nullable=False),
    sql.Column("who", sql.String, nullable=False),
    sql.Column("entry", sql.Integer),
)

REPORTS = sql.Table(  # audits, attacks, risk curves: measured on the records, for curators alone
    "service_reports",
    TABLES,
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=True),
    sql.Column("id", sql.String, nullable=False, unique=True),
    sql.Column("tenant", sql.ForeignKey(TENANTS.c.id), nullable=False, index=True),
    sql.Column("job", sql.String, nullable=False),
    sql.Column("kind", sql.String, nullable=False),
    sql.Column("dataset", sql.String),
    sql.Column("release", sql.String),
    sql.Column("summary", sql.String, nullable=False),
    sql.Column("report", sql.JSON, nullable=False),
    sql.Column("created", sql.String, nullable=False),
    sql.Column("who", sql.String, nullable=False),
)

LOG = sql.Table(  # who did what; rows are only ever added
    "service_log",
    TABLES,
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=True),
    sql.Column("tenant", sql.ForeignKey(TENANTS.c.id), nullable=False, index=True),
    sql.Column("at", sql.String, nullable=False),
    sql.Column("who", sql.String, nullable=False),
    sql.Column("action", sql.String, nullable=False),
    sql.Column("subject", sql.String, nullable=False),
    sql.Column("outcome", sql.String, nullable=False),
)
