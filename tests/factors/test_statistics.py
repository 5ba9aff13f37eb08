"""What one user can change about what is released: measured on users of every kind, extreme ones first."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.factors.rating_statistics import offset_sums, record_sums
from discreet.factors.statistics import Opinions, popularity_sums, projected_gram, unit_gram
from discreet.privacy.gram import DIRECTION_BITS, ProjectedGram, on_grid
from discreet.privacy.units import Unit

ITEMS = [f"i{n:02d}" for n in range(12)]
RATINGS = st.dictionaries(st.sampled_from(ITEMS), st.integers(1, 5), max_size=12)


def dataset(*histories: dict[str, int]) -> Interactions:
    rows = [(f"u{n}", item, rating) for n, history in enumerate(histories) for item, rating in history.items()]
    table = {"user_id": [r[0] for r in rows], "item_id": [r[1] for r in rows], "rating": [float(r[2]) for r in rows]}
    return Interactions(table, items=ITEMS, scale="1:5")


OTHERS = [{"i00": 5, "i01": 4}, {"i01": 3, "i05": 1, "i07": 5}, {"i00": 5}]
WEIGHTS = np.linspace(0.3, 1.7, 12)


@given(history=RATINGS)
def test_popularity_moves_by_at_most_its_bound(history: dict[str, int]) -> None:
    before, after = popularity_sums(dataset(*OTHERS)), popularity_sums(dataset(*OTHERS, history))
    moved = sum(int(x) ** 2 for x in after.values - before.values)
    assert moved <= before.l2_squared == after.l2_squared


def test_the_bound_of_popularity_is_nearly_reached() -> None:
    """A bound twice as large would pass the test above, and cost accuracy."""
    everything = dict.fromkeys(ITEMS, 5)
    for history in ({"i03": 2}, everything):
        before, after = popularity_sums(dataset(*OTHERS)), popularity_sums(dataset(*OTHERS, history))
        moved = sum(int(x) ** 2 for x in after.values - before.values)
        assert moved > 0.999 * before.l2_squared


@given(history=RATINGS, seed=st.integers(0, 50), below=st.sampled_from(["0", "3/10", "1"]))
def test_tastes_move_by_at_most_their_bound(history: dict[str, int], seed: int, below: str) -> None:
    direction = np.abs(np.random.default_rng(seed).normal(size=12))
    direction /= np.linalg.norm(direction)
    head = np.arange(12, dtype=np.int32)
    first, second = (Opinions.of(data, None, Fraction(below)) for data in (dataset(*OTHERS), dataset(*OTHERS, history)))
    before = projected_gram(first.rated, head, WEIGHTS, direction, first.values).settled()
    after = projected_gram(second.rated, head, WEIGHTS, direction, second.values).settled()
    moved = after.matrices[0] - before.matrices[0]
    assert sum(int(x) ** 2 for x in moved.ravel()) <= before.frobenius_squared
    # Nothing is left along the direction but what rounding leaves.
    size = np.abs(moved).max(initial=0)
    assert np.abs(moved @ direction).max(initial=0) <= 0.01 * size + 2**18


def test_tastes_fill_their_bound() -> None:
    head, direction = np.arange(12, dtype=np.int32), np.full(12, 12**-0.5)
    before = projected_gram(dataset(*OTHERS), head, WEIGHTS, direction).settled()
    after = projected_gram(dataset(*OTHERS, {"i03": 1, "i04": 1}), head, WEIGHTS, direction).settled()
    moved = (after.matrices[0] - before.matrices[0]).astype(float)
    assert (moved**2).sum() > 0.99 * before.frobenius_squared


def test_a_user_of_mere_popularity_adds_next_to_nothing() -> None:
    """A taste that is the direction itself has nothing left; scaling rounding errors up would be noise."""
    head, direction = np.arange(12, dtype=np.int32), WEIGHTS / np.linalg.norm(WEIGHTS)
    before = projected_gram(dataset(*OTHERS), head, WEIGHTS, direction).settled()
    after = projected_gram(dataset(*OTHERS, dict.fromkeys(ITEMS, 5)), head, WEIGHTS, direction).settled()
    moved = (after.matrices[0] - before.matrices[0]).astype(float)
    assert np.sqrt((moved**2).sum()) < 1e-5 * math.sqrt(before.frobenius_squared)


@given(seed=st.integers(0, 10**6))
def test_what_is_taken_out_is_exact_up_to_one_step(seed: int) -> None:
    """The settled matrix is that of rational arithmetic, rounded down entry by entry, however large the sums are."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-(2**16), 2**16, size=(3, 5))
    total = np.zeros((5, 5), dtype=object)
    for one in x:
        total += int(rng.integers(1, 2**27)) * np.outer(one, one).astype(object)
    direction = rng.normal(size=5)
    grid = on_grid(direction / np.linalg.norm(direction))
    gram = ProjectedGram(total.astype(np.int64), grid, 4096, Fraction(1, 4**12), Unit("user"), ())
    k = [Fraction(int(one), 2**DIRECTION_BITS) for one in grid]
    taken = [[Fraction(int(i == j)) - k[i] * k[j] for j in range(5)] for i in range(5)]
    exact = np.array(taken, dtype=object) @ total @ np.array(taken, dtype=object)
    off = gram.settled().matrices[0].astype(object) - exact
    assert all(-Fraction(1, 64) < one < 1 + Fraction(1, 64) for one in off.ravel())


@given(history=RATINGS, crowd=st.lists(RATINGS, max_size=30), seed=st.integers(0, 50))
def test_a_users_part_is_short_in_exact_arithmetic(history: dict[str, int], crowd: list[Any], seed: int) -> None:
    direction = np.abs(np.random.default_rng(seed).normal(size=12))
    grid = on_grid(direction / np.linalg.norm(direction))
    head = np.arange(12, dtype=np.int32)
    alone = projected_gram(dataset(history), head, WEIGHTS, grid / 2**DIRECTION_BITS)
    x = [math.isqrt(int(one)) for one in alone.total.diagonal()]
    along = sum(int(k) * one for k, one in zip(grid, x, strict=True))
    left = [one - Fraction(int(k) * along, 4**DIRECTION_BITS) for k, one in zip(grid, x, strict=True)]
    assert sum(one**2 for one in left) <= 4096**2
    assert sum(one**2 for one in x) <= (16 * 4096) ** 2
    # The same history adds the same whole numbers, whoever else is there.
    with_it = projected_gram(dataset(*crowd, history), head, WEIGHTS, grid / 2**DIRECTION_BITS)
    without = projected_gram(dataset(*crowd), head, WEIGHTS, grid / 2**DIRECTION_BITS)
    assert np.array_equal(with_it.total - without.total, alone.total)
    together = projected_gram(dataset(*crowd), head, WEIGHTS, grid / 2**DIRECTION_BITS) + alone
    assert np.array_equal(together.settled().matrices[0], with_it.settled().matrices[0])


def test_directions_that_are_not_of_length_one_are_refused() -> None:
    head = np.arange(12, dtype=np.int32)
    with pytest.raises(UsageError, match="length 1"):
        projected_gram(dataset(*OTHERS), head, WEIGHTS, np.full(12, 1.0))


@given(history=RATINGS)
def test_offsets_move_by_at_most_their_bound(history: dict[str, int]) -> None:
    before, after = offset_sums(dataset(*OTHERS), WEIGHTS, 0.3), offset_sums(dataset(*OTHERS, history), WEIGHTS, 0.3)
    assert sum(int(x) ** 2 for x in after.values - before.values) <= before.l2_squared


def test_offsets_fill_their_bound() -> None:
    before = offset_sums(dataset(*OTHERS), WEIGHTS, 0.3)
    after = offset_sums(dataset(*OTHERS, {"i01": 1, "i02": 5, "i03": 1, "i04": 5}), WEIGHTS, 0.3)
    assert sum(int(x) ** 2 for x in (after.values - before.values)[:-1]) > 0.97 * before.l2_squared


@given(history=RATINGS, item=st.sampled_from(ITEMS), rating=st.integers(1, 5))
def test_one_record_moves_one_item(history: dict[str, int], item: str, rating: int) -> None:
    without = {name: value for name, value in history.items() if name != item}
    before, after = record_sums(dataset(*OTHERS, without)), record_sums(dataset(*OTHERS, {**without, item: rating}))
    moved = after.values - before.values
    assert set(np.flatnonzero(moved)) <= {ITEMS.index(item), 12 + ITEMS.index(item)}
    assert sum(int(x) ** 2 for x in moved) <= before.l2_squared


@given(values=st.lists(st.floats(-1, 1), min_size=7, max_size=7))
def test_residuals_move_by_at_most_their_bound(values: list[float]) -> None:
    head = np.arange(12, dtype=np.int32)
    data = dataset(*OTHERS, dict.fromkeys(ITEMS[:7], 3))
    fixed = np.full(len(data) - 7, 0.25)
    before = unit_gram(dataset(*OTHERS), head, fixed)
    after = unit_gram(data, head, np.concatenate([fixed, values]))
    moved = after.matrices[0] - before.matrices[0]
    assert sum(int(x) ** 2 for x in moved.ravel()) <= before.frobenius_squared


def test_values_without_a_finite_length_count_as_nothing() -> None:
    """Whole numbers of an infinite one have no bound."""
    from discreet.factors.kernels import projected_values, unit_values

    starts = np.array([0, 2, 4])
    steps = unit_values(starts, np.array([1e200, 1.0, 3.0, 4.0]), 16)
    assert (steps[:2] == 0).all()
    assert 0 < (steps[2:] ** 2).sum() <= 16**2
    grid = on_grid(np.array([0.6, 0.8]))
    steps = projected_values(
        starts, np.array([0, 1, 0, 0]), np.array([1.0, 1e200, 1.0, 1.0]), grid, DIRECTION_BITS, 16, 16
    )
    assert (steps[:2] == 0).all()
    assert (steps[2:] > 0).all()


def test_ratings_below_the_threshold_are_no_likes() -> None:
    """They say something about a taste, and make nothing popular."""
    data = dataset({"i00": 5, "i01": 2, "i02": 4}, {"i03": 1})
    opinions = Opinions.of(data, None, Fraction(1))
    assert opinions.likes.item.tolist() == [0, 2]
    assert opinions.rated.item.tolist() == [0, 1, 2, 3]
    assert opinions.values == pytest.approx([4 / 3, 1 / 3, 1.0, 0.0])
    sums = popularity_sums(opinions.likes)
    assert (sums.values[:-1] > 0).nonzero()[0].tolist() == [0, 2]
    assert Opinions.of(data, None, Fraction(1, 2)).values == pytest.approx([4 / 3, 1 / 6, 1.0, 0.0])
    without = Opinions.of(data, None, Fraction(0))
    assert without.rated.item[without.values > 0].tolist() == [0, 2]


def test_one_rating_changes_what_no_other_says() -> None:
    """The low end of the scale is public; that of the records is not."""
    others = ({"i00": 5, "i01": 3}, {"i02": 4, "i03": 2})
    before, after = (Opinions.of(dataset(*people), None, Fraction(1)) for people in (others, (*others, {"i05": 1})))
    assert before.values.tolist() == after.values[:4].tolist()
    assert before.values.min() > 0
