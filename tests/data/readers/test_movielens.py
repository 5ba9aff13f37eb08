from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from discreet.data import Interactions, TagAssignments
from discreet.data.readers import detect, read
from discreet.errors import DataError

FIXTURES = Path(__file__).parent / "fixtures"


def load(name: str, **options: Any) -> Interactions:
    data = read(FIXTURES / name, **options)
    assert isinstance(data, Interactions)
    return data


@pytest.mark.parametrize("name", ["movielens-100k", "movielens-1m", "movielens-10m", "movielens-csv"])
def test_each_is_recognized_by_folder_and_by_file(name: str) -> None:
    main = {"movielens-100k": "u.data", "movielens-csv": "ratings.csv"}.get(name, "ratings.dat")
    assert detect(FIXTURES / name).name == name
    assert detect(FIXTURES / name / main).name == name
    assert load(name).fingerprint == load(f"{name}/{main}").fingerprint


def test_100k() -> None:
    data = load("movielens-100k")
    assert data.to_frame().rows()[:2] == [(1, 2, 5.0, 881251007), (1, 3, 4.0, 881250949)]
    assert str(data.scale) == "1:5:1"
    assert data.catalog_is_public
    assert data.items.ids() == [1, 2, 3, 4, 5]
    assert data.item_table is not None
    assert data.item_table["title"].to_list()[1] == "Café Nocturne (1994)"
    assert data.item_table["genres"].to_list() == ["Comedy|Drama", "Drama", "Action|Sci-Fi", "unknown", ""]
    assert data.user_table is not None
    assert data.user_table.rows()[1] == (53, "F", "other", "T8H1N")
    assert data.public_user_columns == frozenset()


def test_1m() -> None:
    data = load("movielens-1m")
    assert len(data) == 5
    assert str(data.scale) == "1:5:1"
    assert data.titles([0, 2]) == ["Éclair at Noon (1995)", "Slow Train: A Story (1980)"]
    assert data.user_table is not None
    assert data.user_table.columns == ["gender", "age", "occupation", "zip_code"]


def test_10m() -> None:
    data = load("movielens-10m")
    assert str(data.scale) == "0.5:5:0.5"
    assert data.rating is not None
    assert data.rating.tolist() == [5.0, 3.5, 0.5, 4.0]
    assert data.item_table is not None
    assert data.item_table["genres"][2] == ""


def test_csv() -> None:
    data = load("movielens-csv")
    assert str(data.scale) == "0.5:5:0.5"
    assert data.titles([1, 2]) == ["Third Lighthouse, The (1988)", 'Say "Ahoy" Twice (2001)']


def test_a_folder_with_tags_alone(tmp_path: Path) -> None:
    data = read(FIXTURES / "ml-tags-only")
    assert isinstance(data, TagAssignments)
    assert data.to_frame().rows() == [(2, 60756, "Highly quotable"), (2, 60756, "funny"), (7, 89774, "funny")]
    shutil.copy(FIXTURES / "movielens-10m" / "tags.dat", tmp_path)
    assert detect(tmp_path).name == "movielens-tags"
    # Ratings that are not understood are no reason to read the tags instead.
    (tmp_path / "ratings.dat").write_text("1,2,3\n")
    with pytest.raises(DataError, match="not recognized"):
        read(tmp_path)


@pytest.mark.parametrize(("file", "triples"), [("movielens-10m/tags.dat", 3), ("movielens-csv/tags.csv", 4)])
def test_tags(file: str, triples: int) -> None:
    data = read(FIXTURES / file)
    assert isinstance(data, TagAssignments)
    assert len(data) == triples
    assert read(FIXTURES / file.split("/")[0], format="movielens-tags").fingerprint == data.fingerprint


def test_tags_keep_colons_commas_and_quotes() -> None:
    assert "quiet: very" in read(FIXTURES / "movielens-10m/tags.dat").tags  # type: ignore[union-attr]
    tags = read(FIXTURES / "movielens-csv/tags.csv").tags  # type: ignore[union-attr]
    assert {"boats, many", 'the "end"', "sea", "Sea"} == set(tags.ids())


def test_ratings_dat_alone_does_not_tell_its_scale(tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "movielens-1m/ratings.dat", tmp_path)
    with pytest.raises(DataError, match=r"not recognized; found ratings\.dat") as caught:
        read(tmp_path)
    assert "movielens-1m" in caught.value.remedy
    assert len(read(tmp_path, format="ml-1m")) == 5
    with pytest.raises(DataError, match=r"not on the declared scale 1:5:1") as caught:
        read(FIXTURES / "movielens-10m", format="movielens-1m")
    assert caught.value.line == 2


def test_without_tables_the_catalog_is_not_public() -> None:
    data = load("movielens-1m", tables=False)
    assert not data.catalog_is_public
    assert data.items.ids() == [11, 12, 13]
    assert data.user_table is None
    assert load("movielens-1m", tables=False, items_public=True).catalog_is_public


def test_a_rating_off_the_scale_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "u.data").write_text("1\t2\t5\t881250949\n1\t3\t6\t881250950\n")
    with pytest.raises(DataError, match="not on the declared scale") as caught:
        read(tmp_path)
    assert (caught.value.line, caught.value.column, caught.value.value) == (2, "rating", 6.0)


def test_an_item_that_the_catalog_lacks_names_its_line(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "movielens-1m", tmp_path, dirs_exist_ok=True)
    with (tmp_path / "ratings.dat").open("a") as file:
        file.write("3::99::4::978300055\n")
    with pytest.raises(DataError, match="not in the public catalog") as caught:
        read(tmp_path)
    assert (caught.value.line, caught.value.value) == (6, 99)
    data = read(tmp_path, items_public=True)
    assert isinstance(data, Interactions)
    assert data.titles([data.items.code(99), data.items.code(14)]) == ["None", "Never Rated (1970)"]


def test_a_second_record_names_both_lines(tmp_path: Path) -> None:
    (tmp_path / "u.data").write_text("1\t2\t5\t10\n1\t3\t4\t11\n2\t2\t3\t12\n1\t2\t1\t13\n")
    with pytest.raises(DataError, match="second record of item 2; the first is in line 1") as caught:
        read(tmp_path)
    assert (caught.value.line, caught.value.file) == (4, str(tmp_path / "u.data"))
    kept = read(tmp_path, duplicates="last")
    assert kept.to_frame().rows()[0] == (1, 2, 1.0, 13)
    assert len(read(tmp_path, duplicates="keep")) == 4


def test_a_bad_side_file_is_named(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "movielens-100k", tmp_path, dirs_exist_ok=True)
    (tmp_path / "u.user").write_text("1|24|M|technician|85711\n2|old|F|other|94043\n")
    with pytest.raises(DataError, match="whole number") as caught:
        read(tmp_path)
    assert (caught.value.file, caught.value.line, caught.value.column) == (str(tmp_path / "u.user"), 2, "age")
    assert len(read(tmp_path, tables=False)) == 6
