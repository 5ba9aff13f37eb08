"""Results are written under another name and renamed when complete. This module decides what they may replace.

A result replaces only a result of the same kind that discreet wrote, and never an input of the same run. The former
content is moved away first and deleted last; it is kept if it is not recognized at that moment.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import warnings
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from discreet.common.foreign import foreign_errors
from discreet.common.renaming import exchange, fresh_name, rename_new, sync_folder
from discreet.errors import DiscreetError, DiscreetWarning, ReleaseError, Remedy, UsageError

__all__ = ["Kind", "Place", "place_for", "strangers"]

Identity = tuple[int, int, int]

_WAITING: ContextVar[list[Callable[[Path], object]] | None] = ContextVar("discreet_waiting", default=None)
"""What is called when the result that is being written has its name."""


@dataclass(frozen=True)
class Kind:
    """A kind of result: its name and how it is recognized.

    Parameters
    ----------
    name
        In messages: "release", "model", "report".
    foreign
        Returns a reason why a file or folder is not entirely such a result of discreet, or None.
    is_folder
        Whether it is a folder.
    marked
        Whether it can be recognized. A file that cannot (CSV, a plain list) is kept under another name instead of being
        deleted.
    error, failure
        The exception when a path is refused, and when writing fails.
    """

    name: str
    foreign: Callable[[Path], str | None]
    is_folder: bool = True
    marked: bool = True
    error: type[DiscreetError] = ReleaseError
    failure: type[DiscreetError] = ReleaseError


@dataclass(frozen=True)
class Place:
    """Where a result is written, and what was there before."""

    given: Path
    path: Path
    kind: Kind
    before: Identity | None

    def put(self, make: Callable[[Path], object], then: Callable[[Path], object] | None = None) -> Path:
        """Let ``make`` write a file or folder under another name, and rename it.

        Parameters
        ----------
        then
            Called with the name that it has in the end. Where ``make`` of another place calls this, that is the name
            of the other place, and it is called when that one is renamed.

        Returns
        -------
        Path
            Where it is: under another name, with a warning, if another process took the name in the meantime.
        """
        aside, outer, waiting = fresh_name(self.path.parent), _WAITING.get(), [] if then is None else [then]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            token = _WAITING.set(waiting)
            try:
                make(aside)
            finally:
                _WAITING.reset(token)
        except OSError as error:
            _delete(aside)
            raise self.kind.failure(
                f"cannot write {self.given}: {error.strerror or error}.", remedy="Nothing was changed."
            ) from error
        except BaseException:
            _delete(aside)
            raise
        try:
            final, old = self._take(aside)
        except OSError as error:
            raise self.kind.failure(
                f"cannot rename into {self.given}: {error.strerror or error}.",
                remedy=f"The complete {self.kind.name} is in {aside}: move it where you want it.",
            ) from error
        try:
            sync_folder(self.path.parent)
            if old is not None:
                self.dispose(old)
        except OSError as error:
            kept = "" if old is None else f" What was there before is in {old}."
            raise self.kind.failure(
                f"{final} is written, but the system reports an error: {error.strerror or error}.",
                remedy=f"Check the disk.{kept}",
            ) from error
        if outer is not None:
            outer.extend(waiting)
        else:
            for call in waiting:
                call(final)
        return final

    def check_writable(self) -> None:
        """Raise if nothing can be written there; creates the folder."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.path.parent, prefix=".discreet-"):
                pass
        except OSError as error:
            raise self.kind.failure(f"cannot write {self.given}: {error.strerror or error}.") from None

    def _take(self, made: Path) -> tuple[Path, Path | None]:
        """Rename the new result; returns its path, and the path of the former content."""
        old = None
        try:
            if self.before is not None:
                try:
                    old = exchange(made, self.path)
                except FileNotFoundError:
                    rename_new(made, self.path)
            else:
                rename_new(made, self.path)
        except FileExistsError as error:
            beside = self._keep(made)
            _tell(f"another process wrote {self.given} in the meantime; this {self.kind.name} is in {beside}.")
            held = error.filename2 if self.before is not None else None
            return beside, None if held is None or held == str(self.path) else Path(held)
        return self.given, old

    def dispose(self, old: Path) -> None:
        """Delete the former content if it is unchanged and discreet wrote it; otherwise keep it under another name."""
        if _identity(old) != self.before:
            _tell(f"what another process wrote to {self.given} in the meantime is kept as {self._keep(old)}.")
        elif not self.kind.marked or (not _is_empty(old) and self.kind.foreign(old) is not None):
            _tell(f"what was in {self.given} before is kept as {self._keep(old)}.")
        else:
            _delete(old)

    def _keep(self, path: Path) -> Path:
        """Rename to a visible name in the same folder."""
        name, ending = (self.path.name, "") if self.kind.is_folder else (self.path.stem, self.path.suffix)
        beside = self.path.with_name(f"{name[:200]}-{uuid4().hex[:8]}{ending}")
        rename_new(path, beside)
        return beside


def place_for(path: str | Path, kind: Kind, *, overwrite: bool, sources: Iterable[str | Path | None] = ()) -> Place:
    """Check where a result will be written, and refuse what must not be written or replaced.

    Parameters
    ----------
    path
        A file or folder.
    kind
        The kind of the result: only the same kind is replaced.
    overwrite
        Whether anything may be replaced.
    sources
        Inputs of the same run (None is ignored), which are never replaced, under any name.

    Examples
    --------
    >>> notes = Kind("report", lambda folder: "there is no report in it")
    >>> place_for("/", notes, overwrite=True)
    Traceback (most recent call last):
    ...
    discreet.errors.ReleaseError: / is the root folder or one that cannot be replaced. Choose another place.
    """
    given = Path(path)
    try:
        full = given.absolute()
        full = full.resolve() if full.name in ("", "..") else full.parent.resolve() / full.name
        before = _identity(full)
        where = Path.cwd()
        if full == full.parent or full == where or full in where.parents:
            what = "the root folder or one that cannot be replaced" if full == full.parent else _in_use(full, where)
            raise kind.error(f"{given} is {what}.", remedy="Choose another place.")
        for source in sources:
            if source is not None:
                _refuse_source(full, given, Path(source), kind)
        if before is not None:
            _refuse_what_is_there(full, given, kind, overwrite=overwrite)
    except (OSError, RuntimeError) as error:
        words = getattr(error, "strerror", None) or str(error)
        raise kind.failure(f"cannot write {given}: {words}.", remedy="Choose another place.") from None
    except ValueError:
        raise UsageError(f"{path!r} is not a path.", remedy="Give the path of a file or folder.") from None
    return Place(given, full, kind, before)


def strangers(folder: Path, ours: Iterable[str]) -> str | None:
    """A reason if a folder holds anything but ``ours`` (relative paths, those of folders end in ``/``), or None."""
    known = set(ours)
    folders = {parent.as_posix() for name in known for parent in Path(f"{name}x").parents}
    for found, inner, files in os.walk(folder):
        here = Path(found).relative_to(folder)
        for name in sorted(files):
            if (here / name).as_posix() not in known:
                return f"it holds {(here / name).as_posix()!r}, which discreet did not write there"
        for name in sorted(inner):
            if (here / name).as_posix() not in folders or (Path(found) / name).is_symlink():
                return f"it holds the folder {(here / name).as_posix()!r}, which discreet did not write there"
    return None


def _refuse_what_is_there(full: Path, given: Path, kind: Kind, *, overwrite: bool) -> None:
    if not overwrite:
        raise kind.error(
            f"{given} is there already.",
            remedy=Remedy("Choose another place, or overwrite=True.", cli="Choose another place, or give --overwrite."),
        )
    mode = os.lstat(full).st_mode
    if stat.S_ISLNK(mode):
        what = "a symbolic link"
    elif kind.is_folder and not stat.S_ISDIR(mode):
        what = "not a folder"
    elif not kind.is_folder and stat.S_ISDIR(mode):
        what = "a folder"
    elif not kind.is_folder and not stat.S_ISREG(mode):
        what = "not a regular file"
    else:
        try:
            with foreign_errors(kind.error):
                why = None if _is_empty(full) else kind.foreign(full)
        except DiscreetError as error:
            why = error.what
        if why is None:
            return
        what = f"not wholly a {kind.name} that discreet wrote: {why}"
    raise kind.error(f"{given} is {what}; it is not replaced.", remedy="Choose another place, or move it away.")


def _refuse_source(full: Path, given: Path, source: Path, kind: Kind) -> None:
    """Refuse to replace an input, also through links and as a part of a folder."""
    real = source.resolve()
    there = full.resolve()
    remedy = "Choose another place."
    if real == there or (full.exists() and source.exists() and os.path.samefile(full, source)):
        raise kind.error(f"{given} is read by this command; it is not replaced.", remedy=remedy)
    if there in real.parents:
        raise kind.error(f"{given} holds {source}, which this command reads; it is not replaced.", remedy=remedy)
    if not kind.is_folder and real in there.parents and full.exists():
        raise kind.error(f"{given} is part of {source}, which this command reads; it is not replaced.", remedy=remedy)


def _in_use(full: Path, where: Path) -> str:
    return "the current folder" if full == where else "a folder that the current folder is in"


def _identity(path: Path) -> Identity | None:
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns


def _is_empty(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and not any(path.iterdir())


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _tell(text: str) -> None:
    warnings.warn(text, DiscreetWarning, stacklevel=4)
