"""Pages in a real browser: what axe finds, sideways scrolling, light and dark, at a desk and on a phone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest
from tests.browser import opened, problems, require_good

from discreet.reports import Chart, Page, Tile

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def every_part() -> str:
    """A page with every part that a page can have."""
    points = pl.DataFrame({"k": [5, 10, 5, 10], "mae": [0.8, 0.7, 0.9, 0.8], "method": ["a", "a", "b", "b"]})
    chart = Chart("errors", "Errors", points, x="k", y="mae", series="method")
    page = Page("Every part", "A page with all of them.")
    page.verdict("One line of verdict.", tone="good", more="And what belongs to it.")
    page.tiles([Tile("spent", "ε = 1", "of 4"), Tile("left", "ε = 3"), Tile("refuted", "2", tone="bad")])
    page.heading("Charts")
    page.chart(chart.altair(), "Errors by k", narrow=chart.altair(narrow=True))
    page.pictures((f'<svg viewBox="0 0 9 9"><rect id="a" width="{n}" height="9"/></svg>', f"no {n}") for n in (1, 2))
    page.heading("Tables")
    columns = [f"column {n}" for n in range(12)]
    rows = [[f"cell {n}" for n in range(12)]] * 2
    page.table(columns, rows, numbers=columns[3:], bad=[False, True], details=["", "how " * 60], groups=["x", "y"])
    page.table(["", "file"], [("a", "b.txt")], files={"file": ["b c.txt"]})
    page.subheading("Texts")
    page.text("A paragraph.")
    page.labelled("released: a total\nprotected: one user")
    page.quote("An error\nin two lines")
    page.code("import discreet as dc\n" + "print(dc)  # " + "long " * 60)
    page.verdict("A second verdict", bad=True)
    return page.html()


def test_every_part_of_a_page_is_accessible(browser: Browser, every_part: str) -> None:
    require_good(browser, every_part)


def test_a_page_follows_the_theme_and_the_width(browser: Browser, every_part: str) -> None:
    grounds, widths = set(), []
    for size, theme in (("desk", "light"), ("desk", "dark"), ("phone", "dark")):
        with opened(browser, every_part, size, theme) as shown:
            grounds.add(shown.evaluate("getComputedStyle(document.body).backgroundColor"))
            seen = "[...document.querySelectorAll('figure svg')].filter(s => s.checkVisibility()).length"
            widths.append(
                (shown.evaluate(seen), shown.evaluate("getComputedStyle(document.querySelector('h1')).color"))
            )
            line = shown.evaluate("getComputedStyle(document.querySelector('figure svg [stroke=\"#2f6f6a\"]')).stroke")
            assert (line == "rgb(47, 111, 106)") == (theme == "light"), "charts follow the theme"
    assert len(grounds) == 2
    assert [drawn for drawn, _ in widths] == [3, 3, 3], "of the two pictures of a chart one is shown"


def test_the_check_finds_what_is_wrong(browser: Browser) -> None:
    bad = '<!doctype html><html><head><title>x</title></head><body><main><h1>x</h1><img src="data:,">'
    bad += '<p style="color: #ddd; background: #fff">pale</p><div style="width: 900px">wide</div></main></body></html>'
    with opened(browser, bad, "phone", "light") as shown:
        found = " ".join(problems(shown))
    for rule in ("image-alt", "color-contrast", "html-has-lang", "the page is 908 pixels wide, the screen 390"):
        assert rule in found
