"""Files as blocks of whole lines in UTF-8: unpacks gzip, decodes, and refuses damaged bytes.

Blocks keep memory bounded whatever the size of the file. Each has the number of its first line, so that errors can name
the line as an editor shows it.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from mmap import mmap
from pathlib import Path
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError, Remedy, UsageError

__all__ = [
    "LONGEST",
    "Block",
    "blocks",
    "extends_ascii",
    "first_line",
    "first_lines",
    "integers_may_hide",
    "pieces",
    "quotes_are_regular",
    "record_ends",
    "record_lines",
    "require_text",
]

BLOCK_BYTES = 1 << 25
HEAD_BYTES = 1 << 16
LONGEST = 1 << 24
"""The largest number of bytes of one record, so that memory stays bounded."""

Bytes = NDArray[np.uint8]

_NEWLINE, _QUOTE, _RETURN, _ZERO = b'\n"\r0'
PIECE = 1 << 18

_FROM_UTF_16 = Remedy("Give encoding='utf-16'.", cli="Give --encoding utf-16.")
_NOT_TEXT = {
    b"PK\x03\x04": ("a zip archive", "Unpack it and give the folder."),
    b"\xd0\xcf\x11\xe0": ("an Excel workbook", "Save it as CSV."),
    b"BZh": ("a bzip2 archive", "Unpack it with bunzip2."),
    b"\xfd7zXZ": ("an xz archive", "Unpack it with unxz."),
    b"\x28\xb5\x2f\xfd": ("a zstd archive", "Unpack it with unzstd."),
    b"PAR1": ("a Parquet file", Remedy("Read it with format='parquet'.", cli="Give --format parquet.")),
    b"ARROW1": ("an Arrow file", Remedy("Read it with format='arrow'.", cli="Give --format arrow.")),
    b"\xff\xfe": ("UTF-16 text", _FROM_UTF_16),
    b"\xfe\xff": ("UTF-16 text", _FROM_UTF_16),
}

# In these encodings ASCII bytes stand for themselves and need not be decoded.
_ASCII_SUPERSETS = ("utf-8", "ascii", "iso8859-1", "cp1252")
_NOT_IN_CP1252 = (0x81, 0x8D, 0x8F, 0x90, 0x9D)


@dataclass(frozen=True)
class Block:
    """Some whole lines of a file, in UTF-8, each ended by a newline.

    Parameters
    ----------
    text
        The lines. Never empty.
    first_line
        Number of the first of them in the file, from 1.
    lines
        Number of lines.
    """

    text: bytes
    first_line: int
    lines: int


def blocks(
    path: Path, *, encoding: str = "utf-8", quoted: bool = False, whole: bool = False, exact: bool = False
) -> Iterator[Block]:
    """The lines of a file, a block at a time. Blank lines at the end of the file are left out.

    Parameters
    ----------
    encoding
        Any text codec of Python. ``"latin-1"`` is what the format is defined in; a copy that was converted to UTF-8 is
        recognized.
    quoted
        Whether a newline between double quotes belongs to the field.
    whole
        Whether to return the file as one block.
    exact
        Whether the encoding is certain, so that no copy in UTF-8 is recognized.

    Raises
    ------
    DataError
        When the file is missing, empty, damaged, binary, or not in this encoding.
    """
    if whole:
        parts = list(blocks(path, encoding=encoding, exact=exact))
        yield Block(b"".join(part.text for part in parts), 1, sum(part.lines for part in parts))
        return
    rest, line, empty = b"", 1, True
    for chunk in _utf8_chunks(path, _codec(encoding) if exact else _settled(path, encoding)):
        _refuse_binary(chunk, path, line + rest.count(b"\n"))
        rest = rest + chunk if rest else chunk
        end = _end_of_records(rest, quoted=quoted)
        if len(rest) - end > LONGEST:
            raise _endless(path, line + rest.count(b"\n", 0, end))
        if end:
            text, rest = rest[:end], rest[end:]
            lines = text.count(b"\n")
            yield Block(text, line, lines)
            line, empty = line + lines, False
    text = rest.rstrip(b"\r\n")
    if text:
        yield Block(text + b"\n", line, text.count(b"\n") + 1)
    elif empty:
        raise _empty(path)


def _empty(path: Path) -> DataError:
    return DataError("the file is empty.", file=path, remedy="Check that it was downloaded completely.")


def _endless(path: Path, line: int) -> DataError:
    return DataError(
        f"no record ends within {LONGEST >> 20} MB.",
        file=path,
        line=line,
        remedy="Check for a quote that is never closed, and that this is a text file with one record per line.",
    )


def first_lines(path: Path, count: int, *, encoding: str = "utf-8") -> list[str]:
    """The first lines of a file, with undecodable bytes replaced: for recognizing formats."""
    with _open(path) as stream:
        head = _read(stream, path, HEAD_BYTES)
    text = head.decode(_codec(encoding), errors="replace").removeprefix("\ufeff")
    lines = [line.removesuffix("\r") for line in text.split("\n", count)[:count]]
    return lines + [""] * (count - len(lines))


def require_text(path: Path, encoding: str) -> None:
    """Refuse a file whose beginning is no text, before its first line is taken for a header."""
    with _open(path) as stream:
        head = _read(stream, path, HEAD_BYTES)
    if not _codec(encoding).startswith(("utf-16", "utf-32")):
        _refuse_archives(head, path)
        _refuse_binary(head, path, 1)


def first_line(path: Path, *, encoding: str = "utf-8") -> str:
    return first_lines(path, 1, encoding=encoding)[0]


def _end_of_records(text: bytes, *, quoted: bool) -> int:
    """The end of the last whole record."""
    end = text.rfind(b"\n") + 1
    if quoted and b'"' in text:
        ends = record_ends(np.frombuffer(text, dtype=np.uint8))
        end = int(ends[-1]) + 1 if ends.size else 0
    # Blank lines may be the end of the file: they are kept until the next chunk.
    body = len(text[:end].rstrip(b"\r\n"))
    return text.find(b"\n", body) + 1 if body else 0


# Quotes


def record_ends(raw: Bytes, byte: bytes = b"\n") -> NDArray[np.int64]:
    """Positions of a byte outside quotes, that is after an even number of them: newlines there end a record."""
    places = np.flatnonzero(raw == byte[0])
    quotes = np.flatnonzero(raw == _QUOTE)
    return places[np.searchsorted(quotes, places) % 2 == 0]


def record_lines(raw: Bytes, ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number of lines before each record."""
    newlines = np.flatnonzero(raw == _NEWLINE)
    return np.searchsorted(newlines, np.append(0, ends[:-1] + 1))


def quotes_are_regular(raw: Bytes, separator: bytes) -> bool:
    """Whether each quote opens or closes a whole field, or is doubled inside one. The text ends with a newline.

    Examples
    --------
    >>> [quotes_are_regular(np.frombuffer(text, dtype=np.uint8), b",") for text in (b'"a""b",c\\n', b'5" disk,c"\\n')]
    [True, False]
    """
    quotes = np.flatnonzero(raw == _QUOTE)
    if quotes.size % 2:
        return False
    opening, closing = quotes[0::2], quotes[1::2]
    before, after = raw[opening[opening > 0] - 1], raw[closing + 1]
    bounds = [separator[0], _NEWLINE, _QUOTE]
    return bool(np.isin(before, bounds).all() and np.isin(after, [*bounds, _RETURN]).all())


def integers_may_hide(text: bytes | mmap, separator: bytes) -> bool:
    """Whether a field may parse as an integer without being written like one: 007, +7 and " 7" are not the id 7.

    A fast check; it may return True without need.

    Examples
    --------
    >>> [integers_may_hide(text, b",") for text in (b"7,0.5\\n", b"07,1\\n", b"7,-0\\n")]
    [False, True, True]
    """
    signs = (sign for sign in (b"+", b" ", b"\t", b'"') if sign != separator)
    if any(text.find(sign) >= 0 for sign in signs) or text[:1] == b"0":
        return True
    raw = np.frombuffer(text, dtype=np.uint8)
    for part in pieces(raw, overlap=2):
        before, zero, after = part[:-2], part[1:-1] == _ZERO, part[2:]
        padded = zero & (after - np.uint8(_ZERO) < 10) & ((before == separator[0]) | (before == _NEWLINE))
        if padded.any():
            return True
    return text.find(b"-") >= 0 and text.find(b"-0") >= 0


def pieces(raw: Bytes, overlap: int = 0) -> Iterator[Bytes]:
    """The bytes in pieces that fit into the cache."""
    for begin in range(0, raw.size, PIECE):
        yield raw[begin : begin + PIECE + overlap]


# Bytes


def _open(path: Path) -> IO[bytes]:
    """The bytes of a file; gzip is recognized by its first bytes and unpacked."""
    try:
        with path.open("rb") as stream:
            magic = stream.read(2)
        return cast("IO[bytes]", gzip.open(path, "rb")) if magic == b"\x1f\x8b" else path.open("rb")
    except FileNotFoundError:
        raise DataError("there is no such file.", file=path, remedy="Check the path.") from None
    except IsADirectoryError:
        raise DataError("this is a folder, not a file.", file=path, remedy="Name the file in it.") from None
    except OSError as error:
        raise DataError(f"the file cannot be opened: {error.strerror}.", file=path) from None


def _read(stream: IO[bytes], path: Path, size: int) -> bytes:
    try:
        return stream.read(size)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise DataError(
            "the gzip data are damaged or cut off.", file=path, remedy="Download or copy the file again."
        ) from None
    except OSError as error:
        raise DataError(f"the file cannot be read: {error.strerror}.", file=path) from None


def _refuse_binary(text: bytes, path: Path, line: int) -> None:
    place = text.find(b"\0")
    if place >= 0:
        begin = text.rfind(b"\n", 0, place) + 1
        raise DataError(
            "there is a NUL byte, so this is not a text file.",
            file=path,
            line=line + text.count(b"\n", 0, place),
            value=text[begin : place + 8],
            remedy=_other_encoding(_wide(text)) or "Check that the file was copied completely, and as text.",
        )


def _wide(text: bytes) -> str | None:
    """The encoding of text in which every other byte is 0, as in UTF-16 without a mark at its beginning."""
    head = np.frombuffer(text[: HEAD_BYTES & ~1], dtype=np.uint8)
    zeros = [float((head[start::2] == 0).mean()) if head[start::2].size else 0.0 for start in (0, 1)]
    return "utf-16-le" if zeros[1] > 0.4 > zeros[0] else "utf-16-be" if zeros[0] > 0.4 > zeros[1] else None


def _other_encoding(name: str | None) -> str:
    return "" if name is None else Remedy(f"Give encoding='{name}'.", cli=f"Give --encoding {name}.")


def _refuse_archives(head: bytes, path: Path) -> None:
    for magic, (what, remedy) in _NOT_TEXT.items():
        if head.startswith(magic):
            raise DataError(f"this is {what}.", file=path, line=1, value=head[:8], remedy=remedy)


# Encodings


def _codec(encoding: str) -> str:
    try:
        with contextlib.suppress(UnicodeError):
            b"ab".decode(encoding)  # refuses codecs that are not for text
        return codecs.lookup(encoding).name
    except (LookupError, TypeError, ValueError):
        raise UsageError(f"there is no text encoding {encoding!r}.", remedy="Try 'utf-8' or 'latin-1'.") from None


def extends_ascii(encoding: str) -> bool:
    """Whether ASCII bytes stand for themselves in an encoding."""
    return _codec(encoding) in _ASCII_SUPERSETS


def _settled(path: Path, encoding: str) -> str:
    codec = _codec(encoding)
    return "utf-8" if codec == "iso8859-1" and _is_utf8(path) else codec


def _is_utf8(path: Path) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    with _open(path) as stream:
        try:
            while chunk := _read(stream, path, BLOCK_BYTES):
                if not chunk.isascii() or decoder.getstate()[0]:
                    decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _utf8_chunks(path: Path, codec: str) -> Iterator[bytes]:
    """The file as valid UTF-8; chunks end between characters. What comes before a wrong byte is returned first."""
    decoder = codecs.getincrementaldecoder(codec)()
    offset, begun, last, wrong = 0, False, False, None
    with _open(path) as stream:
        while not last:
            raw = _read(stream, path, BLOCK_BYTES)
            last = not raw
            if not offset and not codec.startswith(("utf-16", "utf-32")):
                _refuse_archives(raw, path)
            kept = decoder.getstate()[0]
            if codec in _ASCII_SUPERSETS and raw.isascii() and not kept:
                text = raw
            else:
                try:
                    text = decoder.decode(raw, final=last).encode()
                except UnicodeError as error:
                    wrong = _wrong_encoding(path, error, offset - len(kept), codec)
                    if not isinstance(error, UnicodeDecodeError) or codec not in _ASCII_SUPERSETS:
                        raise wrong from None
                    text = error.object[: error.start].decode(codec).encode()
            offset += len(raw)
            if text and not begun:
                text, begun = text.removeprefix(b"\xef\xbb\xbf"), True
            if text:
                yield text
            if wrong is not None:
                raise wrong


def _wrong_encoding(path: Path, error: UnicodeError, offset: int, codec: str) -> DataError:
    """An error with the line of the first bad byte; the bytes before ``offset`` are read again to count lines."""
    if not isinstance(error, UnicodeDecodeError):
        return DataError(f"the file is not {codec}.", file=path, remedy=_suggestion(codec, None))
    line, begun, byte = 1, b"", offset + error.start
    with _open(path) as stream:
        while offset > 0 and (before := _read(stream, path, min(offset, BLOCK_BYTES))):
            offset -= len(before)
            line += before.count(b"\n")
            begun = (begun + before).rpartition(b"\n")[2][-LONGEST:]
    seen, place = begun + error.object[: error.start + 16], len(begun) + error.start
    begin = seen.rfind(b"\n", 0, place) + 1
    return DataError(
        f"byte 0x{seen[place : place + 1].hex()} at position {place - begin + 1} of the line (byte {byte} of the file) "
        f"is not {codec}.",
        file=path,
        line=line + seen.count(b"\n", 0, place),
        value=seen[begin:].partition(b"\n")[0][-60:],
        remedy=_suggestion(codec, seen[place]),
    )


def _suggestion(codec: str, byte: int | None) -> Remedy:
    """Which encoding to try, by the byte that does not fit; any byte is valid in latin-1."""
    if codec.startswith(("utf-16", "utf-32")):
        return Remedy("Give encoding='utf-8', or convert it.", cli="Give --encoding utf-8, or convert it.")
    if codec in ("utf-8", "ascii") and byte is not None and byte not in _NOT_IN_CP1252:
        tries = "encoding='cp1252' (Windows) or encoding='latin-1'"
        return Remedy(
            f"Text of Windows or of old programs: give {tries}, or convert it to UTF-8.",
            cli="Text of Windows or of old programs: give --encoding cp1252 or --encoding latin-1, or convert it.",
        )
    return Remedy("Give encoding='latin-1', or convert it.", cli="Give --encoding latin-1, or convert it to UTF-8.")
