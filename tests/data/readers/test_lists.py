"""Files with blanks between the fields: FilmTrust, other triples, and the lists of LightGCN."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from discreet.data import Interactions, read
from discreet.data.readers import detect
from discreet.errors import DataError, DuplicatesWarning, UsageError

FIXTURES = Path(__file__).parent / "fixtures"


def rows(path: Path, **options: object) -> list[tuple[object, ...]]:
    data = read(path, **options)  # type: ignore[arg-type]
    assert isinstance(data, Interactions)
    return data.to_frame().rows()


def test_filmtrust() -> None:
    """In its folder among other files, and by itself; the last of two ratings of one film counts."""
    wanted = [(1, 1, 2.0), (1, 2, 4.0), (1, 3, 3.5), (2, 1, 0.5), (3, 2, 3.0)]
    for path in (FIXTURES / "filmtrust", FIXTURES / "filmtrust" / "ratings.txt"):
        assert detect(path).name == "filmtrust"
        with pytest.warns(DuplicatesWarning, match="1 row"):
            data = read(path)
        assert isinstance(data, Interactions)
        assert data.to_frame().rows() == wanted
        assert str(data.scale) == "0.5:4:0.5"


def test_triples_of_others(tmp_path: Path) -> None:
    (tmp_path / "ratings_data.txt").write_text("5 100 4\n6 100 5\n")
    assert detect(tmp_path).name == "triples"
    assert rows(tmp_path, scale="1:5") == [("5", "100", 4.0), ("6", "100", 5.0)]
    assert rows(tmp_path, scale="1:5", ids="user=number") == [(5, "100", 4.0), (6, "100", 5.0)]
    with gzip.open(tmp_path / "likes.gz", "wt") as file:
        file.write("ann\ttea\t3\nbob\trum\t1\n")
    assert rows(tmp_path / "likes.gz", format="triples") == [("ann", "tea", 3.0), ("bob", "rum", 1.0)]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("1 1 2 881250949\n1 2 4 881250949\n", 1, "there are 4 fields; a line is a user, an item and a rating"),
        ("1 1 2\n1 2 4 881250949\n", 2, "there are 4 fields instead of 3, separated by spaces"),
        ("1 1\n1 2\n", 1, "there are 2 fields"),
        ("1 1 2\n\n1 2 4\n", 2, "blank"),
        ("1 1 2\n1 2 good\n", 2, "not a number"),
        ("1 1 2\nann 2 4\n", 2, "not a whole number"),
        ("1 1 2\n1 2 5\n", 2, "scale"),
        ("1  1 2\n", 1, "there are 4 fields"),
    ],
)
def test_what_is_no_triple(tmp_path: Path, text: str, line: int, words: str) -> None:
    (tmp_path / "ratings.txt").write_text(text)
    with pytest.raises(DataError, match=words) as refused:
        read(tmp_path / "ratings.txt")
    assert refused.value.line == line


def test_a_header_makes_it_a_table(tmp_path: Path) -> None:
    (tmp_path / "ratings.txt").write_text("user,item,rating\nann,tea,3\n")
    assert detect(tmp_path / "ratings.txt").name == "csv"
    assert rows(tmp_path / "ratings.txt", scale="1:5") == [("ann", "tea", 3.0)]


def test_options_of_a_table_make_it_one(tmp_path: Path) -> None:
    (tmp_path / "ratings.txt").write_text("1 1 2 881250949\n")
    (tmp_path / "train.txt").write_text("1 7 881250949\n")
    assert rows(tmp_path / "ratings.txt", separator=" ", header=False, scale="1:5") == [("1", "1", 2.0, 881250949)]
    named = {"user": "1", "item": "2", "timestamp": "3"}
    assert rows(tmp_path / "train.txt", separator=" ", header=False, **named) == [("1", "7", 881250949)]


def test_lists_of_lightgcn(tmp_path: Path) -> None:
    train = [(0, 4), (0, 7), (0, 9), (1, 7), (12, 4), (12, 9)]
    folder = FIXTURES / "lightgcn"
    assert detect(folder).name == "lightgcn"
    assert rows(folder) == rows(folder / "train.txt") == train
    assert rows(folder, part="test") == rows(folder / "test.txt") == [(0, 2), (12, 7)]
    assert rows(folder, part="all") == sorted([*train, (0, 2), (12, 7)])
    # In a folder of its own beside a note, as archives are unpacked.
    shutil.copytree(folder, tmp_path / "data" / "gowalla")
    (tmp_path / "data" / "README.md").write_text("where it is from")
    (tmp_path / "data" / "__MACOSX").mkdir()
    assert rows(tmp_path / "data") == train
    with pytest.raises(UsageError, match="part"):
        read(folder, part="dev")
    (tmp_path / "any.txt").write_text("3 1 2\r\n4 1\r\n")
    assert rows(tmp_path / "any.txt", format="lightgcn") == [(3, 1), (3, 2), (4, 1)]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("0 1 2\n1\n2 3\n", 2, "user 1 has no items"),
        ("7\n", 1, "user 7 has no items"),
        ("0 1 2\n1 \n2 3\n", 2, "user 1 has no items"),
        ("0 1 2\n\n2 3\n", 2, "blank"),
        ("0 1 2\n1 ann\n", 2, "whole numbers"),
        ("0 1 2\n1 -3\n", 2, "whole numbers"),
        ("0 1 2\n1 3.5\n", 2, "whole numbers"),
        ("0 1 2\n1  3\n", 2, "one blank"),
        (f"0 {10**18}\n", 1, "whole numbers"),
    ],
)
def test_what_is_no_list(tmp_path: Path, text: str, line: int, words: str) -> None:
    (tmp_path / "train.txt").write_text(text)
    with pytest.raises(DataError, match=words) as refused:
        read(tmp_path)
    assert refused.value.line == line


def test_an_item_that_is_named_twice(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("0 6 1 6\n")
    with pytest.raises(DataError, match=r"user 0 has a second record of item 6"):
        read(tmp_path)
    assert len(read(tmp_path, duplicates="keep")) == 3


def test_what_is_recognized_by_the_first_line_is_refused_where_another_line_differs(tmp_path: Path) -> None:
    """Whether a file is of these formats follows from its first record. Another record in its place is read to the same
    rows, or is an error: it never leads to a release of another kind."""
    for name, good in (("ratings.txt", "1 1 2"), ("train.txt", "0 1 2")):
        for first in ("x y z", "a,b", "user item", "1;2", "1\t2", "", "1 1 2 3 4 5 x"):
            (tmp_path / name).write_text(f"{first}\n{good}\n")
            with pytest.raises(DataError):
                read(tmp_path / name)
