"""Dates and times in text as seconds since 1970, each value by itself."""

from __future__ import annotations

import math
from datetime import datetime

import polars as pl

from discreet.data.readers.records import Records
from discreet.data.values import number_in, parsed

__all__ = ["with_seconds"]

EPOCH = datetime(1970, 1, 1)
LARGEST = 2**62
"""The largest time that is written as a number."""

_USUAL = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d")
"""The usual forms of ISO 8601, which are parsed fast."""


def with_seconds(records: Records, column: str, pattern: str | None) -> Records:
    """The records with a text column of times as whole seconds since 1970, called timestamp.

    Parameters
    ----------
    pattern
        The format of the times, as in ``strftime``; None for ISO 8601 or numbers of seconds. Without a time zone they
        are UTC.

    Raises
    ------
    DataError
        At the first value that is no such time.
    """
    written = records.frame[column]
    seconds = _in_iso(written) if pattern is None else _in_pattern(written, pattern)
    if seconds.null_count():
        shape = "ISO 8601, nor a number of seconds" if pattern is None else pattern
        raise records.error(
            int(seconds.is_null().arg_max() or 0),
            f"this is not a time written as {shape}.",
            column=column,
            remedy="Correct it, or check the format.",
        )
    return records.with_frame(records.frame.drop(column).with_columns(timestamp=seconds))


def _in_pattern(written: pl.Series, pattern: str) -> pl.Series:
    try:
        moments = written.str.to_datetime(pattern, strict=False, time_unit="ms")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        moments = pl.Series([None] * len(written), dtype=pl.Datetime("ms"))
    return moments.dt.epoch("s").cast(pl.Int64)


def _in_iso(written: pl.Series) -> pl.Series:
    """Seconds of each value; null where it is no time."""
    written = written.str.strip_chars()
    seconds = pl.Series([None] * len(written), dtype=pl.Int64)
    for pattern in _USUAL:
        if not seconds.null_count():
            return seconds
        seconds = seconds.fill_null(_in_pattern(written, pattern)) if len(seconds) else seconds
    rest = written.filter(seconds.is_null()).unique()
    found = pl.Series([_seconds(text) for text in rest], dtype=pl.Int64)
    return seconds.fill_null(written.replace_strict(rest, found, default=None, return_dtype=pl.Int64))


def _seconds(text: str | None) -> int | None:
    number = None if text is None else number_in(text)
    if number is not None:
        return math.floor(number) if abs(number) < LARGEST else None
    moment = None if text is None else parsed(text, "time")
    return None if moment is None else math.floor((moment - EPOCH).total_seconds())  # type: ignore[operator]
