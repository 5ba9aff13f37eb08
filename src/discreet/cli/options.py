"""Options that several commands share, and what they stand for."""

from __future__ import annotations

import json
import os
import tempfile
import uuid
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.console import note, working
from discreet.errors import ReleaseError, UsageError

if TYPE_CHECKING:
    from discreet.data import Interactions, Table, TagAssignments
    from discreet.privacy import Ledger
    from discreet.recommender import Recommender

__all__ = [
    "AsJson",
    "Catalog",
    "Column",
    "DataPath",
    "Duplicates",
    "Format",
    "ItemsPublic",
    "LedgerPath",
    "Scale",
    "Settings",
    "ledger_at",
    "model_of",
    "read_any",
    "read_interactions",
    "saved",
    "settings_of",
    "target_for",
]

DataPath = Annotated[Path, typer.Argument(metavar="DATA", help="A file or folder; `discreet data list` shows formats.")]
Format = Annotated[str | None, typer.Option("--format", help="Format by name; otherwise it is recognized.")]
Column = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="ROLE=NAME", help="Column of a generic file, e.g. user=customer; repeatable."),
]
Scale = Annotated[
    str | None, typer.Option("--scale", metavar="LOW:HIGH[:STEP]", help="The public rating scale of a generic file.")
]
Duplicates = Annotated[
    str | None, typer.Option("--duplicates", help="Several records of one user and item: error, last or keep.")
]
Catalog = Annotated[
    Path | None, typer.Option("--catalog", metavar="FILE", help="The public list of items, a table or ids.")
]
ItemsPublic = Annotated[
    bool, typer.Option("--items-public", help="Declare that it is public knowledge which items occur.")
]
LedgerPath = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="FILE|URL",
        envvar="DISCREET_LEDGER",
        help="The budget book (SQLite file or PostgreSQL URL).",
    ),
]
Settings = Annotated[
    list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="A further setting; repeatable.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Answer as one JSON document.")]


def settings_of(options: list[str] | None, **given: Any) -> dict[str, Any]:
    """Settings of a model or method: those with an option of their own, and those of ``--option``.

    A value is read as JSON where it is JSON, and is text elsewhere. What was not given (None) is left out.
    """
    settings = {setting: value for setting, value in given.items() if value is not None}
    for text in options or []:
        setting, separator, value = text.partition("=")
        if not separator:
            raise UsageError(f"--option {text!r} is not understood.", remedy="Write NAME=VALUE.")
        if setting in settings:
            raise UsageError(f"{setting} was given twice.", remedy="Leave --option out.")
        try:
            settings[setting] = json.loads(value)
        except ValueError:
            settings[setting] = value
    return settings


def model_of(name: str, options: list[str] | None, **given: Any) -> Recommender:
    """The model of that name with the settings that were typed."""
    from discreet.recommender import model_class

    kind = model_class(name)
    settings = settings_of(options, **given)
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    if unknown := sorted(set(settings) - set(known)):
        raise UsageError(f"{name} has no setting {', '.join(unknown)}.", remedy=f"Its settings: {', '.join(known)}.")
    return kind(**settings)


def read_any(
    path: Path,
    *,
    format: str | None = None,
    column: list[str] | None = None,
    scale: str | None = None,
    duplicates: str | None = None,
    catalog: Path | None = None,
    items_public: bool = False,
) -> Interactions | TagAssignments | Table:
    """Read data with the options that were given; those that were not are left to the format."""
    from discreet.data import read

    options: dict[str, Any] = dict(_role(text) for text in column or [])
    given = {"scale": scale, "duplicates": duplicates, "catalog": catalog, "items_public": items_public or None}
    options |= {name: value for name, value in given.items() if value is not None}
    with working(f"reading {path}"):
        return read(path, format=format, **options)


def read_interactions(path: Path, **options: Any) -> Interactions:
    """Read data that must be interactions."""
    from discreet.data import Interactions

    data = read_any(path, **options)
    if not isinstance(data, Interactions):
        raise UsageError(f"{path} holds {type(data).__name__}; this command needs interactions (user, item, …).")
    return data


def ledger_at(place: str | None, *, unbooked: bool) -> Ledger | None:
    """The ledger to charge. Not to keep a book is a decision that has to be said."""
    from discreet.privacy import Ledger

    if unbooked and place == os.environ.get("DISCREET_LEDGER"):
        place = None  # what was typed goes before what is set
    if place is not None and unbooked:
        raise UsageError("--ledger and --no-ledger exclude each other.")
    if place is None and not unbooked:
        raise UsageError(
            "which ledger is to be charged?",
            remedy="Give --ledger FILE (or set DISCREET_LEDGER), or say --no-ledger to spend without a book.",
        )
    return None if place is None else Ledger(place)


def target_for(out: Path | None, *, overwrite: bool) -> Path:
    """Where a result goes. Whether it can be written there is found out before anything is spent."""
    if out is None:
        raise UsageError("where is the result to go?", remedy="Give --out FOLDER.")
    if out.exists() and not overwrite:
        raise ReleaseError(
            f"{out} is there already; nothing was spent.", remedy="Choose another folder, or --overwrite."
        )
    try:
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.absolute().parent):
            pass
    except OSError as error:
        raise ReleaseError(f"{out} cannot be written ({error.strerror}); nothing was spent.") from None
    return out


def saved(save: Callable[..., Path], out: Path, *, overwrite: bool) -> Path:
    """Write what was paid for. If its place was taken meanwhile, it goes beside it: it must not be lost."""
    try:
        return save(out, overwrite=overwrite)
    except ReleaseError as error:
        beside = out.with_name(f"{out.name}-{uuid.uuid4().hex[:8]}")
        note(f"discreet: {error.what} It was charged already, so it goes to {beside}.")
        return save(beside)


def _role(text: str) -> tuple[str, str]:
    role, separator, name = text.partition("=")
    if not separator or role not in ("user", "item", "rating", "timestamp", "resource", "tag"):
        raise UsageError(
            f"--column {text!r} is not understood.",
            remedy="Write ROLE=NAME with the role user, item, rating, timestamp, resource or tag.",
        )
    return role, name
