"""The site, built once and strictly: links and anchors, nothing from other hosts, phones, search, generated pages."""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import sys
import zipfile
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from publishing import notebooks
from publishing.api import WITHOUT_PAGE, packages
from publishing.errors import messages
from publishing.typesetting import typeset
from publishing.wheel import MOST_BYTES, wheel_problems
from tests.browser import opened, problems

import discreet
from discreet.cli.app import COMMANDS, GROUPS

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest.importorskip("mkdocs", reason="mkdocs is not installed: make test")

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once for all processes of a run; a warning of the build is an error."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    folder = shared / "site"
    with (shared / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "sitemap.xml").exists():
            command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
            quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
            done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Links(HTMLParser):
    """The names and links of a page, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given: dict[str, Any] = dict(attrs)
        self.ids |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.add(given["href"])
        if given.get("src") or (tag == "link" and given.get("rel") not in ("prev", "next", "canonical")):
            self.loaded.add(given.get("src") or given.get("href") or "")


@cache
def pages_of(site: Path) -> dict[Path, Links]:
    pages = (path for path in sorted(site.rglob("*.html")) if path.name != "404.html")
    return {path: Links(path.read_text(encoding="utf-8")) for path in pages}


def test_every_link_and_anchor_leads_somewhere(site: Path) -> None:
    pages = pages_of(site)
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                broken.append(f"{path.relative_to(site)}: {link}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids | {"__top"}:
                broken.append(f"{path.relative_to(site)}: {link} (no such anchor)")
    assert not broken, "\n".join(broken)
    assert len(pages) > 100


def test_nothing_is_loaded_from_other_hosts(site: Path) -> None:
    loaded = {one for page in pages_of(site).values() for one in page.loaded if re.match(r"(https?:)?//", one)}
    styles = " ".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert not loaded
    assert not re.findall(r"url\(\s*[\"']?https?:", styles)


def test_formulas_are_set_and_code_is_left_alone() -> None:
    assert typeset("<p>‖A‖_F² ≤ a_ij</p>") == "<p>‖A‖<sub>F</sub>² ≤ a<sub>ij</sub></p>"
    assert typeset("e^ε and e^{−ε/2}, x_12") == "e<sup>ε</sup> and e<sup>−ε/2</sup>, x<sub>12</sub>"
    for same in ("<pre>a_1^2</pre>", "<a href='a_1^2'>user_id</a>", "tests/privacy_laws", "snake_case_name"):
        assert typeset(same) == same


def test_every_page_has_its_place() -> None:
    placed = re.findall(r"[\w/.-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    written = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert not written - set(placed), "put these pages into nav of mkdocs.yml"
    assert len(placed) == len(set(placed))


def test_readme_leads_to_files_that_are_there() -> None:
    links = re.findall(r"\]\(([^)#]+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(links) > 20
    assert not [link for link in links if not link.startswith("http") and not (ROOT / link).exists()]


def test_every_command_and_package_is_described(site: Path) -> None:
    made = {path.stem for path in (site / "reference" / "command-line").glob("*.html")} - {"index"}
    assert {function.__name__ for function in COMMANDS} | set(GROUPS) == made
    first = (site / "index.html").read_text(encoding="utf-8")
    assert all(f"reference/command-line/{name}.html" in first for name in made), "not in the navigation"
    known = {path.parent.name for path in Path(discreet.__file__).parent.glob("*/__init__.py")}
    assert known - WITHOUT_PAGE == set(packages())
    assert all((site / "reference" / "api" / f"{name}.html").is_file() for name in packages())
    fit = (site / "reference" / "command-line" / "fit.html").read_text(encoding="utf-8")
    assert "DISCREET_LEDGER" in fit
    assert "private-recommender" in fit


def test_errors_are_found_in_the_source() -> None:
    found = list(messages())
    assert len(found) > 800
    assert sum(bool(one.remedy) for one in found) > 0.5 * len(found)
    catalog = next(one for one in found if one.what.startswith("counts need a public list of items"))
    assert (catalog.kind, catalog.package) == ("PrivacyError", "counting")
    assert "--items-public" in catalog.cli
    assert "with_catalog" in catalog.remedy


def test_the_navigation_is_read() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [next(iter(part)) for part in yaml.safe_load(text)["nav"]] == [
        *("Home", "Start", "Tutorials", "Guides", "Reference", "Evidence")
    ]


def test_pages_do_not_scroll_sideways_on_a_phone(site: Path, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    shown = context.new_page()
    asked: list[str] = []
    shown.on("request", lambda request: asked.append(request.url) if request.url.startswith("http") else None)
    wide = []
    alike = {"reference/api", "reference/errors", "reference/command-line"}  # pages that one program lays out
    seen: set[str] = set()
    for path in sorted(site.rglob("*.html"), key=lambda path: -path.stat().st_size):
        folder = path.parent.relative_to(site).as_posix()
        if folder in alike & seen:
            continue  # the largest of them was looked at
        seen.add(folder)
        shown.goto(path.as_uri(), wait_until="domcontentloaded")
        over = shown.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if over > 0:
            wide.append(f"{path.relative_to(site)}: {over} pixels")
    context.close()
    assert not wide
    assert not asked


OF_THE_THEME = ("landmark-unique", "scrollable-region-focusable")
"""Rules that the scripts of mkdocs-material break: names of its navigation, and its frame around tables."""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_are_accessible(site: Path, browser: Browser, theme: str) -> None:
    names = ("index", "start/ten-minutes", "guides/differential-privacy", "reference/command-line/fit")
    for name in names:
        with opened(browser, site / f"{name}.html", "desk", theme) as shown:
            found = [problem for problem in problems(shown) if not problem.startswith(OF_THE_THEME)]
            assert not found, f"{name}: {found}"


def test_the_search_works_without_a_server(site: Path, browser: Browser) -> None:
    with opened(browser, site / "index.html", "desk", "light") as shown:
        shown.click(".md-search__input")
        shown.keyboard.type("sybil", delay=20)
        shown.wait_for_selector(".md-search-result__item a", timeout=60_000)
        assert "ybil" in shown.inner_text(".md-search-result__list")


def test_a_wheel_that_is_not_whole_is_noticed(tmp_path: Path) -> None:
    wheel = tmp_path / "discreet-0.0.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.writestr("discreet/__init__.py", "")
        packed.writestr("tests/test_all.py", "")
        packed.writestr("discreet/large", os.urandom(MOST_BYTES))
    found = " ".join(wheel_problems(wheel))
    assert "more than 2,000,000" in found
    assert "missing in the wheel: discreet/attacks/__init__.py" in found
    assert "not of the library: tests/test_all.py" in found


def test_notebooks_become_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# A title\n", "\n", "What it is about, and [more](2-more.ipynb).\n"]},
        {"cell_type": "code", "source": ["1 < 2"], "outputs": [{"data": {"text/plain": ["1 < 2 is True"]}}]},
        {"cell_type": "code", "source": ["plot"], "outputs": [{"data": {"image/svg+xml": ["<svg />"]}}]},
    ]
    (tmp_path / "1-first.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    monkeypatch.setattr(notebooks, "found", lambda: [tmp_path / "1-first.ipynb"])
    assert notebooks.names() == [{"A title": "notebooks/1-first.md"}]
    made = notebooks.pages()
    assert "What it is about" in made["notebooks/index.md"]
    assert "[more](2-more.md)" in made["notebooks/1-first.md"]
    page = notebooks.shown(
        made["notebooks/1-first.md"], "notebooks/1-first.md", lambda svg, alt, name: f"{name}: {svg}"
    )
    assert "```python\n1 < 2\n```" in page
    assert '<pre class="output"><code>1 &lt; 2 is True</code></pre>' in page
    assert "cell-2-0: <svg />" in page
