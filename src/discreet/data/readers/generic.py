"""Any table with a user column and an item column: CSV, TSV, Parquet, Arrow.

The usual names of columns are understood; others are named by the caller.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from discreet.data.readers.careful import split_header
from discreet.data.readers.delimited import read_delimited
from discreet.data.readers.drafts import Draft, InteractionsDraft, TableDraft, TagsDraft
from discreet.data.readers.files import first_line, first_lines
from discreet.data.readers.formats import Format, Place
from discreet.data.readers.layout import Column, Kind, Layout, listed
from discreet.data.readers.records import Places, Records
from discreet.data.readers.roles import Roles, What, column_of
from discreet.data.readers.times import with_seconds
from discreet.errors import DataError

__all__ = ["FORMATS", "read_catalog", "read_columns", "read_frame"]

_TEXT = ("*.csv", "*.tsv", "*.txt", "*.tab")
_BINARY = ("*.parquet", "*.parquet.*", "*.pq", "*.arrow", "*.feather", "*.ipc")
_BY_POSITION = ("user", "item", "rating", "timestamp")


def load_text(
    place: Place,
    *,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    timestamp: str | None = None,
    context: Sequence[str] = (),
    resource: str | None = None,
    tag: str | None = None,
    what: What | None = None,
    separator: str | None = None,
    header: bool = True,
    encoding: str = "utf-8",
) -> Draft:
    """Options: the names of the columns, the separator, whether there is a header, the encoding.

    Without a header columns are called 1, 2, 3 …; unless named, they are user, item, rating and time.
    """
    path = place.need(*_TEXT)
    lines = first_lines(path, 2, encoding=encoding)
    separator = separator or _likely_separator(lines[0])
    first, second = (_fields(line, separator) for line in lines)
    names = first if header else [str(number) for number in range(1, len(first) + 1)]
    given: dict[str, Any] = {"user": user, "item": item, "rating": rating, "timestamp": timestamp}
    if not header and what is None and not any(given.values()):
        given = dict(zip(_BY_POSITION, names, strict=False))
    roles = Roles(**given, context=context, resource=resource, tag=tag, what=what)
    kind, matched = roles.matched(names, path)
    sample = dict(zip(names, second if header else first, strict=False))
    columns = {name: _column(name, role, sample.get(name, ""), kind) for name, role in matched.items()}
    layout = Layout(
        tuple(columns.values()) if header else tuple(columns.get(name, Column("", blank=True)) for name in names),
        separator=separator,
        header=header,
        quoted=True,
        encoding=encoding,
    )
    return _draft(read_delimited(path, layout), kind, matched)


def load_binary(
    place: Place,
    *,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    timestamp: str | None = None,
    context: Sequence[str] = (),
    resource: str | None = None,
    tag: str | None = None,
    what: What | None = None,
) -> Draft:
    """Options: the names of the columns."""
    path = place.need(*_BINARY)
    records = read_frame(path)
    roles = Roles(user, item, rating, timestamp, context, resource, tag, what)
    kind, matched = roles.matched(records.frame.columns, path)
    return _draft(records.with_frame(records.frame.select(list(matched)).rename(matched)), kind, matched)


def read_frame(path: Path) -> Records:
    """The rows of a Parquet or Arrow file."""
    try:
        with path.open("rb") as stream:
            is_arrow = stream.read(6) == b"ARROW1"
        frame = pl.read_ipc(path) if is_arrow else pl.read_parquet(path, glob=False)
    except FileNotFoundError:
        raise DataError("there is no such file.", file=path, remedy="Check the path.") from None
    except OSError as error:
        raise DataError(f"the file cannot be read: {error.strerror or error}.", file=path) from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise DataError(
            "this is no readable Parquet or Arrow file: it is damaged, cut off, or something else.",
            file=path,
            remedy="Copy it again, or name its format with format=.",
        ) from None
    places = Places()
    places.add(0, path, None)
    return Records(frame, places)


def read_columns(path: Path, columns: Sequence[Column]) -> Records:
    """Some columns of a Parquet or Arrow file, under our names and with our types."""
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
    """A public catalog from a file: a table with a column of items, whatever else it says about them."""
    if Place(path).main(*_BINARY):
        table = read_frame(path).frame
        return table.rename({column_of("item_id", table.columns, path): "item_id"})
    head = first_line(path)
    separator = _likely_separator(head)
    names = _fields(head, separator)
    item = column_of("item_id", names, path)
    columns = tuple(Column("item_id", "id", (name,)) if name == item else Column(name, blank=True) for name in names)
    return read_delimited(path, Layout(columns, separator=separator, header=True, quoted=True)).frame


def _column(name: str, role: str, sample: str, what: What) -> Column:
    """A column of a text file; where its role leaves the type open, the first record decides."""
    if what != "table":
        if role in ("user_id", "item_id", "resource_id"):
            return Column(role, "id", (name,))
        if role in ("rating", "tag"):
            return Column(role, "number" if role == "rating" else "text", (name,))
    is_time = what != "table" and role == "timestamp"
    kind: Kind = "text"
    if re.fullmatch(r"[+-]?[0-9]+", sample.strip()):
        kind = "integer" if is_time else "id"
    elif re.fullmatch(r"[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+)", sample.strip()):
        kind = "number"
    return Column(role, kind, (name,), blank=not is_time)


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
    """What stands in a line, for a first look; the quotes of a field that goes on in the next line do not match."""
    try:
        return split_header(line, separator)
    except csv.Error:
        return split_header(line, separator, quoted=False)


def _likely_separator(line: str) -> str:
    return "::" if "::" in line else max((",", "\t", ";", "|"), key=line.count)


def _single(place: Place, patterns: tuple[str, ...]) -> bool:
    """Of a folder, only when there can be no doubt which file is meant."""
    return len(place.mains(*patterns)) == 1


FORMATS = (
    Format(
        "csv",
        "Interactions, TagAssignments or Table",
        "CSV, TSV and the like, with a column mapping (what='tags' or 'table' for the other kinds of data)",
        "*.csv, *.tsv, *.txt",
        # Of a whole folder, a single .txt is more likely a note than data.
        lambda place: _single(place, _TEXT if not place.is_folder else ("*.csv", "*.tsv", "*.tab")),
        load_text,
        aliases=("tsv", "text"),
    ),
    Format(
        "parquet",
        "Interactions, TagAssignments or Table",
        "Parquet and Arrow, with a column mapping (what='tags' or 'table' for the other kinds of data)",
        "*.parquet, *.arrow, *.feather",
        lambda place: _single(place, _BINARY),
        load_binary,
        aliases=("arrow", "feather"),
    ),
)
