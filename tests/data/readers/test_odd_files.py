"""Files with types, names and lengths that nobody expects: an error of ours that says what, and bounded memory."""

from __future__ import annotations

import contextlib
import datetime
import warnings
from pathlib import Path

import polars as pl
import pytest

from discreet.data import Interactions, TagAssignments, synthetic
from discreet.data.readers import files, read, write
from discreet.errors import DataError, DuplicatesWarning

GOOD = pl.DataFrame({"user_id": ["a", "b", "c"], "item_id": [1, 2, 3], "rating": [1.0, 2, 3], "timestamp": [1, 2, 3]})
LARGE = pl.Series([1, 2, 2**100], dtype=pl.Int128)


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("user_id", LARGE, "64 bits"),
        ("item_id", LARGE, "64 bits"),
        ("timestamp", LARGE, "no time"),
        ("timestamp", pl.Series([1, 2, 2**64 - 1], dtype=pl.UInt64), "no time"),
        ("timestamp", pl.Series([datetime.time(1)] * 3), "not understood"),
        ("timestamp", pl.Series([datetime.timedelta(1)] * 3), "not understood"),
        ("rating", pl.Series([[1], [2], [3]]), "not numbers"),
        ("rating", pl.Series([b"\xff", b"", b"x"]), "not numbers"),
        ("rating", pl.Series([datetime.timedelta(1)] * 3), "not numbers"),
        ("user_id", pl.Series(["a", None, "c"]), "value is missing"),
        ("item_id", pl.Series([None, None, None]), "value is missing"),
        ("user_id", pl.Series([{"a": 1}] * 3), "not hashable"),
    ],
)
def test_odd_columns(tmp_path: Path, column: str, values: pl.Series, words: str) -> None:
    frame = GOOD.with_columns(values.alias(column))
    frame.write_parquet(tmp_path / "x.parquet")
    with pytest.raises(DataError, match=words):
        read(tmp_path / "x.parquet")
    with pytest.raises(DataError, match=words):
        Interactions(frame)


def test_types_that_arrow_does_not_know(tmp_path: Path) -> None:
    GOOD.with_columns(LARGE.alias("user_id")).write_ipc(tmp_path / "x.arrow")
    with pytest.raises(DataError, match="type that is not known"):
        read(tmp_path / "x.arrow")


@pytest.mark.parametrize("column", ["user_id", "item_id"])
@pytest.mark.parametrize("name", ["films.parquet", "films"])
def test_renamed_columns_of_our_own_files(tmp_path: Path, column: str, name: str) -> None:
    place = write(synthetic.films(users=20, items=9, seed=1), tmp_path / name)
    path = place / "interactions.parquet" if place.is_dir() else place
    facts = pl.read_parquet_metadata(path)
    frame = pl.read_parquet(path).rename({column: "other"})
    frame.write_parquet(path, metadata={key: value for key, value in facts.items() if key == "discreet"})
    with pytest.raises(DataError, match=f"there is no column '{column}'"):
        read(place)


def test_a_lie_about_lengths_in_an_arrow_file(tmp_path: Path) -> None:
    path = tmp_path / "x.arrow"
    pl.DataFrame({"user_id": ["a" * 50] * 50, "item_id": ["b"] * 50}).write_ipc(path, compression="zstd")
    whole = path.read_bytes()
    for place in range(0, len(whole) - 8, 5):
        path.write_bytes(whole[:place] + b"\xff\xff\xff\xff\xff\xff\xff\x00" + whole[place + 8 :])
        with contextlib.suppress(DataError):
            read(path, duplicates="keep")


def test_a_line_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(files, "LONGEST", 4000)
    read_so_far = 0
    reading = files._read

    def counting(stream, path, size):
        nonlocal read_so_far
        data = reading(stream, path, size)
        read_so_far += len(data)
        return data

    monkeypatch.setattr(files, "_read", counting)
    path = tmp_path / "x.csv"
    for begin, quoted in ((b"user,item\n1,2\n", False), (b'user,item\n1,2\n"', True)):
        path.write_bytes(begin + (b"3,4\n" if quoted else b"7777") * 100_000)
        read_so_far = 0
        with pytest.raises(DataError, match="no record ends within") as caught:
            list(files.blocks(path, quoted=quoted))
        assert caught.value.line == 3
        assert read_so_far < 20_000
    path.write_bytes(b"user,item\n1,2\n" + b"7" * 100_000)
    with pytest.raises(DataError, match="no record ends within"):
        list(files.blocks(path, whole=True))


def test_long_files_of_short_lines_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(files, "LONGEST", 500)
    path = tmp_path / "x.txt"
    text = b"".join(b"%d,%d\n" % (n, n) for n in range(5000))
    path.write_bytes(text)
    for whole in (False, True):
        found = list(files.blocks(path, whole=whole))
        assert b"".join(block.text for block in found) == text
        assert sum(block.lines for block in found) == 5000
    path.write_bytes(text + b"\xff\n")
    with pytest.raises(DataError, match="0xff at position 1") as caught:
        list(files.blocks(path))
    assert caught.value.line == 5001


def test_repeated_rows_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("user,item,rating\nann,tea,1\nann,tea,2\nann,tea,3\nbob,tea,3\n")
    with pytest.warns(DuplicatesWarning, match=r"x\.csv: 2 rows repeat the user and item") as told:
        data = read(path, duplicates="last")
    assert isinstance(data, Interactions)
    assert (len(data), data.dropped_duplicates) == (2, 2)
    assert told[0].filename == __file__
    path.write_text("user,resource,tag\nann,tea,x\nann,tea,x\n")
    with pytest.warns(DuplicatesWarning, match="1 row repeats a triple"):
        tags = read(path)
    assert isinstance(tags, TagAssignments)
    assert (len(tags), tags.dropped_duplicates) == (1, 1)


def test_without_repeated_rows_nothing_is_said(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("user,item,rating\nann,tea,1\nbob,tea,3\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = read(path, duplicates="last")
        path.write_text("user,item\nann,tea\nann,tea\n")
        read(path, duplicates="keep")
    assert isinstance(data, Interactions)
    assert data.dropped_duplicates == 0
    assert data.filter(lambda frame: frame["rating"] > 1).dropped_duplicates == 0
