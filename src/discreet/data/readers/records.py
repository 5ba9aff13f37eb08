"""Rows that remember the line they came from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import DataError

__all__ = ["Places", "Records"]


@dataclass
class Places:
    """Where each row stands: file and line.

    Kept as the few rows where the line number does not simply go on by one: the beginning of a file, and whatever
    takes more than one line.

    Examples
    --------
    >>> places = Places()
    >>> places.add(0, Path("a.csv"), 2)
    >>> places.add(3, Path("a.csv"), 9)
    >>> places.of(2), places.of(4)
    ((PosixPath('a.csv'), 4), (PosixPath('a.csv'), 10))
    """

    rows: list[int] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    lines: list[int | None] = field(default_factory=list)

    def add(self, row: int, file: Path, line: int | None) -> None:
        """From this row on, rows stand in ``file``, one a line, beginning with ``line``; None where it has no lines."""
        self.rows.append(row)
        self.files.append(file)
        self.lines.append(line)

    def add_lines(self, row: int, file: Path, lines: NDArray[np.int64]) -> None:
        """The rows from ``row`` on stand in these lines, in order."""
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
    """Typed columns, and where each of their rows stands."""

    frame: pl.DataFrame
    places: Places

    @classmethod
    def joined(cls, parts: Iterable[Records]) -> Records:
        """The rows of several files, one after the other; a column that is text in one of them is text."""
        frames: list[pl.DataFrame] = []
        places, row = Places(), 0
        for part in parts:
            for begin, file, line in zip(part.places.rows, part.places.files, part.places.lines, strict=True):
                places.add(row + begin, file, line)
            frames.append(part.frame)
            row += part.frame.height
        return cls(pl.concat(_alike(frames), rechunk=False), places)

    def filtered(self, keep: pl.Series) -> Records:
        """The rows where ``keep`` is true."""
        rows = np.flatnonzero(keep.to_numpy())
        segments = np.searchsorted(self.places.rows, rows, side="right") - 1
        places = Places()
        for segment in np.unique(segments):
            first = int(np.searchsorted(segments, segment))
            file, line = self.places.files[segment], self.places.lines[segment]
            if line is None:
                places.add(first, file, None)
            else:
                places.add_lines(first, file, rows[segments == segment] - self.places.rows[segment] + line)
        return Records(self.frame.filter(keep), places)

    def with_frame(self, frame: pl.DataFrame) -> Records:
        """The same rows with other columns."""
        assert frame.height == self.frame.height
        return Records(frame, self.places)

    def error(self, row: int, what: str, *, column: str, remedy: str) -> DataError:
        """A complaint about a row, with its place and value."""
        file, line = self.places.of(row)
        value = self.frame[column][row]
        what = what if line is not None else f"row {row}: {what}"
        return DataError(what, file=file, line=line, column=column, value=value, remedy=remedy)


def _alike(frames: list[pl.DataFrame]) -> list[pl.DataFrame]:
    text = {name for frame in frames for name, dtype in frame.schema.items() if dtype == pl.String}
    return [frame.with_columns(pl.col(name).cast(pl.String) for name in text) for frame in frames]
