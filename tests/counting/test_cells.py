"""Cells: which count a record belongs to, and what one user can change."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.counting import ItemCounts, ItemPairs, TopItems
from discreet.counting.cells import Cells
from discreet.errors import PrivacyError, UsageError


def test_records_in_their_places(visits) -> None:
    cells = Cells.of(visits, ["day=dry,wet"])
    assert (cells.n_users, cells.n_items, cells.n_places) == (2, 5, 2)
    assert cells.size("items") == 5
    assert cells.size("edges") == 10
    assert cells.totals("items").tolist() == [0, 1, 6, 1, 2]
    assert cells.totals("edges").tolist() == [0, 0, 0, 1, 6, 0, 1, 0, 1, 1]
    np.testing.assert_array_equal(cells.totals("edges").reshape(5, 2).sum(axis=1), cells.totals("items"))


def test_records_without_a_public_value_are_left_out(visits) -> None:
    cells = Cells.of(visits, ["day=wet"])
    assert cells.totals("edges").tolist() == [0, 1, 0, 0, 1]
    assert cells.records_per_user.tolist() == [2, 0]
    assert cells.n_users == 2


def test_two_contexts_make_all_combinations() -> None:
    frame = {
        "user_id": ["u", "u", "v"],
        "item_id": ["a", "a", "b"],
        "day": ["dry", "wet", "wet"],
        "hour": ["1", "2", "1"],
    }
    data = dc.Interactions(frame, context=["day", "hour"], items=["a", "b"], duplicates="keep")
    cells = Cells.of(data, ["day=dry,wet", "hour=1,2,3"])
    assert cells.n_places == 6
    assert np.flatnonzero(cells.totals("edges")).tolist() == [0, 4, 6 + 3]


def test_without_contexts_edges_are_items(visits) -> None:
    cells = Cells.of(visits)
    assert cells.n_places == 1
    assert cells.totals("edges").tolist() == cells.totals("items").tolist()
    assert cells.one_place_each


def test_weights_are_summed_exactly(visits) -> None:
    cells = Cells.of(visits)
    weight = np.full(len(visits), 2**20, dtype=np.int64)
    assert cells.totals("items", weight).tolist() == [0, 2**20, 6 * 2**20, 2**20, 2 * 2**20]
    assert cells.totals("items").dtype == np.int64


def test_starts_lie_between_users(visits) -> None:
    assert Cells.of(visits).starts.tolist() == [0, 9, 10]
    assert Cells.of(visits.emptied()).starts.tolist() == [0]


def test_facts_about_users_give_one_place_each() -> None:
    people = {"user_id": ["u", "v"], "sex": ["f", "m"]}
    data = dc.Interactions([("u", "a"), ("v", "a"), ("u", "b")], items=["a", "b"], users=people)
    cells = Cells.of(data, ["sex=f,m"])
    assert cells.one_place_each
    assert cells.totals("edges").tolist() == [1, 1, 1, 0]


def test_bounds_of_records_that_were_cut(visits) -> None:
    """Five records of one user: on one item where repeats may occur, otherwise on five."""
    cells = Cells.of(visits)
    sums = cells.counts("items", 5, caps=("cut to 5",))
    assert (sums.l1, sums.l2_squared, sums.linf) == (5, 25, 5)
    once = dc.Interactions([("u", "a")], items=["a", "b"])
    sums = Cells.of(once).counts("items", 5, caps=())
    assert (sums.l1, sums.l2_squared, sums.linf) == (5, 5, 1)
    assert sums.step == Fraction(1)


def test_a_mask_keeps_the_public_shape(visits) -> None:
    cells = Cells.of(visits, ["day=dry,wet"])
    part = cells.keep(cells.user == 1)
    assert (part.n_users, part.n_items, part.n_places) == (2, 5, 2)
    assert part.records_per_user.tolist() == [0, 1]


@pytest.mark.parametrize("method", [ItemCounts(1), TopItems(1, 1), ItemPairs(1, cap=1, head=2)])
def test_the_catalog_must_be_public(method) -> None:
    data = dc.Interactions([("u", "a"), ("u", "b")])
    for ask in (method.plan, method.estimate, method.release):
        with pytest.raises(PrivacyError, match="public list"):
            ask(data)


def test_too_many_cells() -> None:
    frame = {"user_id": ["u"], "item_id": ["a"], "day": ["1"], "hour": ["1"]}
    data = dc.Interactions(frame, context=["day", "hour"], items=["a", "b", "c"])
    values = ",".join(str(n) for n in range(30_000))
    with pytest.raises(UsageError, match="two thousand million"):
        Cells.of(data, [f"day={values}", f"hour={values}"])


def test_items_that_happen_to_occur_are_no_cells() -> None:
    """Which items occur is somebody's secret, also for those who make cells by themselves."""
    with pytest.raises(PrivacyError, match="public list of items"):
        Cells.of(dc.Interactions([("u", "a"), ("u", "b")]))
