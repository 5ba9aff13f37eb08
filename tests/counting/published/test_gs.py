"""GS: groups from a charged look, sums of groups with noise for the cap, averages as published."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.counting import GS
from discreet.counting.published.gs import group_sums, groups
from discreet.errors import PrivacyError, UsageError
from discreet.privacy.guarantees import Standing
from discreet.privacy.weighing import weigh

GRID = 2**20


@pytest.fixture
def shelves() -> dc.Interactions:
    """Item i is touched by 10·(5 − i) people, one item each: 50, 40, 30, 20, 10."""
    rows = [(f"{item}-{n}", item) for item in range(5) for n in range(10 * (5 - item))]
    return dc.Interactions(rows, items=range(5))


def test_counts_of_a_group_are_its_mean(shelves, drawn_scales) -> None:
    counts = GS(epsilon=1, cap=1, width=2).release(shelves).table("counts")["count"].to_list()
    assert counts == [45, 45, 25, 25, 10]
    assert drawn_scales == [2, 2 * GRID]


def test_budgets_of_both_steps_and_both_lists(visits, drawn_scales) -> None:
    GS(epsilon=1, cap=3, width=2, grouping_share="1/4").release(visits, contexts=["day=dry,wet"])
    assert drawn_scales == [8, 8 * GRID, 8, 8 * GRID]


def test_groups_go_by_the_noisy_order(shelves, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise that turns the order round makes other groups."""
    from discreet.privacy import draws

    def noise(shape, scale):
        return np.arange(5) * 1000 if scale == 2 else np.zeros(shape, dtype=np.int64)

    monkeypatch.setitem(draws.SAMPLERS, "laplace", noise)
    counts = GS(epsilon=1, cap=1, width=2).release(shelves).table("counts")["count"].to_list()
    assert counts == [50, 35, 35, 15, 15]


@pytest.mark.parametrize("width", [1, 2, 3, 5, 9])
def test_sums_of_any_partition_change_by_no_more_than_the_cap(width: int) -> None:
    rng = np.random.default_rng(width)
    data = dc.Interactions([("u", item) for item in rng.permutation(7)[: rng.integers(1, 8)]], items=range(7))
    for cap in (1, 3, 7):
        sums = group_sums(weigh(data, cap), groups(rng.integers(0, 5, 7), width))
        assert sums.values.size == -(-7 // width)
        assert np.abs(sums.values).sum() <= sums.l1 == cap * GRID


def test_a_group_wider_than_the_list_is_the_list(shelves, drawn_scales) -> None:
    counts = GS(epsilon=1, cap=1, width=50).release(shelves).table("counts")["count"].to_list()
    assert counts == [30] * 5


def test_as_published_ragged_groups_get_too_little_noise(shelves, drawn_scales) -> None:
    """Five counts in groups of two: sums of two have scale M/ε, the last one half of that."""
    method = GS(epsilon=1, cap="data", width=2)
    with pytest.raises(PrivacyError, match="refuted"):
        method.release(shelves)
    release = method.release(shelves, allow_refuted=True)
    assert release.guarantee.standing is Standing.REFUTED
    assert release.table("counts")["count"].to_list() == [45, 45, 25, 25, 10]
    assert drawn_scales == [2, 2, 1]
    assert str(release.guarantee) == str(method.plan(shelves).guarantee)


def test_estimated_noise_is_the_noise(fixed_bits) -> None:
    nobody = dc.Interactions([("u", 0)], items=range(12)).emptied()
    method = GS(epsilon=1, cap=5, width=4)
    counts = np.array([method.release(nobody).table("counts")["count"].to_numpy() for _ in range(600)])
    expected = method.estimate(nobody)
    assert counts.std() == pytest.approx(expected["noise_sd"], rel=0.1)
    assert (np.abs(counts) <= expected["noise_95"]).mean() == pytest.approx(0.95, abs=0.02)
    assert expected["noise_sd"] == pytest.approx(2**0.5 * 10 / 4, rel=1e-3)


def test_the_guarantee(visits) -> None:
    method = GS(epsilon="1/2", cap=4, width=2)
    guarantee = method.plan(visits).guarantee
    assert guarantee.standing is Standing.PROVED
    assert guarantee.loss.epsilon_at(Fraction(0)) == Fraction(1, 2)
    assert str(guarantee) == str(method.release(visits).guarantee)
    assert method.estimate(visits) == method.estimate(visits.emptied())


@pytest.mark.parametrize("settings", [{"cap": 0}, {"width": 0}, {"width": 2.5}, {"grouping_share": 1}], ids=str)
def test_nonsense_is_refused(visits, settings) -> None:
    with pytest.raises(UsageError):
        GS(**{"epsilon": 1, "cap": 3, "width": 2, **settings}).release(visits)
