"""Calendar periods and windows: every moment is in one period, and a window meets all periods of its moments."""

from __future__ import annotations

import itertools
from datetime import UTC, date, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.periods import PERIODS, Per, Period, Window, period_at
from discreet.errors import UsageError

ZONES = st.sampled_from(
    ["UTC", "Europe/Berlin", "America/Sao_Paulo", "Asia/Beirut", "Pacific/Apia", "Asia/Kathmandu", "Africa/Cairo"]
)
MOMENTS = st.integers(-(10**9), 4 * 10**9)


def start_of(period: Period, zone: str) -> int:
    return Window(period.first, period.last, zone).start


@given(MOMENTS, st.sampled_from(PERIODS), ZONES)
def test_every_moment_is_in_exactly_one_period(moment: int, per: Per, zone: str) -> None:
    period = period_at(moment, per, zone)
    assert start_of(period, zone) <= moment < start_of(period.next, zone)
    assert Period.of(str(period)) == period
    assert Period(period.last, "day").next.first == period.next.first


@given(
    st.dates(date(1950, 1, 1), date(2100, 1, 1)),
    st.integers(0, 400),
    st.sampled_from(PERIODS),
    ZONES,
    ZONES,
    st.floats(0, 1),
)
def test_a_window_meets_the_periods_of_all_its_moments(
    first: date, days: int, per: Per, zone: str, account: str, place: float
) -> None:
    window = Window(first, date.fromordinal(first.toordinal() + days), zone)
    periods = window.periods(per, account)
    moment = min(window.start + int(place * (window.end - window.start)), window.end - 1)
    assert period_at(moment, per, account) in periods
    assert list(periods) == sorted(set(periods))
    assert all(before.next == after for before, after in itertools.pairwise(periods))
    # None too many: each has a moment of the window.
    for period in periods:
        assert start_of(period, account) < window.end
        assert start_of(period.next, account) > window.start


def test_times_are_kept_by_their_own_value() -> None:
    window = Window.of("2026-03-29", time_zone="Europe/Berlin")  # a day of 23 hours
    start = int(datetime(2026, 3, 28, 23, tzinfo=UTC).timestamp())
    assert (window.start, window.end - window.start) == (start, 23 * 3600)
    times = np.array([start - 1, start, window.end - 1, window.end])
    assert window.contains(times).tolist() == [False, True, True, False]


def test_a_day_that_does_not_begin_at_midnight_belongs_to_one_period() -> None:
    # Samoa skipped 30 December 2011.
    window = Window.of("2011-12-29..2011-12-31", time_zone="Pacific/Apia")
    assert window.end - window.start == 2 * 24 * 3600


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2026", date(2026, 1, 1), date(2026, 12, 31)),
        ("2026-Q1", date(2026, 1, 1), date(2026, 3, 31)),
        ("2028-02", date(2028, 2, 1), date(2028, 2, 29)),
        ("2026-W53", date(2026, 12, 28), date(2027, 1, 3)),
        ("2026-11-18", date(2026, 11, 18), date(2026, 11, 18)),
        ("2026-11-01..2026-11-30", date(2026, 11, 1), date(2026, 11, 30)),
        ("2025..2026-02", date(2025, 1, 1), date(2026, 2, 28)),
    ],
)
def test_windows_are_read_from_text(text: str, first: date, last: date) -> None:
    window = Window.of(text)
    assert (window.first, window.last) == (first, last)
    assert Window.of(window.code) == window


@pytest.mark.parametrize(
    "text", ["", "2026-13", "2026-Q5", "2026-W54", "26-11", "2026-02-30", "..", "2026..2025", "a..b", "٢٠٢٦", "1..2..3"]
)
def test_what_is_no_window_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        Window.of(text)


@pytest.mark.parametrize("zone", ["Europe/Bielefeld", "", "../etc/passwd"])
def test_an_unknown_time_zone_is_refused(zone: str) -> None:
    with pytest.raises(UsageError, match="time zone"):
        Window.of("2026", time_zone=zone)


def test_a_window_of_too_many_periods_is_refused() -> None:
    with pytest.raises(UsageError, match="more than 1,000 periods"):
        Window.of("2020..2026").periods("day")
