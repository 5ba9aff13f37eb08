"""Accounts per period: which periods a release is charged to, what each is charged, and what is said about it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.counting import ItemCounts
from discreet.data import Interactions, read
from discreet.data.periods import PERIODS, Window, period_at
from discreet.errors import BudgetError, BudgetWarning, DataError, PrivacyError, UsageError
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.ledger import Account, Amount, Ledger, requests
from discreet.privacy.losses import Concentrated, GaussianLoss, Loss, Pure
from discreet.privacy.units import Unit

NOW = datetime(2026, 11, 18, tzinfo=UTC)
OCTOBER, NOVEMBER, JANUARY = 1790812800, 1793491200, 1798761600  # first seconds of months
ROWS = [("ann", "tea", 1, OCTOBER - 1), ("ann", "rum", 1, NOVEMBER), ("bob", "tea", 1, NOVEMBER + 5)]


def guarantee(loss: Loss | str = "1/2", unit: str = "user") -> Guarantee:
    loss = Pure(Fraction(loss)) if isinstance(loss, str) else loss
    return Guarantee(loss, Unit.of(unit), Standing.PROVED, "a theorem", "noisy counts")


@pytest.fixture
def ledger(place: str) -> Ledger:
    ledger = Ledger(place, clock=lambda: NOW)
    ledger.open(population="customers", epsilon=2, delta="1e-6", per="year", time_zone="UTC", lifetime=3)
    return ledger


def charge(ledger: Ledger, window: str, loss: Loss | str = "1/2") -> None:
    with ledger.charge("customers", guarantee(loss), mechanism="test", window=Window.of(window)):
        pass


def spent(ledger: Ledger) -> dict[str, Fraction]:
    statement = ledger.statement("customers")
    assert statement.lifetime is not None
    found = {str(balance.period): balance.total.epsilon for balance in statement.periods}
    return {**found, "lifetime": statement.lifetime.total.epsilon}


class TestWhatIsCharged:
    def test_within_one_period_the_price_of_a_user_and_over_two_each_pays_two_steps(self, ledger: Ledger) -> None:
        charge(ledger, "2026-11")
        assert spent(ledger) == {"2026": Fraction(1, 2), "lifetime": Fraction(1, 2)}
        charge(ledger, "2025-12-31..2026-01-01", "1/4")
        assert spent(ledger) == {"2025": Fraction(1, 2), "2026": Fraction(1), "lifetime": Fraction(3, 4)}
        charge(ledger, "2027", "1")
        assert spent(ledger) == {"2025": Fraction(1, 2), "2026": 1, "2027": 1, "lifetime": Fraction(7, 4)}
        assert ledger.statement("customers").left == Amount(Fraction(1), Fraction(1, 10**6))

    def test_each_period_and_the_lifetime_have_their_own_limit(self, ledger: Ledger) -> None:
        charge(ledger, "2026", "3/2")
        with pytest.raises(
            BudgetError, match=r"in 2026; .*entries 1\..*up to ε .*The next year, 2027, begins on 2027-01-01"
        ):
            charge(ledger, "2026-11-18", "1")
        two = r"in 2026; .*The days of the data meet 2026 to 2027 \(UTC\), and each of these is charged two steps\."
        with pytest.raises(BudgetError, match=two):
            charge(ledger, "2026-12-31..2027-01-01", "1/2")
        charge(ledger, "2027", "3/2")
        assert spent(ledger) == {"2026": Fraction(3, 2), "2027": Fraction(3, 2), "lifetime": 3}
        with pytest.raises(BudgetError, match=r"lifetime.*no smaller request of this kind fits either\."):
            charge(ledger, "2028", "1/8")
        assert [entry.id for entry in ledger.statement("customers").entries] == [1, 2]

    def test_the_time_zone_of_the_account_decides_where_a_year_ends(self, place: str) -> None:
        ledger = Ledger(place, clock=lambda: NOW)
        ledger.open(population="customers", epsilon=2, per="year", time_zone="America/New_York")
        with ledger.charge("customers", guarantee("1/2"), mechanism="test", window=Window.of("2026-06")):
            pass
        charge(ledger, "2026-01-01", "1/4")  # a day in UTC, of which five hours are in 2025
        assert spent(ledger) == {"2025": Fraction(1, 2), "2026": Fraction(1), "lifetime": Fraction(3, 4)}

    @pytest.mark.parametrize("unit", ["user/replace", "record", "record/replace", "group:2"])
    def test_guarantees_for_other_units_are_refused(self, ledger: Ledger, unit: str) -> None:
        with pytest.raises(PrivacyError, match="one user's records of one calendar year"):
            ledger.charge("customers", guarantee(unit=unit), mechanism="test", window=Window.of("2026"))

    def test_wrong_terms(self, place: str) -> None:
        ledger = Ledger(place)
        for wrong in (
            {"per": "decade"},
            {"per": "year", "unit": "record"},
            {"lifetime": 9},
            {"time_zone": "UTC"},
            {"per": "year", "lifetime": "1/2"},
            {"per": "year", "time_zone": "Mars/Base"},
        ):
            with pytest.raises(UsageError):
                ledger.open(population="customers", epsilon=1, **wrong)  # type: ignore[arg-type]
        assert ledger.datasets() == ()


class TestData:
    def test_data_without_a_window_are_refused(self, ledger: Ledger) -> None:
        undated = Interactions(ROWS, duplicates="keep")
        ledger.attach(undated, "customers")
        with pytest.raises(PrivacyError, match="no declared window"):
            ledger.charge(undated, guarantee(), mechanism="test")
        with pytest.raises(PrivacyError, match="no declared window"):
            ledger.charge(undated, guarantee(), mechanism="test", window=Window.of("2026"))
        assert spent(ledger) == {"2026": 0, "lifetime": 0}

    def test_a_narrower_window_than_that_of_the_data_is_refused(self, ledger: Ledger) -> None:
        data = Interactions(ROWS, window="2026")
        ledger.attach(data, "customers")
        with pytest.raises(PrivacyError, match=r"only 2026-11-01\.\.2026-11-30"):
            ledger.charge(data, guarantee(), mechanism="test", window=Window.of("2026-11"))
        with ledger.charge(data, guarantee(), mechanism="test", window=Window.of("2026..2027")) as spend:
            assert [str(period) for period in spend.periods] == ["2026", "2027"]

    def test_a_period_is_charged_whether_or_not_records_fall_into_it(self, ledger: Ledger) -> None:
        data = Interactions(ROWS, window="2026-11..2027-01", items=["tea", "rum"])
        assert len(data) == 2
        ledger.attach(data, "customers")
        release = ItemCounts(epsilon="1/2", cap=2).release(data, ledger=ledger)
        assert spent(ledger) == {"2026": 1, "2027": 1, "lifetime": Fraction(1, 2)}
        words = release.describe()
        assert "per period:  ε = 1 for one user's records of each of 2026 to 2027 (UTC), present or absent" in words
        assert "records outside of 2026-11-01..2027-01-31 (UTC) were left out" in words
        assert Guarantee.from_json(release.guarantee.to_json()) == release.guarantee

    def test_an_undated_table_of_users_is_named_as_not_covered(self, ledger: Ledger) -> None:
        users = {"user_id": ["ann", "bob"], "age": [30, 40]}
        data = Interactions(ROWS, window="2026", users=users, items=["tea", "rum"])
        ledger.attach(data, "customers")
        release = ItemCounts(epsilon="1/2", cap=2).release(data, ledger=ledger)
        assert requests.UNDATED in release.guarantee.not_covered
        public = Interactions(ROWS, window="2026", users=users, public_user_columns=["age"], items=["tea", "rum"])
        release = ItemCounts(epsilon="1/2", cap=2).release(public, ledger=ledger)
        assert requests.UNDATED not in release.guarantee.not_covered

    def test_records_outside_are_left_out_before_anything_else(self) -> None:
        later = [("ann", "tea", 5, NOVEMBER), ("ann", "tea", 1, JANUARY), ("bob", "gin", 9, JANUARY)]
        data = Interactions(later, window="2026-11", scale="1:5", duplicates="error")
        assert data.to_frame().rows() == [("ann", "tea", 5.0, NOVEMBER)]
        assert data.items.ids() == ["tea"]
        assert data.filter(lambda frame: frame["rating"] > 1, independent=True).window == Window.of("2026-11")

    def test_records_without_a_time_are_left_out(self) -> None:
        table = {"user_id": ["a", "b"], "item_id": ["x", "y"], "timestamp": [None, NOVEMBER]}
        assert Interactions(table, window="2026-11").users.ids() == ["b"]
        with pytest.raises(DataError, match="without times"):
            Interactions([("a", "x")], window="2026-11")
        with pytest.raises(UsageError, match="time zone without a window"):
            Interactions([("a", "x")], time_zone="UTC")

    def test_reading_with_a_window(self, tmp_path: Path) -> None:
        file = tmp_path / "shop.csv"
        file.write_text(
            "user,item,timestamp\nann,tea,2026-10-31 23:30:00\nbob,rum,2026-11-30 23:30:00\nbob,rum,2026-12-02\n"
        )
        assert len(read(file, window="2026-11")) == 1
        assert read(file, window="2026-11", time_zone="Europe/Berlin").to_frame()["user_id"].to_list() == ["ann"]
        with pytest.raises(DataError, match=r"line 4"):
            read(file, window="2026-11..2026-12")

    def test_a_part_that_was_cut_user_by_user_gets_no_window(self, tmp_path: Path) -> None:
        from discreet.data.readers import write

        data = Interactions(ROWS, duplicates="last", name="shop")
        write(data, tmp_path / "shop.parquet")
        with pytest.raises(DataError, match="records outside of a window may"):
            read(tmp_path / "shop.parquet", window="2026-11")


class TestStatements:
    def test_it_shows_the_period_all_periods_and_the_lifetime(self, ledger: Ledger) -> None:
        charge(ledger, "2025", "1")
        charge(ledger, "2026-11", "3/2")
        statement = ledger.statement("customers")
        text = str(statement)
        for said in (
            "one user's records of one calendar year, present or absent",
            "per year (UTC), lifetime ε = 3",
            "period    2026; the next, 2027, begins on 2027-01-01 (UTC)",
            "lifetime  ε = 2.5, of at most ε = 3",
            "warning   customers: 75% of ε = 2, δ = 1e-6 is charged in 2026. The next year begins on 2027-01-01.",
            "warning   customers: 83% of ε = 3, δ = 1e-6 is charged in all periods together (lifetime).",
        ):
            assert said in text
        told = statement.to_json()
        assert [row["period"] for row in told["periods"]] == ["2025", "2026"]
        assert told["next_period"] == "2027-01-01"
        assert len(told["warnings"]) == 2

    def test_three_gaussian_entries_come_to_less_than_three(self, ledger: Ledger) -> None:
        for _ in range(3):
            charge(ledger, "2026", GaussianLoss(Fraction(1, 20)))
        statement = ledger.statement("customers")
        assert str(statement).count("μ² = 0.05") == 3
        assert "adds up, kind by kind" in str(statement)
        assert statement.spent.epsilon == GaussianLoss(Fraction(3, 20)).epsilon_at(Fraction(1, 10**6))

    def test_warnings_at_three_quarters_and_nine_tenths_each_once(self, ledger: Ledger) -> None:
        charge(ledger, "2026", "1")
        with pytest.warns(BudgetWarning, match="75% of ε = 2.* in 2026"):
            charge(ledger, "2026", "1/2")
        with pytest.warns(BudgetWarning, match="95% of ε = 2"):
            charge(ledger, "2026", "2/5")

    def test_a_refusal_says_what_still_fits_of_the_kind_that_was_asked_for(self, ledger: Ledger) -> None:
        charge(ledger, "2026", GaussianLoss(Fraction(1, 10)))
        with pytest.raises(BudgetError, match=r"up to μ = ") as error:
            charge(ledger, "2026", GaussianLoss(Fraction(1)))
        mu = float(str(error.value).split("up to μ = ")[1].split()[0])
        charge(ledger, "2026", GaussianLoss(Fraction(mu * 0.999) ** 2))


# Properties

DAYS = st.dates(date(2019, 12, 1), date(2022, 2, 1))
WINDOWS = st.builds(lambda day, length: Window(day, day + timedelta(days=length)), DAYS, st.integers(0, 120))
LOSSES = st.fractions(Fraction(1, 50), 4, max_denominator=50).flatmap(
    lambda amount: st.sampled_from([Pure(amount), GaussianLoss(amount), Concentrated(amount)])
)


def account(per: str, time_zone: str) -> Account:
    limit = Amount(Fraction(10), Fraction(1, 10**6))
    return Account(1, "customers", limit, Unit("user", period=per), "basic", (), "", "", time_zone)  # type: ignore[arg-type]


@settings(max_examples=150, deadline=None)
@given(window=WINDOWS, per=st.sampled_from(PERIODS), zone=st.sampled_from(["UTC", "Asia/Tokyo"]), loss=LOSSES)
def test_every_period_that_the_window_meets_is_charged_what_taking_its_records_away_costs(
    window: Window, per: str, zone: str, loss: Loss
) -> None:
    price = account(per, zone).price_of(guarantee(loss), window)
    # Every moment of the window lies in a charged period, and no charged period is without one.
    moments = [*range(window.start, window.end, 6 * 3600), window.end - 1]
    assert {period_at(moment, per, zone) for moment in moments} == set(price.periods)  # type: ignore[arg-type]
    assert price.whole == loss
    # Within one period the person is taken away; over several, a history is replaced by another.
    assert price.loss == (loss if len(price.periods) == 1 else loss.for_group(2))


def kept(rows: list[tuple[str, str, int, int]], window: Window) -> list[tuple[object, ...]]:
    columns = ("user_id", "item_id", "rating", "timestamp")
    table = {name: [row[index] for row in rows] for index, name in enumerate(columns)}
    return Interactions(table if rows else [], window=window, duplicates="keep").to_frame().rows()


@settings(max_examples=60, deadline=None)
@given(
    window=WINDOWS,
    records=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), DAYS), max_size=8, unique=True),
)
def test_records_of_a_period_that_is_not_charged_change_nothing(
    window: Window, records: list[tuple[str, str, date]]
) -> None:
    periods = set(account("month", "UTC").price_of(guarantee(), window).periods)
    rows = [(who, what, 1, int(datetime(d.year, d.month, d.day, tzinfo=UTC).timestamp())) for who, what, d in records]
    charged = [row for row in rows if period_at(row[3], "month") in periods]
    assert kept(rows, window) == kept(charged, window)
