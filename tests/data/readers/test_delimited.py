from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from discreet.data.problems import Problems
from discreet.data.readers import delimited, files
from discreet.data.readers.careful import careful_parse
from discreet.data.readers.delimited import fast_parse, read_delimited
from discreet.data.readers.layout import Column, Layout, skipped
from discreet.errors import DataError, UsageError

RATINGS = (
    Column("user_id", "integer"),
    Column("item_id"),
    Column("rating", "number"),
    Column("note", blank=True),
)


def read(tmp_path: Path, content: bytes | str, layout: Layout) -> Any:
    path = tmp_path / "file.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_delimited(path, layout)


def rows(tmp_path: Path, content: bytes | str, layout: Layout) -> list[tuple[Any, ...]]:
    return read(tmp_path, content, layout).frame.rows()


def test_typed_columns(tmp_path: Path) -> None:
    got = rows(tmp_path, "1,7,3.5,good\n2,8,-1e1,\n", Layout(RATINGS))
    assert got == [(1, "7", 3.5, "good"), (2, "8", -10.0, None)]


@pytest.mark.parametrize("end", ["\n", "\r\n", "", "\n\n\n"])
def test_any_line_end_will_do(tmp_path: Path, end: str) -> None:
    newline = "\r\n" if end == "\r\n" else "\n"
    got = rows(tmp_path, f"1,7,3,a{newline}2,8,4,b{end}", Layout(RATINGS))
    assert got == [(1, "7", 3.0, "a"), (2, "8", 4.0, "b")]


def test_header_in_any_order_and_case_with_unknown_columns(tmp_path: Path) -> None:
    columns = (Column("user_id", "integer", ("userId", "uid")), Column("rating", "number"))
    layout = Layout(columns, header=True)
    got = rows(tmp_path, "Rating,other,UID\n3,x,1\n4,,2\n", layout)
    assert got == [(3.0, 1), (4.0, 2)]


def test_optional_columns_may_be_missing(tmp_path: Path) -> None:
    columns = (Column("a", "integer"), Column("b", optional=True))
    assert rows(tmp_path, "a\n1\n", Layout(columns, header=True)) == [(1,)]


@pytest.mark.parametrize("separator", ["::", "\t\t", ", ", "¦"])
def test_separators_of_several_bytes(tmp_path: Path, separator: str) -> None:
    content = separator.join(["1", "7", "3", "a: b"]) + "\n"
    assert rows(tmp_path, content, Layout(RATINGS, separator=separator)) == [(1, "7", 3.0, "a: b")]


@pytest.mark.parametrize("separator", ["", "\n", '"'])
def test_what_cannot_separate(separator: str) -> None:
    with pytest.raises(UsageError, match="separator"):
        Layout(RATINGS, separator=separator)


def test_quotes_hold_separators_newlines_and_quotes(tmp_path: Path) -> None:
    layout = Layout(RATINGS, quoted=True)
    content = '1,7,3,"a, ""b""\nc"\n2,8,"4",""\n3,9,5,d\n'
    records = read(tmp_path, content, layout)
    assert records.frame.rows() == [(1, "7", 3.0, 'a, "b"\nc'), (2, "8", 4.0, ""), (3, "9", 5.0, "d")]
    assert [records.origins.of(row)[1] for row in range(3)] == [1, 3, 4]


def test_without_quoting_a_quote_is_a_letter(tmp_path: Path) -> None:
    assert rows(tmp_path, '1,7,3,"a\n2,8,4,b"\n', Layout(RATINGS))[0][3] == '"a'


def test_a_quote_inside_a_field_joins_no_lines(tmp_path: Path) -> None:
    got = rows(tmp_path, '1,7,3,5" disk\n2,8,4,7" plate\n', Layout(RATINGS, quoted=True))
    assert [row[3] for row in got] == ['5" disk', '7" plate']


def test_backslashes(tmp_path: Path) -> None:
    columns = (Column("a", "integer"), Column("b", blank=True, null="\\N"))
    layout = Layout(columns, separator="\t", escaped=True)
    content = "1\ttwo\\\nlines\n2\t\\N\n3\tback\\\\slash\n4\tt\\\tab\n"
    assert rows(tmp_path, content, layout) == [(1, "two lines"), (2, None), (3, "back\\slash"), (4, "t ab")]


def test_lines_before_the_records_are_read_over(tmp_path: Path) -> None:
    for end in ("", "\n"):
        records = read(tmp_path, f"| a note\n1,7,3,a{end}", Layout(RATINGS, skip=1))
        assert records.frame.height == 1
        assert records.origins.of(0)[1] == 2
    with_header = Layout((Column("a"),), header=True, skip=1)
    assert rows(tmp_path, "| a note\na\nx", with_header) == [("x",)]


PLAIN = (Column("user_id", "integer"), Column("item_id", "id"))


def test_ids_of_a_plain_file_are_integers_and_mean_the_same(tmp_path: Path) -> None:
    assert rows(tmp_path, f"1,0\n2,-5\n3,{2**63 - 1}\n", Layout(PLAIN)) == [(1, 0), (2, -5), (3, 2**63 - 1)]
    assert rows(tmp_path, "1,0\n2,-5\r\n", Layout(PLAIN)) == [(1, "0"), (2, "-5")]


@pytest.mark.parametrize("spelling", ["007", "+7", " 7", "-0", "9223372036854775808", "7.0", "x"])
def test_ids_that_are_not_plain_integers_are_text(tmp_path: Path, spelling: str) -> None:
    assert rows(tmp_path, f"1,7\n2,{spelling}\n", Layout(PLAIN)) == [(1, "7"), (2, spelling)]


@pytest.mark.parametrize("spelling", ["8", "007", "+7", " 7", "-0", "9223372036854775808", "7.0", "x"])
def test_text_stays_as_it_is_written(tmp_path: Path, spelling: str) -> None:
    got = rows(tmp_path, f"1,7,3,a\n2,{spelling},4,b\n", Layout(RATINGS))
    assert [row[1] for row in got] == ["7", spelling]


def test_a_line_too_short_and_one_too_long_do_not_make_up_for_each_other(tmp_path: Path) -> None:
    columns = (Column("a", "integer"), *skipped(1), Column("b", blank=True), *skipped(1))
    with pytest.raises(DataError, match="3 fields instead of 4") as caught:
        read(tmp_path, "1,x,y,z\n2,x,y\n3,x,y,z,u\n", Layout(columns))
    assert caught.value.line == 2


BAD = [
    ("1,7,3,a\n2,8,4\n", 2, None, "3 fields instead of 4"),
    ("1,7,3,a\n2,8,4,b,c\n", 2, None, "5 fields instead of 4"),
    ("1,7,3,a\n\n2,8,4,b\n", 2, None, "blank"),
    ("1,7,3,a\nx,8,4,b\n", 2, "user_id", "whole number"),
    ("1,7,3,a\n1.5,8,4,b\n", 2, "user_id", "whole number"),
    ("1,7,3,a\n1_0,8,4,b\n", 2, "user_id", "whole number"),
    ("1,7,3,a\n,8,4,b\n", 2, "user_id", "missing"),
    (f"1,7,3,a\n{2**63},8,4,b\n", 2, "user_id", "64 bits"),
    ("1,7,3,a\n2,8,four,b\n", 2, "rating", "not a number"),
    ("1,7,3,a\n2,8,nan,b\n", 2, "rating", "missing"),
    ("1,7,3,a\n2,8,-inf,b\n", 2, "rating", "finite"),
    ("1,7,3,a\n2,8,1e999,b\n", 2, "rating", "too large"),
    ("1,7,3,a\n2,,4,b\n", 2, "item_id", "missing"),
    ("1;7;3;a\n", 1, None, "1 fields instead of 4"),
]


@pytest.mark.parametrize(("content", "line", "column", "what"), BAD)
@pytest.mark.parametrize("size", [8, 1 << 25])
def test_the_culprit_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: str,
    line: int,
    column: str | None,
    what: str,
    size: int,
) -> None:
    monkeypatch.setattr(files, "BLOCK_BYTES", size)
    with pytest.raises(DataError, match=what) as caught:
        read(tmp_path, content, Layout(RATINGS))
    assert (caught.value.line, caught.value.column) == (line, column)
    assert caught.value.file is not None
    assert caught.value.remedy


def test_another_separator_is_suggested(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, "1;7;3;a\n", Layout(RATINGS))
    assert "semicolons" in caught.value.remedy


def test_unmatched_quotes(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="quotes") as caught:
        read(tmp_path, '1,7,3,a\n2,8,4,"b\n3,9,5,c\n', Layout(RATINGS, quoted=True))
    assert caught.value.line == 2


def test_a_missing_column_lists_those_that_are_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="'userId' or 'uid'; the columns are 'usr', 'rating'") as caught:
        read(tmp_path, "usr,rating\n1,3\n", Layout((Column("user_id", "text", ("userId", "uid")),), header=True))
    assert (caught.value.line, caught.value.column) == (1, "user_id")


def test_a_column_that_is_there_twice(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="more than once"):
        read(tmp_path, "a,A\n1,2\n", Layout((Column("a"),), header=True))


def test_a_header_alone_is_no_data(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no record"):
        read(tmp_path, "a,b\n", Layout((Column("a"),), header=True))


def test_the_line_is_right_far_into_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BLOCK_BYTES", 1000)
    lines = [f"{n},7,3,a" for n in range(1, 2001)]
    lines[1500] = "1501,7,x,a"
    with pytest.raises(DataError) as caught:
        read(tmp_path, "\n".join(lines), Layout(RATINGS))
    assert (caught.value.line, caught.value.value) == (1501, "x")


TOKENS = st.sampled_from(
    [
        *(
            "1",
            "-2",
            "+3",
            " 4",
            "5 ",
            "007",
            "0",
            "-0",
            "0.5",
            "5.",
            ".5",
            "1e3",
            "1E-2",
            "nan",
            "inf",
            "1_0",
            "x",
            "",
        ),
        "x",
        "9223372036854775807",
        "9223372036854775808",
        "0x1f",
        "1,5",
        "é",
        '"6"',
        '"7',
        'a"b',
        '"a""b"',
        "\r",
        "\t8",
        "--1",
    ]
)


@settings(max_examples=400, deadline=None)
@given(
    lines=st.lists(st.lists(TOKENS, min_size=4, max_size=4) | st.lists(TOKENS, max_size=5), min_size=1, max_size=3),
    quoted=st.booleans(),
    kinds=st.tuples(*[st.sampled_from(["integer", "number", "text"])] * 4),
    blank=st.booleans(),
)
def test_the_fast_way_agrees_with_the_careful_one(
    lines: list[list[str]], quoted: bool, kinds: tuple[Any, ...], blank: bool
) -> None:
    fields = tuple(Column(name, kind, blank=blank) for name, kind in zip("abcd", kinds, strict=True))
    layout = Layout(fields, separator=";", quoted=quoted)
    text = "".join(";".join(line) + "\n" for line in lines).encode()
    fast = fast_parse(text, fields, layout)
    if fast is None:
        return
    slow, slow_lines = careful_parse(text, fields, layout, path=Path("x"), first_line=1)
    # Quoted and empty is blank for the careful way, and an empty text for polars: both are nothing.
    as_blank = pl.col(pl.String).replace("", None)
    assert_frame_equal(fast[0].with_columns(as_blank), slow.with_columns(as_blank))
    assert slow_lines.tolist() == (list(range(slow.height)) if fast[1] is None else fast[1].tolist())


@settings(max_examples=150, deadline=None)
@given(
    lines=st.lists(st.lists(TOKENS, min_size=2, max_size=4), min_size=1, max_size=5),
    size=st.integers(4, 40),
    header=st.booleans(),
)
def test_reading_at_once_agrees_with_reading_in_blocks(
    tmp_path_factory: pytest.TempPathFactory, lines: list[list[str]], size: int, header: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "both.csv"
    columns = (Column("a", "integer"), Column("b", "id"), Column("c", blank=True))
    layout = Layout(columns, separator=";", header=header, quoted=True)
    path.write_text(("a;b;c\n" if header else "") + "".join(";".join(line) + "\n" for line in lines), newline="")
    at_once = delimited._read_at_once(path, layout)
    if at_once is None:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BLOCK_BYTES", size)
        in_blocks = delimited._read_blocks(path, layout, Problems())
    assert_frame_equal(at_once.frame.with_columns(pl.col("b").cast(pl.String)), in_blocks.frame)
    assert [at_once.origins.of(row) for row in range(at_once.frame.height)] == [
        in_blocks.origins.of(row) for row in range(in_blocks.frame.height)
    ]
