"""Ids of any kind come back as they went in, and codes depend on nothing but which ids there are."""

from __future__ import annotations

import datetime
import decimal
import enum
import subprocess
import sys
import uuid
from dataclasses import dataclass
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data import ids as ids_module
from discreet.data.ids import IdMap, as_id_series, compact, group_order, stable_text, taken
from discreet.errors import DataError


class Color(enum.Enum):
    RED = "r"
    BLUE = "b"


@dataclass(frozen=True)
class Point:
    x: int
    y: int


class Nameless:
    """Prints as an address."""


KINDS = {
    "text": ["b", "a", "", "ä"],
    "int": [3, -7, 0, 2**62, -(2**63)],
    "numpy int": [np.int32(3), np.int64(-7)],
    "float": [1.5, -2.0],
    "bool": [True, False],
    "bytes": [b"b", b"a"],
    "tuple": [("b", 1), ("a", 2)],
    "nested": [("b", frozenset({1, 2})), ("a", frozenset())],
    "frozenset": [frozenset("ab"), frozenset("c")],
    "date": [datetime.date(2020, 1, 2), datetime.date(2019, 1, 2)],
    "datetime": [datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC)],
    "uuid": [uuid.UUID(int=2), uuid.UUID(int=1)],
    "decimal": [decimal.Decimal("1.50"), decimal.Decimal(2)],
    "enum": [Color.RED, Color.BLUE],
    "dataclass": [Point(1, 2), Point(0, 5)],
    "mixed": [1, "a", ("x", 2), 1.5],
}


@pytest.mark.parametrize("ids", KINDS.values(), ids=KINDS)
def test_ids_round_trip(ids):
    map_ = IdMap([*ids, *ids])
    assert len(map_) == len(ids)
    codes = map_.encode(ids)
    assert codes.dtype == np.int32
    assert sorted(codes) == list(range(len(ids)))
    assert map_.decode(codes) == ids
    assert [type(value) for value in map_.decode(codes)] == [
        type(value.item()) if isinstance(value, np.generic) else type(value) for value in ids
    ]
    assert all(value in map_ for value in ids)
    assert [map_.code(value) for value in ids] == codes.tolist()


@given(st.one_of(st.lists(st.integers(-(2**63), 2**63 - 1)), st.lists(st.text()), st.lists(st.tuples(st.integers()))))
def test_codes_do_not_depend_on_order(ids):
    forward, backward = IdMap(ids), IdMap(ids[::-1])
    assert forward == backward
    assert forward.decode(forward.encode(ids)) == ids
    assert forward.ids() == backward.ids()


@given(st.lists(st.integers(-50, 50), min_size=1), st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_unknown_integers_are_marked(known, asked):
    # Dense integers go through a table and scattered ones through a hash: both must tell the unknown ones.
    map_ = IdMap(known)
    codes = map_.encode(asked, unknown="mark")
    order = sorted(set(known))
    assert codes.tolist() == [order.index(value) if value in order else -1 for value in asked]


@given(
    st.sampled_from([st.text(max_size=2), st.sampled_from([-(2**63), -5, 0, 7, 2**40, 2**63 - 1])]).flatmap(
        lambda ids: st.tuples(st.lists(ids), st.lists(ids))
    )
)
def test_few_ids_and_many_are_looked_up_alike(given_ids):
    # Few ids go through a dictionary, many through a hash of polars.
    known, asked = given_ids
    map_ = IdMap(known)
    with mock.patch.object(ids_module, "FEW_IDS", -1):
        codes = map_.encode(asked, unknown="mark")
    found = map_.encode(asked, unknown="mark")
    assert found.dtype == codes.dtype == np.int32
    assert found.tolist() == codes.tolist()


@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1), st.data())
def test_few_records_and_many_are_put_in_order_alike(column, data):
    order = np.array(data.draw(st.lists(st.integers(0, len(column) - 1))), dtype=np.int32)
    for dtype in (np.int32, np.int64, np.float32, np.float64):
        with mock.patch.object(ids_module, "FEW_RECORDS", -1):
            many = taken(np.array(column, dtype=dtype), order)
        few = taken(np.array(column, dtype=dtype), order)
        assert few.dtype == many.dtype
        assert few.tolist() == many.tolist()


def test_integers_and_text_sort_in_their_own_order():
    assert IdMap([10, 9, -1]).ids() == [-1, 9, 10]
    assert IdMap(["10", "9"]).ids() == ["10", "9"]


def test_what_python_takes_for_equal_are_several_ids():
    for ids in ([1, True, 1.0, "1"], [(1,), (True,), (1.0,)], [decimal.Decimal("1.5"), decimal.Decimal("1.50")]):
        for order in (ids, ids[::-1]):
            map_ = IdMap(order)
            assert len(map_) == len(ids)
            found = map_.decode(map_.encode(ids))
            assert [(type(value), repr(value)) for value in found] == [(type(value), repr(value)) for value in ids]
    assert IdMap([1, "a"]).encode([True, 1.0], unknown="mark").tolist() == [-1, -1]
    assert len(IdMap([np.int64(1), 1, np.str_("a"), "a"])) == 2


def test_unknown_ids():
    map_ = IdMap(["a", "b"], what="item")
    assert map_.encode(["b", "z"], unknown="mark").tolist() == [1, -1]
    with pytest.raises(DataError, match="unknown item 'z'"):
        map_.encode(["a", "z"])
    with pytest.raises(DataError, match=r"unknown item 1.*are text.*'1'.*ids='number'"):
        map_.code(1)
    assert 1 not in map_
    assert [] not in IdMap([("a",)])
    assert True not in IdMap([1])
    assert 2**80 not in IdMap([1])


def test_empty_map():
    map_ = IdMap([])
    assert len(map_) == 0
    assert map_.ids() == map_.decode([]) == []
    assert map_.encode([]).size == 0
    assert "a" not in map_
    assert map_.encode(["a"], unknown="mark").tolist() == [-1]


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([None, "a"], "no id"),
        (["a", float("nan")], "row 1 has no id"),
        ([1, 2**63], "64 bits"),
        (pl.Series([1, 2**63], dtype=pl.UInt64), "64 bits"),
        (pl.Series(["a", None]), "row 1 has no user id"),
        ([[1], [2]], "row 0 is not hashable"),
        ([Nameless(), Nameless()], "address in memory"),
    ],
)
def test_ids_that_cannot_be(ids, message):
    with pytest.raises(DataError, match=message):
        IdMap(ids, what="user")


def test_more_ids_than_codes(monkeypatch):
    monkeypatch.setattr("discreet.data.ids.MOST_IDS", 2)
    with pytest.raises(DataError, match="3 distinct user ids, more than 2"):
        IdMap("abc", what="user")


def test_categories_are_text():
    series = as_id_series(pl.Series(["b", "a"], dtype=pl.Categorical), what="item")
    assert series.dtype == pl.String


def test_maps_are_equal_by_their_ids():
    assert IdMap([2, 1]) == IdMap(range(1, 3))
    assert IdMap([1]) != IdMap(["1"])
    assert IdMap([1]) != IdMap([True])
    assert IdMap([1, "a"]) != IdMap([1.0, "a"])
    assert IdMap([(1, 2), "a"]) == IdMap(["a", (1, 2)])
    assert IdMap([1, "a"]) != [1, "a"]
    assert hash(IdMap([1, 2])) == hash(IdMap([2, 1]))


def test_text_of_sets_is_the_same_in_every_process():
    program = (
        "from discreet.data.ids import IdMap, stable_text; "
        "sets = [frozenset('abcdef'), frozenset('xyz')]; "
        "print([stable_text(one) for one in sets], IdMap(sets).encode(sets))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True, text=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1
    assert stable_text(("b", frozenset("ba"))) == "('b', {'a', 'b'})"


@given(st.lists(st.integers(0, 6), max_size=40))
def test_group_order_is_a_stable_sort(values):
    codes = np.array(values, dtype=np.int32)
    order, starts = group_order(codes, 7)
    assert order.tolist() == np.argsort(codes, kind="stable").tolist()
    assert starts.tolist() == [0, *np.cumsum(np.bincount(codes, minlength=7)).tolist()]


@given(st.lists(st.integers(0, 6), max_size=20))
def test_compact_keeps_the_ids(values):
    ids, codes = IdMap("abcdefg"), np.array(values, dtype=np.int32)
    few, renumbered = compact(ids, codes)
    assert few.decode(renumbered) == ids.decode(codes)
    assert len(few) == len(set(values))
