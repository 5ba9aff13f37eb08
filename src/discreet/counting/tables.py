"""Tables about items: the shape that counts and rankings are released in."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.interactions import Interactions

__all__ = ["catalog_table"]


def catalog_table(data: Interactions, codes: NDArray[np.int64] | None = None, **columns: NDArray[Any]) -> pl.DataFrame:
    """A table of items (all of the catalog unless codes are given) with their ids, public titles and more columns."""
    which = np.arange(data.n_items) if codes is None else codes
    ids = data.items.take(which)
    # Ids that are neither numbers nor text are released as text: a release is plain files.
    named: dict[str, Any] = {"item_id": [repr(i) for i in ids] if ids.dtype == pl.Object else ids}
    if data.item_table is not None and "title" in data.item_table.columns:
        named["title"] = data.titles(which)
    return pl.DataFrame({**named, **columns})
