"""Which way to a list: the one that is expected to find more, under an assumed popularity."""

from __future__ import annotations

import pytest

import discreet as dc
from discreet.counting import ItemCounts, Profile, TopItems, plan_top


@pytest.fixture(scope="module")
def films() -> dc.Interactions:
    return dc.synthetic.films(users=60, items=300, seed=7)


def test_the_noise_of_both_ways(films) -> None:
    plan = plan_top(films, 20, epsilon="1/2", cap=30)
    assert plan.noise_sd["selection"] == pytest.approx(1.2825 * 20 / 0.5, rel=1e-3)
    assert plan.noise_sd["counts"] == pytest.approx(2**0.5 * 30 / 0.5, rel=1e-3)
    assert isinstance(plan.selection, TopItems)
    assert isinstance(plan.counting, ItemCounts)


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("k", [1, 10, 30, 60, 120, 250])
@pytest.mark.parametrize("records", [10, 100])
def test_the_better_way_is_taken(films, k: int, delta: str | int, records: int) -> None:
    plan = plan_top(films, k, epsilon="1/4", delta=delta, cap=20, profile=Profile(2000, records))
    other = "counts" if plan.way == "selection" else "selection"
    assert (plan.precision[plan.way], -plan.noise_sd[plan.way]) >= (plan.precision[other], -plan.noise_sd[other])
    assert plan.chosen is (plan.selection if plan.way == "selection" else plan.counting)
    assert ("ε" if not delta else "ρ" if plan.way == "selection" else "μ") == plan.loss[0]


@pytest.mark.parametrize(("delta", "longest"), [(0, 1.1), ("1e-6", 2.43)])
def test_where_the_cap_takes_nothing_the_way_is_that_of_the_smaller_noise(films, delta, longest: float) -> None:
    """Well below and well above the k at which both have the same noise."""
    assumed = Profile(users=2000, records=30)
    ways = [
        plan_top(films, round(part * longest * 30), epsilon="1/4", delta=delta, cap=30, profile=assumed).way
        for part in (0.5, 2)
    ]
    assert ways == ["selection", "counts"]


def test_what_the_cap_takes_decides(films) -> None:
    """The noise is the same; people with many records lose most of them to the cap, and only the counts do."""
    plans = [plan_top(films, 50, epsilon="1/4", cap=30, profile=Profile(2000, records)) for records in (30, 200)]
    assert plans[0].noise_sd == plans[1].noise_sd
    assert plans[0].noise_sd["counts"] < plans[0].noise_sd["selection"]
    assert [plan.way for plan in plans] == ["counts", "selection"]


def test_contexts_of_records_count_every_pick() -> None:
    week = dc.synthetic.checkins(users=40, items=200, seed=1)
    assert plan_top(week, 10, epsilon=1, cap=20, profile=Profile(1000, 10)).way == "selection"
    plan = plan_top(week, 10, epsilon=1, cap=20, contexts=["weekday"], profile=Profile(1000, 10))
    assert plan.way == "counts"
    assert plan.facts["picks_charged"] == 70
    held = plan_top(week, 10, epsilon=1, cap=20, contexts=["weekday"], profile=Profile(1000, 10), one_context_each=True)
    assert held.facts["picks_charged"] == 10
    # A seventh of the noise, on not much more than a seventh of the records.
    assert held.precision["selection"] == pytest.approx(plan.precision["selection"], abs=0.2)
    assert held.precision["selection"] > plan.precision["selection"]


def test_one_can_insist(films) -> None:
    plan = plan_top(films, 10, epsilon=1, way="counts")
    assert plan.way == "counts"
    assert "asked for" in plan.reason


def test_the_reason_is_told(films) -> None:
    assert "both are expected to find 100%" in plan_top(films, 1, epsilon=100, profile=Profile(1000)).reason
    assert "choosing directly is expected to find" in plan_top(films, 40, epsilon="1/4", profile=Profile(500)).reason


def test_a_plan_reads_no_record(films) -> None:
    assert plan_top(films, 10, epsilon=1).to_json() == plan_top(films.emptied(), 10, epsilon=1).to_json()


def test_more_budget_is_more_precise(films) -> None:
    found = [plan_top(films, 10, epsilon=epsilon, profile=Profile(users=500)).precision for epsilon in (0.01, 0.1, 1)]
    for way in ("selection", "counts"):
        assert found[0][way] < found[1][way] < found[2][way] <= 1
