"""Data larger than memory on the command line: what is chosen, what is said, and what comes out."""

from __future__ import annotations

import json
from pathlib import Path
from unittest import mock

import polars as pl
import pytest
from tests.cli.conftest import Run

import discreet as dc
from discreet.cli import parts
from discreet.data.readers import write

BUDGET = ("--epsilon", "8", "--delta", "1e-6", "--no-ledger")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder with three files of purchases, and a catalog beside it."""
    films = dc.synthetic.films(users=90, items=24, seed=7)
    frame = films.to_frame().rename({"user_id": "customer", "item_id": "sku"}).drop("timestamp")
    folder = tmp_path / "shop"
    folder.mkdir()
    for number in range(3):
        frame.filter(pl.int_range(pl.len()) % 3 == number).write_csv(folder / f"day-{number}.csv")
    films.items.series.to_frame("sku").write_csv(tmp_path / "catalog.csv")
    return folder


COLUMNS = ("--column", "user=customer", "--column", "item=sku", "--scale", "1:5")
CATALOG = ("--catalog", "catalog.csv")


@pytest.mark.parametrize("data", ["shop", "shop/*.csv", "shop/day-?.csv", "shop/*-1.csv"])
def test_folders_and_patterns_of_files(data: str, shop: Path, run: Run) -> None:
    for how in ("memory", "3"):
        done = run("count", data, *COLUMNS, *CATALOG, *BUDGET, "--out", f"counts-{how}", "--parts", how, "--json")
        assert done.returncode == 0, done.stderr
        assert len(json.loads(done.stdout)["top"]) == 10
        assert ("read in 3 parts" in done.stderr) == (how == "3")


def test_the_rule_is_public_and_what_it_chose_is_said(shop: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    given = ("top", "shop", *COLUMNS, *CATALOG, *BUDGET, "-k", "3")
    assert "parts" not in run(*given).stderr
    size = sum(path.stat().st_size for path in shop.iterdir())
    monkeypatch.setattr(parts, "available_memory", lambda: size * parts.SHARE)
    assert "parts" not in run(*given).stderr
    monkeypatch.setattr(parts, "available_memory", lambda: size * parts.SHARE - 1)
    done = run(*given)
    assert done.returncode == 0, done.stderr
    assert "is larger than an eighth of the" in done.stderr
    assert "read in 1 part, one at a time" in done.stderr
    assert "parts" not in run(*given, "--parts", "memory").stderr
    done = run("fit", "shop", *COLUMNS, *CATALOG, "--model", "knn", "--no-ledger", "--out", "model")
    assert done.returncode == 0, done.stderr
    assert "knn looks at everybody at once: all of it is read into memory" in done.stderr
    assert "an eighth of the available memory" in " ".join(run("count", "--help").stdout.replace("│", " ").split())


def test_a_model_is_fitted_and_asked_in_parts(shop: Path, run: Run, tmp_path: Path) -> None:
    done = run("fit", "shop/*.csv", *COLUMNS, *CATALOG, *BUDGET, "--out", "model", "--parts", "4", "--temporary", ".")
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.glob("discreet-scan-*"))
    source = json.loads((tmp_path / "model" / "source.json").read_text())
    assert "parts" not in source
    assert "temporary" not in source
    lists = []
    for how in ("memory", "4"):
        done = run("recommend", "model", "--all", "-n", "5", "--out", f"{how}.parquet", "--parts", how)
        assert done.returncode == 0, done.stderr
        lists.append(pl.read_parquet(tmp_path / f"{how}.parquet").sort("user_id", "rank"))
    assert lists[0].equals(lists[1])
    someone = lists[0]["user_id"][0]
    one, two = (run("recommend", "model", "--user", someone, "--parts", how, "--json") for how in ("memory", "2"))
    assert one.stdout == two.stdout
    done = run("fit", "shop", *COLUMNS, *CATALOG, *BUDGET, "--estimate", "--parts", "4")
    assert done.returncode == 0, done.stderr
    assert "in 4 parts" not in done.stderr


def test_a_ledger_knows_the_people_in_parts_and_in_memory(shop: Path, run: Run) -> None:
    opened = run("ledger", "open", "shop", *COLUMNS, "--parts", "2", "--epsilon", "4", "--ledger", "b.db")
    assert opened.returncode == 0, opened.stderr
    for number, how in enumerate(("memory", "5")):
        budget = ("--epsilon", "1", "--ledger", "b.db", "--out", f"c{number}", "--parts", how)
        done = run("count", "shop/*.csv", *COLUMNS, *CATALOG, *budget)
        assert done.returncode == 0, done.stderr
    told = run("ledger", "statement", "shop/*.csv", *COLUMNS, "--parts", "3", "--ledger", "b.db", "--json")
    assert len(json.loads(told.stdout)["entries"]) == 2


def test_a_series_in_parts(shop: Path, run: Run, tmp_path: Path) -> None:
    given = (*COLUMNS, *CATALOG, "--no-ledger", "--parts", "3")
    done = run(
        "series", "open", "nightly", "shop/day-0.csv", "--epsilon", "4", "--steps", "9", "--method", "weighted", *given
    )
    assert done.returncode == 0, done.stderr
    for day in (0, 1):
        done = run("series", "advance", "nightly", f"shop/day-{day}.csv", "--out", f"out-{day}", *given)
        assert done.returncode == 0, done.stderr
        assert "read in 3 parts" in done.stderr
    assert (tmp_path / "out-1" / "manifest.json").is_file()


def test_errors_come_before_the_charge_and_say_what_to_do(shop: Path, run: Run, tmp_path: Path) -> None:
    run("ledger", "open", "shop", *COLUMNS, "--epsilon", "4", "--ledger", "b.db")
    budget = ("--epsilon", "1", "--ledger", "b.db", "--out", "out")
    done = run("count", "shop", *COLUMNS, *budget, "--parts", "2")
    assert done.returncode == 2
    assert "needs the public list of items. Give --catalog FILE; or --items-public" in done.stderr
    done = run("fit", "shop", *COLUMNS, *CATALOG, *budget, "--model", "ppns", "--parts", "2", "--allow-refuted")
    assert done.returncode == 2
    assert "ppns looks at everybody at once and needs the data in memory" in done.stderr
    for wrong in ("0", "many", "-1", "1.5"):
        done = run("count", "shop", *COLUMNS, *CATALOG, *budget, "--parts", wrong)
        assert done.returncode == 2
        assert "--parts must be auto, memory or a number from 1" in done.stderr
    done = run("count", "shop/*.parquet", *COLUMNS, *CATALOG, *budget)
    assert done.returncode == 1
    assert "no file is called like shop/*.parquet" in done.stderr
    (tmp_path / "u.data").write_text("1\t7\t5\t881250949\n")
    done = run("count", "u.data", *budget, "--parts", "2")
    assert done.returncode == 2
    assert "discreet data convert" in done.stderr
    done = run("count", "shop", "--column", "user=nobody", *CATALOG, *budget, "--parts", "2")
    assert done.returncode == 1
    assert "there is no column 'nobody'" in done.stderr
    assert not json.loads(run("ledger", "statement", "shop", "--ledger", "b.db", "--json").stdout)["entries"]


def test_what_discreet_wrote_needs_no_catalog(run: Run, tmp_path: Path) -> None:
    write(dc.synthetic.films(users=60, items=20, seed=7), tmp_path / "films.parquet")
    done = run("fit", "films.parquet", *BUDGET, "--out", "model", "--parts", "3")
    assert done.returncode == 0, done.stderr
    with mock.patch.object(parts, "available_memory", return_value=1):
        done = run("recommend", "model", "--all", "--out", "all.parquet")
    assert done.returncode == 0, done.stderr
    assert "read in parts" in done.stderr
    assert pl.read_parquet(tmp_path / "all.parquet")["user_id"].n_unique() == 60


def test_a_result_never_replaces_what_a_pattern_reads(shop: Path, run: Run) -> None:
    done = run("fit", "shop/*.csv", *COLUMNS, *CATALOG, *BUDGET, "--out", "shop", "--overwrite")
    assert done.returncode == 1
    assert sorted(path.name for path in shop.iterdir()) == ["day-0.csv", "day-1.csv", "day-2.csv"]


def test_tags_are_read_in_memory_whatever_their_size(run: Run, tmp_path: Path) -> None:
    tags = dc.synthetic.tags(users=20, resources=8, vocabulary=30, seed=7)
    write(tags, tmp_path / "own.parquet")
    tags.to_frame().write_parquet(tmp_path / "plain.parquet")
    tags.to_frame().write_csv(tmp_path / "text.csv")
    with mock.patch.object(parts, "available_memory", return_value=1):
        for number, name in enumerate(("own.parquet", "plain.parquet", "text.csv")):
            done = run("ledger", "open", name, "--epsilon", "1", "--ledger", f"{number}.db")
            assert done.returncode == 0, done.stderr
            assert "parts" not in done.stderr
    done = run("ledger", "open", "text.csv", "--epsilon", "1", "--ledger", "4.db", "--parts", "2")
    assert done.returncode == 2
    assert "read in memory alone" in done.stderr
