"""Calendar periods, and the window of time that data are declared to lie in.

A window is public: whoever reads the data declares it. Records outside of it are left out one by one, each by its own
time, so that no record decides which periods the data are about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Literal
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError

__all__ = ["PERIODS", "Per", "Period", "Window", "date_of", "period_at", "require_per"]

Per = Literal["year", "quarter", "month", "week", "day"]

PERIODS: tuple[Per, ...] = ("year", "quarter", "month", "week", "day")

MOST_PERIODS = 1_000
"""Of one window: every one of them is charged."""

_CODES: dict[Per, str] = {
    "year": r"(\d{4})",
    "quarter": r"(\d{4})-Q([1-4])",
    "month": r"(\d{4})-(\d{2})",
    "week": r"(\d{4})-W(\d{2})",
    "day": r"(\d{4})-(\d{2})-(\d{2})",
}
_EXAMPLES = "2026, 2026-Q4, 2026-11, 2026-W47, 2026-11-18 or 2026-11-01..2026-11-30"


@dataclass(frozen=True, order=True)
class Period:
    """One calendar year, quarter, month, ISO week or day.

    Parameters
    ----------
    first
        Its first day.
    per
        What kind of period it is.

    Examples
    --------
    >>> print(Period.of("2026-Q4"), Period.of("2026-W01").first, Period.of("2026-11").last)
    2026-Q4 2025-12-29 2026-11-30
    """

    first: date
    per: Per

    @classmethod
    def of(cls, code: str) -> Period:
        """Read a period from its code: 2026, 2026-Q4, 2026-11, 2026-W47 or 2026-11-18."""
        for per, pattern in _CODES.items():
            if found := re.fullmatch(pattern, code, flags=re.ASCII):
                year, *rest = (int(number) for number in found.groups())
                try:
                    return cls(_first_day(per, year, rest), per)
                except ValueError:
                    break
        raise UsageError(f"{code!r} is not a calendar period.", remedy=f"Write for example {_EXAMPLES}.")

    @property
    def next(self) -> Period:
        """The period after this one."""
        return Period(_first_of_next(self.first, self.per), self.per)

    @property
    def last(self) -> date:
        """Its last day."""
        return self.next.first - timedelta(days=1)

    def __str__(self) -> str:
        year, month = self.first.year, self.first.month
        iso = self.first.isocalendar()
        return {
            "year": f"{year:04}",
            "quarter": f"{year:04}-Q{(month + 2) // 3}",
            "month": f"{year:04}-{month:02}",
            "week": f"{iso.year:04}-W{iso.week:02}",
            "day": self.first.isoformat(),
        }[self.per]


@dataclass(frozen=True)
class Window:
    """The days that data are about, in a time zone; declared by whoever reads the data.

    Parameters
    ----------
    first, last
        The first and the last day, both included.
    time_zone
        Where days begin and end, as an IANA name.

    Examples
    --------
    >>> november = Window.of("2026-11", time_zone="Europe/Berlin")
    >>> print(november, [str(period) for period in november.periods("quarter")])
    2026-11-01..2026-11-30 (Europe/Berlin) ['2026-Q4']
    >>> [str(period) for period in Window.of("2025-12-30..2026-01-02").periods("year")]
    ['2025', '2026']
    """

    first: date
    last: date
    time_zone: str = "UTC"

    def __post_init__(self) -> None:
        _zone(self.time_zone)
        if self.last < self.first:
            raise UsageError(f"the window ends on {self.last}, before its first day, {self.first}.")
        if not date(1900, 1, 1) <= self.first <= self.last <= date(9000, 1, 1):
            raise UsageError(f"the window {self.first}..{self.last} must lie between the years 1900 and 9000.")

    @classmethod
    def of(cls, given: Window | str | Sequence[str | date], time_zone: str = "UTC") -> Window:
        """Read a window: a period such as "2026-11", "2026-11-01..2026-11-30", or its first and last day."""
        if isinstance(given, Window):
            return given
        parts = given.split("..") if isinstance(given, str) else list(given)
        if len(parts) == 1 and isinstance(parts[0], str):
            period = Period.of(parts[0].strip())
            return cls(period.first, period.last, time_zone)
        if len(parts) != 2:
            raise UsageError(f"{given!r} is not a window of time.", remedy=f"Write for example {_EXAMPLES}.")
        first, last = (Period(part, "day") if isinstance(part, date) else Period.of(part.strip()) for part in parts)
        return cls(first.first, last.last, time_zone)

    @classmethod
    def declared(cls, given: Window | str | Sequence[str | date] | None, time_zone: str | None) -> Window | None:
        """The window that was declared for data, or None where none was."""
        if given is None and time_zone is not None:
            raise UsageError("a time zone without a window says nothing.", remedy="Give the window too, or neither.")
        if isinstance(given, Window) and time_zone not in (None, given.time_zone):
            raise UsageError(f"the window is of {given.time_zone}, and the time zone given is {time_zone}.")
        return None if given is None else cls.of(given, time_zone or "UTC")

    def covers(self, other: Window) -> bool:
        """Whether every moment of another window lies in this one."""
        return self.start <= other.start and other.end <= self.end

    @property
    def start(self) -> int:
        """Its first second, in seconds since 1970."""
        return _midnight(self.first, self.time_zone)

    @property
    def end(self) -> int:
        """The first second after it."""
        return _midnight(self.last + timedelta(days=1), self.time_zone)

    @property
    def code(self) -> str:
        """The days as text, which ``of`` reads."""
        return f"{self.first}..{self.last}"

    def __str__(self) -> str:
        return f"{self.code} ({self.time_zone})"

    def contains(self, seconds: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which times lie in it; each is looked at by itself."""
        return (seconds >= self.start) & (seconds < self.end)

    def periods(self, per: Per, time_zone: str | None = None) -> tuple[Period, ...]:
        """Every period that it meets, in order, whether or not records fall into it.

        Parameters
        ----------
        time_zone
            Where these periods begin and end; that of the window by default.
        """
        zone = time_zone or self.time_zone
        periods = [period_at(self.start, per, zone)]
        while _midnight(periods[-1].next.first, zone) < self.end:
            periods.append(periods[-1].next)
            if len(periods) > MOST_PERIODS:
                raise UsageError(
                    f"the window {self} meets more than {MOST_PERIODS:,} periods, and each would be charged.",
                    remedy="Declare a shorter window, or keep the account per year.",
                )
        return tuple(periods)


def period_at(seconds: float, per: Per, time_zone: str = "UTC") -> Period:
    """The period that contains a moment, in seconds since 1970.

    Examples
    --------
    >>> print(period_at(0, "week"), period_at(-1, "year"), period_at(0, "day", "America/New_York"))
    1970-W01 1969 1969-12-31
    """
    day = datetime.fromtimestamp(seconds, tz=_zone(time_zone)).date()
    # Where a day begins later than at midnight, the moment belongs to the day whose first second is not after it.
    while _midnight(day + timedelta(days=1), time_zone) <= seconds:
        day += timedelta(days=1)
    while _midnight(day, time_zone) > seconds:
        day -= timedelta(days=1)
    return Period(_first_of(day, require_per(per)), per)


def date_of(seconds: int) -> str:
    """A moment, in seconds since 1970, as people read it."""
    try:
        return f"{datetime.fromtimestamp(int(seconds), UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):  # beyond the years 1 to 9999
        return f"{seconds} seconds after 1970"


def require_per(per: str) -> Per:
    """The kind of period with this name."""
    if per not in PERIODS:
        raise UsageError(f"there are no periods per {per!r}.", remedy=f"Choose one of {', '.join(PERIODS)}.")
    return per


def _first_of(day: date, per: Per) -> date:
    return {
        "year": day.replace(month=1, day=1),
        "quarter": day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1),
        "month": day.replace(day=1),
        "week": day - timedelta(days=day.weekday()),
        "day": day,
    }[per]


def _first_of_next(first: date, per: Per) -> date:
    if per in ("week", "day"):
        return first + timedelta(days=7 if per == "week" else 1)
    months = first.month - 1 + {"year": 12, "quarter": 3, "month": 1}[per]
    return first.replace(year=first.year + months // 12, month=months % 12 + 1)


def _first_day(per: Per, year: int, rest: list[int]) -> date:
    if per == "week":
        return date.fromisocalendar(year, rest[0], 1)
    if per == "quarter":
        return date(year, 3 * rest[0] - 2, 1)
    month, day = [*rest, 1, 1][:2]
    return date(year, month, day)


@lru_cache(maxsize=4096)
def _midnight(day: date, time_zone: str) -> int:
    """The first second of a day, in seconds since 1970."""
    local = datetime(day.year, day.month, day.day, tzinfo=_zone(time_zone))
    return int(local.astimezone(UTC).timestamp())


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError):
        raise UsageError(
            f"the time zone {name!r} is not known.", remedy='Write an IANA name such as "Europe/Berlin", or "UTC".'
        ) from None
