"""Tables and values as people read them, and as JSON has them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

__all__ = ["file_name", "numeric", "plain", "readable", "words"]


def numeric(table: pl.DataFrame) -> list[str]:
    """The columns that hold numbers."""
    return [name for name, kind in table.schema.items() if kind.is_numeric()]


def readable(table: pl.DataFrame) -> list[tuple[str, ...]]:
    """The rows of a table in words, the numbers of a column with equally many digits.

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
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(map(words, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def plain(value: Any) -> Any:
    """A value as JSON has it."""
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
    """A heading as the name of a file."""
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")
