"""Tables about items: the shape that counts and rankings are released in."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.counting.contexts import Context
from discreet.data.interactions import Interactions

__all__ = ["catalog_table", "edge_table", "place_columns"]


def catalog_table(
    data: Interactions, codes: NDArray[np.int64] | None = None, **columns: NDArray[Any] | pl.Series
) -> pl.DataFrame:
    """A table of items (all of the catalog unless codes are given) with their ids, public titles and more columns."""
    which = np.arange(data.n_items) if codes is None else codes
    ids = data.items.take(which)
    # Ids that are neither numbers nor text are released as text: a release is plain files.
    named: dict[str, Any] = {"item_id": [repr(i) for i in ids] if ids.dtype == pl.Object else ids}
    if data.item_table is not None and "title" in data.item_table.columns:
        named["title"] = data.titles(which)
    return pl.DataFrame({**named, **columns})


def edge_table(data: Interactions, contexts: tuple[Context, ...], count: NDArray[np.float64]) -> pl.DataFrame:
    """One row for each item and combination of context values, items in catalog order, the last context fastest."""
    n_items, places = count.shape
    items = np.repeat(np.arange(n_items), places)
    columns = place_columns(contexts, np.tile(np.arange(places), n_items))
    return catalog_table(data, items, **columns, count=count.ravel())


def place_columns(contexts: tuple[Context, ...], place: NDArray[np.int64]) -> dict[str, pl.Series]:
    """The values of the contexts at these places, one column a context."""
    if not contexts:
        return {}
    codes = np.unravel_index(place, tuple(len(context.values) for context in contexts))
    return {
        context.name: pl.Series(code.astype(np.uint32)).cat.to(pl.Enum(context.values))
        for context, code in zip(contexts, codes, strict=True)
    }
