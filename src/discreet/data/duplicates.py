"""What happens where a user has several records of one item."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.data.ids import Codes
from discreet.errors import Remedy

__all__ = ["SEVERAL_RECORDS", "Duplicates", "latest_of_each", "repeated_records"]

Duplicates = Literal["error", "last", "keep"]

SEVERAL_RECORDS = Remedy(
    "Choose duplicates='keep' (visits, plays: all of them count) or duplicates='last' (ratings: the latest counts; "
    "guarantees about the presence of one record are then refused).",
    cli="Choose --duplicates keep (visits, plays: all of them count) or --duplicates last (ratings: the latest counts; "
    "guarantees about the presence of one record are then refused).",
)
"""The remedy where a user has several records of one item."""


def repeated_records(user: Codes, item: Codes) -> NDArray[np.bool_]:
    """Which records have the user and item of the record before; records are sorted by user, then item."""
    repeated = np.zeros(user.size, dtype=bool)
    repeated[1:] = (user[1:] == user[:-1]) & (item[1:] == item[:-1])
    return repeated


def latest_of_each(repeated: NDArray[np.bool_], timestamp: NDArray[np.int64] | None) -> NDArray[np.bool_]:
    """Mask of one record in each run of repeats: the latest, or the last in order among equals.

    Examples
    --------
    >>> latest_of_each(np.array([False, True, False]), np.array([9, 5, 7]))
    array([ True, False,  True])
    """
    keep = np.ones(repeated.size, dtype=bool)
    keep[:-1] = ~repeated[1:]
    if timestamp is None:
        return keep
    run = np.cumsum(~repeated) - 1
    latest = np.flatnonzero(timestamp == np.maximum.reduceat(timestamp, np.flatnonzero(~repeated))[run])
    keep[:] = False
    keep[latest[np.append(run[latest][1:] != run[latest][:-1], True)]] = True
    return keep
