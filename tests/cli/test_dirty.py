"""Dirty data on the command line: one report, an exit code, no traceback."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

COLUMNS = (
    "--column",
    "user=customer",
    "--column",
    "item=sku",
    "--column",
    "rating=stars",
    "--column",
    "timestamp=when",
)
DIRTY = "customer,sku,stars,when\nann,tea,5,2026-01-02\n,tea,4,2026-01-03\nbob,rum,five,2026-01-04\nbob,tea,3,\n"
LACKING = "customer,sku,stars,when\nann,tea,5,2026-01-02\n,tea,4,2026-01-03\nbob,tea,3,\ncy,tea,NaN,2026-01-02\n"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop.csv").write_text(DIRTY)
    (tmp_path / "lacking.csv").write_text(LACKING)
    return tmp_path


@pytest.mark.parametrize("command", ["describe", "check"])
def test_all_problems_are_listed_in_the_callers_words(run, shop: Path, command: str) -> None:
    done = run("data", command, "shop.csv", *COLUMNS, "--scale", "1:5")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    assert "shop.csv: 3 rows have problems; nothing was read." in done.stderr
    for line in (
        "- 1 row, column 'customer': the value is missing. Line 3.",
        "- 1 row, column 'stars': this is not a number. Line 4 ('five').",
        "- 1 row, column 'when': the value is missing. Line 5.",
        "--missing drop",
    ):
        assert line in done.stderr
    assert not any(name in done.stderr for name in ("user_id", "item_id", "rating", "timestamp"))


def test_a_report_for_machines(run, shop: Path) -> None:
    done = run("data", "check", "shop.csv", *COLUMNS, "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["good"], report["rows"]) == (1, False, 3)
    assert {(one["column"], one["rows"]) for one in report["problems"]} == {("customer", 1), ("stars", 1), ("when", 1)}
    assert report["problems"][1]["examples"] == [{"file": "shop.csv", "line": 4, "row": None, "value": "'five'"}]
    good = run("data", "check", "lacking.csv", *COLUMNS, "--missing", "drop", "--json")
    assert json.loads(good.stdout) == {
        "file": "lacking.csv",
        "good": True,
        "records": 1,
        "dropped_missing": 3,
        "missing_by_column": {"customer": 1, "when": 1, "stars": 1},
        "dropped_duplicates": 0,
    }


def test_what_was_dropped_is_told(run, shop: Path) -> None:
    for command in ("describe", "check"):
        done = run("data", command, "lacking.csv", *COLUMNS, "--scale", "1:5", "--missing", "drop")
        assert done.returncode == 0
        assert "3 rows with missing values left out (customer 1, stars 1, when 1)" in done.stderr
        assert "customer 1, stars 1, when 1" in done.stdout
        assert "dropped_missing" in done.stdout
    counted = run("count", "lacking.csv", *COLUMNS, "--scale", "1:5", "--missing", "drop", "--items-public",
                  "--epsilon", "1", "--no-ledger", "--out", "counts")  # fmt: skip
    assert counted.returncode == 0, counted.stderr
    assert "3 rows with missing values" in counted.stderr


def test_rows_of_a_parquet_file(run, tmp_path: Path) -> None:
    frame = pl.DataFrame({"customer": ["a", None, "b"], "sku": ["x", "y", "z"], "stars": [1.0, 2.0, 7.0]})
    frame.write_parquet(tmp_path / "shop.parquet")
    done = run("data", "check", "shop.parquet", *COLUMNS[:6], "--scale", "1:5")
    assert done.returncode == 1
    assert "column 'customer': the value is missing. Row 1." in done.stderr
    assert "column 'stars': the rating is not on the declared scale 1:5:1. Row 2 (7.0)." in done.stderr


def test_encodings(run, tmp_path: Path) -> None:
    (tmp_path / "shop.csv").write_bytes(b"user,item\njos\xe9,x\n")
    done = run("data", "check", "shop.csv")
    assert done.returncode == 1
    assert "--encoding cp1252" in done.stderr
    assert run("data", "check", "shop.csv", "--encoding", "cp1252").returncode == 0
    assert run("data", "check", "shop.csv", "--encoding", "klingon").returncode == 2
    assert run("data", "check", "shop.csv", "--missing", "sometimes").returncode == 2


def test_quantities_are_added_up(run, tmp_path: Path) -> None:
    (tmp_path / "shop.csv").write_text("user,item,qty\na,x,2\na,x,3\n")
    columns = ("--column", "rating=qty")
    refused = run("data", "check", "shop.csv", *columns)
    assert refused.returncode == 1
    assert "--duplicates sum" in refused.stderr
    done = run("data", "describe", "shop.csv", *columns, "--duplicates", "sum", "--json")
    assert json.loads(done.stdout)["rating_mean"] == 5
    assert "their quantities were added up" in done.stderr
    assert run("data", "check", "shop.csv", *columns, "--duplicates", "sum", "--scale", "1:5").returncode == 2


def test_tables(run, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("sex,age\nF,30\n,20\nM,200\n")
    (tmp_path / "domains.json").write_text('{"sex": ["F", "M"], "age": 100}')
    query = ("query", "people.csv", "--domains", "domains.json", "--marginals", "1", "--epsilon", "1", "--no-ledger")
    done = run(*query, "--out", "answers")
    assert done.returncode == 1
    assert "column 'sex': the value is missing. Line 3." in done.stderr
    assert "column 'age': the value is outside the declared domain 0 to 99. Line 4 ('200')." in done.stderr
    (tmp_path / "people.csv").write_text("sex,age\nF,30\n,20\nM,20\n")
    (tmp_path / "domains.json").write_text('{"sex": ["F", "M", ""], "age": 100}')
    done = run(*query, "--out", "answers")
    assert done.returncode == 0, done.stderr
