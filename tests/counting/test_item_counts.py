"""Item counts: what is released, what is charged, what is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.counting import ItemCounts, top
from discreet.errors import BudgetError, PrivacyError, ReleaseError, UsageError
from discreet.privacy import draws
from discreet.privacy.mechanisms import LaplaceMechanism


@pytest.fixture
def shop() -> dc.Interactions:
    """ann touches four items, bob one; rum is touched by both, gin by nobody."""
    rows = [("ann", "tea"), ("ann", "rum"), ("ann", "ale"), ("ann", "port"), ("bob", "rum")]
    return dc.Interactions(rows, items=["tea", "rum", "ale", "port", "gin"], name="shop")


def counts_of(release: dc.Release) -> dict[str, float]:
    table = release.table("counts")
    return dict(zip(table["item_id"], table["count"], strict=True))


def test_users_over_the_cap_are_weighed_down(shop, drawn_scales) -> None:
    counts = counts_of(ItemCounts(epsilon="1/2", cap=2).release(shop))
    assert counts == {"tea": 0.5, "rum": 1.5, "ale": 0.5, "port": 0.5, "gin": 0.0}


def test_the_scale_is_cap_over_epsilon_exactly(shop, drawn_scales) -> None:
    ItemCounts(epsilon="0.3", cap=7).release(shop)
    assert drawn_scales == [Fraction(7 * 2**20 * 10, 3)]


def test_noise_is_on_every_item_of_the_catalog(shop, fixed_bits) -> None:
    counts = counts_of(ItemCounts(epsilon="1/100", cap=30).release(shop))
    assert len(counts) == 5
    assert all(abs(value) > 1 for value in counts.values())


def test_the_scale_does_not_depend_on_the_records(shop, drawn_scales) -> None:
    ItemCounts(epsilon=1, cap=3).release(shop)
    ItemCounts(epsilon=1, cap=3).release(shop.filter(shop.user == 0))
    ItemCounts(epsilon=1, cap=3).release(shop.emptied())
    assert len(set(drawn_scales)) == 1


def test_estimate_reads_no_record(shop) -> None:
    mechanism = ItemCounts(epsilon="1/2", cap=30)
    assert mechanism.estimate(shop) == mechanism.estimate(shop.emptied())
    assert mechanism.estimate(shop)["noise_sd"] == pytest.approx(60 * 2**0.5, rel=1e-6)
    assert str(mechanism.plan(shop).guarantee) == str(ItemCounts(epsilon="1/2", cap=30).release(shop).guarantee)


def test_estimated_noise_is_the_noise(shop, fixed_bits) -> None:
    sums = dc.counting.ItemCounts(epsilon=1, cap=2).release(shop)
    assert sums.parameters["noise_95"] > 0
    from discreet.privacy.weighing import weigh

    bounded = weigh(shop, 2)
    mechanism = LaplaceMechanism.of(1)
    noise = np.concatenate([mechanism.release(bounded) - bounded.values for _ in range(4000)]) * float(bounded.step)
    assert noise.std() == pytest.approx(mechanism.standard_deviation(bounded), rel=0.03)
    assert (np.abs(noise) <= mechanism.interval(bounded, 0.95)).mean() == pytest.approx(0.95, abs=0.006)


def test_without_a_public_catalog_it_is_refused() -> None:
    data = dc.Interactions([("ann", "tea")])
    with pytest.raises(PrivacyError, match="public knowledge which items occur"):
        ItemCounts(epsilon=1, cap=3).release(data)
    assert ItemCounts(epsilon=1, cap=3).release(data.with_catalog("observed")).table("counts").height == 1


@pytest.mark.parametrize("cap", [0, -1, True, 2.5, 10**10])
def test_impossible_caps(shop, cap) -> None:
    with pytest.raises(UsageError, match="cap"):
        ItemCounts(epsilon=1, cap=cap).release(shop)


@pytest.mark.parametrize("epsilon", [0, -1, "x", float("nan")])
def test_impossible_budgets(shop, epsilon) -> None:
    with pytest.raises(UsageError, match="epsilon"):
        ItemCounts(epsilon=epsilon, cap=1).release(shop)


def test_the_ledger_is_charged_before_noise_is_drawn(shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(shop, epsilon=1, unit="user")
    seen: list[Fraction] = []

    def drawing(shape, scale):
        seen.append(ledger.statement(shop).reserved.epsilon)
        raise RuntimeError("the power went out")

    monkeypatch.setitem(draws.SAMPLERS, "laplace", drawing)
    with pytest.raises(RuntimeError):
        ItemCounts(epsilon="1/4", cap=2).release(shop, ledger=ledger)
    assert seen == [Fraction(1, 4)]
    assert ledger.statement(shop).reserved.epsilon == Fraction(1, 4)


def test_a_refusal_draws_nothing_and_costs_nothing(shop, drawn_scales, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(shop, epsilon=1, unit="user")
    with pytest.raises(BudgetError):
        ItemCounts(epsilon=2, cap=2).release(shop, ledger=ledger)
    assert drawn_scales == []
    release = ItemCounts(epsilon=1, cap=2).release(shop, ledger=ledger)
    statement = ledger.statement(shop)
    assert statement.spent.epsilon == 1
    assert release.id in str(statement.to_json())


def test_a_part_charges_the_whole(shop, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(shop, epsilon=1, unit="user")
    ItemCounts(epsilon="1/2", cap=2).release(shop.filter(shop.user == 1, independent=True), ledger=ledger)
    assert ledger.statement(shop).spent.epsilon == Fraction(1, 2)


@pytest.mark.parametrize(("epsilon", "cap"), [("1/1000000000", 10**6), ("1/1000", 10**6)])
def test_what_cannot_be_drawn_is_refused_before_it_is_charged(shop, tmp_path: Path, epsilon: str, cap: int) -> None:
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(shop, epsilon=1, unit="user")
    with pytest.raises(UsageError, match="larger epsilon"):
        ItemCounts(epsilon=epsilon, cap=cap).release(shop, ledger=ledger)
    with pytest.raises(UsageError, match="larger epsilon"):
        ItemCounts(epsilon=epsilon, cap=cap).estimate(shop)
    assert ledger.statement(shop).entries == ()


def test_an_enormous_budget_is_no_hang(shop) -> None:
    assert counts_of(ItemCounts(epsilon=10**12, cap=10).release(shop))["rum"] == pytest.approx(2, abs=1e-3)


def test_top_is_post_processing(shop, drawn_scales) -> None:
    best = top(ItemCounts(epsilon=1, cap=2).release(shop), 3)
    assert best["item_id"].to_list() == ["rum", "ale", "port"]
    assert best["rank"].to_list() == [1, 2, 3]
    with pytest.raises(UsageError):
        top(ItemCounts(epsilon=1, cap=2).release(shop), 0)
    with pytest.raises(ReleaseError):
        top(dc.counting.TopItems(k=2, epsilon=1).release(shop))


def test_ids_of_any_kind_are_released_as_text() -> None:
    data = dc.Interactions([("u", (1, 2))]).with_catalog("observed")
    assert ItemCounts(epsilon=1, cap=1).release(data).table("counts")["item_id"].to_list() == ["(1, 2)"]


def test_repeated_visits_count_up_to_the_cap(drawn_scales) -> None:
    visits = dc.Interactions([("u", "park")] * 9 + [("u", "zoo")], items=["park", "zoo"], duplicates="keep")
    counts = counts_of(ItemCounts(epsilon=1, cap=5).release(visits))
    assert counts == {"park": 4.5, "zoo": 0.5}


def test_titles_come_along(drawn_scales) -> None:
    films = dc.synthetic.films(users=50, items=20, seed=1)
    assert ItemCounts(epsilon=1, cap=2).release(films).table("counts").columns == ["item_id", "title", "count"]
