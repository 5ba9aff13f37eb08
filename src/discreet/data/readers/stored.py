"""The format that discreet writes: Parquet or Arrow with all facts about a dataset, as one file or a folder.

A folder holds ``dataset.json`` and the tables; a single file has the same facts in its metadata, under the key
``discreet``. Reading returns the same fingerprint, scale, catalog and lineage. CSV and TSV hold the records alone.
Everything is written to another name first, then renamed, so that it is never half-written.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.common.foreign import foreign_errors
from discreet.common.plain_json import parse_json
from discreet.common.replacing import Kind, place_for, strangers
from discreet.data.domains import CategoricalDomain, Domain, IntegerDomain
from discreet.data.frames import require_columns
from discreet.data.ids import Codes, IdMap
from discreet.data.interactions import Interactions
from discreet.data.readers.drafts import Draft, InteractionsDraft, TableDraft, TagsDraft
from discreet.data.readers.formats import Format, Location
from discreet.data.readers.generic import read_frame
from discreet.data.readers.records import Records
from discreet.data.readers.released import marked
from discreet.data.tables import Table
from discreet.data.tags import TagAssignments
from discreet.errors import DataError, DiscreetError, Remedy, UsageError

__all__ = ["FACTS_FILE", "FORMATS", "facts_of", "is_stored", "kind_of_file", "write"]

VERSION = 1
METADATA_KEY = "discreet"
FACTS_FILE = "dataset.json"
SIDES = ("items", "users", "vocabulary", "resources")
MAIN_FILES = {"interactions": "interactions.parquet", "tags": "tags.parquet", "table": "rows.parquet"}

COLUMNS = {"interactions": ("user_id", "item_id"), "tags": ("user_id", "resource_id", "tag"), "table": ()}
"""The columns that the files of each kind must have."""


# Writing


def write(
    data: Interactions | TagAssignments | Table, path: str | Path, *, tables: bool = True, overwrite: bool = False
) -> Path:
    """Write a dataset so that ``read`` gives it back.

    Parameters
    ----------
    data
        Interactions, TagAssignments or Table.
    path
        A file that ends in .parquet, .arrow, .csv or .tsv; anything else is a folder. Parquet, Arrow and folders keep
        all facts about the data; CSV and TSV keep only the records.
    tables
        Whether the catalog and the table of users are written too; a Parquet or Arrow file has them in its metadata.
    overwrite
        Whether an existing dataset may be replaced. A Parquet or Arrow file or a folder is replaced only if discreet
        wrote it. CSV and TSV files do not show that: an existing one is kept under another name.

    Returns
    -------
    Path
        The file or folder.

    Privacy
    -------
    These are the raw records. The file is as secret as they are.

    Examples
    --------
    >>> import tempfile
    >>> from discreet.data.readers import read
    >>> shop = Interactions([("ann", "tea", 5), ("bob", "rum", 4)], scale="1:5", name="shop")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = read(write(shop, f"{folder}/shop.parquet"))
    >>> again, again.fingerprint == shop.fingerprint
    (Interactions('shop': 2 records, 2 users, 2 items, ratings 1:5:1), True)
    """
    path = Path(path)
    if not isinstance(data, Interactions | TagAssignments | Table):
        raise UsageError(f"data must be Interactions, TagAssignments or a Table, got {type(data).__name__}.")
    kind = kind_of_file(path)
    facts, main, sides = _pieces(data, tables=tables)
    writer = {".parquet": _parquet, ".pq": _parquet, ".arrow": _arrow, ".feather": _arrow, ".csv": _csv, ".tsv": _tsv}
    write_file = writer.get(path.suffix.lower())
    if write_file in (_csv, _tsv) and sides:
        raise UsageError(
            f"{path.name} holds one table; these data have a table of {' and '.join(sides)} too.",
            remedy=Remedy(
                "Give a folder, a .parquet or an .arrow file, or leave it out with tables=False.",
                cli="Give a folder, a .parquet or an .arrow file.",
            ),
        )
    if write_file is not None:
        facts |= {"tables": {name: _table_as_text(table) for name, table in sides.items()}}
    place = place_for(path, kind, overwrite=overwrite)
    if write_file is None:
        return place.put(lambda aside: _write_folder(aside, facts, main, sides))
    return place.put(lambda aside: write_file(main, aside, facts))


def kind_of_file(path: Path) -> Kind:
    """What may be replaced by a dataset that is written to this path, by its ending."""
    ending = path.suffix.lower()
    if ending in (".xlsx", ".xls", ".json", ".txt", ".gz", ".zip", ".db"):
        raise UsageError(
            f"a dataset is not written as {path.suffix}.", remedy="Choose .parquet, .arrow, .csv, .tsv, or a folder."
        )
    return (
        FILE if ending in (".parquet", ".pq", ".arrow", ".feather") else TEXT if ending in (".csv", ".tsv") else FOLDER
    )


def _pieces(
    data: Interactions | TagAssignments | Table, *, tables: bool
) -> tuple[dict[str, Any], pl.DataFrame, dict[str, pl.DataFrame]]:
    """The facts, the records, and the tables beside them."""
    facts: dict[str, Any] = {METADATA_KEY: VERSION, "name": data.name, "lineage": list(data.lineage)}
    sides: dict[str, pl.DataFrame] = {}
    if isinstance(data, Table):
        facts |= {"kind": "table", "domains": {a: _domain_as_json(d) for a, d in data.domains.items()}}
        facts["group"] = next((name for name in data.to_frame().columns if name not in data.attributes), None)
    elif isinstance(data, TagAssignments):
        facts |= {"kind": "tags", "once_inferred": sorted(data.once_inferred)}
        for side, public, ids, used, column in (
            ("vocabulary", data.vocabulary_is_public, data.tags, data.tag, "tag"),
            ("resources", data.resources_are_public, data.resources, data.resource, "resource_id"),
        ):
            unseen = public and _has_unseen(ids, used)
            facts[f"{side}_public"] = public and (tables or not unseen)
            if tables and unseen:
                sides[side] = pl.DataFrame({column: ids.series})
    else:
        sides = _sides(data) if tables else {}
        # Without the catalog, "observed" would be another declaration of what is public.
        public = data.catalog_is_public and (tables or not _has_unseen(data.items, data.item))
        facts |= {
            "kind": "interactions",
            "scale": None if data.scale is None else str(data.scale),
            "duplicates": "keep" if data.may_repeat else "error",
            "context": data.context.columns,
            "public_user_columns": sorted(data.public_user_columns) if tables else [],
            "catalog_is_public": public,
            "once_inferred": sorted(data.once_inferred),
        }
    return facts | dict.fromkeys(sides, True), data.to_frame(), sides


def _sides(data: Interactions) -> dict[str, pl.DataFrame]:
    sides: dict[str, pl.DataFrame] = {}
    if data.catalog_is_public and (data.item_table is not None or _has_unseen(data.items, data.item)):
        table = data.item_table if data.item_table is not None else pl.DataFrame()
        sides["items"] = pl.DataFrame({"item_id": data.items.series}).hstack(table.get_columns())
    if data.user_table is not None:
        sides["users"] = pl.DataFrame({"user_id": data.users.series}).hstack(data.user_table.get_columns())
    return sides


def _has_unseen(ids: IdMap, codes: Codes) -> bool:
    """Whether a list has ids without records."""
    return bool((np.bincount(codes, minlength=len(ids)) == 0).any())


def _table_as_text(table: pl.DataFrame) -> str:
    """A small table as text, for the metadata of another file."""
    buffer = io.BytesIO()
    try:
        table.write_parquet(buffer)
    except pl.exceptions.PolarsError as error:
        raise UsageError(f"a table beside the records cannot be written: {error}.") from None
    return base64.b64encode(buffer.getvalue()).decode()


def _domain_as_json(domain: Domain) -> dict[str, Any]:
    """A domain as plain values."""
    if isinstance(domain, CategoricalDomain):
        return {"values": list(domain.values)}
    bins = list(domain.bins) if isinstance(domain.bins, tuple) else domain.bins
    return {"low": domain.low, "high": domain.high, "bins": bins}


def _write_folder(aside: Path, facts: dict[str, Any], main: pl.DataFrame, sides: dict[str, pl.DataFrame]) -> None:
    aside.mkdir()
    for name, table in sides.items():
        _parquet(table, aside / f"{name}.parquet", {})
    _parquet(main, aside / MAIN_FILES[facts["kind"]], {})
    (aside / FACTS_FILE).write_text(_json(facts, indent=2) + "\n", encoding="utf-8")


def _parquet(frame: pl.DataFrame, path: Path, facts: dict[str, Any]) -> None:
    metadata = {METADATA_KEY: _json(facts)} if facts else None
    with _writable(frame):
        frame.write_parquet(path, metadata=metadata)


def _arrow(frame: pl.DataFrame, path: Path, facts: dict[str, Any]) -> None:
    import pyarrow as pa

    with _writable(frame):
        table = frame.to_arrow().replace_schema_metadata({METADATA_KEY: _json(facts)})
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)


def _csv(frame: pl.DataFrame, path: Path, facts: dict[str, Any], separator: str = ",") -> None:
    with _writable(frame):
        frame.write_csv(path, separator=separator)


def _tsv(frame: pl.DataFrame, path: Path, facts: dict[str, Any]) -> None:
    _csv(frame, path, facts, separator="\t")


@contextlib.contextmanager
def _writable(frame: pl.DataFrame) -> Any:
    """Raise a UsageError for columns that cannot be written."""
    odd = next((name for name, dtype in frame.schema.items() if dtype == pl.Object), None)
    if odd is not None:
        raise UsageError(f"the ids of {odd!r} are neither numbers nor text.", remedy="Give such ids as text.")
    try:
        yield
    except pl.exceptions.PolarsError as error:
        raise UsageError(f"these columns cannot be written so: {error}.", remedy="Write a folder instead.") from None


def _json(facts: dict[str, Any], indent: int | None = None) -> str:
    try:
        return json.dumps(facts, indent=indent, ensure_ascii=False, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError):
        raise UsageError(
            "a domain has values that are neither numbers nor text.", remedy="Declare such values as text."
        ) from None


# Reading


def load(place: Location) -> Draft:
    """A dataset that ``write`` wrote."""
    path = place.folder / FACTS_FILE if place.is_folder else place.path
    facts, main, tables = facts_of(path)
    return marked(_draft(facts, read_frame(main), path, tables), path, facts, [main.stem, *tables])


def facts_of(path: Path) -> tuple[dict[str, Any], Path, dict[str, pl.DataFrame]]:
    """The facts about a dataset in a file or ``dataset.json``, where its records are, and the tables beside them."""
    if path.name == FACTS_FILE:
        return _facts_of_folder(path)
    facts = _facts(_metadata_of(path), path)
    return facts, path, _tables(facts, path)


def _tables(facts: dict[str, Any], path: Path) -> dict[str, pl.DataFrame]:
    try:
        texts = facts.get("tables", {})
        return {name: pl.read_parquet(io.BytesIO(base64.b64decode(text))) for name, text in texts.items()}
    except (ValueError, AttributeError, TypeError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise _damaged(path) from None


def _facts_of_folder(path: Path) -> tuple[dict[str, Any], Path, dict[str, pl.DataFrame]]:
    try:
        facts = _facts(path.read_text(encoding="utf-8"), path)
    except OSError as error:
        raise DataError(f"the file cannot be read: {error.strerror}.", file=path) from None
    except UnicodeDecodeError:
        raise _damaged(path) from None
    tables = {side: read_frame(path.with_name(f"{side}.parquet")).frame for side in SIDES if facts.get(side)}
    return facts, path.with_name(MAIN_FILES[facts["kind"]]), tables


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


def _domain(facts: dict[str, Any]) -> Domain:
    if "values" in facts:
        return CategoricalDomain(tuple(facts["values"]))
    bins = facts["bins"]
    return IntegerDomain(facts["low"], facts["high"], tuple(bins) if isinstance(bins, list) else bins)


def _metadata_of(path: Path) -> str | None:
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


def is_stored(place: Location) -> bool:
    """Whether ``write`` wrote this folder or file."""
    if place.is_folder:
        return (place.folder / FACTS_FILE).is_file()
    return place.path.name == FACTS_FILE or _metadata_of(place.path) is not None


# What may be replaced


def _foreign_file(path: Path) -> str | None:
    return None if _metadata_of(path) is not None else "it does not carry the mark of discreet"


def _foreign_folder(folder: Path) -> str | None:
    if not (folder / FACTS_FILE).is_file():
        return f"it has no {FACTS_FILE}"
    return strangers(folder, {FACTS_FILE, *MAIN_FILES.values(), *(f"{side}.parquet" for side in SIDES)})


FILE = Kind("dataset", _foreign_file, is_folder=False, error=UsageError, failure=DataError)
FOLDER = Kind("dataset", _foreign_folder, error=UsageError, failure=DataError)
TEXT = Kind("dataset", lambda path: None, is_folder=False, marked=False, error=UsageError, failure=DataError)

FORMATS = (
    Format(
        "discreet",
        "Interactions, TagAssignments or Table",
        "Written by discreet: any kind of dataset, with its scale, catalog, users and domains",
        "a folder with dataset.json, or Parquet or Arrow with metadata of discreet",
        is_stored,
        load,
    ),
)
