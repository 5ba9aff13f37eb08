"""Weekdays and hours of times, in UTC."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["HOURS", "WEEKDAYS", "hour_of", "weekday_of"]

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
HOURS = tuple(f"{hour:02d}" for hour in range(24))

DAY = 86_400


def weekday_of(timestamp: NDArray[np.int64]) -> NDArray[np.int8]:
    """0 for Monday to 6 for Sunday, of seconds since 1970 (a Thursday).

    >>> weekday_of(np.array([0, 1_333_324_800])).tolist()
    [3, 0]
    """
    return ((timestamp // DAY + 3) % 7).astype(np.int8)


def hour_of(timestamp: NDArray[np.int64]) -> NDArray[np.int8]:
    """0 to 23, of seconds since 1970.

    >>> hour_of(np.array([0, 3_600 * 23])).tolist()
    [0, 23]
    """
    return (timestamp % DAY // 3_600).astype(np.int8)
