"""At the door: every kind of table becomes the same frame, and what is none is refused in words."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from discreet.data import Interactions
from discreet.data.frames import as_frame, as_mask, numeric_column, time_column
from discreet.errors import DataError, UsageError

COLUMNS = {"u": [1, 2], "i": ["a", "b"], "r": [1.5, 2.0]}
FRAME = pl.DataFrame(COLUMNS)


@pytest.mark.parametrize(
    "data",
    [
        FRAME,
        FRAME.lazy(),
        pd.DataFrame(COLUMNS),
        pa.table(COLUMNS),
        COLUMNS,
        {"u": np.array([1, 2]), "i": np.array(["a", "b"]), "r": np.array([1.5, 2.0])},
        [(1, "a", 1.5), (2, "b", 2.0)],
        (list(row) for row in [(1, "a", 1.5), (2, "b", 2.0)]),
    ],
    ids=["polars", "lazy", "pandas", "arrow", "lists", "arrays", "tuples", "generator"],
)
def test_every_table_becomes_the_same_frame(data):
    assert as_frame(data, ["u", "i", "r"]).equals(FRAME)


@pytest.mark.parametrize("odd", [1.5, True, "x"])
@pytest.mark.parametrize(
    "table",
    [
        lambda ids: [(i, 1) for i in ids],
        lambda ids: {"u": ids, "r": [1] * len(ids)},
        lambda ids: pd.DataFrame({"u": pd.Series(ids, dtype=object), "r": 1}),
    ],
    ids=["tuples", "lists", "pandas"],
)
def test_ids_of_several_kinds_stay_what_they_are(odd, table):
    ids = [2**60, 2**60 + 1, odd]
    frame = as_frame(table(ids), ["u", "r"], ids=("u",))
    assert [(type(value), value) for value in frame["u"]] == [(type(value), value) for value in ids]
    assert as_frame([(1, 1), (2, 2.5)], ["u", "r"], ids=("u",)).dtypes == [pl.Int64, pl.Float64]


def test_sparse_matrices_fill_three_columns():
    matrix = sp.coo_array(([5.0, 3.0], ([0, 2], [1, 0])), shape=(3, 2))
    for kind in (matrix, matrix.tocsr(), matrix.tocsc()):
        rows = as_frame(kind, ["u", "i", "r", "t"]).sort("u").rows()
        assert rows == [(0, 1, 5.0), (2, 0, 3.0)]


def test_rows_of_a_matrix_are_tuples():
    assert as_frame(np.array([[1, 2], [3, 4]]), ["u", "i"]).rows() == [(1, 2), (3, 4)]


def test_no_tuples_make_the_columns_that_are_needed():
    assert as_frame([], ["u", "i", "r"]).columns == ["u", "i"]
    assert as_frame([], ["u", "i", "r"], at_least=3).columns == ["u", "i", "r"]


@pytest.mark.parametrize("data", [5, "text", b"bytes", None])
def test_what_holds_no_records(data):
    with pytest.raises(UsageError, match="cannot read records from"):
        as_frame(data, ["u", "i"])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([1, 2], "row 0 must be a tuple, got int"),
        ([(1, 2), "ab"], "row 1 must be a tuple, got str"),
        ([{"u": 1, "i": 2}], "row 0 must be a tuple, got dict"),
        ([(1, 2), (1, 2, 3)], "row 1 has 3 fields, the first has 2"),
        ([(1, 2, 3, 4)], "rows of 4 fields"),
        ({"u": [1], "i": [1, 2]}, "different lengths"),
    ],
)
def test_rows_that_do_not_fit(data, message):
    with pytest.raises(DataError, match=message):
        as_frame(data, ["u", "i", "r"])


def test_a_blank_among_values_of_several_types_is_null():
    frame = as_frame([(1, 2), ("a", 2), (None, 2)], ["u", "i"])
    assert frame["u"].to_list() == [1, "a", None]
    assert frame["u"].null_count() == 1


@pytest.mark.parametrize(
    ("ids", "dtype"),
    [([7, None, 8], pl.Int64), (["a", float("nan"), "b"], pl.String), ([("a", 1), None, 2.5], pl.Object)],
)
def test_a_missing_id_changes_no_other(ids, dtype):
    column = as_frame({"u": ids}, [], ids=("u",))["u"]
    assert column.dtype == dtype
    assert column.to_list() == [ids[0], None, ids[2]]


def test_the_callers_arrays_stay_the_callers():
    array, matrix = np.array([1.0, 2.0]), sp.coo_array(([1.0], ([0], [0])))
    frame, sparse = as_frame({"r": array}, ["r"]), as_frame(matrix, ["u", "i", "r"])
    table = pd.DataFrame({"r": [1.0, 2.0]})
    pandas = as_frame(table, ["r"])
    array[0] = matrix.data[0] = 9.0
    table.loc[0, "r"] = 9.0
    assert frame["r"][0] == sparse["r"][0] == pandas["r"][0] == 1.0


@pytest.mark.parametrize(
    "column", [[1, 2], [1.0, 2.0], ["1", "2"], ["1.0", "2"], pl.Series([1, 2], dtype=pl.UInt8), [True, 2]]
)
def test_numbers(column):
    numbers = numeric_column(pl.DataFrame({"r": pl.Series(column, strict=False)}), "r")
    assert numbers is not None
    assert numbers.dtype.kind == "f"
    assert numbers.tolist() == [1.0, 2.0]


def test_columns_that_are_not_there():
    assert numeric_column(FRAME, None) is numeric_column(FRAME, "x") is None
    assert time_column(FRAME, None) is time_column(FRAME, "x") is None


@pytest.mark.parametrize(
    ("column", "message"),
    [(["1", "x"], "row 1 is not a number"), ([1, None], "row 1 is blank"), (["1", None], "row 1")],
)
def test_what_is_no_number(column, message):
    with pytest.raises(DataError, match=message) as caught:
        numeric_column(pl.DataFrame({"r": column}), "r")
    assert caught.value.column == "r"


@pytest.mark.parametrize(
    "column",
    [
        [86_400, 90_061],
        [86_400.0, 90_061.9],
        [datetime.datetime(1970, 1, 2), datetime.datetime(1970, 1, 2, 1, 1, 1, 999_999)],
        pl.Series([86_400_000, 90_061_999]).cast(pl.Datetime("ms")),
        pl.Series([86_400, 90_061]).cast(pl.Int32),
    ],
    ids=["int", "float", "datetime", "milliseconds", "int32"],
)
def test_times_are_whole_seconds(column):
    times = time_column(pl.DataFrame({"t": column}), "t")
    assert times is not None
    assert times.dtype == np.int64
    assert times.tolist() == [86_400, 90_061]


def test_dates_and_zones_are_times():
    frame = pl.DataFrame(
        {
            "day": [datetime.date(1970, 1, 2)],
            "zone": [datetime.datetime(1970, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=-1)))],
        }
    )
    assert time_column(frame, "day").tolist() == [86_400]  # type: ignore[union-attr]
    assert time_column(frame, "zone").tolist() == [90_000]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("column", "message"),
    [([1, None], "row 1 is blank"), ([1.0, float("inf")], "row 1 is no time"), (["noon"], "not understood")],
)
def test_what_is_no_time(column, message):
    with pytest.raises(DataError, match=message):
        time_column(pl.DataFrame({"t": column}), "t")


def test_pandas_kinds_of_columns():
    table = pd.DataFrame(
        {
            "nullable": pd.array([1, 2], dtype="Int64"),
            "category": pd.Categorical(["x", "y"]),
            "text": pd.array(["x", "y"], dtype="string"),
            "time": pd.to_datetime(["1970-01-02", "1970-01-03"]),
        }
    )
    frame = as_frame(table, [])
    assert frame["nullable"].to_list() == [1, 2]
    assert frame["category"].to_list() == frame["text"].to_list() == ["x", "y"]
    assert time_column(frame, "time").tolist() == [86_400, 172_800]  # type: ignore[union-attr]


def test_masks():
    assert as_mask([True, False], 2).tolist() == [True, False]
    assert as_mask(pl.Series([True, False]), 2).tolist() == [True, False]
    assert as_mask([], 0).tolist() == []
    for wrong in ([0, 1], [True], [[True, False]], pl.col("r") > 3):
        with pytest.raises(UsageError, match="truth values"):
            as_mask(wrong, 2)


def test_columns_of_one_name_are_refused_in_words() -> None:
    doubled = pd.concat([pd.DataFrame(COLUMNS), pd.DataFrame({"r": [1, 2]})], axis=1)
    with pytest.raises(DataError, match=r"column 'r': there are several columns 'r'\. Rename one of them\."):
        as_frame(doubled, ["u", "i", "r"])


@pytest.mark.parametrize("catalog", [pd.Series(["b", "a"], index=[7, 7]), pd.Index(["a", "b"])])
def test_a_column_of_pandas_is_a_catalog(catalog: object) -> None:
    data = Interactions(pd.DataFrame({"user_id": [1], "item_id": ["a"]}), items=catalog)
    assert sorted(data.items.ids()) == ["a", "b"]
    assert data.catalog_is_public
