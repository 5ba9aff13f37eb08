"""Check-ins: Gowalla (and Brightkite) as SNAP publishes them, Foursquare as in TSMC 2014.

A user visits a place many times, so repeated records are kept.

References
----------
E. Cho, S. A. Myers and J. Leskovec, "Friendship and Mobility", KDD 2011.
D. Yang, D. Zhang, V. W. Zheng and Z. Yu, "Modeling User Activity Preference by Leveraging User Spatial Temporal
Characteristics in LBSNs", IEEE Trans. SMC: Systems 45(1), 2015.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from discreet.data.readers.drafts import InteractionsDraft
from discreet.data.readers.formats import Format, Location
from discreet.data.readers.layout import Column, Layout
from discreet.data.readers.published import Source
from discreet.data.readers.records import Records
from discreet.data.readers.times import with_seconds
from discreet.errors import UsageError

__all__ = ["FORMATS"]

_USER, _TIME = Column("user_id", "integer"), Column("time")
_WHERE = (Column("latitude", "number"), Column("longitude", "number"))


def _gowalla_layout(path: Path, head: str) -> Layout:
    # Origins of Gowalla are numbers, those of Brightkite hashes.
    item = Column("item_id", "text" if "brightkite" in path.name.lower() else "integer")
    return Layout((_USER, _TIME, *_WHERE, item), separator="\t")


_GOWALLA = Source(
    ("loc-gowalla_totalCheckins.txt", "loc-brightkite_totalCheckins.txt", "*_totalCheckins.txt"),
    _gowalla_layout,
    lambda records, location, encoding: with_seconds(records, "time", "%Y-%m-%dT%H:%M:%SZ"),
)
_FOURSQUARE = Source(
    ("dataset_TSMC2014_NYC.txt", "dataset_TSMC2014_TKY.txt", "dataset_TSMC2014_*.txt"),
    Layout(
        (
            *(_USER, Column("item_id"), Column("category_id"), Column("category")),
            *(*_WHERE, Column("offset", "integer"), _TIME),
        ),
        separator="\t",
        encoding="latin-1",
    ),
    lambda records, location, encoding: with_seconds(records, "time", "%a %b %d %H:%M:%S %z %Y"),
)


def load_gowalla(place: Location, *, context: Sequence[str] = ()) -> InteractionsDraft:
    """Options: ``context``, some of weekday (Monday is 0, in UTC), latitude, longitude."""
    return _visits(_GOWALLA.read(place), context, local=pl.col("timestamp"))


def load_foursquare(place: Location, *, context: Sequence[str] = (), encoding: str | None = None) -> InteractionsDraft:
    """Options: ``context``, some of weekday (Monday is 0, local time), category, category_id, latitude, longitude."""
    records = _FOURSQUARE.read(place, encoding=encoding)
    return _visits(records, context, local=pl.col("timestamp") + 60 * pl.col("offset"))


def _visits(records: Records, context: Sequence[str], *, local: pl.Expr) -> InteractionsDraft:
    # The first day of 1970 was a Thursday.
    weekday = ((local // 86_400 + 3) % 7).cast(pl.Int8).alias("weekday")
    frame = records.frame.with_columns(weekday)
    wanted = [context] if isinstance(context, str) else list(context)
    offered = [name for name in frame.columns if name not in ("user_id", "item_id", "timestamp", "offset")]
    unknown = [name for name in wanted if name not in offered]
    if unknown:
        raise UsageError(f"there is no context column {unknown[0]!r}.", remedy=f"Choose from {', '.join(offered)}.")
    kept = records.with_frame(frame.select("user_id", "item_id", "timestamp", *wanted))
    return InteractionsDraft(kept, duplicates="keep", context=tuple(wanted))


FORMATS = (
    Format(
        "gowalla",
        "Interactions",
        "Gowalla and Brightkite: check-ins with times; weekday, latitude, longitude as context=",
        "loc-gowalla_totalCheckins.txt",
        lambda place: place.main(*_GOWALLA.files) is not None,
        load_gowalla,
        aliases=("brightkite",),
    ),
    Format(
        "foursquare",
        "Interactions",
        "Foursquare (TSMC 2014, New York or Tokyo): check-ins with times; weekday, category … as context=",
        "dataset_TSMC2014_NYC.txt or dataset_TSMC2014_TKY.txt",
        lambda place: place.main(*_FOURSQUARE.files[:2]) is not None,
        load_foursquare,
    ),
)
