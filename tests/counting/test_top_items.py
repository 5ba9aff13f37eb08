"""The most popular items chosen directly."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import discreet as dc
from discreet.counting import ItemCounts, TopItems, top
from discreet.counting.cells import Cells
from discreet.errors import PrivacyError, UsageError
from discreet.privacy.bounding import distinct_item_counts

LARGE = 10**6
"""A budget so large that noise hardly ever changes the order."""


@pytest.fixture
def visits() -> dc.Interactions:
    """a is visited often by one user, b once by each of two hundred."""
    rows = [("u0", "a")] * 500 + [(f"u{n}", "b") for n in range(200)]
    return dc.Interactions(rows, items=list("abcd"), duplicates="keep")


@pytest.fixture
def week() -> dc.Interactions:
    """On Saturdays most go to the park, on Sundays to the zoo; ann goes to the fair all the time."""
    rows = [(f"u{n}", "park", "sat") for n in range(30)] + [(f"u{n}", "zoo", "sun") for n in range(25)]
    rows += [("ann", "fair", "sat")] * 60 + [(f"u{n}", "fair", "sun") for n in range(8)]
    frame = pl.DataFrame(rows, schema=["user_id", "item_id", "day"], orient="row")
    people = pl.DataFrame({"user_id": ["ann", *(f"u{n}" for n in range(30))], "age": [17, *range(20, 50)]})
    return dc.Interactions(
        frame, context=["day"], items=["park", "zoo", "fair"], duplicates="keep", users=people, name="week"
    )


def test_people_count_not_visits(visits, fixed_bits) -> None:
    assert distinct_item_counts(visits).values.tolist() == [1, 200, 0, 0]
    assert TopItems(k=1, epsilon=1).release(visits).table("top")["item_id"].to_list() == ["b"]


def test_the_budget_is_shared_between_the_places(visits) -> None:
    mechanism = TopItems(k=4, epsilon=2).mechanism(Cells.of(visits))
    assert mechanism.epsilon == Fraction(1, 2)
    assert mechanism.rate(distinct_item_counts(visits)) == Fraction(1, 2)
    release = TopItems(k=4, epsilon=2).release(visits)
    assert release.guarantee.loss.epsilon_at(Fraction(0)) == 2
    assert sorted(release.table("top")["item_id"]) == list("abcd")


def test_a_delta_makes_many_picks_cheaper(visits) -> None:
    cells = Cells.of(visits)
    pure, concentrated = TopItems(k=100, epsilon=1), TopItems(k=100, epsilon=1, delta="1e-6")
    assert concentrated.mechanism(cells).epsilon > 3 * pure.mechanism(cells).epsilon
    assert float(concentrated.loss(cells).epsilon_at(Fraction(1, 10**6))) <= 1


@pytest.mark.parametrize("k", [0, -1, True, 2.5, 5])
def test_impossible_numbers_of_items(visits, k) -> None:
    with pytest.raises(UsageError):
        TopItems(k=k, epsilon=1).release(visits)
    with pytest.raises(UsageError):
        top(ItemCounts(epsilon=1, cap=1).release(visits), k)


@pytest.mark.parametrize("settings", [{"epsilon": 0}, {"epsilon": 1, "delta": 1}, {"epsilon": 1, "count_share": 1}])
def test_impossible_budgets(settings) -> None:
    with pytest.raises(UsageError):
        TopItems(k=1, **settings)


def test_impossible_caps() -> None:
    with pytest.raises(UsageError, match="cap"):
        TopItems(k=1, epsilon=1, count_share="1/2", count_cap=0)


def test_the_catalog_must_be_public(visits) -> None:
    with pytest.raises(PrivacyError):
        TopItems(k=1, epsilon=1).release(dc.Interactions([("u", "a")]))


@pytest.mark.parametrize("contexts", [[], ["day=sat,sun"], ["age=<18,18+"]])
def test_the_guarantee_is_known_before(week, contexts) -> None:
    ways: list[dict[str, Any]] = [{}, {"delta": "1e-6"}, {"count_share": "1/4"}, {"one_context_each": True}]
    for settings in ways:
        top = TopItems(k=2, epsilon=1, **settings)
        release = top.release(week, contexts=contexts)
        assert str(top.plan(week, contexts=contexts).guarantee) == str(release.guarantee)
        assert top.estimate(week, contexts=contexts) == top.estimate(week.emptied(), contexts=contexts)


def test_each_context_has_its_list(week) -> None:
    table = TopItems(k=2, epsilon=LARGE).release(week, contexts=["day=sat,sun"]).table("top")
    assert table.columns == ["item_id", "day", "rank"]
    assert table.rows() == [("park", "sat", 1), ("fair", "sat", 2), ("zoo", "sun", 1), ("fair", "sun", 2)]


def test_a_context_of_users_costs_one_list_and_others_cost_all(week) -> None:
    top = TopItems(k=3, epsilon=1)
    assert top.picks(Cells.of(week, ["age=<18,18+"])) == 3
    assert top.picks(Cells.of(week, ["day=sat,sun"])) == 6
    assert top.picks(Cells.of(week, ["age=<18,18+", "day=sat,sun"])) == 12
    assert TopItems(k=3, epsilon=1, one_context_each=True).picks(Cells.of(week, ["day=sat,sun"])) == 3


def test_numbers_of_users_come_along(week) -> None:
    table = TopItems(k=2, epsilon=LARGE, count_share="1/2").release(week, contexts=["day=sat,sun"]).table("top")
    assert table["count"].round().to_list() == [30, 1, 25, 8]
    gaussian = TopItems(k=2, epsilon=LARGE, delta="1e-6", count_share="1/2").release(week).table("top")
    assert gaussian["count"].round().to_list() == [30, 25]


def test_nobody_weighs_more_than_the_cap_in_the_numbers(week) -> None:
    """u0 … u7 are among all three winners, u8 … u24 among two, the others among one."""
    table = TopItems(k=3, epsilon=LARGE, count_share="1/2", count_cap=1).release(week).table("top")
    counts = dict(zip(table["item_id"], table["count"], strict=True))
    assert counts["park"] == pytest.approx(8 / 3 + 17 / 2 + 5, abs=0.01)
    assert counts["fair"] == pytest.approx(8 / 3 + 1, abs=0.01)


def test_the_noise_does_not_depend_on_the_records(week) -> None:
    for contexts in ([], ["day=sat,sun"], ["age=<18,18+"]):
        top = TopItems(k=2, epsilon=1, count_share="1/4", count_cap=1)
        full, empty = Cells.of(week, contexts), Cells.of(week.emptied(), contexts)
        assert top.mechanism(full) == top.mechanism(empty)
        assert top.release(week, contexts=contexts).table("top").height == 2 * full.n_places


def test_lists_by_context_are_read_off_counts(week) -> None:
    release = ItemCounts(epsilon=LARGE, cap=100).release(week, contexts=["day=sat,sun"])
    best = top(release, 1, by_context=True)
    assert best.select("item_id", "day", "rank").rows() == [("fair", "sat", 1), ("zoo", "sun", 1)]


def test_mistakes_are_found_before_anything_is_spent(week, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")
    ledger.open(week, epsilon=Fraction(10) ** 40, unit="user")
    for k, epsilon, contexts in [
        (4, 1, []),
        (1, 10**30, []),
        (1, 1, ["weather=fair,foul"]),
        (1, 1, ["day"]),
        (1, 1, ["day=sat,sat"]),
    ]:
        with pytest.raises(UsageError):
            TopItems(k=k, epsilon=epsilon).release(week, contexts=contexts, ledger=ledger)
    with pytest.raises(UsageError):
        TopItems(k=1, epsilon="1e-20", count_share="1/2", count_cap=1).release(
            week, contexts=["day=sat,sun"], ledger=ledger
        )
    assert ledger.statement(week).entries == ()
    release = TopItems(k=1, epsilon=1).release(week, ledger=ledger)
    assert ledger.statement(week).spent.epsilon == 1
    assert release.id in str(ledger.statement(week).to_json())
