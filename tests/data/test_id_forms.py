"""Ids in the type of a list: each by itself, so that what one is says nothing about another."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.id_forms import id_as_number, id_as_text, recognized, written
from discreet.data.ids import IdMap

ANY_ID = st.one_of(
    st.integers(-5, 5), st.sampled_from([1.0, 2.5, True, "x", "--5", "01", ("a", 1)]), st.text(max_size=2)
)


@pytest.mark.parametrize(
    ("value", "number", "text"),
    [
        (5, 5, "5"),
        (-5, -5, "-5"),
        (5.0, 5, "5"),
        (2.5, None, None),
        ("5", 5, "5"),
        ("--5", None, "--5"),
        ("-", None, "-"),
        ("", None, ""),
        ("-0", None, "-0"),
        ("05", None, "05"),
        ("٣", None, "٣"),
        ("9" * 5_000, None, "9" * 5_000),
        (True, None, "True"),
        (-(2**63), -(2**63), str(-(2**63))),
        (str(2**63), None, str(2**63)),
        (("a", 1), None, None),
        (float("inf"), None, None),
    ],
)
def test_forms(value, number, text):
    assert id_as_number(value) == number
    assert id_as_text(value) == text


@given(st.lists(ANY_ID, min_size=1), st.lists(ANY_ID))
@pytest.mark.parametrize("known", [["1", "2", "x", "--5"], [1, 2, -3], [("a", 1), ("b", 2)], []])
def test_what_an_id_is_recognized_as_does_not_depend_on_the_others(known, some, others):
    map_ = IdMap(known)
    alone = [int(recognized(map_, [value])[0]) for value in some]
    assert recognized(map_, [*some, *others])[: len(some)].tolist() == alone


def test_known_ids_are_recognized_as_themselves():
    for ids in (["a", "1"], [1, 2], [("a", 1)]):
        map_ = IdMap(ids)
        assert recognized(map_, map_.series).tolist() == list(range(len(ids)))
    assert recognized(IdMap([1, 2]), pl.Series(["2", "02", "1"])).tolist() == [1, -1, 0]
    assert written([1, ("a", 1)], pl.Object()) == [1, ("a", 1)]
