"""What a delimited file looks like: its columns and the way they are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from discreet.errors import UsageError

__all__ = ["Column", "Kind", "Layout", "NotNumbers", "listed", "skipped"]

Kind = Literal["integer", "number", "id", "text"]

# Stands in for separators of several characters, which polars does not know; no text file holds it.
UNIT_SEPARATOR = b"\x1f"


@dataclass(frozen=True)
class Column:
    """One column of a file.

    Parameters
    ----------
    name
        What to call it; without a name it is read over.
    kind
        ``"integer"``; ``"number"``, which is finite; ``"text"``; or ``"id"``: integers when all are written the plain
        way, else text, so that no two ids that are spelled differently become one.
    headers
        What the header may call it, when not ``name``; case does not matter.
    blank
        Whether it may be left blank. It is then null.
    optional
        Whether a file may lack it, where there is a header.
    null
        What is written for blank, such as ``NULL``.
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
    """How a file is written.

    Parameters
    ----------
    columns
        The columns in their order; with a header, those that are wanted.
    separator
        One character or several.
    header
        Whether the first line names the columns.
    quoted
        Whether fields may stand in double quotes (and then hold separators, newlines and doubled quotes).
    escaped
        Whether a backslash takes its special meaning from the character that follows.
    encoding
        The encoding that the format declares.
    skip
        How many lines stand before the header and the records.
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
            raise UsageError(f"{self.separator!r} cannot separate fields.", remedy='Try "," or "\\t".')

    @property
    def is_simple(self) -> bool:
        """Whether the separator is one byte."""
        return len(self.separator.encode()) == 1

    @property
    def separator_byte(self) -> bytes:
        """The one byte that separates fields once longer separators are replaced."""
        return self.separator.encode() if self.is_simple else UNIT_SEPARATOR


class NotNumbers(Exception):  # noqa: N818 -- never leaves this package
    """Id columns that are not all plain integers: to be read again as text."""

    def __init__(self, names: set[str]) -> None:
        self.names = names
        super().__init__(", ".join(sorted(names)))


def listed(names: Sequence[str], most: int = 20) -> str:
    """Names for a message, which a file of garbage must not make endless."""
    shown = ", ".join(repr(name if len(name) <= 40 else f"{name[:39]}…") for name in names[:most])
    return shown if len(names) <= most else f"{shown}, … ({len(names)} in all)"


def skipped(count: int) -> tuple[Column, ...]:
    """Columns that are there, but not wanted."""
    return (Column("", blank=True),) * count
