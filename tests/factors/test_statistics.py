"""What one user can change about what is released: measured on users of every kind, extreme ones first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.interactions import Interactions
from discreet.factors.rating_statistics import offset_sums, record_sums
from discreet.factors.statistics import popularity_sums, projected_gram, unit_gram

ITEMS = [f"i{n:02d}" for n in range(12)]
RATINGS = st.dictionaries(st.sampled_from(ITEMS), st.integers(1, 5), max_size=12)


def world(*histories: dict[str, int]) -> Interactions:
    rows = [(f"u{n}", item, rating) for n, history in enumerate(histories) for item, rating in history.items()]
    table = {"user_id": [r[0] for r in rows], "item_id": [r[1] for r in rows], "rating": [float(r[2]) for r in rows]}
    return Interactions(table, items=ITEMS, scale="1:5")


OTHERS = [{"i00": 5, "i01": 4}, {"i01": 3, "i05": 1, "i07": 5}, {"i00": 5}]
WEIGHTS = np.linspace(0.3, 1.7, 12)


@given(history=RATINGS)
def test_popularity_moves_by_at_most_its_bound(history: dict[str, int]) -> None:
    before, after = popularity_sums(world(*OTHERS)), popularity_sums(world(*OTHERS, history))
    moved = sum(int(x) ** 2 for x in after.values - before.values)
    assert moved <= before.l2_squared == after.l2_squared


def test_the_bound_of_popularity_is_nearly_reached() -> None:
    """A bound twice as large would pass the test above, and cost accuracy."""
    everything = dict.fromkeys(ITEMS, 5)
    for history in ({"i03": 2}, everything):
        before, after = popularity_sums(world(*OTHERS)), popularity_sums(world(*OTHERS, history))
        moved = sum(int(x) ** 2 for x in after.values - before.values)
        assert moved > 0.999 * before.l2_squared


@given(history=RATINGS, seed=st.integers(0, 50))
def test_tastes_move_by_at_most_their_bound(history: dict[str, int], seed: int) -> None:
    direction = np.abs(np.random.default_rng(seed).normal(size=12))
    direction /= np.linalg.norm(direction)
    head = np.arange(12, dtype=np.int32)
    before = projected_gram(world(*OTHERS), head, WEIGHTS, direction)
    after = projected_gram(world(*OTHERS, history), head, WEIGHTS, direction)
    moved = after.matrices[0] - before.matrices[0]
    assert sum(int(x) ** 2 for x in moved.ravel()) <= before.frobenius_squared
    # Nothing is left along the direction but what rounding leaves.
    size = np.abs(moved).max(initial=0)
    assert np.abs(moved @ direction).max(initial=0) <= 0.01 * size + 2**18


def test_tastes_fill_their_bound() -> None:
    head, direction = np.arange(12, dtype=np.int32), np.full(12, 12**-0.5)
    before = projected_gram(world(*OTHERS), head, WEIGHTS, direction)
    after = projected_gram(world(*OTHERS, {"i03": 1, "i04": 1}), head, WEIGHTS, direction)
    moved = (after.matrices[0] - before.matrices[0]).astype(float)
    assert (moved**2).sum() > 0.99 * before.frobenius_squared


def test_a_user_of_mere_popularity_adds_nothing() -> None:
    """A taste that is the direction itself has nothing left; scaling rounding errors up would be noise."""
    head, direction = np.arange(12, dtype=np.int32), WEIGHTS / np.linalg.norm(WEIGHTS)
    before = projected_gram(world(*OTHERS), head, WEIGHTS, direction)
    after = projected_gram(world(*OTHERS, dict.fromkeys(ITEMS, 5)), head, WEIGHTS, direction)
    assert np.array_equal(before.matrices[0], after.matrices[0])


@given(history=RATINGS)
def test_offsets_move_by_at_most_their_bound(history: dict[str, int]) -> None:
    before, after = offset_sums(world(*OTHERS), WEIGHTS, 0.3), offset_sums(world(*OTHERS, history), WEIGHTS, 0.3)
    assert sum(int(x) ** 2 for x in after.values - before.values) <= before.l2_squared


def test_offsets_fill_their_bound() -> None:
    before = offset_sums(world(*OTHERS), WEIGHTS, 0.3)
    after = offset_sums(world(*OTHERS, {"i01": 1, "i02": 5, "i03": 1, "i04": 5}), WEIGHTS, 0.3)
    assert sum(int(x) ** 2 for x in (after.values - before.values)[:-1]) > 0.97 * before.l2_squared


@given(history=RATINGS, item=st.sampled_from(ITEMS), rating=st.integers(1, 5))
def test_one_record_moves_one_item(history: dict[str, int], item: str, rating: int) -> None:
    without = {name: value for name, value in history.items() if name != item}
    before, after = record_sums(world(*OTHERS, without)), record_sums(world(*OTHERS, {**without, item: rating}))
    moved = after.values - before.values
    assert set(np.flatnonzero(moved)) <= {ITEMS.index(item), 12 + ITEMS.index(item)}
    assert sum(int(x) ** 2 for x in moved) <= before.l2_squared


@given(values=st.lists(st.floats(-1, 1), min_size=7, max_size=7))
def test_residuals_move_by_at_most_their_bound(values: list[float]) -> None:
    head = np.arange(12, dtype=np.int32)
    data = world(*OTHERS, dict.fromkeys(ITEMS[:7], 3))
    fixed = np.full(len(data) - 7, 0.25)
    before = unit_gram(world(*OTHERS), head, fixed)
    after = unit_gram(data, head, np.concatenate([fixed, values]))
    moved = after.matrices[0] - before.matrices[0]
    assert sum(int(x) ** 2 for x in moved.ravel()) <= before.frobenius_squared


def test_one_persons_numbers_do_not_depend_on_the_others() -> None:
    """Whoever stands before or behind in the data, the same history adds the same whole numbers."""
    head, direction = np.arange(12, dtype=np.int32), np.full(12, 12**-0.5)
    history = {"i02": 5, "i09": 2, "i11": 4}
    alone = projected_gram(world(history), head, WEIGHTS, direction).matrices[0]
    rng = np.random.default_rng(1)
    crowd = [{ITEMS[i]: int(rng.integers(1, 6)) for i in rng.choice(12, 5, replace=False)} for _ in range(40)]
    with_it = projected_gram(world(*crowd, history), head, WEIGHTS, direction).matrices[0]
    without = projected_gram(world(*crowd), head, WEIGHTS, direction).matrices[0]
    assert np.array_equal(with_it - without, alone)


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.factors import statistics

    head, direction = np.arange(12, dtype=np.int32), np.full(12, 12**-0.5)
    whole = projected_gram(world(*OTHERS * 9), head, WEIGHTS, direction).matrices[0]
    monkeypatch.setattr(statistics, "ROWS_AT_ONCE", 24)
    assert np.array_equal(whole, projected_gram(world(*OTHERS * 9), head, WEIGHTS, direction).matrices[0])


def test_values_without_a_finite_length_count_as_nothing() -> None:
    """Whole numbers of an infinite one have no bound."""
    from discreet.factors.kernels import projected_rows, unit_rows

    starts, items = np.array([0, 2, 4]), np.array([0, 1, 0, 1])
    huge = np.array([1e200, 1.0, 3.0, 4.0])
    rows = unit_rows(starts, items, huge, 2, 16)
    assert (rows[0] == 0).all()
    assert 0 < (rows[1] ** 2).sum() <= 16**2
    rows = projected_rows(starts, np.array([0, 1, 1, 1]), np.array([1e200, 1.0]), np.array([0.6, 0.8]), 16)
    assert (rows[0] == 0).all()
