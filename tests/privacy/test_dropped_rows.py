"""Rows that were dropped because a value is missing, and quantities that were added up: which promises are refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.counting import ItemCounts
from discreet.coupled import HistogramRelease, random_queries
from discreet.data.readers import read, write
from discreet.errors import MissingWarning, PrivacyError
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Pure
from discreet.privacy.units import Unit

UNITS = ("record", "record/replace", "record/value", "user", "user/replace", "group:2", "group/replace:2")
WHOLE = [("ann", "x", 5.0), ("bob", "x", 2.0), ("ann", "y", 4.0)]
DIRTY = [*WHOLE, ("cy", "x", None), (None, "y", 1.0)]
ITEMS = ["x", "y", "z"]


def dropped(rows: Any = DIRTY, **options: Any) -> dc.Interactions:
    return dc.Interactions(rows, missing="drop", items=ITEMS, name="shop", **options)


def refusal(data: Any, unit: str, ledger: dc.Ledger | None = None) -> str:
    promise = Guarantee(Pure(Fraction(1, 100)), Unit.of(unit), Standing.PROVED, "a theorem", "a number")
    try:
        with charged(ledger, data, promise, mechanism="test", parameters={}):
            return ""
    except PrivacyError as error:
        return str(error)


@pytest.mark.parametrize("rows", [WHOLE, DIRTY], ids=["nothing dropped", "two dropped"])
def test_promises_of_which_the_number_of_records_is_public_are_refused(rows: Any, tmp_path: Path) -> None:
    data = dropped(rows)
    assert [unit for unit in UNITS if not refusal(data, unit)] == ["record", "user", "group:2"]
    assert "rows with missing values were left out of shop" in refusal(data, "record/value")
    assert "missing='error'" in refusal(data, "user/replace")
    ledger = dc.Ledger(tmp_path / "b.db")
    ledger.open(data, epsilon=1, unit="user")
    assert not refusal(data, "user", ledger)


def test_both_cuts_are_told_apart() -> None:
    assert "push another one out" in refusal(dropped(duplicates="last"), "record")
    assert "push another one out" in refusal(dropped(duplicates="last"), "record/replace")
    assert "missing values" in refusal(dropped(duplicates="last"), "record/value")


def test_tables_and_tags_are_marked(tmp_path: Path) -> None:
    domains = {"sex": ["F", "M"]}
    table = dc.Table({"sex": ["F", None, "M"]}, domains=domains, missing="drop")
    assert refusal(table, "record/replace")
    assert refusal(dc.Table({"sex": ["F", "M"]}, domains=domains, missing="drop"), "record/replace")
    assert not refusal(dc.Table({"sex": ["F", "M"]}, domains=domains), "record/replace")
    assert not refusal(table, "record")
    with pytest.raises(PrivacyError, match="the number of rows as public"):
        HistogramRelease(epsilon=1).release(table, random_queries(table, 4, seed=1))
    tags = dc.TagAssignments([("a", "p", "t")], missing="drop")
    assert refusal(tags, "record/value")
    assert not refusal(tags, "user")


@pytest.mark.parametrize("text", ["user,item\na,x\nb,\n", "user,item\na,x\nb,y\n"])
def test_files_and_copies_keep_the_mark(tmp_path: Path, text: str) -> None:
    path = tmp_path / "shop.csv"
    path.write_text(text)
    if "b,\n" in text:
        with pytest.warns(MissingWarning):
            data = read(path, missing="drop")
    else:
        data = read(path, missing="drop")
    assert isinstance(data, dc.Interactions)
    again = read(write(data, tmp_path / "kept"))
    for one in (data, again, data.emptied(), data.filter(np.ones(len(data), dtype=bool), independent="record")):
        assert refusal(one, "user/replace")
        assert not refusal(one, "record")


@pytest.mark.parametrize("rows", [WHOLE, [*WHOLE, ("ann", "x", 1.0)]], ids=["once", "twice"])
def test_sums_are_marked_like_the_latest(rows: Any) -> None:
    data = dc.Interactions(rows, duplicates="sum", items=ITEMS)
    assert [unit for unit in UNITS if not refusal(data, unit)] == ["record/value", "user", "user/replace"]


def test_a_window_takes_files_that_were_read_without_missing_values(tmp_path: Path) -> None:
    """The rows were dropped one by one, so that none outside of the window decided about one inside."""
    data = dropped([("ann", "x", 5.0, 0), ("bob", None, 2.0, 1)])
    path = write(data, tmp_path / "kept")
    assert len(read(path, window="1970")) == 1
    summed = write(dropped([("ann", "x", 5.0, 0)], duplicates="sum"), tmp_path / "sum")
    with pytest.raises(dc.DiscreetError, match="a rule about all records of a user"):
        read(summed, window="1970")


def test_neighbors_stay_neighbors_when_rows_are_dropped() -> None:
    """Exhaustive over small datasets: one raw row more is at most one record more, and changes no other."""
    values: list[Any] = [None, "a", "b", ""]
    pairs = list(product(values, values))
    for first, second in product(pairs, pairs):
        before = dc.Interactions([first], missing="drop", duplicates="keep").to_frame().rows()
        after = dc.Interactions([first, second], missing="drop", duplicates="keep").to_frame().rows()
        rest = list(after)
        for row in before:
            rest.remove(row)
        assert len(rest) <= 1


def test_a_release_is_made_from_what_is_left() -> None:
    data = dropped([*DIRTY, ("dan", "z", float("nan"))])
    released = ItemCounts(epsilon=1, cap=2).release(data)
    assert released.guarantee.standing is Standing.PROVED
    plans = [ItemCounts(epsilon=1, cap=2).estimate(dropped(rows)) for rows in (WHOLE, DIRTY)]
    assert str(plans[0]) == str(plans[1])
