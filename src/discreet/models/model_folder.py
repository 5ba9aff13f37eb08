"""Folders of models that cannot do without the raw records: a description, and the records beside it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

import polars as pl

from discreet.common.folders import DESCRIPTION, MODEL
from discreet.common.foreign import foreign_errors
from discreet.common.plain_json import read_json
from discreet.common.replacing import place_for
from discreet.data.interactions import Interactions
from discreet.data.readers import read, write
from discreet.errors import ReleaseError, UsageError

__all__ = ["guarded_load", "load_with_records", "read_description", "save_with_records", "write_description"]

RECORDS = "records"
WARNING = "This folder holds the raw records that the model was fitted on. It is as secret as they are."


def save_with_records(
    folder: str | Path, described: Mapping[str, Any], data: Interactions, *, overwrite: bool = False
) -> Path:
    """Write a model's description and its records: aside first, so that both are there or nothing is.

    Parameters
    ----------
    folder
        Where to. What is there already is replaced only if it is a model, and only if ``overwrite``.
    described
        What is needed to make the model again, JSON-like, with its name under "model".
    data
        The records.

    Privacy
    -------
    These are the raw records, and the description says so.
    """
    if pl.Object in (data.items.series.dtype, data.users.series.dtype):
        raise UsageError("a saved model names its items and users: their ids must be numbers or text.")

    def make(made: Path) -> None:
        made.mkdir()
        write(data, made / RECORDS)
        files = {path.relative_to(made).as_posix(): _sha256(path) for path in sorted((made / RECORDS).iterdir())}
        write_description(made, {"warning": WARNING, **described, "files": files})

    return place_for(folder, MODEL, overwrite=overwrite).put(make)


def load_with_records(folder: str | Path, name: str) -> tuple[dict[str, Any], Interactions]:
    """The description of a model of this name, and its records."""
    path = Path(folder)
    described = read_description(path, name)
    _check_files(path, described)
    data = read(path / RECORDS)
    if not isinstance(data, Interactions):
        raise ReleaseError(f"{path / RECORDS} holds no interactions.")
    return described, data


def guarded_load(load: Callable[..., Any]) -> Callable[..., Any]:
    """``load`` of a model: whatever it stumbles over in a folder that somebody else wrote is a ``ReleaseError``."""

    @wraps(load)
    def guarded(cls: Any, folder: str | Path) -> Any:
        with foreign_errors(lambda words: ReleaseError(f"{folder} holds no usable {cls.name} model: {words}.")):
            return load(cls, folder)

    return guarded


def write_description(folder: Path, described: Mapping[str, Any]) -> None:
    """Write ``model.json`` with an id: the SHA-256 over everything else in it."""
    text = json.dumps({**described, "id": _seal(described)}, indent=2, ensure_ascii=False)
    (folder / DESCRIPTION).write_text(text + "\n", encoding="utf-8")


def read_description(folder: Path, name: str) -> dict[str, Any]:
    """``model.json`` of a model of this name, checked against its id; models of earlier versions have none."""
    path = folder / DESCRIPTION
    try:
        described = read_json(path)
        found, config = described["model"], described["config"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ReleaseError(f"{folder} holds no {name} model: {error}.") from error
    if found != name:
        raise ReleaseError(f"{folder} holds {found!r}, not {name!r}.")
    if not isinstance(config, dict):
        raise ReleaseError(f"{path} is damaged: config is not an object.")
    if "id" in described and _seal({key: value for key, value in described.items() if key != "id"}) != described["id"]:
        raise ReleaseError(f"{path} was changed after it was written.", remedy="Fit the model again.")
    return described


def _check_files(folder: Path, described: Mapping[str, Any]) -> None:
    files = described.get("files", {})
    if not isinstance(files, dict):
        raise ReleaseError(f"{folder / DESCRIPTION} is damaged: files is not an object.")
    for name, sha256 in files.items():
        path = folder / name
        if path.parent != folder / RECORDS or path.name in ("", ".", ".."):
            raise ReleaseError(f"{folder / DESCRIPTION} names {name!r}, which is not a file of its records.")
        try:
            found = _sha256(path)
        except OSError as error:
            raise ReleaseError(f"{path} cannot be read: {error.strerror}.", remedy="Fit the model again.") from None
        if found != sha256:
            raise ReleaseError(f"{path} is damaged or was changed.", remedy="Fit the model again.")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _seal(described: Mapping[str, Any]) -> str:
    text = json.dumps(described, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
