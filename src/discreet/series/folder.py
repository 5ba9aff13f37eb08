"""The folder of a series: settings, people and released steps, in plain files that their owner alone can read.

``series.json`` has the settings and the charge, ``state.json`` names the files of the latest step. A step is written
under new names first and named by ``draft.json``; after the ledger knows it, ``draft.json`` becomes ``state.json`` in
one rename. A crash leaves either the state before, or a whole draft that is finished the next time.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import re
import uuid
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.common.arrays import AnyIntegers
from discreet.common.arrow import read_arrow
from discreet.common.foreign import foreign_errors
from discreet.common.plain_json import read_json
from discreet.common.renaming import sync_folder
from discreet.errors import ReleaseError, UsageError

__all__ = ["SeriesFolder"]

SERIES, STATE, DRAFT, LOCK = "series.json", "state.json", "draft.json", "lock"
FORMAT, VERSION = "discreet-series", 1
WARNING = "This folder holds raw records of people. It is as secret as they are."
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
FILE = re.compile(r"[a-z]+-[0-9a-z-]*[0-9a-f]{32}\.(arrow|z)|\.[a-z.]+[0-9a-f]{32}")
ASK = "Restore the whole folder from its latest copy; if there is none, open a new series."


class SeriesFolder:
    """Reads and writes the folder of one series."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def is_there(self) -> bool:
        """Whether a series was opened here; a folder that holds anything else is refused."""
        if (self.path / SERIES).is_file():
            return True
        if self.path.exists() and (not self.path.is_dir() or any(self._foreign())):
            raise UsageError(f"{self.path} holds something else than a series.", remedy="Name a new folder.")
        return False

    def _foreign(self) -> Iterator[str]:
        """What else is in the folder than a crash of the first opening may have left."""
        return (one.name for one in self.path.iterdir() if one.name != LOCK and not FILE.fullmatch(one.name))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let nobody else on this machine work with the folder."""
        self.path.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        handle = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    # Settings

    def create(self, facts: Mapping[str, Any], catalog: pl.DataFrame) -> None:
        """Write the settings of a new series."""
        os.chmod(self.path, PRIVATE_FOLDER)
        self.write_settings({**facts, "catalog": self._put("catalog", _as_arrow(catalog))})

    def write_settings(self, facts: Mapping[str, Any]) -> None:
        """Replace the settings in one step."""
        self._put_json(SERIES, {"format": FORMAT, "version": VERSION, "warning": WARNING, **facts})

    def settings(self) -> tuple[dict[str, Any], pl.DataFrame]:
        """The settings and the catalog."""
        facts = self._json(SERIES)
        if facts.get("format") != FORMAT:
            raise ReleaseError(f"{self.path / SERIES} is not that of a series.")
        if not isinstance(facts.get("version"), int) or facts["version"] > VERSION:
            raise ReleaseError(
                f"{self.path} is of version {facts.get('version')!r}.", remedy="Install a newer discreet."
            )
        named = {name: value for name, value in facts.items() if name not in ("format", "version", "warning", "seal")}
        return named, self._table(named["catalog"])

    # The state

    def state(self) -> tuple[dict[str, Any], dict[str, pl.DataFrame]] | None:
        """What the latest step left, and the tables of people; None before the first step."""
        return self._read(STATE) if (self.path / STATE).exists() else None

    def draft(self) -> tuple[dict[str, Any], dict[str, pl.DataFrame]] | None:
        """A step that is on the disk and was not finished; None where there is none."""
        return self._read(DRAFT) if (self.path / DRAFT).exists() else None

    def write_draft(
        self,
        state: Mapping[str, Any],
        tables: Mapping[str, pl.DataFrame],
        arrays: Sequence[Sequence[AnyIntegers]],
    ) -> list[list[dict[str, Any]]]:
        """Write a step, durably; the description of its arrays. ``state["steps"]`` gets them for its last step."""
        described = [[self._put("step", _compressed(array), "z") for array in some] for some in arrays]
        steps = [*state["steps"][:-1], {**state["steps"][-1], "arrays": described}] if arrays else state["steps"]
        named = {name: self._put(name, _as_arrow(table)) for name, table in tables.items()}
        self._put_json(DRAFT, {**state, "steps": steps, "tables": named})
        return described

    def finish(self) -> None:
        """Make the draft the state, and remove what no longer is named."""
        os.replace(self.path / DRAFT, self.path / STATE)
        sync_folder(self.path)
        self._tidy()

    def discard(self) -> None:
        """Remove a draft that was never shown."""
        (self.path / DRAFT).unlink(missing_ok=True)
        sync_folder(self.path)

    def array(self, described: Mapping[str, Any]) -> AnyIntegers:
        """An array of a released step."""
        data = self._bytes(described)
        with foreign_errors(lambda words: ReleaseError(f"{self.path / described['file']}: {words}.")):
            return _expanded(data)

    # Files

    def _read(self, name: str) -> tuple[dict[str, Any], dict[str, pl.DataFrame]]:
        state = self._json(name)
        with foreign_errors(lambda words: ReleaseError(f"{self.path / name} is not complete: {words}.", remedy=ASK)):
            return state, {table: self._table(described) for table, described in state["tables"].items()}

    def _table(self, described: Mapping[str, Any]) -> pl.DataFrame:
        data = self._bytes(described)
        with foreign_errors(lambda words: ReleaseError(f"{self.path / described['file']}: {words}.", remedy=ASK)):
            return read_arrow(data)

    def _bytes(self, described: Mapping[str, Any]) -> bytes:
        file = str(described["file"])
        if not FILE.fullmatch(file):
            raise ReleaseError(f"{self.path} names no usable file: {file!r}.", remedy=ASK)
        try:
            data = (self.path / file).read_bytes()
        except OSError as error:
            raise ReleaseError(f"{self.path / file} cannot be read: {error.strerror}.", remedy=ASK) from None
        if hashlib.sha256(data).hexdigest() != described["sha256"]:
            raise ReleaseError(f"{self.path / file} is damaged or was changed.", remedy=ASK)
        return data

    def _json(self, name: str) -> dict[str, Any]:
        try:
            found = read_json(self.path / name)
        except OSError as error:
            raise ReleaseError(f"{self.path / name} cannot be read: {error.strerror}.", remedy=ASK) from None
        except ValueError as error:
            raise ReleaseError(f"{self.path / name} is damaged: {error}.", remedy=ASK) from None
        if not isinstance(found, dict) or found.get("seal") != _seal(found):
            raise ReleaseError(f"{self.path / name} is damaged or was changed.", remedy=ASK)
        return found

    def _put(self, name: str, data: bytes, ending: str = "arrow") -> dict[str, Any]:
        file = f"{name}-{uuid.uuid4().hex}.{ending}"
        self._write(file, data)
        return {"file": file, "sha256": hashlib.sha256(data).hexdigest()}

    def _put_json(self, name: str, facts: Mapping[str, Any]) -> None:
        sealed = {key: value for key, value in facts.items() if key != "seal"}
        aside = f".{name}.{uuid.uuid4().hex}"
        text = json.dumps({**sealed, "seal": _seal(sealed)}, indent=1, ensure_ascii=False)
        self._write(aside, text.encode())
        os.replace(self.path / aside, self.path / name)
        sync_folder(self.path)

    def _write(self, file: str, data: bytes) -> None:
        """A file that nobody else can read, not even while it is being written; on the disk when this returns."""
        handle = os.open(self.path / file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
        with os.fdopen(handle, "wb") as written:
            written.write(data)
            written.flush()
            os.fsync(written.fileno())

    def _tidy(self) -> None:
        """Remove files of earlier states and of crashes; they hold people's records."""
        state, settings = self._json(STATE), self._json(SERIES)
        arrays = [one["file"] for step in state["steps"] for some in step.get("arrays", []) for one in some]
        named = {settings["catalog"]["file"], *(one["file"] for one in state["tables"].values()), *arrays}
        for path in self.path.iterdir():
            if FILE.fullmatch(path.name) and path.name not in named:
                path.unlink(missing_ok=True)


def _seal(facts: Mapping[str, Any]) -> str:
    plain = {key: value for key, value in facts.items() if key != "seal"}
    return hashlib.sha256(json.dumps(plain, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _as_arrow(table: pl.DataFrame) -> bytes:
    """The table in Arrow's format, text one after the other: nothing but its own rows is written."""
    buffer = io.BytesIO()
    table.write_ipc(buffer, compat_level=pl.CompatLevel.oldest())
    return buffer.getvalue()


def _compressed(array: AnyIntegers) -> bytes:
    """Whole numbers, first the low bytes of all of them, then the next: the high ones are nearly all alike."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    planes = little.view(np.uint8).reshape(-1, little.itemsize).T
    # Noise has no repeats but runs of equal high bytes.
    runs = zlib.compressobj(strategy=zlib.Z_RLE)
    return bytes([little.itemsize]) + runs.compress(planes.tobytes()) + runs.flush()


def _expanded(data: bytes) -> AnyIntegers:
    size = data[0]
    planes = np.frombuffer(zlib.decompress(data[1:]), dtype=np.uint8).reshape(size, -1)
    return np.ascontiguousarray(planes.T).reshape(-1).view(f"<i{size}")
