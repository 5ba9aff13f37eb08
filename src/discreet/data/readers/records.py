"""Rows with the file and the line that they came from, and times in them as seconds since 1970."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.values import number_in, parsed
from discreet.errors import DataError

__all__ = ["Origins", "Records", "with_seconds"]

EPOCH = datetime(1970, 1, 1)
LARGEST = 2**62
"""The largest time that is written as a number."""

_USUAL = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d")
"""The usual forms of ISO 8601, which are parsed fast."""


@dataclass
class Origins:
    """File and line of each row.

    Only the rows are kept where the line number does not simply go on by one: the beginning of a file, and after a
    record of several lines.

    Examples
    --------
    >>> origins = Origins()
    >>> origins.add(0, Path("a.csv"), 2)
    >>> origins.add(3, Path("a.csv"), 9)
    >>> origins.of(2), origins.of(4)
    ((PosixPath('a.csv'), 4), (PosixPath('a.csv'), 10))
    """

    rows: list[int] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    lines: list[int | None] = field(default_factory=list)

    @classmethod
    def without_lines(cls, file: Path) -> Origins:
        """Of rows that do not correspond to lines."""
        return cls([0], [file], [None])

    def add(self, row: int, file: Path, line: int | None) -> None:
        """From this row on, rows come from ``file``, one per line from ``line`` on; None where it has no lines."""
        self.rows.append(row)
        self.files.append(file)
        self.lines.append(line)

    def add_lines(self, row: int, file: Path, lines: NDArray[np.int64]) -> None:
        """The rows from ``row`` on come from these lines, in order."""
        jumps = np.flatnonzero(np.diff(lines, prepend=lines[:1] - 2) != 1)
        for jump in jumps:
            self.add(row + int(jump), file, int(lines[jump]))

    def of(self, row: int) -> tuple[Path, int | None]:
        """File and line of a row."""
        index = bisect_right(self.rows, row) - 1
        line = self.lines[index]
        return self.files[index], None if line is None else line + row - self.rows[index]


@dataclass
class Records:
    """Typed columns, and where each row comes from."""

    frame: pl.DataFrame
    origins: Origins

    @classmethod
    def joined(cls, parts: Iterable[Records]) -> Records:
        """The rows of several files, one after the other."""
        frames: list[pl.DataFrame] = []
        origins, row = Origins(), 0
        for part in parts:
            for begin, file, line in zip(part.origins.rows, part.origins.files, part.origins.lines, strict=True):
                origins.add(row + begin, file, line)
            frames.append(part.frame)
            row += part.frame.height
        return cls(pl.concat(frames, rechunk=False), origins)

    def filtered(self, keep: pl.Series) -> Records:
        """The rows where ``keep`` is true."""
        rows = np.flatnonzero(keep.to_numpy())
        segments = np.searchsorted(self.origins.rows, rows, side="right") - 1
        origins = Origins()
        for segment in np.unique(segments):
            first = int(np.searchsorted(segments, segment))
            file, line = self.origins.files[segment], self.origins.lines[segment]
            if line is None:
                origins.add(first, file, None)
            else:
                origins.add_lines(first, file, rows[segments == segment] - self.origins.rows[segment] + line)
        return Records(self.frame.filter(keep), origins)

    def with_frame(self, frame: pl.DataFrame) -> Records:
        """The same rows with other columns."""
        assert frame.height == self.frame.height
        return Records(frame, self.origins)

    def require_distinct(self, column: str, what: str) -> None:
        """Raise a DataError at the first value that the column has more than once."""
        repeated = self.frame[column].is_duplicated()
        if repeated.any():
            raise self.error(int(repeated.arg_max() or 0), what, column=column, remedy="Keep one line of it.")

    def error(self, row: int, what: str, *, column: str, remedy: str) -> DataError:
        """An error about a row, with file, line and value."""
        value = self.frame[column][row]
        return self.located(DataError(what, row=row, column=column, value=value, remedy=remedy))

    def located(self, error: DataError) -> DataError:
        """The same error with the file, and with the line of its row."""
        file, line = self.origins.of(error.row or 0) if self.origins.files else (None, None)
        return DataError(
            error.what,
            file=error.file or file,
            line=error.line if error.row is None else line,
            row=error.row if line is None else None,
            column=error.column,
            value=error.value,
            remedy=error.remedy,
        )


# Times


def with_seconds(records: Records, column: str, pattern: str | None) -> Records:
    """The records with a text column of times as whole seconds since 1970, called timestamp.

    Parameters
    ----------
    pattern
        The format of the times, as in ``strftime``; None for ISO 8601 or numbers of seconds. Without a time zone they
        are UTC.

    Raises
    ------
    DataError
        At the first value that is no such time.
    """
    written = records.frame[column]
    seconds = _in_iso(written) if pattern is None else _in_pattern(written, pattern)
    if seconds.null_count():
        shape = "ISO 8601, nor a number of seconds" if pattern is None else pattern
        raise records.error(
            int(seconds.is_null().arg_max() or 0),
            f"this is not a time written as {shape}.",
            column=column,
            remedy="Correct it, or check the format.",
        )
    return records.with_frame(records.frame.drop(column).with_columns(timestamp=seconds))


def _in_pattern(written: pl.Series, pattern: str) -> pl.Series:
    try:
        moments = written.str.to_datetime(pattern, strict=False, time_unit="ms")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        moments = pl.Series([None] * len(written), dtype=pl.Datetime("ms"))
    return moments.dt.epoch("s").cast(pl.Int64)


def _in_iso(written: pl.Series) -> pl.Series:
    """Seconds of each value; null where it is no time."""
    written = written.str.strip_chars()
    numbers = written.cast(pl.Int64, strict=False)
    seconds = numbers.set(~numbers.is_between(1 - LARGEST, LARGEST - 1).fill_null(False), None)
    for pattern in _USUAL:
        if not seconds.null_count():
            return seconds
        seconds = seconds.fill_null(_in_pattern(written, pattern))
    rest = written.filter(seconds.is_null()).unique()
    found = pl.Series([_seconds(text) for text in rest], dtype=pl.Int64)
    return seconds.fill_null(written.replace_strict(rest, found, default=None, return_dtype=pl.Int64))


def _seconds(text: str | None) -> int | None:
    number = None if text is None else number_in(text)
    if number is not None:
        return math.floor(number) if abs(number) < LARGEST else None
    moment = None if text is None else parsed(text, "time")
    return None if moment is None else math.floor((moment - EPOCH).total_seconds())  # type: ignore[operator]
