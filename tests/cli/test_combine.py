"""Three shops, one model: the commands that each of them types, and what becomes of mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import discreet as dc
from discreet.data import synthetic
from discreet.data.readers import write

SHOPS = ("a", "b", "c")


@pytest.fixture
def shops(tmp_path: Path) -> None:
    films = synthetic.films(users=240, items=30, seed=7)
    for number, shop in enumerate(SHOPS):
        part = films.filter(films.user % 3 == number, independent=True)
        write(part, tmp_path / f"{shop}.parquet")
        dc.Ledger(tmp_path / f"{shop}.db").open(
            dc.read(tmp_path / f"{shop}.parquet"), epsilon=6, delta="1e-6", name=f"people of {shop}"
        )


@pytest.mark.usefixtures("shops")
def test_counts_of_three_shops(run, tmp_path: Path) -> None:
    for shop in SHOPS:
        done = run(*f"count {shop}.parquet --epsilon 1 --cap 20 --ledger {shop}.db --out {shop}".split())
        assert done.returncode == 0, done.stderr
    done = run(*["release", "combine", "a", "b", "c", "--disjoint-people", "--out", "abc"])
    assert done.returncode == 0, done.stderr
    assert "noisy counts of 30 items, combined from 3 curators" in done.stdout
    assert "ε = 1." in done.stdout
    assert run("top", "abc", "-k", 3).returncode == 0
    whole = run("release", "verify", "abc", "--ledger", "b.db")
    assert "A part of it was charged to 'people of b'" in whole.stdout, whole.stderr
    facts = json.loads(run(*["release", "combine", "a", "b", "--people-may-overlap", "--out", "ab", "--json"]).stdout)
    assert facts["guarantee"]["loss"]["epsilon"] == 2
    assert [part["id"] for part in facts["parameters"]["combined"]["parts"]] == [
        dc.Release.load(tmp_path / shop).id for shop in "ab"
    ]
    none = run("recommend", "abc", "--user", "u1")
    assert "abc holds 'item-counts', which is not a model. Fit one" in none.stderr
    again = run(*["release", "combine", "ab", "c", "--disjoint-people", "--out", "nested", "--name", "everybody"])
    assert again.returncode == 0, again.stderr
    assert dc.Release.load(tmp_path / "nested").dataset == "everybody"
    shown = " ".join(run("release", "show", "nested").stdout.split())
    assert "people declared disjoint" in shown
    assert "people may overlap" in shown
    for shop in SHOPS:
        assert f"({dc.Release.load(tmp_path / shop).id[:12]}): ε = 1, δ = 0; proved" in shown


@pytest.mark.usefixtures("shops")
def test_a_model_in_two_rounds(run, tmp_path: Path) -> None:
    budget = "--epsilon 6 --delta 1e-6"
    for shop in SHOPS:
        done = run(*f"fit {shop}.parquet {budget} --ledger {shop}.db --round 1 --out {shop}1".split())
        assert done.returncode == 0, done.stderr
        assert "round 1 of a ranking model of 30 items" in done.stdout
        assert "… --disjoint-people --out FOLDER (or --people-may-overlap)" in done.stderr
    assert run(*["release", "combine", "a1", "b1", "c1", "--disjoint-people", "--out", "round1"]).returncode == 0
    for shop in SHOPS:
        asked = f"fit {shop}.parquet {budget} --ledger {shop}.db --round 2 --after round1 --out {shop}2"
        done = run(*asked.split())
        assert done.returncode == 0, done.stderr
        assert "took no part" not in done.stdout
    # All of the budget is spent, and no more: a third round, or a first one again, would be refused.
    refused = run(*f"fit a.parquet {budget} --ledger a.db --round 1 --out a1again".split())
    assert refused.returncode == 3, refused.stderr
    done = run(*["release", "combine", "a2", "b2", "c2", "--disjoint-people", "--out", "model"])
    assert done.returncode == 0, done.stderr
    assert "ε ≈ 6 at δ = 1e-6" in done.stdout
    (tmp_path / "history.json").write_text(json.dumps({"film-1": 5, "film-2": 4}))
    best = run("recommend", "model", "--history", "history.json", "-n", 3, "--json")
    assert len(json.loads(best.stdout)) == 3, best.stderr
    records = dc.read(tmp_path / "a.parquet")
    assert isinstance(records, dc.Interactions)
    somebody = records.users.ids()[0]
    mine = run("recommend", "model", "--user", somebody, "--data", "a.parquet", "-n", 3, "--json")
    assert len(json.loads(mine.stdout)) == 3, mine.stderr


@pytest.mark.usefixtures("shops")
def test_a_round_that_is_run_again_under_its_key_is_charged_once(run, tmp_path: Path) -> None:
    asked = "fit a.parquet --epsilon 6 --delta 1e-6 --ledger a.db --round 1 --key monday --out a1"
    first, again = (run(*asked.split()) for _ in range(2))
    assert first.returncode == again.returncode == 0, again.stderr
    assert "nothing was charged" in again.stderr
    records = dc.read(tmp_path / "a.parquet")
    assert len(dc.Ledger(tmp_path / "a.db").statement(records).entries) == 1


@pytest.mark.usefixtures("shops")
def test_counts_in_rounds_and_from_parts(run) -> None:
    for number, more in enumerate(("", "--after r1 --parts 3"), start=1):
        for shop in "ab":
            asked = f"count {shop}.parquet --method hybrid --epsilon 1 --no-ledger --round {number} {more}"
            done = run(*asked.split(), "--out", f"{shop}{number}")
            assert done.returncode == 0, done.stderr
        done = run(*f"release combine a{number} b{number} --disjoint-people --out r{number}".split())
        assert done.returncode == 0, done.stderr
    assert run("top", "r2", "-k", 3).returncode == 0


@pytest.fixture
def sites(tmp_path: Path) -> None:
    tags = synthetic.tags(users=120, resources=20, seed=7).cleaned()
    for number, site in enumerate(SHOPS):
        write(tags.filter(tags.user % 3 == number, independent=True), tmp_path / f"{site}.parquet")
    for name, ids in (("tags", tags.tags), ("pages", tags.resources)):
        (tmp_path / f"{name}.txt").write_text("".join(f"{one}\n" for one in ids.ids()))


@pytest.mark.usefixtures("sites")
def test_tags_in_two_rounds(run, tmp_path: Path) -> None:
    asked = "--epsilon 20 --delta 1e-6 --vocabulary tags.txt --resources pages.txt --no-ledger"
    for number, more in enumerate(("--round 1", "--round 2 --after r1"), start=1):
        for site in SHOPS:
            done = run(*f"tags release {site}.parquet {asked} {more} --out {site}{number}".split())
            assert done.returncode == 0, done.stderr
        done = run(*f"release combine a{number} b{number} c{number} --disjoint-people --out r{number}".split())
        assert done.returncode == 0, done.stderr
    shown = run("release", "show", "r2").stdout
    assert "noisy sums about" in shown
    assert "combined from 3 curators" in shown
    found = run(*["tags", "recommend", "r2", "--user", "u1", "--resource", "page-1", "-n", "3", "--json"])
    assert len(json.loads(found.stdout)["tags"]) == 3, found.stderr
    counts = json.loads(run("release", "show", "r2", "--part", "tags", "--json").stdout)
    assert counts == dc.Release.load(tmp_path / "r2").table("tags").to_dicts()


@pytest.mark.usefixtures("sites")
def test_popularity_of_tags_and_other_lists(run, tmp_path: Path) -> None:
    asked = "--epsilon 1 --vocabulary tags.txt --no-ledger"
    for site in "ab":
        assert run(*f"tags release {site}.parquet {asked} --out {site}".split()).returncode == 0
    done = run(*["release", "combine", "a", "b", "--people-may-overlap", "--out", "ab"])
    assert done.returncode == 0, done.stderr
    assert "ε = 2." in done.stdout
    shown = run("release", "show", "ab", "--part", "tags").stdout
    assert "count" in shown
    refused = run("release", "show", "ab", "--part", "links")
    assert refused.returncode != 0
    (tmp_path / "fewer.txt").write_text("".join((tmp_path / "tags.txt").read_text().splitlines(keepends=True)[1:]))
    other = asked.replace("tags.txt", "fewer.txt")
    assert run(*f"tags release c.parquet {other} --out c".split()).returncode == 0
    refused = run(*["release", "combine", "a", "c", "--disjoint-people", "--out", "x"])
    assert refused.returncode != 0
    assert "another list of tags. Give all curators the same list of tags (--vocabulary FILE)" in " ".join(
        refused.stderr.split()
    )


@pytest.fixture
def clinics(tmp_path: Path) -> None:
    for number, clinic in enumerate(SHOPS):
        write(synthetic.survey(households=60 + 20 * number, seed=number), tmp_path / f"{clinic}.parquet")


@pytest.mark.usefixtures("clinics")
def test_answers_about_the_rows_of_three_clinics(run, tmp_path: Path) -> None:
    dc.Ledger(tmp_path / "a.db").open(
        dc.read(tmp_path / "a.parquet"), epsilon=1, unit="group/replace:8", name="rows of a"
    )
    for clinic, ledger in zip(SHOPS, ("--ledger a.db", "--no-ledger", "--no-ledger"), strict=True):
        asked = f"query {clinic}.parquet --marginals 2 --epsilon 1 --coupling household --at-most 8 --round 1 {ledger}"
        done = run(*asked.split(), "--out", f"{clinic}1")
        assert done.returncode == 0, done.stderr
        assert "round 1 of answers to 352 linear queries" in done.stdout
    done = run(*["release", "combine", "a1", "b1", "c1", "--disjoint-people", "--out", "all"])
    assert done.returncode == 0, done.stderr
    assert "answers to 352 linear queries, combined from 3 curators" in done.stdout
    rows = sum(len(dc.read(tmp_path / f"{clinic}.parquet")) for clinic in SHOPS)
    answers = json.loads(run("release", "show", "all", "--part", "answers", "--json").stdout)
    assert len(answers) == 352
    assert sum(one["answer"] for one in answers) == pytest.approx(21 * rows)  # of 21 pairs of attributes
    whole = run("release", "verify", "all", "--ledger", "a.db")
    assert "A part of it was charged to 'rows of a'" in whole.stdout, whole.stderr


@pytest.mark.usefixtures("clinics")
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("query a.parquet --marginals 2 --epsilon 1 --round 1 --method tree", "chooses by scores"),
        ("query a.parquet --marginals 2 --epsilon 1 --round 1 --method pmw", "does not release sums"),
        ("query a.parquet --marginals 2 --epsilon 1 --round 1 --synthetic rows.csv", "--synthetic and --estimate"),
        ("query a.parquet --ask --epsilon 1 --round 1", "--ask, --synthetic"),
        ("query a.parquet --marginals 2 --epsilon 1 --round 2", "Give --after FOLDER"),
        ("query a.parquet --marginals 2 --epsilon 1 --at-most 8", "--at-most goes with --coupling"),
        ("query a.parquet --marginals 2 --epsilon 1 --coupling household --at-most 1", "cannot be stated"),
    ],
)
def test_mistakes_with_tables(run, tmp_path: Path, asked: str, words: str) -> None:
    done = run(*asked.split(), "--no-ledger", "--out", "x")
    assert done.returncode != 0
    assert words in " ".join(done.stderr.split())
    assert not (tmp_path / "x").exists()


FIT = "fit a.parquet --epsilon 6 --delta 1e-6 --no-ledger --out x"


@pytest.mark.usefixtures("shops")
@pytest.mark.parametrize(
    ("asked", "code", "words"),
    [
        ("release combine a a2 --out x", 2, "Give --disjoint-people or --people-may-overlap"),
        ("release combine a a2 --disjoint-people --people-may-overlap --out x", 2, "exclude each other"),
        ("release combine a a --disjoint-people --out x", None, "there twice"),
        ("release combine a --disjoint-people --out x", 2, "at least two"),
        ("release combine a a2", 2, "--disjoint-people"),
        ("release combine a a2 --disjoint-people", 2, "--out FOLDER"),
        ("release combine a r1 --disjoint-people --out x", None, "some are not"),
        (f"{FIT} --round 2", 2, "Give --after FOLDER"),
        (f"{FIT} --round 3 --after r1", None, "what follows is round 2"),
        (f"{FIT} --after a", None, "must be the release of a round"),
        (f"{FIT} --round 1 --model ease", 2, "no setting"),
        ("fit a.parquet --no-ledger --out x --round 1 --model ease", 2, "protects nobody"),
        ("count a.parquet --epsilon 1 --no-ledger --round 1 --finish nonnegative --out x", 2, "for the combination"),
    ],
)
def test_mistakes(run, tmp_path: Path, asked: str, code: int | None, words: str) -> None:
    records = dc.read(tmp_path / "a.parquet")
    for place in ("a", "a2"):
        dc.counting.ItemCounts(epsilon=1).release(records).save(tmp_path / place)
    from discreet.combining import release_round

    release_round(dc.PrivateRecommender(epsilon=6, delta="1e-6"), records).save(tmp_path / "r1")
    done = run(*asked.split())
    assert done.returncode == (code if code is not None else done.returncode)
    assert done.returncode != 0
    assert words in " ".join(done.stderr.split())
    assert not (tmp_path / "x").exists()
