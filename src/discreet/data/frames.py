"""At the door: whatever table the caller has becomes a polars frame, without copying where that is possible."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.ids import as_id_series
from discreet.errors import DataError, UsageError

__all__ = ["as_frame", "as_mask", "numeric_column", "time_column"]


def as_frame(data: Any, names: Sequence[str], *, at_least: int = 2, ids: Collection[str] = ()) -> pl.DataFrame:
    """A polars frame from polars, pandas, Arrow, a mapping of arrays, a sparse matrix or an iterable of tuples.

    Parameters
    ----------
    names
        Columns of an iterable of tuples, in order; a sparse matrix fills the first three.
    at_least
        How many of these columns no tuples at all make.
    ids
        Columns of ids. Numbers of several kinds stay what they are there: as fractions, whole numbers beyond 2⁵³ would
        run together because of one record that holds another kind.
    """
    if isinstance(data, pl.DataFrame):
        return data
    if isinstance(data, pl.LazyFrame):
        return data.collect()
    module = type(data).__module__.partition(".")[0]
    if module == "pandas":
        return _from_pandas(data, ids)
    if module == "pyarrow":
        return pl.DataFrame(pl.from_arrow(data))
    if module == "scipy":
        coo = data.tocoo()
        return pl.DataFrame(dict(zip(names, map(_owned, (coo.row, coo.col, coo.data)), strict=False)))
    if isinstance(data, Mapping):
        return _from_columns(data, ids)
    if isinstance(data, Iterable) and not isinstance(data, str | bytes):
        return _from_tuples(data, names, at_least, ids)
    raise UsageError(
        f"cannot read records from {type(data).__name__}.",
        remedy="Give a polars, pandas or Arrow table, a mapping of arrays, a sparse matrix, or tuples.",
    )


def numeric_column(frame: pl.DataFrame, name: str | None) -> NDArray[np.floating] | None:
    """A column of numbers as floats, or None when it is not there. Text, blanks and infinities are errors."""
    if name is None or name not in frame.columns:
        return None
    column = frame[name]
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        numbers = column.cast(pl.String, strict=False).cast(pl.Float64, strict=False)
        row = int(np.argmax(numbers.is_null().to_numpy())) if len(column) else 0
        if not len(column) or not numbers.null_count():
            column = numbers
        else:
            raise DataError(
                f"row {row} holds no number.",
                column=name,
                value=column[row],
                remedy="Give numbers or leave it out.",
            )
    if column.null_count():
        row = int(np.argmax(column.is_null().to_numpy()))
        raise DataError(f"row {row} is blank.", column=name, remedy="Fill it, or remove the row.")
    wanted = pl.Float32 if column.dtype in (pl.Float32, pl.Int8, pl.UInt8, pl.Int16, pl.UInt16) else pl.Float64
    return column.cast(wanted).to_numpy()


def time_column(frame: pl.DataFrame, name: str | None) -> NDArray[np.int64] | None:
    """A column of times as whole seconds since 1970, or None when it is not there."""
    if name is None or name not in frame.columns:
        return None
    column = frame[name]
    if column.null_count():
        row = int(np.argmax(column.is_null().to_numpy()))
        raise DataError(f"row {row} is blank.", column=name, remedy="Fill it, or leave the column out.")
    if column.dtype.is_temporal():
        return column.cast(pl.Datetime("us")).dt.epoch("s").cast(pl.Int64).to_numpy()
    if column.dtype.is_integer():
        return column.cast(pl.Int64).to_numpy()
    if column.dtype.is_float():
        seconds = column.to_numpy()
        wrong = ~np.isfinite(seconds)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise DataError(f"row {row} is no time.", column=name, value=float(seconds[row]))
        return np.floor(seconds).astype(np.int64)
    raise DataError(
        f"times of type {column.dtype} are not understood.",
        column=name,
        remedy="Give seconds since 1970 or a datetime column.",
    )


def as_mask(keep: Any, length: int) -> NDArray[np.bool_]:
    """A mask over records, one truth value each; anything else is a UsageError."""
    mask = np.empty(0, dtype=object) if isinstance(keep, pl.Expr) else np.asarray(keep)
    if mask.shape == (length,) and (mask.dtype == bool or not length):
        return mask.astype(bool)
    found = "an expression" if isinstance(keep, pl.Expr) else f"{mask.dtype} of shape {mask.shape}"
    raise UsageError(
        f"the mask is {found}; {length:,} truth values are needed, one for each record.",
        remedy='Give a boolean array, or a function of the frame such as lambda frame: frame["rating"] > 3.',
    )


def _from_pandas(data: Any, ids: Collection[str]) -> pl.DataFrame:
    """Column by column through numpy, so that pyarrow's view of object columns does not get in the way."""
    frame = data if hasattr(data, "columns") else data.to_frame()
    columns: dict[str, pl.Series] = {}
    for name in frame.columns:
        values = frame[name]
        if values.dtype == object or str(values.dtype) in ("string", "str"):
            missing = values.isna()
            python = [None if gone else value for value, gone in zip(values.tolist(), missing, strict=True)]
            columns[str(name)] = _python_column(python, ids=str(name) in ids)
        elif str(values.dtype) == "category":
            python = values.astype(object).where(values.notna(), None).tolist()
            columns[str(name)] = _python_column(python, ids=str(name) in ids)
        else:
            columns[str(name)] = _owned(values.to_numpy())
    return pl.DataFrame(columns)


def _from_columns(data: Mapping[str, Any], ids: Collection[str]) -> pl.DataFrame:
    columns = {
        name: values
        if isinstance(values, pl.Series)
        else _owned(values)
        if isinstance(values, np.ndarray) and values.dtype.kind != "O"
        else _python_column(list(values), ids=name in ids)
        for name, values in data.items()
    }
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"the columns have different lengths: {lengths}.")
    return pl.DataFrame(columns)


def _from_tuples(data: Iterable[Any], names: Sequence[str], at_least: int, ids: Collection[str]) -> pl.DataFrame:
    rows = [_row(row, number) for number, row in enumerate(data)]
    width = len(rows[0]) if rows else min(at_least, len(names))
    for number, row in enumerate(rows):
        if len(row) != width:
            raise DataError(f"row {number} has {len(row)} fields, the first has {width}.", value=row)
    if not 1 <= width <= len(names):
        raise DataError(f"rows of {width} fields are not understood.", remedy=f"Give {', '.join(names)}.")
    columns = zip(*rows, strict=True) if rows else itertools.repeat((), width)
    named = zip(names, columns, strict=False)
    return pl.DataFrame({name: _python_column(list(column), ids=name in ids) for name, column in named})


def _row(row: Any, number: int) -> Sequence[Any]:
    if isinstance(row, tuple | list):
        return row
    # Text and mappings can be iterated too, but their letters and their keys are not what the caller means.
    if isinstance(row, str | bytes | Mapping) or not isinstance(row, Iterable):
        raise DataError(
            f"row {number} is no tuple but {type(row).__name__}.",
            value=row,
            remedy="Give tuples, or a mapping from column names to arrays.",
        )
    return tuple(row)


def _owned(values: NDArray[Any]) -> pl.Series:
    """A series with its own memory: polars would look at the caller's array, which can change under it."""
    return pl.Series(values.copy())


def _python_column(values: list[Any], *, ids: bool) -> pl.Series:
    """A series of Python values: polars' own type where it has one, objects where it has none (ids of any kind)."""
    kinds = {type(value) for value in values if value is not None}
    # polars would put the value of an Enum in place of its member.
    plain = not any(issubclass(kind, enum.Enum) for kind in kinds)
    numbers = not ids and kinds <= {int, float, bool, np.float64, np.float32}
    if plain and (numbers or len(kinds) <= 1):
        try:
            series = pl.Series(values, strict=False) if kinds <= {int, float} else pl.Series(values)
        except (TypeError, OverflowError, pl.exceptions.PolarsError):
            series = None
        if series is not None and series.dtype != pl.Object and not series.dtype.is_nested():
            return series
    if None in values:
        raise DataError(f"row {values.index(None)} is blank.", remedy="Fill it, or remove the row.")
    return as_id_series(values, what="record")
