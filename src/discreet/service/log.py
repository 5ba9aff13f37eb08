"""The log of who did what, as a caller may see it."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sql

from discreet.service.access import Caller
from discreet.service.jobs import DIED
from discreet.service.schema import LOG
from discreet.service.store import Store, day_of

__all__ = ["Line", "log_lines"]

OF_JOBS = ("release", "failed", "cancelled")
"""What the processes of jobs write: when and why a job ended depends on the records."""


@dataclass(frozen=True)
class Line:
    """One line of the log."""

    number: int
    at: str
    who: str
    action: str
    subject: str
    outcome: str


def log_lines(store: Store, caller: Caller, *, before: int | None = None, limit: int = 50) -> list[Line]:
    """Lines of the tenant's log, the latest first.

    Whoever is not a curator sees of the ends of jobs the day, and not why one failed.
    """
    caller.require("read log")
    query = sql.select(LOG).where(LOG.c.tenant == caller.tenant).order_by(LOG.c.number.desc()).limit(limit)
    rows = store.all(query if before is None else query.where(LOG.c.number < before))
    return [_line(row, cut=not caller.is_curator and row.action in OF_JOBS) for row in rows]


def _line(row: sql.Row, *, cut: bool) -> Line:
    at = day_of(row.at) if cut else row.at
    outcome = row.outcome if not cut or row.outcome in ("rehearsal", DIED) else ""
    return Line(row.number, at, row.who, row.action, row.subject, outcome)
