"""What is printed: exact numbers in JSON, plural forms, and remedies as they are typed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import Run

from discreet.cli import console
from discreet.cli.console import answer_json, answer_table, answer_text, counted, note
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


@pytest.fixture
def fresh_consoles() -> Iterator[None]:
    """Consoles are made once, with the streams of that time."""
    for made in (console._out, console._err):
        made.cache_clear()
    yield
    for made in (console._out, console._err):
        made.cache_clear()


@pytest.mark.usefixtures("fresh_consoles")
def test_names_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """Ids had commas as counts have, ":100:" became a picture, and brackets in a title were read as markup."""
    rows = [(10012, 1234567, 2500), ("a:100:b", "[red]x[/]", 7)]
    answer_table("of [b]a:100:b[/c]", ["item_id", "user_id", "[count]"], rows, numbers=["[count]"])
    answer_table("", ["", "value"], [("records", 1208)])
    answer_text("1:100:1")
    note("1:100:1 [red]")
    shown = capsys.readouterr()
    printed = " ".join(shown.out.split())
    assert "10012 1234567 2,500" in printed
    assert "a:100:b [red]x[/] 7" in printed
    assert "of [b]a:100:b[/c]" in printed
    assert "[count]" in printed
    assert "records 1,208" in printed
    assert printed.endswith("1:100:1")
    assert shown.err == "1:100:1 [red]\n"


def test_ids_of_numbers_are_printed_as_they_are(run: Run, tmp_path: Path) -> None:
    rows = [(100_000 + user, 10_000 + item) for user in range(30) for item in range(6)]
    pl.DataFrame(rows, schema=["user_id", "item_id"], orient="row").write_parquet(tmp_path / "shop.parquet")
    shop = ["shop.parquet", "--items-public", "--epsilon", "90", "--no-ledger"]
    assert " 10000 " in run("count", *shop, "--out", "counts").stdout
    shown = run("release", "show", "counts", "--part", "counts").stdout
    assert " 10000 " in shown
    assert "10,000" not in shown
    assert run("fit", *shop, "--out", "model").returncode == 0
    lists = run("recommend", "model", "--user", "100001", "-n", 3).stdout
    assert "100,001" not in lists


def test_dates_are_released_as_dates(run: Run, tmp_path: Path) -> None:
    days = [date(2024, 1, day) for day in range(1, 6)]
    rows = [(user, day) for user in range(30) for day in days]
    pl.DataFrame(rows, schema=["user_id", "item_id"], orient="row").write_parquet(tmp_path / "days.parquet")
    given = ["days.parquet", "--items-public", "--epsilon", "90"]
    assert " 2024-01-05 " in run("count", *given, "--no-ledger", "--out", "counts").stdout
    refused = run("fit", *given, "--no-ledger", "--out", "model")
    assert refused.returncode != 0
    assert "datetime.date(2024, 1, 1) is of another one" in refused.stderr
    assert "Write the ids of records and catalog as text" in refused.stderr
