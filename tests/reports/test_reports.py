"""Pages, charts, tables and folders of reports."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet.errors import ReleaseError, UsageError
from discreet.reports import Chart, Page, ReportFolder, json_text, numeric, plain, readable, save_page, svg, text_table

POINTS = pl.DataFrame(
    {
        "k": [5, 10, 5, 10],
        "mae": [0.8, 0.7, 0.9, None],
        "sd": [0.01, 0.02, None, 0.01],
        "method": ["a", "a", "b", "b"],
        "who": ["item", "item", "user", "user"],
    }
)


def test_charts_draw_every_point_that_has_a_value() -> None:
    whole = Chart("errors", "Errors", POINTS, x="k", y="mae", series="method", band="sd").altair().to_dict()
    assert [layer["mark"]["type"] for layer in whole["layer"]] == ["area", "line", "point"]
    points = whole["data"]["values"]
    assert [(p["k"], p["mae"]) for p in points] == [(5, 0.8), (10, 0.7), (5, 0.9)]
    assert points[0]["_low"] == pytest.approx(0.79)
    assert points[2]["_low"] == points[2]["_high"] == 0.9


def test_every_panel_shows_its_own_points() -> None:
    picture = svg(Chart("errors", "Errors", POINTS, x="k", y="mae", series="method", panel="who").altair())
    assert picture.count('aria-roledescription="point"') == 3
    data = POINTS.with_columns(pl.Series("k", [1, 2, 3, 4]), pl.Series("who", [2, 2, 1, 1]))
    drawn = Chart("errors", "Errors", data, x="k", y="mae", panel="who").altair().to_dict()
    assert drawn["facet"]["sort"] == ["2", "1"], "panels stand in the order of the table"


def test_a_logarithmic_axis_leaves_out_what_it_cannot_show() -> None:
    data = pl.DataFrame({"x": [0.0, 1.0, 10.0], "y": [1.0, 0.0, 2.0], "sd": [0.1, 0.1, 5.0]})
    drawn = Chart("log", "Log", data, x="x", y="y", band="sd", log_x=True, log_y=True).altair().to_dict()
    assert drawn["layer"][1]["encoding"]["x"]["scale"] == {"type": "log", "nice": False}
    assert drawn["data"]["values"] == [{"x": 10.0, "y": 2.0, "sd": 5.0, "_low": 2.0, "_high": 7.0}]


def test_columns_with_signs_of_the_chart_language_are_drawn() -> None:
    data = pl.DataFrame({"P[x.y]": ["a", "b"], "Δ: error": [1.0, 2.0]})
    picture = svg(Chart("odd", "Odd", data, x="P[x.y]", y="Δ: error").altair())
    assert picture.count('aria-roledescription="point"') == 2


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


def test_a_chart_has_the_columns_it_draws_and_a_name_for_its_file() -> None:
    with pytest.raises(UsageError, match="cannot be a file name"):
        Chart("../up", "Up", POINTS, x="k", y="mae")
    with pytest.raises(UsageError, match="no column 'z'"):
        Chart("up", "Up", POINTS, x="k", y="z")


def test_a_page_marks_what_is_bad() -> None:
    page = Page("A", "B")
    page.verdict("Refuted <here>", bad=True)
    page.table(["a", "n"], [("x", 1), ("y", 2)], numbers=["n"], bad=[False, True])
    page.pictures([('<svg id="a"/>', "one"), ('<svg id="a"/>', "two")])
    text = page.html()
    assert '<div class="verdict bad"><strong>Refuted &lt;here&gt;</strong></div>' in text
    assert '<tr class="bad"><td>y</td><td class="number mark">2</td></tr>' in text
    assert 'id="part1-0-a"' in text
    assert 'id="part1-1-a"' in text


def test_text_tables_are_aligned() -> None:
    assert text_table(["who", "n"], [("ann", 1200), ("b", None)], numbers=["n"]) == "who      n\nann  1,200\nb"


def test_only_a_page_of_discreet_is_replaced(tmp_path: Path) -> None:
    path, text = tmp_path / "page.html", Page("A", "B").html()
    save_page(text, path)
    with pytest.raises(ReleaseError, match="there already"):
        save_page(text, path)
    assert save_page(text, path, overwrite=True).read_text() == text
    path.write_text("<html>mine</html>")
    with pytest.raises(ReleaseError, match="not a page of discreet"):
        save_page(text, path, overwrite=True)


def test_a_folder_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = ReportFolder("notes", "notes.json", lambda record: [f"parts/{name}" for name in record["parts"]])
    contents = {"notes.json": json_text({"parts": ["a"]}), "parts/a": b"\x00"}
    folder = kind.save(tmp_path / "notes", contents)
    assert (folder / "parts" / "a").read_bytes() == b"\x00"
    kind.save(folder, contents, overwrite=True)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        with pytest.raises(ReleaseError, match="No space left"):
            kind.save(folder, contents, overwrite=True)
    assert (folder / "parts" / "a").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]
    (folder / "notes.json").write_text("[]")
    with pytest.raises(ReleaseError, match=r"no notes\.json of a notes"):
        kind.save(folder, contents, overwrite=True)
