"""Benchmarks are run by hand: what they are about must at least be there."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from benchmarks import papers, parts
from benchmarks.audit import systems

import claims_page as page
from discreet.models.registry import names
from discreet.studies import STUDIES
from harness import PEERS, Claim, Claims, figure


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


def test_figures_against_peers_are_those_that_the_benchmarks_found() -> None:
    """No figure of the page and of README's table is typed by hand."""
    kept = json.loads(page.KEPT.read_text())
    assert page.PAGE.read_text() == page.page(kept)
    assert page.README.read_text() == page.with_table(page.README.read_text(), kept)
    assert set(kept) == set(page.SUBJECTS), "a benchmark with claims was never run: python -m benchmarks NAME"


def test_a_claim_holds_if_it_is_as_good_as_claimed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "claims.json"
    monkeypatch.setenv("DISCREET_CLAIMS", str(target))
    claims = Claims()
    claims.seconds("fit", "ALS", 2.0, 4.0)
    claims.rate("lists", "ALS", 50, 100, "users/s", 0.5)
    claims.goal("start", 2.9, 3)
    assert claims.close() == 0
    assert [row.ratio for row in claims.rows] == [2.0, 0.5, pytest.approx(3 / 2.9)]
    claims.error("error", "a histogram", 3.0, 2.0, "rows")
    assert claims.close() == 1
    assert "DOES NOT HOLD" in capsys.readouterr().out
    assert [Claim(**row) for row in json.loads(target.read_text())] == claims.rows


def test_rows_that_are_lost_stay_on_the_page() -> None:
    rows = [
        {
            "what": "reading",
            "peer": "polars",
            "ours": 8,
            "theirs": 2,
            "unit": "s",
            "less_is_better": True,
            "least": 0.5,
        },
        {"what": "reading", "peer": "LensKit", "ours": 8, "theirs": 16, "unit": "s", "less_is_better": True},
    ]
    entries = {"ingest": page.entry(rows, 0.5, 12.3)}
    assert "| reading | 8.00 s | polars | 2.00 s | 0.250 | **≥ 0.500: does not hold** |" in page.page(entries)
    assert "| Reading | 0.250 × polars; 2.00 × LensKit |" in page.table(entries)
    text = page.with_table(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n", entries)
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text


@pytest.mark.parametrize(
    ("value", "shown"), [(0, "0"), (0.04567, "0.0457"), (3.14159, "3.14"), (45.67, "45.7"), (12345, "12,345")]
)
def test_figures_have_three_digits(value: float, shown: str) -> None:
    assert figure(value) == shown


def test_every_peer_has_packages() -> None:
    assert all(step for steps in PEERS.values() for step in steps)
