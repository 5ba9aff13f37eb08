"""`discreet attack` as a process."""

from __future__ import annotations

import json
from pathlib import Path


def test_attack_tells_a_leak_from_a_proof(run, films: Path) -> None:
    done = run(
        "attack", "films.parquet", "--against", "knn,ppns,private-item-knn", "--known", "6", "--targets", "6", "--json"
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    rows = {row["model"]: row for row in report["rows"]}
    assert list(rows) == ["knn", "ppns", "private-item-knn"]
    assert rows["knn"]["exact_present"] > 0.9 > 0.6 > rows["knn"]["exact_absent"]
    assert rows["ppns"]["exact_present"] > rows["ppns"]["exact_absent"]
    assert rows["ppns"]["standing"] == "refuted"
    assert rows["private-item-knn"]["standing"] == "proved"
    assert rows["private-item-knn"]["epsilon_lower"] == 0
    assert report["settings"]["known"] == 6


def test_attack_prints_one_table_and_what_it_means(run, films: Path) -> None:
    done = run(
        "attack",
        "films.parquet",
        "--against",
        "knn",
        "--known",
        "6",
        "--target",
        "u17",
        "--attack",
        "beta-sybil",
        "--beta",
        "1",
    )
    assert done.returncode == 0, done.stderr
    assert "exact, absent" in done.stdout
    assert "attacked: 1" in done.stdout
    assert [line.split()[1] for line in done.stdout.splitlines() if line.strip().startswith("knn")] == ["10", "20"]
    assert "0 proves nothing" in done.stdout


LISTS = """
class Lists:
    def __init__(self, k=3):
        self.k = k
    def fit(self, data):
        counts = data.records_per_item
        self.best = [name for _, name in sorted(zip(-counts, data.items.ids()))]
    def recommend(self, user, n):
        return self.best[: self.k]
"""


def test_attack_says_where_it_does_not_apply(run, films: Path, tmp_path: Path) -> None:
    (tmp_path / "own_lists.py").write_text(LISTS)
    common = ["attack", "films.parquet", "--known", "6", "--targets", "2"]
    done = run(*common, "--model", "own_lists:Lists", "--model", "knn", "--sees", "ratings", "--json")
    assert done.returncode == 0, done.stderr
    lists, knn = json.loads(done.stdout)["rows"]
    assert lists["obstacle"] == "the model shows no ratings to a client; attack its list (--sees list)"
    assert lists["exact_present"] is lists["epsilon_lower"] is None
    assert knn["obstacle"] is None
    assert knn["exact_present"] > 0
    done = run(*common, "--model", "popularity")
    assert "does not apply" in done.stdout
    assert "attack its list (--sees list)." in done.stdout
    assert "0.000" not in done.stdout
    done = run(*common, "--model", "own_lists:Lists", "--option", "k=5", "--sees", "list", "--json")
    assert json.loads(done.stdout)["rows"][0]["obstacle"] is None
    done = run(*common[:2], "--attack", "lia", "--model", "own_lists:Lists", "--targets", "2")
    assert "does not apply: it is not a Recommender of discreet" in done.stdout


def test_wrong_use_of_attack(run, films: Path) -> None:
    for wrong, word in (
        (["--against", "magic"], "no model called 'magic'"),
        (["--against", ","], "no model was given"),
        (["--against", "knn,ppns", "--option", "k=3"], "--option is for one model"),
        (["--attack", "magic"], "--attack must be one of"),
        (["--choose", "magic"], "choose"),
        (["--similarity", "magic"], "no similarity"),
        (["--known", "0"], "known"),
        (["--against", "knn", "--known", "1000"], "no user has"),
    ):
        done = run("attack", "films.parquet", *wrong)
        assert done.returncode == 2, (wrong, done.stderr)
        assert word in done.stderr
    unknown = run("attack", "films.parquet", "--against", "knn", "--target", "nobody")
    assert unknown.returncode == 1
    assert "nobody" in unknown.stderr
    assert "Traceback" not in unknown.stderr
