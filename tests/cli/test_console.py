"""What is printed: exact numbers in JSON, plural forms, and remedies as they are typed."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.cli.console import answer_json, counted
from discreet.errors import DataError, DiscreetError, Remedy


def test_exact_numbers_are_floats_beside_their_exact_text(capsys: pytest.CaptureFixture[str]) -> None:
    answer_json(
        {
            "epsilon": "1/3",
            "spent": {"delta": "1e-6", "kind": "approximate"},
            "count_share": Fraction(1, 4),
            "rows": [{"item_id": "1/2", "title": "7", "scale": "1:5:1"}],
            "place": Path("counts"),
        }
    )
    assert json.loads(capsys.readouterr().out) == {
        "epsilon": 1 / 3,
        "epsilon_exact": "1/3",
        "spent": {"delta": 1e-6, "delta_exact": "1/1000000", "kind": "approximate"},
        "count_share": 0.25,
        "count_share_exact": "1/4",
        "rows": [{"item_id": "1/2", "title": "7", "scale": "1:5:1"}],
        "place": "counts",
    }


def test_plural_forms() -> None:
    assert [counted(many, "query", "queries") for many in (0, 1, 2000)] == ["0 queries", "1 query", "2,000 queries"]


def test_a_remedy_has_a_form_for_python_and_one_for_the_command_line() -> None:
    remedy = Remedy("Give format=.", cli="Give --format NAME.")
    error = DataError("the format is not recognized.", file="a.csv", remedy=remedy)
    assert str(error) == "a.csv: the format is not recognized. Give format=."
    assert error.cli_message == "a.csv: the format is not recognized. Give --format NAME."
    assert DataError("again.", remedy=error.remedy).cli_message == "again. Give --format NAME."
    assert DiscreetError("wrong.", remedy="Try again.").cli_message == "wrong. Try again."
