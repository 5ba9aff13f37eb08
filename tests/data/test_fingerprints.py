"""The same records give the same fingerprint; any other record gives another."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data import Interactions
from discreet.data.fingerprints import HashedColumns, canonical_order, cut_from, origin_of
from discreet.data.ids import IdMap


def fingerprint(rows, *, values=None, kind="test", catalog=()):
    """Fingerprint of (id, id) rows with further columns, as the data types compute it."""
    first, second = IdMap([row[0] for row in rows]), IdMap([*(row[1] for row in rows), *catalog])
    ids = {
        "first": (first, first.encode([row[0] for row in rows])),
        "second": (second, second.encode([row[1] for row in rows])),
    }
    return HashedColumns(kind, ids, values or {}, repeats=True).fingerprint()


ROWS = [("a", 1), ("a", 2), ("b", 1)]


def test_it_is_a_sha256():
    assert len(fingerprint(ROWS)) == 64
    assert int(fingerprint(ROWS), 16) > 0


@given(st.permutations(list(range(6))))
def test_order_does_not_matter_even_among_repeats(order):
    rows = [("a", 1), ("a", 1), ("a", 1), ("b", 2), ("b", 2), ("c", 0)]
    rating = np.array([1.0, 2.0, 2.0, 5.0, 1.0, 3.0])
    day = pl.Series(["Mon", "Tue", None, "Mon", "Mon", "Sun"])
    whole = fingerprint(rows, values={"rating": rating, "day": day})
    assert fingerprint([rows[i] for i in order], values={"rating": rating[order], "day": day[list(order)]}) == whole


def test_a_catalog_does_not_matter():
    assert fingerprint(ROWS, catalog=[0, 7]) == fingerprint(ROWS)


@pytest.mark.parametrize(
    "other",
    [
        [("a", 1), ("a", 2), ("b", 2)],
        [("a", 1), ("a", 2)],
        [("a", 1), ("a", 2), ("b", 1), ("b", 1)],
        [("a", "1"), ("a", "2"), ("b", "1")],
        [("a", 1), ("a", 2), ("bb", 1)],
        [("a", 1.0), ("a", 2.5), ("b", 1.0)],
        [],
    ],
)
def test_other_records_differ(other):
    assert fingerprint(other) != fingerprint(ROWS)


def test_ids_do_not_run_together():
    assert fingerprint([("ab", 1), ("c", 1)]) != fingerprint([("a", 1), ("bc", 1)])


def test_an_object_is_not_the_text_it_prints_as():
    objects = IdMap([("a", 1), 5])
    texts = IdMap(["tuple:('a', 1)", "int:5"])
    codes = np.array([0, 1], dtype=np.int32)
    hashed = [HashedColumns("k", {"id": (ids, codes)}, {}, repeats=False) for ids in (objects, texts)]
    assert hashed[0].fingerprint() != hashed[1].fingerprint()


def test_values_names_and_kinds_count():
    rating = np.array([1.0, 2.0, 3.0])
    prints = {
        fingerprint(ROWS),
        fingerprint(ROWS, kind="other"),
        fingerprint(ROWS, values={"rating": rating}),
        fingerprint(ROWS, values={"weight": rating}),
        fingerprint(ROWS, values={"rating": rating[::-1]}),
        fingerprint(ROWS, values={"rating": rating, "x": np.zeros(3)}),
    }
    assert len(prints) == 6
    assert fingerprint(ROWS, values={"rating": None}) == fingerprint(ROWS)


def test_text_columns_do_not_run_together():
    one = fingerprint(ROWS, values={"day": pl.Series(["a\x1fb", "c", "c"])})
    other = fingerprint(ROWS, values={"day": pl.Series(["a", "b\x1fc", "b\x1fc"])})
    blank = fingerprint(ROWS, values={"day": pl.Series([None, "c", "c"])})
    null = fingerprint(ROWS, values={"day": pl.Series(["\x00null", "c", "c"])})
    assert len({one, other, blank, null}) == 4


def test_the_width_of_a_number_does_not_matter():
    prints = {
        fingerprint(ROWS, values={"n": pl.Series([1, 2, 3], dtype=dtype)})
        for dtype in (pl.Int8, pl.Int32, pl.UInt16, pl.Int64)
    }
    assert len(prints) == 1
    categories = pl.Series(["x", "y", "x"])
    assert fingerprint(ROWS, values={"c": categories}) == fingerprint(
        ROWS, values={"c": categories.cast(pl.Enum(["y", "x"]))}
    )


def test_columns_of_objects_have_one_too():
    lists = fingerprint(ROWS, values={"c": pl.Series([[1], [2], [3]])})
    assert lists != fingerprint(ROWS, values={"c": pl.Series([[1], [2], [4]])})


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), max_size=12), st.randoms())
def test_canonical_order_sorts(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    columns = [np.array(column, dtype=np.int32) for column in zip(*shuffled, strict=True)] or [
        np.empty(0, np.int32)
    ] * 3
    order = canonical_order(columns[:2], {"z": columns[2]})
    assert [shuffled[i] for i in order] == sorted(rows)


@pytest.mark.parametrize(
    ("cut", "units"),
    [
        ("rewritten", {"user", "record", "group", "user/replace", "record/replace", "record/value", "group/replace"}),
        ("posts", {"user", "user/replace", "record/value"}),
        ("items", {"user", "record", "group", "record/value"}),
        ("records", {"user", "record", "group"}),
        ("users", {"user"}),
        ("freely", set()),
    ],
)
def test_which_guarantees_about_a_part_are_guarantees_about_the_whole(cut, units) -> None:
    from discreet.privacy.units import Unit

    whole = Interactions([("a", "x")])
    lineage = cut_from(whole, cut)
    assert origin_of(lineage[0]) == whole.fingerprint
    every = [f"{what}/{how}" for what in ("user", "record", "group") for how in ("add-remove", "replace", "value")]
    known = {code for code in every if code != "user/value"}
    admitted = {code for code in known if Unit.of(code).covers(lineage)}
    assert {code.removesuffix("/add-remove") for code in admitted} - {"group/value"} == units
