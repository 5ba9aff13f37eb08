"""Strict parsing of delimited text: every line is exactly one record of typed columns, or the file is refused.

polars parses; its result is used only if counts show one whole record for each line. A plain file is parsed at once,
any other in blocks. A block that polars cannot parse goes to ``careful``, which reads line by line and raises exact
errors.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from mmap import ACCESS_READ, mmap
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.readers.careful import careful_parse, match_header
from discreet.data.readers.files import LONGEST, blocks
from discreet.data.readers.layout import UNIT_SEPARATOR, Column, Layout, NotNumbers
from discreet.data.readers.records import Origins, Records
from discreet.data.readers.shape import (
    count,
    ids_may_hide,
    is_ascii,
    quotes_are_regular,
    record_ends,
    record_lines,
)
from discreet.errors import DataError

__all__ = ["fast_parse", "read_delimited"]


def read_delimited(path: Path, layout: Layout) -> Records:
    """All records of a file.

    Raises
    ------
    DataError
        With file, line, column and value of the first error.
    """
    try:
        return _read_at_once(path, layout) or _read(path, layout)
    except NotNumbers as found:
        as_text = (replace(c, kind="text") if c.name in found.names else c for c in layout.columns)
        return read_delimited(path, replace(layout, columns=tuple(as_text)))


def _read(path: Path, layout: Layout) -> Records:
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


def _read_at_once(path: Path, layout: Layout) -> Records | None:
    """The whole file by polars with all threads: the fastest way, for plain files only.

    None when the file is not plain, or when it is not certain that every record is whole and every value valid.
    """
    survey = _survey(path, layout)
    if survey is None:
        return None
    fields, records = survey
    frame = _by_polars(path, fields, layout, quotes=False, skip_lines=int(layout.header))
    if frame is None or not frame.height or frame.height != records or not _is_sound(frame, fields):
        return None
    origins = Origins()
    origins.add(0, path, 1 + layout.header)
    return Records(frame, origins)


def _survey(path: Path, layout: Layout) -> tuple[tuple[Column, ...], int] | None:
    """The columns of a plain file and its number of records; None when it is not plain."""
    if not layout.is_simple or layout.escaped or layout.skip:
        return None
    try:
        with path.open("rb") as stream:
            mapped = mmap(stream.fileno(), 0, access=ACCESS_READ)
    except (OSError, ValueError):
        return None  # missing or empty: the block reader raises the error
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
    if not all(column.name for column in fields):
        return None  # in blocks, unwanted columns are dropped early
    raw, separator = np.frombuffer(mapped, dtype=np.uint8), layout.separator_byte
    lines = count(raw, b"\n") + (mapped[-1:] != b"\n")
    if any(column.blank for column in fields) and count(raw, separator) != lines * (len(fields) - 1):
        return None
    if any(column.kind == "text" for column in fields) and not is_ascii(raw):
        return None
    if any(column.kind == "id" for column in fields) and ids_may_hide(mapped, separator):
        return None
    return fields, lines - layout.header


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
    frame = _by_polars(text, fields, layout, quotes=quotes)
    if frame is None or frame.height != records or not _is_sound(frame, fields):
        return None
    # Where a field may be blank, a missing field would look the same: count the separators.
    if any(column.blank for column in fields):
        separators = record_ends(raw, separator).size if quotes else text.count(separator)
        if separators != records * (len(fields) - 1):
            return None
    if any(column.kind == "id" for column in fields) and ids_may_hide(text, separator):
        _refuse_disguised_ids(text, fields, layout, quotes=quotes)
    return frame, lines


def _by_polars(
    source: bytes | Path, fields: Sequence[Column], layout: Layout, *, quotes: bool, skip_lines: int = 0
) -> pl.DataFrame | None:
    named = {str(index): column.name for index, column in enumerate(fields) if column.name}
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
    return frame.select(pl.col(number).alias(name) for number, name in named.items())


def _is_sound(frame: pl.DataFrame, fields: Sequence[Column]) -> bool:
    for column in fields:
        if not column.name:
            continue
        values = frame[column.name]
        if values.null_count() and not column.blank:
            return False
        if column.kind == "number" and not values.is_finite().all():
            return False
        if column.kind == "text" and not column.blank and not (values.str.len_bytes() > 0).all():
            return False
    return True


def _refuse_disguised_ids(text: bytes, fields: Sequence[Column], layout: Layout, *, quotes: bool) -> None:
    ids = [replace(c, kind="text", blank=True) if c.kind == "id" else Column("", blank=True) for c in fields]
    frame = _by_polars(text, ids, layout, quotes=quotes)
    assert frame is not None  # it has just been read with the same shape
    hidden = {name for name in frame.columns if not frame[name].str.contains(r"^(?:0|-?[1-9][0-9]*)$").all()}
    if hidden:
        raise NotNumbers(hidden)


def _plain(text: bytes, layout: Layout, path: Path, line: int) -> bytes:
    """The same lines without escapes, and with one byte as the separator."""
    if layout.escaped and b"\\" in text:
        text = re.sub(rb"\\(.)", _unescaped_quoted if layout.quoted else _unescaped, text, flags=re.DOTALL)
    if not layout.is_simple:
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
