"""Tables of items or users, in the order of the codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from discreet.data.frames import as_frame
from discreet.data.id_forms import IdKind, coded
from discreet.data.ids import IdMap
from discreet.errors import DataError

__all__ = ["aligned", "side_table"]


def side_table(
    given: Any, column: str, *, what: str, kind: IdKind | None = None
) -> tuple[IdMap | None, pl.DataFrame | None]:
    """The ids of a table of items or users, in the declared type if there is one, and the table in their order."""
    if given is None:
        return None, None
    if isinstance(given, list | tuple | set | frozenset | range | np.ndarray | pl.Series):
        given = IdMap(list(given) if isinstance(given, set | frozenset) else given, what=what)
    if isinstance(given, IdMap):
        return coded(given.series, kind, what=what)[0] if kind else given, None
    frame = as_frame(given, [column], ids=(column,))
    if column not in frame.columns:
        raise DataError(f"the table of {what}s has no column {column!r}.", column=column)
    ids = coded(frame[column], kind, what=what)[0]
    return ids, aligned(frame, column, ids, kind=kind)


def aligned(frame: pl.DataFrame, column: str, ids: IdMap, *, kind: IdKind | None = None) -> pl.DataFrame:
    """The table with one row for each id, in code order; rows of other ids are left out, missing rows are null."""
    if column not in frame.columns:
        raise DataError(f"the table of {ids.what}s has no column {column!r}.", column=column)
    if kind is None:
        codes = ids.encode(frame[column], unknown="mark")
    else:
        named, rows = coded(frame[column], kind, what=ids.what)
        codes = ids.encode(named.series, unknown="mark")[rows]
    row_of = np.full(len(ids), -1, dtype=np.int64)
    row_of[codes[codes >= 0]] = np.flatnonzero(codes >= 0)
    known = int((codes >= 0).sum())
    if known != int((row_of >= 0).sum()):
        values, counts = np.unique(codes[codes >= 0], return_counts=True)
        raise DataError(
            f"the table of {ids.what}s has {ids.decode([values[np.argmax(counts)]])[0]!r} more than once.",
            column=column,
        )
    index = pl.Series(np.where(row_of < 0, 0, row_of))
    table = frame.drop(column)[index] if known else frame.drop(column).clear(len(ids))
    present = pl.Series(row_of >= 0)
    if known and not present.all():
        table = table.select(pl.when(present).then(pl.col(name)).alias(name) for name in table.columns)
    return table
