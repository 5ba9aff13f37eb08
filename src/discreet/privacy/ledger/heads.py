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

from discreet.common.renaming import rename_new, sync_folder
from discreet.errors import LedgerError
from discreet.privacy.ledger.chain import START, Position

__all__ = ["HeadFile", "aside", "flush_folder", "publish"]

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
            with aside(self.path) as new:
                _write(new, START)
                publish(new, self.path)

    def write(self, position: Position) -> None:
        """Replace the position. The caller holds the lock of the ledger."""
        with aside(self.path) as new:
            _write(new, position)
            os.replace(new, self.path)
            flush_folder(self.path.parent)


def _write(path: Path, position: Position) -> None:
    with path.open("wb") as file:
        file.write(_spelled(position))
        file.flush()
        os.fsync(file.fileno())


def _spelled(position: Position) -> bytes:
    fields = {"format": _FORMAT, "number": position.number, "head": position.head}
    check = hashlib.sha256(json.dumps(fields).encode()).hexdigest()
    return (json.dumps({**fields, "check": check}) + "\n").encode()


@contextmanager
def aside(path: Path) -> Iterator[Path]:
    """An empty file beside the path, for its owner alone; what is left of it is gone when the block has ended."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        for leftover in (name, f"{name}-journal"):
            with suppress(FileNotFoundError):
                os.unlink(leftover)


def publish(made: Path, path: Path) -> bool:
    """Give a finished file its name, unless there is one of that name; whether it was given."""
    try:
        rename_new(made, path)
    except FileExistsError:
        return False
    flush_folder(path.parent)
    return True


def flush_folder(folder: Path) -> None:
    """Make the names in a folder durable, where the system can."""
    with suppress(OSError):
        sync_folder(folder)
