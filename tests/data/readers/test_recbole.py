from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from discreet.data import Interactions
from discreet.data.readers import detect, read
from discreet.errors import DataError

FIXTURES = Path(__file__).parent / "fixtures"


def load(path: Path, **options: Any) -> Interactions:
    data = read(path, **options)
    assert isinstance(data, Interactions)
    return data


def test_atomic_files() -> None:
    assert load(FIXTURES / "recbole").users.ids() == ["186", "196", "22"]
    data = load(FIXTURES / "recbole", ids="number")
    assert data.to_frame().rows() == [
        (22, 242, 1.0, 878887116),
        (186, 302, 3.0, 891717742),
        (196, 242, 3.0, 881250949),
    ]
    assert data.items.ids() == [242, 302, 400]
    assert data.item_table is not None
    assert data.item_table.rows()[0] == ("Kölya Street", "1996", "Comedy|Drama")
    assert data.user_table is not None
    assert data.user_table.rows()[0] == (25.0, "M")


def test_the_scale_is_known_by_the_name_or_not_at_all(tmp_path: Path) -> None:
    assert load(FIXTURES / "recbole").scale is None
    shutil.copy(FIXTURES / "recbole/shop.inter", tmp_path / "ml-100k.inter")
    assert str(load(tmp_path).scale) == "1:5:1"
    assert str(load(FIXTURES / "recbole", scale="0:10").scale) == "0:10:1"


def test_other_column_names(tmp_path: Path) -> None:
    (tmp_path / "x.inter").write_text("uid:token\tpid:token\tplays:float\na\tp\t7\n")
    data = load(tmp_path, user="uid", item="pid", rating="plays")
    assert data.to_frame().rows() == [("a", "p", 7.0)]
    with pytest.raises(DataError, match="no column 'user_id'"):
        read(tmp_path)


def test_ids_are_tokens_in_all_files(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "recbole", tmp_path, dirs_exist_ok=True)
    with (tmp_path / "shop.user").open("a") as file:
        file.write("u7\t30\tF\n")
    data = load(tmp_path)
    assert data.users.ids() == ["186", "196", "22"]
    assert data.user_table is not None
    assert data.user_table["gender"].to_list() == ["F", "M", "M"]


@pytest.mark.parametrize("header", ["user_id\titem_id", "user_id:token\titem_id:word", "user_id:token,item_id:token"])
def test_a_header_without_types(tmp_path: Path, header: str) -> None:
    (tmp_path / "x.inter").write_text(f"{header}\n1\t2\n")
    with pytest.raises(DataError, match="name:type") as caught:
        read(tmp_path)
    assert caught.value.line == 1


def test_a_name_of_two_types(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "recbole", tmp_path, dirs_exist_ok=True)
    (tmp_path / "shop.user").write_text("user_id:token\tage:token\tage:float\n196\t1\t2\n")
    with pytest.raises(DataError, match="two columns are called 'age'"):
        read(tmp_path)


def test_several_datasets_in_one_folder(tmp_path: Path) -> None:
    for name in "ab":
        shutil.copy(FIXTURES / "recbole/shop.inter", tmp_path / f"{name}.inter")
    with pytest.raises(DataError, match=r"several: a\.inter, b\.inter"):
        read(tmp_path)
    assert len(read(tmp_path / "a.inter")) == 3


def test_train_and_test_are_joined() -> None:
    assert detect(FIXTURES / "neurec").name == "neurec"
    data = load(FIXTURES / "neurec")
    assert len(data) == 5
    assert str(data.scale) == "1:5:1"
    assert len(read(FIXTURES / "neurec/ml-1m.train.rating")) == 3


def test_commas_and_repeated_reviews() -> None:
    data = load(FIXTURES / "ciao")
    assert data.to_frame().rows() == [
        (1, 1, 5.0, 963331200),
        (2, 1, 3.0, 963417600),
        (3, 7, 4.0, 1384099200),
    ]


def test_the_second_part_is_named(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "neurec", tmp_path, dirs_exist_ok=True)
    (tmp_path / "ml-1m.test.rating").write_text("0\t99\t4\t978824330\n1\t4\t5\t978824291\n")
    with pytest.raises(DataError, match="second record") as caught:
        read(tmp_path, duplicates="error")
    # The parts are read in the order of their names.
    assert (Path(caught.value.file or "").name, caught.value.line) == ("ml-1m.train.rating", 3)


def test_two_datasets_of_ratings(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "neurec", tmp_path, dirs_exist_ok=True)
    shutil.copy(FIXTURES / "ciao/Ciao.rating", tmp_path)
    with pytest.raises(DataError, match="several datasets: Ciao, ml-1m"):
        read(tmp_path)
