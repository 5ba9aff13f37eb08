"""Temporary files of records, one for each part of the people, in a folder that nobody else may read."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import stat
import tempfile
import warnings
import weakref
from collections.abc import Iterable
from pathlib import Path

import polars as pl
import pyarrow as pa

from discreet.common.memory import available_memory, is_in_memory
from discreet.errors import DataError, DiscreetWarning, Remedy

__all__ = ["Spill", "locked_folder", "remove", "remove_orphans"]

PREFIX = "discreet-scan-"
SHARE_OF_MEMORY = 0.1
"""Temporary files in memory are warned of when they take more than this of what is available."""

CHECKPOINT = "checkpoint"
NUMBER = "discreet: number of the part"
LOCK = "discreet-scan.lock"
"""Held as long as the process lives; a folder whose lock is free belongs to nobody."""


class Spill:
    """Records in files by part; a person's records are all in one of them.

    Which part a person is in is a hash of the id and of nothing else.
    """

    def __init__(self, folder: Path, lock: int, empty: pl.DataFrame, written: frozenset[int], parts: int) -> None:
        self.folder, self.empty, self.n_parts, self._written = folder, empty, parts, written
        self._finish = weakref.finalize(self, remove, folder, lock, os.getpid())

    @classmethod
    def of(
        cls,
        batches: Iterable[pl.DataFrame],
        *,
        key: str | None,
        parts: int,
        folder: str | Path | None = None,
        needed: int = 0,
    ) -> Spill:
        """Write batches of records into parts, in one pass.

        Parameters
        ----------
        key
            The column of the person; None where every row is one.
        folder
            Where the folder is made; by default among the temporary files of the system.
        needed
            About how many bytes will be written: refused before anything is read where there is less room.
        """
        parent = Path(tempfile.gettempdir() if folder is None else folder)
        if not parent.is_dir():
            raise DataError("this folder for temporary files is not there.", file=parent, remedy="Make it first.")
        remove_orphans(parent)
        _require_room(parent, needed)
        place, lock = locked_folder(parent)
        try:
            empty, written = _written(batches, place, key, parts)
        except OSError as error:
            remove(place, lock, os.getpid())
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise _no_room(parent, "the folder for temporary files is full") from None
            raise
        except BaseException:
            remove(place, lock, os.getpid())
            raise
        return cls(place, lock, empty, written, parts)

    def require_open(self) -> None:
        """Refuse to go on without the files."""
        if not self._finish.alive:
            raise DataError("this scan was closed, and its temporary files are gone.", remedy="Scan the data again.")

    def read(self, number: int) -> pl.DataFrame:
        """The records of a part."""
        self.require_open()
        if number not in self._written:
            return self.empty
        path = self.folder / f"{number}.arrows"
        if not path.is_file():
            raise DataError("a temporary file of this scan is gone.", file=path, remedy="Scan the data again.")
        with pa.OSFile(str(path), "rb") as file, pa.ipc.open_stream(file) as reader:
            return pl.DataFrame(pl.from_arrow(reader.read_all()))

    def numbers_of(self, people: pl.Series) -> pl.Series:
        """The part of each of these people."""
        return _numbers(people, self.n_parts)

    def close(self) -> None:
        self._finish()


def locked_folder(parent: Path) -> tuple[Path, int]:
    """A new folder of mode 0700 and its lock. It gets the name by which others look for orphans when it is locked."""
    making = Path(tempfile.mkdtemp(prefix=".discreet-making-", dir=parent))
    lock = os.open(making / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    place = making.with_name(PREFIX + making.name.rpartition("-")[2])
    making.rename(place)
    return place, lock


def _require_room(folder: Path, needed: int) -> None:
    """Refuse to fill a folder, and warn where it takes the memory that a scan is to save."""
    free = shutil.disk_usage(folder).free
    if needed > free:
        about = f"about {_gigabytes(needed)} of temporary files are needed, and {_gigabytes(free)} are free"
        raise _no_room(folder, about)
    if needed > available_memory() * SHARE_OF_MEMORY and is_in_memory(folder):
        warnings.warn(
            f"the temporary files, about {_gigabytes(needed)}, go to {folder}, which is in memory. Name a folder on a "
            "disk with folder=…, --temporary FOLDER or $TMPDIR.",
            DiscreetWarning,
            stacklevel=5,
        )


def _no_room(folder: Path, what: str) -> DataError:
    return DataError(
        f"{what}.",
        file=folder,
        remedy=Remedy(
            "Name a folder with more room: scan(…, folder=…), or set $TMPDIR.",
            cli="Name a folder with more room: --temporary FOLDER, or set $TMPDIR.",
        ),
    )


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e8 else f"{size / 1e6:,.1f} MB"


def _written(
    batches: Iterable[pl.DataFrame], folder: Path, key: str | None, parts: int
) -> tuple[pl.DataFrame, frozenset[int]]:
    """Write every record into the file of its part; the columns without records, and which parts have any."""
    writers: dict[int, pa.ipc.RecordBatchStreamWriter] = {}
    empty: pl.DataFrame | None = None
    with contextlib.ExitStack() as files:
        for chosen in batches:
            empty = chosen.clear() if empty is None else empty
            if chosen.schema != empty.schema:
                raise DataError(f"the files have different columns or types: {chosen.schema} and {empty.schema}.")
            for number, rows in _split(chosen, key, parts):
                table = rows.to_arrow()
                if number not in writers:
                    file = files.enter_context(pa.OSFile(str(folder / f"{number}.arrows"), "wb"))
                    writers[number] = files.enter_context(pa.ipc.new_stream(file, table.schema))
                writers[number].write_table(table)
    if empty is None:
        raise DataError("there is nothing to scan.", remedy="Give at least one file.")
    return empty, frozenset(writers)


def _split(rows: pl.DataFrame, key: str | None, parts: int) -> list[tuple[int, pl.DataFrame]]:
    """The rows of each part that has any, in their order."""
    if parts == 1:
        return [(0, rows)] if rows.height else []
    if key is None:
        return [(number, rows.gather_every(parts, number)) for number in range(min(parts, rows.height))]
    numbered = rows.with_columns(_numbers(rows[key], parts).alias(NUMBER))
    split = numbered.partition_by(NUMBER, maintain_order=True, include_key=False, as_dict=True)
    return [(int(number), part) for (number,), part in split.items()]


def _numbers(people: pl.Series, parts: int) -> pl.Series:
    # By the text of the id: the same person has one part, whatever type the id has in a question.
    return people.cast(pl.String).hash(seed=1) % parts


def remove(folder: Path, lock: int, owner: int) -> None:
    """Delete the records, then the lock, then the folder: what is left after a crash in between is still locked."""
    if os.getpid() == owner:  # not in a fork of the process that scans
        with contextlib.suppress(OSError):
            for path in folder.glob("*.arrows"):
                path.unlink()
            if (folder / CHECKPOINT).is_dir():
                shutil.rmtree(folder / CHECKPOINT)
            (folder / LOCK).unlink()
            folder.rmdir()
    with contextlib.suppress(OSError):
        os.close(lock)


def remove_orphans(parent: Path) -> None:
    """Delete folders of scans of this user whose process is gone."""
    for folder in parent.glob(f"{PREFIX}*"):
        try:
            about = folder.lstat()
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue  # not ours, or being removed
        ours = stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid() and stat.S_ISREG(os.fstat(lock).st_mode)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            ours = False
        remove(folder, lock, os.getpid() if ours else -1)
