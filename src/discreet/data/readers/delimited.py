"""Strict parsing of delimited text: every line is exactly one record of typed columns, or the file is refused.

polars parses; its result is used only if counts show one whole record for each line. A plain file is parsed at once,
any other in blocks. A block that polars cannot parse is parsed line by line, which is slow and raises exact errors. The
slow parser defines the meaning of a layout; the fast ones must agree with it wherever they return a result.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.readers.files import (
    LONGEST,
    blocks,
    integers_may_hide,
    pieces,
    quotes_are_regular,
    record_ends,
    record_lines,
)
from discreet.data.readers.layout import (
    UNIT_SEPARATOR,
    Column,
    Layout,
    match_header,
    separator_hint,
    separator_name,
)
from discreet.data.readers.records import Origins, Records
from discreet.errors import DataError

__all__ = ["careful_parse", "fast_parse", "read_delimited"]

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def read_delimited(path: Path, layout: Layout) -> Records:
    """All records of a file.

    Raises
    ------
    DataError
        With file, line, column and value of the first error.
    """
    return _read_at_once(path, layout) or _read_blocks(path, layout)


def _read_blocks(path: Path, layout: Layout) -> Records:
    fields, skip = None if layout.header else layout.columns, layout.skip
    parts: list[pl.DataFrame] = []
    origins, row = Origins(), 0
    for block in blocks(path, encoding=layout.encoding, quoted=layout.quoted, whole=layout.escaped):
        text, line = _plain(block.text, layout, path, block.first_line), block.first_line
        while skip and text:
            _, _, text = text.partition(b"\n")
            skip, line = skip - 1, line + 1
        if fields is None and text:
            head, _, text = text.partition(b"\n")
            fields, line = match_header(head.decode(), layout, path), line + 1
        if fields is None or not text:
            continue
        parsed = fast_parse(text, fields, layout)
        if parsed is None:
            parsed = careful_parse(text, fields, layout, path=path, first_line=line)
        frame, lines = parsed
        if lines is None:
            origins.add(row, path, line)
        else:
            origins.add_lines(row, path, lines + line)
        parts.append(frame)
        row += frame.height
    if not row:
        raise DataError("there is no record after the first lines.", file=path, line=1, remedy="Check the file.")
    return Records(pl.concat(parts, rechunk=False), origins)


def _plain(text: bytes, layout: Layout, path: Path, line: int) -> bytes:
    """The same lines without escapes, and with one byte as the separator."""
    if layout.escaped and b"\\" in text:
        text = re.sub(rb"\\(.)", _unescaped_quoted if layout.quoted else _unescaped, text, flags=re.DOTALL)
    if layout.separator_byte == UNIT_SEPARATOR:
        place = text.find(UNIT_SEPARATOR)
        if place >= 0:
            raise DataError(
                "there is a control character (0x1f), so this is not a text file.",
                file=path,
                line=line + text.count(b"\n", 0, place),
            )
        text = text.replace(layout.separator.encode(), UNIT_SEPARATOR)
    return text


def _unescaped(match: re.Match[bytes]) -> bytes:
    # As MySQL writes: \N is NULL, and an escaped tab or newline is part of the value.
    return {b"\t": b" ", b"\n": b" ", b"N": b"\\N"}.get(match[1], match[1])


def _unescaped_quoted(match: re.Match[bytes]) -> bytes:
    return b'""' if match[1] == b'"' else _unescaped(match)


# By polars


def fast_parse(
    text: bytes, fields: Sequence[Column], layout: Layout
) -> tuple[pl.DataFrame, NDArray[np.int64] | None] | None:
    """The records of a block by polars, and their line numbers from 0, or None for 0, 1, 2 …

    None when it is not certain that every record is whole and every value valid.
    """
    raw, separator = np.frombuffer(text, dtype=np.uint8), layout.separator_byte
    quotes = layout.quoted and b'"' in text
    if quotes and not quotes_are_regular(raw, separator):
        return None
    # polars drops a carriage return from the end of any field, not only of the last.
    if b"\r" in text and text.count(b"\r") != text.count(b"\r\n"):
        return None
    ends = record_ends(raw) if quotes else None
    records, lines = text.count(b"\n"), None
    if ends is not None and ends.size != records:
        records, lines = ends.size, record_lines(raw, ends)
    frame = _by_polars(text, fields, layout, records, quotes=quotes)
    if frame is None:
        return None
    # Where a field may be blank, a missing field would look the same: count the separators.
    if any(column.blank for column in fields):
        separators = record_ends(raw, separator).size if quotes else text.count(separator)
        if separators != records * (len(fields) - 1):
            return None
    return frame, lines


def _read_at_once(path: Path, layout: Layout) -> Records | None:
    """The whole file by polars with all threads: the fastest way, for plain files only.

    None when the file is not plain, or when it is not certain that every record is whole and every value valid.
    """
    if layout.separator_byte == UNIT_SEPARATOR or layout.escaped or layout.skip:
        return None
    try:
        with path.open("rb") as stream:
            mapped = mmap(stream.fileno(), 0, access=ACCESS_READ)
    except (OSError, ValueError):
        return None  # missing or empty: reading in blocks raises the error
    # At least one line end in every LONGEST bytes: no line is longer than twice that.
    if any(mapped.find(b"\n", start, start + LONGEST) < 0 for start in range(0, len(mapped) - LONGEST, LONGEST)):
        return None
    unusual = (b"\0", b"\r", b'"') if layout.quoted else (b"\0", b"\r")
    if mapped[:2] == b"\x1f\x8b" or any(mapped.find(byte) >= 0 for byte in unusual):
        return None
    fields = layout.columns
    if layout.header:
        head = mapped[: mapped.find(b"\n") + 1]
        if not head or not head.isascii():
            return None
        fields = match_header(head[:-1].decode(), layout, path)
    kinds = {column.kind for column in fields}
    # Reading in blocks, unwanted columns are dropped early.
    if not all(column.name for column in fields) or (
        "id" in kinds and integers_may_hide(mapped, layout.separator_byte)
    ):
        return None
    raw = np.frombuffer(mapped, dtype=np.uint8)
    lines = _count(raw, b"\n") + (mapped[-1:] != b"\n")
    if any(column.blank for column in fields) and _count(raw, layout.separator_byte) != lines * (len(fields) - 1):
        return None
    if "text" in kinds and not all(part.max(initial=0) < 128 for part in pieces(raw)):
        return None
    fields = [replace(column, kind="integer") if column.kind == "id" else column for column in fields]
    records = lines - layout.header
    frame = _by_polars(path, fields, layout, records, quotes=False, skip_lines=int(layout.header))
    return None if frame is None or not records else Records(frame, Origins([0], [path], [1 + layout.header]))


def _count(raw: NDArray[np.uint8], byte: bytes) -> int:
    return sum(int(np.count_nonzero(part == byte[0])) for part in pieces(raw))


def _by_polars(
    source: bytes | Path,
    fields: Sequence[Column],
    layout: Layout,
    records: int,
    *,
    quotes: bool,
    skip_lines: int = 0,
) -> pl.DataFrame | None:
    """The wanted columns; None where there are not so many records, or a value is not valid."""
    try:
        # All columns, also unwanted ones: with a selection, polars accepts lines with too many fields.
        frame = pl.read_csv(
            source,
            has_header=False,
            skip_lines=skip_lines,
            schema={str(index): column.dtype for index, column in enumerate(fields)},
            separator=layout.separator_byte.decode(),
            quote_char='"' if quotes else None,
            null_values={str(index): column.null for index, column in enumerate(fields) if column.null} or None,
            glob=False,
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        return None  # polars also tries to unpack bytes that begin like an archive
    frame = frame.select(pl.col(str(index)).alias(column.name) for index, column in enumerate(fields) if column.name)
    sound = frame.height == records and all(_is_sound(frame[column.name], column) for column in fields if column.name)
    return frame if sound else None


def _is_sound(values: pl.Series, column: Column) -> bool:
    if column.kind == "number" and not values.is_finite().all():
        return False
    blank = values.null_count() > 0 or (values.dtype == pl.String and not (values.str.len_bytes() > 0).all())
    return column.blank or not blank


# Line by line


def careful_parse(
    text: bytes, fields: Sequence[Column], layout: Layout, *, path: Path, first_line: int
) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """The records of a block, and their lines counted from its first.

    Raises
    ------
    DataError
        At the first line that is not a whole record of good values.
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
    named = [(field, values) for field, values in zip(fields, columns, strict=True) if field.name]
    frame = pl.DataFrame([pl.Series(field.name, values, dtype=field.dtype) for field, values in named])
    return frame, np.array(lines, dtype=np.int64)


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
    if field.kind in ("text", "id"):
        return cell
    token = cell.strip(" \t")

    def wrong(what: str, remedy: str) -> DataError:
        return DataError(what, file=path, line=line, column=field.name, value=token, remedy=remedy)

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


def _wrong_width(cells: list[str], fields: Sequence[Column], layout: Layout, path: Path, line: int) -> DataError:
    if cells == [""]:
        return DataError(
            "the line is blank, but more follow.", file=path, line=line, remedy="Remove it, or restore what was there."
        )
    joined = layout.separator.join(cells)
    hint = separator_hint(joined, layout, len(fields)) if len(cells) == 1 else ""
    return DataError(
        f"there are {len(cells)} fields instead of {len(fields)}, separated by {separator_name(layout.separator)}.",
        file=path,
        line=line,
        value=joined,
        remedy=hint or "Complete or correct the line.",
    )
