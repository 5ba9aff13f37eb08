"""`discreet audit`: a verdict, a table, a page, and an exit code that a script can go by."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

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
        "--attacks", "canary", "--processes", "1", "--confidence", SURE, "--json",
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


SURE = "0.9999999999"
"""A correct model is refuted once in 10¹⁰ times."""

OWN = """
import numpy as np

class NoisyCounts:
    def __init__(self, scale=12, cap=6):
        self.scale, self.cap, self.rng = scale, cap, np.random.default_rng()

    def fit(self, data):
        print("learning")
        items, counts = data.items.ids(), np.zeros(data.n_items)
        for user in range(data.n_users):
            counts[np.unique(data.item[data.user == user])[: self.cap]] += 1
        noise = self.rng.geometric(1 / self.scale, (2, len(items))) if self.scale else np.zeros((2, 1))
        self.scores_ = dict(zip(items, (counts + noise[0] - noise[1]).tolist()))

    def recommend(self, users, n=10):
        return [(item, self.scores_[item]) for item in sorted(self.scores_, key=self.scores_.get, reverse=True)[:n]]
"""


@pytest.fixture
def own_models(tmp_path: Path) -> Path:
    (tmp_path / "own_models.py").write_text(OWN)
    return tmp_path / "own_models.py"


def test_a_class_of_a_module_is_audited(run, films: Path, own_models: Path) -> None:
    common = ["--attacks", "canary-recommendations", "--runs", "40", "--processes", "1", "--confidence", SURE]
    model = ["--model", "own_models:NoisyCounts", "--claim", "1"]
    done = run("audit", films, *model, *common)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("NoisyCounts: consistent with ε = 1")
    assert "learning" not in done.stdout
    done = run(
        "audit", films, "--target", f"{own_models}:NoisyCounts", "--epsilon", "1", "--option", "scale=0", *common
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("NoisyCounts: REFUTED: at least ")
    assert "two fits to the same records gave the same answers" in done.stdout
    done = run("audit", films, *model, "--unit", "record", "--attacks", "rating-recommendations", *common[2:], "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["scores"][0]["claimed"]["epsilon"] == 1


def test_ctrl_c_reports_what_was_played(films: Path, own_models: Path, tmp_path: Path) -> None:
    program = [sys.executable, "-c", "from discreet.cli import main; main()", "audit", str(films)]
    command = [*program, "--model", "own_models:NoisyCounts", "--claim", "1"]
    command += ["--attacks", "canary-recommendations", "--runs", "100000", "--seconds", "600", "--keep", "kept"]
    asked = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(600):
        time.sleep(0.2)
        assert asked.poll() is None
        if any(len(file.read_text().splitlines()) > 60 for file in tmp_path.glob("kept/*.jsonl")):
            break
    asked.send_signal(signal.SIGINT)
    out, errors = asked.communicate(timeout=600)
    assert asked.returncode == 1, errors
    assert out.startswith("NoisyCounts: ")
    assert "the audit was interrupted: it reports what was played until then" in out
    assert "canary-recommendations" in out


def test_wrong_use(run, films: Path, own_models: Path) -> None:
    for arguments, message in (
        ([], "no model was given"),
        (["--model", "nowhere.module:Model"], "there is no module 'nowhere"),
        (["--model", "own_models.py:NoisyCounts", "--option", "kk=3"], "unexpected keyword argument 'kk'"),
        (["--model", "weighted", "--epsilon", "1", "--option", "cap=3", "--unit", "record"], "there is no claim"),
        (["--model", "knn", "--attacks", "nonsense"], "there is no attack 'nonsense'"),
        (["--model", "guessing"], "no model or method called 'guessing'"),
        (["--target", "http://localhost/{user}"], "--train-url"),
    ):
        done = run("audit", films, *arguments)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert message in done.stderr
