"""Where the records of a model are, and how they are read: ``source.json`` beside the model."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.cli.parts import PartsReading, found_files, located
from discreet.cli.reading import CatalogReading, RecordsReading
from discreet.common.folders import SOURCE
from discreet.common.plain_json import read_json
from discreet.errors import DataError, UsageError

if TYPE_CHECKING:
    from discreet.models.recommender import Recommender

__all__ = ["attached", "source_writer"]

Read = TypeVar("Read", bound=PartsReading)


def source_writer(data: Path, reading: CatalogReading) -> Callable[[Path], object]:
    """Writes into the folder of a model where its records are and how they were read."""
    left_out = ("items_public", *reading.ELSEWHERE)
    how = {name: value for name, value in asdict(reading).items() if name not in left_out}
    how["catalog"] = None if reading.catalog is None else str(reading.catalog.absolute())
    text = json.dumps({"data": located(data), **how})
    return lambda made: (made / SOURCE).write_text(text, encoding="utf-8")


def attached(recommender: Recommender, model: Path, data: Path | None, typed: PartsReading) -> Path | None:
    """Give the model the records that people's own recommendations are made from; where they are.

    Parameters
    ----------
    data
        The records; those that the model was fitted on unless given.
    typed
        How they are read. What was not typed is as it was when the model was fitted.
    """
    if getattr(recommender, "records_", None) is not None:
        return data
    known = _source(model)
    if data is None:
        if "data" not in known:
            raise UsageError(
                "the model does not say where its records are.", remedy="Give --data FILE, or --history FILE."
            )
        data = Path(known["data"])
    if typed.engine is None and not any(path.exists() for path in found_files(data)):
        raise DataError("the records are no longer here.", file=data, remedy="Give --data FILE.")
    reading = _as_before(typed, known)
    if (
        typed.engine is None
        and reading.ids is None
        and recommender.items_.series.dtype.is_integer()
        and _has_text_ids(data, reading)
    ):
        # A model of version 0.1 has the type that was inferred then.
        reading = replace(reading, ids="item=number")
    recommender.attach(reading.records(data, recommender, items="observed"))
    return data


def _source(model: Path) -> dict[str, Any]:
    """What the model says about its records; nothing where it says nothing that can be used."""
    try:
        found = read_json(model / SOURCE)
    except (OSError, ValueError):
        return {}
    return {name: value for name, value in found.items() if _is_usable(value)} if isinstance(found, dict) else {}


def _is_usable(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(one, str) for one in value))


def _as_before(typed: Read, known: dict[str, Any]) -> Read:
    """The same options, with those that were not typed as the model knows them."""
    missing = {one.name: known[one.name] for one in fields(typed) if not getattr(typed, one.name) and one.name in known}
    if "catalog" in missing:
        path = Path(missing.pop("catalog"))
        missing |= {"catalog": path} if path.exists() else {}
    return replace(typed, **missing)


def _has_text_ids(data: Path, reading: RecordsReading) -> bool:
    from discreet.data.readers import detect

    return (reading.format or detect(found_files(data)[0]).name) in ("csv", "recbole")
