"""The second place of a SQLite ledger: a small file beside it that holds the position of its chain.

The file is replaced as a whole and flushed, and its content has one spelling: any other content is damage.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from discreet.errors import LedgerError
from discreet.privacy.ledger.chain import START, Position

__all__ = ["HeadFile", "flush_folder", "publish"]

_FORMAT = "discreet-ledger-head"


class HeadFile:
    """The file that holds the position of a chain."""

    def __init__(self, ledger: Path) -> None:
        self.path = ledger.with_name(f"{ledger.name}.head")
        self._ledger = ledger

    def read(self) -> Position | None:
        """The position; None where there is no such file."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            fields = json.loads(content)
            position = Position(fields["number"], fields["head"])
            if _spelled(position) == content:
                return position
        except (ValueError, TypeError, KeyError, RecursionError):
            pass
        raise LedgerError(f"{self.path} is damaged.", remedy=self.remedy)

    @property
    def remedy(self) -> str:
        """What to do when this file cannot be used."""
        return (
            "Restore the ledger from a backup; or, if you know that the ledger is the latest state, make the file "
            f"again: discreet ledger restore {self._ledger} --ledger {self._ledger} --forget."
        )

    def begin(self) -> None:
        """Make the file for an empty chain, unless there is one."""
        if not self.path.exists():
            with _written_aside(self.path, START) as aside:
                publish(aside, self.path)

    def write(self, position: Position) -> None:
        """Replace the position. The caller holds the lock of the ledger."""
        with _written_aside(self.path, position) as aside:
            os.replace(aside, self.path)
            flush_folder(self.path.parent)


@contextmanager
def _written_aside(path: Path, position: Position) -> Iterator[Path]:
    """A flushed file beside the path, which is gone when the block has ended."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_spelled(position))
            file.flush()
            os.fsync(file.fileno())
        yield Path(name)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)


def _spelled(position: Position) -> bytes:
    fields = {"format": _FORMAT, "number": position.number, "head": position.head}
    check = hashlib.sha256(json.dumps(fields).encode()).hexdigest()
    return (json.dumps({**fields, "check": check}) + "\n").encode()


def publish(aside: Path, path: Path) -> bool:
    """Give a finished file its name, unless there is one of that name; whether it was given."""
    try:
        os.link(aside, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return False
        os.replace(aside, path)
    flush_folder(path.parent)
    return True


def flush_folder(folder: Path) -> None:
    """Make the names in a folder durable, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
