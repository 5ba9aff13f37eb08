"""Errors of the service, in one JSON shape (RFC 9457) with what, where and what to do."""

from __future__ import annotations

import re
import sqlite3
from http import HTTPStatus
from typing import Any

from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from discreet.errors import (
    BudgetError,
    DataError,
    DiscreetError,
    LedgerError,
    MissingExtraError,
    PrivacyError,
    RecordsError,
    ReleaseError,
    UsageError,
)

__all__ = ["MEDIA_TYPE", "Problem", "away", "is_away", "not_found", "problem_of"]

MEDIA_TYPE = "application/problem+json"

_KINDS: tuple[tuple[type[DiscreetError], int, str], ...] = (
    (BudgetError, 409, "budget"),
    (DataError, 422, "data"),
    (PrivacyError, 422, "privacy"),
    (UsageError, 422, "request"),
    (LedgerError, 409, "ledger"),
    (ReleaseError, 409, "release"),
    (MissingExtraError, 501, "not-installed"),
)
"""Errors of the library: the status and the code that they have here. The first that fits counts."""


class Problem(Exception):  # noqa: N818 (the word of RFC 9457)
    """An answer other than what was asked for.

    Parameters
    ----------
    status
        The HTTP status.
    code
        A word for programs.
    detail
        What was wrong, in one sentence.
    remedy
        What the caller can do about it.
    where
        Where the error is, as far as it is known: file, line, column, value.
    headers
        Of the answer.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        remedy: str = "",
        where: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail, self.remedy = status, code, detail, remedy
        self.where, self.headers, self.more = where or {}, headers or {}, more

    def to_json(self) -> dict[str, Any]:
        return {
            "type": f"urn:discreet:problem:{self.code}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
            "where": self.where,
            "remedy": self.remedy,
            **self.more,
        }


def problem_of(error: DiscreetError, *, for_curators: bool = False) -> Problem:
    """The same error as an answer. The words are those of the library; about the database only for curators."""
    if is_away(error) and not for_curators:
        return away()
    status, code = next(((status, code) for kind, status, code in _KINDS if isinstance(error, kind)), (500, "failed"))
    where = {
        name: value if isinstance(value, str | int | float | None) else str(value)
        for name in ("file", "line", "row", "column", "value")
        if (value := getattr(error, name, None)) is not None
    }
    problems: dict[str, Any] = (
        {} if not isinstance(error, RecordsError) else {"problems": [one.to_json() for one in error.problems]}
    )
    return Problem(status, code, error.what, remedy=str(error.remedy), where=where, **problems)


AWAY = (OperationalError, InterfaceError, PoolTimeout, sqlite3.OperationalError, OSError)
"""What a database or its disk reports that is away, held by somebody else for too long, or full."""


PLACE = re.compile(r"(?<![\w/])/[\w.-]+/|postgres", re.IGNORECASE)
"""A path, or the address of a database."""


def is_away(error: BaseException) -> bool:
    """Whether an error says that the database or the ledger cannot be used now, also where the ledger says it in words.

    Such words name places and addresses, which are the operator's.
    """
    if isinstance(error, LedgerError):
        return isinstance(error.__cause__, AWAY) or PLACE.search(str(error)) is not None
    return isinstance(error, AWAY)


def away() -> Problem:
    return Problem(
        503,
        "database",
        "The database does not answer, or is held by another program.",
        remedy="Try again in a moment. What was sent under an Idempotency-Key is charged once.",
        headers={"Retry-After": "5"},
    )


def not_found(what: str, name: str) -> Problem:
    """The answer for what is not there, and for what is somebody else's."""
    return Problem(
        404, "not-found", f"There is no {what} {name!r}.", remedy=f"List the {what}s to see which there are."
    )
