"""`discreet study` as a process."""

from __future__ import annotations

import json
from pathlib import Path


def test_a_study_is_printed_and_kept(run, films: Path, tmp_path: Path) -> None:
    done = run("study", "pncf", "--data", "films.parquet", "--quick", "--out", "kept")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Quick run (--quick): "), "the first line says so"
    assert "MAE, item neighbors, PCC" in done.stdout
    assert "published, Netflix" in done.stdout
    assert "PrivateItemKNN" in done.stdout
    assert "Open kept/report.html" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 104
    assert (tmp_path / "kept" / "report.html").is_file()
    kept = json.loads((tmp_path / "kept" / "report.json").read_text())
    assert kept["study"] == "pncf"
    assert kept["run"].startswith("Quick run (--quick): ")
    refused = run("study", "pncf", "--data", "films.parquet", "--quick", "--out", "kept")
    assert refused.returncode == 1
    assert "--overwrite" in refused.stderr


def test_a_study_for_machines(run, films: Path) -> None:
    done = run("study", "pncf", "--data", "films.parquet", "--quick", "--json", "--seed", "4")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["setting"]["seeds of the splits"] == [400]
    assert report["saved"] is None
    assert set(report["charts"]) == {"mae", "published", "epsilon"}


def test_wrong_use_of_study(run, films: Path, tmp_path: Path) -> None:
    (tmp_path / "bare.csv").write_text("user_id,item_id\na,x\na,y\nb,x\n")
    (tmp_path / "file").touch()
    for arguments, code, words in (
        (["magic"], 2, "NAME must be one of"),
        (["pncf", "--seed", "-1"], 2, "--seed must be"),
        (["pncf", "--data", "nowhere.csv"], 1, "nowhere.csv"),
        (["pncf", "--data", "bare.csv"], 2, "have none"),
        (["pncf", "--data", "films.parquet", "--out", "file/report"], 1, "cannot write"),
        (["pncf", "--data", "films.parquet", "--out", "file"], 1, "there already"),
    ):
        done = run("study", *arguments)
        assert done.returncode == code, (arguments, done.stderr)
        assert words in done.stderr
        assert not done.stdout
        assert "Traceback" not in done.stderr


def test_help_has_an_example(run) -> None:
    done = run("study", "--help")
    assert "discreet study pncf --data ml-100k" in done.stdout
