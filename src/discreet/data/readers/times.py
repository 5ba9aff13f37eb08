"""Written dates and times as seconds since 1970."""

from __future__ import annotations

import polars as pl

from discreet.data.readers.records import Records

__all__ = ["with_seconds"]


def with_seconds(records: Records, column: str, pattern: str | None) -> Records:
    """The records with a text column of times turned into whole seconds since 1970, under the name timestamp.

    Parameters
    ----------
    pattern
        How the times are written, as in ``strftime``; None for ISO 8601. Without a time zone they are UTC.

    Raises
    ------
    DataError
        At the first value that is no such time.
    """
    written = records.frame[column]
    try:
        moments = written.str.to_datetime(pattern, strict=False, time_unit="ms")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        moments = pl.Series([None] * len(written), dtype=pl.Datetime("ms"))
    if moments.null_count():
        shape = "ISO 8601" if pattern is None else pattern
        raise records.error(
            int(moments.is_null().arg_max() or 0),
            f"this is not a time written as {shape}.",
            column=column,
            remedy="Correct it, or check the format.",
        )
    return records.with_frame(records.frame.drop(column).with_columns(timestamp=moments.dt.epoch("s").cast(pl.Int64)))
