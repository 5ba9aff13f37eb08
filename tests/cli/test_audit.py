"""`discreet audit`: a verdict, a table, a page, and an exit code that a script can go by."""

from __future__ import annotations

import json
from pathlib import Path

from discreet.data import synthetic
from discreet.data.readers import write


def test_a_refuted_model_is_refuted(run, films: Path, tmp_path: Path) -> None:
    done = run(
        "audit", films, "--model", "ppns", "--epsilon", "1", "--option", "k=5", "--attacks", "swapped-ranks",
        "--runs", "20", "--processes", "1", "--out", "audit.html",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("ppns: REFUTED: at least ")
    assert "at 95 % (claimed ε = 1; swapped-ranks, similar items)" in done.stdout
    assert "<h1>Audit of ppns</h1>" in (tmp_path / "audit.html").read_text()


def test_a_way_to_count_is_audited_as_json(run, films: Path) -> None:
    done = run(
        "audit", films, "--model", "weighted", "--epsilon", "1", "--option", "cap=3", "--runs", "10",
        "--attacks", "canary", "--processes", "1", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert not report["refuted"]
    assert report["scores"][0]["claimed"]["epsilon"] == 1


def test_tags_and_tables_are_audited_alike(run, tmp_path: Path) -> None:
    write(synthetic.tags(users=40, resources=12, seed=7), tmp_path / "tags.parquet")
    write(synthetic.survey(households=30, seed=7), tmp_path / "survey.parquet")
    common = ["--epsilon", "1", "--processes", "1", "--runs", "60"]
    pritop = ["--model", "pritop", "--option", "topics=4", "--option", "iterations=20", "--attacks", "lone-tag"]
    done = run("audit", "tags.parquet", *pritop, *common)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("pritop: REFUTED: at least ")
    cim = ["--model", "cim", "--option", "update=corrected", "--option", "coupling=none", "--attacks", "one-row"]
    done = run("audit", "survey.parquet", *cim, *common)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("cim: REFUTED: at least ")
    done = run("audit", "survey.parquet", "--model", "ptr-j", "--epsilon", "1", "--delta", "1e-6")
    assert (done.returncode, done.stdout) == (2, "")
    assert "holds Table; this command needs tags" in done.stderr


def test_wrong_use(run, films: Path) -> None:
    for arguments, message in (
        ([], "what is to be audited?"),
        (["--model", "knn", "--attacks", "nonsense"], "there is no attack 'nonsense'"),
        (["--model", "guessing"], "there is nothing called 'guessing' to audit"),
        (["--target", "http://localhost/{user}"], "--train-url"),
    ):
        done = run("audit", films, *arguments)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert message in done.stderr
