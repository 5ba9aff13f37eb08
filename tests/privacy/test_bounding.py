"""Bounding: caps hold for every user, and nothing about them is looked up in the records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data import Interactions
from discreet.errors import UsageError
from discreet.privacy.bounding import cap_items, cap_records, distinct_item_counts, distinct_items
from discreet.privacy.weighing import clip_l2, weigh

ITEMS = list("abcde")
rows = st.lists(st.tuples(st.integers(0, 4), st.sampled_from(ITEMS)), min_size=1, max_size=60)


def visits(rows) -> Interactions:
    timed = [(u, i, 1.0, t) for t, (u, i) in enumerate(rows)]
    return Interactions(timed, items=ITEMS, duplicates="keep")


def of_user(bound, data: Interactions, user: int) -> np.ndarray:
    """What one user contributes: the sums of that user's records alone."""
    return bound(data.filter(data.user == user)).values


@given(rows, st.integers(1, 8))
def test_weighed_contributions_stay_within_their_norms(rows, cap: int) -> None:
    data = visits(rows)
    sums = weigh(data, cap, bits=6)
    total = np.zeros(5, dtype=np.int64)
    for user in range(data.n_users):
        alone = of_user(lambda d: weigh(d, cap, bits=6), data, user)
        assert alone.sum() <= sums.l1
        assert (alone**2).sum() <= sums.l2_squared
        assert alone.max() <= sums.linf
        total += alone
    np.testing.assert_array_equal(total, sums.values)


@given(rows, st.sampled_from(["1/2", "1", "3", "100"]))
def test_clipped_contributions_stay_within_their_norms(rows, bound: str) -> None:
    data = visits(rows)
    sums = clip_l2(data, bound, bits=6)
    total = np.zeros(5, dtype=np.int64)
    for user in range(data.n_users):
        alone = of_user(lambda d: clip_l2(d, bound, bits=6), data, user)
        assert alone.sum() <= sums.l1
        assert (alone**2).sum() <= sums.l2_squared
        assert alone.max() <= sums.linf
        total += alone
    np.testing.assert_array_equal(total, sums.values)


@given(rows, st.integers(1, 8))
def test_counts_of_capped_records_stay_within_their_norms(rows, cap: int) -> None:
    data = cap_records(visits(rows), cap)
    sums = data.item_counts()
    for user in range(data.records.n_users):
        alone = of_user(lambda d: cap_records(d, cap).item_counts(), data.records, user)
        assert alone.sum() <= sums.l1
        assert (alone**2).sum() <= sums.l2_squared
        assert alone.max() <= sums.linf


@given(rows, st.integers(1, 8))
def test_bounds_are_the_same_with_and_without_a_user(rows, cap: int) -> None:
    """Scales follow from these alone, so they may not tell who is there."""
    data = visits(rows)
    for bound in (lambda d: weigh(d, cap), lambda d: clip_l2(d, cap), distinct_item_counts):
        whole, empty = bound(data), bound(data.emptied())
        assert (whole.l1, whole.l2_squared, whole.linf, whole.step) == (
            empty.l1,
            empty.l2_squared,
            empty.linf,
            empty.step,
        )
        assert whole.values.shape == empty.values.shape
        assert whole.caps == empty.caps


def test_whether_repeats_occur_does_not_matter_but_whether_they_may_does() -> None:
    once = Interactions([("u", "a")], items=ITEMS)
    may = Interactions([("u", "a")], items=ITEMS, duplicates="keep")
    do = Interactions([("u", "a"), ("u", "a")], items=ITEMS, duplicates="keep")
    assert weigh(once, 3).linf < weigh(may, 3).linf == weigh(do, 3).linf
    assert cap_records(may, 3).most_repeats == cap_records(do, 3).most_repeats == 3


@given(rows, st.integers(1, 6), st.sampled_from(["random", "recent"]))
def test_caps_keep_as_many_as_they_may(rows, cap: int, choice) -> None:
    data = visits(rows)
    kept = cap_records(data, cap, choice=choice).records
    expected = np.minimum(data.records_per_user, cap)
    assert kept.records_per_user.sum() == expected.sum()
    assert kept.records_per_user.max(initial=0) <= cap
    items = cap_items(data, cap, choice=choice).records
    assert not items.may_repeat
    assert items.records_per_user.max(initial=0) <= cap


def test_recent_keeps_the_latest() -> None:
    data = Interactions([("u", "a", 1, 10), ("u", "b", 1, 30), ("u", "c", 1, 20)], items=ITEMS)
    assert cap_records(data, 2, choice="recent").records.to_frame()["item_id"].to_list() == ["b", "c"]


def test_random_is_even(fixed_bits) -> None:
    data = Interactions([(u, i) for u in range(3000) for i in ITEMS], items=ITEMS)
    counts = cap_records(data, 1).item_counts().values
    assert counts.sum() == 3000
    assert abs(counts - 600).max() < 110


def test_distinct_items_keeps_the_latest_record() -> None:
    data = Interactions([("u", "a", 1, 10), ("u", "a", 5, 30), ("u", "a", 3, 20)], items=ITEMS, duplicates="keep")
    assert distinct_items(data).to_frame()["rating"].to_list() == [5.0]


def test_squares_of_enormous_users_are_exact() -> None:
    """A user with a hundred thousand visits to one place weighs exactly the bound, in integers."""
    n = 100_003
    data = Interactions(
        {"user_id": np.zeros(n, dtype=int), "item_id": np.zeros(n, dtype=int)}, items=[0], duplicates="keep"
    )
    sums = clip_l2(data, 1, bits=20)
    assert int(sums.values[0]) ** 2 <= sums.l2_squared
    assert int(sums.values[0]) > 0.9 * 2**20


def test_wrong_use() -> None:
    data = visits([(0, "a")])
    with pytest.raises(UsageError):
        weigh(data, 3, bits=50)
    with pytest.raises(UsageError):
        cap_records(Interactions([("u", "a")]), 1, choice="recent")
    with pytest.raises(UsageError):
        cap_records(data, 1, choice="best")  # type: ignore[arg-type]
