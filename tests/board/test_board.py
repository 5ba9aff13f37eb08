"""The report for a board: verdicts, forecasts, missed nights, audits, and its page."""

from __future__ import annotations

import json
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.board import board_report
from discreet.board.charts import history_of
from discreet.board.report import PopulationReport
from discreet.errors import BudgetError, LedgerError
from discreet.privacy.guarantees import Standing
from discreet.privacy.ledger import Ledger
from discreet.privacy.losses import Approximate, GaussianLoss, Pure


def of(shop, name: str = "customers") -> PopulationReport:
    return board_report(shop.ledger, name, now=shop.now).populations[0]


def test_a_ledger_within_its_limits_is_good_news(shop) -> None:
    shop.ledger.open(population="customers", epsilon=2)
    assert of(shop).verdict == "Within its limit: 0 % of the budget is used. Nothing was released yet."
    shop.charge()
    one = of(shop)
    assert (one.verdict, one.tone) == ("Within its limit: 5 % of the budget is used. Every release is proved.", "good")
    assert str(one.forecast) == "No forecast: the first charge is less than a week old."


def test_what_is_refuted_or_unproved_is_said_first(shop) -> None:
    shop.ledger.open(population="customers", epsilon=2)
    shop.charge(standing=Standing.AS_PUBLISHED, mechanism="pritop")
    assert of(shop).tone == "warn"
    assert of(shop).cautions == ["1 release rests on a claim that is not proved."]
    assert "Every release is proved" not in of(shop).verdict
    shop.charge(standing=Standing.REFUTED, mechanism="pncf")
    one = of(shop)
    assert (one.tone, one.verdict) == ("bad", "1 release is covered by no promise (refuted).")
    page = board_report(shop.ledger, now=shop.now).html()
    assert page.count('<tr class="bad detailed">') == 2
    for words in ("REFUTED", "NOT PROVED", "does not cover 1 release", "as claimed by the paper", "nightly@shop"):
        assert words in page


@pytest.mark.parametrize(
    ("loss", "days"),
    [
        # A tenth every ten days leaves 1.0 after ten charges: ten times as much again.
        (Pure(Fraction(1, 10)), 90),
        (Approximate(Fraction(1, 10), Fraction(1, 10**8)), 90),
    ],
)
def test_a_forecast_repeats_what_was_charged_lately(shop, loss, days: int) -> None:
    shop.ledger.open(population="customers", epsilon=2, delta="1e-6")
    for _ in range(10):
        shop.charge(loss=loss)
        shop.now += timedelta(days=10)
    shop.now -= timedelta(days=10)
    told = of(shop).forecast
    assert told is not None
    assert (told.releases, told.over) == (10, 90.0)
    assert told.runs_out is not None
    assert abs((told.runs_out - shop.now).days - days) <= 1
    assert not told.lasts


def test_gaussian_noise_lasts_longer_than_a_straight_line(shop) -> None:
    shop.ledger.open(population="customers", epsilon=2, delta="1e-6")
    for _ in range(3):
        shop.charge(loss=GaussianLoss(Fraction(1, 100)))
        shop.now += timedelta(days=10)
    one = of(shop)
    used = float(one.balance.share)
    assert one.forecast is not None
    assert one.forecast.runs_out is not None
    straight = one.forecast.over * (1 - used) / used
    days = (one.forecast.runs_out - shop.now).days
    assert days > 1.3 * straight, "epsilon grows about as the root of time"
    # What was foretold fits, and a little more does not.
    per_day = Fraction(3, 100) / Fraction(one.forecast.over)
    assert shop.charge(loss=GaussianLoss(per_day * (days - 1))).id
    with pytest.raises(BudgetError):
        shop.charge(loss=GaussianLoss(per_day * 2))


def test_a_budget_per_period_is_foretold_to_the_end_of_its_period(shop) -> None:
    shop.ledger.open(population="customers", epsilon=2, per="year", lifetime=3)
    for month in range(1, 7):
        shop.now = shop.now.replace(month=month)
        shop.charge(loss="1/10", window=f"2026-{month:02}")
    one = of(shop)
    assert one.forecast is not None
    assert one.forecast.lasts
    assert one.forecast.share_at_end == pytest.approx(0.3 + 0.05 * 3 * 209 / 89, abs=0.06)
    assert str(one.forecast).endswith("is used when the period ends, 31 Dec 2026.")
    assert one.lifetime_forecast is not None
    assert one.lifetime_forecast.runs_out is not None, "the lifetime goes on after the period"
    shop.now = shop.now.replace(year=2027)
    fresh = of(shop)
    assert fresh.balance.share == 0
    assert [str(part.period) for part in fresh.statement.periods] == ["2026", "2027"]
    page = board_report(shop.ledger, now=shop.now).html()
    for words in ("Charged to each year", "Charged over the lifetime", "Ann&#x27;s records of 2027", "No forecast"):
        assert words in page


def test_series_are_paid_in_advance_and_their_missed_nights_are_named(shop) -> None:
    shop.ledger.open(population="readers", epsilon=2, delta="1e-6")
    shop.series("readers", 30, [0, 1, 2, 4, 5, 6, 7, 8, 9, 10], missed=(4, 5))
    (series,) = of(shop, "readers").series
    assert (series.steps, len(series.taken), series.missed, series.overdue) == (30, 10, (4, 5), 0)
    assert str(of(shop, "readers").forecast) == "No forecast: nothing was charged in the last 90 days."
    shop.now += timedelta(days=4)
    one = of(shop, "readers")
    assert one.series[0].overdue == 3, "a night may be late by half a day"
    assert one.series[0].standing == "missed: 4, 5; 3 steps overdue since 15 Jan 2026, at one every day"
    assert one.cautions == ["2 steps of a series were missed.", "3 steps of a series are overdue."]
    assert len(one.charges) == 1, "steps are no releases of their own here"


def test_a_complete_series_is_not_overdue(shop) -> None:
    shop.ledger.open(population="readers", epsilon=2, delta="1e-6")
    shop.series("readers", 3, [0, 1, 2])
    shop.now += timedelta(days=100)
    assert (of(shop, "readers").series[0].overdue, of(shop, "readers").series[0].standing) == (0, "complete")


def test_steps_that_are_taken_by_hand_have_no_pace(shop) -> None:
    shop.ledger.open(population="readers", epsilon=2, delta="1e-6")
    spend = shop.series("readers", 30, [0])
    shop.now += timedelta(minutes=5)
    shop.ledger.record_step(spend.id, "s", 1, "1")
    shop.now += timedelta(days=5)
    assert of(shop, "readers").series[0].overdue == 0


def test_audits_that_were_kept_are_shown(shop) -> None:
    shop.ledger.open(population="customers", epsilon=2)
    shop.charge(mechanism="top-items")
    facts: dict[str, Any] = {
        "model": "item-counts",
        "verdict": "consistent with ε = 1",
        "digest": "9f" * 32,
        "claim": "ε = 1",
    }
    shop.ledger.keep_audit("customers", outcome="consistent", **facts)
    assert of(shop).tone == "good"
    shop.ledger.keep_audit("customers", outcome="refuted", saved_in="/kept/audit.html", **facts)
    one = of(shop)
    assert one.alarms == ["1 audit refuted a claim: item-counts."]
    page = board_report(shop.ledger, now=shop.now).html()
    for words in ("9f" * 32, "audit.html", "not audited under these names: top-items"):
        assert words in page


def test_history_ends_at_the_total_and_never_falls(shop) -> None:
    shop.ledger.open(population="customers", epsilon=20)
    for number in range(100):
        shop.now += timedelta(days=-1 if number == 50 else 1)
        shop.charge(loss="1/10")
    one = of(shop)
    points = history_of(one.balance, one.charges)
    assert len(points) == 80, "of many charges some are added up"
    assert points[-1][1] == float(one.balance.total.epsilon) == 10
    assert points == sorted(points)


def test_several_populations_have_one_verdict(shop) -> None:
    shop.ledger.open(population="customers", epsilon=2)
    shop.ledger.open(population="readers", epsilon=2)
    assert board_report(shop.ledger, now=shop.now).verdict == "All 2 populations are within their limits."
    shop.charge("readers", "19/10")
    shop.charge("customers", standing=Standing.REFUTED)
    told = board_report(shop.ledger, now=shop.now)
    assert (told.verdict, told.tone) == ("A promise does not hold: customers.", "bad")
    assert told.remarks == [
        "customers: 1 release is covered by no promise (refuted).",
        "readers: 95% of ε = 2 is charged.",
    ]
    assert json.loads(json.dumps(told.to_json()))["populations"][1]["population"] == "readers"


def test_a_ledger_without_accounts_has_no_report(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="no accounts yet"):
        board_report(Ledger(tmp_path / "budget.db"))


def test_the_page_is_one_file_that_everybody_can_read(shop, tmp_path: Path, check_page) -> None:
    shop.ledger.open(population="customers", epsilon=2, delta="1e-6", per="quarter", lifetime=6)
    for month in range(1, 9):
        shop.now = shop.now.replace(month=month)
        shop.charge(loss=GaussianLoss(Fraction(1, 100)) if month % 2 else "1/10", window=f"2026-{month:02}")
    shop.charge(standing=Standing.REFUTED, mechanism="pncf", window="2026-08")
    digest = "9f" * 32
    shop.ledger.keep_audit("customers", model="pncf", outcome="refuted", verdict="REFUTED", digest=digest)
    shop.ledger.open(population="readers <1>", epsilon=2, delta="1e-6")
    shop.series("readers <1>", 30, [0, 1, 3, 4], missed=(3,))
    path = board_report(shop.ledger, now=shop.now).save(tmp_path / "board.html")
    page = path.read_text()
    for outside in ("<script", "http://", "https://", "src="):
        assert outside not in page
    assert "readers &lt;1&gt;" in page
    assert page.index("A promise does not hold") < page.index("<svg") < page.index("What is promised")
    check_page(path)
