"""Layouts of delimited files: columns, separators, quotes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from discreet.errors import UsageError

__all__ = ["Column", "Kind", "Layout", "NotNumbers", "listed", "skipped"]

Kind = Literal["integer", "number", "seconds", "id", "text"]

# Replaces separators of several characters, which polars does not support; text files do not contain it.
UNIT_SEPARATOR = b"\x1f"


@dataclass(frozen=True)
class Column:
    """One column of a file.

    Parameters
    ----------
    name
        Its name in the result; a column without a name is skipped.
    kind
        ``"integer"``; ``"number"``, which is finite; ``"text"``; ``"seconds"``: times, as integers if all are whole
        seconds, else as text for ``with_seconds``; or ``"id"``: text, as integers if all are written in the plain way,
        because those are parsed faster. The meaning of a value is the same in both forms.
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
        return {"number": pl.Float64, "text": pl.String}.get(self.kind, pl.Int64)


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
    skip
        Number of lines before the header and the records.
    """

    columns: tuple[Column, ...]
    separator: str = ","
    header: bool = False
    quoted: bool = False
    escaped: bool = False
    encoding: str = "utf-8"
    skip: int = 0

    def __post_init__(self) -> None:
        if not self.separator or set(self.separator) & set('"\r\n\0'):
            raise UsageError(f"{self.separator!r} cannot be a separator.", remedy='Try "," or "\\t".')

    @property
    def is_simple(self) -> bool:
        """Whether the separator is one byte."""
        return len(self.separator.encode()) == 1

    @property
    def separator_byte(self) -> bytes:
        """The one byte that separates fields once longer separators are replaced."""
        return self.separator.encode() if self.is_simple else UNIT_SEPARATOR


class NotNumbers(Exception):  # noqa: N818 -- never leaves this package
    """Columns of ids or times that are not all plain integers: they must be read again as text."""

    def __init__(self, names: set[str]) -> None:
        self.names = names
        super().__init__(", ".join(sorted(names)))


def listed(names: Sequence[str], most: int = 20) -> str:
    """Names for a message, shortened if there are many."""
    shown = ", ".join(repr(name if len(name) <= 40 else f"{name[:39]}…") for name in names[:most])
    return shown if len(names) <= most else f"{shown}, … ({len(names)} in all)"


def skipped(count: int) -> tuple[Column, ...]:
    """Unwanted columns."""
    return (Column("", blank=True),) * count
