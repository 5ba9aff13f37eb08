"""Folders of models that cannot do without the raw records: a description, and the records beside it."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from discreet.data.interactions import Interactions
from discreet.data.readers import read, write
from discreet.errors import ReleaseError, UsageError

__all__ = ["load_with_records", "save_with_records"]

DESCRIPTION = "model.json"
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
    target = Path(folder)
    if pl.Object in (data.items.series.dtype, data.users.series.dtype):
        raise UsageError("a saved model names its items and users: their ids must be numbers or text.")
    if target.exists() and not overwrite:
        raise ReleaseError(f"{target} is there already.", remedy="Choose another folder, or overwrite=True.")
    if target.exists() and not (target / DESCRIPTION).is_file():
        raise ReleaseError(f"{target} is there already and is no model.", remedy="Choose another folder.")
    text = json.dumps({"warning": WARNING, **described}, indent=2, ensure_ascii=False)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as aside:
            made = Path(aside) / "model"
            made.mkdir()
            write(data, made / RECORDS)
            (made / DESCRIPTION).write_text(text + "\n", encoding="utf-8")
            if target.exists():
                shutil.move(target, Path(aside) / "replaced")
            shutil.move(made, target)
    except OSError as error:
        raise ReleaseError(f"cannot write {target}: {error.strerror or error}.") from error
    return target


def load_with_records(folder: str | Path, name: str) -> tuple[dict[str, Any], Interactions]:
    """The description of a model of this name, and its records."""
    path = Path(folder)
    try:
        described = json.loads((path / DESCRIPTION).read_text(encoding="utf-8"))
        found = described["model"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ReleaseError(f"{folder} holds no {name} model: {error}.") from error
    if found != name:
        raise ReleaseError(f"{folder} holds {found!r}, not {name!r}.")
    data = read(path / RECORDS)
    if not isinstance(data, Interactions):
        raise ReleaseError(f"{path / RECORDS} holds no records of who touched what.")
    return described, data
