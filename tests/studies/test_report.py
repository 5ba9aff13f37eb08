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
from discreet.studies import STUDIES, Chart, StudyReport, published, study
from discreet.studies.cells import numeric, plain, readable
from discreet.studies.page import Page, svg
from discreet.studies.published import published_table

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
    report.save(folder, overwrite=True)
    assert not (folder / "old").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "work").touch()
    with pytest.raises(ReleaseError, match="is no report"):
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

    monkeypatch.setattr(pl.DataFrame, "write_csv", full)
    with pytest.raises(ReleaseError, match="No space left"):
        report.save(folder, overwrite=True)
    assert (folder / "report.json").read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_names_that_would_hide_each_other_are_refused(report: StudyReport) -> None:
    empty = pl.DataFrame({"a": [1]})
    with pytest.raises(UsageError, match="same name"):
        StudyReport("x", "X", "", {}, {"A b": empty, "a-b": empty}, (), ())
    with pytest.raises(UsageError, match="same name"):
        StudyReport("x", "X", "", {}, {}, report.charts * 2, ())
    with pytest.raises(UsageError, match="cannot be a file"):
        Chart("../up", "Up", POINTS, x="k", y="mae")
    with pytest.raises(UsageError, match="no column 'z'"):
        Chart("up", "Up", POINTS, x="k", y="z")


def test_charts_draw_every_point_that_has_a_value() -> None:
    whole = Chart("errors", "Errors", POINTS, x="k", y="mae", series="method", band="sd").altair().to_dict()
    assert [layer["mark"]["type"] for layer in whole["layer"]] == ["area", "line", "circle"]
    points = whole["data"]["values"]
    assert [(p["k"], p["mae"]) for p in points] == [(5, 0.8), (10, 0.7), (5, 0.9)]
    assert points[0]["_low"] == pytest.approx(0.79)
    assert points[2]["_low"] == points[2]["_high"] == 0.9


def test_every_panel_shows_its_own_points() -> None:
    picture = svg(Chart("errors", "Errors", POINTS, x="k", y="mae", series="method", panel="who").altair())
    assert picture.count('aria-roledescription="circle"') == 3
    data = POINTS.with_columns(pl.Series("k", [1, 2, 3, 4]), pl.Series("who", [2, 2, 1, 1]))
    drawn = Chart("errors", "Errors", data, x="k", y="mae", panel="who").altair().to_dict()
    assert drawn["facet"]["sort"] == ["2", "1"], "panels stand in the order of the table"


def test_a_logarithmic_axis_leaves_out_what_it_cannot_show() -> None:
    data = pl.DataFrame({"x": [0.0, 1.0, 10.0], "y": [1.0, 0.0, 2.0], "sd": [0.1, 0.1, 5.0]})
    drawn = Chart("log", "Log", data, x="x", y="y", band="sd", log_x=True, log_y=True).altair().to_dict()
    assert drawn["layer"][1]["encoding"]["x"]["scale"] == {"type": "log"}
    assert drawn["data"]["values"] == [{"x": 10.0, "y": 2.0, "sd": 5.0, "_low": 2.0, "_high": 7.0}]


def test_columns_with_signs_of_the_chart_language_are_drawn() -> None:
    data = pl.DataFrame({"P[x.y]": ["a", "b"], "Δ: error": [1.0, 2.0]})
    picture = svg(Chart("odd", "Odd", data, x="P[x.y]", y="Δ: error").altair())
    assert picture.count('aria-roledescription="circle"') == 2


def test_pictures_on_one_page_do_not_share_their_parts() -> None:
    page = Page("A", "B")
    page.picture('<svg><clipPath id="clip0"/><g clip-path="url(#clip0)"/></svg>')
    page.picture('<svg><clipPath id="clip0"/><g clip-path="url(#clip0)"/></svg>')
    text = page.html()
    for part in ("part0-clip0", "part1-clip0"):
        assert f'id="{part}"' in text
        assert f"url(#{part})" in text


def test_numbers_of_a_column_have_equally_many_digits() -> None:
    table = pl.DataFrame({"a": [1.0, 1234.5], "b": [0.00001, 0.25], "c": [True, None], "d": [12.345, -3.0]})
    assert readable(table) == [("1", "1.0e-05", "True", "12.35"), ("1,234", "0.2500", "", "-3.00")]
    assert numeric(table) == ["a", "b", "d"]
    assert readable(pl.DataFrame({"t": [math.inf, 1.0]})) == [("inf",), ("1.0000",)]


def test_json_has_no_numbers_that_are_none() -> None:
    assert plain({"a": np.array([1.0, math.inf]), 3: (np.float32(0.5), Path("x"))}) == {
        "a": [1.0, None],
        "3": [0.5, "x"],
    }


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
        assert kept["rows"], name
        assert all(len(row) == len(kept["columns"]) for row in kept["rows"]), name
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
