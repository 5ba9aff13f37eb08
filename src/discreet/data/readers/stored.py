"""Our own way of keeping a dataset: Parquet or Arrow that says everything about it, alone or in a folder.

A folder holds ``dataset.json`` and the tables beside it; a single file carries the same facts in its own metadata,
under the key ``discreet``. Reading gives back the same fingerprint, scale, catalog and lineage.
"""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import polars as pl

from discreet.data.domains import CategoricalDomain, Domain, IntegerDomain
from discreet.data.readers.drafts import Draft, InteractionsDraft, TableDraft, TagsDraft
from discreet.data.readers.formats import Format, Place
from discreet.data.readers.generic import read_frame
from discreet.data.readers.records import Records
from discreet.errors import DataError, DiscreetError, UsageError

__all__ = ["FACTS_FILE", "FORMATS", "MAIN_FILES", "METADATA_KEY", "VERSION", "domain_as_json", "table_as_text"]

VERSION = 1
METADATA_KEY = "discreet"
FACTS_FILE = "dataset.json"
MAIN_FILES = {"interactions": "interactions.parquet", "tags": "tags.parquet", "table": "rows.parquet"}


def load(place: Place) -> Draft:
    """Whatever ``write`` has written."""
    if place.is_folder or place.path.name == FACTS_FILE:
        return _load_folder(place.folder)
    facts = _facts(_metadata(place.path), place.path)
    return _draft(facts, read_frame(place.path), place.path, _tables(facts, place.path))


def table_as_text(table: pl.DataFrame) -> str:
    """A table small enough to travel in the metadata of another, as text."""
    buffer = io.BytesIO()
    try:
        table.write_parquet(buffer)
    except pl.exceptions.PolarsError as error:
        raise UsageError(f"a table beside the records cannot be written: {error}.") from None
    return base64.b64encode(buffer.getvalue()).decode()


def _tables(facts: dict[str, Any], path: Path) -> dict[str, pl.DataFrame]:
    try:
        texts = facts.get("tables", {})
        return {name: pl.read_parquet(io.BytesIO(base64.b64decode(text))) for name, text in texts.items()}
    except (ValueError, AttributeError, TypeError, pl.exceptions.PolarsError):
        raise _damaged(path) from None


def _load_folder(folder: Path) -> Draft:
    path = folder / FACTS_FILE
    try:
        facts = _facts(path.read_text(encoding="utf-8"), path)
    except OSError as error:
        raise DataError(f"the file cannot be read: {error.strerror}.", file=path) from None
    except UnicodeDecodeError:
        raise _damaged(path) from None
    records = read_frame(folder / MAIN_FILES[facts["kind"]])
    sides = ("items", "users", "vocabulary", "resources")
    tables = {side: read_frame(folder / f"{side}.parquet").frame for side in sides if facts.get(side)}
    return _draft(facts, records, path, tables)


def _facts(text: str | None, path: Path) -> dict[str, Any]:
    try:
        facts = json.loads(text or "")
        version, kind = facts[METADATA_KEY], facts["kind"]
    except (ValueError, KeyError, TypeError):
        raise _damaged(path) from None
    if not isinstance(version, int) or version > VERSION or kind not in MAIN_FILES:
        raise DataError(
            f"this dataset is of version {version!r} and kind {kind!r}, which this version of discreet does not know.",
            file=path,
            remedy="Use a newer discreet.",
        )
    return facts


def _draft(facts: dict[str, Any], records: Records, path: Path, tables: dict[str, pl.DataFrame]) -> Draft:
    try:
        common: dict[str, Any] = {"lineage": tuple(facts.get("lineage", ())), "name": facts.get("name", "")}
        if facts["kind"] == "tags":
            return TagsDraft(
                records,
                vocabulary=_public(facts, tables, "vocabulary", "tag"),
                resources=_public(facts, tables, "resources", "resource_id"),
                **common,
            )
        if facts["kind"] == "table":
            domains = {name: _domain(domain) for name, domain in facts["domains"].items()}
            return TableDraft(records, domains, group=facts.get("group"), **common)
        observed = records.frame["item_id"].unique() if facts.get("catalog_is_public") else None
        return InteractionsDraft(
            records,
            scale=facts.get("scale"),
            duplicates=facts.get("duplicates", "error"),
            items=tables.get("items", observed),
            users=tables.get("users"),
            context=tuple(facts.get("context", ())),
            public_user_columns=tuple(facts.get("public_user_columns", ())),
            **common,
        )
    except (KeyError, TypeError, AttributeError, ValueError, pl.exceptions.PolarsError, DiscreetError):
        raise _damaged(path) from None


def _public(facts: dict[str, Any], tables: dict[str, pl.DataFrame], side: str, column: str) -> Any:
    if side in tables:
        return tables[side][column]
    return "observed" if facts.get(f"{side}_public") else None


def domain_as_json(domain: Domain) -> dict[str, Any]:
    """A domain as plain values."""
    if isinstance(domain, CategoricalDomain):
        return {"values": list(domain.values)}
    bins = list(domain.bins) if isinstance(domain.bins, tuple) else domain.bins
    return {"low": domain.low, "high": domain.high, "bins": bins}


def _domain(facts: dict[str, Any]) -> Domain:
    if "values" in facts:
        return CategoricalDomain(tuple(facts["values"]))
    bins = facts["bins"]
    return IntegerDomain(facts["low"], facts["high"], tuple(bins) if isinstance(bins, list) else bins)


def _metadata(path: Path) -> str | None:
    """What a Parquet or Arrow file says under our key."""
    try:
        with path.open("rb") as stream:
            magic = stream.read(6)
        if magic == b"ARROW1":
            import pyarrow as pa

            with pa.OSFile(str(path)) as source:
                found = (pa.ipc.open_file(source).schema.metadata or {}).get(METADATA_KEY.encode())
            return None if found is None else found.decode()
        return pl.read_parquet_metadata(path).get(METADATA_KEY) if magic[:4] == b"PAR1" else None
    except (OSError, ValueError, pl.exceptions.PolarsError):
        return None


def _damaged(path: Path) -> DataError:
    return DataError("the facts about the dataset are damaged.", file=path, remedy="Write the dataset again.")


def _is_stored(place: Place) -> bool:
    if place.is_folder:
        return (place.folder / FACTS_FILE).is_file()
    return place.path.name == FACTS_FILE or _metadata(place.path) is not None


FORMATS = (
    Format(
        "discreet",
        "Interactions, TagAssignments or Table",
        "What discreet itself writes: any kind of dataset, with its scale, catalog, users and domains",
        "a folder with dataset.json, or Parquet or Arrow with our metadata",
        _is_stored,
        load,
    ),
)
