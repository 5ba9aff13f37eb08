"""Commands that let a cluster of Spark compute. They are beside the other tests of Spark: those share one cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
from tests.cli.conftest import Run

import discreet as dc


def test_commands_on_a_cluster(spark: Any, tmp_path: Path, run: Run) -> None:
    """``run`` works in the folder of the test; sessions are shared, so that of the tests is the one that is opened."""
    films = dc.synthetic.films(users=120, items=30, seed=7)
    films.to_frame().write_parquet(tmp_path / "films.parquet")
    cluster = ("--engine", "spark", "--master", "local[2]", "--conf", "spark.app.name=shop")
    films.items.series.to_frame("item_id").write_csv(tmp_path / "items.csv")
    assert (
        run(
            "ledger",
            "open",
            "films.parquet",
            "--population",
            "viewers",
            "--epsilon",
            "2",
            "--delta",
            "1e-6",
            "--ledger",
            "b.db",
        ).returncode
        == 0
    )
    reading = ("films.parquet", "--scale", "1:5", "--catalog", "items.csv", *cluster)
    spending = ("--epsilon", "1", "--delta", "1e-6", "--ledger", "b.db")
    assert "nothing was spent" in run("count", *reading, *spending, "--estimate").stdout
    done = run("fit", *reading, *spending, "--out", "model")
    assert done.returncode == 0, done.stderr
    assert "4 partitions on local[2]" in done.stderr
    done = run("recommend", "model", "--all", "-n", "3", "--out", "lists", *cluster)
    assert done.returncode == 0, done.stderr
    assert pl.read_parquet(f"{tmp_path}/lists/*.parquet")["user_id"].n_unique() == films.n_users
    done = run("similar", "model", "--all", "-n", "3", "--out", "alike", *cluster)
    assert done.returncode == 0, done.stderr
    for wrong, words in (
        (("--engine", "dask"), "is not known"),
        ((*cluster, "--conf", "verbose"), "NAME=VALUE"),
        ((*cluster, "--parts", "memory"), "does not run on Spark"),
    ):
        assert words in run("count", "films.parquet", "--catalog", "items.csv", *spending, "--out", "c", *wrong).stderr
    assert "does not run on Spark" in run("fit", *reading, "--model", "knn", "--no-ledger", "--out", "knn").stderr


def test_a_model_of_two_curators_on_a_cluster(spark: Any, tmp_path: Path, run: Run) -> None:
    films = dc.synthetic.films(users=120, items=30, seed=7)
    films.items.series.to_frame("item_id").write_csv(tmp_path / "items.csv")
    cluster = "--engine spark --master local[2] --scale 1:5 --catalog items.csv"
    for number, shop in enumerate("ab"):
        films.filter(films.user % 2 == number, independent=True).to_frame().write_parquet(tmp_path / f"{shop}.parquet")
    for number, more in enumerate(("--round 1", "--round 2 --after r1"), start=1):
        # The second shop is on one machine: rounds are the same wherever they are computed. With so little noise there
        # are two of them.
        for shop, where in (("a", cluster), ("b", "--scale 1:5 --catalog items.csv")):
            asked = f"fit {shop}.parquet --epsilon 10000 --delta 1e-6 --no-ledger {where} {more} --out {shop}{number}"
            done = run(*asked.split())
            assert done.returncode == 0, done.stderr
        done = run(*f"release combine a{number} b{number} --disjoint-people --out r{number}".split())
        assert done.returncode == 0, done.stderr
    assert dc.Release.load(tmp_path / "r2").kind == "private-recommender"
    done = run("recommend", "r2", "--user", films.users.ids()[0], "--data", "a.parquet", "-n", "3", "--json")
    assert len(json.loads(done.stdout)) == 3, done.stderr
