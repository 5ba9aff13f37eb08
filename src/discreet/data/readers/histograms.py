"""Histograms of one dimension, one count per line: the usual form of Search Logs, NetTrace and Social Network.

References
----------
M. Hay, V. Rastogi, G. Miklau, D. Suciu: Boosting the accuracy of differentially private histograms through
consistency. VLDB 2010.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from discreet.data.readers.delimited import read_delimited
from discreet.data.readers.drafts import TableDraft
from discreet.data.readers.formats import Format, Location
from discreet.data.readers.layout import Column, Layout
from discreet.data.readers.records import Records
from discreet.errors import DataError

__all__ = ["FORMATS"]

MOST_ROWS = 2**28
"""Limit of the number of rows: a few bytes can declare more rows than fit into memory."""

_NAMES = ("searchlogs*", "search_logs*", "nettrace*", "socialnetwork*", "social_network*", "*.hist", "*.histogram")


def load_histogram(place: Location, *, attribute: str = "bin") -> TableDraft:
    """Line i holds the number of rows with the value i, from 0. Options: ``attribute``, what to call the values."""
    path = place.need(*_NAMES)
    lines = read_delimited(path, Layout((Column("count", "integer"),)))
    counts = lines.frame["count"].to_numpy()
    if (counts < 0).any():
        raise lines.error(int(np.argmax(counts < 0)), "the count is below 0.", column="count", remedy="Correct it.")
    # Summed as floating point, which does not wrap around.
    if float(counts.astype(np.float64).sum()) > MOST_ROWS:
        raise DataError(
            f"these counts add up to more than {MOST_ROWS:,} rows.", file=path, remedy="Give a part of the histogram."
        )
    rows = pl.DataFrame({attribute: np.repeat(np.arange(counts.size, dtype=np.int64), counts)})
    return TableDraft(Records(rows, lines.origins), {attribute: range(counts.size)})


FORMATS = (
    Format(
        "histogram",
        "Table",
        "A histogram of one dimension, one count per line: Search Logs, NetTrace, Social Network",
        "searchlogs*, nettrace*, socialnetwork*, *.hist",
        lambda place: place.main(*_NAMES) is not None,
        load_histogram,
    ),
)
