from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.data.readers import files
from discreet.data.readers.files import blocks, first_line, first_lines
from discreet.errors import DataError, UsageError


def written(tmp_path: Path, content: bytes, name: str = "file.txt") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


def lines_of(path: Path, **options: bool | str) -> list[bytes]:
    return [line for block in blocks(path, **options) for line in block.text.splitlines()]  # type: ignore[arg-type]


def test_a_file_is_whole_lines(tmp_path: Path) -> None:
    first, second = blocks(written(tmp_path, b"a\nb\r\nc"))
    assert (first.text, first.first_line, first.lines) == (b"a\nb\r\n", 1, 2)
    assert (second.text, second.first_line, second.lines) == (b"c\n", 3, 1)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_blocks_know_their_first_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(files, "BLOCK_BYTES", size)
    content = b"one\ntwo\n\nfour\nfive\nsix\n\n\n"
    line = 1
    for block in blocks(written(tmp_path, content)):
        assert block.first_line == line
        assert block.text.count(b"\n") == block.lines
        line += block.lines
    assert line == 7  # the two blank lines at the end are left out, the one in the middle is not


@pytest.mark.parametrize("size", [1, 4, 9])
def test_a_quoted_newline_does_not_end_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(files, "BLOCK_BYTES", size)
    content = b'a,"x\ny"\nb,"\n\n"\nc,z\n'
    texts = [block.text for block in blocks(written(tmp_path, content), quoted=True)]
    assert b"".join(texts) == content
    assert all(text.count(b'"') % 2 == 0 for text in texts)


def test_gzip_is_known_by_its_content(tmp_path: Path) -> None:
    assert lines_of(written(tmp_path, gzip.compress(b"a\nb\n"), "plain.txt")) == [b"a", b"b"]


@pytest.mark.parametrize("cut", [5, 12, 40])
def test_a_truncated_gzip_is_refused(tmp_path: Path, cut: int) -> None:
    path = written(tmp_path, gzip.compress(bytes(range(1, 10)) * 1000)[:cut])
    with pytest.raises(DataError, match="gzip") as caught:
        lines_of(path)
    assert caught.value.file == str(path)


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    path = written(tmp_path, b"\xef\xbb\xbfuser\n")
    assert lines_of(path) == [b"user"]
    assert first_line(path) == "user"


@pytest.mark.parametrize("content", [b"", b"\n", b"\r\n\r\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DataError, match="empty"):
        lines_of(written(tmp_path, content))


@pytest.mark.parametrize("size", [3, 4, 5, 1000])
def test_a_byte_of_another_encoding_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(files, "BLOCK_BYTES", size)
    path = written(tmp_path, "Zoë\nné ".encode() + b"caf\xe9\n")
    with pytest.raises(DataError, match="0xe9 at position 8 of the line") as caught:
        lines_of(path)
    assert (caught.value.file, caught.value.line) == (str(path), 2)
    assert "latin-1" in caught.value.remedy


def test_latin_1_is_turned_into_utf_8(tmp_path: Path) -> None:
    assert lines_of(written(tmp_path, b"caf\xe9\n"), encoding="latin-1") == ["café".encode()]


def test_a_copy_that_is_utf_8_already_is_left_alone(tmp_path: Path) -> None:
    assert lines_of(written(tmp_path, "café\n".encode()), encoding="latin-1") == ["café".encode()]


def test_utf_16_is_read_when_it_is_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, "a;é\nb\n".encode("utf-16"))
    assert lines_of(path, encoding="utf-16") == ["a;é".encode(), b"b"]
    with pytest.raises(DataError, match="UTF-16") as caught:
        lines_of(path)
    assert "utf-16" in caught.value.remedy


@pytest.mark.parametrize("encoding", ["klingon", "base64", "rot13", ""])
def test_an_unknown_encoding_is_refused(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(UsageError, match="encoding"):
        lines_of(written(tmp_path, b"a\n"), encoding=encoding)


def test_a_nul_byte_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="NUL") as caught:
        lines_of(written(tmp_path, b"a\nb\nc\0d\n"))
    assert caught.value.line == 3


@pytest.mark.parametrize(
    ("magic", "what"), [(b"PK\x03\x04rest", "zip"), (b"\xd0\xcf\x11\xe0", "Excel"), (b"PAR1....", "Parquet")]
)
def test_archives_and_workbooks_are_called_by_name(tmp_path: Path, magic: bytes, what: str) -> None:
    with pytest.raises(DataError, match=what) as caught:
        lines_of(written(tmp_path, magic))
    assert caught.value.remedy


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        lines_of(tmp_path / "nowhere")
    with pytest.raises(DataError, match="folder"):
        lines_of(tmp_path)


def test_first_lines_of_a_short_file(tmp_path: Path) -> None:
    assert first_lines(written(tmp_path, b"a,b\r\n1,2\r\n"), 3) == ["a,b", "1,2", ""]


@settings(max_examples=60, deadline=None)
@given(text=st.text(alphabet='ab"\n\r,é', max_size=60), size=st.integers(1, 20), quoted=st.booleans())
def test_no_byte_is_lost(tmp_path_factory: pytest.TempPathFactory, text: str, size: int, quoted: bool) -> None:
    content = text.encode().rstrip(b"\r\n")
    if not content:
        return
    path = written(tmp_path_factory.getbasetemp(), content + b"\n\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BLOCK_BYTES", size)
        assert b"".join(block.text for block in blocks(path, quoted=quoted)) == content + b"\n"
