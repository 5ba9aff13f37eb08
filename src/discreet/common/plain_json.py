"""Parsing of JSON with bounds on size, depth and digits, and without repeated names."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

__all__ = ["parse_json", "read_json"]

MAX_BYTES = 1 << 26
MAX_DEPTH = 64
MAX_DIGITS = 1000


def parse_json(text: str | bytes, *, finite: bool = False) -> Any:
    """The value of a JSON document.

    Parameters
    ----------
    finite
        Whether NaN and infinity are refused.

    Raises
    ------
    ValueError
        If it is not JSON, nested deeper than 64, has a number of more than 1,000 digits or the same name twice in an
        object, or is not Unicode.

    Examples
    --------
    >>> parse_json('{"epsilon": "1/2", "cap": 30}')
    {'epsilon': '1/2', 'cap': 30}
    >>> parse_json('{"cap": 30, "cap": 3000}')
    Traceback (most recent call last):
    ...
    ValueError: 'cap' occurs twice
    """
    try:
        value = json.loads(
            text,
            parse_int=_whole,
            parse_float=_real,
            parse_constant=_refused if finite else None,
            object_pairs_hook=_once,
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    _check_depth(value)
    if isinstance(text, str) or b"\\u" in text:
        json.dumps(value, ensure_ascii=False).encode()  # half of a character raises UnicodeEncodeError, a ValueError
    return value


def read_json(path: Path) -> Any:
    """The value of a JSON file; ``OSError`` if it cannot be read, ``ValueError`` as in ``parse_json``."""
    if path.exists() and not path.is_file():
        raise ValueError("it is not a regular file")
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"it is longer than {MAX_BYTES >> 20} MB")
    return parse_json(data)


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number has {len(digits):,} digits")
    return int(digits)


def _real(digits: str) -> float:
    value = float(digits) if len(digits) <= MAX_DIGITS else math.inf
    if math.isinf(value):
        raise ValueError("a number is too large or too long")
    return value


def _refused(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))
        raise ValueError(f"{twice[:60]!r} occurs twice")
    return made


def _check_depth(value: Any) -> None:
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError("it is nested too deeply")
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
