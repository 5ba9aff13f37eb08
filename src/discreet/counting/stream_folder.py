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

from discreet.errors import ReleaseError

__all__ = ["read_state", "table_as_bytes", "table_of_bytes", "write_state"]

STATE = "state.json"
FORMAT = "discreet-stream"
VERSION = 1
WARNING = "This folder holds raw records of people. It is as secret as they are."
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600


def write_state(folder: Path, facts: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> Path:
    """Write tables under fresh names, then the file that names them; a state that was there stays until that moment."""
    before: set[Path] = set()
    try:
        if folder.exists():
            if any(folder.iterdir()) and not (folder / STATE).is_file():
                raise ReleaseError(f"{folder} is there already and is no state of a stream.", remedy="Choose another.")
            before = {path for path in folder.iterdir() if path.suffix == ".arrow"}
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(PRIVATE_FOLDER)
        named = {}
        for name, table in tables.items():
            data, file = table_as_bytes(table), f"{name}-{uuid.uuid4().hex}.arrow"
            _write(folder / file, data)
            named[name] = {"file": file, "sha256": hashlib.sha256(data).hexdigest()}
        state = {"format": FORMAT, "version": VERSION, "warning": WARNING, **facts, "tables": named}
        aside = folder / f".{STATE}.{uuid.uuid4().hex}"
        _write(aside, (json.dumps(state, indent=2, ensure_ascii=False) + "\n").encode())
        aside.replace(folder / STATE)
        for path in before:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise ReleaseError(f"cannot write {folder}: {error.strerror or error}.") from error
    return folder


def read_state(folder: Path) -> tuple[dict[str, Any], dict[str, pl.DataFrame]]:
    """The facts and tables of a state, each table checked against its SHA-256."""
    try:
        facts = json.loads((folder / STATE).read_bytes())
    except OSError as error:
        raise ReleaseError(f"{folder} is no state of a stream: {error.strerror}.") from None
    except ValueError as error:
        raise ReleaseError(f"{folder / STATE} is damaged: {error}.") from None
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise ReleaseError(f"{folder / STATE} is no state of a stream.")
    if not isinstance(facts.get("version"), int) or facts["version"] > VERSION:
        raise ReleaseError(f"{folder} is of version {facts.get('version')!r}.", remedy="Install a newer discreet.")
    tables = {}
    for name, described in facts.get("tables", {}).items():
        file = str(described.get("file", ""))
        if not re.fullmatch(r"[a-z]+-[0-9a-f]{32}\.arrow", file):
            raise ReleaseError(f"{folder / STATE} names no usable file for {name!r}.")
        try:
            data = (folder / file).read_bytes()
        except OSError as error:
            raise ReleaseError(f"{folder / file} cannot be read: {error.strerror}.") from None
        if hashlib.sha256(data).hexdigest() != described.get("sha256"):
            raise ReleaseError(f"{folder / file} is damaged or was changed.")
        tables[name] = table_of_bytes(data)
    return facts, tables


def table_as_bytes(table: pl.DataFrame) -> bytes:
    """The table in Arrow's format, text one after the other: nothing but its own rows is written."""
    buffer = io.BytesIO()
    table.write_ipc(buffer, compat_level=pl.CompatLevel.oldest())
    return buffer.getvalue()


def table_of_bytes(data: bytes) -> pl.DataFrame:
    """The inverse of ``table_as_bytes``."""
    return pl.read_ipc(io.BytesIO(data))


def _write(path: Path, data: bytes) -> None:
    """A file that nobody else can read, not even while it is being written; on the disk when this returns."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
