"""Rows with the file and the line that they came from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import DataError

__all__ = ["Origins", "Records"]


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
        """The rows of several files, one after the other; a column that is text in one of them is text."""
        frames: list[pl.DataFrame] = []
        origins, row = Origins(), 0
        for part in parts:
            for begin, file, line in zip(part.origins.rows, part.origins.files, part.origins.lines, strict=True):
                origins.add(row + begin, file, line)
            frames.append(part.frame)
            row += part.frame.height
        return cls(pl.concat(_alike(frames), rechunk=False), origins)

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


def _alike(frames: list[pl.DataFrame]) -> list[pl.DataFrame]:
    text = {name for frame in frames for name, dtype in frame.schema.items() if dtype == pl.String}
    return [frame.with_columns(pl.col(name).cast(pl.String) for name in text) for frame in frames]
