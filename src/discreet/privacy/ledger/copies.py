"""Backups of a ledger in a file, and the way back, which says what it forgets."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, LedgerError, Remedy, UsageError
from discreet.privacy.ledger import chain, tables
from discreet.privacy.ledger.chain import Position
from discreet.privacy.ledger.heads import HeadFile, flush_folder, publish
from discreet.privacy.ledger.sqlite_store import SqliteStore, check_copy, connected, copy_database, free_name
from discreet.privacy.ledger.statements import Entry, Statement
from discreet.privacy.ledger.store import Store, sqlite_path
from discreet.privacy.ledger.troubles import clearly
from discreet.privacy.numbers import stated

__all__ = ["Forgotten", "backup", "restore_ledger"]

_COMPANIONS = ("", ".head", "-journal", "-wal", "-shm")
"""Endings of the files that belong to a ledger."""


@dataclass(frozen=True)
class Forgotten:
    """What a restored ledger does not know of the one before it.

    Attributes
    ----------
    entries
        Account and entry of each charge that is forgotten, as far as the ledger before could be read.
    epsilon
        By how much the total of each account falls, at the delta of the account.
    accounts
        Accounts that are forgotten as a whole.
    unknown
        Why there may be more; empty where nothing else is forgotten.
    kept
        Where the files from before are; empty where nothing was restored.
    """

    entries: tuple[tuple[str, Entry], ...] = ()
    epsilon: tuple[tuple[str, Fraction], ...] = ()
    accounts: tuple[str, ...] = ()
    unknown: str = ""
    kept: tuple[Path, ...] = ()

    @property
    def nothing(self) -> bool:
        return not (self.entries or self.accounts or self.unknown)

    def __str__(self) -> str:
        if self.nothing:
            return "Nothing is forgotten."
        lines = [f"Forgotten: {len(self.entries)} {'entry' if len(self.entries) == 1 else 'entries'}"]
        lines += [f"  {name}: {stated('ε', epsilon)} less than was charged" for name, epsilon in self.epsilon]
        lines += [f"  account {name} as a whole" for name in self.accounts]
        lines += [
            f"  {name} #{entry.id}, {entry.reserved_at}, {entry.mechanism}, {entry.loss}, {entry.outcome}"
            for name, entry in self.entries
        ]
        return "\n".join([*lines, *([f"  {self.unknown}"] if self.unknown else [])])

    def to_json(self) -> dict[str, Any]:
        return {
            "entries": [{"account": name, **entry.to_json()} for name, entry in self.entries],
            "epsilon": {name: str(epsilon) for name, epsilon in self.epsilon},
            "accounts": list(self.accounts),
            "unknown": self.unknown,
            "kept": [str(path) for path in self.kept],
        }


def backup(store: Store, file: Path) -> Path:
    """A checked copy of a ledger in a new file."""
    if not isinstance(store, SqliteStore):
        raise UsageError("a ledger in PostgreSQL is backed up with the server's own tools.", remedy="Use pg_dump.")
    if not store.is_there():
        raise LedgerError(f"there is no ledger {store.where}.", remedy="It is made when its first account is opened.")
    if not file.parent.is_dir():
        raise UsageError(f"{file.parent} is not a folder.", remedy="Make it first.")
    with clearly(str(file)), tempfile.TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent) as folder:
        copy = Path(folder) / "copy"
        copy_database(store.path, copy)
        check_copy(copy)
        if not publish(copy, file):
            raise LedgerError(f"{file} is there already; it was left as it is.", remedy="Give another name.")
    return file


def restore_ledger(file: str | os.PathLike[str], place: str | os.PathLike[str], *, forget: bool = False) -> Forgotten:
    """Put a backup in the place of a ledger. No other program may use the ledger meanwhile.

    The files from before are kept beside the ledger under other names. Without ``forget`` a backup that does not
    hold all that was ever charged is refused, with a list of what it lacks.

    Parameters
    ----------
    file
        A backup; the file of the ledger itself where only its head is to be made again.
    place
        The path of the ledger.
    forget
        Accept that charges are forgotten: the people of the dataset can then lose more than the limit says.
    """
    path = sqlite_path(place)
    if path is None:
        raise UsageError("a ledger in PostgreSQL is restored with the server's own tools.", remedy="Use pg_restore.")
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent} is not a folder.", remedy="Make it first.")
    source = Path(file).expanduser().resolve()
    if not source.is_file():
        raise UsageError(f"{source} is not a file.", remedy="Name a file that discreet ledger backup has written.")
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
        copy = Path(folder) / "restored"
        copy_database(source, copy)
        position = check_copy(copy)
        lost = _compared(path, copy)
        if not (lost.nothing or forget):
            raise LedgerError(
                f"{source} does not hold all that was charged to {path}. {lost}\nNothing was changed.",
                remedy=Remedy("To restore it all the same: forget=True.", cli="To restore it all the same: --forget."),
            )
        kept = _set_aside(path)
        HeadFile(path).write(position)
        publish(copy, path)
    SqliteStore(path)
    return replace(lost, kept=kept)


def _set_aside(path: Path) -> tuple[Path, ...]:
    """Rename the files of a ledger; their new names."""
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    target = free_name(path, f"replaced-{now}")
    kept = []
    for ending in _COMPANIONS:
        old, new = path.with_name(path.name + ending), target.with_name(target.name + ending)
        with suppress(FileNotFoundError):
            os.rename(old, new)
            kept.append(new)
    flush_folder(path.parent)
    return tuple(kept)


def _compared(path: Path, copy: Path) -> Forgotten:
    """What the copy does not know of the ledger."""
    if not any(os.path.lexists(path.with_name(path.name + ending)) for ending in ("", ".head")):
        return Forgotten()
    noted, unknown = _noted(path), ""
    whole = noted is not None and _holds(copy, noted)
    if noted is None:
        unknown = f"{path}.head is missing or damaged, so that it is not known whether entries were lost before."
    elif not whole and not _holds(path, noted):
        unknown = (
            f"{path}.head knows of {noted.number} steps (accounts, links, charges). Neither the copy nor the ledger "
            "holds all of them, so that it is not known what the others charged."
        )
    before, after = _statements(path), _statements(copy)
    if before is None or after is None:
        unreadable = "" if whole else f"The entries of {path} cannot be read, so that they cannot be listed."
        return Forgotten(unknown=unknown or unreadable)
    entries: list[tuple[str, Entry]] = []
    epsilon: list[tuple[str, Fraction]] = []
    for name, statement in before.items():
        known = after.get(name)
        held = {_charge(entry) for entry in known.every} if known else set()
        entries += [(name, entry) for entry in statement.every if _charge(entry) not in held]
        less = _total(statement) - (_total(known) if known else 0)
        epsilon += [(name, less)] if less > 0 else []
    return Forgotten(tuple(entries), tuple(epsilon), tuple(name for name in before if name not in after), unknown)


def _noted(path: Path) -> Position | None:
    """What the head of a ledger holds; None where it is missing or damaged."""
    with suppress(LedgerError):
        return HeadFile(path).read()
    return None


def _holds(path: Path, noted: Position) -> bool:
    try:
        with connected(path) as connection:
            chain.require(connection, noted, str(path), "its head")
    except LedgerError:
        return False
    return True


def _statements(path: Path) -> dict[str, Statement] | None:
    """All statements of a ledger by account, unchecked; None where it cannot be read."""
    try:
        with connected(path) as connection:
            accounts = tables.all_accounts(connection)
            return {a.name: Statement.of(a, tables.entries(connection, a.id)) for a in accounts}
    except (DiscreetError, ValueError, ArithmeticError, TypeError, KeyError):  # whatever damaged rows lead to
        return None


def _charge(entry: Entry) -> tuple[Any, ...]:
    return entry.id, entry.reserved_at, entry.mechanism, entry.loss


def _total(statement: Statement) -> Fraction:
    return statement.total.epsilon
