"""Writing and parsing one value by its own type and by public rules, never by the other values of its column.

Also weekdays and hours of times, in UTC.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import DataError

__all__ = [
    "HOURS",
    "TYPES",
    "WEEKDAYS",
    "ValueType",
    "hour_of",
    "number_in",
    "parsed",
    "spelled",
    "spelled_column",
    "spelled_values",
    "truth_in",
    "weekday_of",
]

ValueType = Literal["text", "number", "boolean", "time"]
TYPES: tuple[ValueType, ...] = get_args(ValueType)

MOST_CHARACTERS = 64
"""The longest text that is read as a number."""

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
HOURS = tuple(f"{hour:02d}" for hour in range(24))

DAY = 86_400

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_TRUTH = {"true": True, "false": False}


def spelled(value: Any) -> str | None:
    """One value as text; None for None and NaN.

    Truth values are ``true`` and ``false``; a whole number has no decimals; times are ISO 8601; text is stripped.

    Raises
    ------
    TypeError
        For a value of any other type.

    Examples
    --------
    >>> [spelled(value) for value in (True, 1, 1.0, 0.1, " phone ", date(2024, 2, 1), float("nan"))]
    ['true', '1', '1', '0.1', 'phone', '2024-02-01', None]
    """
    if isinstance(value, np.datetime64):
        value = None if np.isnat(value) else value.astype("datetime64[us]").item()
    elif isinstance(value, np.generic) and not isinstance(value, np.floating):
        value = value.item()
    if isinstance(value, enum.Enum):
        value = value.value
    if value is None or value != value:
        return None
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Decimal):
        return str(value)
    if isinstance(value, float | np.floating):
        return str(value + 0.0).removesuffix(".0")  # 0.0 and -0.0 are one number
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is neither text, a number, a truth value nor a time")


def spelled_values(values: Iterable[Any], *, column: str) -> pl.Series:
    """Python values as a column of text, each by its own type; a DataError for a value of another type."""
    texts: list[str | None] = []
    for row, value in enumerate(values):
        try:
            texts.append(spelled(value))
        except TypeError:
            raise DataError(
                f"row {row} holds a {type(value).__name__}.",
                column=column,
                value=value,
                remedy="Give text, numbers, truth values, dates or times.",
            ) from None
    return pl.Series(column, texts, dtype=pl.String)


def spelled_column(column: pl.Series) -> pl.Series:
    """A column of any type as text, each value as ``spelled`` writes it.

    Examples
    --------
    >>> spelled_column(pl.Series([1.0, 2.5])).to_list(), spelled_column(pl.Series([True, None])).to_list()
    (['1', '2.5'], ['true', None])
    """
    if column.dtype == pl.String:
        return column.str.strip_chars()
    if isinstance(column.dtype, pl.Enum | pl.Categorical):
        return column.cast(pl.String).str.strip_chars()
    if column.dtype == pl.Object:
        return spelled_values(column, column=column.name)
    if column.dtype == pl.Null:
        return column.cast(pl.String)
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Duration):
        raise DataError(
            f"values of type {column.dtype} cannot be written as text.",
            column=column.name,
            remedy="Give text, numbers, truth values, dates or times.",
        )
    distinct = column.unique()
    # numpy keeps the width of 32-bit numbers, which are written with fewer digits.
    values = distinct.to_numpy() if column.dtype == pl.Float32 else distinct.to_list()
    texts = pl.Series([spelled(value) for value in values], dtype=pl.String)
    return column.replace_strict(distinct, texts, return_dtype=pl.String)


def number_in(text: str) -> Decimal | None:
    """The exact number in a text; None where it is none. 1, 1.0, +1 and 1e0 are the same number.

    Examples
    --------
    >>> number_in("1.50") == number_in("1.5"), number_in("12345678901234567"), number_in("1_0"), number_in("nan")
    (True, Decimal('12345678901234567'), None, None)
    """
    return Decimal(text) if len(text) <= MOST_CHARACTERS and _NUMBER.fullmatch(text) else None


def truth_in(text: str) -> bool | None:
    """True or false, however capitalized; None for any other text."""
    return _TRUTH.get(text.lower())


def parsed(text: str, kind: ValueType) -> Decimal | bool | datetime | str | None:
    """A text parsed in a declared type; None where it has no such form.

    Examples
    --------
    >>> parsed("2024-02-01", "time") == parsed("2024-02-01 00:00:00.000", "time"), parsed("True", "boolean")
    (True, True)
    """
    if kind == "number":
        return number_in(text)
    if kind == "boolean":
        return truth_in(text)
    if kind == "time":
        try:
            moment = datetime.fromisoformat(text)
            return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
        except (ValueError, OverflowError):
            return None
    return text


# Times


def weekday_of(timestamp: NDArray[np.int64]) -> NDArray[np.int8]:
    """0 for Monday to 6 for Sunday, of seconds since 1970 (a Thursday).

    >>> weekday_of(np.array([0, 1_333_324_800])).tolist()
    [3, 0]
    """
    return ((timestamp // DAY + 3) % 7).astype(np.int8)


def hour_of(timestamp: NDArray[np.int64]) -> NDArray[np.int8]:
    """0 to 23, of seconds since 1970.

    >>> hour_of(np.array([0, 3_600 * 23])).tolist()
    [0, 23]
    """
    return (timestamp % DAY // 3_600).astype(np.int8)
