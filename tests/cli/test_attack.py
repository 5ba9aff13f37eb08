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


def test_wrong_use_of_attack(run, films: Path) -> None:
    for wrong, word in (
        (["--against", "magic"], "no model 'magic'"),
        (["--against", ","], "which models"),
        (["--attack", "magic"], "no attack"),
        (["--choose", "magic"], "choose"),
        (["--similarity", "magic"], "no similarity"),
        (["--known", "0"], "known"),
        (["--against", "knn", "--known", "1000"], "nobody has"),
    ):
        done = run("attack", "films.parquet", *wrong)
        assert done.returncode == 2, (wrong, done.stderr)
        assert word in done.stderr
    unknown = run("attack", "films.parquet", "--against", "knn", "--target", "nobody")
    assert unknown.returncode == 1
    assert "nobody" in unknown.stderr
    assert "Traceback" not in unknown.stderr
