"""What is wrong with the columns of records: missing, unreadable and undeclared values, as masks of rows.

A value is looked at by itself, so that whether a row is left out depends on that row alone. Columns without fault are
not looked at here: a dataset is built, and only where that fails is every column searched for all of its problems.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.frames import MOST_EXACT, numbers_of, seconds_of
from discreet.data.id_forms import IdKind, id_as_number, id_as_text
from discreet.data.problems import LACKING, Found, Problems
from discreet.data.scales import DECLARE_ANOTHER, RatingScale
from discreet.errors import Remedy

__all__ = [
    "DECLARE_IDS",
    "dropped_missing",
    "lacks_id",
    "lacks_value",
    "whole_ids",
    "wrong_ids",
    "wrong_numbers",
    "wrong_times",
]

Mask = NDArray[np.bool_]

MISSING_WORDS = ("nan", "na", "n/a", "<na>", "nat", "null", "none", "\\n")
"""How programs write a missing number or time as text; in lower case. Ids may be called so."""

DECLARE_IDS = Remedy("Correct it, or declare another type with ids=.", cli="Correct it, or give another --ids TYPE.")
FITS = Remedy("Give such ids as text.")


def lacks_id(column: pl.Series, *, blank: bool = True) -> Mask:
    """Where an id is missing: null, NaN, and text that is blank, if that does not count as an id."""
    if column.dtype == pl.Object:
        return np.fromiter((_is_missing(value, blank=blank) for value in column), dtype=bool, count=len(column))
    lacking = column.is_null()
    if column.dtype.is_float():
        lacking |= column.is_nan().fill_null(False)
    texts = _texts(column) if blank else None
    if texts is not None:
        lacking |= (texts.str.strip_chars() == "").fill_null(False)
    return lacking.to_numpy().copy()


def lacks_value(column: pl.Series) -> Mask:
    """Where a number or a time is missing: null, NaN, blank text, and what programs write for a missing value."""
    lacking = lacks_id(column)
    texts = _texts(column)
    if texts is not None:
        lacking |= texts.str.strip_chars().str.to_lowercase().is_in(MISSING_WORDS).fill_null(False).to_numpy()
    elif column.dtype == pl.Object:
        words = [row for row, v in enumerate(column) if isinstance(v, str) and v.strip().lower() in MISSING_WORDS]
        lacking[words] = True
    return lacking


def _texts(column: pl.Series) -> pl.Series | None:
    if column.dtype == pl.String:
        return column
    return column.cast(pl.String) if isinstance(column.dtype, pl.Categorical | pl.Enum) else None


def _is_missing(value: Any, *, blank: bool) -> bool:
    return value is None or (isinstance(value, float) and value != value) or (
        blank and isinstance(value, str) and not value.strip()
    )  # fmt: skip


def dropped_missing(frame: pl.DataFrame, ids: Sequence[str], values: Sequence[str], problems: Problems) -> pl.DataFrame:
    """The rows in which no value is missing; the others are dropped and counted, each by itself.

    Ids that are fractions only because one of them was missing become whole numbers again.
    """
    found = [Found(lacks_id(frame[name]), name, "", missing=True) for name in ids if name in frame.columns]
    found += [Found(lacks_value(frame[name]), name, "", missing=True) for name in values if name in frame.columns]
    good = problems.add_rows(found, frame)
    kept = frame if good.all() else frame.filter(pl.Series(good))
    return kept.with_columns(whole_ids(kept[name]) for name in ids if name in kept.columns)


def whole_ids(column: pl.Series) -> pl.Series:
    """A column of fractions that are whole numbers as such; any other as it is.

    pandas writes whole numbers as fractions where one of them is missing. Whole numbers up to 2⁵³ lose nothing by that.
    """
    if not column.dtype.is_float() or not _are_whole(column).all():
        return column
    return column.cast(pl.Int64)


def _are_whole(column: pl.Series) -> pl.Series:
    return (column == column.floor()) & (column.abs() <= MOST_EXACT)


# What is wrong


def wrong_ids(column: pl.Series, kind: IdKind | None, *, what: str, blank: bool = True) -> list[Found]:
    """Missing ids, and those that have no form of the declared type."""
    name, lacking = column.name, lacks_id(column, blank=blank)
    found = [Found(lacking, name, LACKING, missing=True)]
    if column.dtype.is_float():
        fractions = ~_are_whole(column).fill_null(True).to_numpy() & ~lacking
        return [*found, Found(fractions, name, f"the {what} id is no whole number.", FITS)]
    if column.dtype.is_integer():
        wide = column.cast(pl.Int64, strict=False).is_null().to_numpy() & ~lacking
        return [*found, Found(wide, name, f"the {what} id does not fit into 64 bits.", FITS)]
    form = {"text": id_as_text, "number": id_as_number}.get(kind or "")
    if form is None or (kind == "text" and column.dtype == pl.String):
        return found
    formless = ~_each(column, lambda value: form(value) is not None) & ~lacking
    return [
        *found,
        Found(formless, name, f"the {what} id is not {'text' if kind == 'text' else 'a whole number'}.", DECLARE_IDS),
    ]


def _each(column: pl.Series, test: Callable[[Any], bool]) -> Mask:
    """What a test says of each value; of equal text only once."""
    if column.dtype != pl.String:
        return np.fromiter((test(value) for value in column), dtype=bool, count=len(column))
    distinct = column.unique()
    passes = distinct.filter(pl.Series([value is not None and test(value) for value in distinct], dtype=pl.Boolean))
    return column.is_in(passes.implode()).fill_null(False).to_numpy()


def wrong_numbers(column: pl.Series, scale: RatingScale | None) -> list[Found]:
    """Missing numbers, what is none, infinite ones, and those that are not on the scale."""
    name, lacking = column.name, lacks_value(column)
    numbers = numbers_of(column)
    unread = numbers.is_null().to_numpy() & ~lacking
    values = numbers.fill_null(np.nan).cast(pl.Float64).to_numpy()
    infinite = np.isinf(values)
    found = [
        Found(lacking, name, LACKING, missing=True),
        Found(unread, name, "this is not a number.", "Correct it, or name another column."),
        Found(infinite, name, "this is not a finite number.", "Correct it, or leave it blank."),
    ]
    if scale is not None:
        off = ~scale.contains(values) & ~(lacking | unread | infinite)
        found.append(Found(off, name, f"the rating is not on the declared scale {scale}.", DECLARE_ANOTHER))
    return found


def wrong_times(column: pl.Series) -> list[Found]:
    """Missing times, and what is none."""
    lacking = lacks_value(column)
    unread = seconds_of(column).is_null().to_numpy() & ~lacking
    return [
        Found(lacking, column.name, LACKING, missing=True),
        Found(unread, column.name, "this is no time.", "Give seconds since 1970, a date or a datetime."),
    ]
