"""What databases and disks report, as a LedgerError in plain words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import SQLAlchemyError

from discreet.errors import DiscreetError, LedgerError

__all__ = ["RESTORE", "clearly"]

RESTORE = "Restore the ledger from a backup: discreet ledger restore FILE --ledger …"
_TROUBLES = {
    "SQLITE_BUSY": ("is held by another program for too long.", "Try again; nothing was written."),
    "SQLITE_LOCKED": ("is held by another program for too long.", "Try again; nothing was written."),
    "SQLITE_FULL": ("cannot be written: the disk is full.", "Make room; nothing was written."),
    "SQLITE_IOERR": ("cannot be written or read: the disk reports an error or is full.", "Check the disk."),
    "SQLITE_CORRUPT": ("is damaged; it was left as it is.", RESTORE),
    "SQLITE_NOTADB": ("is damaged; it was left as it is.", RESTORE),
    "SQLITE_READONLY": ("may not be written.", "Ask for the right to write the file and its folder."),
    "SQLITE_PERM": ("may not be opened.", "Ask for the right to read and write the file and its folder."),
    "SQLITE_CANTOPEN": ("cannot be opened.", "Check that it exists and may be read and written, with its folder."),
}


@contextmanager
def clearly(where: str) -> Iterator[None]:
    """Turn what databases and disks report into a LedgerError."""
    try:
        yield
    except DiscreetError:
        raise
    except (SQLAlchemyError, sqlite3.Error, UnicodeError) as error:
        raise _explained(where, error) from error
    except OSError as error:
        raise LedgerError(f"{where} cannot be used: {error.strerror or error}.") from error


def _explained(where: str, error: Exception) -> LedgerError:
    cause = getattr(error, "orig", None) or error
    code = getattr(cause, "sqlite_errorname", "")
    for prefix, (what, remedy) in _TROUBLES.items():
        if code.startswith(prefix):
            return LedgerError(f"{where} {what}", remedy=remedy)
    first_line = str(cause).strip().partition("\n")[0]
    return LedgerError(f"the ledger at {where} failed: {first_line or type(cause).__name__}.")
