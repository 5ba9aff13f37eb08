"""Couplings that somebody knows: pairs of rows from a file or a table become a matrix of degrees."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.frames import as_frame
from discreet.data.readers.delimited import read_delimited
from discreet.data.readers.generic import read_columns, read_frame
from discreet.data.readers.layout import Column, Layout
from discreet.data.readers.records import Records
from discreet.errors import DataError, UsageError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["check_threshold", "edge_degrees"]

COLUMNS = (
    Column("row", "integer", ("row", "source", "from", "i")),
    Column("other", "integer", ("other", "target", "to", "j")),
    Column("degree", "number", ("degree", "delta", "weight"), optional=True),
)
BINARY = (".parquet", ".pq", ".arrow", ".feather", ".ipc")

Complaint = Callable[[int, str, str, str], DataError]
"""Makes the error about a pair from its place, the column, what is wrong, and what to do."""


def check_threshold(threshold: float, *, least: float = 0.0) -> float:
    """δ₀ as a float; what is no number from ``least`` to 1 is a UsageError."""
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not least <= threshold <= 1:
        raise UsageError(
            f"threshold = {threshold!r} is no degree of coupling.", remedy=f"Give a number from {least:g} to 1."
        )
    return float(threshold)


def edge_degrees(given: Any, n_rows: int, *, threshold: float = 0.0) -> csr_array:
    """A symmetric matrix of degrees with 1 on the diagonal; pairs weaker than the threshold are left out."""
    least = check_threshold(threshold)
    if isinstance(given, str | Path):
        records = _read(Path(given))
        frame, complain = records.frame, _by_line(records)
    else:
        frame = _as_pairs(given, n_rows)
        complain = _by_row(frame)
    row, other = (_row_numbers(frame, name, n_rows, complain) for name in ("row", "other"))
    return _assembled(row, other, _degrees(frame, complain), n_rows, least, complain)


def _read(path: Path) -> Records:
    if path.suffix.lower() not in BINARY:
        separator = "\t" if path.suffix.lower() in (".tsv", ".tab") else ","
        return read_delimited(path, Layout(COLUMNS, separator=separator, header=True, quoted=True))
    present = {name.casefold() for name in read_frame(path).frame.columns}
    return read_columns(path, [c for c in COLUMNS if not c.optional or present & set(c.headers)])


def _as_pairs(given: Any, n_rows: int) -> pl.DataFrame:
    if hasattr(given, "tocoo") and given.shape != (n_rows, n_rows):
        raise UsageError(f"a matrix of shape {given.shape} does not couple {n_rows:,} rows.")
    frame = as_frame(given, ["row", "other", "degree"])
    renamed = {name: column.name for column in COLUMNS for name in frame.columns if name.casefold() in column.headers}
    frame = frame.rename(renamed)
    missing = [name for name in ("row", "other") if name not in frame.columns]
    if missing:
        raise DataError(
            f"there is no column {missing[0]!r}; the columns are {', '.join(map(repr, frame.columns))}.",
            column=missing[0],
            remedy="Name the columns row, other and degree.",
        )
    return frame


def _row_numbers(frame: pl.DataFrame, name: str, n_rows: int, complain: Complaint) -> NDArray[np.int64]:
    column = frame[name]
    numbers = column.cast(pl.Int64, strict=False)
    wrong = numbers.is_null()
    if column.dtype.is_float():
        wrong |= (column != numbers.cast(pl.Float64)).fill_null(True)
    elif not column.dtype.is_integer() and len(column):
        wrong |= True
    wrong |= ((numbers < 0) | (numbers >= n_rows)).fill_null(True)
    if wrong.any():
        place = int(wrong.arg_max() or 0)
        raise complain(place, name, f"there is no such row; the table has {n_rows:,}.", "Rows count from 0.")
    return numbers.to_numpy()


def _degrees(frame: pl.DataFrame, complain: Complaint) -> NDArray[np.float64]:
    if "degree" not in frame.columns:
        return np.ones(frame.height)
    degrees = frame["degree"].cast(pl.Float64, strict=False)
    wrong = ~degrees.is_between(-1, 1).fill_null(False)
    if wrong.any():
        raise complain(int(wrong.arg_max() or 0), "degree", "this is no degree of coupling.", "Write −1 to 1.")
    return degrees.to_numpy()


def _assembled(
    row: NDArray[np.int64],
    other: NDArray[np.int64],
    degree: NDArray[np.float64],
    n_rows: int,
    least: float,
    complain: Complaint,
) -> csr_array:
    """Both directions of each pair and the diagonal, once each."""
    from scipy.sparse import coo_array

    itself = row == other
    if np.any(degree[itself] != 1):
        place = int(np.flatnonzero(itself & (degree != 1))[0])
        raise complain(place, "degree", "a row is fully coupled with itself.", "Leave the pair out or write 1.")
    low, high = np.minimum(row, other), np.maximum(row, other)
    order = np.lexsort((np.arange(row.size), high, low))
    same = (low[order][1:] == low[order][:-1]) & (high[order][1:] == high[order][:-1])
    clash = same & (degree[order][1:] != degree[order][:-1])
    if clash.any():
        place = int(order[1:][clash].min())
        raise complain(place, "degree", "this pair was given another degree before.", "Give each pair one degree.")
    first = np.ones(row.size, dtype=bool)
    first[order[1:][same]] = False
    keep = first & ~itself & (np.abs(degree) >= least) & (degree != 0)
    low, high, degree = low[keep], high[keep], degree[keep]
    diagonal = np.arange(n_rows)
    entries = np.concatenate([degree, degree, np.ones(n_rows)])
    places = (np.concatenate([low, high, diagonal]), np.concatenate([high, low, diagonal]))
    matrix = coo_array((entries, places), shape=(n_rows, n_rows)).tocsr()
    matrix.sort_indices()
    return matrix


def _by_line(records: Records) -> Complaint:
    return lambda place, column, what, remedy: records.error(place, what, column=column, remedy=remedy)


def _by_row(frame: pl.DataFrame) -> Complaint:
    return lambda place, column, what, remedy: DataError(
        f"pair {place}: {what}", column=column, value=frame[column][place], remedy=remedy
    )
