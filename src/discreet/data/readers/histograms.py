"""Histograms: one count on a line (Search Logs, NetTrace, Social Network), or an array of NumPy of any dimension.

References
----------
M. Hay, V. Rastogi, G. Miklau, D. Suciu: Boosting the accuracy of differentially private histograms through
consistency. VLDB 2010.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.readers.delimited import read_delimited
from discreet.data.readers.drafts import TableDraft
from discreet.data.readers.formats import Format, Location
from discreet.data.readers.layout import Column, Layout
from discreet.data.readers.records import Origins, Records
from discreet.errors import DataError, Remedy, UsageError

__all__ = ["FORMATS"]

MOST_ROWS = 2**28
"""Limit of the number of rows: a few bytes can declare more rows than fit into memory."""

_NAMES = ("searchlogs*", "search_logs*", "nettrace*", "socialnetwork*", "social_network*", "*.hist", "*.histogram")
_ARRAY = "*.npy"


def load_histogram(place: Location, *, attribute: str = "bin") -> TableDraft:
    """Line i holds the number of rows with the value i, from 0. Options: ``attribute``, what to call the values.

    Of an array every axis is an attribute, whose values are its places from 0: ``attribute="age,region"``.
    """
    if (array := place.main(_ARRAY)) is not None and array.name.lower().endswith(".npy"):
        return _table(_counts(array), attribute, Origins.without_lines(array), array)
    path = place.need(*_NAMES)
    lines = read_delimited(path, Layout((Column("count", "integer"),)))
    counts = lines.frame["count"].to_numpy()
    if (counts < 0).any():
        raise lines.error(int(np.argmax(counts < 0)), "the count is below 0.", column="count", remedy="Correct it.")
    return _table(counts, attribute, lines.origins, path)


def _table(counts: NDArray[np.integer], attribute: str, origins: Origins, path: Path) -> TableDraft:
    """A row for each that was counted."""
    # Summed as floating point, which does not wrap around.
    if float(counts.astype(np.float64).sum()) > MOST_ROWS:
        raise DataError(
            f"these counts add up to more than {MOST_ROWS:,} rows.", file=path, remedy="Give a part of the histogram."
        )
    names = _names(attribute, counts.ndim, path)
    cells = np.repeat(np.arange(counts.size, dtype=np.int64), counts.ravel().astype(np.int64))
    places = np.unravel_index(cells, counts.shape)
    rows = pl.DataFrame({name: place.astype(np.int64) for name, place in zip(names, places, strict=True)})
    domains = {name: range(size) for name, size in zip(names, counts.shape, strict=True)}
    return TableDraft(Records(rows, origins), domains)


def _names(attribute: str, axes: int, path: Path) -> list[str]:
    """What the axes are called: as the caller says, or bin, or axis1, axis2, …"""
    if attribute == "bin" and axes > 1:
        return [f"axis{number}" for number in range(1, axes + 1)]
    names = [name.strip() for name in attribute.split(",")] if axes > 1 else [attribute]
    if len(names) != axes or len(set(names)) < axes or not all(names):
        raise UsageError(
            f"{path} has {axes} axes, and attribute={attribute!r} does not name each by a name of its own.",
            remedy='Write attribute="age,region".',
        )
    return names


def _counts(path: Path) -> NDArray[np.integer]:
    """The array of counts in a file of NumPy. What it holds is settled by the type and shape that the file declares."""
    try:
        # Mapped, not read: a file can declare an array that is larger than the memory.
        counts = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, TypeError, EOFError, SyntaxError, OverflowError, MemoryError, RecursionError):
        counts = None
    if not isinstance(counts, np.ndarray):
        raise DataError(
            "this is no array of NumPy, or it is damaged or packed.",
            file=path,
            remedy="Write it with numpy.save(path, counts), and do not pack it.",
        )
    if counts.dtype.kind not in "iu":
        raise DataError(
            f"the array is of type {counts.dtype}; counts are whole numbers.",
            file=path,
            remedy=Remedy("Write it as whole numbers: numpy.save(path, counts.astype('int64'))."),
        )
    if not counts.ndim or not counts.size:
        raise DataError("the array has no cells.", file=path, remedy="Save the whole histogram.")
    if counts.dtype.kind == "i" and (below := counts < 0).any():
        place = tuple(int(axis) for axis in np.unravel_index(int(np.argmax(below)), counts.shape))
        where = f"{place[0]}" if len(place) == 1 else f"{place}"
        raise DataError(
            f"the count in cell {where} is below 0.", file=path, value=int(counts[place]), remedy="Correct it."
        )
    return counts


FORMATS = (
    Format(
        "histogram",
        "Table",
        "A histogram: one count per line (Search Logs, NetTrace, Social Network), or an array of NumPy with any axes",
        "searchlogs*, nettrace*, socialnetwork*, *.hist, *.npy",
        # In a folder an array may be anything: a release has some, too.
        lambda place: place.main(*_NAMES, *(() if place.is_folder else (_ARRAY,))) is not None,
        load_histogram,
    ),
)
