"""Any table with a user column and an item column: CSV, TSV, Parquet, Arrow.

The usual names of columns are recognized; others are named by the caller. Text files declare no types, and types must
not be inferred from the records: ids and contexts are text, unless the caller declares whole numbers. Parquet and Arrow
files have types.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import polars as pl

from discreet.common.arrow import check_parquet, read_arrow
from discreet.data.id_forms import IdKind, IdKinds, declared_ids
from discreet.data.readers.careful import split_header
from discreet.data.readers.delimited import read_delimited
from discreet.data.readers.drafts import Draft, InteractionsDraft, TableDraft, TagsDraft
from discreet.data.readers.files import first_line
from discreet.data.readers.formats import Format, Location
from discreet.data.readers.layout import Column, Layout, listed
from discreet.data.readers.records import Origins, Records
from discreet.data.readers.roles import Roles, What, column_of
from discreet.data.readers.times import with_seconds
from discreet.errors import DataError, Remedy

__all__ = ["FORMATS", "read_catalog", "read_columns", "read_frame"]

_TEXT = ("*.csv", "*.tsv", "*.txt", "*.tab")
_BINARY = ("*.parquet", "*.parquet.*", "*.pq", "*.arrow", "*.feather", "*.ipc")
_BY_POSITION = ("user", "item", "rating", "timestamp")
_ROLES = tuple(role.name for role in fields(Roles))
_ID_ROLES: dict[What, tuple[str, ...]] = {"interactions": ("user", "item"), "tags": ("user", "resource"), "table": ()}


def load_text(
    place: Location,
    *,
    ids: IdKinds = "text",
    separator: str | None = None,
    header: bool = True,
    encoding: str = "utf-8",
    **roles: Any,
) -> Draft:
    """Options: the roles of the columns, the type of the ids, the separator, whether there is a header, the encoding.

    Without a header columns are called 1, 2, 3 …; unless named, they are user, item, rating and time.
    """
    path = place.need(*_TEXT)
    head = first_line(path, encoding=encoding)
    separator = separator or _likely_separator(head)
    first = _fields(head, separator)
    names = first if header else [str(number) for number in range(1, len(first) + 1)]
    if not header and not any(roles.get(role) for role in ("what", *_BY_POSITION)):
        roles |= dict(zip(_BY_POSITION, names, strict=False))
    kind, matched = Roles(**roles).matched(names, path)
    kinds = declared_ids(ids, _ID_ROLES[kind], "text")
    columns = {name: _column(name, role, kind, kinds) for name, role in matched.items()}
    layout = Layout(
        tuple(columns.values()) if header else tuple(columns.get(name, Column("", blank=True)) for name in names),
        separator=separator,
        header=header,
        quoted=True,
        encoding=encoding,
    )
    draft = _draft(read_delimited(path, layout), kind, matched)
    if not isinstance(draft, TableDraft):
        draft.ids, draft.once_inferred = kinds, set(matched.values())
    return draft


def load_binary(place: Location, **roles: Any) -> Draft:
    """Options: the roles of the columns. Their types are those of the file."""
    path = place.need(*_BINARY)
    records = read_frame(path)
    kind, matched = Roles(**roles).matched(records.frame.columns, path)
    draft = _draft(records.with_frame(records.frame.select(list(matched)).rename(matched)), kind, matched)
    if isinstance(draft, InteractionsDraft):
        draft.typed = True
    return draft


def read_frame(path: Path) -> Records:
    """The rows of a Parquet or Arrow file."""
    try:
        with path.open("rb") as stream:
            is_arrow = stream.read(6) == b"ARROW1"
        if not is_arrow:
            check_parquet(path)
        frame = read_arrow(path) if is_arrow else pl.read_parquet(path, glob=False)
    except FileNotFoundError:
        raise DataError("there is no such file.", file=path, remedy="Check the path.") from None
    except OSError as error:
        raise DataError(f"the file cannot be read: {error.strerror or error}.", file=path) from None
    except ValueError as error:
        raise DataError(
            f"this is no readable Parquet or Arrow file: {error}.", file=path, remedy="Copy it again."
        ) from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise DataError(
            "this is no readable Parquet or Arrow file: it is damaged, cut off, or something else.",
            file=path,
            remedy=Remedy(
                "Copy it again, or name its format with format=.", cli="Copy it again, or give --format NAME."
            ),
        ) from None
    return Records(frame, Origins.without_lines(path))


def read_columns(path: Path, columns: Sequence[Column]) -> Records:
    """Some columns of a Parquet or Arrow file, with the given names and types."""
    records = read_frame(path)
    chosen: list[pl.Series] = []
    for column in columns:
        accepted = [name.casefold() for name in column.headers or (column.name,)]
        found = next((name for name in records.frame.columns if name.casefold() in accepted), None)
        if found is None:
            raise DataError(
                f"there is no column {' or '.join(map(repr, column.headers or (column.name,)))}; the columns are "
                f"{listed(records.frame.columns)}.",
                file=path,
                column=column.name,
                remedy="Check that this is the right file.",
            )
        given = records.frame[found]
        values = given.cast(column.dtype, strict=False)
        if values.null_count() and not column.blank:
            row = int(values.is_null().arg_max() or 0)
            raise records.error(row, f"this is no {column.kind}.", column=found, remedy="Correct it.")
        chosen.append(values.alias(column.name))
    return records.with_frame(pl.DataFrame(chosen))


def read_catalog(path: Path) -> pl.DataFrame:
    """A public catalog from a file: a table with a column of items and any others."""
    if Location(path).main(*_BINARY):
        table = read_frame(path).frame
        return table.rename({column_of("item_id", table.columns, path): "item_id"})
    head = first_line(path)
    separator = _likely_separator(head)
    names = _fields(head, separator)
    item = column_of("item_id", names, path)
    columns = tuple(Column("item_id", "id", (name,)) if name == item else Column(name, blank=True) for name in names)
    return read_delimited(path, Layout(columns, separator=separator, header=True, quoted=True)).frame


def _column(name: str, role: str, what: What, ids: dict[str, IdKind]) -> Column:
    """A column of a text file; its type follows from its role and from what was declared."""
    if what == "table":
        return Column(role, "text", (name,), blank=True)
    if role in ("user_id", "item_id", "resource_id"):
        return Column(role, "integer" if ids.get(role.removesuffix("_id")) == "number" else "id", (name,))
    if role == "rating":
        return Column(role, "number", (name,))
    if role == "timestamp":
        return Column(role, "seconds", (name,))
    return Column(role, "text", (name,), blank=what != "tags")


def _draft(records: Records, what: What, matched: dict[str, str]) -> Draft:
    if what == "table":
        return TableDraft(records, {})
    if what == "tags":
        return TagsDraft(records)
    frame = records.frame
    if "timestamp" in frame.columns and frame["timestamp"].dtype == pl.String:
        records = with_seconds(records, "timestamp", None)
    context = tuple(role for role in matched.values() if role not in ("user_id", "item_id", "rating", "timestamp"))
    return InteractionsDraft(records, context=context)


def _fields(line: str, separator: str) -> list[str]:
    """The fields of the first line; the quotes of a field that goes on in the next line do not match."""
    try:
        return split_header(line, separator)
    except csv.Error:
        return split_header(line, separator, quoted=False)


def _likely_separator(line: str) -> str:
    return "::" if "::" in line else max((",", "\t", ";", "|"), key=line.count)


def _single(place: Location, patterns: tuple[str, ...]) -> bool:
    """Whether exactly one file of the folder can be meant."""
    return len(place.mains(*patterns)) == 1


FORMATS = (
    Format(
        "csv",
        "Interactions, TagAssignments or Table",
        "CSV, TSV and the like, with a column mapping (what='tags' or 'table' for the other kinds of data)",
        "*.csv, *.tsv, *.txt",
        # In a folder, a single .txt is more likely a note than data.
        lambda place: _single(place, _TEXT if not place.is_folder else ("*.csv", "*.tsv", "*.tab")),
        load_text,
        aliases=("tsv", "text"),
        more_options=_ROLES,
    ),
    Format(
        "parquet",
        "Interactions, TagAssignments or Table",
        "Parquet and Arrow, with a column mapping (what='tags' or 'table' for the other kinds of data)",
        "*.parquet, *.arrow, *.feather",
        lambda place: _single(place, _BINARY),
        load_binary,
        aliases=("arrow", "feather"),
        more_options=_ROLES,
    ),
)
