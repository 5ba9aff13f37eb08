"""Fitting and asking recommenders from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest


def test_fit(run, films: Path, tmp_path: Path) -> None:
    done = run("fit", "films.parquet", "--model", "private-item-knn", "--epsilon", "8", "--delta", "1e-6",
               "--no-ledger", "--out", "fitted")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "proved by" in done.stdout
    assert run("recommend", "fitted", "--user", "u17").returncode == 0


def test_recommend_to_a_user_and_to_a_stranger(run, model: Path, tmp_path: Path) -> None:
    done = run("recommend", "model", "--user", "u17", "-n", "5", "--json")
    assert done.returncode == 0, done.stderr
    best = json.loads(done.stdout)
    assert [row["rank"] for row in best] == [1, 2, 3, 4, 5]
    assert {row["user_id"] for row in best} == {"u17"}
    assert "The " in run("recommend", "model", "--user", "u17").stdout
    (tmp_path / "me.json").write_text('{"film-3": 5, "film-8": 4}')
    stranger = json.loads(run("recommend", "model", "--history", "me.json", "--json").stdout)
    assert len(stranger) == 10
    assert not {"film-3", "film-8"} & {row["item_id"] for row in stranger}


def test_similar_items(run, model: Path) -> None:
    known = {row["item_id"] for row in json.loads(run("recommend", "model", "--user", "u1", "--json").stdout)}
    done = run("similar", "model", sorted(known)[0], "-n", "3", "--json")
    assert done.returncode == 0
    assert len(json.loads(done.stdout)) <= 3


def test_lists_for_everybody(run, model: Path, films: Path, tmp_path: Path) -> None:
    done = run("recommend", "model", "--all", "-n", "4", "--out", "recs.parquet")
    assert done.returncode == 0, done.stderr
    assert "that person alone" in done.stderr
    lists = pl.read_parquet(tmp_path / "recs.parquet")
    assert lists.columns == ["user_id", "item_id", "score", "rank"]
    assert lists["user_id"].n_unique() == 120
    one = json.loads(run("recommend", "model", "--user", "u17", "-n", "4", "--json").stdout)
    assert lists.filter(user_id="u17").to_dicts() == one
    (tmp_path / "who.txt").write_text("u3\n\nu9\nsomebody new\n")
    done = run("recommend", "model", "--users", "who.txt", "-n", "2", "--out", "some.csv", "--json")
    assert json.loads(done.stdout) == {"lists": "some.csv"}
    assert pl.read_csv(tmp_path / "some.csv")["user_id"].to_list() == [*["u3"] * 2, *["u9"] * 2, *["somebody new"] * 2]
    before = films.read_bytes()
    refused = run("recommend", "model", "--all", "--out", "films.parquet", "--overwrite")
    assert (refused.returncode, films.read_bytes()) == (1, before)


def test_similar_items_of_the_whole_catalog(run, model: Path, tmp_path: Path) -> None:
    done = run("similar", "model", "--all", "-n", "3", "--feature", "genres", "--out", "also.csv")
    assert done.returncode == 0, done.stderr
    lists = pl.read_csv(tmp_path / "also.csv")
    assert lists.columns == ["item_id", "similar_id", "score", "rank", "source"]
    assert lists.group_by("item_id").len()["len"].to_list() == [3] * 40


def test_fitting_is_charged(run, films: Path) -> None:
    run("ledger", "open", "films.parquet", "--epsilon", "1", "--delta", "1e-6", "--ledger", "b.db")
    arguments = ["fit", "films.parquet", "--epsilon", "1", "--delta", "1e-6", "--ledger", "b.db", "--out"]
    assert run(*arguments, "one").returncode == 0
    refused = run(*arguments, "two")
    assert refused.returncode == 3
    assert "shortfall" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["fit", "films.parquet", "--model", "oracle", "--no-ledger", "--out", "x"], 2, "oracle"),
        (["fit", "films.parquet", "--option", "warp=9", "--no-ledger", "--out", "x"], 2, "warp"),
        (["fit", "films.parquet", "--option", "k", "--no-ledger", "--out", "x"], 2, "NAME=VALUE"),
        (["fit", "films.parquet", "--epsilon", "1", "--delta", "1e-6", "--out", "x"], 2, "--no-ledger"),
        (["fit", "films.parquet", "--no-ledger", "--out", "x"], 2, "--epsilon"),
        (["recommend", "model"], 2, "--user"),
        (["recommend", "model", "--all"], 2, "--out FILE"),
        (["recommend", "model", "--all", "--user", "u1", "--out", "x.csv"], 2, "one of"),
        (["recommend", "model", "--user", "u1", "--out", "x.csv"], 2, "--all"),
        (["recommend", "model", "--all", "--out", "x.xlsx"], 2, ".parquet"),
        (["recommend", "model", "--users", "nowhere.txt", "--out", "x.csv"], 1, "nowhere.txt"),
        (["similar", "model"], 2, "ITEM"),
        (["similar", "model", "film-3", "--all", "--out", "x.csv"], 2, "ITEM"),
        (["similar", "model", "--all", "--feature", "warp", "--out", "x.csv"], 2, "warp"),
        (["recommend", "model", "--user", "nobody"], 1, "nobody"),
        (["recommend", "model", "--history", "nowhere.json"], 1, "nowhere.json"),
        (["recommend", "nowhere", "--user", "u1"], 1, "no model"),
        (["similar", "model", "film-999"], 1, "film-999"),
    ],
)
def test_wrong_use(run, model: Path, arguments: list[str], code: int, words: str) -> None:
    done = run(*arguments)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_moved_dataset_is_asked_for(run, model: Path, films: Path) -> None:
    films.rename(films.with_name("moved.parquet"))
    done = run("recommend", "model", "--user", "u17")
    assert done.returncode == 1
    assert "--data" in done.stderr
    assert run("recommend", "model", "--user", "u17", "--data", "moved.parquet").returncode == 0
