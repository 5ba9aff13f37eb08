"""The ledger on the command line: copies, and charges for which nothing was saved."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
import sys
from collections import deque
from pathlib import Path

import pytest

from discreet.cli import main
from discreet.privacy import Ledger, Release

LEDGER = ("--ledger", "budget.db")
COUNT = ("count", "films.parquet", "--epsilon", "1/2", *LEDGER)


@pytest.fixture
def opened(run, films: Path) -> Path:
    assert run("ledger", "open", "films.parquet", "--epsilon", "2", *LEDGER).returncode == 0
    return films.with_name("budget.db")


def test_a_second_dataset_needs_a_word_about_its_people(run, opened: Path) -> None:
    from discreet.data import read

    films = read(opened.with_name("films.parquet"))
    films.filter(lambda frame: frame["rating"] > 2).to_frame().write_parquet(opened.with_name("tuesday.parquet"))
    opening = ("ledger", "open", "tuesday.parquet", "--epsilon", "2", *LEDGER)
    refused = run(*opening)
    assert refused.returncode == 1
    assert "--same-people-as films" in refused.stderr
    assert "--new-people" in refused.stderr
    assert "another limit" in run(*opening[:3], "--epsilon", "9", *LEDGER, "--same-people-as", "films").stderr
    assert run(*opening, "--same-people-as", "films", "--new-people").returncode == 2
    assert run(*opening, "--same-people-as", "films").returncode == 0
    assert len(Ledger(opened).datasets()) == 1
    assert len(Ledger(opened).datasets()[0].fingerprints) == 4  # of both files, in memory and in parts
    assert run("ledger", "open", "--new-people", "--population", "staff", "--epsilon", "1", *LEDGER).returncode == 0
    assert "staff" in run("ledger", "show", *LEDGER).stdout


def test_a_budget_per_year(run, films: Path) -> None:
    opening = ("ledger", "open", "--population", "viewers", "--epsilon", "2", "--per", "year", "--lifetime", "3")
    assert "per year (UTC), lifetime ε = 3" in run(*opening, *LEDGER).stdout
    assert run("ledger", "attach", "films.parquet", "viewers", *LEDGER).returncode == 0
    counting = ("count", "films.parquet", "--epsilon", "3/2", *LEDGER, "--out", "counts")
    refused = run(*counting)
    assert "--window" in refused.stderr
    import polars as pl

    first = int(pl.read_parquet(films)["timestamp"].min())  # type: ignore[arg-type]
    from datetime import UTC, datetime

    year = str(datetime.fromtimestamp(first, tz=UTC).year)
    assert run("ledger", "attach", "films.parquet", "viewers", "--window", year, *LEDGER).returncode == 0
    counted = run(*counting, "--window", year)
    assert counted.returncode == 0, counted.stderr
    assert f"records of {year} (UTC)" in counted.stdout
    assert "75% of ε = 2 is charged" in counted.stderr
    again = run(*counting[:-1], "more", "--window", year)
    assert again.returncode == 3
    assert "entries 1" in again.stderr
    assert "begins on" in again.stderr
    told = json.loads(run("ledger", "statement", "viewers", *LEDGER, "--json").stdout)
    assert told["periods"][0]["period"] == year
    assert told["lifetime"]["share"] == 0.5


def test_a_run_that_is_repeated_under_its_key_is_charged_once(run, opened: Path) -> None:
    keyed = (*COUNT, "--out", "counts", "--key", "monday")
    first = run(*keyed)
    assert first.returncode == 0
    again = run(*keyed)
    assert again.returncode == 0, again.stderr
    assert again.stdout == first.stdout
    assert "nothing was charged" in again.stderr
    (entry,) = Ledger(opened).statement("films").entries
    assert entry.saved_in == str(opened.with_name("counts").absolute())
    other = run(*COUNT[:2], "--epsilon", "1/4", *LEDGER, "--out", "more", "--key", "monday")
    assert other.returncode == 1
    assert "something else was asked for" in other.stderr
    opened.with_name("counts").rename(opened.with_name("moved"))
    missing = run(*keyed)
    assert missing.returncode == 1
    assert "no longer in" in missing.stderr
    assert len(Ledger(opened).statement("films").entries) == 1
    assert run(*COUNT[:2], "--epsilon", "1", "--no-ledger", "--out", "c", "--key", "k").returncode == 2


def test_a_plan_before_anything_is_spent(run, opened: Path) -> None:
    planned = run("ledger", "plan", "--nights", "365", "--epsilon", "4", "--delta", "1e-6", "--users", "6000", "--json")
    rows = {row["cadence"]: row for row in json.loads(planned.stdout)["cadences"]}
    assert {name: (row["releases"], row["noise each"], row["noise series"]) for name, row in rows.items()} == {
        "nightly": (365, 19.1, 2.94),
        "weekly": (53, 7.28, 2.33),
        "monthly": (12, 3.46, 1.85),
        "quarterly": (4, 2.0, 1.49),
        "once": (1, 1.0, 1.0),
    }
    assert rows["once"]["epsilon each"] == 4
    assert rows["nightly"]["epsilon each"] < 1 / 5
    assert rows["nightly"]["recall each"] < rows["nightly"]["recall series"] < rows["monthly"]["recall series"]
    told = json.loads(planned.stdout)["recommended"]
    assert told.startswith(f"a monthly series: expected to keep {rows['monthly']['recall series']} of the recall")
    assert f"quarterly releases that each pay for themselves, {rows['quarterly']['recall each']}." in told
    # Where nearly everybody is there already, what one release is spent on is spent best.
    asked = "ledger plan --nights 365 --epsilon 4 --delta 1e-6 --users 20000 --history {} --json".format
    assert json.loads(run(*asked(20000).split()).stdout)["recommended"].startswith("a single release: expected")
    assert run(*asked(30000).split()).returncode == 2
    # Many people: the noise of every night is small, so that the freshest model is as good as any.
    many = run("ledger", "plan", "--epsilon", "4", "--delta", "1e-6", "--users", "1000000")
    assert "Recommended: a nightly series: expected to keep 0.98" in many.stdout.replace("\n", " ")
    assert "a series, at any cadence: nightly it has 2.94 times" in run("ledger", "plan", "--epsilon", "4").stdout
    text = run("ledger", "plan", "--population", "films", *LEDGER)
    assert "there is no series" in text.stdout
    assert "ε = 2, δ = 0 over 365 nights" in text.stdout
    assert "left ε = 2" in text.stderr
    assert run("ledger", "plan", "--nights", "10").returncode == 2
    assert "no population 'staff'" in run("ledger", "plan", "--population", "staff", *LEDGER).stderr
    assert Ledger(opened).statement("films").entries == ()


def test_backup_and_restore(run, opened: Path) -> None:
    assert run("ledger", "backup", "monday.backup", *LEDGER).returncode == 0
    assert run(*COUNT, "--out", "counts").returncode == 0
    refused = run("ledger", "restore", "monday.backup", *LEDGER)
    assert refused.returncode == 1
    for said in ("1 entry", "ε = 0.5", "films #1", "--forget"):
        assert said in refused.stderr
    done = run("ledger", "restore", "monday.backup", *LEDGER, "--forget")
    assert done.returncode == 0
    assert "films #1" in done.stdout
    assert "budget.db.replaced-" in done.stderr
    assert Ledger(opened).statement("films").left.epsilon == 2
    again = run("ledger", "restore", "monday.backup", *LEDGER, "--json")
    assert json.loads(again.stdout)["entries"] == []


def test_a_ledger_that_lost_its_head_is_refused_with_the_way_out(run, opened: Path) -> None:
    opened.with_name("budget.db.head").unlink()
    refused = run("ledger", "show", *LEDGER)
    assert refused.returncode == 1
    assert f"discreet ledger restore {opened} --ledger {opened} --forget" in refused.stderr
    assert run("ledger", "restore", "budget.db", *LEDGER, "--forget").returncode == 0
    assert run("ledger", "show", *LEDGER).returncode == 0


def test_a_saved_release_is_recorded_as_saved(run, opened: Path) -> None:
    assert run(*COUNT, "--out", "counts").returncode == 0
    (entry,) = Ledger(opened).statement("films").entries
    assert (entry.outcome, entry.saved_at is None) == ("settled", False)
    assert "unsaved" not in run("ledger", "statement", "films", *LEDGER).stdout


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_stopped_after_the_charge_it_names_the_entry(run, opened: Path, how: signal.Signals) -> None:
    """The signal comes when the release is about to be saved."""
    code = (
        "import os\nfrom discreet.cli import main\nfrom discreet.privacy import Release\n"
        f"Release.save = lambda *_, **__: os.kill(os.getpid(), {int(how)})\nmain()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *COUNT, "--out", "counts"],
        cwd=opened.parent, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 1
    assert "interrupted" in done.stderr
    assert "No release was saved for entry 1 of films (ε = 0.5)" in done.stderr
    assert "Traceback" not in done.stderr
    statement = run("ledger", "statement", "films", *LEDGER).stdout
    assert "settled, not saved" in statement
    assert "unsaved   entry 1: charged, and no saved release is known" in statement
    assert sorted(path.name for path in opened.parent.iterdir()) == ["budget.db", "budget.db.head", "films.parquet"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES])
@pytest.mark.parametrize("room", ["beside the ledger", "in the folder for temporary files", "nowhere"])
def test_when_the_disk_fails_the_release_is_kept_where_there_is_room(
    opened: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], room: str, code: int
) -> None:
    (opened.parent / "full").mkdir()
    (opened.parent / "temporary").mkdir()
    closed = {
        "beside the ledger": ["full"],
        "in the folder for temporary files": ["full", "."],
        "nowhere": ["full", ".", "temporary"],
    }[room]
    write = Release._manifest

    def fail(self: Release, described: object) -> object:
        raise OSError(code, os.strerror(code))

    save = Release.save

    def on_a_full_disk(self: Release, folder: str | Path, **options: bool) -> Path:
        # A kept release stands in a folder of its own; the target itself does not.
        places = [(opened.parent / name).resolve() for name in closed]
        here = Path(folder).absolute()
        monkeypatch.setattr(Release, "_manifest", fail if {here.parent, here.parent.parent} & set(places) else write)
        try:
            return save(self, folder, **options)
        finally:
            monkeypatch.setattr(Release, "_manifest", write)

    monkeypatch.chdir(opened.parent)
    monkeypatch.setattr("discreet.privacy.charging._CHARGES", deque())
    monkeypatch.setattr(Release, "save", on_a_full_disk)
    monkeypatch.setattr("tempfile.tempdir", str(opened.parent / "temporary"))
    monkeypatch.setenv("HOME", str(opened.parent / "full"))
    monkeypatch.setattr(sys, "argv", ["discreet", *COUNT, "--out", "full/counts"])
    with pytest.raises(SystemExit) as stopped:
        main()
    said = capsys.readouterr().err
    assert stopped.value.code == 1
    assert os.strerror(code) in said
    assert list((opened.parent / "full").iterdir()) == []
    kept = [path for path in opened.parent.rglob("counts") if path.is_dir()]
    (entry,) = Ledger(opened).statement("films").entries
    if room == "nowhere":
        assert kept == []
        assert "No release was saved for entry" in said
        assert entry.outcome == "settled, not saved"
        return
    (folder,) = kept
    assert str(folder) in said.replace("\n", "")
    assert folder.parent.parent == (opened.parent if room == "beside the ledger" else opened.parent / "temporary")
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    assert Release.load(folder).id == entry.release
    assert entry.outcome == "settled"


def test_tags_on_an_account_per_month(run, tmp_path: Path) -> None:
    (tmp_path / "tags.csv").write_text("user,url,tag,date\nann,tea.org,tea,2026-11-02\nbob,rum.org,rum,2026-10-02\n")
    (tmp_path / "words.txt").write_text("tea\nrum\n")
    run("ledger", "open", "--population", "readers", "--epsilon", "2", "--delta", "1e-5", "--per", "month", *LEDGER)
    asked = "tags release tags.csv --epsilon 1 --delta 1e-6 --vocabulary words.txt --resources-public --out release"
    spent = run(*asked.split(), *LEDGER, "--population", "readers")
    assert spent.returncode == 1
    assert "--window 2026-11 --time-zone UTC. Data without times belong to no period" in spent.stderr
    done = run(*asked.split(), *LEDGER, "--population", "readers", "--window", "2026-11")
    assert done.returncode == 0, done.stderr
    assert "for one user's records of 2026-11 (UTC), present or absent" in done.stdout
