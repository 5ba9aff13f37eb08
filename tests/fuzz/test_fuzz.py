"""A fixed number of fuzzed cases: nothing but errors of discreet's own comes out (`make fuzz` plays many more)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from fuzzing.damage import damaged_bytes, damaged_json, odd_text
from fuzzing.playing import play

CASES, PARTS = 2400, 4


@pytest.mark.parametrize("part", range(PARTS))
def test_errors_are_ours(part: int) -> None:
    assert play(range(part * CASES // PARTS, (part + 1) * CASES // PARTS), seed=2026) == []


def test_a_foreign_error_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def odd(folder: Path) -> dict[str, object]:
        def wrong(random: object) -> None:
            raise KeyError("x")

        return {"wrong": wrong}

    monkeypatch.setattr("fuzzing.playing.targets", odd)
    assert [finding.case for finding in play(range(3), seed=1)] == [0, 1, 2]


def test_cases_can_be_played_again() -> None:
    from random import Random

    for seed in range(50):
        first, second = (
            (
                damaged_bytes(b"user,item\n1,2\n", random),
                damaged_json(b'{"a": [1, {"b": 2}]}', random),
                odd_text(random),
            )
            for random in (Random(seed), Random(seed))
        )
        assert first == second
