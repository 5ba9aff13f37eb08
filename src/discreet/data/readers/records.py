"""Rows with the file and the line that they came from, and times in them as seconds since 1970."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.frames import LARGEST
from discreet.data.problems import LACKING, Found, Problems
from discreet.data.screening import lacks_value
from discreet.data.values import number_in, parsed
from discreet.errors import DataError

__all__ = ["Origins", "Records", "with_seconds"]

EPOCH = datetime(1970, 1, 1)

_USUAL = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d")
"""The usual forms of ISO 8601, which are parsed fast."""


@dataclass(frozen=True)
class _Stretch:
    """Rows of one file from ``row`` on; places go on by one but where they jump."""

    row: int
    file: Path
    jumps: NDArray[np.int64]
    places: NDArray[np.int64]
    by_line: bool

    def of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The lines of rows, or the rows of the file where it has no lines."""
        index = np.searchsorted(self.jumps, rows, side="right") - 1
        return self.places[index] + rows - self.jumps[index]


@dataclass
class Origins:
    """File and line of each row; the row of the file where it has no lines.

    Only the rows are kept where the line number does not simply go on by one: the beginning of a file, after a record
    of several lines, and after rows that were left out.

    Examples
    --------
    >>> origins = Origins()
    >>> origins.add(0, Path("a.csv"), 2)
    >>> origins.add(3, Path("a.csv"), 9)
    >>> origins.of(2), origins.of(4)
    ((PosixPath('a.csv'), 4), (PosixPath('a.csv'), 10))
    """

    stretches: list[_Stretch] = field(default_factory=list)

    @classmethod
    def without_lines(cls, file: Path) -> Origins:
        """Of rows that do not correspond to lines."""
        origins = cls()
        origins.add(0, file, None)
        return origins

    @property
    def files(self) -> list[Path]:
        """The file of each stretch of rows."""
        return [stretch.file for stretch in self.stretches]

    def add(self, row: int, file: Path, line: int | None) -> None:
        """From this row on, rows come from ``file``, one per line from ``line`` on; None where it has no lines."""
        place = np.array([0 if line is None else line])
        self.stretches.append(_Stretch(row, file, np.array([row]), place, by_line=line is not None))

    def add_lines(self, row: int, file: Path, lines: NDArray[np.int64], *, by_line: bool = True) -> None:
        """The rows from ``row`` on come from these lines, in order."""
        jumps = np.flatnonzero(np.diff(lines, prepend=lines[:1] - 2) != 1)
        if jumps.size:
            self.stretches.append(_Stretch(row, file, row + jumps, lines[jumps], by_line))

    def of(self, row: int) -> tuple[Path, int | None]:
        """File and line of a row."""
        stretch = self.stretches[self._index(np.array([row]))[0]]
        return stretch.file, int(stretch.of(np.array([row]))[0]) if stretch.by_line else None

    def row_of(self, row: int) -> int:
        """The number of a row in its file, where that has no lines."""
        stretch = self.stretches[self._index(np.array([row]))[0]]
        return int(stretch.of(np.array([row]))[0])

    def _index(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.searchsorted([stretch.row for stretch in self.stretches], rows, side="right") - 1

    def chosen(self, rows: NDArray[np.int64]) -> Origins:
        """Of some of the rows, in order; rows that come from no file have no origin."""
        if not self.stretches:
            return self
        origins, index = Origins(), self._index(rows)
        for one in np.unique(index):
            first, stretch = int(np.searchsorted(index, one)), self.stretches[one]
            origins.add_lines(first, stretch.file, stretch.of(rows[index == one]), by_line=stretch.by_line)
        return origins

    def after(self, row: int) -> list[_Stretch]:
        """The same stretches for rows that come after others."""
        return [replace(one, row=one.row + row, jumps=one.jumps + row) for one in self.stretches]


@dataclass
class Records:
    """Typed columns, and where each row comes from.

    Parameters
    ----------
    frame
        The columns, under the names of this package.
    origins
        File and line of each row.
    names
        What the file calls the columns, where that is different.
    """

    frame: pl.DataFrame
    origins: Origins
    names: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def joined(cls, parts: Iterable[Records]) -> Records:
        """The rows of several files, one after the other."""
        frames: list[pl.DataFrame] = []
        origins, row, names = Origins(), 0, {}
        for part in parts:
            origins.stretches += part.origins.after(row)
            frames.append(part.frame)
            row += part.frame.height
            names = part.names
        return cls(pl.concat(frames, rechunk=False), origins, names)

    def filtered(self, keep: pl.Series) -> Records:
        """The rows where ``keep`` is true."""
        rows = np.flatnonzero(keep.to_numpy())
        return Records(self.frame.filter(keep), self.origins.chosen(rows), self.names)

    def without(self, found: list[Found], problems: Problems) -> Records:
        """The good rows; what is wrong with the others is counted, or they are dropped."""
        good = problems.add_rows(found, self.frame, located=self.located, names=self.names) if found else None
        return self if good is None or good.all() else self.filtered(pl.Series(good))

    def place(self, row: int) -> str:
        """A row in words: its line, or its number in the file."""
        line = self.origins.of(row)[1]
        return f"row {self.origins.row_of(row)}" if line is None else f"line {line}"

    def with_frame(self, frame: pl.DataFrame) -> Records:
        """The same rows with other columns."""
        assert frame.height == self.frame.height
        return Records(frame, self.origins, self.names)

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
        """The same error with the file, the line of its row, and the name that the file has for the column."""
        file, line = self.origins.of(error.row or 0) if self.origins.stretches else (None, None)
        row = error.row if error.row is None or file is None else self.origins.row_of(error.row)
        return DataError(
            error.what,
            file=error.file or file,
            line=error.line if error.row is None else line,
            row=row if line is None else None,
            column=None if error.column is None else self.names.get(error.column, error.column),
            value=error.value,
            remedy=error.remedy,
        )


# Times


def with_seconds(records: Records, column: str, pattern: str | None, problems: Problems | None = None) -> Records:
    """The records with a text column of times as whole seconds since 1970, called timestamp.

    Parameters
    ----------
    pattern
        The format of the times, as in ``strftime``; None for ISO 8601 or numbers of seconds. Without a time zone they
        are UTC.
    problems
        Where values that are no such times are counted, and their rows left out; without it they are an error.

    Raises
    ------
    DataError
        With the number and the first of the values that are no such time.
    """
    written = records.frame[column]
    seconds = _in_iso(written) if pattern is None else _in_pattern(written, pattern)
    names = {**records.names, "timestamp": records.names.get(column, column)}
    timed = Records(records.frame.with_columns(timestamp=seconds), records.origins, names)
    if seconds.null_count():
        shape = "ISO 8601, nor a number of seconds" if pattern is None else pattern
        lacking = lacks_value(written) if problems is not None else np.zeros(len(written), dtype=bool)
        found = [
            Found(lacking, column, LACKING, missing=True),
            Found(
                seconds.is_null().to_numpy() & ~lacking,
                column,
                f"this is not a time written as {shape}.",
                "Correct it, or check the format.",
            ),
        ]
        settled = Problems() if problems is None else problems
        # The text is quoted, under the name that the file has for it.
        quoted = Records(records.frame, records.origins, names | {column: names["timestamp"]})
        good = settled.add_rows(found, records.frame, located=quoted.located, names=quoted.names)
        if problems is None:
            settled.require_none()
        timed = timed.filtered(pl.Series(good))
    return timed.with_frame(timed.frame if column == "timestamp" else timed.frame.drop(column))


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
