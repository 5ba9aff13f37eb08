"""Tables of any library as polars frames, without copying where that is possible."""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.ids import as_id_series
from discreet.data.periods import Window
from discreet.data.values import spelled_column, spelled_values
from discreet.errors import DataError, Remedy, UsageError

__all__ = [
    "as_frame",
    "as_mask",
    "numbers_of",
    "numeric_column",
    "require_columns",
    "seconds_of",
    "time_column",
    "times_within",
    "typed_columns",
]

LARGEST = 2**62
"""The largest time that is written as a number."""
MOST_EXACT = 2**53
"""Whole numbers beyond this are rounded as 64-bit floats."""


def as_frame(
    data: Any,
    names: Sequence[str],
    *,
    at_least: int = 2,
    ids: Collection[str] = (),
    as_text: Collection[str] | None = (),
) -> pl.DataFrame:
    """A polars frame from polars, pandas, Arrow, Spark, a mapping of arrays, a sparse matrix or an iterable of tuples.

    Typed columns (``typed_columns``) keep their types, which count as declared by the caller. The type of a Python
    value does not depend on the other rows.

    Parameters
    ----------
    names
        Columns of an iterable of tuples, in order; a sparse matrix fills the first three.
    at_least
        Number of columns of an empty iterable of tuples.
    ids
        Columns of ids. Numbers of several types are not converted to floats: one float among them would round whole
        numbers beyond 2⁵³.
    as_text
        Columns of which Python values become text, each by its own type as in ``values.spelled``; None for all but the
        ids.
    """
    frame = _as_frame(data, names, at_least, ids, as_text)
    untyped = [name for name in _texts(frame.columns, ids, as_text) if frame[name].dtype == pl.Object]
    return frame.with_columns(spelled_column(frame[name]) for name in untyped) if untyped else frame


def typed_columns(data: Any) -> frozenset[str]:
    """The columns with a type: of polars, Arrow, Spark, numpy, and of pandas where it is not object or text."""
    if isinstance(data, pl.DataFrame | pl.LazyFrame):
        return frozenset(name for name, dtype in data.lazy().collect_schema().items() if dtype != pl.Object)
    module = type(data).__module__.partition(".")[0]
    if module == "pandas":
        frame = data if hasattr(data, "columns") else data.to_frame()
        return frozenset(str(name) for name in frame.columns if not _is_untyped(frame[name]))
    if module == "pyarrow":
        return frozenset(getattr(data, "column_names", None) or data.schema.names)
    if module == "pyspark":
        return frozenset(data.columns)
    if isinstance(data, Mapping):
        arrays = (name for name, v in data.items() if isinstance(v, np.ndarray) and v.dtype.kind != "O")
        series = (name for name, v in data.items() if isinstance(v, pl.Series) and v.dtype != pl.Object)
        return frozenset([*arrays, *series])
    return frozenset()


def _texts(columns: Collection[str], ids: Collection[str], as_text: Collection[str] | None) -> Collection[str]:
    if as_text is None:
        return [name for name in columns if name not in ids]
    return [name for name in as_text if name in columns]


def _as_frame(
    data: Any, names: Sequence[str], at_least: int, ids: Collection[str], as_text: Collection[str] | None
) -> pl.DataFrame:
    if isinstance(data, pl.DataFrame):
        return data
    if isinstance(data, pl.LazyFrame):
        return data.collect()
    module = type(data).__module__.partition(".")[0]
    if module == "pandas":
        return _from_pandas(data, ids, as_text)
    if module in ("pyarrow", "pyspark"):
        return pl.DataFrame(pl.from_arrow(data if module == "pyarrow" else data.toArrow()))
    if module == "scipy":
        coo = data.tocoo()
        return pl.DataFrame(dict(zip(names, map(_owned, (coo.row, coo.col, coo.data)), strict=False)))
    if isinstance(data, Mapping):
        return _from_columns(data, ids, as_text)
    if isinstance(data, Iterable) and not isinstance(data, str | bytes):
        return _from_tuples(data, names, at_least, ids, as_text)
    raise UsageError(
        f"cannot read records from {type(data).__name__}.",
        remedy="Give a polars, pandas or Arrow table, a mapping of arrays, a sparse matrix, or tuples.",
    )


def require_columns(frame: pl.DataFrame, wanted: Iterable[str], remedy: str, *, file: Path | None = None) -> None:
    """Raise a DataError for the first column that the frame does not have."""
    for column in wanted:
        if column not in frame.columns:
            raise DataError(
                f"there is no column {column!r}; the columns are {', '.join(map(repr, frame.columns))}.",
                file=file,
                column=column,
                remedy=remedy,
            )


def numeric_column(frame: pl.DataFrame, name: str | None) -> NDArray[np.floating] | None:
    """A column of numbers as floats, or None when there is no such column. Other values and blanks are errors."""
    if name is None or name not in frame.columns:
        return None
    column = frame[name]
    numbers = numbers_of(column)
    if numbers.null_count():
        row = int(np.argmax(numbers.is_null().to_numpy()))
        if column.dtype.is_numeric() or column.dtype == pl.Boolean:
            raise DataError(f"row {row} is blank.", column=name, remedy="Fill it, or remove the row.")
        raise DataError(
            f"row {row} is not a number.",
            column=name,
            value=column[row],
            remedy="Give numbers, or leave the column out.",
        )
    wanted = pl.Float32 if column.dtype in (pl.Float32, pl.Int8, pl.UInt8, pl.Int16, pl.UInt16) else pl.Float64
    return numbers.cast(wanted).to_numpy()


def numbers_of(column: pl.Series) -> pl.Series:
    """The numbers in a column; null where there is none. A DataError for types that are no numbers."""
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Duration):
        raise DataError(f"values of type {column.dtype} are not numbers.", column=column.name, remedy="Give numbers.")
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return column
    if column.dtype == pl.Object:
        return pl.Series([_number(value) for value in column], dtype=pl.Float64)
    return _numbers_in(column.cast(pl.String, strict=False))


def times_within(frame: pl.DataFrame, name: str | None, window: Window) -> pl.Series:
    """Which rows have a time in the window; each row is looked at by itself."""
    if name is None or name not in frame.columns:
        if frame.is_empty():
            return pl.Series([], dtype=pl.Boolean)
        raise DataError(
            "records without times cannot be held to a window of time.",
            remedy=Remedy("Name the column with timestamp=.", cli="Name it: --column timestamp=…."),
        )
    timed = frame[name].is_not_null()
    if frame[name].dtype.is_float():
        timed &= frame[name].is_finite()
    seconds = time_column(frame.filter(timed), name)
    assert seconds is not None
    keep = timed.to_numpy().copy()
    keep[keep] = window.contains(seconds)
    return pl.Series(keep)


def time_column(frame: pl.DataFrame, name: str | None) -> NDArray[np.int64] | None:
    """A column of times as whole seconds since 1970, or None when there is no such column."""
    if name is None or name not in frame.columns:
        return None
    column = frame[name]
    if column.null_count():
        row = int(np.argmax(column.is_null().to_numpy()))
        raise DataError(f"row {row} is blank.", column=name, remedy="Fill it, or leave the column out.")
    seconds = seconds_of(column)
    if seconds.null_count():
        row = int(np.argmax(seconds.is_null().to_numpy()))
        remedy = f"Give seconds since 1970{' or datetimes' if column.dtype == pl.Object else ''}."
        raise DataError(f"row {row} is no time.", column=name, value=column[row], remedy=remedy)
    return seconds.to_numpy()


def seconds_of(column: pl.Series) -> pl.Series:
    """Whole seconds since 1970; null where a value is no time. A DataError for types that are no times."""
    if column.dtype in (pl.Date, pl.Datetime):
        return column.cast(pl.Datetime("us")).dt.epoch("s").cast(pl.Int64)
    if column.dtype == pl.Object:
        return pl.Series([_seconds(value) for value in column], dtype=pl.Int64)
    if column.dtype.is_integer():
        return column.cast(pl.Int64, strict=False)
    if column.dtype.is_float():
        return column.floor().set(~(column.abs() < LARGEST).fill_null(False), None).cast(pl.Int64)
    raise DataError(
        f"times of type {column.dtype} are not understood.",
        column=column.name,
        remedy="Give seconds since 1970 or a datetime column.",
    )


def as_mask(keep: Any, length: int) -> NDArray[np.bool_]:
    """A mask with one truth value per record; anything else is a UsageError."""
    mask = np.empty(0, dtype=object) if isinstance(keep, pl.Expr) else np.asarray(keep)
    if mask.shape == (length,) and (mask.dtype == bool or not length):
        return mask.astype(bool)
    found = "an expression" if isinstance(keep, pl.Expr) else f"{mask.dtype} of shape {mask.shape}"
    raise UsageError(
        f"the mask is {found}; {length:,} truth values are needed, one for each record.",
        remedy='Give a boolean array, or a function of the frame such as lambda frame: frame["rating"] > 3.',
    )


def _numbers_in(texts: pl.Series) -> pl.Series:
    return texts.str.strip_chars().cast(pl.Float64, strict=False)


def _number(value: Any) -> float | None:
    """One rating as a number; None where it is none. Text is parsed as in a column of text."""
    if isinstance(value, str):
        return _numbers_in(pl.Series([value]))[0]
    return float(value) if isinstance(value, int | float | Decimal | np.number | np.bool_) else None


def _seconds(value: Any) -> int | None:
    """One time: seconds since 1970, a date, or a datetime, which is UTC without a zone; None for anything else."""
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if isinstance(value, datetime):
        value = (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LARGEST:
        return None
    return math.floor(value)


def _is_untyped(values: Any) -> bool:
    """Whether a pandas column holds Python values, so that its type depends on all of them."""
    return values.dtype == object or str(values.dtype) in ("string", "str", "category")


def _from_pandas(data: Any, ids: Collection[str], as_text: Collection[str] | None) -> pl.DataFrame:
    """Column by column through numpy: pyarrow would infer types of object columns."""
    frame = data if hasattr(data, "columns") else data.to_frame()
    if len(doubled := frame.columns[frame.columns.duplicated()]):
        raise DataError(
            f"there are several columns {doubled[0]!r}.", column=str(doubled[0]), remedy="Rename one of them."
        )
    texts = _texts([str(name) for name in frame.columns], ids, as_text)
    columns: dict[str, pl.Series] = {}
    for label in frame.columns:
        values, name = frame[label], str(label)
        if _is_untyped(values):
            missing = values.isna()
            python = [None if gone else value for value, gone in zip(values.tolist(), missing, strict=True)]
            columns[name] = _python_column(python, name, ids=ids, texts=texts)
        else:
            columns[name] = _from_typed_pandas(values)
    return pl.DataFrame(columns)


def _from_typed_pandas(values: Any) -> pl.Series:
    """A typed column, which keeps its type whether values are missing or not."""
    numpy_type = getattr(values.dtype, "numpy_dtype", None)
    if hasattr(values.dtype, "pyarrow_dtype"):
        return pl.Series(pl.from_arrow(values.array.__arrow_array__()))
    if getattr(values.dtype, "tz", None) is not None:
        return _owned(values.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
    if numpy_type is not None and numpy_type.kind in "iufb":
        present = pl.Series(values.notna().to_numpy())
        filled = _owned(values.to_numpy(dtype=numpy_type, na_value=numpy_type.type(0)))
        return pl.select(pl.when(present).then(filled)).to_series()
    return _owned(values.to_numpy())


def _from_columns(data: Mapping[str, Any], ids: Collection[str], as_text: Collection[str] | None) -> pl.DataFrame:
    texts = _texts(list(data), ids, as_text)
    columns = {
        name: values
        if isinstance(values, pl.Series)
        else _owned(values)
        if isinstance(values, np.ndarray) and values.dtype.kind != "O"
        else _python_column(list(values), name, ids=ids, texts=texts)
        for name, values in data.items()
    }
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"the columns have different lengths: {lengths}.")
    return pl.DataFrame(columns)


def _from_tuples(
    data: Iterable[Any], names: Sequence[str], at_least: int, ids: Collection[str], as_text: Collection[str] | None
) -> pl.DataFrame:
    rows = [_row(row, number) for number, row in enumerate(data)]
    width = len(rows[0]) if rows else min(at_least, len(names))
    for number, row in enumerate(rows):
        if len(row) != width:
            raise DataError(f"row {number} has {len(row)} fields, the first has {width}.", value=row)
    if not 1 <= width <= len(names):
        raise DataError(f"rows of {width} fields are not understood.", remedy=f"Give {', '.join(names)}.")
    columns = zip(*rows, strict=True) if rows else itertools.repeat((), width)
    texts = _texts(names, ids, as_text)
    named = zip(names, columns, strict=False)
    return pl.DataFrame({name: _python_column(list(column), name, ids=ids, texts=texts) for name, column in named})


def _row(row: Any, number: int) -> Sequence[Any]:
    if isinstance(row, tuple | list):
        return row
    # Text and mappings can be iterated too, but not over fields.
    if isinstance(row, str | bytes | Mapping) or not isinstance(row, Iterable):
        raise DataError(
            f"row {number} must be a tuple, got {type(row).__name__}.",
            value=row,
            remedy="Give tuples, or a mapping from column names to arrays.",
        )
    return tuple(row)


def _owned(values: NDArray[Any]) -> pl.Series:
    """A series with its own memory: the caller may change the array later."""
    return pl.Series(values.copy())


def _python_column(values: list[Any], name: str, *, ids: Collection[str], texts: Collection[str]) -> pl.Series:
    """A series of Python values: text where wanted, a polars type that holds all of them unchanged, or objects."""
    if name in texts:
        return spelled_values(values, column=name)
    if name in ids:
        return _id_column(values)
    values = [value.item() if isinstance(value, np.number | np.bool_) else value for value in values]
    kinds = {type(value) for value in values if value is not None}
    # polars would replace a member of an Enum by its value.
    plain = not any(issubclass(kind, enum.Enum) for kind in kinds)
    numbers = kinds <= {int, float, bool} and not _would_round(kinds, values)
    if plain and (numbers or len(kinds) <= 1):
        try:
            series = pl.Series(values, strict=False) if kinds <= {int, float} else pl.Series(values)
        except (TypeError, OverflowError, pl.exceptions.PolarsError):
            series = None
        if series is not None and series.dtype != pl.Object and not series.dtype.is_nested():
            return series
    if None in values:
        return pl.Series(values, dtype=pl.Object)
    return as_id_series(values, what="record")


def _id_column(values: list[Any]) -> pl.Series:
    """Ids of Python; those that are missing (None and NaN) are null, whatever the others are."""
    rows = [row for row, value in enumerate(values) if not (value is None or (type(value) is float and value != value))]
    if len(rows) == len(values):
        return as_id_series(values, what="record")
    present = as_id_series([values[row] for row in rows], what="record")
    if present.dtype != pl.Object:
        places: list[int | None] = [None] * len(values)
        for place, row in enumerate(rows):
            places[row] = place
        return present.gather(pl.Series(places, dtype=pl.UInt32))
    kept = set(rows)
    return pl.Series([value if row in kept else None for row, value in enumerate(values)], dtype=pl.Object)


def _would_round(kinds: set[type], values: list[Any]) -> bool:
    """Whether a float in the column would round a whole number of another row."""
    return float in kinds and any(isinstance(value, int) and abs(value) > MOST_EXACT for value in values)
