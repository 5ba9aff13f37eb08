"""`discreet series`: three nights as a job would run them, and what becomes of mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.data import synthetic
from discreet.data.readers import write


@pytest.fixture
def nights(tmp_path: Path) -> list[str]:
    films = synthetic.films(users=80, items=20, seed=7)
    assert films.timestamp is not None
    day = np.searchsorted(np.quantile(films.timestamp, [0.4, 0.7]), films.timestamp)
    names = []
    for number in range(3):
        names.append(f"night{number}.parquet")
        write(films.filter(day == number, independent="record"), tmp_path / names[-1])
    dc.Ledger(tmp_path / "b.db").open(
        dc.read(tmp_path / names[0]), epsilon=8, delta="1e-6", unit="user", name="customers"
    )
    return names


OPEN = "series open nightly night0.parquet --steps 5 --epsilon 4 --ledger b.db"


def test_three_nights(run, nights: list[str], tmp_path: Path) -> None:
    opened = run(*OPEN.split(), "--enter-after", 3)
    assert opened.returncode == 0, opened.stderr
    assert "in 5 steps" in opened.stdout
    for step, night in enumerate(nights):
        asked = f"series advance nightly {night} --step {step} --ledger b.db --out model --overwrite"
        done = run(*asked.split())
        assert done.returncode == 0, done.stderr
        assert f"step {step}, with the noise of a single release" in done.stderr
    again = run(*f"series advance nightly {nights[2]} --step 2 --ledger b.db --out again --json".split())
    assert again.returncode == 0, again.stderr
    assert f"step 2 was taken before and is returned as it was: {nights[2]} was not used\n" in again.stderr
    facts = json.loads(again.stdout)
    assert facts["id"] == dc.Release.load(tmp_path / "model").id
    assert facts["series"]["step"] == 2
    # The model is a model like any other.
    (tmp_path / "history.json").write_text(json.dumps(["film-1", "film-2"]))
    best = run("recommend", "model", "--history", "history.json", "-n", 3, "--json")
    assert best.returncode == 0, best.stderr
    assert len(json.loads(best.stdout)) == 3
    shown = run("series", "show", "nightly")
    assert shown.returncode == 0, shown.stderr
    assert "3 of 5 taken" in shown.stdout
    assert json.loads(run("series", "show", "nightly", "--json").stdout)["last"] == 2
    verified = run("ledger", "statement", "customers", "--ledger", "b.db")
    assert "paid for the 3 steps" in verified.stdout


def test_counts_with_a_missed_night(run, nights: list[str]) -> None:
    opened = run(*f"{OPEN} --method weighted --context weekday --json".split())
    assert opened.returncode == 0, opened.stderr
    assert json.loads(opened.stdout)["charge"] == 1
    asked = f"series advance nightly {nights[0]} --step 1 --ledger b.db --out counts"
    done = run(*asked.split())
    assert done.returncode == 0, done.stderr
    assert "missed and made up for: 0" in done.stderr
    late = run(*f"series advance nightly {nights[1]} --step 0 --ledger b.db --out late".split())
    assert f"{nights[1]} was not used; it was made up for without records: give these to the next step" in late.stderr


def test_nights_that_only_collect(run, nights: list[str], tmp_path: Path) -> None:
    assert run(*f"{OPEN} --settle 1 --enter-after 2".split()).returncode == 0
    first = run(*f"series advance nightly {nights[0]} --ledger b.db --out model".split())
    assert first.returncode == 0, first.stderr
    assert "step 1 will be the first" in first.stderr
    assert not (tmp_path / "model").exists()
    assert run(*f"series advance nightly {nights[1]} --ledger b.db --out model".split()).returncode == 0


def test_what_to_expect(run, nights: list[str], tmp_path: Path) -> None:
    asked = "series open nightly night0.parquet --steps 365 --epsilon 4 --no-ledger --estimate --json"
    done = run(*asked.split())
    assert done.returncode == 0, done.stderr
    assert round(json.loads(done.stdout)["noise_factor"]["last"], 2) == 2.94
    assert not (tmp_path / "nightly").exists()


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        ("series show nothing", 1, "holds no series"),
        ("series advance nothing night0.parquet --no-ledger --out model", 1, "holds no series"),
        ("series open nightly night0.parquet --steps 5 --epsilon 4", 2, "no ledger was given"),
        ("series open nightly night0.parquet --steps 5 --epsilon 40 --ledger b.db", 3, "shortfall"),
        ("series open nightly night0.parquet --steps 5 --epsilon 4 --method ease --no-ledger", 2, "no setting"),
    ],
)
def test_mistakes(run, nights: list[str], asked: str, code: int, message: str) -> None:
    done = run(*asked.split())
    assert done.returncode == code
    assert message in done.stderr


def test_a_year_of_nights_on_an_account_per_year(run, nights: list[str], tmp_path: Path) -> None:
    """The five lines of a nightly job: nothing is attached by hand, and records of other years are left out."""
    opening = "ledger open --population customers --epsilon 4 --delta 1e-6 --per year --ledger shop.db"
    assert run(*opening.split()).returncode == 0
    open_series = "series open yearly night0.parquet --steps 5 --epsilon 3 --method weighted --ledger shop.db"
    unknown = run(*open_series.split(), "--window", "2001")
    assert unknown.returncode == 1
    assert "(customers), give --population NAME" in unknown.stderr
    undated = run(*open_series.split(), "--population", "customers")
    assert undated.returncode == 1
    assert "discreet series open … --window 2026" in undated.stderr
    opened = run(*open_series.split(), "--population", "customers", "--window", "2001")
    assert opened.returncode == 0, opened.stderr
    assert "for one user's records of 2001 (UTC), present or absent" in opened.stdout
    taken = run(*f"series advance yearly {nights[0]} --ledger shop.db --out counts".split())
    assert taken.returncode == 0, taken.stderr
    # The films were watched in another year: all of it is noise.
    assert dc.Release.load(tmp_path / "counts").table("counts")["count"].abs().to_numpy().max() < 100
    assert "2001-01-01..2001-12-31 (UTC)" in run("series", "show", "yearly").stdout
    other = run(*f"series advance yearly {nights[0]} --window 2004 --ledger shop.db --out more".split())
    assert other.returncode == 2
    assert "the series is about 2001-01-01..2001-12-31 (UTC)" in other.stderr


def test_fit_attaches_the_data_and_charges(run, nights: list[str], tmp_path: Path) -> None:
    write(synthetic.films(users=80, items=20, seed=8), tmp_path / "tonight.parquet")
    asked = "count tonight.parquet --epsilon 1/2 --ledger b.db --out counts"
    refused = run(*asked.split())
    assert refused.returncode == 1
    assert "give --population NAME: that attaches the data" in refused.stderr
    done = run(*asked.split(), "--population", "customers")
    assert done.returncode == 0, done.stderr
    assert dc.Ledger(tmp_path / "b.db").statement(dc.read(tmp_path / "tonight.parquet")).account.name == "customers"
    alone = run(*asked.replace("--ledger b.db", "--no-ledger --population customers").split())
    assert alone.returncode == 2
    assert "--population needs a ledger" in alone.stderr


def test_a_series_without_a_history_says_when_its_first_model_comes(run, nights: list[str]) -> None:
    asked = "series open later night0.parquet --steps 365 --epsilon 4 --no-ledger"
    told = run(*asked.split(), "--expected-people", "100000")
    assert told.returncode == 0, told.stderr
    assert "step 7 is the first that releases a model" in told.stderr
    taken = run(*f"series advance later {nights[0]} --no-ledger --out model".split())
    assert taken.returncode == 0, taken.stderr
    assert "step 0 collected records; step 7 will be the first" in taken.stderr
    history = run(*asked.replace("later", "now").split())
    assert "give it a history; if there is none, open the series with --expected-people N" in history.stderr
