"""Strict parsing of delimited text: every line is exactly one record of typed columns, or the file is refused.

polars parses; its result is used only if counts show one whole record for each line. A plain file is parsed at once,
any other in blocks. A block with blank fields is parsed by polars once more. One that polars cannot parse is parsed
line by line (``careful``), which is slow and finds everything that is wrong. The slow parser defines the meaning of a
layout; the fast ones must agree with it wherever they return a result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from mmap import ACCESS_READ, mmap
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.problems import FILL, FILL_OR_DROP, LACKING, Found, Problems
from discreet.data.readers.careful import careful_parse
from discreet.data.readers.files import (
    LONGEST,
    blocks,
    extends_ascii,
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
)
from discreet.data.readers.records import Origins, Records
from discreet.errors import DataError

__all__ = ["fast_parse", "read_delimited", "read_in_blocks"]


def read_delimited(path: Path, layout: Layout, problems: Problems | None = None) -> Records:
    """All records of a file.

    Parameters
    ----------
    problems
        Where everything that is wrong with a line is counted; such lines are left out, and the caller raises the error.
        Without it this function does.

    Raises
    ------
    DataError
        With everything that is wrong: file, line, column and value of the first of each kind.
    """
    records = _read_at_once(path, layout)
    if records is not None:
        return records
    settled = Problems() if problems is None else problems
    try:
        records = _read_blocks(path, layout, settled, remedy=FILL if problems is None else FILL_OR_DROP)
    except DataError as error:
        # The rest of the file cannot be read: the problems before it are reported too.
        if settled:
            settled.add(error)
            raise settled.error() from None
        raise
    if problems is None:
        settled.require_none()
    return records


def _read_blocks(path: Path, layout: Layout, problems: Problems, *, remedy: str = FILL) -> Records:
    blocks_read = [records for records in read_in_blocks(path, layout, problems, remedy=remedy) if records.frame.height]
    if not blocks_read:
        problems.require_none()
        raise _nothing_left(path, problems)
    return Records.joined(blocks_read)


def read_in_blocks(path: Path, layout: Layout, problems: Problems, *, remedy: str = FILL) -> Iterator[Records]:
    """The records of a file a block at a time; what is wrong with the others is counted in ``problems``."""
    fields, skip = None if layout.header else layout.columns, layout.skip
    encoding, exact = layout.encoding, layout.exact_encoding
    for block in blocks(path, encoding=encoding, quoted=layout.quoted, whole=layout.escaped, exact=exact):
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
            parsed = _lenient_parse(text, fields, layout, problems, path=path, first_line=line, remedy=remedy)
        frame, lines = parsed
        origins = Origins()
        if lines is None:
            origins.add(0, path, line)
        else:
            origins.add_lines(0, path, lines + line)
        yield Records(frame, origins, _names(fields))


def _names(fields: Sequence[Column]) -> dict[str, str]:
    return {column.name: column.shown for column in fields if column.name}


def _nothing_left(path: Path, problems: Problems) -> DataError:
    if problems.dropped:
        what = f"a value is missing in each of the {problems.dropped:,} rows ({problems.dropped_words()})."
        return DataError(what, file=path, remedy="Check the columns, and the separator.")
    return DataError("there is no record after the first lines.", file=path, line=1, remedy="Check the file.")


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
    text: bytes, fields: Sequence[Column], layout: Layout, *, lenient: bool = False
) -> tuple[pl.DataFrame, NDArray[np.int64] | None] | None:
    """The records of a block by polars, and their line numbers from 0, or None for 0, 1, 2 …

    None when it is not certain that every record is whole and every value valid. A lenient parser takes missing values,
    which are null, blank text or NaN.
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
    frame = _by_polars(text, fields, layout, records, quotes=quotes, lenient=lenient)
    if frame is None:
        return None
    # Where a field may be blank, a missing field would look the same: count the separators.
    if lenient or any(column.blank for column in fields):
        separators = record_ends(raw, separator).size if quotes else text.count(separator)
        if separators != records * (len(fields) - 1):
            return None
    return frame, lines


def _read_at_once(path: Path, layout: Layout) -> Records | None:
    """The whole file by polars with all threads: the fastest way, for plain files only.

    None when the file is not plain, or when it is not certain that every record is whole and every value valid.
    """
    if layout.separator_byte == UNIT_SEPARATOR or layout.escaped or layout.skip or not extends_ascii(layout.encoding):
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
    return None if frame is None or not records else _located(frame, fields, path, 1 + layout.header)


def _located(frame: pl.DataFrame, fields: Sequence[Column], path: Path, line: int) -> Records:
    origins = Origins()
    origins.add(0, path, line)
    return Records(frame, origins, _names(fields))


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
    lenient: bool = False,
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
    sound = frame.height == records and all(
        _is_sound(frame[column.name], column, lenient=lenient) for column in fields if column.name
    )
    return frame if sound else None


def _is_sound(values: pl.Series, column: Column, *, lenient: bool) -> bool:
    if lenient and not column.blank:
        return column.kind != "number" or not values.is_infinite().any()
    if column.kind == "number" and not values.is_finite().all():
        return False
    blank = values.null_count() > 0 or (values.dtype == pl.String and not (values.str.len_bytes() > 0).all())
    return column.blank or not blank


# With missing values


def _lenient_parse(
    text: bytes,
    fields: Sequence[Column],
    layout: Layout,
    problems: Problems,
    *,
    path: Path,
    first_line: int,
    remedy: str,
) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """The good records of a block, and their lines counted from its first; the others are counted or dropped."""
    parsed = fast_parse(text, fields, layout, lenient=True)
    if parsed is None:
        return careful_parse(text, fields, layout, problems, path=path, first_line=first_line, remedy=remedy)
    frame, lines = parsed
    lines = np.arange(frame.height) if lines is None else lines
    found: list[Found] = []
    for column in fields:
        if column.name and not column.blank:
            values = frame[column.name]
            lacking = values.is_null()
            if values.dtype == pl.String:
                lacking |= (values == "").fill_null(False)
            elif column.kind == "number":
                lacking |= values.is_nan().fill_null(False)
            found.append(Found(lacking.to_numpy(), column.name, LACKING, remedy, missing=True))
    origins = Origins()
    origins.add_lines(0, path, lines + first_line)
    records = Records(frame, origins, _names(fields))
    good = problems.add_rows(found, frame, located=records.located, names=records.names)
    return frame.filter(pl.Series(good)), lines[good]
