"""How the value of one record is read depends on that value and on what was declared, never on the other rows."""

from __future__ import annotations

from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreet as dc
from discreet.counting import StreamingBound
from discreet.counting.cells import Cells
from discreet.data.contexts import TYPES_OF_TABLE, context_of, contexts_of
from discreet.errors import DataError, UsageError

LONG = 12345678901234567

# What is declared, what 300 people have, and what one more person has.
CASES: dict[str, tuple[str, list[Any], Any]] = {
    "truth values": ("value=true,false", [True, False], "unknown"),
    "floats": ("value=0.5,1.5", [0.5, 1.5], "unknown"),
    "small and large floats": ("value=0.00001,1e16", [1e-05, 1e16], "unknown"),
    "whole numbers beside a fraction": ("value=1,2", [1, 2], 0.5),
    "long whole numbers beside a fraction": (f"value={LONG},{LONG + 1}", [LONG, LONG + 1], 0.5),
    "long whole numbers beside text": (f"value={LONG},{LONG + 1}", [LONG, LONG + 1], "unknown"),
    "datetimes": (
        "value=2024-02-01T10:00:00,2024-02-02T10:00:00",
        [datetime(2024, 2, 1, 10), datetime(2024, 2, 2, 10)],
        "unknown",
    ),
    "dates beside a datetime": (
        "value=2024-02-01,2024-02-02",
        [date(2024, 2, 1), date(2024, 2, 2)],
        datetime(2024, 2, 5, 10, 30),
    ),
    "time zones": (
        "value=2024-02-01T10:00:00,2024-02-02T10:00:00",
        [datetime(2024, 2, 1, 10, tzinfo=UTC), datetime(2024, 2, 2, 10, tzinfo=UTC)],
        datetime(2024, 2, 5),
    ),
    "whole numbers beside a truth value": ("value=0,1", [0, 1], True),
    "numbers beside nothing": ("value=1,2", [1, 2], None),
}


def in_records(values: list[Any], kind: str) -> dc.Interactions:
    """One record of each person, with the value as its context."""
    columns: dict[str, Any] = {"user_id": [f"u{n}" for n in range(len(values))], "item_id": ["a"] * len(values)}
    columns["value"] = values
    data = pd.DataFrame(columns | {"value": pd.Series(values, dtype=object)}) if kind == "pandas" else columns
    return dc.Interactions(data, context=["value"], items=["a"])


def in_users(values: list[Any], kind: str) -> dc.Interactions:
    """One record of each person, with the value in the table of users."""
    ids = [f"u{n}" for n in range(len(values))]
    columns: dict[str, Any] = {"user_id": ids, "value": values}
    users = pd.DataFrame(columns | {"value": pd.Series(values, dtype=object)}) if kind == "pandas" else columns
    return dc.Interactions([(user, "a") for user in ids], items=["a"], users=users)


@pytest.mark.parametrize("make", [in_records, in_users])
@pytest.mark.parametrize("kind", ["columns", "pandas"])
@pytest.mark.parametrize("case", list(CASES))
def test_one_more_person_moves_nobody_else(case: str, kind: str, make) -> None:
    declared, values, odd = CASES[case]
    many = values * 150
    totals = []
    for people in (many, [*many, odd]):
        cells = Cells.of(make(people, kind), [declared])
        totals.append(cells.totals("edges"))
    assert totals[0].tolist() == [150, 150]
    assert totals[1].tolist() == [150, 150]


def test_the_edge_of_the_report_stays() -> None:
    """300 people with premium=True, and one with "unknown": it used to fall from 301.5 to −7.1."""
    method = dc.counting.SRA(epsilon=Fraction(1, 2), cap=1)
    for people in ([True] * 300, [True] * 300 + ["unknown"]):
        release = method.release(in_records(people, "columns"), contexts=["value=true,false"])
        edges = release.table("edges")
        assert edges.filter(pl.col("value") == "true")["count"][0] > 200


@pytest.mark.parametrize("written", ["1.50", "0.10", "00017", str(LONG), "2024-02-01", "true"])
@pytest.mark.parametrize("first", ["7", "0.5", "x", ""])
@pytest.mark.parametrize(
    "declared", ["value=1.50,0.10,17", f"value={LONG},1", "value:text=1.50,0.10,00017", "value=x,7"]
)
def test_files_keep_contexts_as_text(tmp_path: Path, written: str, first: str, declared: str) -> None:
    """Neither the first row nor any other says how a value is read."""
    alone, beside = tmp_path / "alone.csv", tmp_path / "beside.csv"
    alone.write_text(f"user,item,value\nu1,a,{written}\n")
    beside.write_text(f"user,item,value\nu0,a,{first}\nu1,a,{written}\nu2,a,{first}\n")
    codes = []
    for path in (alone, beside):
        data = dc.read(path, context=["value"], items_public=True)
        assert isinstance(data, dc.Interactions)
        assert data.context["value"].dtype == pl.String
        (context,) = contexts_of([declared], data)
        codes.append(context.codes(data)[data.user == data.users.code("u1")].tolist())
    assert codes[0] == codes[1] == [context_of(declared).place(written)]


def test_a_long_id_beside_a_fraction(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"user,item,place\nu0,a,0.5\nu1,a,{LONG}\nu2,a,{LONG + 1}\n")
    data = dc.read(path, context=["place"], items_public=True)
    assert isinstance(data, dc.Interactions)
    assert contexts_of([f"place={LONG},{LONG + 1}"], data)[0].codes(data).tolist() == [-1, 0, 1]


def test_streams_read_every_value_by_itself() -> None:
    for batches in ([[True, False]], [["unknown"], [True, False]], [[True, False], ["unknown"]]):
        stream = StreamingBound(5, items=["a"], context=["value"])
        for number, values in enumerate(batches):
            users = [f"{number}-{place}" for place in range(len(values))]
            stream.add({"user_id": users, "item_id": ["a"] * len(values), "value": values})
        cells = Cells.of(stream.records(), ["value=true,false"])
        assert cells.totals("edges").tolist() == [1, 1]


# Declared types


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("x=1,2.5", "number"),
        ("x=<25,25+,unknown", "number"),
        ("x=007,008", "text"),
        ("x=1.1,1.10", "text"),
        ("x=true,false", "boolean"),
        ("x=True,False,unknown", "boolean"),
        ("x=2024-01-01,2024-01-02", "time"),
        ("x=phone,1", "text"),
        ("x:text=1,2", "text"),
        ("x:number=007,008", "number"),
    ],
)
def test_the_type_follows_from_the_declaration(declared: str, kind: str) -> None:
    context = context_of(declared)
    assert (context.name, context.kind) == ("x", kind)
    assert context_of(str(context)) == context


@pytest.mark.parametrize("declared", ["x:number=1,1.0", "x:boolean=true,TRUE", "x:time=2024-01-01,2024-01-01T00:00"])
def test_equal_values_are_refused(declared: str) -> None:
    with pytest.raises(UsageError, match="twice"):
        context_of(declared)


@pytest.mark.parametrize(
    ("dtype", "values", "found"),
    [
        (pl.Int8, [1, 2], [0, -1]),
        (pl.Float32, [1.0, 0.1], [0, 1]),
        (pl.Float64, [1.0, 0.1], [0, 1]),
        (pl.String, ["1.00", " 0.10"], [0, 1]),
        (pl.Categorical, ["1", "0.1"], [0, 1]),
        (pl.Decimal(10, 2), ["1.00", "0.10"], [0, 1]),
    ],
)
def test_columns_of_every_type_hold_the_same_values(dtype, values: list[Any], found: list[int]) -> None:
    column = pl.Series("value", values).cast(dtype)
    data = dc.Interactions(
        pl.DataFrame({"user_id": ["u", "v"], "item_id": ["a", "a"]}).with_columns(column),
        context=["value"],
        items=["a"],
    )
    assert contexts_of(["value=1,0.1"], data)[0].codes(data).tolist() == found


def test_a_zero_is_a_zero() -> None:
    frame = pl.DataFrame({"user_id": list("uvw"), "item_id": ["a"] * 3, "value": [0.0, -0.0, np.nan]})
    data = dc.Interactions(frame, context=["value"], items=["a"])
    assert contexts_of(["value=0,1"], data)[0].codes(data).tolist() == [0, 0, -1]


def test_columns_that_round_are_refused() -> None:
    frame = pl.DataFrame({"user_id": ["u"], "item_id": ["a"], "value": [float(LONG)]})
    data = dc.Interactions(frame, context=["value"], items=["a"])
    with pytest.raises(UsageError, match="only rounded"):
        contexts_of([f"value={LONG}"], data)[0].codes(data)


def test_values_without_a_name_are_refused() -> None:
    nested = pl.DataFrame({"user_id": ["u"], "item_id": ["a"], "value": [[1, 2]]})
    data = dc.Interactions(nested, context=["value"], items=["a"])
    with pytest.raises(DataError, match="List"):
        contexts_of(["value=1"], data)[0].codes(data)
    with pytest.raises(DataError, match="row 1 holds a list") as caught:
        in_records(["x", [1]], "columns")
    assert caught.value.column == "value"


# What a guarantee says about types


def test_types_of_a_table_are_not_covered() -> None:
    method = dc.counting.SRA(epsilon=1, cap=1)
    frame = pl.DataFrame({"user_id": ["u"], "item_id": ["a"], "value": [1], "other": ["x"]})
    typed = dc.Interactions(frame, context=["value"], items=["a"])
    assert typed.typed_columns == {"value"}
    assert TYPES_OF_TABLE in method.plan(typed, contexts=["value=1,2"]).guarantee.not_covered
    assert TYPES_OF_TABLE not in method.plan(typed).guarantee.not_covered
    untyped = in_records([1], "columns")
    assert TYPES_OF_TABLE not in method.plan(untyped, contexts=["value=1,2"]).guarantee.not_covered
    people = dc.Interactions([("u", "a")], items=["a"], users=pd.DataFrame({"user_id": ["u"], "age": [30]}))
    assert people.typed_columns == {"age"}
    top = dc.counting.TopItems(k=1, epsilon=1)
    assert TYPES_OF_TABLE in top.plan(people, contexts=["age=<25,25+"]).guarantee.not_covered


def test_pandas_types_do_not_depend_on_missing_values() -> None:
    for values in ([1, 2], [1, None]):
        users = pd.DataFrame({"user_id": ["u", "v"], "age": pd.array(values, dtype="Int64")})
        data = dc.Interactions([("u", "a"), ("v", "a")], items=["a"], users=users)
        assert data.user_table is not None
        assert data.user_table["age"].dtype == pl.Int64
