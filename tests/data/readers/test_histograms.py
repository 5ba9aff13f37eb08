"""Plain histograms, one count a line."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from discreet.data import Table, read
from discreet.data.readers import detect
from discreet.errors import DataError


def test_counts_become_rows(tmp_path: Path) -> None:
    (tmp_path / "nettrace.txt").write_text("3\n0\n2\n")
    table = read(tmp_path / "nettrace.txt")
    assert isinstance(table, Table)
    np.testing.assert_array_equal(table.histogram(), [3, 0, 2])
    assert table.attributes == ("bin",)
    assert len(table) == 5


def test_names_that_are_recognized(tmp_path: Path) -> None:
    for name in ("searchlogs.dat", "SocialNetwork.txt", "search_logs_2009.txt", "anything.hist"):
        (tmp_path / name).write_text("1\n2\n")
        assert detect(tmp_path / name).name == "histogram"
    (tmp_path / "other.txt").write_text("4\n")
    assert len(read(tmp_path / "other.txt", format="histogram", attribute="host")) == 4
    with gzip.open(tmp_path / "nettrace.gz", "wt") as file:
        file.write("1\n1\n")
    assert len(read(tmp_path / "nettrace.gz")) == 2


@pytest.mark.parametrize(("text", "line"), [("1\n-2\n", 2), ("1\nmany\n", 2), ("1.5\n", 1)])
def test_what_is_no_count(tmp_path: Path, text: str, line: int) -> None:
    (tmp_path / "a.hist").write_text(text)
    with pytest.raises(DataError) as refused:
        read(tmp_path / "a.hist")
    assert refused.value.line == line


def test_counts_that_no_memory_holds(tmp_path: Path) -> None:
    (tmp_path / "a.hist").write_text("9000000000000000000\n9000000000000000000\n")
    with pytest.raises(DataError, match="more than"):
        read(tmp_path / "a.hist")
