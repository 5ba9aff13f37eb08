from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from discreet.data import Interactions
from discreet.data.readers import detect, read
from discreet.errors import DataError, UsageError

FIXTURES = Path(__file__).parent / "fixtures" / "book-crossing"


def load(path: Path = FIXTURES, **options: Any) -> Interactions:
    data = read(path, **options)
    assert isinstance(data, Interactions)
    return data


def test_all_feedback_is_read() -> None:
    data = load()
    assert detect(FIXTURES).name == "book-crossing"
    assert data.to_frame().rows() == [
        (276725, "034545104X", 0.0),
        (276726, "0155061224", 5.0),
        (276726, "034545104X", 10.0),
        (276727, "not; an isbn", 8.0),
    ]
    assert str(data.scale) == "0:10:1"
    assert not data.catalog_is_public
    assert data.user_table is not None
    assert data.user_table.rows()[1:] == [("seattle, washington, usa", 18.0), ("köln, nrw, germany", None)]


def test_explicit_and_implicit_feedback() -> None:
    assert str(load(feedback="explicit").scale) == "1:10:1"
    assert len(load(feedback="explicit")) == 3
    implicit = load(feedback="implicit")
    assert implicit.rating is None
    assert len(implicit) == 1
    with pytest.raises(UsageError, match="feedback"):
        load(feedback="none")


def test_the_file_of_books_is_no_complete_catalog() -> None:
    with pytest.raises(DataError, match="not in the public catalog") as caught:
        load(books=True)
    assert (caught.value.line, caught.value.value) == (5, "not; an isbn")
    data = load(books=True, items_public=True)
    assert data.titles(range(3)) == ["Rites of Pássage", 'Flesh "and"; Tones: A Nove\\', "None"]


def test_lines_after_dropping_implicit_feedback(tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "BX-Book-Ratings.csv", tmp_path)
    with (tmp_path / "BX-Book-Ratings.csv").open("a") as file:
        file.write('"276728";"x";"0"\n"276726";"0155061224";"6"\n')
    with pytest.raises(DataError, match="the first is in line 3") as caught:
        load(tmp_path, feedback="explicit")
    assert caught.value.line == 7
