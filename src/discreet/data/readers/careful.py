"""Delimited text line by line: slow, with exact errors.

This parser defines the meaning of a layout; ``delimited.fast_parse`` must agree with it wherever it returns a result.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.readers.layout import Column, Layout, NotNumbers, listed
from discreet.errors import DataError

__all__ = ["careful_parse", "match_header", "split_header"]

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_PLAIN_ID = re.compile(r"0|-?[1-9][0-9]*")

_SEPARATORS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars", "::": "'::'", " ": "spaces"}


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
    order = [name.casefold() for name in names]
    fields: list[Column] = [Column("", blank=True)] * len(names)
    for column in layout.columns:
        accepted = [name.casefold() for name in column.headers or (column.name,)]
        found = [index for index, name in enumerate(order) if name in accepted]
        if len(found) > 1:
            raise DataError(
                f"the header has {names[found[0]]!r} more than once.", file=path, line=1, column=column.name
            )
        if not found and not column.optional:
            wanted = " or ".join(repr(name) for name in column.headers or (column.name,))
            raise DataError(
                f"there is no column {wanted}; the columns are {listed(names)}.",
                file=path,
                line=1,
                column=column.name,
                remedy=_separator_hint(line, layout, len(layout.columns)) or "Check the header, or name the columns.",
            )
        if found:
            fields[found[0]] = column
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


def careful_parse(
    text: bytes, fields: Sequence[Column], layout: Layout, *, path: Path, first_line: int
) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """The records of a block, and their lines counted from its first.

    Raises
    ------
    DataError
        At the first line that is not a whole record of good values.
    NotNumbers
        When a column of ids or times holds anything but plain integers.
    """
    columns: list[list[Any]] = [[] for _ in fields]
    lines: list[int] = []
    for line, cells in _cells(text.decode(), layout, path=path, first_line=first_line):
        if len(cells) != len(fields):
            raise _wrong_width(cells, fields, layout, path, first_line + line)
        for field, cell, values in zip(fields, cells, columns, strict=True):
            if field.name:
                values.append(_value(cell, field, path, first_line + line))
        lines.append(line)
    series = [
        pl.Series(field.name, values, dtype=field.dtype)
        for field, values in zip(fields, columns, strict=True)
        if field.name
    ]
    return pl.DataFrame(series), np.array(lines, dtype=np.int64)


def _cells(text: str, layout: Layout, *, path: Path, first_line: int) -> Iterator[tuple[int, list[str]]]:
    """The number of lines before each record, and its fields."""
    separator = layout.separator_byte.decode()
    lines = text.removesuffix("\n").split("\n")
    if not (layout.quoted and '"' in text):
        for number, line in enumerate(lines):
            yield number, line.removesuffix("\r").split(separator)
        return
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=separator, strict=True)
    begin = 0
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(
                f"the quotes do not match ({error}).",
                file=path,
                line=first_line + begin,
                value=lines[begin],
                remedy="Double the quotes inside a quoted field, and close it.",
            ) from None
        yield begin, cells or [""]
        begin = reader.line_num


def _value(cell: str, field: Column, path: Path, line: int) -> Any:
    if not cell or cell == field.null:
        if field.blank:
            return None
        raise DataError("the field is blank.", file=path, line=line, column=field.name, remedy="Fill it.")
    if field.kind == "text":
        return cell
    token = cell.strip(" \t")
    if field.kind == "id":
        if len(cell) > 20 or not _PLAIN_ID.fullmatch(cell) or not -(2**63) <= int(cell) < 2**63:
            raise NotNumbers({field.name})
        return int(cell)
    if field.kind == "seconds" and not (_INTEGER.fullmatch(token) and len(token) < 19):
        raise NotNumbers({field.name})
    return _number(token, field, path, line) if field.kind == "number" else _integer(token, field, path, line)


def _integer(token: str, field: Column, path: Path, line: int) -> int:
    place: dict[str, Any] = {"file": path, "line": line, "column": field.name, "value": token}
    if not _INTEGER.fullmatch(token):
        raise DataError("this is not a whole number.", **place, remedy="Correct it, or check the separator.")
    if len(token.lstrip("+-0")) > 19 or not -(2**63) <= int(token) < 2**63:
        raise DataError("this number does not fit into 64 bits.", **place, remedy="Give such ids as text.")
    return int(token)


def _number(token: str, field: Column, path: Path, line: int) -> float:
    place: dict[str, Any] = {"file": path, "line": line, "column": field.name, "value": token}
    if not _NUMBER.fullmatch(token):
        nothing = token.lower().lstrip("+-") in ("nan", "inf", "infinity")
        raise DataError(
            "this is not a finite number." if nothing else "this is not a number.",
            **place,
            remedy="Remove the line, or correct it." if nothing else "Correct it, or check the separator.",
        )
    value = float(token)
    if not math.isfinite(value):
        raise DataError("this number is too large.", **place, remedy="Remove the line, or correct it.")
    return value


def _wrong_width(cells: list[str], fields: Sequence[Column], layout: Layout, path: Path, line: int) -> DataError:
    if cells == [""]:
        return DataError(
            "the line is blank, but more follow.", file=path, line=line, remedy="Remove it, or restore what was there."
        )
    joined = layout.separator.join(cells)
    hint = _separator_hint(joined, layout, len(fields)) if len(cells) == 1 else ""
    return DataError(
        f"there are {len(cells)} fields instead of {len(fields)}, separated by "
        f"{_SEPARATORS.get(layout.separator, repr(layout.separator))}.",
        file=path,
        line=line,
        value=joined,
        remedy=hint or "Complete or correct the line.",
    )


def _separator_hint(line: str, layout: Layout, width: int) -> str:
    others = (s for s in ("::", "\t", ";", "|", ",", " ") if s != layout.separator)
    better = next((s for s in others if len(line.split(s)) >= max(2, width)), None)
    return "" if better is None else f"The line looks separated by {_SEPARATORS[better]}: check the format."
