from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet.data import IdMap, Interactions, Table, TagAssignments
from discreet.data.domains import domains_from_json
from discreet.data.readers import read
from discreet.errors import DataError, UsageError

FIXTURES = Path(__file__).parent / "fixtures"


def load(path: Path, **options: Any) -> Interactions:
    data = read(path, **options)
    assert isinstance(data, Interactions)
    return data


def written(tmp_path: Path, content: str, name: str = "x.csv") -> Path:
    (tmp_path / name).write_text(content)
    return tmp_path / name


def test_usual_names_are_understood() -> None:
    data = load(FIXTURES / "csv/shop.csv", scale="1:5", context=["weekday"])
    assert data.to_frame().rows() == [
        ("007", "tea, green", 5.0, 1614592800, "Mon"),
        ("7", "rum", 3.0, 1614684600, "Tue"),
        ("8", "tea, green", 4.0, 1614772800, "Wed"),
    ]


@pytest.mark.parametrize("separator", [",", "\t", ";", "|", "::"])
def test_the_separator_is_found(tmp_path: Path, separator: str) -> None:
    lines = [["user_id", "item_id", "rating"], ["1", "7", "3.5"], ["2", "7", "1"]]
    path = written(tmp_path, "".join(separator.join(line) + "\n" for line in lines))
    assert load(path).to_frame().rows() == [("1", "7", 3.5), ("2", "7", 1.0)]


def test_columns_by_name(tmp_path: Path) -> None:
    path = written(tmp_path, "who,what,liked,rating\na,x,1,9\nb,y,0,9\n")
    data = load(path, user="who", item="what", rating="liked")
    assert data.to_frame().rows() == [("a", "x", 1.0), ("b", "y", 0.0)]


def test_without_a_header(tmp_path: Path) -> None:
    path = written(tmp_path, "1,7,3,100\n2,7,4,200\n")
    rows = load(path, header=False, ids="number").to_frame().rows()
    assert rows == [(1, 7, 3.0, 100), (2, 7, 4.0, 200)]
    assert load(path, header=False, user="2", item="1").to_frame().rows() == [("7", "1"), ("7", "2")]
    with pytest.raises(DataError, match="no column looks like the user") as caught:
        read(path)
    assert "header=False" in caught.value.remedy


@pytest.mark.parametrize(
    ("written_as", "seconds"),
    [
        ("1614592800", 1614592800),
        ("1614592800.75", 1614592800),
        ("2021-03-01 10:00:00", 1614592800),
        ("2021-03-01", 1614556800),
    ],
)
def test_times(tmp_path: Path, written_as: str, seconds: int) -> None:
    data = load(written(tmp_path, f"user,item,time\na,x,{written_as}\n"))
    assert data.to_frame()["timestamp"].to_list() == [seconds]


def test_tags_and_tables(tmp_path: Path) -> None:
    tags = read(written(tmp_path, "user_id,resource_id,tag\n1,a,sea\n1,a,sea\n2,b,sky\n"))
    assert isinstance(tags, TagAssignments)
    assert len(tags) == 2
    table = read(
        written(tmp_path, "sex,age\nF,30\nM,4\n"), what="table", domains={"sex": ["F", "M"], "age": range(100)}
    )
    assert isinstance(table, Table)
    assert table.to_frame().rows() == [("F", 30), ("M", 4)]
    with pytest.raises(UsageError, match="domains"):
        read(tmp_path / "x.csv", what="table")
    with pytest.raises(UsageError, match=r"what must be .* 'films'"):
        read(tmp_path / "x.csv", what="films")


def test_a_table_names_its_group_column(tmp_path: Path) -> None:
    domains = domains_from_json({"sex": ["F", "M"], "age": {"low": 0, "high": 99}})
    data = read(written(tmp_path, "home,sex,age\nh1,F,30\nh1,M,4\nh2,F,9\n"), domains=domains, group="home")
    assert isinstance(data, Table)
    assert data.group is not None
    assert data.group.tolist() == [0, 0, 1]
    assert data.attributes == ("sex", "age")
    with pytest.raises(DataError, match="no column 'nothing'"):
        read(written(tmp_path, "home,sex,age\nh1,F,30\n"), domains=domains, group="nothing")
    with pytest.raises(UsageError, match="cannot be the group and an attribute"):
        read(written(tmp_path, "home,sex,age\nh1,F,30\n"), domains=domains, group="sex")


@pytest.mark.parametrize("given", [{}, [], {"age": "any"}, {"age": True}, {"age": 0}, {"age": {"low": 1}}])
def test_what_is_no_domain_in_json(given: Any) -> None:
    with pytest.raises(DataError, match=r"no domains|not a domain"):
        domains_from_json(given)


def test_a_column_cannot_play_two_roles(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be user_id and item_id"):
        read(written(tmp_path, "a,b\n1,2\n"), user="a", item="a")


def test_missing_columns(tmp_path: Path) -> None:
    path = written(tmp_path, "user,thing\n1,2\n")
    with pytest.raises(DataError, match="no column looks like the item; the columns are 'user', 'thing'") as caught:
        read(path)
    assert "item=" in caught.value.remedy
    with pytest.raises(DataError, match="no column 'film'"):
        read(path, item="film")
    with pytest.raises(DataError, match="no column 'mood'"):
        read(path, item="thing", context=["mood"])


def test_a_public_catalog_from_a_file(tmp_path: Path) -> None:
    records = written(tmp_path, "user,item\n1,7\n2,8\n")
    catalog = written(tmp_path, "item_id;title\n7;Tea\n8;Rum\n9;Gin\n", "catalog.csv")
    data = load(records, catalog=catalog)
    assert data.catalog_is_public
    assert data.titles(range(3)) == ["Tea", "Rum", "Gin"]
    pl.DataFrame({"item_id": [7, 8], "title": ["Tea", "Rum"]}).write_parquet(tmp_path / "catalog.parquet")
    assert load(records, catalog=str(tmp_path / "catalog.parquet")).n_items == 2
    for ids in (
        [7, 8, 9, 10],
        {7, 8, 9, 10},
        range(7, 11),
        IdMap([7, 8, 9, 10]),
        pl.DataFrame({"movieId": [7, 8, 9, 10]}),
    ):
        data = load(records, catalog=ids)
        assert data.n_items == 4
        assert data.item_table is None
    assert load(records, catalog="observed").catalog_is_public
    assert not load(records).catalog_is_public
    with pytest.raises(DataError, match="not in the public catalog") as caught:
        load(records, catalog=[7])
    assert caught.value.line == 3


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_parquet_and_arrow(tmp_path: Path, suffix: str) -> None:
    frame = pl.DataFrame({"userId": [2, 1], "movie": ["x", "y"], "stars": [3, 4], "mood": ["good", "bad"]})
    path = tmp_path / f"x.{suffix}"
    frame.write_parquet(path) if suffix == "parquet" else frame.write_ipc(path)
    assert load(path, context="mood").to_frame().rows() == [(1, "y", 4.0, "bad"), (2, "x", 3.0, "good")]
    assert load(tmp_path).n_users == 2


def test_bad_rows_of_parquet_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pl.DataFrame({"user_id": [1, 2], "item_id": [1, 1], "rating": [3.0, 9.0]}).write_parquet(path)
    with pytest.raises(DataError, match=r"row 1, .*the rating is not on the declared scale") as caught:
        read(path, scale="1:5")
    assert (caught.value.file, caught.value.line) == (str(path), None)
    pl.DataFrame({"user_id": [1, None], "item_id": [1, 1]}).write_parquet(path)
    with pytest.raises(DataError, match="row 1, column 'user_id': the value is missing") as caught:
        read(path)
    assert caught.value.file == str(path)


@pytest.mark.parametrize("content", [b"PAR1", b"PAR1 and more that is no parquet PAR1", b"", b"ARROW1\0\0 nothing"])
def test_damaged_parquet(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(content)
    with pytest.raises(DataError, match="no readable Parquet"):
        read(path)


@pytest.mark.parametrize("text", ["", "\n", "\n\na,b\n"])
def test_an_empty_file_is_called_empty(tmp_path: Path, text: str) -> None:
    (tmp_path / "shop.csv").write_text(text)
    with pytest.raises(DataError, match=r"shop\.csv, line 1: the first line is blank\."):
        read(tmp_path / "shop.csv")
