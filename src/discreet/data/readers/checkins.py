"""Check-ins: Gowalla (and Brightkite) as SNAP publishes them, Foursquare as in TSMC 2014.

A user visits a place again and again, so repeated records are kept.

References
----------
E. Cho, S. A. Myers and J. Leskovec, "Friendship and Mobility", KDD 2011.
D. Yang, D. Zhang, V. W. Zheng and Z. Yu, "Modeling User Activity Preference by Leveraging User Spatial Temporal
Characteristics in LBSNs", IEEE Trans. SMC: Systems 45(1), 2015.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from discreet.data.readers.delimited import read_delimited
from discreet.data.readers.drafts import InteractionsDraft
from discreet.data.readers.formats import Format, Place
from discreet.data.readers.layout import Column, Layout
from discreet.data.readers.records import Records
from discreet.data.readers.times import with_seconds
from discreet.errors import UsageError

__all__ = ["FORMATS"]

_GOWALLA = (
    Column("user_id", "integer"),
    Column("time"),
    Column("latitude", "number"),
    Column("longitude", "number"),
    Column("item_id", "id"),
)
_FOURSQUARE = (
    Column("user_id", "integer"),
    Column("item_id"),
    Column("category_id"),
    Column("category"),
    Column("latitude", "number"),
    Column("longitude", "number"),
    Column("offset", "integer"),
    Column("time"),
)


def load_gowalla(place: Place, *, context: Sequence[str] = ()) -> InteractionsDraft:
    """Options: ``context``, some of weekday (Monday is 0, in UTC), latitude, longitude."""
    records = read_delimited(place.need(*_GOWALLA_NAMES), Layout(_GOWALLA, separator="\t"))
    records = with_seconds(records, "time", "%Y-%m-%dT%H:%M:%SZ")
    return _visits(records, context, local=pl.col("timestamp"))


def load_foursquare(place: Place, *, context: Sequence[str] = (), encoding: str = "latin-1") -> InteractionsDraft:
    """Options: ``context``, some of weekday (Monday is 0, local time), category, category_id, latitude, longitude."""
    path = place.need(*_FOURSQUARE_NAMES)
    records = read_delimited(path, Layout(_FOURSQUARE, separator="\t", encoding=encoding))
    records = with_seconds(records, "time", "%a %b %d %H:%M:%S %z %Y")
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
    return InteractionsDraft(
        records.with_frame(frame.select("user_id", "item_id", "timestamp", *wanted)),
        duplicates="keep",
        context=tuple(wanted),
    )


_GOWALLA_NAMES = ("loc-gowalla_totalCheckins.txt", "loc-brightkite_totalCheckins.txt", "*_totalCheckins.txt")
_FOURSQUARE_NAMES = ("dataset_TSMC2014_NYC.txt", "dataset_TSMC2014_TKY.txt", "dataset_TSMC2014_*.txt")

FORMATS = (
    Format(
        "gowalla",
        "Interactions",
        "Gowalla and Brightkite: check-ins with times; weekday, latitude, longitude as context=",
        "loc-gowalla_totalCheckins.txt",
        lambda place: place.main(*_GOWALLA_NAMES) is not None,
        load_gowalla,
        aliases=("brightkite",),
    ),
    Format(
        "foursquare",
        "Interactions",
        "Foursquare (TSMC 2014, New York or Tokyo): check-ins with times; weekday, category … as context=",
        "dataset_TSMC2014_NYC.txt or dataset_TSMC2014_TKY.txt",
        lambda place: place.main("dataset_TSMC2014_NYC.txt", "dataset_TSMC2014_TKY.txt") is not None,
        load_foursquare,
    ),
)
