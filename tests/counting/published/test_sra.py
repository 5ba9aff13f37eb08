"""SRA: one sample for both lists, noise of scale cap/ε, the whole budget on items where there are no contexts."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.counting import SRA
from discreet.errors import PrivacyError, UsageError
from discreet.privacy.guarantees import Standing


def test_nothing_is_lost_under_the_cap(visits, drawn_scales) -> None:
    release = SRA(epsilon=1, cap=100).release(visits, contexts=["day=dry,wet"])
    assert release.table("counts")["count"].to_list() == [0, 1, 6, 1, 2]
    edges = release.table("edges")
    assert edges.columns == ["item_id", "day", "count"]
    assert edges["count"].to_list() == [0, 0, 0, 1, 6, 0, 1, 0, 1, 1]


def test_the_budget_is_shared_as_told(visits, drawn_scales) -> None:
    SRA(epsilon=1, cap=3).release(visits)
    assert drawn_scales == [3]
    drawn_scales.clear()
    SRA(epsilon=1, cap=3, item_share="1/4").release(visits, contexts=["day=dry,wet"])
    assert drawn_scales == [12, 4]


def test_both_lists_count_one_sample(visits, drawn_scales, fixed_bits) -> None:
    for _ in range(20):
        release = SRA(epsilon=1, cap=2).release(visits, contexts=["day=dry,wet"])
        items = release.table("counts")["count"].to_numpy()
        edges = release.table("edges")["count"].to_numpy().reshape(5, 2)
        assert (edges.sum(axis=1) == items).all()
        assert items.sum() == 3  # two of ann's, one of bob's


def test_the_sample_is_drawn_afresh(visits, drawn_scales, fixed_bits) -> None:
    method = SRA(epsilon=1, cap=1)
    seen = {tuple(method.release(visits).table("counts")["count"]) for _ in range(40)}
    assert len(seen) > 1


def test_the_guarantee_is_known_before(visits) -> None:
    method = SRA(epsilon="1/2", cap=4)
    guarantee = method.plan(visits).guarantee
    assert guarantee.standing is Standing.PROVED
    assert guarantee.loss.epsilon_at(Fraction(0)) == Fraction(1, 2)
    assert str(guarantee) == str(method.release(visits).guarantee)
    assert "cut to 4 at random" in " ".join(guarantee.caps)


def test_estimate_reads_no_record_and_tells_the_noise(visits, fixed_bits) -> None:
    method = SRA(epsilon=1, cap=5)
    contexts = ["day=dry,wet"]
    expected = method.estimate(visits, contexts=contexts)
    assert expected == method.estimate(visits.emptied(), contexts=contexts)
    assert expected["edges"] == 10
    noise = [method.release(visits.emptied(), contexts=contexts) for _ in range(400)]
    items = np.concatenate([release.table("counts")["count"].to_numpy() for release in noise])
    edges = np.concatenate([release.table("edges")["count"].to_numpy() for release in noise])
    assert items.std() == pytest.approx(expected["noise_sd"], rel=0.1)
    assert edges.std() == pytest.approx(expected["edge_noise_sd"], rel=0.1)


@pytest.mark.parametrize(
    "settings",
    [{"cap": 0}, {"cap": "data"}, {"cap": True}, {"cap": 3, "epsilon": 0}, {"cap": 3, "item_share": 1}],
    ids=str,
)
def test_nonsense_costs_nothing(visits, tmp_path: Path, settings) -> None:
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(visits, epsilon=1, unit="user")
    with pytest.raises(UsageError):
        SRA(**{"epsilon": "1/2", **settings}).release(visits, ledger=ledger)
    assert ledger.statement(visits).entries == ()


def test_a_public_catalog_is_needed() -> None:
    with pytest.raises(PrivacyError, match="public list of items"):
        SRA(epsilon=1, cap=1).release(dc.Interactions([("ann", "tea")]))


def test_the_ledger_is_charged(visits, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(visits, epsilon=1, unit="user")
    SRA(epsilon="1/4", cap=2).release(visits, contexts=["day=dry,wet"], ledger=ledger)
    assert ledger.statement(visits).spent.epsilon == Fraction(1, 4)
