from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from discreet.data import IdMap
from discreet.errors import EvaluationError
from discreet.evaluation.lists import RankedLists, ranked_lists

USERS = IdMap(["ann", "bob", "eve"], what="user")
ITEMS = IdMap(["gin", "rum", "tea"], what="item")


def table(*rows: tuple[object, object, object]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=["user_id", "item_id", "rank"], orient="row")


def read(recommended: object, users: IdMap, depth: int | None = None) -> RankedLists:
    return ranked_lists(recommended, users=users, items=ITEMS, n_items=3, depth=depth)


def test_table_and_matrix_say_the_same() -> None:
    from_table = read(table(("bob", "tea", 2), ("ann", "rum", 1), ("bob", "gin", 1)), USERS)
    from_codes = ranked_lists(np.array([[1, -1], [0, 2], [-1, -1]]), items=None, n_items=3)
    rows = [sorted(zip(lists.user, lists.place, lists.item, strict=True)) for lists in (from_table, from_codes)]
    assert rows[0] == rows[1] == [(0, 1, 1), (1, 1, 0), (1, 2, 2)]
    assert from_table.lengths().tolist() == from_codes.lengths().tolist() == [1, 2, 0]
    assert from_table.lengths(1).tolist() == [1, 1, 0]


def test_unknown_users_are_left_out_and_counted_and_unknown_items_keep_their_place() -> None:
    lists = read(table(("ann", "ale", 1), ("ann", "cider", 2), ("zoe", "tea", 1), ("zoe", "gin", 2)), USERS)
    assert lists.n_unknown_users == 1
    assert lists.item.tolist() == [-1, -1]
    assert lists.place.tolist() == [1, 2]


def test_depth_cuts_both() -> None:
    assert ranked_lists(np.array([[0, 1, 2]]), items=None, n_items=3, depth=2).place.tolist() == [1, 2]
    assert read(table(("ann", "gin", 1), ("ann", "rum", 3)), USERS, depth=2).place.tolist() == [1]


def test_ids_of_any_kind() -> None:
    users = IdMap([("a", 1), ("b", 2)], what="user")
    frame = {"user_id": [("b", 2), ("c", 3)], "item_id": ["tea", "tea"], "rank": [1, 1]}
    lists = read(frame, users)
    assert lists.user.tolist() == [1]
    assert lists.n_unknown_users == 1


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("ann", "tea", 0)], "row 0 has the rank 0"),
        ([("ann", "tea", 2**40)], "row 0 has the rank"),
        ([("ann", "tea", 1.5)], "holds Float64 values"),
        ([("ann", "tea", 1), ("ann", "gin", None)], "1 blanks"),
        ([("ann", "tea", 1), ("ann", "gin", 1)], "'ann' has more than one item of rank 1"),
        ([("bob", "tea", 2), ("ann", "tea", 1), ("bob", "tea", 1)], "'bob' is recommended item 'tea' more than once"),
        ([("zoe", "tea", 1)], "none of the 1 users"),
        ([(1, "tea", 1)], r"user ids of the table are numbers \(1\)"),
    ],
)
def test_refuses_tables(rows: list[tuple[object, object, object]], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        read(table(*rows), USERS)


@pytest.mark.parametrize("column", ["user_id", "item_id", "rank"])
def test_refuses_a_table_without(column: str) -> None:
    with pytest.raises(EvaluationError, match=f"no column '{column}'"):
        read(table(("ann", "tea", 1)).drop(column), USERS)


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (np.array([0, 1]), "not a matrix of item codes"),
        (np.array([[0.0, 1.0]]), "type float64"),
        (np.array([[0, 3]]), "row 0, place 2: 3 is not an item code"),
        (np.array([[0, -2]]), "-2 is not an item code"),
        (np.array([[0, 1], [2, 2]]), "user 1 is recommended item 2 more than once"),
    ],
)
def test_refuses_matrices(codes: np.ndarray, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        ranked_lists(codes, items=None, n_items=3)
