"""The list of mutants keeps up with the code: ``make mutants`` runs it, and this checks that it can."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.mutants.mutant import LISTS, ROOT, Mutant, StaleMutantError, mutants
from tests.mutants.running import verdict_of

ALL = list(mutants())


def test_every_entry_still_applies() -> None:
    """The text occurs exactly once, the change is a program, and the test files exist."""
    problems = {mutant.name: problem for mutant in ALL if (problem := problem_of(mutant))}
    assert not problems


def problem_of(mutant: Mutant) -> str | None:
    try:
        mutant.check()
        compile(mutant.applied((ROOT / mutant.path).read_text(encoding="utf-8")), mutant.file, "exec")
    except (StaleMutantError, SyntaxError, OSError) as error:
        return str(error)
    return None if mutant.breaks.endswith(".") else "what it breaks is not a sentence"


def test_there_are_many_and_they_have_names_of_their_own() -> None:
    assert len(ALL) >= 80
    assert max(Counter(mutant.name for mutant in ALL).values()) == 1
    assert {mutant.file.partition("/")[0] for mutant in ALL} >= {
        *("data", "privacy", "counting", "factors", "neighbors", "pairs", "subsets", "tagging", "coupled"),
    }
    assert len(list(LISTS.glob("*.toml"))) > 1


def test_an_entry_that_no_longer_fits_is_stale() -> None:
    mutant = Mutant("gone", "privacy/units.py", "class Unit:", "class Unit(object):", "tests/conftest.py", "nothing.")
    mutant.check()
    assert mutant.applied("class Unit:\n") == "class Unit(object):\n"
    for text in ("", "class Unit:\nclass Unit:\n"):
        with pytest.raises(StaleMutantError, match="not once"):
            mutant.applied(text)
    gone = Mutant("gone", "privacy/units.py", "class Unit:", "class", "tests/house/test_nothing.py", "nothing.")
    with pytest.raises(StaleMutantError, match="test_nothing"):
        gone.check()


@pytest.mark.parametrize(
    ("code", "output", "verdict"),
    [
        (0, "3 passed", "survived"),
        (1, "FAILED tests/a.py::test_b[c d] - AssertionError: 1 is not 2\n1 failed", "killed"),
        (1, "FAILED tests/a.py::test_b - NameError: name 'x' is not defined\n1 failed", "broken"),
        (1, "ERROR tests/a.py - ImportError\n1 error", "broken"),
        (2, "ERROR tests/a.py\nInterrupted: 1 error during collection", "broken"),
        (5, "no tests ran", "broken"),
        (-1, "no verdict in 600 seconds", "broken"),
    ],
)
def test_only_a_failing_test_kills(code: int, output: str, verdict: str) -> None:
    assert verdict_of(code, output)[0] == verdict
