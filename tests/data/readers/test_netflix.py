from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.data import Interactions
from discreet.data.readers import detect, files, read
from discreet.errors import DataError

FIXTURES = Path(__file__).parent / "fixtures"


def load(path: Path, **options: Any) -> Interactions:
    data = read(path, **options)
    assert isinstance(data, Interactions)
    return data


@pytest.mark.parametrize("size", [4, 12, 1 << 25])
def test_combined_files(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(files, "BLOCK_BYTES", size)
    data = load(FIXTURES / "netflix")
    assert data.to_frame().rows() == [
        (822109, 1, 5.0, 1115942400),
        (822109, 3, 1.0, 1135555200),
        (885013, 3, 2.0, 1135900800),
        (1488844, 1, 3.0, 1125964800),
        (1488844, 2, 4.0, 1129680000),
        (1488844, 3, 5.0, 1078012800),
    ]
    assert str(data.scale) == "1:5:1"
    assert data.titles(range(4)) == ["Dinosaur Garden", "Häuser, Two of Them", "Charakter", "Never Rated"]


def test_one_file_a_film() -> None:
    assert detect(FIXTURES / "netflix-films").name == "netflix"
    assert len(load(FIXTURES / "netflix-films")) == 3
    assert len(load(FIXTURES / "netflix-films/training_set")) == 3
    assert len(load(FIXTURES / "netflix-films/training_set/mv_0000002.txt")) == 1


def test_windows_line_ends(tmp_path: Path) -> None:
    (tmp_path / "combined_data_1.txt").write_bytes(b"7:\r\n5,3,2005-09-06\r\n6,2,2005-09-07\r\n")
    assert [row[:3] for row in load(tmp_path).to_frame().rows()] == [(5, 7, 3.0), (6, 7, 2.0)]


def test_a_film_goes_on_in_the_next_file_of_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BLOCK_BYTES", 20)
    (tmp_path / "combined_data_1.txt").write_text("7:\n5,3,2005-09-06\n6,2,1999-12-31\n8:\n5,1,2004-02-29\n")
    days = [1125964800, 1078012800, 946598400]
    assert load(tmp_path).to_frame().rows() == [(5, 7, 3.0, days[0]), (5, 8, 1.0, days[1]), (6, 7, 2.0, days[2])]


BAD = [
    ("5,3,2005-09-06\n", 1, "no film"),
    ("7:\n5,3,2005-09-06\n6,2\n", 3, "neither"),
    ("7:\n5,,2005-09-06\n", 2, "neither"),
    ("7:\n5,3,2005-02-30\n", 2, "neither"),
    ("7:\n5,3,2005-09-06\n\n6,2,2005-09-06\n", 3, "neither"),
    ("7:\nx,3,2005-09-06\n", 2, "neither"),
    ("7:\n5,3,2005-09-06,1\n", 2, "neither"),
    ("7:\n5,6,2005-09-06\n", 2, "scale"),
    ("7:\n5,3,2005-09-06\n8:\n6,1,2005-09-06\n6,2,2005-09-07\n", 5, "second record"),
    ("7:\n", None, "no rating"),
]


@pytest.mark.parametrize(("content", "line", "what"), BAD)
def test_bad_lines(tmp_path: Path, content: str, line: int | None, what: str) -> None:
    (tmp_path / "combined_data_1.txt").write_text(content)
    with pytest.raises(DataError, match=what) as caught:
        read(tmp_path)
    assert caught.value.line == line


def test_a_bad_title_line(tmp_path: Path) -> None:
    (tmp_path / "combined_data_1.txt").write_text("1:\n5,3,2005-09-06\n")
    (tmp_path / "movie_titles.csv").write_text("1,2003,A\n2;2004;B\n")
    with pytest.raises(DataError, match="film,year,title") as caught:
        read(tmp_path)
    assert caught.value.line == 2
    assert len(read(tmp_path, tables=False)) == 1
