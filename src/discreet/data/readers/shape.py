"""Counts in the bytes of a delimited file without parsing it: records, fields, quotes."""

from __future__ import annotations

from collections.abc import Iterator
from mmap import mmap

import numpy as np
from numpy.typing import NDArray

__all__ = ["count", "ids_may_hide", "is_ascii", "quotes_are_regular", "record_ends", "record_lines"]

Bytes = NDArray[np.uint8]

CHUNK = 1 << 18  # small enough to stay in the cache

_NEWLINE, _QUOTE, _RETURN, _ZERO = b'\n"\r0'


def count(raw: Bytes, byte: bytes) -> int:
    """Number of occurrences of a byte."""
    return sum(int(np.count_nonzero(part == byte[0])) for part in _chunks(raw))


def is_ascii(raw: Bytes) -> bool:
    return all(part.max(initial=0) < 128 for part in _chunks(raw))


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


def ids_may_hide(text: bytes | mmap, separator: bytes) -> bool:
    """Whether a field may parse as an integer without being written like one: 007, +7 and " 7" are not the id 7.

    A fast check; it may return True without need.

    Examples
    --------
    >>> [ids_may_hide(text, b",") for text in (b"7,0.5\\n", b"07,1\\n", b"7,-0\\n")]
    [False, True, True]
    """
    signs = (sign for sign in (b"+", b" ", b"\t", b'"') if sign != separator)
    if any(text.find(sign) >= 0 for sign in signs) or text[:1] == b"0":
        return True
    raw = np.frombuffer(text, dtype=np.uint8)
    for part in _chunks(raw, overlap=2):
        before, zero, after = part[:-2], part[1:-1] == _ZERO, part[2:]
        padded = zero & (after - np.uint8(_ZERO) < 10) & ((before == separator[0]) | (before == _NEWLINE))
        if padded.any():
            return True
    return text.find(b"-") >= 0 and text.find(b"-0") >= 0


def _chunks(raw: Bytes, overlap: int = 0) -> Iterator[Bytes]:
    for begin in range(0, raw.size, CHUNK):
        yield raw[begin : begin + CHUNK + overlap]
