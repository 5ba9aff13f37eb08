"""Counts clipped in length: weights by hand, noise by the formula, bounds for every user, mistakes that are free."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.counting import ItemCounts
from discreet.counting.cells import Cells, Level
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.losses import GaussianLoss, mu_for

BUDGET = {"epsilon": "1/2", "delta": "1e-6"}


def test_a_long_vector_is_scaled_to_the_bound(visits, drawn_scales) -> None:
    """ann has 6, 1, 1 and 1 visits, squared length 39; bob has 1."""
    counts = ItemCounts(**BUDGET, cap=9).release(visits).table("counts")["count"].to_numpy()
    weight = math.sqrt(9 / 39)
    np.testing.assert_allclose(counts, [0, weight, 6 * weight, weight, 1 + weight], atol=1e-5)


def test_items_and_edges_count_the_same_weighted_records(visits, drawn_scales) -> None:
    release = ItemCounts(**BUDGET, cap=9).release(visits, contexts=["day=dry,wet"])
    edges = release.table("edges")["count"].to_numpy().reshape(5, 2)
    np.testing.assert_allclose(edges.sum(axis=1), release.table("counts")["count"].to_numpy(), atol=1e-9)


def test_the_deviation_is_the_length_over_mu(visits, drawn_scales) -> None:
    method = ItemCounts(**BUDGET, cap=9, item_share="1/4")
    method.release(visits)
    method.release(visits, contexts=["day=dry,wet"])
    squared = mu_for("1/2", "1e-6") ** 2
    for deviation, share in zip(drawn_scales, (1, Fraction(1, 4), Fraction(3, 4)), strict=True):
        assert deviation**2 >= 9 * 4**20 / (squared * share)
        assert deviation**2 == pytest.approx(9 * 4**20 / (squared * share), rel=1e-9)


def test_the_loss_keeps_epsilon_and_delta(visits) -> None:
    loss = ItemCounts(**BUDGET, cap=9).plan(visits).guarantee.loss
    assert isinstance(loss, GaussianLoss)
    assert loss.epsilon_at(Fraction(1, 10**6)) <= Fraction(1, 2)


def test_estimate_reads_no_record(visits) -> None:
    method = ItemCounts(**BUDGET, cap=200)
    assert method.estimate(visits, contexts=["day=dry,wet"]) == method.estimate(
        visits.emptied(), contexts=["day=dry,wet"]
    )
    assert method.estimate(visits)["noise_sd"] == pytest.approx(math.sqrt(200) / mu_for("1/2", "1e-6"), rel=1e-6)


def crowds(extra: int, *, repeats: bool) -> list[Cells]:
    """Thirty users with one to forty records, without and with one more who has as many as told."""
    rng = np.random.default_rng(11)
    sizes = [*rng.integers(1, 41, 30), extra]
    user = np.repeat(np.arange(31), sizes)
    items = [rng.zipf(1.5, n) % 4000 if repeats else rng.choice(4000, n, replace=False) for n in sizes]
    columns = {"user_id": user, "item_id": np.concatenate(items), "day": rng.choice(["dry", "wet", "fog"], user.size)}
    datasets = [{name: column[user < known] for name, column in columns.items()} for known in (30, 31)]
    policy = "keep" if repeats else "error"
    return [
        Cells.of(dc.Interactions(w, context=["day"], items=range(4000), duplicates=policy), ["day=dry,wet"])
        for w in datasets
    ]


BOUNDS: dict[str, Callable[[Cells, Level], BoundedSums]] = {
    "clipped": lambda cells, level: cells.within(level, 20, norm=2),
    "weighed": lambda cells, level: cells.within(level, 10, norm=1),
}


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("level", ["items", "edges"])
@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize("extra", [0, 1, 12, 3000])
def test_one_user_changes_no_more_than_is_stated(extra: int, repeats: bool, level: Level, bound: str) -> None:
    """Neighbors with a user of thousands of records, of one, of none: measured in whole steps."""
    without, with_user = (BOUNDS[bound](cells, level) for cells in crowds(extra, repeats=repeats))
    change = with_user.values - without.values
    assert (change >= 0).all()
    assert int(change.sum()) <= with_user.l1 == without.l1
    assert sum(int(x) ** 2 for x in change) <= with_user.l2_squared == without.l2_squared
    assert int(change.max()) <= with_user.linf == without.linf
    assert without.values.shape == with_user.values.shape
    assert without.step == with_user.step


def test_long_histories_cost_the_root_of_what_they_cost_in_number() -> None:
    """A thousand users with a hundred items each: the same noise budget, an error many times smaller."""
    rng = np.random.default_rng(3)
    frame = {
        "user_id": np.repeat(np.arange(1000), 100),
        "item_id": np.concatenate([rng.choice(300, 100, replace=False) for _ in range(1000)]),
    }
    data = dc.Interactions(frame, items=range(300))
    noise = ItemCounts(epsilon=1, delta="1e-6", cap=100).estimate(data)["noise_sd"]
    assert noise < ItemCounts(epsilon=1, cap=100).estimate(data)["noise_sd"] / 3


@pytest.mark.parametrize("wrong", [{"cap": 0}, {"delta": 1}, {"item_share": 1}, {"epsilon": 0}])
def test_mistakes_cost_nothing(visits, tmp_path: Path, wrong) -> None:
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(visits, epsilon=1, delta="1e-6", unit="user")
    settings = {**BUDGET, "cap": 9, **wrong}
    with pytest.raises(UsageError, match=next(iter(wrong))):
        ItemCounts(**settings).release(visits, ledger=ledger)
    assert ledger.statement(visits).entries == ()


def test_the_ledger_is_charged(visits, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(visits, epsilon=1, delta="1e-6", unit="user")
    release = ItemCounts(**BUDGET, cap=9).release(visits, ledger=ledger)
    assert release.id in str(ledger.statement(visits).to_json())
