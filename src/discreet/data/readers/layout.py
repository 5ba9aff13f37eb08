"""Layouts of delimited files: columns, separators, quotes, headers."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import polars as pl

from discreet.errors import DataError, UsageError

__all__ = ["Column", "Kind", "Layout", "listed", "match_header", "separator_hint", "separator_name", "skipped",
           "split_header"]  # fmt: skip

Kind = Literal["integer", "number", "text", "id"]

# Replaces separators of several characters, which polars does not support; text files do not contain it.
UNIT_SEPARATOR = b"\x1f"

_SEPARATORS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars", "::": "'::'", " ": "spaces"}


@dataclass(frozen=True)
class Column:
    """One column of a file.

    Parameters
    ----------
    name
        Its name in the result; a column without a name is skipped.
    kind
        ``"integer"``; ``"number"``, which is finite; ``"text"``; or ``"id"``: text that is read as integers where a
        plain file has nothing else in any such column, because those are parsed faster. What a value means is the same.
    headers
        Its names in the header, if not ``name``; case does not matter.
    blank
        Whether it may be blank, which is null.
    optional
        Whether a file may lack it, where there is a header.
    null
        The text for blank, such as ``NULL``.
    """

    name: str
    kind: Kind = "text"
    headers: tuple[str, ...] = ()
    blank: bool = False
    optional: bool = False
    null: str = ""

    @property
    def dtype(self) -> Any:
        return {"number": pl.Float64, "integer": pl.Int64}.get(self.kind, pl.String)

    @property
    def shown(self) -> str:
        """What the file calls it, as far as that is known."""
        return self.headers[0] if len(self.headers) == 1 else self.name

    def found_in(self, names: Sequence[str]) -> list[int]:
        """The places where a header has this column."""
        accepted = [name.casefold() for name in self.headers or (self.name,)]
        return [place for place, name in enumerate(names) if name.casefold() in accepted]

    def missing(self, names: Sequence[str], path: Path, *, remedy: str, line: int | None = None) -> DataError:
        """The error where a file lacks this column."""
        wanted = " or ".join(map(repr, self.headers or (self.name,)))
        what = f"there is no column {wanted}; the columns are {listed(names)}."
        return DataError(what, file=path, line=line, column=self.name, remedy=remedy)


@dataclass(frozen=True)
class Layout:
    """The layout of a file.

    Parameters
    ----------
    columns
        The columns in their order; with a header, the wanted ones.
    separator
        One character or several.
    header
        Whether the first line names the columns.
    quoted
        Whether fields may be in double quotes (and then contain separators, newlines and doubled quotes).
    escaped
        Whether a backslash escapes the next character.
    encoding
        The encoding that the format declares.
    exact_encoding
        Whether the caller declared it. Otherwise a copy of a latin-1 file in UTF-8 is recognized, by all of its bytes.
    skip
        Number of lines before the header and the records.
    """

    columns: tuple[Column, ...]
    separator: str = ","
    header: bool = False
    quoted: bool = False
    escaped: bool = False
    encoding: str = "utf-8"
    exact_encoding: bool = False
    skip: int = 0

    def __post_init__(self) -> None:
        if not self.separator or set(self.separator) & set('"\r\n\0'):
            raise UsageError(f"{self.separator!r} cannot be a separator.", remedy='Try "," or "\\t".')

    @property
    def separator_byte(self) -> bytes:
        """The one byte that separates fields once longer separators are replaced."""
        separator = self.separator.encode()
        return separator if len(separator) == 1 else UNIT_SEPARATOR


def match_header(line: str, layout: Layout, path: Path) -> tuple[Column, ...]:
    """The columns of a file in the order of its header; unwanted columns have no name.

    Raises
    ------
    DataError
        When a wanted column is missing or there twice.
    """
    try:
        names = split_header(line, layout.separator_byte.decode(), quoted=layout.quoted)
    except csv.Error:
        raise DataError(
            "the quotes of the header do not match.", file=path, line=1, value=line, remedy="Double or close them."
        ) from None
    fields = list(skipped(len(names)))
    for column in layout.columns:
        found = column.found_in(names)
        if len(found) > 1:
            raise DataError(
                f"the header has {names[found[0]]!r} more than once.", file=path, line=1, column=column.name
            )
        if found:
            fields[found[0]] = replace(column, headers=(names[found[0]],))
        elif not column.optional:
            hint = separator_hint(line, layout, len(layout.columns))
            raise column.missing(names, path, line=1, remedy=hint or "Check the header, or name the columns.")
    ours = [column.name for column in fields if column.name]
    if len(set(ours)) < len(ours):
        twice = next(name for name in ours if ours.count(name) > 1)
        raise DataError(f"two columns are called {twice!r}.", file=path, line=1, column=twice, remedy="Rename one.")
    return tuple(fields)


def split_header(line: str, separator: str, *, quoted: bool = True) -> list[str]:
    """The names in a header, stripped and without quotes; csv.Error when the quotes do not match."""
    line = line.removesuffix("\r")
    fields = line.split(separator)
    if quoted and '"' in line and len(separator) == 1:
        fields = next(csv.reader([line], delimiter=separator, strict=True), [])
    return [field.strip() for field in fields]


def separator_name(separator: str) -> str:
    """A separator in words, for messages."""
    return _SEPARATORS.get(separator, repr(separator))


def separator_hint(line: str, layout: Layout, width: int) -> str:
    """The remedy for a line that has enough fields with another separator; empty where none has."""
    others = (s for s in ("::", "\t", ";", "|", ",", " ") if s != layout.separator)
    better = next((s for s in others if len(line.split(s)) >= max(2, width)), None)
    return "" if better is None else f"The line looks separated by {separator_name(better)}: check the format."


def listed(names: Sequence[str], most: int = 20) -> str:
    """Names for a message, shortened if there are many."""
    shown = ", ".join(repr(name if len(name) <= 40 else f"{name[:39]}…") for name in names[:most])
    return shown if len(names) <= most else f"{shown}, … ({len(names)} in all)"


def skipped(count: int) -> tuple[Column, ...]:
    """Unwanted columns."""
    return (Column("", blank=True),) * count
