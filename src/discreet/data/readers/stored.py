"""The format that discreet writes: Parquet or Arrow with all facts about a dataset, as one file or a folder.

A folder holds ``dataset.json`` and the tables; a single file has the same facts in its metadata, under the key
``discreet``. Reading returns the same fingerprint, scale, catalog and lineage.
"""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import polars as pl

from discreet.common.foreign import foreign_errors
from discreet.common.plain_json import parse_json
from discreet.data.domains import CategoricalDomain, Domain, IntegerDomain
from discreet.data.frames import require_columns
from discreet.data.readers.drafts import Draft, InteractionsDraft, TableDraft, TagsDraft
from discreet.data.readers.formats import Format, Location
from discreet.data.readers.generic import read_frame
from discreet.data.readers.records import Records
from discreet.errors import DataError, DiscreetError, UsageError

__all__ = [
    "FACTS_FILE",
    "FORMATS",
    "MAIN_FILES",
    "METADATA_KEY",
    "SIDES",
    "VERSION",
    "domain_as_json",
    "metadata_of",
    "table_as_text",
]

VERSION = 1
METADATA_KEY = "discreet"
FACTS_FILE = "dataset.json"
SIDES = ("items", "users", "vocabulary", "resources")
MAIN_FILES = {"interactions": "interactions.parquet", "tags": "tags.parquet", "table": "rows.parquet"}

COLUMNS = {"interactions": ("user_id", "item_id"), "tags": ("user_id", "resource_id", "tag"), "table": ()}
"""The columns that the files of each kind must have."""


def load(place: Location) -> Draft:
    """A dataset that ``write`` wrote."""
    if place.is_folder or place.path.name == FACTS_FILE:
        return _load_folder(place.folder)
    facts = _facts(metadata_of(place.path), place.path)
    return _draft(facts, read_frame(place.path), place.path, _tables(facts, place.path))


def table_as_text(table: pl.DataFrame) -> str:
    """A small table as text, for the metadata of another file."""
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
    except (ValueError, AttributeError, TypeError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
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
    tables = {side: read_frame(folder / f"{side}.parquet").frame for side in SIDES if facts.get(side)}
    return _draft(facts, records, path, tables)


def _facts(text: str | None, path: Path) -> dict[str, Any]:
    try:
        facts = parse_json(text or "")
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
    file = records.origins.files[0]
    require_columns(records.frame, COLUMNS[facts["kind"]], "Rename it, or write the dataset again.", file=file)
    try:
        common: dict[str, Any] = {"lineage": tuple(facts.get("lineage", ())), "name": facts.get("name", "")}
        if facts["kind"] != "table":
            common["once_inferred"] = tuple(facts.get("once_inferred", ()))
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
            typed=True,
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


def metadata_of(path: Path) -> str | None:
    """The metadata of discreet in a Parquet or Arrow file."""
    try:
        with foreign_errors(lambda words: _damaged(path)):
            return _own_metadata(path)
    except DataError:
        return None


def _own_metadata(path: Path) -> str | None:
    with path.open("rb") as stream:
        magic = stream.read(6)
    if magic == b"ARROW1":
        import pyarrow as pa

        with pa.OSFile(str(path)) as source:
            found = (pa.ipc.open_file(source).schema.metadata or {}).get(METADATA_KEY.encode())
        return None if found is None else found.decode()
    return pl.read_parquet_metadata(path).get(METADATA_KEY) if magic[:4] == b"PAR1" else None


def _damaged(path: Path) -> DataError:
    return DataError("the facts about the dataset are damaged.", file=path, remedy="Write the dataset again.")


def _is_stored(place: Location) -> bool:
    if place.is_folder:
        return (place.folder / FACTS_FILE).is_file()
    return place.path.name == FACTS_FILE or metadata_of(place.path) is not None


FORMATS = (
    Format(
        "discreet",
        "Interactions, TagAssignments or Table",
        "Written by discreet: any kind of dataset, with its scale, catalog, users and domains",
        "a folder with dataset.json, or Parquet or Arrow with metadata of discreet",
        _is_stored,
        load,
    ),
)
