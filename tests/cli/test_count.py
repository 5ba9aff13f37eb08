"""`discreet count`, `top` and `context`: what a person types, and what becomes of mistakes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.counting import ItemCounts
from discreet.data import synthetic
from discreet.data.readers import write


@pytest.fixture(scope="session")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Check-ins, counts of them by weekday, and counts without contexts, made once."""
    folder = tmp_path_factory.mktemp("city")
    visits = synthetic.checkins(users=150, items=40, seed=7)
    write(visits, folder / "checkins.parquet")
    ItemCounts(epsilon=5, cap=10).release(visits, contexts=["weekday"]).save(folder / "counts")
    ItemCounts(epsilon=5, cap=10).release(visits).save(folder / "plain")
    return folder


@pytest.fixture
def checkins(city: Path, tmp_path: Path) -> Path:
    for name in ("counts", "plain"):
        shutil.copytree(city / name, tmp_path / name)
    dc.Ledger(tmp_path / "b.db").open(dc.read(city / "checkins.parquet"), epsilon=4, delta="1e-6", unit="user")
    return Path(shutil.copy(city / "checkins.parquet", tmp_path / "checkins.parquet"))


def spent(folder: Path) -> str:
    return str(dc.Ledger(folder / "b.db").statement("checkins").spent.epsilon)


def test_the_way_from_records_to_a_tuesday(process, run, checkins: Path, tmp_path: Path) -> None:
    asked = "count checkins.parquet --method hpa --epsilon 1 --cap 10 --context weekday --ledger b.db --out hpa/"
    done = process(*asked.split())
    assert done.returncode == 0, done.stderr
    assert "ε = 1" in done.stdout
    release = dc.Release.load(tmp_path / "hpa")
    assert release.parameters["method"] == "hpa"
    assert release.table("edges").height == 40 * 7
    listed = run("top", "hpa/", "-k", "10")
    assert listed.returncode == 0, listed.stderr
    assert release.table("counts").sort("count")["title"][-1] in listed.stdout
    tuesday = run("context", "hpa/", "--where", "weekday=Tuesday", "-k", "10", "--json")
    assert tuesday.returncode == 0, tuesday.stderr
    best = json.loads(tuesday.stdout)["top"]
    assert [row["rank"] for row in best] == list(range(1, 11))
    assert set(best[0]) == {"item_id", "title", "score", "rank"}
    assert spent(tmp_path) == "1"


def test_direct_selection_spends_and_is_kept(run, checkins: Path, tmp_path: Path) -> None:
    asked = "top checkins.parquet -k 10 --epsilon 1/2 --ledger b.db --out best/ --json"
    done = run(*asked.split())
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["way"] == "selection"
    assert len(answer["top"]) == 10
    assert dc.Release.load(tmp_path / "best").id == answer["id"]
    assert spent(tmp_path) == "1/2"
    again = run("top", "best/", "-k", "3", "--json")
    assert [row["title"] for row in json.loads(again.stdout)["top"]] == [row["title"] for row in answer["top"][:3]]
    assert run("top", "best/", "-k", "11").returncode == 2
    assert run("release", "verify", "best", "--ledger", "b.db").returncode == 0


def test_many_items_are_read_off_counts(run, checkins: Path, tmp_path: Path) -> None:
    few = "--assume users=300 --assume records=5"
    asked = f"top checkins.parquet -k 30 --epsilon 1 --cap 5 {few} --ledger b.db --out best --json"
    answer = json.loads(run(*asked.split()).stdout)
    assert answer["way"] == "counts"
    assert dc.Release.load(tmp_path / "best").kind == "item-counts"
    few = "--assume users=300 --assume records=1"
    asked = f"top checkins.parquet -k 2 --epsilon 1 --cap 1 --context weekday {few} --ledger b.db --json"
    answer = json.loads(run(*asked.split()).stdout)
    assert answer["way"] == "counts"
    assert [row["weekday"] for row in answer["top"][:3]] == ["Monday", "Monday", "Tuesday"]


@pytest.mark.parametrize(
    "how",
    [
        "--delta 1e-6 --cap 50",
        "--method hybrid",
        "--method sra",
        "--method lpa",
        "--method dft",
        "--method gs --option width=5",
        "--method lpa --option cap=data --allow-refuted",
        "--finish nonnegative --total 500",
        "--finish expected",
    ],
)
def test_every_way_to_count_estimates_counts_and_answers(run, checkins: Path, tmp_path: Path, how: str) -> None:
    asked = f"count checkins.parquet --epsilon 1 --context weekday --no-ledger {how}"
    done = run(*asked.split(), "--out", "x")
    assert done.returncode == 0, done.stderr
    assert "Most popular" in done.stdout
    release = dc.Release.load(tmp_path / "x")
    if "--finish" in how:
        assert release.table("edges")["count"].min() >= 0  # type: ignore[operator]
        assert f"finished: {release.parameters['finish']['kind']}" in done.stdout
    if "--total" in how:
        assert release.table("counts")["count"].sum() == pytest.approx(500)
    assert run("context", "x", "--where", "weekday=Monday", "-k", "3").returncode == 0
    before = run(*asked.replace("--no-ledger ", "").split(), "--estimate")
    assert before.returncode == 0, before.stderr
    assert "nothing was spent" in before.stdout


def test_estimates_say_everything_and_spend_nothing(run, checkins: Path, tmp_path: Path) -> None:
    asked = "count checkins.parquet --epsilon 1 --cap 10 --context weekday --estimate"
    counted = run(*asked.split())
    shown = dict(line.strip().split(maxsplit=1) for line in counted.stdout.splitlines() if len(line.split()) == 2)
    assert (shown["items"], shown["edges"], shown["scale"], shown["k"]) == ("40", "280", "20.0", "10")
    assert "edge expected mse" in counted.stdout
    assert "ε = 1" in counted.stdout
    assert "nothing was spent" in counted.stdout
    facts = json.loads(run(*asked.split(), "--assume", "users=90", "--json").stdout)
    assert facts["edge_expected_mse"] > 0
    assert facts["assumed"].startswith("90 people")
    asked = "top checkins.parquet -k 10 --epsilon 1/2 --estimate --assume users=500 --assume exponent=0.8"
    listed = run(*asked.split())
    for words in ("selection", "cap", "ε = 0.5", "500 people", "rank^−0.8", "nothing was spent"):
        assert words in listed.stdout
    facts = json.loads(run(*asked.split(), "--json").stdout)
    assert facts["noise_sd"]["selection"] == pytest.approx(25.65, abs=0.01)
    assert 0 < facts["expected_precision"]["counts"] < facts["expected_precision"]["selection"] <= 1
    assert spent(tmp_path) == "0"


def test_people_by_age_and_gender(run, tmp_path: Path) -> None:
    """Facts about users: films for men under 25."""
    people = pl.DataFrame(
        {"user_id": [f"u{n}" for n in range(40)], "age": [20, 60] * 20, "gender": ["M", "M", "F", "F"] * 10}
    )
    rows = [(f"u{n}", {0: "Chase", 1: "Garden", 2: "Dance", 3: "Letter"}[n % 4]) for n in range(40)]
    films = dc.Interactions(rows, items=["Chase", "Garden", "Dance", "Letter"], users=people, name="films")
    write(films, tmp_path / "films.parquet")
    bands = ["--context", "age=<25,25-44,45+", "--context", "gender=M,F"]
    done = run("count", "films.parquet", "--epsilon", "1000", *bands, "--no-ledger", "--out", "counts")
    assert done.returncode == 0, done.stderr
    for where, best in (
        (["gender=M", "age=<25"], "Chase"),
        (["gender=F", "age=45+"], "Letter"),
    ):
        asked = [word for one in where for word in ("--where", one)]
        answer = json.loads(run("context", "counts", *asked, "-k", "1", "--json").stdout)
        assert answer["top"][0]["item_id"] == best
    lists = run("top", "films.parquet", "-k", "1", "--epsilon", "1000", *bands, "--no-ledger", "--json")
    assert len(json.loads(lists.stdout)["top"]) == 6
    assert json.loads(lists.stdout)["way"] == "selection"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("count checkins.parquet --epsilon 1 --context weather --out x --ledger b.db", 2, "weather"),
        ("count checkins.parquet --epsilon 1 --context home --out x --ledger b.db", 2, "Declare all values"),
        ("count checkins.parquet --epsilon 0 --context weekday --out x --ledger b.db", 2, "epsilon"),
        ("count checkins.parquet --epsilon 1 --cap 0 --out x --ledger b.db", 2, "cap"),
        ("count checkins.parquet --epsilon 1 --method magic --out x --ledger b.db", 2, "magic"),
        ("count checkins.parquet --epsilon 1 --method clipped --out x --ledger b.db", 2, "called 'clipped'"),
        ("count checkins.parquet --epsilon 1 --method sra --delta 1e-6 --out x --ledger b.db", 2, "delta"),
        ("count checkins.parquet --epsilon 1 --cap 3 --option cap=4 --out x --ledger b.db", 2, "twice"),
        ("count checkins.parquet --epsilon 1 --finish tidy --out x --ledger b.db", 2, "nonnegative"),
        ("count checkins.parquet --epsilon 1 --finish expected --total 9 --out x --ledger b.db", 2, "total"),
        ("count checkins.parquet --epsilon 1 --total 9 --out x --ledger b.db", 2, "--finish"),
        ("count checkins.parquet --epsilon 1 --finish nonnegative --total 0 --out x --ledger b.db", 2, "total"),
        ("count checkins.parquet --epsilon 1 --context weekday= --out x --ledger b.db", 2, "empty value"),
        ("count checkins.parquet --epsilon 1 --context weekday=Moonday --out x --ledger b.db", 2, "Moonday"),
        ("count checkins.parquet --epsilon 1 --method lpa --option cap=data --out x --ledger b.db", 1, "refuted"),
        ("count checkins.parquet --epsilon 1 --option taste=1 --out x --ledger b.db", 2, "taste"),
        ("count checkins.parquet --epsilon 1 --option taste --out x --ledger b.db", 2, "NAME=VALUE"),
        ("count checkins.parquet --epsilon 9 --out x --ledger b.db", 3, "shortfall"),
        ("top checkins.parquet -k 10 --ledger b.db", 2, "--epsilon"),
        ("top checkins.parquet -k 10 --epsilon 1", 2, "--no-ledger"),
        ("top checkins.parquet -k 41 --epsilon 1 --ledger b.db", 2, "number of items (40), got 41"),
        ("top checkins.parquet -k 0 --epsilon 1 --ledger b.db", 2, "from 1"),
        ("top checkins.parquet -k 1 --epsilon 0 --ledger b.db", 2, "epsilon"),
        ("top checkins.parquet -k 1 --epsilon 1 --cap 0 --ledger b.db", 2, "cap"),
        ("top checkins.parquet -k 1 --epsilon 1 --way sideways --ledger b.db", 2, "sideways"),
        ("top checkins.parquet -k 1 --epsilon 1 --assume users=many --ledger b.db", 2, "--assume"),
        ("top checkins.parquet -k 1 --epsilon 1 --out counts --ledger b.db", 1, "nothing was spent"),
        ("top nowhere.csv -k 1 --epsilon 1 --ledger b.db", 1, "nowhere.csv"),
        ("top nowhere -k 1", 1, "nowhere is not there"),
        ("top counts -k 41", 2, "number of items (40), got 41"),
        ("top counts -k 1 --epsilon 1", 2, "cost nothing"),
        ("context plain --where weekday=Monday", 1, "no counts by context"),
        ("context nowhere --where weekday=Monday", 1, "nowhere"),
        ("context checkins.parquet --where weekday=Monday", 1, "checkins.parquet"),
        ("context counts", 2, "Monday"),
        ("context counts --where weekday=Moonday", 2, "Moonday"),
        ("context counts --where weather=wet", 2, "weather"),
        ("context counts --where weekday", 2, "NAME=VALUE"),
        ("context counts --where weekday=Monday --where weekday=Sunday", 2, "twice"),
        ("context counts --where weekday=Monday -k 41", 2, "number of items (40), got 41"),
    ],
)  # fmt: skip
def test_mistakes(run, checkins: Path, tmp_path: Path, arguments: str, code: int, words: str) -> None:
    done = run(*arguments.split())
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert "defect" not in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "x").exists()
    assert dc.Ledger(tmp_path / "b.db").statement("checkins").entries == ()


def test_an_item_outside_the_catalog_is_named(run, tmp_path: Path) -> None:
    (tmp_path / "shop.csv").write_text("user_id,item_id\nann,tea\nbob,rum\n")
    (tmp_path / "catalog.csv").write_text("item_id\ntea\n")
    for command in (["count", "--out", "x"], ["top", "-k", "1"]):
        name, *rest = command
        done = run(name, "shop.csv", "--epsilon", "1", "--catalog", "catalog.csv", "--no-ledger", *rest)
        assert done.returncode == 1
        assert "rum" in done.stderr
        assert "Traceback" not in done.stderr


def test_one_person_with_a_million_records(run, tmp_path: Path) -> None:
    rows = {"user_id": ["bot"] * 10**6 + ["ann", "bob"], "item_id": ["spam"] * 10**6 + ["tea", "tea"]}
    visits = dc.Interactions(rows, items=["spam", "tea", "rum"], duplicates="keep", name="shop")
    write(visits, tmp_path / "shop.parquet")
    done = run("count", "shop.parquet", "--epsilon", "1000", "--cap", "1", "--no-ledger", "--out", "counts", "--json")
    assert json.loads(done.stdout)["top"][0]["item_id"] == "tea"
    done = run("top", "shop.parquet", "-k", "1", "--epsilon", "1000", "--no-ledger", "--json")
    assert json.loads(done.stdout)["top"][0]["item_id"] == "tea"


def test_a_model_can_be_fitted_and_asked_from_the_command_line(run, checkins: Path) -> None:
    fit = "fit checkins.parquet --model context-popularity --epsilon 1 --ledger b.db --out model"
    done = run(*fit.split(), "--option", 'contexts=["weekday"]')
    assert done.returncode == 0, done.stderr
    assert run("recommend", "model", "--user", "u1", "-n", "3").returncode == 0
    assert run("context", "model", "--where", "weekday=Sunday", "-k", "3").returncode == 0


@pytest.mark.parametrize("command", ["top", "context"])
def test_help_has_an_example(run, command: str) -> None:
    done = run(command, "--help")
    assert done.returncode == 0
    assert "Example" in done.stdout


def test_hpa_counts_by_a_score_of_ones_own(run, checkins: Path, tmp_path: Path) -> None:
    how = f"count {checkins} --method hpa --cap 5 --epsilon 1 --no-ledger --json"
    done = run(*how.split(), "--score", "timestamp", "--out", str(tmp_path / "latest"))
    assert done.returncode == 0, done.stderr
    assert dc.Release.load(tmp_path / "latest").parameters["score"] == "timestamp"
    for wrong, words in ((["--score", "rating"], "no column 'rating'"), (["--method", "sra", "--score", "x"], "hpa")):
        refused = run(*how.split(), *wrong, "--out", str(tmp_path / "none"))
        assert refused.returncode == 2
        assert words in refused.stderr
