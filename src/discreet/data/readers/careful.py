"""Delimited text line by line: the meaning of a layout, and everything that is wrong with a line."""

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

from discreet.data.problems import FILL, LACKING, Problems
from discreet.data.readers.layout import Column, Layout, separator_hint, separator_name
from discreet.data.screening import MISSING_WORDS
from discreet.errors import DataError

__all__ = ["careful_parse"]

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def careful_parse(
    text: bytes,
    fields: Sequence[Column],
    layout: Layout,
    problems: Problems | None = None,
    *,
    path: Path,
    first_line: int,
    remedy: str = FILL,
) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """The good records of a block, and their lines counted from its first.

    Raises
    ------
    DataError
        Where lines are not whole records of good values, with all of them; unless ``problems`` counts them.
    """
    settled = Problems() if problems is None else problems
    columns: list[list[Any]] = [[] for _ in fields]
    lines: list[int] = []
    for line, cells in _cells(text.decode(), layout, path=path, first_line=first_line):
        values, errors, lacking = _parsed(cells, fields, layout, path, first_line + line)
        if lacking and settled.missing == "drop":
            settled.drop([field.shown for field in lacking])
        elif errors or lacking:
            settled.rows += 1
            for field in lacking if values else ():  # a blank line is one problem
                errors.append(DataError(LACKING, file=path, line=first_line + line, column=field.shown, remedy=remedy))
            for error in errors:
                settled.add(error)
        else:
            for column, value in zip(columns, values, strict=True):
                column.append(value)
            lines.append(line)
    if problems is None:
        settled.require_none()
    named = [(field, values) for field, values in zip(fields, columns, strict=True) if field.name]
    frame = pl.DataFrame([pl.Series(field.name, values, dtype=field.dtype) for field, values in named])
    return frame, np.array(lines, dtype=np.int64)


def _parsed(
    cells: list[str], fields: Sequence[Column], layout: Layout, path: Path, line: int
) -> tuple[list[Any], list[DataError], list[Column]]:
    """The values of a line, what is wrong with them, and the columns that lack one."""
    if cells == [""] and len(fields) > 1:
        return [], [_blank_line(path, line)], [field for field in fields if field.name and not field.blank]
    if len(cells) != len(fields):
        return [], [_wrong_width(cells, fields, layout, path, line)], []
    values: list[Any] = []
    errors: list[DataError] = []
    lacking: list[Column] = []
    for field, cell in zip(fields, cells, strict=True):
        value = None
        if field.name:
            try:
                value = _value(cell, field, path, line)
            except DataError as error:
                errors.append(error)
            else:
                if value is None and not field.blank:
                    lacking.append(field)
        values.append(value)
    return values, errors, lacking


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
    """The value of a field; None where it is blank, and where a number is missing that has to be there."""
    if not cell or cell == field.null:
        return None
    if field.kind in ("text", "id"):
        return cell
    token = cell.strip(" \t")
    if not field.blank and (not token or token.lower() in MISSING_WORDS):
        return None

    def wrong(what: str, remedy: str) -> DataError:
        return DataError(what, file=path, line=line, column=field.shown, value=token, remedy=remedy)

    if field.kind == "integer":
        if not _INTEGER.fullmatch(token):
            raise wrong("this is not a whole number.", "Correct it, or check the separator.")
        if len(token.lstrip("+-0")) > 19 or not -(2**63) <= int(token) < 2**63:
            raise wrong("this number does not fit into 64 bits.", "Give such ids as text.")
        return int(token)
    if not _NUMBER.fullmatch(token):
        if token.lower().lstrip("+-") in ("nan", "inf", "infinity"):
            raise wrong("this is not a finite number.", "Remove the line, or correct it.")
        raise wrong("this is not a number.", "Correct it, or check the separator.")
    if not math.isfinite(float(token)):
        raise wrong("this number is too large.", "Remove the line, or correct it.")
    return float(token)


def _blank_line(path: Path, line: int) -> DataError:
    what = "the line is blank, but more follow."
    return DataError(what, file=path, line=line, remedy="Remove it, or restore what was there.")


def _wrong_width(cells: list[str], fields: Sequence[Column], layout: Layout, path: Path, line: int) -> DataError:
    joined = layout.separator.join(cells)
    hint = separator_hint(joined, layout, len(fields)) if len(cells) == 1 else ""
    return DataError(
        f"there are {len(cells)} fields instead of {len(fields)}, separated by {separator_name(layout.separator)}.",
        file=path,
        line=line,
        value=joined,
        remedy=hint or "Complete or correct the line.",
    )
