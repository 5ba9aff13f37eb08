"""Ids in the type of a public list: each is written by itself, whatever the others are.

The type of a column follows from everybody's records: one text among a million numbers makes all of it text. What one
user's record does to the column must not decide whether another's is found.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import polars as pl

from discreet.data.ids import Codes, IdMap, as_id_series

__all__ = ["id_as_number", "id_as_text", "recognized", "written"]

MOST_DIGITS = 19
"""Of a whole number of 64 bits."""


def id_as_text(value: object) -> str | None:
    """Whole numbers, truth values and text as text; None for any other id. 1 and 1.0 are the same number."""
    if isinstance(value, str | bool):
        return str(value)
    number = id_as_number(value)
    return None if number is None else str(number)


def id_as_number(value: object) -> int | None:
    """Whole numbers, and text that is one, as numbers; None for any other id. 1 and 1.0 are the same number."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str):
        digits = value.removeprefix("-")
        if not (digits.isascii() and digits.isdecimal() and len(digits) <= MOST_DIGITS and str(int(value)) == value):
            return None
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return int(value) if -(2**63) <= value < 2**63 else None


def written(values: Iterable[Any], dtype: pl.DataType) -> list[Any]:
    """Ids as a column of that type has them, None for those that have no such form. Columns of objects have any.

    Examples
    --------
    >>> written([1, "1", "x", 2.5, ("a", 1)], pl.String())
    ['1', '1', 'x', None, None]
    >>> written([1, "1", "x", 2.5, ("a", 1)], pl.Int64())
    [1, 1, None, None, None]
    """
    if dtype == pl.Object:
        return list(values)
    form = id_as_text if dtype == pl.String else id_as_number
    return [form(value) for value in values]


def recognized(known: IdMap, given: Iterable[Hashable] | pl.Series) -> Codes:
    """Codes of ids that may be of another type than the known ones; −1 for those that are not among them.

    Examples
    --------
    >>> recognized(IdMap(["1", "2"]), [2, "1", 3.5])
    array([ 1,  0, -1], dtype=int32)
    """
    series = as_id_series(given, what=known.what)
    if known.series.dtype in (series.dtype, pl.Object):
        return known.encode(series, unknown="mark")
    forms = written(series, known.series.dtype)
    has_form = np.array([form is not None for form in forms], dtype=bool)
    codes = np.full(len(forms), -1, dtype=np.int32)
    names = pl.Series([form for form in forms if form is not None], dtype=known.series.dtype)
    codes[has_form] = known.encode(names, unknown="mark")
    return codes
