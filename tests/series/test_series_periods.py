"""A series with a declared window: which periods it charges, and that records of other days change nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.series.conftest import ITEMS, visits

from discreet.counting import ItemCounts
from discreet.data.interactions import Interactions
from discreet.data.periods import Window
from discreet.errors import BudgetError, LedgerError, PrivacyError, UsageError
from discreet.factors import PrivateRecommender
from discreet.privacy.ledger import Ledger
from discreet.series import Series

DAY = 86_400
NEW_YEAR = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())
COUNTS = ItemCounts(epsilon=1, delta="1e-6", cap=4)
EXACT = ItemCounts(epsilon=10**6, delta="1e-6", cap=10**3)


def night(day: int, *strays: tuple[str, str, int]) -> Interactions:
    """Records of a day of 2026, from 0, and others."""
    rows = [(f"u{user}", ITEMS[(user + day) % 10], NEW_YEAR + DAY * day + user) for user in range(6)]
    return visits([*rows, *strays])


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger(tmp_path / "shop.db", clock=lambda: datetime(2026, 1, 5, tzinfo=UTC))
    ledger.open(population="customers", epsilon=4, delta="1e-6", per="year", time_zone="UTC", lifetime=20)
    return ledger


def counted(window: str | None = "2026", **settings: Any) -> Series:
    return Series(COUNTS, steps=4, population="customers", window=window, **settings)


def spent(ledger: Ledger) -> dict[str, Fraction]:
    statement = ledger.statement("customers")
    assert statement.lifetime is not None
    found = {str(one.period): one.total.epsilon for one in statement.periods if one.total.epsilon}
    return {**found, "lifetime": statement.lifetime.total.epsilon}


# What is charged


def test_a_year_of_nights_on_an_account_per_year(tmp_path: Path, ledger: Ledger) -> None:
    for day in range(3):  # every night the same lines
        nightly = counted(folder=tmp_path / "nightly")
        release = nightly.advance(night(day), ledger=ledger)
        assert release is not None
        assert "2026 (UTC), present or absent" in release.guarantee.per_period
        assert "records outside of 2026-01-01..2026-12-31 (UTC) were left out" in release.guarantee.caps
    price = spent(ledger)
    assert set(price) == {"2026", "lifetime"}
    assert 0.99 < price["2026"] == price["lifetime"] <= 1
    assert [str(one) for one in ledger.statement("customers").every[0].periods] == ["2026"]


def test_a_window_within_one_period_costs_it_one_step_and_over_two_each_pays_two(ledger: Ledger) -> None:
    counted("2026").open(night(0), ledger=ledger)
    once = spent(ledger)
    assert once["2026"] == once["lifetime"]
    counted("2027-07-01..2028-06-30").open(night(0), ledger=ledger)
    both = spent(ledger)
    # Twice μ is more than twice ε, and the lifetime pays once more.
    assert both["2027"] == both["2028"] > 2 * once["2026"]
    assert both["2026"] == once["2026"]
    assert once["lifetime"] < both["lifetime"] < 2 * once["lifetime"]


def test_the_window_of_the_first_night_decides_nothing(ledger: Ledger) -> None:
    """The whole series is charged, and not the one period that the first records are about."""
    first = Interactions(night(0).to_frame(), items=ITEMS, duplicates="keep", window="2026-01-01", name="shop")
    counted("2026-01-01..2027-03-31").open(first, ledger=ledger)
    assert set(spent(ledger)) == {"2026", "2027", "lifetime"}
    with pytest.raises(PrivacyError, match="the series has no declared window") as refused:
        Series(COUNTS, steps=4, population="customers").open(first, ledger=ledger)
    assert "window=" in str(refused.value.remedy)
    assert len(ledger.statement("customers").every) == 1


@pytest.mark.parametrize("stray", [NEW_YEAR - 1, NEW_YEAR + 365 * DAY, 0])
def test_what_is_charged_does_not_depend_on_records(tmp_path: Path, stray: int) -> None:
    entries = []
    for place, strays in enumerate([(), (("p", "i0", stray),)]):
        ledger = Ledger(tmp_path / f"{place}.db", clock=lambda: datetime(2026, 1, 5, tzinfo=UTC), who="somebody")
        ledger.open(population="customers", epsilon=4, delta="1e-6", per="month")
        series = counted("2026-01..2026-02")
        for day in range(2):
            series.advance(night(day, *strays), ledger=ledger)
        every = ledger.statement("customers").every
        entries.append([(one.loss, one.whole, one.periods, one.guarantee) for one in every])
    assert entries[0] == entries[1]
    assert [str(one) for one in entries[0][0][2]] == ["2026-01", "2026-02"]


def test_a_series_that_does_not_fit_in_one_of_its_periods_is_refused(ledger: Ledger) -> None:
    series = Series(ItemCounts(epsilon=3, delta="1e-6"), steps=4, population="customers", window="2025-12..2026-01")
    with pytest.raises(BudgetError, match="in 2025"):
        series.advance(night(0), ledger=ledger)
    assert series.last == -1
    assert not ledger.statement("customers").every
    # A charge that was refused attaches nothing.
    assert not ledger.datasets()[0].fingerprints


def test_a_refused_opening_leaves_the_folder_free(tmp_path: Path, ledger: Ledger) -> None:
    with pytest.raises(PrivacyError, match="no declared window"):
        counted(None, folder=tmp_path / "s").open(night(0), ledger=ledger)
    assert counted("2026", folder=tmp_path / "s").advance(night(0), ledger=ledger) is not None
    with pytest.raises(UsageError, match=r"window = '2026-01-01..2026-12-31', not '2027"):
        counted("2027", folder=tmp_path / "s")


def test_the_charge_is_found_again_with_its_guarantee(tmp_path: Path, ledger: Ledger) -> None:
    """A crash after the charge, before it was noted in the folder."""
    first = counted(folder=tmp_path / "s")
    first.open(night(0), ledger=ledger)
    folder = first._folder
    assert folder is not None
    folder.write_settings({**folder.settings()[0], "charge": None, "ledger": None, "guarantee": None})
    again = Series.resume(tmp_path / "s")
    assert again.advance(night(0), ledger=ledger) is not None
    assert again.guarantee == first.guarantee
    assert again.guarantee.per_period
    assert again.window == Window.of("2026")
    assert len([one for one in ledger.statement("customers").every if one.loss.mu_squared]) == 1  # type: ignore[attr-defined]


# Records of other days


@pytest.mark.parametrize("day", range(4))
@pytest.mark.parametrize("stray", [NEW_YEAR - 1, NEW_YEAR + 365 * DAY])
def test_a_record_outside_of_the_window_changes_nothing_at_any_step(day: int, stray: int) -> None:
    def totals(*strays: tuple[str, str, int]) -> list[list[int]]:
        series = Series(EXACT, steps=4, window="2026")
        releases = [series.advance(night(step, *(strays if step == day else ()))) for step in range(4)]
        return [[round(n) for n in one.table("counts")["count"]] for one in releases if one is not None]

    assert totals() == totals(("u0", "i0", stray), ("new", "i1", stray))
    assert totals() != totals(("new", "i1", NEW_YEAR))


def test_a_person_with_records_of_other_days_alone_never_enters_a_model(tmp_path: Path) -> None:
    series = Series(PrivateRecommender(epsilon=1), steps=4, window="2026", enter_after=1, folder=tmp_path / "s")
    for step in range(4):
        series.advance(night(step, ("p", "i0", NEW_YEAR - 1 - step)))
    people = series._state.people
    assert people is not None
    assert "text:p" not in {*people.entered["person"], *people.records["person"], *people.waiting["person"]}
    assert people.entered.height == 6


def test_records_beyond_the_window_are_refused_where_that_is_declared(ledger: Ledger) -> None:
    series = counted("2026-01")
    series.advance(night(0), ledger=ledger)
    later = Interactions(night(40).to_frame(), items=ITEMS, duplicates="keep", window="2026-02", name="shop")
    with pytest.raises(UsageError, match=r"about 2026-02-01.*the series is about 2026-01-01"):
        series.advance(later, ledger=ledger)
    with pytest.raises(UsageError, match="series is about"):
        series.advance(Interactions(night(0).to_frame(), items=ITEMS, duplicates="keep", window="2025"), ledger=ledger)
    assert series.last == 0


def test_the_time_zone_of_the_series_decides(ledger: Ledger) -> None:
    def total(zone: str) -> int:
        series = Series(EXACT, steps=2, window="2026", time_zone=zone)
        release = series.advance(visits([("u", "i0", NEW_YEAR - 1800)]))
        assert release is not None
        return round(release.table("counts")["count"][0])

    assert total("Europe/Berlin") == 1
    assert total("UTC") == 0


def test_a_part_in_which_other_days_decided_is_refused(ledger: Ledger) -> None:
    series = counted()
    series.advance(night(0), ledger=ledger)
    latest = Interactions(night(1).to_frame(), items=ITEMS, duplicates="last", name="shop")
    some = night(1).filter(night(1).user < 3, independent=True)
    for part in (latest, some):
        with pytest.raises(PrivacyError, match=r"records outside of 2026.* may have decided"):
            series.advance(part, ledger=ledger)
    # Read with a window first, and cut afterwards.
    held = Interactions(night(1).to_frame(), items=ITEMS, duplicates="last", window="2026-01", name="shop")
    assert series.advance(held, ledger=ledger) is not None


def test_what_has_no_times(tmp_path: Path, ledger: Ledger) -> None:
    with pytest.raises(UsageError, match="needs records with times"):
        counted().open(Interactions([("u", "i0")], items=ITEMS), ledger=ledger)
    people = {"user_id": [f"u{user}" for user in range(6)], "region": ["north", "south"] * 3}
    known = Interactions(night(0).to_frame(), items=ITEMS, duplicates="keep", users=people, name="shop")
    by_region = Series(COUNTS, steps=2, contexts=["region=north,south"], window="2026", population="customers")
    release = by_region.advance(known, ledger=ledger)
    assert release is not None
    assert any("table of users" in words for words in release.guarantee.not_covered)
    # A context that came from the table of users comes from there on every night.
    frame = night(1).to_frame().with_columns(region=Interactions(night(1).to_frame()).to_frame()["user_id"])
    moved = Interactions(frame, items=ITEMS, duplicates="keep", context=("region",), name="shop")
    with pytest.raises(UsageError, match="no region"):
        by_region.advance(moved, ledger=ledger)


# Whose records


def test_records_of_another_population_are_refused(ledger: Ledger) -> None:
    series = counted()
    series.advance(night(0), ledger=ledger)
    ledger.open(night(1), population="suppliers", epsilon=1, delta="1e-6")
    with pytest.raises(LedgerError, match="belongs to the account 'suppliers'"):
        series.advance(night(1), ledger=ledger)
    with pytest.raises(LedgerError, match="'customers' was to be charged"):
        counted().open(night(1), ledger=ledger)
