"""Reports: what is kept is what was found, whole or not at all."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet.errors import ReleaseError, UsageError
from discreet.reports import Chart
from discreet.studies import STUDIES, StudyReport, published, study
from discreet.studies.study import published_table

POINTS = pl.DataFrame(
    {
        "k": [5, 10, 5, 10],
        "mae": [0.8, 0.7, 0.9, None],
        "sd": [0.01, 0.02, None, 0.01],
        "method": ["a", "a", "b", "b"],
        "who": ["item", "item", "user", "user"],
    }
)


@pytest.fixture
def report() -> StudyReport:
    chart = Chart("errors", "Errors <by k>", POINTS, x="k", y="mae", series="method", panel="who", band="sd")
    table = pl.DataFrame({"method": ["a", "b"], "MAE": [0.73451, math.nan]})
    return StudyReport(
        "tea",
        "Tea & rum",
        "A book",
        {"seed": np.int64(3), "k": [5, 10]},
        {"MAE, all k": table},
        (chart,),
        ("One < two.",),
    )


def test_a_saved_report_is_a_page_a_document_tables_and_pictures(report: StudyReport, tmp_path: Path) -> None:
    folder = report.save(tmp_path / "made" / "report")
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    assert files == ["charts/errors.svg", "report.html", "report.json", "tables/mae-all-k.csv"]
    page = (folder / "report.html").read_text()
    assert "Tea &amp; rum" in page
    assert "One &lt; two." in page
    assert "<svg" in page
    assert "http" not in page.replace("http://www.w3.org/", "")
    kept = json.loads((folder / "report.json").read_text())
    assert kept == report.to_dict()
    assert kept["tables"]["MAE, all k"] == [{"method": "a", "MAE": 0.73451}, {"method": "b", "MAE": None}]
    assert kept["setting"] == {"seed": 3, "k": [5, 10]}
    rows = list(csv.DictReader((folder / "tables" / "mae-all-k.csv").open()))
    assert float(rows[0]["MAE"]) == 0.73451
    assert [path.name for path in tmp_path.joinpath("made").iterdir()] == ["report"], "nothing is left beside it"


def test_what_is_there_is_not_replaced_unless_it_is_a_report_and_asked_for(report: StudyReport, tmp_path: Path) -> None:
    folder = report.save(tmp_path / "report")
    with pytest.raises(ReleaseError, match="there already"):
        report.save(folder)
    (folder / "old").touch()
    with pytest.raises(ReleaseError, match="'old', which discreet did not write"):
        report.save(folder, overwrite=True)
    (folder / "old").unlink()
    report.save(folder, overwrite=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "work").touch()
    with pytest.raises(ReleaseError, match="not wholly a report"):
        report.save(tmp_path / "mine", overwrite=True)
    assert (tmp_path / "mine" / "work").exists()
    (tmp_path / "file").touch()
    with pytest.raises(ReleaseError, match="cannot write"):
        report.save(tmp_path / "file" / "report")


def test_a_failed_write_leaves_what_was_there(
    report: StudyReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = report.save(tmp_path / "report")
    before = (folder / "report.json").read_text()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(ReleaseError, match="No space left"):
        report.save(folder, overwrite=True)
    assert (folder / "report.json").read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_verdicts_are_counted_and_those_that_fail_are_marked(report: StudyReport, check_page) -> None:
    assert report.verdicts is None
    assert report.summary == "No claims were published for this experiment."
    judged = pl.DataFrame({"claim": ["a", "a", "b"], "verdict": ["holds", "does not hold", "not judged here"]})
    told = StudyReport("tea", "Tea", "A book", {}, {"Verdicts": judged, **report.tables}, report.charts)
    counted = "Verdicts on 2 claims, one for each case: 1 hold, 1 do not hold, 1 not judged here."
    assert told.summary.startswith(f"{counted} Numbers that differ by less than 1e-09")
    page = told.html()
    assert page.count('<tr class="bad">') == 1
    assert page.index("1 hold, 1 do not hold") < page.index("<svg") < page.index("Verdicts") < page.index("MAE, all k")
    check_page(page)


def test_names_that_would_hide_each_other_are_refused(report: StudyReport) -> None:
    empty = pl.DataFrame({"a": [1]})
    with pytest.raises(UsageError, match="same name"):
        StudyReport("x", "X", "", {}, {"A b": empty, "a-b": empty}, (), ())
    with pytest.raises(UsageError, match="same name"):
        StudyReport("x", "X", "", {}, {}, report.charts * 2, ())


def test_studies_by_name() -> None:
    assert {"pncf", "ppns", "twins", "sampling", "frontier", "slope-one", "subsets"} <= set(STUDIES)
    with pytest.raises(UsageError, match="no study 'magic'"):
        study("magic")
    with pytest.raises(UsageError, match="not on list"):
        study("pncf", [1])  # type: ignore[arg-type]


def test_published_figures_are_whole_and_say_where_they_stand() -> None:
    folder = Path(str(__import__("discreet").__file__)).parent / "studies" / "published"
    names = sorted(path.stem for path in folder.glob("*.json"))
    assert {"pncf", "pncf-tests", "pncf-anchors"} <= set(names)
    for name in names:
        kept = published(name)
        assert kept["source"], name
        assert kept["where"], name
        assert kept.get("rows") or kept.get("claims"), name
        assert all(len(row) == len(kept["columns"]) for row in kept.get("rows", ())), name
    for unknown in ("magic", "../report", ""):
        with pytest.raises(UsageError, match="no figures are kept"):
            published(unknown)


def test_table_3_1_is_typed_in_as_it_is_told_in_the_text() -> None:
    """The text derives gains from the table, most of them as a share of DP's error."""
    table = published_table("pncf")
    assert table.height == 2 * 2 * 10 * 3
    assert table.group_by("axis", "similarity", "method").len()["len"].to_list() == [10] * 12
    error = {row[:4]: row[4] for row in table.select("axis", "similarity", "k", "method", "mae").rows()}
    for axis, k, gain in (("item", 10, 0.1307), ("user", 30, 0.0871)):
        assert 1 - error[axis, "pearson", k, "PNCF"] / error[axis, "pearson", k, "DP"] == pytest.approx(gain, abs=5e-5)
    # At k = 40 the text takes the share of PNCF's error instead.
    at_40 = error["item", "pearson", 40, "DP"] / error["item", "pearson", 40, "PNCF"] - 1
    assert at_40 == pytest.approx(0.1360, abs=5e-5)
    anchors = {row[:2]: row[2] for row in published_table("pncf-anchors").select("data", "method", "mae").rows()}
    assert 1 - anchors["MovieLens", "RS&NM"] / anchors["MovieLens", "DP"] == pytest.approx(0.0688, abs=5e-5)
    assert 1 - anchors["Netflix", "RS&NM"] / error["item", "pearson", 40, "DP"] == pytest.approx(0.1033, abs=5e-5)


def test_the_published_t_values_follow_from_the_published_table() -> None:
    from discreet.evaluation import paired_t_test

    table = published_table("pncf")
    for row in published_table("pncf-tests").filter(table="3.2").to_dicts():
        of = table.filter(axis=row["axis"], similarity=row["similarity"]).sort("k")
        test = paired_t_test(of.filter(method="DP")["mae"], against=of.filter(method="PNCF")["mae"])
        assert test.n - 1 == row["df"]
        assert test.statistic == pytest.approx(row["t"], rel=0.004)  # the table has four digits
