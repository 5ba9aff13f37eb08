"""Tables and values as text for people, and as JSON values."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

__all__ = ["file_name", "numeric", "plain", "readable", "text_table", "words"]


def numeric(table: pl.DataFrame) -> list[str]:
    """The names of the columns that hold numbers."""
    return [name for name, kind in table.schema.items() if kind.is_numeric()]


def text_table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, numbers: Sequence[str] = ()) -> str:
    """A table as text with aligned columns; columns named in ``numbers`` are aligned to the right.

    Examples
    --------
    >>> print(text_table(["drink", "cups"], [("tea", 12), ("rum", 3)], numbers=["cups"]))
    drink  cups
    tea      12
    rum       3
    """
    lines = [list(columns), *([words(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    right = [name in numbers for name in columns]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def readable(table: pl.DataFrame) -> list[tuple[str, ...]]:
    """The rows of a table as text; the numbers of a column have the same number of digits.

    Examples
    --------
    >>> readable(pl.DataFrame({"who": ["ann", None], "mae": [0.73451, 0.7], "p": [0.5, 1e-9], "n": [12_000, 3]}))
    [('ann', '0.7345', '0.5000', '12,000'), ('', '0.7000', '1.0e-09', '3')]
    """
    return list(zip(*(_readable_column(table[name]) for name in table.columns), strict=True))


def _readable_column(column: pl.Series) -> list[str]:
    values = column.to_list()
    if not column.dtype.is_float():
        return [words(value) for value in values]
    largest = max((abs(value) for value in values if value is not None and math.isfinite(value)), default=0.0)
    digits = 4 if largest < 10 else 2 if largest < 1000 else 0
    return [_number(value, digits) for value in values]


def _number(value: float | None, digits: int) -> str:
    if value is None or math.isnan(value):
        return ""
    if value != 0 and abs(value) < 0.5 * 10**-digits:
        return f"{value:.1e}"
    return f"{value:,.{digits}f}"


def words(value: Any) -> str:
    """A value as text: lists with commas, whole numbers with thousands separators, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(map(words, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def plain(value: Any) -> Any:
    """A value as JSON can hold it; NaN and infinity become None."""
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(part) for part in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value) if isinstance(value, Fraction | Path) else value


def file_name(heading: str) -> str:
    """A heading as a file name: small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")
