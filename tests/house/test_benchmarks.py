"""Benchmarks are run by hand: what they are about must at least be there."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from benchmarks import papers, parts
from benchmarks.audit import systems

from discreet.models.registry import names
from discreet.studies import STUDIES


def test_every_system_of_the_audit_can_be_made() -> None:
    made = {name: make() for name, (_, make) in systems().items()}
    assert {*names("recommender"), *names("counts"), *names("tags"), *names("answers")} <= set(made)


def test_papers_finds_the_studies_of_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "films").mkdir()
    (tmp_path / "films" / "u.data").write_text("1\t7\t5\t881250949\n")
    (tmp_path / "nltcs.csv").write_text("0,1,0\n")
    (tmp_path / "notes.md").write_text("not a dataset")
    assert papers.main(["--root", str(tmp_path), "--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[2:5:2] for line in listed] == [
        *([study, str(tmp_path / "films")] for study in papers.RATINGS),
        ["cim", str(tmp_path / "nltcs.csv")],
    ]


def test_the_page_of_papers_leads_to_the_reports(tmp_path: Path) -> None:
    done = {"study": "cim", "data": "adult", "place": "cim-my adult", "seconds": 1.0, "run": "Full run."}
    verdicts = {"holds": 2, "not judged here": 1}
    failed = {"study": "pncf", "data": "x", "place": "pncf-x", "seconds": 2.0, "why": "no ratings & no scale."}
    page = papers.write_page(tmp_path, [{**done, "verdicts": verdicts, "not run": ["MWEM"]}, failed], quick=True)
    text = page.read_text()
    assert text.count('<a href="cim-my%20adult/report.html">') == 2
    assert ">cim</a>" in text
    assert "2 holds, 1 not judged here; not run: MWEM</a>" in text
    assert "not run: no ratings &amp; no scale." in text
    assert "pncf-x" not in text, "no link to a report that is not there"
    assert "Quick runs" in text


def test_papers_names_every_study() -> None:
    assert set(papers.FIGURES) == set(STUDIES)
    assert {study for studies in papers.STUDIES.values() for study in studies} == set(STUDIES)


def test_papers_refuses_a_folder_without_datasets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert papers.main(["--root", str(tmp_path)]) == 1
    assert papers.main(["--root", str(tmp_path / "nowhere")]) == 2
    assert papers.main(["--root", str(tmp_path), "--only", "nothing"]) == 2
    assert "no such study" in capsys.readouterr().err


def test_parts_generates_records_and_measures_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "AT_ONCE", 10_000)
    written = parts.generate(tmp_path, 25_000)
    frame = pl.concat(map(pl.read_parquet, sorted(tmp_path.glob("*.parquet"))))
    assert len(list(tmp_path.glob("*.parquet"))) == 3
    assert frame.height == written == frame.unique().height
    assert frame["customer"].n_unique() == round(25_000 / parts.EACH)
    assert 0.8 < written / 25_000 < 1.2
    popular = frame["sku"].value_counts().sort("count", descending=True)["count"]
    assert popular[0] > 10 * popular[1000]
    found = parts.measure(tmp_path)
    assert set(found["seconds"]) == {"scan", "fingerprint", "count", "fit"}
    assert found["disk"] > 8 * written
    assert not list(tmp_path.glob("discreet-scan-*"))
