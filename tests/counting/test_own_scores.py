"""Records chosen by a score of one's own: by a column or a function, each person alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.counting import HPA
from discreet.counting.cells import Cells, best_records
from discreet.counting.own_scores import own_scores
from discreet.data.contexts import TYPES_OF_TABLE
from discreet.errors import UsageError
from discreet.privacy.guarantees import Standing

ROWS = [
    ("ann", "a", 5, 30, "3"), ("ann", "b", 1, 20, "10"), ("ann", "c", 3, 10, "x"),
    ("bob", "a", 2, 5, "-1"), ("bob", "d", 4, 9, "-2"),
]  # fmt: skip
OTHER = [("zoe", item, 5, 99, value) for item, value in zip("abcd", ("true", "false", "maybe", ""), strict=True)]
KEY = (1, 2)


def records(rows: list[tuple[Any, ...]]) -> dc.Interactions:
    frame = pl.DataFrame(rows, schema=["user_id", "item_id", "rating", "timestamp", "effort"], orient="row")
    return dc.Interactions(frame, context=["effort"], items=list("abcd"), scale=(1, 5))


def kept(data: dc.Interactions, score: Any, cap: int = 1, contexts: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """The items that each person keeps."""
    cells = Cells.of(data, contexts)
    left = cells.keep(best_records(cells, cap, key=KEY, own=own_scores(cells, score, cap)))
    found: dict[str, list[str]] = {}
    for user, item in zip(left.user, left.item, strict=True):
        found.setdefault(data.users.ids()[user], []).append(data.items.ids()[item])
    return found


def lowest(own: pl.DataFrame) -> pl.Series:
    return -own["rating"]


def by_size(own: pl.DataFrame) -> list[int]:
    """Other scores for every number of records."""
    return [(place + 2) * own.height % 5 for place in range(own.height)]


@pytest.mark.parametrize(
    ("score", "ann", "bob"),
    [("rating", "a", "d"), ("timestamp", "a", "d"), ("effort", "b", "a"), (lowest, "b", "a")],
)
def test_the_highest_scores_are_kept(score: Any, ann: str, bob: str) -> None:
    assert kept(records(ROWS), score) == {"ann": [ann], "bob": [bob]}


@pytest.mark.parametrize("score", ["rating", "timestamp", "effort", lowest, by_size])
@pytest.mark.parametrize("cap", [1, 2])
def test_nobody_changes_the_choice_of_another(score: Any, cap: int) -> None:
    alone, together = kept(records(ROWS), score, cap), kept(records(OTHER + ROWS), score, cap)
    assert len(together.pop("zoe")) == cap
    assert together == alone
    assert kept(records(ROWS[:3]), score, cap) == {"ann": alone["ann"]}


def test_a_function_is_given_one_person_at_a_time() -> None:
    seen: list[tuple[list[str], int]] = []

    def watching(own: pl.DataFrame) -> list[float]:
        seen.append((own.columns, own.height))
        return own["rating"].to_list()

    kept(records(OTHER + ROWS), watching)
    assert {height for _, height in seen} == {2, 3, 4}
    assert all(columns == ["item_id", "rating", "timestamp", "effort"] for columns, _ in seen)


def fails(own: pl.DataFrame) -> Any:
    raise ValueError(own)


@pytest.mark.parametrize(
    "nonsense",
    [fails, lambda own: 3, lambda own: [1.0], lambda own: ["x"] * own.height, lambda own: [np.nan] * own.height],
)
def test_a_function_that_fails_for_somebody_decides_nothing(nonsense: Callable[[pl.DataFrame], Any]) -> None:
    """An error would tell that this person is there."""

    def for_ann(own: pl.DataFrame) -> Any:
        return nonsense(own) if own.height == 3 else own["rating"]

    found = kept(records(ROWS), for_ann)
    assert len(found["ann"]) == 1
    assert found["bob"] == ["d"]


def test_records_left_out_by_a_context_leave_the_others_their_scores() -> None:
    assert kept(records(ROWS), "rating", contexts=("effort:text=10,x,-1",)) == {"ann": ["c"], "bob": ["a"]}


def test_values_with_a_declared_order_are_scored_by_it() -> None:
    sizes = pl.Enum(["small", "large"])
    frame = pl.DataFrame({"user_id": ["u", "u"], "item_id": ["a", "b"], "size": ["small", "large"]})
    data = dc.Interactions(frame.with_columns(pl.col("size").cast(sizes)), context=["size"], items=["a", "b"])
    assert kept(data, "size") == {"u": ["b"]}


def test_counts_have_the_whole_budget_and_their_own_guarantee(drawn_scales: list[Any]) -> None:
    data = records(ROWS)
    release = HPA(epsilon="1/2", cap=2, score="rating").release(data)
    assert [float(scale) for scale in drawn_scales] == [4.0]
    assert release.guarantee.standing is Standing.PROVED
    assert "Theorem 13" in release.guarantee.basis
    assert set(release.parts) == {"counts"}
    assert release.parameters["score"] == "rating"
    assert HPA(epsilon=1, score=lowest).parameters["score"] == "function lowest"
    assert TYPES_OF_TABLE in HPA(epsilon=1, score="effort").plan(data).not_covered
    assert TYPES_OF_TABLE not in HPA(epsilon=1, score="rating").plan(data).not_covered
    assert any("score function" in line for line in HPA(epsilon=1, score=lowest).plan(data).not_covered)


@pytest.mark.parametrize("score", ["effrt", "user_id", "", 3, fails, lambda own: [1.0]])
def test_wrong_scores_are_refused_before_anything_is_charged(score: Any) -> None:
    with pytest.raises(UsageError, match="score"):
        HPA(epsilon=1, score=score).plan(records(ROWS))
