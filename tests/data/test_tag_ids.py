"""One user's id, of whatever type, changes what is kept of that user and of nobody else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.data.tags import TagAssignments
from discreet.errors import DataError, UsageError
from discreet.tagging import PTRT

NUMBERED = [(f"u{i}", f"r{i % 2}", 1 + i % 3) for i in range(12)]
ODD = {
    "fraction": [("eve", "r0", 2.5)],
    "text": [("eve", "r0", "x")],
    "whole fraction": [("eve", "r0", 1.0), ("eve", "r0", "x")],
    "truth value": [("eve", "r0", True)],
    "tuple": [("eve", "r0", ("x", 1))],
    "text of a number": [("eve", "r0", "1"), ("eve", "r0", 1)],
}


def of_others(data: TagAssignments) -> list[tuple]:
    return [row for row in data.to_frame().rows() if row[0] != "eve"]


@pytest.mark.parametrize("vocabulary", [[1, 2, 3], ["1", "2", "3"]], ids=["numbers", "text"])
@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("place", [lambda odd: odd + NUMBERED, lambda odd: NUMBERED + odd], ids=["first", "last"])
def test_an_odd_tag_of_one_user(vocabulary: list, odd: list, place: Callable[[list], list]) -> None:
    alone = TagAssignments(NUMBERED).with_vocabulary(vocabulary, outside="drop")
    assert len(alone) == len(NUMBERED)
    beside = TagAssignments(place(odd)).with_vocabulary(vocabulary, outside="drop")
    assert of_others(beside) == alone.to_frame().rows()
    assert beside.tags.ids() == alone.tags.ids() == vocabulary


@pytest.mark.parametrize("resources", [["0", "1", "2"], [0, 1, 2]], ids=["text", "numbers"])
@pytest.mark.parametrize("outside", ["drop", "error"])
def test_a_file_with_one_record_that_is_no_number(tmp_path: Path, resources: list, outside) -> None:
    lines = ["user,resource,tag", *(f"u{i},{i % 3},t{i % 2}" for i in range(9))]
    (tmp_path / "numbers.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "text.csv").write_text("\n".join([*lines, "eve,x,t0"]) + "\n")
    numbers, text = dc.read(tmp_path / "numbers.csv"), dc.read(tmp_path / "text.csv")
    assert isinstance(numbers, TagAssignments)
    assert isinstance(text, TagAssignments)
    assert numbers.resources.series.dtype == text.resources.series.dtype == pl.String
    if outside == "error":
        text = text.filter(lambda frame: frame["resource_id"] != "x", independent=True)
    parts = [data.with_resources(resources, outside=outside) for data in (numbers, text)]
    assert parts[0].to_frame().equals(parts[1].to_frame())
    assert len(parts[0]) == 9


def test_users_do_not_run_together() -> None:
    many = [(2**60 + i, "r", "t") for i in range(50)]
    assert TagAssignments([*many, (1.5, "r", "t")]).n_users == 51
    assert TagAssignments([(1, "r", "t"), (True, "r", "t"), (1.0, "r", "t"), ("1", "r", "t")]).n_users == 4


def test_ids_that_are_rewritten_remember_the_account(tmp_path: Path) -> None:
    data = TagAssignments(NUMBERED, name="numbered")
    listed = data.with_vocabulary(["1", "2", "3"])
    assert listed.to_frame()["tag"].to_list() == [str(tag) for tag in data.to_frame()["tag"]]
    assert listed.fingerprint != data.fingerprint
    assert listed.lineage == (data.fingerprint,)
    assert listed.complete
    assert data.with_vocabulary([1, 2, 3]).lineage == (data.fingerprint,)
    ledger = dc.Ledger(tmp_path / "b.db")
    ledger.open(data, epsilon=2, delta="1e-5", unit="record/value")
    PTRT(epsilon=1, delta="1e-6").release(listed, ledger=ledger)
    assert float(ledger.statement("numbered").spent.epsilon) > 0


def test_nothing_runs_together_where_nothing_may_be_left_out() -> None:
    data = TagAssignments([("ann", "r", 1), ("ann", "r", "1"), ("bob", "r", 2)])
    with pytest.raises(DataError, match=r"1 and '1' are the same entry"):
        data.with_vocabulary(["1", "2"])
    assert len(data.with_vocabulary(["1", "2"], outside="drop")) == 2
    with pytest.raises(DataError, match=r"the tag 2 occurs"):
        TagAssignments([("bob", "r", 2)]).with_vocabulary(["1"])


@pytest.mark.parametrize("mixed", [["a", 1], [1, 2.5], [1.5], [True, False], ["a", ("b", 1)]])
def test_a_public_list_has_one_type(mixed: list) -> None:
    data = TagAssignments(NUMBERED)
    for declare in (data.with_vocabulary, data.with_resources):
        with pytest.raises(UsageError, match="entries of the type") as caught:
            declare(mixed, outside="drop")
        assert "as text" in str(caught.value)


def test_lists_of_other_ids() -> None:
    data = TagAssignments([("ann", ("x", 1), "t"), ("bob", ("y", 2), "t")])
    assert len(data.with_resources([("x", 1), ("z", 3)], outside="drop")) == 1
