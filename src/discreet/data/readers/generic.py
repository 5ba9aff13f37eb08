"""Any table with a user column and an item column: CSV, TSV, Parquet, Arrow.

The usual names of columns are recognized; others are named by the caller. Text files declare no types, and types must
not be inferred from the records: ids and contexts are text, unless the caller declares whole numbers. Parquet and Arrow
files have types.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import polars as pl

from discreet.common.arrow import check_parquet, read_arrow
from discreet.data.id_forms import IdKind, IdKinds, declared_ids
from discreet.data.problems import Missing, Problems
from discreet.data.readers.delimited import read_delimited
from discreet.data.readers.drafts import Draft, InteractionsDraft, TableDraft, TagsDraft
from discreet.data.readers.files import first_line, require_text
from discreet.data.readers.formats import Format, Location
from discreet.data.readers.layout import Column, Kind, Layout, listed, skipped, split_header
from discreet.data.readers.records import Origins, Records, with_seconds
from discreet.errors import DataError, Remedy, UsageError

__all__ = [
    "FORMATS",
    "Roles",
    "What",
    "column_of",
    "id_column",
    "read_catalog",
    "read_columns",
    "read_frame",
    "text_file",
]

What = Literal["interactions", "tags", "table"]

_TEXT = ("*.csv", "*.tsv", "*.txt", "*.tab")
_BINARY = ("*.parquet", "*.parquet.*", "*.pq", "*.arrow", "*.feather", "*.ipc")
_BY_POSITION = ("user", "item", "rating", "timestamp")
_ID_ROLES: dict[What, tuple[str, ...]] = {"interactions": ("user", "item"), "tags": ("user", "resource"), "table": ()}

# In the order of preference; compared in lower case and by letters and digits only.
_USUAL = {
    "user_id": "userid user uid username reviewerid customerid memberid visitorid personid",
    "item_id": (
        "itemid item iid movieid movie filmid film artistid artist songid trackid bookid isbn productid product asin "
        "venueid venue locationid poiid placeid place businessid gameid articleid resourceid jokeid"
    ),
    "rating": "rating score stars weight playcount plays overall bookrating",
    "timestamp": "timestamp time ts datetime date unixreviewtime checkintime",
    "resource_id": "resourceid resource urlhash url itemid item movieid artistid bookmarkid",
    "tag": "tag tagvalue tagname",
}
_ROLES: dict[What, tuple[str, ...]] = {
    "interactions": ("user_id", "item_id", "rating", "timestamp"),
    "tags": ("user_id", "resource_id", "tag", "timestamp"),
    "table": (),
}
_MAY_LACK = ("rating", "timestamp")


# Which column is the user, which the item


@dataclass(frozen=True)
class Roles:
    """The names that the caller gives for the columns of a table; None for a column to recognize.

    Examples
    --------
    >>> Roles(rating="stars").matched(["Stars", "movieId", "stars", "uid"], Path("x.csv"))
    ('interactions', {'uid': 'user_id', 'movieId': 'item_id', 'stars': 'rating'})
    """

    user: str | None = None
    item: str | None = None
    rating: str | None = None
    timestamp: str | None = None
    context: Sequence[str] = ()
    resource: str | None = None
    tag: str | None = None
    what: What | None = None

    def matched(self, names: Sequence[str], path: Path | None) -> tuple[What, dict[str, str]]:
        """The kind of data, and the role of each column that has one; a context column keeps its name.

        Raises
        ------
        DataError
            When a column is missing that must be there.
        """
        what = self.what or ("tags" if self._has_tags(names) else "interactions")
        if what not in _ROLES:
            raise UsageError(f"what must be one of {', '.join(map(repr, _ROLES))}, got {what!r}.")
        if what == "table":
            return what, {name: name for name in names}
        matched: dict[str, str] = {}
        for role in _ROLES[what]:
            given = getattr(self, role.removesuffix("_id"))
            if given is None and role in _MAY_LACK:
                name = _usual_column(role, names)
                if name in matched:  # it has another role, as was said
                    continue
            else:
                name = column_of(role, names, path, given=given)
            if name in matched:
                raise UsageError(f"column {name!r} cannot be {matched[name]} and {role}.", remedy="Name the columns.")
            if name is not None:
                matched[name] = role
        for name in [self.context] if isinstance(self.context, str) else self.context:
            matched.setdefault(column_of(name, names, path, given=name), name)
        return what, matched

    def _has_tags(self, names: Sequence[str]) -> bool:
        if self.tag is not None or self.resource is not None:
            return True
        return self.item is None and self.rating is None and _usual_column("tag", names) is not None


def column_of(role: str, names: Sequence[str], path: Path | None = None, *, given: str | None = None) -> str:
    """The column of a role; a DataError when there is none."""
    found = _usual_column(role, names) if given is None else given if given in names else None
    if found is not None:
        return found
    option = role.removesuffix("_id")
    numbers = bool(names) and all(re.fullmatch(r"[+-]?[0-9.]+", name) for name in names)
    raise DataError(
        f"there is no column {given!r}; the columns are {listed(names)}."
        if given is not None
        else f"no column looks like the {option}; the columns are {listed(names)}.",
        file=path,
        line=None if path is None else 1,
        column=given or role,
        remedy=Remedy("If there is no header, give header=False.", cli="If there is no header, add one.")
        if numbers
        else "Check the name."
        if role == given
        else Remedy(f"Name the column with {option}=.", cli=f"Name the column with --column {option}=NAME."),
    )


def _usual_column(role: str, names: Sequence[str]) -> str | None:
    """The column that has a usual name for a role."""
    plain = {re.sub(r"[^a-z0-9]", "", name.casefold()): name for name in reversed(names)}
    return next((plain[usual] for usual in _USUAL.get(role, "").split() if usual in plain), None)


# Text files


def load_text(
    place: Location,
    *,
    ids: IdKinds = "text",
    separator: str | None = None,
    header: bool = True,
    encoding: str = "utf-8",
    missing: Missing = "error",
    **roles: Any,
) -> Draft:
    """Options: the roles of the columns, the type of the ids, the separator, whether there is a header, the encoding,
    and what happens to rows with missing values.

    Without a header columns are called 1, 2, 3 …; unless named, they are user, item, rating and time.
    """
    path = place.need(*_TEXT)
    text = text_file(path, ids=ids, separator=separator, header=header, encoding=encoding, **roles)
    problems = Problems(missing)
    draft = _draft(read_delimited(path, text.layout, problems), text.what, text.matched, problems, roles.get("item"))
    if not isinstance(draft, TableDraft):
        once = set(text.matched.values()) - ({"timestamp"} if text.what == "tags" else set())
        draft.ids, draft.once_inferred = text.ids, once
    return draft


@dataclass(frozen=True)
class TextFile:
    """How a text file is read: the kind of data, the role of each column, the type of the ids, and its layout."""

    what: What
    matched: dict[str, str]
    ids: dict[str, IdKind]
    layout: Layout


def text_file(
    path: Path,
    *,
    ids: IdKinds = "text",
    separator: str | None = None,
    header: bool = True,
    encoding: str = "utf-8",
    **roles: Any,
) -> TextFile:
    """How a text file is read, by its first line and by what was declared."""
    require_text(path, encoding)
    separator, first = _first_fields(path, separator, encoding)
    if not any(first):
        raise DataError("the first line is blank.", file=path, line=1, remedy="Check that the file is complete.")
    names = first if header else [str(number) for number in range(1, len(first) + 1)]
    if not header and not any(roles.get(role) for role in ("what", *_BY_POSITION)):
        roles |= dict(zip(_BY_POSITION, names, strict=False))
    kind, matched = Roles(**roles).matched(names, path)
    kinds = declared_ids(ids, _ID_ROLES[kind], "text")
    columns = {name: _column(name, role, kind, kinds) for name, role in matched.items()}
    layout = Layout(
        tuple(columns.values()) if header else tuple(columns.get(name, skipped(1)[0]) for name in names),
        separator=separator,
        header=header,
        quoted=True,
        encoding=encoding,
        exact_encoding=True,
    )
    return TextFile(kind, matched, kinds, layout)


def read_catalog(path: Path, item: str | None = None) -> pl.DataFrame:
    """A public catalog from a file: a table with a column of items and any others.

    Parameters
    ----------
    item
        What the items of the records are called; the column of that name, where the catalog has one.
    """
    if Location(path).main(*_BINARY):
        table = read_frame(path).frame
        return table.rename({catalog_column(table.columns, path, item): "item_id"})
    separator, names = _first_fields(path)
    item = catalog_column(names, path, item)
    columns = tuple(Column("item_id", headers=(name,)) if name == item else Column(name, blank=True) for name in names)
    table = read_delimited(path, Layout(columns, separator=separator, header=True, quoted=True)).frame
    # The list is public, so its ids may be numbers where all of them are written like one.
    numbers = table["item_id"].cast(pl.Int64, strict=False)
    plain = (numbers.cast(pl.String) == table["item_id"]).fill_null(False).all()
    return table.with_columns(numbers) if plain else table


def catalog_column(names: Sequence[str], path: Path | None, item: str | None) -> str:
    """The column of the items in a catalog: the one with their name in the records, or with a usual name."""
    if item in names:
        return str(item)
    try:
        return column_of("item_id", names, path)
    except DataError as error:
        if item is None:
            raise
        what = f"the catalog has neither a column {item!r} nor one that looks like the item; it has {listed(names)}."
        raise DataError(what, file=path, line=error.line, column=item, remedy="Rename its column of items.") from None


def id_column(role: str, ids: dict[str, IdKind], headers: tuple[str, ...] = (), *, text: Kind = "text") -> Column:
    """A column of ids in its declared type: whole numbers or text."""
    return Column(role, "integer" if ids.get(role.removesuffix("_id")) == "number" else text, headers)


def _column(name: str, role: str, what: What, ids: dict[str, IdKind]) -> Column:
    """A column of a text file; its type follows from its role and from what was declared."""
    if what != "table" and role in ("user_id", "item_id", "resource_id"):
        return id_column(role, ids, (name,), text="id")
    if what == "interactions" and role in _MAY_LACK:
        return Column(role, "number" if role == "rating" else "id", (name,))
    # Times of tags are read only where a window is declared.
    return Column(role, "text", (name,), blank=what != "tags" or role == "timestamp")


def _draft(records: Records, what: What, matched: dict[str, str], problems: Problems, item: str | None) -> Draft:
    if what == "table":
        return TableDraft(records, {}, problems=problems)
    if what == "tags":
        return TagsDraft(records, problems=problems, blanks=False)
    if "timestamp" in records.frame.columns and records.frame["timestamp"].dtype == pl.String:
        records = with_seconds(records, "timestamp", None, problems)
    context = tuple(role for role in matched.values() if role not in _ROLES["interactions"])
    return InteractionsDraft(records, context=context, item=item, problems=problems, blanks=False)


def _first_fields(path: Path, separator: str | None = None, encoding: str = "utf-8") -> tuple[str, list[str]]:
    """The separator, by default the most frequent one of the first line, and the fields of that line."""
    line = first_line(path, encoding=encoding)
    separator = separator or ("::" if "::" in line else max((",", "\t", ";", "|"), key=line.count))
    try:
        return separator, split_header(line, separator)
    except csv.Error:  # a field that goes on in the next line
        return separator, split_header(line, separator, quoted=False)


# Parquet and Arrow


def load_binary(place: Location, *, missing: Missing = "error", **roles: Any) -> Draft:
    """Options: the roles of the columns, and what happens to rows with missing values. Types are those of the file."""
    path = place.need(*_BINARY)
    records, problems = read_frame(path), Problems(missing)
    kind, matched = Roles(**roles).matched(records.frame.columns, path)
    renamed = records.frame.select(list(matched)).rename(matched)
    names = {ours: theirs for theirs, ours in matched.items()}
    draft = _draft(Records(renamed, records.origins, names), kind, matched, problems, roles.get("item"))
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
        found = column.found_in(records.frame.columns)
        if not found:
            raise column.missing(records.frame.columns, path, remedy="Check that this is the right file.")
        given = records.frame.to_series(found[0])
        values = given.cast(column.dtype, strict=False)
        if values.null_count() and not column.blank:
            row = int(values.is_null().arg_max() or 0)
            raise records.error(row, f"this is no {column.kind}.", column=given.name, remedy="Correct it.")
        chosen.append(values.alias(column.name))
    return records.with_frame(pl.DataFrame(chosen))


_OPTIONS = tuple(role.name for role in fields(Roles))

FORMATS = (
    Format(
        "csv",
        "Interactions, TagAssignments or Table",
        "CSV, TSV and the like, with a column mapping (what='tags' or 'table' for the other kinds of data)",
        "*.csv, *.tsv, *.txt",
        # In a folder, a single .txt is more likely a note than data.
        lambda place: len(place.mains(*(_TEXT if not place.is_folder else ("*.csv", "*.tsv", "*.tab")))) == 1,
        load_text,
        aliases=("tsv", "text"),
        more_options=_OPTIONS,
    ),
    Format(
        "parquet",
        "Interactions, TagAssignments or Table",
        "Parquet and Arrow, with a column mapping (what='tags' or 'table' for the other kinds of data)",
        "*.parquet, *.arrow, *.feather",
        lambda place: len(place.mains(*_BINARY)) == 1,
        load_binary,
        aliases=("arrow", "feather"),
        more_options=_OPTIONS,
    ),
)
