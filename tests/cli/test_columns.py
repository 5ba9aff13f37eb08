"""Names of columns: those of the records hold for the catalog and for contexts, and a model remembers them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import Run

import discreet as dc
from discreet.privacy import Ledger

COLUMNS = ("--column", "user=customer", "--column", "item=sku")
LEDGER = ("--ledger", "b.db")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    rows = [
        f"c{user},S-{(user + k) % 9},{('north', 'south', 'west')[user % 3]}" for user in range(30) for k in range(4)
    ]
    (tmp_path / "orders.csv").write_text("\n".join(["customer,sku,region", *rows]) + "\n")
    catalog = [f"S-{number},{('tea', 'rum')[number % 2]}" for number in range(12)]
    (tmp_path / "catalog.csv").write_text("\n".join(["sku,category", *catalog]) + "\n")
    return tmp_path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_items_of_the_catalog_are_called_as_those_of_the_records(run: Run, shop: Path, ending: str) -> None:
    pl.read_csv(shop / "catalog.csv").write_parquet(shop / "catalog.parquet")
    line = ("--epsilon", "4", "--no-ledger", "--out", "counts", "--json")
    done = run("count", "orders.csv", *COLUMNS, "--catalog", f"catalog.{ending}", *line)
    assert done.returncode == 0, done.stderr
    assert dc.Release.load(shop / "counts").table("counts").height == 12


def test_a_catalog_with_a_usual_name_is_still_recognized(run: Run, shop: Path) -> None:
    text = (shop / "catalog.csv").read_text()
    (shop / "catalog.csv").write_text(text.replace("sku,", "item_id,"))
    line = ("--epsilon", "4", "--no-ledger", "--out", "counts")
    assert run("count", "orders.csv", *COLUMNS, "--catalog", "catalog.csv", *line).returncode == 0
    (shop / "catalog.csv").write_text(text.replace("sku,", "what,"))
    refused = run("count", "orders.csv", *COLUMNS, "--catalog", "catalog.csv", *line, "--overwrite")
    assert refused.returncode == 1
    assert "neither a column 'sku' nor one that looks like the item; it has 'what', 'category'" in refused.stderr
    table = pl.DataFrame({"sku": ["S-1", "S-2"]})
    read = dc.read(shop / "orders.csv", user="customer", item="sku", catalog=pl.concat([table, _items()]).unique())
    assert isinstance(read, dc.Interactions)
    assert read.n_items == 9


def _items() -> pl.DataFrame:
    return pl.DataFrame({"sku": [f"S-{number}" for number in range(9)]})


@pytest.mark.parametrize(
    "named", [("--context", "region=north,south"), ("--column", "context=region", "--context", "region=north,south")]
)
def test_a_context_is_a_column_and_charged_to_the_account_of_the_records(
    run: Run, shop: Path, named: tuple[str, ...]
) -> None:
    """The account was opened without the context, which changes the fingerprint: the people are the same."""
    assert run("ledger", "open", "orders.csv", *COLUMNS, "--epsilon", "9", *LEDGER).returncode == 0
    spend = ("--catalog", "catalog.csv", "--epsilon", "1", *LEDGER, "--out")
    done = run("count", "orders.csv", *COLUMNS, *named, *spend, "counts")
    assert done.returncode == 0, done.stderr
    assert [part["name"] for part in _contexts(shop / "counts")] == ["region"]
    contexts = "contexts=" + json.dumps(["region=north,south"])
    fitted = run(
        "fit", "orders.csv", *COLUMNS, *named[:-2], "--model", "context-popularity", "--option", contexts, *spend, "m"
    )
    assert fitted.returncode == 0, fitted.stderr
    top = run("top", "orders.csv", *COLUMNS, *named, *spend, "best", "-k", "2")
    assert top.returncode == 0, top.stderr
    assert len(Ledger(shop / "b.db").statement("orders").entries) == 3


def _contexts(folder: Path) -> list[dict[str, str]]:
    return [{"name": name} for name in dc.Release.load(folder).parameters["contexts"]]


def test_a_context_that_is_no_column(run: Run, shop: Path) -> None:
    line = (*COLUMNS, "--catalog", "catalog.csv", "--epsilon", "1", "--no-ledger", "--out", "counts")
    refused = run("count", "orders.csv", "--context", "regoin=north,south", *line)
    assert refused.returncode == 1
    assert "there is no column 'regoin'; the columns are 'customer', 'sku', 'region'. Check the name." in refused.stderr
    refused = run("count", "orders.csv", "--context", "weekday", *line)
    assert refused.returncode == 2
    assert "no context 'weekday'" in refused.stderr


def test_a_series_reads_its_contexts(run: Run, shop: Path) -> None:
    run("ledger", "open", "orders.csv", *COLUMNS, "--epsilon", "9", "--delta", "1e-6", *LEDGER)
    reading = (*COLUMNS, "--catalog", "catalog.csv", *LEDGER)
    line = ("--steps", "4", "--epsilon", "8", "--method", "weighted", "--context", "region=north,south")
    opened = run("series", "open", "s", "orders.csv", *reading, *line)
    assert opened.returncode == 0, opened.stderr
    done = run("series", "advance", "s", "orders.csv", *reading, "--out", "counts")
    assert done.returncode == 0, done.stderr
    assert [part["name"] for part in _contexts(shop / "counts")] == ["region"]


def test_a_model_remembers_how_its_records_are_read(run: Run, shop: Path) -> None:
    spend = ("--epsilon", "4", "--delta", "1e-6", "--no-ledger", "--out", "model")
    assert run("fit", "orders.csv", *COLUMNS, "--catalog", "catalog.csv", *spend).returncode == 0
    tomorrow = (shop / "orders.csv").read_text() + "new,S-3,north\n"
    (shop / "tomorrow.csv").write_text(tomorrow)
    everybody = ("recommend", "model", "--all", "--out", "recs.csv", "--overwrite")
    done = run(*everybody, "--data", "tomorrow.csv")
    assert done.returncode == 0, done.stderr
    assert "new" in set(pl.read_csv(shop / "recs.csv")["user_id"])
    # What is typed goes before what the model remembers.
    (shop / "tomorrow.csv").write_text(tomorrow.replace("customer,", "person,"))
    assert run(*everybody, "--data", "tomorrow.csv").returncode == 1
    typed = ("--column", "user=person", "--column", "item=sku")
    assert run(*everybody, "--data", "tomorrow.csv", *typed).returncode == 0
    # Features are columns of the catalog, which it remembers, too.
    similar = ("similar", "model", "--all", "-n", "11", "--feature", "category", "--out", "also.csv", "--overwrite")
    assert run(*similar).returncode == 0
    assert "features" in set(pl.read_csv(shop / "also.csv")["source"])
    (shop / "catalog.csv").rename(shop / "moved.csv")
    assert "no column 'category'" in run(*similar).stderr
    assert run(*similar, "--catalog", "moved.csv").returncode == 0


@pytest.mark.parametrize("source", ["[1]", "{", '{"data": 5}', '{"data": "orders.csv", "column": 5, "window": {}}'])
def test_a_damaged_source_is_no_source(run: Run, shop: Path, source: str) -> None:
    spend = ("--epsilon", "4", "--delta", "1e-6", "--no-ledger", "--out", "model")
    run("fit", "orders.csv", *COLUMNS, "--catalog", "catalog.csv", *spend)
    (shop / "model" / "source.json").write_text(source)
    refused = run("recommend", "model", "--user", "c1")
    assert refused.returncode in (1, 2)
    assert "defect" not in refused.stderr
    assert run("recommend", "model", "--user", "c1", "--data", "orders.csv", *COLUMNS).returncode == 0


def test_a_budget_that_is_used_up_has_an_exit_code_of_its_own(run: Run, shop: Path) -> None:
    run("ledger", "open", "orders.csv", *COLUMNS, "--epsilon", "1", "--population", "customers", *LEDGER)
    count = ("count", "orders.csv", *COLUMNS, "--catalog", "catalog.csv", *LEDGER, "--out", "counts", "--epsilon")
    assert run(*count, "2").returncode == 3
    assert run(*count, "1").returncode == 0
    assert run("ledger", "plan", "--population", "customers", *LEDGER).returncode == 3
    (shop / "others.csv").write_text("customer,sku\nzoe,S-1\n")
    others = ("count", "others.csv", *count[2:])
    assert run(*others, "1", "--overwrite").returncode == 1  # no account is no lack of budget
