from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from discreet.data import TagAssignments
from discreet.data.readers import read
from discreet.errors import DataError, UsageError

FIXTURES = Path(__file__).parent / "fixtures" / "bibsonomy"


def load(path: Path = FIXTURES, **options: Any) -> TagAssignments:
    data = read(path, **options)
    assert isinstance(data, TagAssignments)
    return data


def test_posts_of_one_resource_come_together() -> None:
    assert load().to_frame().rows() == [
        (0, "aaaa", "library"),
        (0, "aaaa", "web"),
        (1, "aaaa", "web"),
        (1, "bbbb", "back\\slash"),
        (2, "bbbb", "graphs"),
        (2, "post 999", "imported"),
    ]


def test_without_the_other_files_a_post_is_a_resource(tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "tas", tmp_path)
    assert load(tmp_path).resources.ids() == [101, 102, 201, 202, 999]
    assert load(tables=False).fingerprint == load(tmp_path).fingerprint


def test_only_bookmarks_or_only_publications() -> None:
    assert load(content="bookmark").resources.ids() == ["aaaa"]
    assert load(content="bibtex").users.ids() == [1, 2]
    with pytest.raises(UsageError, match=r"content must be .* 'films'"):
        load(content="films")


def test_a_post_that_is_there_twice(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES, tmp_path, dirs_exist_ok=True)
    line = (FIXTURES / "bookmark").read_text().splitlines(keepends=True)[-1]
    with (tmp_path / "bookmark").open("a") as file:
        file.write(line)
    with pytest.raises(DataError, match="more than once") as caught:
        load(tmp_path)
    assert caught.value.column == "post"
