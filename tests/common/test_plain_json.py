"""JSON of strangers is bounded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from discreet.common.foreign import foreign_errors
from discreet.common.plain_json import MAX_BYTES, parse_json, read_json
from discreet.errors import DataError


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[" * 100_000,
        "[" * 99 + "]" * 99,
        "9" * 5000,
        "1e999",
        "0." + "1" * 5000,
        '{"a": 1, "a": 2}',
        b"\xff",
        "{",
        r'["\ud800"]',
        '["\ud800"]',
    ],
)
def test_refused(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parse_json(text)
    assert len(str(caught.value)) < 200


def test_values() -> None:
    assert parse_json('{"a": [1, 2.5, null, "x"]}') == {"a": [1, 2.5, None, "x"]}
    assert parse_json("[NaN]")[0] != 0
    with pytest.raises(ValueError, match="NaN"):
        parse_json("[NaN]", finite=True)


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b" " * (MAX_BYTES + 1))
    with pytest.raises(ValueError, match="longer than"):
        read_json(path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="regular"):
        read_json(tmp_path / "pipe")


class PanicException(BaseException):
    """As polars has it."""


@pytest.mark.parametrize("error", [ValueError("x"), RecursionError(), PanicException("x" * 1000)])
def test_errors_of_others_become_ours(error: BaseException) -> None:
    with pytest.raises(DataError) as caught, foreign_errors(DataError):
        raise error
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), MemoryError(), DataError("ours")])
def test_some_errors_pass(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught, foreign_errors(DataError):
        raise error
    assert caught.value is error
