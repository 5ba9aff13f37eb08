"""Ids keep the type that they came with or that was declared; no id changes how another is read or ordered."""

from __future__ import annotations

import itertools
import warnings
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreet as dc
from discreet.data import IdMap, Interactions, TagAssignments
from discreet.data.readers import read
from discreet.errors import DataError, DuplicatesWarning, UsageError
from discreet.models.registry import registered

SHOP = "user,item,rating\n17,7,3\n9,8,4\n10,7,5\n"


def shop(tmp_path: Path, content: str = SHOP, **options: Any) -> Interactions:
    (tmp_path / "shop.csv").write_text(content)
    data = read(tmp_path / "shop.csv", scale="1:5", **options)
    assert isinstance(data, Interactions)
    return data


def test_ids_of_files_are_text_whatever_they_look_like(tmp_path: Path) -> None:
    for odd in ("", "x,7,3\n", "007,7,3\n", "9007199254740993000000,7,3\n"):
        data = shop(tmp_path, SHOP + odd)
        assert data.users.series.dtype == data.items.series.dtype == pl.String
        assert [user for user in data.users.ids() if user in ("10", "17", "9")] == ["10", "17", "9"]


def test_whole_numbers_are_declared(tmp_path: Path) -> None:
    assert shop(tmp_path, ids="number").users.ids() == [9, 10, 17]
    data = shop(tmp_path, ids="user=number")
    assert (data.users.ids(), data.items.ids()) == ([9, 10, 17], ["7", "8"])
    assert shop(tmp_path, ids={"item": "number"}).items.ids() == [7, 8]
    with pytest.raises(DataError, match="whole number") as caught:
        shop(tmp_path, SHOP + "x,7,3\n", ids="number")
    assert (caught.value.line, caught.value.value) == (5, "x")
    for wrong in ("digits", "user=digits", "tag=number"):
        with pytest.raises(UsageError, match="ids cannot be declared"):
            shop(tmp_path, ids=wrong)


def test_a_number_that_is_asked_for_where_ids_are_text(tmp_path: Path) -> None:
    model = registered("knn")().fit(shop(tmp_path))
    assert model.recommend(["17"], n=1)["user_id"].to_list() == ["17"]
    with pytest.raises(DataError, match=r"unknown user 17.*ids are text.*'17'.*ids='number'"):
        model.recommend([17], n=1)
    numbers = registered("knn")().fit(shop(tmp_path, ids="number"))
    with pytest.raises(DataError, match="are whole numbers: write 17, not '17'"):
        numbers.recommend(["17"], n=1)


def test_catalogs_take_the_declared_type(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("item_id,title\n7,Tea\n8,Rum\n9,Gin\n")
    for catalog in (tmp_path / "items.csv", [7, 8, 9], ["7", "8", "9"], pl.DataFrame({"item_id": [7, 8, 9]})):
        assert shop(tmp_path, catalog=catalog).items.ids() == ["7", "8", "9"]
        assert shop(tmp_path, catalog=catalog, ids="number").items.ids() == [7, 8, 9]
    assert shop(tmp_path, catalog=[7], items_public=True).items.ids() == ["7", "8"]
    with pytest.raises(DataError, match="not in the public catalog") as caught:
        shop(tmp_path, catalog=["7"])
    assert caught.value.line == 3
    with pytest.raises(DataError, match="not a whole number"):
        shop(tmp_path, catalog=["7", "8", "x"], ids="number")


def test_tags_of_files(tmp_path: Path) -> None:
    (tmp_path / "tags.csv").write_text("user,resource,tag\n1,7,5\n")
    assert read(tmp_path / "tags.csv").to_frame().rows() == [("1", "7", "5")]  # type: ignore[union-attr]
    numbers = read(tmp_path / "tags.csv", ids="resource=number")
    assert isinstance(numbers, TagAssignments)
    assert numbers.to_frame().rows() == [("1", 7, "5")]


# Order


@pytest.mark.parametrize("odd", ["x", 2.5, ("a", 1), True, "1"])
@pytest.mark.parametrize("plain", [[2, 10, 9, -1], ["b", "10", "9", "é", "Z"]])
def test_one_odd_id_does_not_reorder_the_others(plain: list[Any], odd: Any) -> None:
    alone, beside = IdMap(plain), IdMap([*plain, odd])
    assert [i for i in beside.ids() if type(i) is type(plain[0]) and i in plain] == alone.ids()


def test_which_of_two_ids_comes_first_depends_on_them_alone() -> None:
    ids = [3, 20, "3", "20", "x", 2.5, ("a", 1), True]
    everybody = IdMap(ids)
    for one, two in itertools.permutations(ids, 2):
        pair = IdMap([one, two])
        assert (pair.code(one) < pair.code(two)) == (everybody.code(one) < everybody.code(two))


# Untyped values beside each other


@pytest.mark.parametrize("odd", [0.5, "4", True])
def test_ratings_are_read_one_by_one(odd: Any) -> None:
    rows = [("u", "a", 2**53 + 1), ("v", "a", 3), ("w", "a", np.float32(0.1))]
    alone, beside = Interactions(rows), Interactions([*rows, ("x", "a", odd)])
    assert alone.rating is not None
    assert beside.rating is not None
    assert alone.rating.dtype == beside.rating.dtype == np.float64
    assert beside.rating[:3].tolist() == alone.rating.tolist()
    assert beside.rating[3] == float(odd)


@pytest.mark.parametrize("text", ["5", " 5 ", "+5", "5.", ".5e1", "5_0", "nan", "x"])
def test_ratings_that_are_text_are_read_one_by_one(text: str) -> None:
    found = []
    for more in ([], [("v", "a", 3)]):
        try:
            found.append(Interactions([("u", "a", text), *more]).rating[0])  # type: ignore[index]
        except DataError:
            found.append(None)
    assert found[0] == found[1]


def test_declared_ids_go_for_side_tables_too() -> None:
    frame = pl.DataFrame({"user_id": [2, 10], "item_id": [7, 8]})
    people = pl.DataFrame({"user_id": [10, 2], "age": [40, 30]})
    data = Interactions(frame, users=people, items=[7, 8, 9], ids="text")
    assert (data.users.ids(), data.items.ids()) == (["10", "2"], ["7", "8", "9"])
    assert data.user_table is not None
    assert data.user_table["age"].to_list() == [40, 30]


@pytest.mark.parametrize("odd", [0.5, date(1970, 1, 2), datetime(1970, 1, 2, 3)])
def test_times_are_read_one_by_one(odd: Any) -> None:
    rows = [("u", "a", 1, 2**53 + 1), ("v", "a", 1, 86_400)]
    beside = Interactions([*rows, ("w", "a", 1, odd)])
    assert beside.timestamp is not None
    assert beside.timestamp[:2].tolist() == [2**53 + 1, 86_400]
    assert beside.timestamp[2] == {0.5: 0}.get(odd, 86_400 + (3 * 3600 if isinstance(odd, datetime) else 0))
    with pytest.raises(DataError, match=r"row 2, .*this is no time"):
        Interactions([*rows, ("w", "a", 1, "noon")])


@pytest.mark.parametrize("first", ["100", "100.5", "2021-03-01", "2021-03-01T10:00:00+01:00"])
def test_times_of_files_are_read_one_by_one(tmp_path: Path, first: str) -> None:
    lines = ["u1,a,1614592800", "u2,a,1614592800.75", "u3,a,2021-03-01 10:00:00", "u4,a,2021-03-01T11:00:00+01:00"]
    path = tmp_path / "times.csv"
    path.write_text("\n".join(["user,item,time", f"u0,a,{first}", *lines]) + "\n")
    data = read(path)
    assert isinstance(data, Interactions)
    assert data.timestamp is not None
    assert data.timestamp[1:].tolist() == [1614592800] * 4


def test_a_column_of_fractions_is_no_column_of_ids() -> None:
    """pandas makes one of whole numbers, when one of them is missing."""
    frame = pd.DataFrame({"user_id": [1.0, 2.0], "item_id": ["a", "b"]})
    with pytest.raises(DataError, match="column of fractions"):
        Interactions(frame)
    assert Interactions([(1.5, "a"), (2, "b")]).users.ids() == [2, 1.5]


# Tables


@pytest.mark.parametrize("odd", [0.5, "x"])
def test_values_of_tables_are_read_one_by_one(odd: Any) -> None:
    long = 2**53 + 1
    domains = {"code": [long, long - 1, 0.5, "x"], "age": range(5)}
    alone = dc.Table({"code": [long, long - 1], "age": [1, 2]}, domains=domains)
    beside = dc.Table({"code": [long, long - 1, odd], "age": [1, 2.0, True]}, domains=domains)
    for name in domains:
        assert beside.codes[name][:2].tolist() == alone.codes[name].tolist()
    with pytest.raises(DataError, match=r"row 2, .*is outside"):
        dc.Table({"age": [1, 2, "x"]}, domains={"age": range(5)})


@pytest.mark.parametrize("first", ["1", "1.0", "x"])
def test_tables_of_files_are_read_by_their_domains(tmp_path: Path, first: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"size,grade,vip,zip\n{first if first != 'x' else 2},{first},true,01\n3,0.50,FALSE,1\n")
    domains = {"size": range(5), "grade": [0.5, 1, "x"], "vip": [True, False], "zip": ["01", "1"]}
    table = read(path, what="table", domains=domains)
    assert isinstance(table, dc.Table)
    assert [int(table.codes[name][1]) for name in domains] == [3, 0, 1, 1]
    path.write_text("size\n1\n2.5\n")
    with pytest.raises(DataError, match="outside the declared domain") as caught:
        read(path, what="table", domains={"size": range(5)})
    assert (caught.value.line, caught.value.value) == (3, "2.5")


def test_users_who_are_spelled_alike_are_told() -> None:
    """As chunks of a CSV file give them: one person would be two, and caps would hold for each of them."""
    rows = [(3, "x"), ("3", "y"), (4, "x")]
    with pytest.warns(DuplicatesWarning, match="spelled alike, as 3 and '3', .*of this kind: 1"):
        assert dc.Interactions(rows).n_users == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dc.Interactions(rows, ids="text").n_users == 2
        assert dc.Interactions([(3, "x"), ("four", "y")]).n_users == 2
