"""Dirty records: every kind of dirt in every kind of table is found, counted and named as the caller names it."""

from __future__ import annotations

import json
import math
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discreet.data import Interactions, Table, TagAssignments
from discreet.data.problems import MOST_EXAMPLES, MOST_KINDS, Problems
from discreet.data.readers import read
from discreet.errors import DataError, MissingWarning, RecordsError, UsageError

NAMES = ("customer", "sku", "stars", "when")
ROLES: Any = {"user": "customer", "item": "sku", "rating": "stars", "timestamp": "when"}
GOOD = [("ann", "tea", 5.0, 100), ("bob", "rum", 3.0, 200), ("cy", "gin", 1.0, 300), ("dan", "tea", 4.0, 400)]
KINDS = ["csv", "tsv", "parquet", "arrow", "polars", "pandas", "arrays"]
TEXT = ("csv", "tsv")

Row = tuple[Any, ...]


def typed(rows: list[Row]) -> pl.DataFrame:
    """A table as a program would write it: a column with a text in it is text."""
    columns = {}
    for name, values in zip(NAMES, zip(*rows, strict=True), strict=True):
        as_text = any(isinstance(value, str) for value in values)
        columns[name] = [str(value) if as_text and value is not None else value for value in values]
    return pl.DataFrame(columns, strict=False)


def as_text(value: Any) -> str:
    return "" if value is None else "NaN" if value != value else str(value)


def reader(kind: str, rows: list[Row], folder: Path) -> Callable[..., Interactions]:
    """Reads the rows from one kind of table."""
    if kind in ("polars", "pandas", "arrays"):
        frame: Any = typed(rows)
        if kind == "pandas":
            frame = pd.DataFrame({name: frame[name].to_list() for name in NAMES})
        elif kind == "arrays":
            frame = dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))
        return lambda **options: Interactions(frame, **ROLES, **options)
    path = folder / f"shop.{kind}"
    if kind in TEXT:
        separator = "," if kind == "csv" else "\t"
        path.write_text("".join(separator.join(map(as_text, row)) + "\n" for row in [NAMES, *rows]))
    elif kind == "parquet":
        typed(rows).write_parquet(path)
    else:
        typed(rows).write_ipc(path)

    def load(**options: Any) -> Interactions:
        data = read(path, **ROLES, **options)
        assert isinstance(data, Interactions)
        return data

    return load


def places(kind: str, rows: list[int]) -> list[tuple[int | None, int | None]]:
    """Line and row of the examples of some rows."""
    return [(row + 2, None) if kind in TEXT else (None, row) for row in rows]


def found(error: RecordsError) -> dict[tuple[str | None, str], int]:
    return {(problem.column, problem.what.split(" of ")[0]): problem.count for problem in error.problems}


def caught(load: Callable[..., Any], **options: Any) -> RecordsError:
    with pytest.raises(RecordsError) as error:
        load(**options)
    return error.value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("column", "value"), [(0, None), (1, None), (2, None), (3, None), (2, math.nan)])
def test_missing_values_are_named_or_dropped(tmp_path: Path, kind: str, column: int, value: Any) -> None:
    rows = [tuple(value if place == column and row % 2 else v for place, v in enumerate(one))
            for row, one in enumerate(GOOD)]  # fmt: skip
    load = reader(kind, rows, tmp_path)
    error = caught(load, scale="1:5")
    assert found(error) == {(NAMES[column], "the value is missing."): 2}
    assert [(e.line, e.row) for e in error.problems[0].examples] == places(kind, [1, 3])
    assert error.rows == 2
    assert "missing='drop'" in str(error)
    assert "--missing drop" in error.cli_message
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingWarning)
        data = load(scale="1:5", missing="drop")
    expected = [user for row, (user, *_) in enumerate(GOOD) if not row % 2]
    assert data.users.ids() == expected
    assert (data.dropped_missing, dict(data.missing_by_column)) == (2, {NAMES[column]: 2})
    assert data.describe()["dropped_missing"] == 2
    assert data.lineage == ("<-",)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", ["error", "drop"])
@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        (2, math.inf, "this is not a finite number."),
        (2, "five", "this is not a number."),
        (2, 9.0, "the rating is not on the declared scale 1:5:1."),
        (3, "noon", "this is n"),
    ],
)
def test_wrong_values_are_problems_whatever_is_dropped(
    tmp_path: Path, kind: str, missing: str, column: int, value: Any, words: str
) -> None:
    rows = [tuple(value if place == column and row else v for place, v in enumerate(one))
            for row, one in enumerate(GOOD)]  # fmt: skip
    if column == 3 and kind in ("polars", "pandas"):
        with pytest.raises(DataError, match=r"times of type String|this is no time"):  # a column of text is not read
            reader(kind, rows, tmp_path)()
        return
    error = caught(reader(kind, rows, tmp_path), scale="1:5", missing=missing)
    (problem,) = error.problems
    assert problem.column == NAMES[column]
    assert problem.what.startswith(words)
    assert problem.count == 3
    assert [(e.line, e.row) for e in problem.examples] == places(kind, [1, 2, 3])
    assert str(problem.examples[0].value) == str(value)


@pytest.mark.parametrize("kind", KINDS)
def test_several_kinds_in_one_table_are_reported_together(tmp_path: Path, kind: str) -> None:
    dirt: list[Row] = [
        (None, "tea", 5.0, 1),
        ("eve", None, 9.0, 2),
        ("eve", "rum", math.inf, None),
        ("eve", "gin", None, 3),
        ("ann", "tea", 2.0, 4),
        ("ann", "cola", 2.0, 5),
    ]
    load = reader(kind, [*GOOD, *dirt], tmp_path)
    error = caught(load, scale="1:5", **catalog(kind, ["tea", "rum", "gin"]))
    # A line that lacks a value in a text file is not read any further.
    off_scale = 0 if kind in TEXT else 1
    assert found(error) == {
        ("customer", "the value is missing."): 1,
        ("sku", "the value is missing."): 1,
        ("stars", "the value is missing."): 1,
        ("when", "the value is missing."): 1,
        ("stars", "this is not a finite number."): 1,
        ("sku", "user 'ann' has a second record"): 1,
        ("sku", "the item is not in the public catalog."): 1,
        **({("stars", "the rating is not on the declared scale 1:5:1."): 1} if off_scale else {}),
    }
    assert error.rows == 6
    assert str(error).count("\n- ") == len(error.problems)
    first = places(kind, [4])[0]
    assert (error.line, error.row, error.column) == (*first, "customer")
    report = json.loads(json.dumps(error.report()))
    assert report["rows"] == 6
    assert {one["column"] for one in report["problems"]} == {"customer", "sku", "stars", "when"}


def catalog(kind: str, items: list[str]) -> dict[str, Any]:
    return {"items": items} if kind in ("polars", "pandas", "arrays") else {"catalog": items}


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "arrow", "polars"])
def test_a_dropped_row_has_no_other_problems(tmp_path: Path, kind: str) -> None:
    load = reader(kind, [*GOOD, (None, "tea", math.inf, None)], tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingWarning)
        data = load(missing="drop")
    assert len(data) == 4
    assert data.dropped_missing == 1
    assert dict(data.missing_by_column) == {"customer": 1, "when": 1}


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "arrow"])
def test_blank_text_is_no_id_in_a_file(tmp_path: Path, kind: str) -> None:
    load = reader(kind, [*GOOD, ("  ", "tea", 5.0, 1), ("eve", " ", 5.0, 1)], tmp_path)
    assert found(caught(load)) == {("customer", "the value is missing."): 1, ("sku", "the value is missing."): 1}
    with pytest.warns(MissingWarning, match=r"shop.*: 2 rows with missing values left out \(customer 1, sku 1\)"):
        assert len(load(missing="drop")) == 4


def test_blank_text_is_an_id_in_python_unless_missing_values_are_dropped() -> None:
    rows = [("", "tea"), ("ann", "tea")]
    assert Interactions(rows).n_users == 2
    assert Interactions(rows, missing="drop").n_users == 1


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "arrow"])
def test_ids_of_a_declared_type(tmp_path: Path, kind: str) -> None:
    rows: list[Row] = [("1", "7", 1.0, 1), ("x2", "7", 1.0, 2), ("y", "8", 1.0, 3)]
    if kind in TEXT:
        error = caught(reader(kind, rows, tmp_path), ids="number")
        assert found(error) == {("customer", "this is not a whole number."): 2}
    frame = typed(rows)
    with pytest.raises(RecordsError, match="the user id is not a whole number") as told:
        Interactions(frame, **ROLES, ids="number")
    assert [(p.column, p.count) for p in told.value.problems] == [("customer", 2)]


def test_ids_that_pandas_made_fractions_are_whole_numbers_again() -> None:
    table = pd.DataFrame({"user_id": [1, None, 3], "item_id": [7, 8, 9]})
    with pytest.raises(RecordsError, match=r"row 1, column 'user_id': the value is missing"):
        Interactions(table)
    data = Interactions(table, missing="drop")
    assert data.users.ids() == [1, 3]
    assert Interactions(table.dropna(), missing="drop").users.ids() == [1, 3]
    with pytest.raises(DataError, match="no whole number"):
        Interactions(pd.DataFrame({"user_id": [1.5, None], "item_id": [7, 8]}), missing="drop")


def test_many_repeats_are_counted() -> None:
    with pytest.raises(RecordsError, match="the user has a record of this item in an earlier row") as told:
        Interactions([("ann", "tea"), ("bob", "tea"), ("ann", "tea"), ("ann", "tea")])
    (problem,) = told.value.problems
    assert (problem.count, problem.examples[0].row, problem.examples[0].value) == (2, 2, ("ann", "tea"))


def test_rows_outside_of_the_window_are_nobodys_problem() -> None:
    day = 86_400
    rows = [("ann", "tea", 5.0, 0), ("bob", "tea", 9.0, 400 * day), ("cy", "tea", 9.0, 0)]
    with pytest.raises(RecordsError) as told:
        Interactions(rows, scale="1:5", window="1970")
    assert [(p.count, p.examples[0].row) for p in told.value.problems] == [(1, 2)]


# Tags and tables


@pytest.mark.parametrize("kind", ["csv", "parquet", "polars"])
def test_tags(tmp_path: Path, kind: str) -> None:
    frame = pl.DataFrame({"who": ["ann", None, "cy"], "page": ["a", "b", "c"], "word": ["sea", "sky", None]})
    roles: Any = {"user": "who", "resource": "page", "tag": "word"}
    path = tmp_path / f"tags.{kind}"
    load = {
        "csv": lambda **options: read(path, **roles, **options),
        "parquet": lambda **options: read(path, **roles, **options),
        "polars": lambda **options: TagAssignments(frame, **roles, **options),
    }[kind]
    frame.write_csv(path) if kind == "csv" else frame.write_parquet(path) if kind == "parquet" else None
    assert found(caught(load)) == {("who", "the value is missing."): 1, ("word", "the value is missing."): 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingWarning)
        tags = load(missing="drop")
    assert isinstance(tags, TagAssignments)
    assert (len(tags), tags.dropped_missing, dict(tags.missing_by_column)) == (1, 2, {"who": 1, "word": 1})
    assert tags.lineage == ("<-",)
    assert not tags.complete


@pytest.mark.parametrize("kind", ["csv", "parquet", "polars"])
def test_tables(tmp_path: Path, kind: str) -> None:
    frame = pl.DataFrame({"sex": ["F", None, "M", "X", "F"], "age": [30, 41, None, 35, 200], "note": [None] * 5})
    domains = {"sex": ["F", "M"], "age": range(100)}
    path = tmp_path / f"people.{kind}"
    frame.write_csv(path) if kind == "csv" else frame.write_parquet(path) if kind == "parquet" else None

    def load(**options: Any) -> Any:
        return Table(frame, domains=domains, **options) if kind == "polars" else read(path, domains=domains, **options)

    outside = {("sex", "the value is outside the declared domain {'F', 'M'} (2 values)."): 1,
               ("age", "the value is outside the declared domain 0 to 99."): 1}  # fmt: skip
    lacking = {("sex", "the value is missing."): 1, ("age", "the value is missing."): 1}
    assert found(caught(load)) == lacking | outside
    assert found(caught(load, missing="drop")) == outside
    frame = frame[:3]
    frame.write_csv(path) if kind == "csv" else frame.write_parquet(path) if kind == "parquet" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingWarning)
        table = load(missing="drop")
    assert (len(table), table.dropped_missing, dict(table.missing_by_column)) == (1, 2, {"sex": 1, "age": 1})
    assert not table.complete


# Sums


def test_quantities_are_added_up() -> None:
    rows = [("ann", "tea", 2.0, 5), ("bob", "tea", 1.0, 1), ("ann", "tea", 3.0, 9), ("ann", "tea", 0.5, 7)]
    data = Interactions(rows, duplicates="sum")
    assert data.to_frame().rows() == [("ann", "tea", 5.5, 9), ("bob", "tea", 1.0, 1)]
    assert (data.dropped_duplicates, data.may_repeat, data.lineage) == (2, False, ("<=",))
    assert Interactions(rows[:2], duplicates="sum").lineage == ("<=",)
    assert Interactions(rows[::-1], duplicates="sum").fingerprint == data.fingerprint


def test_a_sum_does_not_depend_on_the_order_of_the_rows() -> None:
    amounts = [0.1, 0.2, 0.3, 1e16, -1e16, 0.7]
    sums = set()
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(amounts))
        data = Interactions([("ann", "tea", amounts[place]) for place in order], duplicates="sum")
        assert data.rating is not None
        sums.add(float(data.rating[0]))
    assert len(sums) == 1


@pytest.mark.parametrize("rows", [[("a", "x", 1), ("a", "x", 2)], [("a", "x", 1), ("b", "x", 2)]])
def test_what_cannot_be_added_up_is_refused_whether_or_not_it_repeats(rows: list[Any]) -> None:
    with pytest.raises(UsageError, match="ratings of a scale"):
        Interactions(rows, scale="1:5", duplicates="sum")
    with pytest.raises(UsageError, match="no quantities"):
        Interactions([row[:2] for row in rows], duplicates="sum")
    small = pl.DataFrame(rows, schema={"user_id": pl.String, "item_id": pl.String, "rating": pl.Int8}, orient="row")
    summed = Interactions(small, duplicates="sum")
    assert summed.rating is not None
    assert summed.rating.dtype == np.float64


def test_a_sum_that_is_too_large() -> None:
    with pytest.raises(DataError, match="not a finite number"):
        Interactions([("a", "x", 1e308), ("a", "x", 1e308)], duplicates="sum")


# Bounds, and what is secret


def test_memory_does_not_grow_with_the_number_of_problems() -> None:
    problems = Problems()
    tracemalloc.start()
    for number in range(5_000):
        problems.rows += 1
        problems.add(DataError(f"wrong in way {number}.", line=number, column="x", value="v" * 1_000))
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert used < 100_000
    error = problems.error()
    assert len(error.problems) == MOST_KINDS + 1
    assert all(len(problem.examples) <= MOST_EXAMPLES for problem in error.problems)
    assert sum(problem.count for problem in error.problems) == error.rows == 5_000
    assert len(str(error)) < 10_000


def test_an_estimate_knows_nothing_of_what_was_left_out() -> None:
    data = Interactions([("ann", None), ("bob", "tea"), ("bob", "tea")], missing="drop", duplicates="last")
    assert (data.dropped_missing, data.dropped_duplicates) == (1, 1)
    empty = data.emptied()
    assert (empty.dropped_missing, empty.dropped_duplicates, dict(empty.missing_by_column)) == (0, 0, {})
    assert empty.lineage == data.lineage


@pytest.mark.parametrize("odd", [None, math.nan, "", " "])
def test_dropping_one_row_changes_no_other(odd: Any) -> None:
    """A map record by record: the rest is what it would be without the row."""
    rows = [(1, "a", 5), ("1", 7, 4), (2.5, ("b", 1), 3)]
    whole = Interactions([*rows, (odd, "a", 5)], missing="drop")
    assert whole.fingerprint == Interactions(rows, missing="drop").fingerprint == Interactions(rows).fingerprint


def test_an_unknown_policy() -> None:
    with pytest.raises(UsageError, match="missing must be one of 'error', 'drop'"):
        Interactions([("a", "x")], missing="sometimes")  # type: ignore[arg-type]


def test_errors_of_one_problem_have_a_report_too() -> None:
    report = DataError("the file is empty.", file="x.csv").report()
    assert report["problems"][0]["what"] == "the file is empty."


def test_a_folder_of_several_files_is_told_how_to_be_read(tmp_path: Path) -> None:
    for name in ("a.parquet", "b.parquet"):
        pl.DataFrame({"user_id": ["u"], "item_id": ["i"]}).write_parquet(tmp_path / name)
    with pytest.raises(DataError, match=r"found a\.parquet, b\.parquet\. Read one .* or all with discreet\.scan"):
        read(tmp_path)
