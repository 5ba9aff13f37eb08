"""Problems of records: collected while they are read, and reported together.

Of each kind the number of rows and the first few examples are kept, so that memory does not grow with their number.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.common.arguments import require_choice
from discreet.errors import DataError, Example, MissingWarning, Problem, RecordsError, Remedy

__all__ = ["FILL", "FILL_OR_DROP", "LACKING", "Found", "Missing", "Problems"]

Missing = Literal["error", "drop"]
"""What happens to a row with a missing value in a column that is used."""

Mask = NDArray[np.bool_]

MOST_EXAMPLES = 3
MOST_KINDS = 20
MOST_CHARACTERS = 200
"""Of an example: one field may be as long as a record."""

LACKING = "the value is missing."
"""What is said of a missing value, whatever kind it is."""

FILL = Remedy("Fill it, or remove the row.")
FILL_OR_DROP = Remedy(
    "Fill it, or leave such rows out with missing='drop'.", cli="Fill it, or leave such rows out with --missing drop."
)


@dataclass(frozen=True)
class Found:
    """Rows of a column in which one thing is wrong.

    Parameters
    ----------
    rows
        A mask.
    column
        The column in the frame; its values are quoted.
    missing
        Whether the value is missing rather than wrong.
    beside
        Another column whose values are quoted before those of this one.
    """

    rows: Mask
    column: str | None
    what: str
    remedy: str = FILL_OR_DROP
    missing: bool = False
    beside: str | None = None

    def value(self, frame: pl.DataFrame, row: int) -> object:
        """What is quoted of a row."""
        if self.missing or self.column is None:
            return None
        value = frame[self.column][row]
        return value if self.beside is None else (frame[self.beside][row], value)


@dataclass
class _Kind:
    remedy: Remedy
    count: int = 0
    examples: list[Example] = field(default_factory=list)


class Problems:
    """What is wrong with records, and what was left out of them.

    Parameters
    ----------
    missing
        "error": a missing value is a problem. "drop": its row is left out and counted.

    Attributes
    ----------
    rows : int
        How many rows have a problem.
    dropped : int
        How many rows were left out because a value is missing.
    dropped_by_column : dict
        How many of them lack a value in each column, by the names of the caller's columns.

    Privacy
    -------
    Whether a row is left out depends on that row alone. Counts and examples are for the owner of the records.

    Examples
    --------
    >>> problems = Problems()
    >>> for line in range(2, 9):
    ...     problems.add(DataError("this is not a number.", file="x.csv", line=line, column="stars", value="?"))
    >>> print(problems.error())
    x.csv, line 2, column 'stars', value '?': this is not a number. There are 7 such rows: line 2 ('?'), line 3 ('?'), line 4 ('?'), …
    """  # noqa: E501

    def __init__(self, missing: Missing = "error") -> None:
        require_choice(missing, "missing", ("error", "drop"))
        self.missing: Missing = missing
        self.rows = self.dropped = 0
        self.dropped_by_column: dict[str, int] = {}
        self._kinds: dict[tuple[str | None, str], _Kind] = {}

    def __bool__(self) -> bool:
        return bool(self._kinds)

    def add(self, error: DataError, count: int = 1) -> None:
        """Count a problem of one row; the caller counts the rows."""
        kind = self._kind(error.column, error.what, error.remedy)
        kind.count += count
        if len(kind.examples) < MOST_EXAMPLES:
            kind.examples.append(Example(error.file, error.line, error.row, _shortened(error.value)))

    def add_rows(
        self,
        found: list[Found],
        frame: pl.DataFrame,
        *,
        located: Callable[[DataError], DataError] = lambda error: error,
        names: Mapping[str, str] | None = None,
    ) -> Mask:
        """Count problems of many rows, and drop rows with missing values where that was asked for.

        Parameters
        ----------
        found
            What is wrong, by column.
        frame
            The rows.
        located
            Gives an error about a row the file and the line.
        names
            What the caller calls the columns.

        Returns
        -------
        mask
            The rows that are good.
        """
        lacking, wrong = np.zeros(frame.height, dtype=bool), np.zeros(frame.height, dtype=bool)
        for one in found:
            if one.missing:
                lacking |= one.rows
        drops = self.missing == "drop"
        for one in found:
            # A row that is left out has no other problems.
            rows = one.rows if one.missing or not drops else one.rows & ~lacking
            if not rows.any():
                continue
            shown = None if one.column is None else (names or {}).get(one.column, one.column)
            if one.missing and drops:
                assert shown is not None
                self.dropped_by_column[shown] = self.dropped_by_column.get(shown, 0) + int(rows.sum())
                continue
            wrong |= rows
            first = np.flatnonzero(rows)[:MOST_EXAMPLES]
            for place, row in enumerate(first):
                value = one.value(frame, int(row))
                error = DataError(one.what, row=int(row), column=one.column, value=value, remedy=one.remedy)
                self.add(located(error), int(rows.sum()) if not place else 0)
        if drops:
            self.dropped += int(lacking.sum())
        self.rows += int(wrong.sum())
        return ~(lacking | wrong)

    def drop(self, columns: Sequence[str]) -> None:
        """Count one row that is left out because it lacks a value in these columns."""
        self.dropped += 1
        for column in columns:
            self.dropped_by_column[column] = self.dropped_by_column.get(column, 0) + 1

    def dropped_words(self) -> str:
        """How many of the rows that were left out lack a value in each column."""
        return ", ".join(f"{column} {count:,}" for column, count in self.dropped_by_column.items())

    def tell_dropped(self, whose: Any, *, stacklevel: int) -> None:
        """Warn where rows were left out because a value is missing."""
        if self.dropped:
            rows = "1 row" if self.dropped == 1 else f"{self.dropped:,} rows"
            words = f"{rows} with missing values left out ({self.dropped_words()})."
            warnings.warn(f"{whose or 'the records'}: {words}", MissingWarning, stacklevel=stacklevel)

    def error(self) -> RecordsError:
        """The error that reports all of them."""
        problems = [
            Problem(what, column, kind.count, tuple(kind.examples), kind.remedy)
            for (column, what), kind in self._kinds.items()
        ]
        return RecordsError(problems, rows=max(self.rows, 1))

    def require_none(self) -> None:
        """Raise the error if there is a problem."""
        if self:
            raise self.error()

    def _kind(self, column: str | None, what: str, remedy: str) -> _Kind:
        key = (column, what)
        if key not in self._kinds and len(self._kinds) >= MOST_KINDS:
            key = (None, "something else is wrong.")
            remedy = "Correct the problems above and read again."
        return self._kinds.setdefault(key, _Kind(Remedy(remedy)))


def _shortened(value: Any) -> Any:
    if isinstance(value, str | bytes) and len(value) > MOST_CHARACTERS:
        return value[:MOST_CHARACTERS]
    return value
