"""The folder of a stream's state: plain files that their owner alone can read, replaced in one step."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from discreet.common.arrow import read_arrow
from discreet.common.foreign import foreign_errors
from discreet.common.plain_json import read_json
from discreet.common.replacing import Kind, place_for, strangers
from discreet.errors import ReleaseError

__all__ = ["read_state", "table_as_bytes", "table_of_bytes", "write_state"]

STATE = "state.json"
FORMAT = "discreet-stream"
VERSION = 1
WARNING = "This folder holds raw records of people. It is as secret as they are."
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
TABLE = re.compile(r"[a-z]+-[0-9a-f]{32}\.arrow")
LEFTOVER = re.compile(r"\.state\.json\.[0-9a-f]{32}")


def write_state(folder: Path, facts: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> Path:
    """Write tables and the file that names them into a folder; a state that was there is replaced in one step."""

    def make(made: Path) -> None:
        made.mkdir(mode=PRIVATE_FOLDER)
        named = {}
        for name, table in tables.items():
            data, file = table_as_bytes(table), f"{name}-{uuid.uuid4().hex}.arrow"
            _write(made / file, data)
            named[name] = {"file": file, "sha256": hashlib.sha256(data).hexdigest()}
        state = {"format": FORMAT, "version": VERSION, "warning": WARNING, **facts, "tables": named}
        _write(made / STATE, (json.dumps(state, indent=2, ensure_ascii=False) + "\n").encode())

    return place_for(folder, STREAM, overwrite=True).put(make)


def _foreign(folder: Path) -> str | None:
    """Why a folder is not wholly the state of a stream; states that a crash interrupted may have left files."""
    try:
        if read_json(folder / STATE)["format"] != FORMAT:
            raise ValueError
    except (OSError, ValueError, KeyError, TypeError):
        return f"it has no {STATE} of a stream"
    left = [path.name for path in folder.iterdir() if TABLE.fullmatch(path.name) or LEFTOVER.fullmatch(path.name)]
    return strangers(folder, [STATE, *left])


STREAM = Kind("state of a stream", _foreign)


def read_state(folder: Path) -> tuple[dict[str, Any], dict[str, pl.DataFrame]]:
    """The facts and tables of a state, each table checked against its SHA-256."""
    try:
        facts = read_json(folder / STATE)
    except OSError as error:
        raise ReleaseError(f"{folder} is no state of a stream: {error.strerror}.") from None
    except ValueError as error:
        raise ReleaseError(f"{folder / STATE} is damaged: {error}.") from None
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise ReleaseError(f"{folder / STATE} is no state of a stream.")
    if not isinstance(facts.get("version"), int) or facts["version"] > VERSION:
        raise ReleaseError(f"{folder} is of version {facts.get('version')!r}.", remedy="Install a newer discreet.")
    named, tables = facts.get("tables", {}), {}
    if not isinstance(named, dict) or not all(isinstance(described, dict) for described in named.values()):
        raise ReleaseError(f"{folder / STATE} is damaged: it does not name its tables.")
    for name, described in named.items():
        file = str(described.get("file", ""))
        if not TABLE.fullmatch(file):
            raise ReleaseError(f"{folder / STATE} names no usable file for {name!r}.")
        try:
            data = (folder / file).read_bytes()
        except OSError as error:
            raise ReleaseError(f"{folder / file} cannot be read: {error.strerror}.") from None
        if hashlib.sha256(data).hexdigest() != described.get("sha256"):
            raise ReleaseError(f"{folder / file} is damaged or was changed.")
        with foreign_errors(lambda words, file=file: ReleaseError(f"{folder / file} cannot be understood: {words}.")):
            tables[name] = table_of_bytes(data)
    return facts, tables


def table_as_bytes(table: pl.DataFrame) -> bytes:
    """The table in Arrow's format, text one after the other: nothing but its own rows is written."""
    buffer = io.BytesIO()
    table.write_ipc(buffer, compat_level=pl.CompatLevel.oldest())
    return buffer.getvalue()


def table_of_bytes(data: bytes) -> pl.DataFrame:
    """The inverse of ``table_as_bytes``."""
    return read_arrow(data)


def _write(path: Path, data: bytes) -> None:
    """A file that nobody else can read, not even while it is being written; on the disk when this returns."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
