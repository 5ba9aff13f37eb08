"""Interactions: every way in gives the same records, nothing changes them, and what is wrong is said."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from discreet.data import IdMap, Interactions, RatingScale
from discreet.errors import DataError, UsageError

ROWS = [(7, 30, 4.0), (7, 10, 2.0), (3, 10, 5.0), (9, 20, 1.0)]
COLUMNS = {"user_id": [7, 7, 3, 9], "item_id": [30, 10, 10, 20], "rating": [4.0, 2.0, 5.0, 1.0]}
TABLE = pl.DataFrame(COLUMNS)


def films(**options) -> Interactions:
    """Two users, three films of which one is unseen, side tables, times and a context."""
    return Interactions(
        pl.DataFrame(
            {
                "user_id": ["bob", "ann", "ann"],
                "item_id": ["f1", "f1", "f3"],
                "rating": [3, 5, 4],
                "timestamp": [30, 10, 20],
                "device": ["tv", "tv", None],
            }
        ),
        context=["device"],
        scale="1:5",
        items={"item_id": ["f3", "f2", "f1"], "title": ["Three", "Two", "One"]},
        users={"user_id": ["bob", "cat", "ann"], "age": [20, 30, 40], "gender": ["M", "F", "F"]},
        **options,
    )


# Ways in


@pytest.mark.parametrize(
    "data",
    [
        TABLE,
        TABLE.lazy(),
        TABLE.with_columns(pl.col("user_id").cast(pl.Int32), pl.col("rating").cast(pl.Int8)),
        TABLE.reverse(),
        TABLE.select("rating", "item_id", "user_id"),
        pd.DataFrame(COLUMNS),
        pd.DataFrame(COLUMNS).astype({"user_id": "Int64", "rating": "float32"}),
        pa.table(COLUMNS),
        pa.table(COLUMNS).to_batches()[0],
        COLUMNS,
        {name: np.array(values) for name, values in COLUMNS.items()},
        ROWS,
        iter(ROWS),
        [list(row) for row in ROWS],
        sp.coo_array(([4.0, 2.0, 5.0, 1.0], ([7, 7, 3, 9], [30, 10, 10, 20]))),
        sp.csr_matrix(([4, 2, 5, 1], ([7, 7, 3, 9], [30, 10, 10, 20]))),
        sp.csc_array(([4.0, 2.0, 5.0, 1.0], ([7, 7, 3, 9], [30, 10, 10, 20]))),
    ],
    ids=[
        *("polars", "lazy", "narrow types", "reversed", "other columns first", "pandas", "pandas nullable", "arrow"),
        *("arrow batch", "lists", "arrays", "tuples", "iterator", "rows as lists", "coo", "csr", "csc"),
    ],
)
def test_every_way_in_gives_the_same_records(data):
    read, reference = Interactions(data, scale="1:5"), Interactions(ROWS, scale="1:5")
    assert read.fingerprint == reference.fingerprint
    assert read.to_frame().equals(reference.to_frame())
    assert read.to_frame().rows() == [(3, 10, 5.0), (7, 10, 2.0), (7, 30, 4.0), (9, 20, 1.0)]


def test_columns_by_other_names():
    renamed = TABLE.rename({"user_id": "who", "item_id": "what", "rating": "stars"})
    read = Interactions(renamed, user="who", item="what", rating="stars", scale="1:5")
    assert read.fingerprint == Interactions(ROWS, scale="1:5").fingerprint


def test_ratings_and_times_can_be_left_out():
    read = Interactions([(1, 2, 3.0, 4)], rating=None, timestamp=None)
    assert read.rating is None
    assert read.timestamp is None
    assert read.csr.toarray().tolist() == [[1.0]]


def test_datetimes_are_seconds():
    moment = datetime.datetime(1970, 1, 2)
    assert Interactions({"user_id": [1], "item_id": [1], "timestamp": [moment]}).timestamp.tolist() == [86_400]  # type: ignore[union-attr]


records = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.integers(1, 5), st.integers(0, 2)), max_size=14
)


@given(records, st.randoms())
def test_the_order_of_rows_does_not_matter(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    one, other = (Interactions(data, scale="1:5" if data else None, duplicates="keep") for data in (rows, shuffled))
    assert one.fingerprint == other.fingerprint
    assert sorted(one.to_frame().rows()) == sorted(other.to_frame().rows()) == sorted(rows)
    assert np.array_equal(one.user, other.user)
    assert np.array_equal(one.item, other.item)


@given(records)
def test_records_are_sorted_and_counted(rows):
    data = Interactions(rows, duplicates="keep")
    pairs = list(zip(data.user.tolist(), data.item.tolist(), strict=True))
    assert pairs == sorted(pairs)
    assert len(data) == len(rows)
    assert data.records_per_user.sum() == data.records_per_item.sum() == len(rows)
    for user in range(data.n_users):
        assert set(data.user[data.user_starts[user] : data.user_starts[user + 1]].tolist()) == {user}


@given(st.lists(st.tuples(st.tuples(st.text(max_size=2), st.integers()), st.floats(allow_nan=False)), unique=True))
def test_ids_of_any_kind_come_back(pairs):
    data = Interactions(pairs)
    assert sorted(data.to_frame().rows(), key=repr) == sorted(pairs, key=repr)


# Matrices


def test_matrices_by_hand():
    data = Interactions(ROWS, scale="1:5")
    dense = [[5.0, 0.0, 0.0], [2.0, 0.0, 4.0], [0.0, 1.0, 0.0]]
    assert data.users.ids() == [3, 7, 9]
    assert data.items.ids() == [10, 20, 30]
    for matrix in (data.csr, data.csc):
        assert matrix.shape == (3, 3)
        assert matrix.toarray().tolist() == dense
        assert matrix.dtype == np.float32
    assert data.csr is data.csr
    assert data.csc is data.csc


def test_kept_repeats_are_summed_in_matrices():
    data = Interactions([("a", "x", 2), ("a", "x", 3), ("b", "y", 1)], duplicates="keep")
    assert data.csr.toarray().tolist() == data.csc.toarray().tolist() == [[5.0, 0.0], [0.0, 1.0]]
    assert data.rating.tolist() == [2.0, 3.0, 1.0]  # type: ignore[union-attr]
    visits = Interactions([("a", "x"), ("a", "x")], duplicates="keep")
    assert visits.csr.toarray().tolist() == visits.csc.toarray().tolist() == [[2.0]]


def test_a_rating_of_zero_is_a_record():
    data = Interactions([("a", "x", 0), ("a", "y", 1)], scale="0:5")
    assert data.csr.nnz == data.csc.nnz == 2


@given(records)
def test_matrices_agree_with_a_loop(rows):
    data = Interactions(rows, duplicates="keep")
    dense = np.zeros((data.n_users, data.n_items))
    for user, item, rating, _ in rows:
        dense[data.users.code(user), data.items.code(item)] += rating
    assert np.array_equal(data.csr.toarray(), dense)
    assert np.array_equal(data.csc.toarray(), dense)


# Duplicates

TWICE = [("a", "x", 1, 30), ("b", "x", 2, 5), ("a", "x", 3, 40), ("a", "x", 4, 10)]


def test_duplicates_are_an_error_that_says_where():
    with pytest.raises(DataError, match=r"value \('a', 'x'\): the user has a record of this item .* 2 such rows"):
        Interactions(TWICE)


def test_the_latest_duplicate_stays():
    data = Interactions(TWICE, duplicates="last", scale="1:5", name="last")
    assert data.to_frame().rows() == [("a", "x", 3.0, 40), ("b", "x", 2.0, 5)]
    assert data.fingerprint == Interactions([TWICE[1], TWICE[2]], scale="1:5").fingerprint
    assert data.lineage == ("<=",)
    assert data.name == "last"
    assert not data.may_repeat


def test_without_times_the_last_row_stays():
    rows = [("a", "x", 1), ("b", "x", 2), ("a", "x", 3)]
    assert Interactions(rows, duplicates="last").to_frame().rows() == [("a", "x", 3.0), ("b", "x", 2.0)]


def test_kept_duplicates_stay_all():
    data = Interactions(TWICE, duplicates="keep")
    assert len(data) == 4
    assert data.may_repeat
    assert data.fingerprint == Interactions(TWICE[::-1], duplicates="keep").fingerprint
    assert data.fingerprint != Interactions(TWICE[:3], duplicates="keep").fingerprint


@given(records)
def test_last_keeps_one_latest_record_of_each_pair(rows):
    data = Interactions(rows, duplicates="last")
    latest = {}
    for user, item, rating, time in rows:
        if (user, item) not in latest or time >= latest[user, item][1]:
            latest[user, item] = (rating, time)
    found = {(user, item): (rating, time) for user, item, rating, time in data.to_frame().rows()} if rows else {}
    assert found == latest
    assert len(data) == len(latest)


def test_an_unknown_policy():
    with pytest.raises(UsageError, match="first"):
        Interactions(ROWS, duplicates="first")  # type: ignore[arg-type]


# Immutability


def test_columns_cannot_be_written():
    data = films()
    for column in (data.user, data.item, data.rating, data.timestamp):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0  # type: ignore[index]


def test_the_callers_arrays_do_not_reach_in():
    columns = {"user_id": np.array([0, 1]), "item_id": np.array([0, 0]), "rating": np.array([5.0, 3.0], np.float32)}
    columns["timestamp"] = np.array([1, 2])
    data = Interactions(columns, scale="1:5")
    before = data.to_frame()
    for column in columns.values():
        column[:] = 1
    assert data.to_frame().equals(before)
    matrix = sp.csr_array(np.array([[5.0, 3.0]]))
    data = Interactions(matrix, scale="1:5")
    matrix.data[:] = 1.0
    assert data.rating.tolist() == [5.0, 3.0]  # type: ignore[union-attr]


# Side tables and parts


def test_side_tables_follow_the_codes():
    data = films()
    assert data.items.ids() == ["f1", "f2", "f3"]
    assert data.item_table["title"].to_list() == ["One", "Two", "Three"]  # type: ignore[index]
    assert data.titles([2, 0]) == ["Three", "One"]
    assert data.users.ids() == ["ann", "bob"]
    assert data.user_table["age"].to_list() == ["40", "20"]  # type: ignore[index]
    assert data.catalog_is_public
    assert data.context["device"].to_list() == ["tv", None, "tv"]
    assert Interactions(ROWS).titles([0]) == ["10"]


def test_users_without_facts_get_nulls():
    data = Interactions([("a", 1), ("b", 1)], users={"user_id": ["b"], "age": [5]})
    assert data.user_table["age"].to_list() == [None, "5"]  # type: ignore[index]


def test_public_user_columns_must_exist():
    assert films(public_user_columns=["gender"]).public_user_columns == {"gender"}
    with pytest.raises(UsageError, match="height"):
        films(public_user_columns=["height"])


def test_side_tables_that_are_wrong():
    with pytest.raises(DataError, match="'f1' more than once"):
        Interactions([("a", "f1")], items={"item_id": ["f1", "f1"], "title": ["x", "y"]})
    with pytest.raises(DataError, match="no column 'item_id'"):
        Interactions([("a", "f1")], items={"id": ["f1"]})
    with pytest.raises(DataError, match="no column 'user_id'"):
        Interactions([("a", "f1")], users={"id": ["a"]})


def test_a_part_knows_the_whole():
    data = films(name="films")
    part = data.filter(lambda frame: frame["rating"] > 3)
    assert part.to_frame()["user_id"].to_list() == ["ann", "ann"]
    assert part.items.ids() == data.items.ids()
    assert part.user_table["age"].to_list() == ["40"]  # type: ignore[index]
    assert part.context["device"].to_list() == ["tv", None]
    assert part.lineage == (f"~{data.fingerprint}",)
    again = part.filter(np.array([True, False]), independent=True)
    assert again.lineage == (f"~{data.fingerprint}", f"^{part.fingerprint}")
    assert (part.name, part.scale, part.catalog_is_public) == ("films", data.scale, True)
    assert part.csr.toarray().tolist() == [[5.0, 0.0, 4.0]]


def test_without_a_public_catalog_a_part_forgets_items():
    part = Interactions(ROWS).filter(np.array([True, False, False, False]))
    assert part.items.ids() == [10]
    assert part.users.ids() == [3]
    assert not part.catalog_is_public


def test_masks_that_do_not_fit():
    for wrong in (np.array([True]), np.array([0, 1, 1]), lambda frame: pl.col("rating") > 3):
        with pytest.raises(UsageError, match="truth values"):
            films().filter(wrong)  # type: ignore[arg-type]


@given(records, st.data())
def test_filter_keeps_exactly_what_it_is_told(rows, draw):
    data = Interactions(rows, duplicates="keep")
    mask = np.array(draw.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))), dtype=bool)
    kept, dropped = data.filter(mask), data.filter(~mask)
    assert len(kept) == mask.sum()
    both = [*kept.to_frame().rows(), *dropped.to_frame().rows()]
    assert sorted(both) == sorted(data.to_frame().rows())
    assert kept.fingerprint == Interactions(kept.to_frame(), duplicates="keep").fingerprint


def test_sampled_users_come_with_all_their_records():
    data = Interactions([(user, item) for user in range(20) for item in range(user % 4 + 1)])
    sample = data.sample_users(5, seed=3)
    assert sample.n_users == 5
    assert sample.fingerprint == data.sample_users(5, seed=3).fingerprint
    assert sample.fingerprint != data.sample_users(5, seed=4).fingerprint
    assert all(sample.records_per_user[code] == user % 4 + 1 for code, user in enumerate(sample.users.ids()))
    assert sample.lineage == (f"~{data.fingerprint}",)
    with pytest.raises(UsageError, match="21 users"):
        data.sample_users(21, seed=3)


def test_a_catalog_can_be_declared_later():
    data = Interactions(ROWS, scale="1:5")
    whole = data.with_catalog([5, 10, 20, 30])
    assert whole.catalog_is_public
    assert whole.items.ids() == [5, 10, 20, 30]
    assert whole.csr.toarray()[:, 0].tolist() == [0.0, 0.0, 0.0]
    assert whole.fingerprint == data.fingerprint
    assert whole.lineage == data.lineage
    assert not data.catalog_is_public
    assert whole.to_frame().equals(data.to_frame())
    assert data.with_catalog("observed").items == data.items
    titled = data.with_catalog({"item_id": [10, 20, 30], "title": ["x", "y", "z"]})
    assert titled.titles([1]) == ["y"]


def test_another_catalog_takes_the_titles_along():
    smaller = films().with_catalog(["f3", "f0", "f1"])
    assert smaller.items.ids() == ["f0", "f1", "f3"]
    assert smaller.item_table["title"].to_list() == [None, "One", "Three"]  # type: ignore[index]
    assert films().with_catalog("observed").titles([0, 1]) == ["One", "Three"]


def test_catalogs_that_cannot_be():
    with pytest.raises(DataError, match="unknown item 'f1'"):
        films().with_catalog(["f3"])
    with pytest.raises(UsageError, match="everything"):
        films().with_catalog("everything")
    with pytest.raises(UsageError, match="None"):
        films().with_catalog(None)


def test_items_outside_a_later_catalog_can_be_dropped():
    data = films()
    part = data.with_catalog(["f0", "f3"], unknown="drop")
    assert part.to_frame()["item_id"].to_list() == ["f3"]
    assert part.items.ids() == ["f0", "f3"]
    assert part.lineage == (f"#{data.fingerprint}",)
    assert part.catalog_is_public
    with pytest.raises(UsageError, match="ignore"):
        data.with_catalog(["f3"], unknown="ignore")  # type: ignore[arg-type]


def test_emptied_keeps_what_is_public():
    data = films(public_user_columns=["gender"])
    empty = data.emptied()
    assert (len(empty), empty.n_users) == (0, 0)
    assert empty.items == data.items
    assert (empty.scale, empty.may_repeat, empty.public_user_columns) == (data.scale, False, {"gender"})
    assert empty.lineage == data.lineage


def test_repeats_can_be_ruled_out():
    kept = Interactions([("a", "x"), ("a", "y")], duplicates="keep")
    assert kept.may_repeat
    assert not kept.without_repeats().may_repeat
    assert kept.may_repeat
    with pytest.raises(DataError, match="several records of one item"):
        Interactions([("a", "x"), ("a", "x")], duplicates="keep").without_repeats()


def test_other_ratings_for_the_same_records():
    data = films()
    scores = np.array([0.5, 0.25, 0.0])
    other = data.with_ratings(scores, RatingScale.of("0:1:none"))
    scores[:] = 1
    assert other.rating.tolist() == [0.5, 0.25, 0.0]  # type: ignore[union-attr]
    assert other.csr.toarray()[0].tolist() == [0.5, 0.0, 0.25]
    assert other.lineage == (data.fingerprint,)
    assert data.rating.tolist() == [5.0, 4.0, 3.0]  # type: ignore[union-attr]
    with pytest.raises(DataError, match="not on the declared scale"):
        data.with_ratings(np.array([0.0, 1.0, 2.0]), RatingScale.of("1:5"))


def test_describe_tells_the_owner():
    facts = films(name="films").describe()
    assert (facts["records"], facts["users"], facts["items"], facts["items_with_records"]) == (3, 2, 3, 2)
    assert facts["density"] == 3 / 6
    assert facts["rating_mean"] == 4.0
    assert facts["records_per_user"]["median"] == 1.5
    assert (facts["first_time"], facts["last_time"]) == ("1970-01-01 00:00:10 UTC", "1970-01-01 00:00:30 UTC")
    assert facts["context"] == ["device"]
    assert facts["fingerprint"] == films().fingerprint


def test_it_prints_what_it_is():
    assert repr(films(name="demo")) == (
        "Interactions('demo': 3 records, 2 users, 3 items, ratings 1:5:1, times, device)"
    )
    assert repr(Interactions([("a", "b", 2.0)])) == "Interactions(1 records, 1 users, 1 items, weights)"


# Fingerprints


def test_the_fingerprint_is_of_the_records_alone():
    data = films()
    plain = Interactions(data.to_frame(), context=["device"], scale="1:5")
    assert plain.fingerprint == data.fingerprint
    without_device = Interactions(data.to_frame(), scale="1:5")
    assert without_device.fingerprint != data.fingerprint


@pytest.mark.parametrize("change", [{"rating": 2}, {"timestamp": 11}, {"device": "pc"}, {"item_id": "f2"}])
def test_any_other_record_has_another_fingerprint(change):
    frame = films().to_frame()
    other = frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 0).then(pl.lit(value)).otherwise(pl.col(name)).alias(name)
        for name, value in change.items()
    )
    assert Interactions(other, context=["device"], scale="1:5").fingerprint != films().fingerprint


# What is wrong


@pytest.mark.parametrize(
    ("rating", "message"),
    [
        (float("nan"), "row 1, .*the value is missing"),
        (float("inf"), "row 1, .*this is not a finite number"),
        (None, "row 1, .*the value is missing"),
        (0, "row 1, .*the rating is not on the declared scale 1:5:1"),
        (6, "row 1, .*the rating is not on the declared scale 1:5:1"),
        (2.5, "row 1, .*the rating is not on the declared scale 1:5:1"),
    ],
)
def test_ratings_that_cannot_be(rating, message):
    with pytest.raises(DataError, match=message) as caught:
        Interactions({"user_id": [1, 2], "item_id": [1, 1], "rating": [3.0, rating]}, scale=(1, 5))
    assert caught.value.column == "rating"
    assert caught.value.remedy


def test_a_scale_without_ratings():
    with pytest.raises(UsageError, match="no ratings"):
        Interactions([(1, 2)], scale="1:5")


def test_items_outside_the_catalog():
    with pytest.raises(DataError, match=r"row 1, .*'z': the item is not in the public catalog"):
        Interactions([(1, "a"), (1, "z")], items=["a", "b"])


@pytest.mark.parametrize("missing", ["user_id", "item_id", "weekday"])
def test_columns_that_are_missing(missing):
    with pytest.raises(DataError, match=f"there is no column '{missing}'"):
        Interactions(
            pl.DataFrame({"user_id": [1], "item_id": [1], "weekday": ["Monday"]}).drop(missing), context=["weekday"]
        )


@pytest.mark.parametrize("column", ["user_id", "item_id"])
def test_blank_ids(column):
    with pytest.raises(DataError, match=f"row 1, column '{column}': the value is missing"):
        Interactions({"user_id": [1, 2], "item_id": [3, 4]} | {column: [1, None]})


def test_nothing_at_all():
    for nothing in ([], pl.DataFrame({"user_id": [], "item_id": []}), {"user_id": [], "item_id": []}):
        data = Interactions(nothing)
        assert (len(data), data.n_users, data.n_items) == (0, 0, 0)
        assert data.csr.shape == data.csc.shape == (0, 0)
        assert data.describe()["records"] == 0
        assert data.to_frame().height == 0
        assert len(data.filter(np.array([], dtype=bool))) == 0
        assert data.fingerprint == Interactions([]).fingerprint


def test_an_empty_part_keeps_the_catalog():
    part = films().filter(np.zeros(3, dtype=bool))
    assert (len(part), part.n_users, part.n_items) == (0, 0, 3)
    assert part.csr.shape == (0, 3)
    assert part.item_table.height == 3  # type: ignore[union-attr]


def test_scales_and_maps_go_in_as_they_are():
    data = Interactions([(1, "b", 2.0)], scale=RatingScale.of("1:5"), items=IdMap(["a", "b"]))
    assert str(data.scale) == "1:5:1"
    assert data.item.tolist() == [1]


@pytest.mark.parametrize("odd", [2.5, "x", True, ("x", 1)])
def test_an_odd_item_of_one_user_changes_nobody_elses(odd):
    rows = [(f"u{i}", 1 + i % 3) for i in range(9)]
    for catalog in ([1, 2, 3], ["1", "2", "3"]):
        alone = Interactions(rows).with_catalog(catalog, unknown="drop")
        assert len(alone) == 9
        for order in ([("eve", odd), *rows], [*rows, ("eve", odd)]):
            data = Interactions(order).with_catalog(catalog, unknown="drop")
            assert data.to_frame().filter(pl.col("user_id") != "eve").equals(alone.to_frame())
    assert Interactions([*rows, ("eve", True)]).with_item_ids("text").items.ids() == ["1", "2", "3", "True"]
    assert Interactions([*rows, ("eve", 1.0)]).with_item_ids("text").items.ids() == ["1", "2", "3"]
