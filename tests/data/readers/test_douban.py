from __future__ import annotations

from pathlib import Path

import pytest

from discreet.data import Interactions
from discreet.data.readers import detect, read
from discreet.errors import DataError

FIXTURES = Path(__file__).parent / "fixtures"


def test_index_file() -> None:
    data = read(FIXTURES / "douban")
    assert isinstance(data, Interactions)
    assert data.to_frame().rows() == [(1, 201, 4.0), (1, 202, 5.0), (2, 201, 3.0), (3, 203, 1.0)]
    assert str(data.scale) == "1:5:1"


def test_index_file_with_tabs(tmp_path: Path) -> None:
    (tmp_path / "uir.index").write_text("1\t201\t4\n2\t201\t5\n")
    assert len(read(tmp_path)) == 2


def test_reviews() -> None:
    assert detect(FIXTURES / "douban-reviews").name == "douban"
    data = read(FIXTURES / "douban-reviews")
    assert data.to_frame().rows() == [(12, 1291546, 4.0), (12, 1292052, 5.0), (40, 1292052, 2.0)]


def test_lines_are_counted_through_comments(tmp_path: Path) -> None:
    content = (FIXTURES / "douban-reviews/moviereviews_cleaned.txt").read_text()
    (tmp_path / "moviereviews_cleaned.txt").write_text(content.replace('"2"', '"6"'))
    with pytest.raises(DataError, match="scale") as caught:
        read(tmp_path)
    # The comment of the record before takes two lines.
    assert caught.value.line == 5
