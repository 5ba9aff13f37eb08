"""Plain histograms, one count a line."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from discreet.data import Table, read
from discreet.data.readers import detect
from discreet.errors import DataError, UsageError


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


def test_arrays_of_numpy(tmp_path: Path) -> None:
    counts = np.array([[3, 0, 2], [1, 4, 0]], dtype=np.uint16)
    np.save(tmp_path / "counts.npy", counts)
    assert detect(tmp_path / "counts.npy").name == "histogram"
    table = read(tmp_path / "counts.npy", attribute="sex, age")
    assert isinstance(table, Table)
    assert table.attributes == ("sex", "age")
    np.testing.assert_array_equal(table.histogram(), counts)
    plain = read(tmp_path / "counts.npy")
    assert isinstance(plain, Table)
    assert plain.attributes == ("axis1", "axis2")
    np.save(tmp_path / "one.npy", np.array([3, 0, 2]))
    (tmp_path / "nettrace.txt").write_text("3\n0\n2\n")
    assert read(tmp_path / "one.npy").fingerprint == read(tmp_path / "nettrace.txt").fingerprint
    np.save(tmp_path / "order.npy", np.asfortranarray(counts.astype(">i4")))
    ordered = read(tmp_path / "order.npy")
    assert isinstance(ordered, Table)
    np.testing.assert_array_equal(ordered.histogram(), counts)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.array([1.0, 2.0]), "type float64; counts are whole numbers"),
        (np.array([1, -2]), r"value -2: the count in cell 1 is below 0"),
        (np.array([[1, 2], [-7, 0]]), r"value -7: the count in cell \(1, 0\) is below 0"),
        (np.array([True, False]), "type bool"),
        (np.array(["1", "2"]), "type <U1"),
        (np.array([(1, 2)], dtype=[("a", "i4"), ("b", "i4")]), "whole numbers"),
        (np.array(5), "no cells"),
        (np.zeros((3, 0), dtype=int), "no cells"),
        (np.array([1, None], dtype=object), "no array of NumPy"),
        (np.array([2**63, 2**63], dtype=np.uint64), "more than"),
    ],
)
def test_arrays_that_are_no_counts(tmp_path: Path, array: np.ndarray, words: str) -> None:
    np.save(tmp_path / "a.npy", array, allow_pickle=True)
    with pytest.raises(DataError, match=words):
        read(tmp_path / "a.npy")


def test_damaged_arrays(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.arange(6).reshape(2, 3))
    whole = path.read_bytes()
    damaged = [whole[:length] for length in (0, 5, 9, 40, len(whole) - 1)] + [gzip.compress(whole)]
    damaged += [whole.replace(b"(2, 3)", new) for new in (b"(9, 9)", b"(2, x)", b"(-1,3)", b"'2, 3'")]
    damaged += [whole.replace(b"<i8", new) for new in (b"|O ", b"<q9", b"<M8")]
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(DataError):
            read(path)
    huge = whole.replace(b"(2, 3), }        ", b"(2, 3000000000), }")[: len(whole)]
    path.write_bytes(huge)
    with pytest.raises(DataError, match="no array"):
        read(path)


def test_names_of_axes(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[1, 2]]))
    for wrong in ("age", "age,age", "age,", "a,b,c"):
        with pytest.raises(UsageError, match="2 axes"):
            read(tmp_path / "a.npy", attribute=wrong)
