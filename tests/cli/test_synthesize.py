"""`discreet synthesize`: what a person types, and what becomes of mistakes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import Run

import discreet as dc
from discreet.data import synthetic
from discreet.data.readers import write


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Films with an account, and people who do not exist, made once."""
    folder = tmp_path_factory.mktemp("people")
    films = synthetic.films(users=120, items=30, seed=7)
    write(films, folder / "films.parquet")
    dc.Ledger(folder / "budget.db").open(films, epsilon=4, delta="1e-5", name="films")
    dc.SyntheticInteractions(epsilon=4, people=40).release(films).save(folder / "people")
    return folder


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_records_are_charged_once_and_people_are_used_for_nothing(run: Run, place: Path) -> None:
    line = "synthesize films.parquet --epsilon 2 --delta 1e-6 --people 50 --ledger budget.db --out drawn --json"
    answer = run(*line.split())
    assert answer.returncode == 0, answer.stderr
    told = json.loads(answer.stdout)
    table = pl.read_parquet(place / "drawn" / "interactions.parquet")
    assert told["people"] == table["user_id"].n_unique() == 50
    assert told["records"] == table.height
    entries = len(dc.Ledger(place / "budget.db").statement("films").entries)
    assert entries == 1
    answer = run(
        *["fit", "drawn", "--model", "private-recommender", "--epsilon", "1", "--ledger", "budget.db", "--out", "model"]
    )
    assert answer.returncode == 0, answer.stderr
    assert "people who do not exist" in answer.stdout
    assert len(dc.Ledger(place / "budget.db").statement("films").entries) == entries


def test_more_people_are_free(run: Run, place: Path) -> None:
    answer = run(*["synthesize", "people", "--people", "70", "--out", "more"])
    assert answer.returncode == 0, answer.stderr
    assert "70 people who do not exist" in answer.stdout
    data = dc.read(place / "more")
    assert isinstance(data, dc.Interactions)
    assert data.n_users == 70
    assert data.released is not None
    answer = run(*["data", "describe", "more", "--json"])
    assert json.loads(answer.stdout)["users"] == 70


def test_an_estimate_spends_nothing(run: Run, place: Path) -> None:
    answer = run(*["synthesize", "films.parquet", "--epsilon", "1", "--context", "weekday", "--estimate", "--json"])
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["noise_activity"] > 0


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("synthesize people --out more", "at no cost"),
        ("synthesize people --people 5 --epsilon 1 --out more", "at no cost"),
        ("synthesize films.parquet --out drawn", "no budget"),
        ("synthesize films.parquet --epsilon 1 --out drawn", "no ledger"),
        ("synthesize films.parquet --epsilon 1 --no-ledger", "no place"),
        ("synthesize films.parquet --epsilon 1 --people 0 --no-ledger --out drawn", "people"),
        ("synthesize nothing.parquet --epsilon 1 --no-ledger --out drawn", "not there"),
        ("synthesize films.parquet --epsilon 1 --context mood=good --no-ledger --out drawn", "mood"),
    ],
)
def test_mistakes_are_told(run: Run, place: Path, line: str, words: str) -> None:
    answer = run(*line.split())
    assert answer.returncode in (1, 2)
    assert words in answer.stderr
    assert not (place / "drawn").exists()
    assert not (place / "more").exists()


def test_ratings_without_a_scale_are_left_out_aloud(run: Run, tmp_path: Path) -> None:
    rows = [f"u{user},i{item},{item % 5 + 1}" for user in range(20) for item in range(8)]
    (tmp_path / "shop.csv").write_text("\n".join(["user_id,item_id,rating", *rows]))
    line = "synthesize shop.csv --items-public --epsilon 4 --no-ledger --out"
    without = run(*line.split(), "without")
    assert without.returncode == 0, without.stderr
    assert "ratings are left out" in without.stderr
    assert "--scale LOW:HIGH[:STEP]" in without.stderr
    with_scale = run(*line.split(), "with", "--scale", "1:5:1")
    assert "ratings are left out" not in with_scale.stderr
    assert "rating" in pl.read_parquet(tmp_path / "with" / "interactions.parquet").columns


def test_the_delta_that_is_charged_without_one_is_what_help_says(run: Run, place: Path) -> None:
    """It said 0 where the method has 1e-6."""
    answer = run(
        *["synthesize", "films.parquet", "--epsilon", "1", "--ledger", "budget.db", "--out", "drawn", "--json"]
    )
    assert json.loads(answer.stdout)["parameters"]["delta"] == 1e-6
    for command in ("synthesize", "fit", "count"):
        told = " ".join(run(command, "--help").stdout.replace("│", " ").split())
        assert "without one it is that of the method, 0 or 1e-6." in told


def test_people_who_were_drawn_again_lead_to_what_was_charged(run: Run, place: Path) -> None:
    line = "synthesize films.parquet --epsilon 1 --people 9 --ledger budget.db --out drawn --json"
    charged = json.loads(run(*line.split()).stdout)["id"]
    for source, out in (("drawn", "again"), ("again", "once-more")):
        assert run("synthesize", source, "--people", 1, "--out", out).returncode == 0
        told = run("release", "verify", out, "--ledger", "budget.db")
        assert f"Release {charged[:12]}…" in told.stdout, told.stderr
        assert "was charged to 'films'" in told.stdout
    assert "1 person who does not exist" in run("synthesize", "drawn", "--people", 1, "--out", "one").stdout
