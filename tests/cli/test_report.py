"""`discreet report`, and audits that are kept for it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path


def test_a_report_names_releases_and_audits(run, films: Path, tmp_path: Path) -> None:
    assert run("ledger", "open", films, "--epsilon", "2", "--population", "viewers", "--ledger", "b.db").returncode == 0
    spent = ("count", films, "--epsilon", "1/2", "--option", "cap=3", "--out", "counts", "--ledger", "b.db")
    assert run(*spent).returncode == 0
    audit = ("audit", films, "--model", "weighted", "--epsilon", "1", "--option", "cap=3", "--runs", "10", "--attacks")
    kept = run(*audit, "canary", "--processes", "1", "--out", "audit.html", "--ledger", "b.db")
    assert kept.returncode in (0, 1), kept.stderr
    digest = hashlib.sha256((tmp_path / "audit.html").read_bytes()).hexdigest()
    assert digest in kept.stderr
    done = run("report", "--ledger", "b.db", "--out", "board.html")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("viewers: ")
    page = (tmp_path / "board.html").read_text()
    assert digest in page
    assert "<h2>viewers</h2>" in page
    refused = run("report", "--ledger", "b.db", "--out", "board.html")
    assert refused.returncode == 1
    assert "--overwrite" in refused.stderr
    told = json.loads(run("report", "--ledger", "b.db", "--population", "viewers", "--json").stdout)
    assert told["populations"][0]["audits"][0]["digest"] == digest
    listed = json.loads(run("ledger", "audits", "viewers", "--ledger", "b.db", "--json").stdout)
    assert [(one["id"], one["model"], one["digest"]) for one in listed] == [(1, "weighted", digest)]
    assert "weighted" in run("ledger", "audits", films, "--ledger", "b.db").stdout
    assert told["populations"][0]["statement"]["spent"]["epsilon"] == 0.5, "an audit is charged nothing"


def test_an_audit_for_a_ledger_that_does_not_know_the_people_is_refused_first(run, films: Path, tmp_path: Path) -> None:
    assert run("ledger", "open", "--epsilon", "2", "--population", "others", "--ledger", "b.db").returncode == 0
    audit = ("audit", films, "--model", "weighted", "--epsilon", "1", "--runs", "2", "--attacks", "canary")
    refused = run(*audit, "--processes", "1", "--ledger", "b.db")
    assert refused.returncode == 1, refused.stderr
    assert "account" in refused.stderr
    alone = run(*audit, "--population", "others")
    assert alone.returncode == 2, alone.stderr
    named = run(*audit, "--processes", "1", "--ledger", "b.db", "--population", "others")
    assert "kept in b.db as audit 1" in named.stderr


def test_a_report_needs_a_ledger_with_accounts(run) -> None:
    missing = run("report", "--ledger", "none.db")
    assert missing.returncode == 1
    assert "no accounts yet" in missing.stderr
