"""Splits: every record in exactly one part, the same whatever the order of rows, and fair."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.data import Interactions, splits
from discreet.errors import UsageError

records = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(0, 5), st.integers(1, 5), st.integers(0, 20)),
    min_size=2,
    max_size=25,
)


def dataset(n_users: int = 30) -> Interactions:
    """User u has u % 7 + 1 records, an hour apart, on a public catalog."""
    rows = [(u, (u + i) % 9, 1 + i % 5, 3_600 * i + u) for u in range(n_users) for i in range(u % 7 + 1)]
    return Interactions(rows, scale="1:5", items=range(9), name="dataset")


def parts_of(split) -> list[Interactions]:
    return [getattr(split, name) for name in split.__dataclass_fields__]


def every_split(data: Interactions) -> list:
    """One of each kind, and all folds."""
    return [
        splits.all_but_one(data, seed=1),
        splits.leave_one_out(data),
        splits.leave_one_out(data, seed=1),
        splits.temporal(data, at=10),
        splits.temporal(data, fraction=0.6),
        splits.strong_generalization(data, held_out_users=1, seed=1),
        splits.strong_generalization(data, held_out_users=0.4, fold_in=0.5, seed=1),
        *splits.k_fold_records(data, 2, seed=1),
        *(splits.k_fold_users(data, 2, seed=1) if data.n_users > 1 else ()),
    ]


@settings(max_examples=40)
@given(records)
def test_every_record_is_in_exactly_one_part(rows):
    data = Interactions(rows, duplicates="keep")
    for split in every_split(data):
        together = [row for part in parts_of(split) for row in part.to_frame().rows()]
        assert sorted(together) == sorted(data.to_frame().rows())


@settings(max_examples=40)
@given(records, st.randoms())
def test_the_order_of_rows_does_not_matter(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    one, other = (every_split(Interactions(data, duplicates="keep")) for data in (rows, shuffled))
    for left, right in zip(one, other, strict=True):
        assert [part.fingerprint for part in parts_of(left)] == [part.fingerprint for part in parts_of(right)]


def test_parts_know_the_whole():
    data = dataset()
    for split in every_split(data):
        for part in parts_of(split):
            assert part.lineage in ((f"^{data.fingerprint}",), (f"~{data.fingerprint}",))
            assert part.items.ids() == list(range(9))
            assert part.scale == data.scale
            assert part.name == "dataset"


@pytest.mark.parametrize(
    "split",
    [
        lambda data, seed: splits.all_but_one(data, seed=seed).test,
        lambda data, seed: next(splits.k_fold_records(data, 3, seed=seed)).test,
        lambda data, seed: next(splits.k_fold_users(data, 3, seed=seed)).test,
        lambda data, seed: splits.strong_generalization(data, held_out_users=5, seed=seed).target,
    ],
)
def test_seeds_repeat_and_differ(split):
    data = dataset(60)
    assert split(data, 4).fingerprint == split(data, 4).fingerprint
    assert split(data, 4).fingerprint == split(data, np.int64(4)).fingerprint
    assert split(data, 4).fingerprint != split(data, 5).fingerprint


def test_all_but_one_takes_one_of_each():
    data = dataset()
    split = splits.all_but_one(data, seed=3)
    assert set(split.test.records_per_user.tolist()) == {1}
    several = [user for user, count in zip(data.users.ids(), data.records_per_user, strict=True) if count > 1]
    assert split.test.users.ids() == several
    assert split.train.users.ids() == data.users.ids()


def test_all_but_one_is_fair():
    data = Interactions([(user, item) for user in range(3_000) for item in range(4)])
    chosen = np.bincount(splits.all_but_one(data, seed=1).test.item, minlength=4)
    # 750 expected of each; the standard deviation is 24.
    assert np.abs(chosen - 750).max() < 5 * 24


def test_leave_one_out_takes_the_latest():
    data = dataset()
    split = splits.leave_one_out(data)
    held = dict(zip(split.test.to_frame()["user_id"], split.test.timestamp, strict=True))  # type: ignore[arg-type]
    # The last of the records that dataset() gives user u comes u % 7 hours after the first.
    assert held == {user: 3_600 * (user % 7) + user for user in range(30) if user % 7 > 0}


def test_ties_in_time():
    data = Interactions([(user, item, 1, 5) for user in range(400) for item in "abc"])
    assert set(splits.leave_one_out(data).test.to_frame()["item_id"]) == {"c"}
    chosen = np.bincount(splits.leave_one_out(data, seed=1).test.item, minlength=3)
    assert np.abs(chosen - 400 / 3).max() < 5 * np.sqrt(400 * 2 / 9)


def test_leave_one_out_without_times():
    data = Interactions([(user, item) for user in range(40) for item in "abc"])
    with pytest.raises(UsageError, match="no times"):
        splits.leave_one_out(data)
    with pytest.raises(UsageError, match="seed"):
        splits.leave_one_out(data, without_times="random")
    with pytest.raises(UsageError, match="guess"):
        splits.leave_one_out(data, without_times="guess")  # type: ignore[arg-type]
    split = splits.leave_one_out(data, without_times="random", seed=1)
    assert split.test.records_per_user.tolist() == [1] * 40
    assert split.test.n_items == 3
    # The purpose is part of the seed: another protocol does not hold out the same records.
    assert split.test.fingerprint != splits.all_but_one(data, seed=1).test.fingerprint


@pytest.mark.parametrize("k", [2, 3, 7])
def test_folds_of_records_are_equal_and_disjoint(k):
    data = dataset()
    tests = [split.test for split in splits.k_fold_records(data, k, seed=1)]
    assert len(tests) == k
    assert sum(map(len, tests)) == len(data)
    assert max(map(len, tests)) - min(map(len, tests)) <= 1
    rows = [row for test in tests for row in test.to_frame().rows()]
    assert len(set(rows)) == len(data)


def test_folds_of_users_keep_users_whole():
    data = dataset()
    folds = list(splits.k_fold_users(data, 4, seed=1))
    tested = [user for split in folds for user in split.test.users.ids()]
    assert sorted(tested) == list(range(30))
    for split in folds:
        assert not set(split.train.users.ids()) & set(split.test.users.ids())
        assert split.test.n_users in (7, 8)


@pytest.mark.parametrize("k", [0, 1, 31, 2.5, True, "3"])
def test_folds_that_cannot_be(k):
    with pytest.raises(UsageError, match="folds"):
        splits.k_fold_users(dataset(), k, seed=1)


def test_folds_are_refused_before_the_first_is_taken():
    with pytest.raises(UsageError, match="folds"):
        splits.k_fold_records(Interactions([("a", "b")]), 2, seed=1)


def test_temporal_by_moment():
    rows = [("a", 1, 1, 86_399), ("a", 2, 1, 86_400), ("b", 1, 1, 86_401)]
    data = Interactions(rows)
    utc_plus_1 = datetime.timezone(datetime.timedelta(hours=1))
    for at in (
        86_400,
        np.int64(86_400),
        86_399.5,
        datetime.date(1970, 1, 2),
        datetime.datetime(1970, 1, 2),
        datetime.datetime(1970, 1, 2, 1, tzinfo=utc_plus_1),
    ):
        split = splits.temporal(data, at=at)  # type: ignore[arg-type]
        assert split.train.timestamp.tolist() == [86_399]  # type: ignore[union-attr]
        assert sorted(split.test.timestamp.tolist()) == [86_400, 86_401]  # type: ignore[union-attr]


@given(st.lists(st.integers(0, 30), min_size=1, max_size=40), st.floats(0.01, 0.99))
def test_temporal_by_fraction(times, fraction):
    data = Interactions([(0, item, 1, time) for item, time in enumerate(times)])
    split = splits.temporal(data, fraction=fraction)
    assert len(split.train) <= fraction * len(data)
    assert len(split.test) >= 1
    if len(split.train):
        assert split.train.timestamp.max() < split.test.timestamp.min()  # type: ignore[union-attr]
    # No more records could train: the first second of the test part would pass the fraction.
    first = int((data.timestamp <= split.test.timestamp.min()).sum())  # type: ignore[operator,union-attr]
    assert first > int(fraction * len(data))


def test_temporal_needs_one_of_two():
    data = dataset()
    wrongs: list[dict[str, Any]] = [
        *({}, {"at": 5, "fraction": 0.5}, {"fraction": 0}, {"fraction": 1.5}),
        *({"at": "noon"}, {"at": float("nan")}, {"at": float("inf")}),
    ]
    for wrong in wrongs:
        with pytest.raises(UsageError):
            splits.temporal(data, **wrong)
    with pytest.raises(UsageError, match="no times"):
        splits.temporal(Interactions([("a", "b")]), at=5)
    assert len(splits.temporal(Interactions([(1, 1, 1, 1)]).filter(np.array([False])), fraction=0.5).train) == 0


def test_strong_generalization_holds_users_out():
    data = dataset()
    split = splits.strong_generalization(data, held_out_users=10, fold_in=0.8, seed=1)
    held = set(data.users.ids()) - set(split.train.users.ids())
    assert len(held) == 10
    assert set(split.fold_in.users.ids()) == held
    assert set(split.target.users.ids()) == {user for user in held if user % 7 > 0}
    shown = dict(zip(split.fold_in.users.ids(), split.fold_in.records_per_user.tolist(), strict=True))
    for user in held:
        count = user % 7 + 1
        assert shown[user] == (1 if count == 1 else min(max(1, round(0.8 * count)), count - 1))


def test_strong_generalization_is_fair():
    data = Interactions([(user, item) for user in range(1_000) for item in range(10)])
    split = splits.strong_generalization(data, held_out_users=0.999, fold_in=0.5, seed=1)
    assert split.train.n_users == 1
    shown = np.bincount(split.fold_in.item, minlength=10)
    assert np.abs(shown - 499.5).max() < 5 * 16


@pytest.mark.parametrize(
    "wrong",
    [{"held_out_users": 31}, {"held_out_users": -1}, {"held_out_users": 1.5}, {"held_out_users": 3, "fold_in": 1.0}],
)
def test_strong_generalization_that_cannot_be(wrong):
    with pytest.raises(UsageError):
        splits.strong_generalization(dataset(), seed=1, **wrong)


@given(st.integers(0, 40), st.data(), st.integers(0, 2**70))
def test_choose_users_chooses_that_many(n_users, draw, seed):
    n = draw.draw(st.integers(0, n_users))
    mask = splits.choose_users(n_users, n, seed=seed)
    assert mask.shape == (n_users,)
    assert mask.dtype == bool
    assert mask.sum() == n
    assert np.array_equal(mask, splits.choose_users(n_users, n, seed=seed))


def test_every_user_is_chosen_as_often():
    chosen = sum(splits.choose_users(10, 3, seed=seed).astype(int) for seed in range(2_000))
    # 600 expected, standard deviation 20.5.
    assert np.abs(chosen - 600).max() < 5 * 20.5


@pytest.mark.parametrize("seed", [None, -1, 1.5, "7", True])
def test_what_is_no_seed(seed):
    with pytest.raises(UsageError, match="seed"):
        splits.all_but_one(dataset(), seed=seed)


def test_neither_threads_nor_hashes_matter():
    program = (
        "from discreet.data import splits, synthetic; "
        "data = synthetic.films(users=100, items=50, seed=1); "
        "visits = synthetic.checkins(users=50, items=20, seed=1); "
        "print(data.fingerprint, visits.fingerprint, synthetic.tags(users=20, resources=20, seed=1).fingerprint, "
        "splits.all_but_one(data, seed=1).test.fingerprint, "
        "[split.test.fingerprint for split in splits.k_fold_records(visits, 3, seed=1)], "
        "splits.strong_generalization(visits, held_out_users=9, seed=1).target.fingerprint)"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "POLARS_MAX_THREADS": threads, "OMP_NUM_THREADS": threads, "PYTHONHASHSEED": threads},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for threads in ("1", "3")
    ]
    assert said[0] == said[1]


@pytest.mark.parametrize(
    "split",
    [
        lambda data: splits.all_but_one(data, seed=3),
        lambda data: splits.leave_one_out(data, seed=3),
        lambda data: splits.temporal(data, at=5),
    ],
)
def test_independent_splits_hold_out_the_same_records_whoever_else_is_there(split):
    """What is held out of one user's records does not change when another user goes."""
    data = dataset()
    assert split(data).train.lineage == (f"^{data.fingerprint}",)
    for gone in range(data.n_users):
        without = data.filter(data.user != gone)
        ids = set(without.users.ids())
        whole = {row[:2] for row in split(data).test.to_frame().rows() if row[0] in ids}
        assert {row[:2] for row in split(without).test.to_frame().rows()} == whole


def test_splits_that_look_at_everybody_say_so():
    data = dataset()
    for split in (next(splits.k_fold_records(data, 2, seed=1)), next(splits.k_fold_users(data, 2, seed=1))):
        assert split.train.lineage == (f"~{data.fingerprint}",)
