"""Public features of items: columns of the catalog as 0/1 columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl

from discreet.common.arrays import Floats
from discreet.data.interactions import Interactions
from discreet.errors import UsageError

__all__ = ["feature_columns"]

MOST_VALUES = 60
"""Of a column of the catalog with more values the most frequent are kept."""


def feature_columns(data: Interactions, names: Sequence[str]) -> tuple[Floats, tuple[str, ...]]:
    """0/1 columns for the values of public catalog columns, in the order of the items.

    Text is split at blanks, bars and commas ("Action Comedy" has two values); numbers are put into decades. The catalog
    is public, so its values are.
    """
    columns: list[Floats] = []
    labels: list[str] = []
    for name in names:
        if data.item_table is None or name not in data.item_table.columns:
            known = [] if data.item_table is None else data.item_table.columns
            raise UsageError(
                f"the catalog has no column {name!r}.",
                remedy=f"It has {', '.join(known)}."
                if known
                else "Give a table of items: Interactions(…, items=table).",
            )
        values = [_values(cell) for cell in data.item_table[name].to_list()]
        counted = Counter(value for cell in values for value in cell)
        for value in sorted(sorted(counted), key=lambda v: -counted[v])[:MOST_VALUES]:
            columns.append(np.array([value in cell for cell in values], dtype=np.float64))
            labels.append(f"{name}={value}")
    if not columns:
        return np.zeros((data.n_items, 0)), ()
    return np.stack(columns, axis=1), tuple(labels)


def _values(cell: object) -> frozenset[str]:
    if cell is None:
        return frozenset()
    if isinstance(cell, int | float):
        return frozenset([f"{int(cell) // 10 * 10}s"])
    if isinstance(cell, list | tuple | pl.Series):
        return frozenset(str(value) for value in cell)
    text = str(cell)
    if re.fullmatch(r"\d{4}", text):
        return frozenset([f"{int(text) // 10 * 10}s"])
    return frozenset(part for part in re.split(r"[\s|,]+", text) if part)
