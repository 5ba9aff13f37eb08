"""A real browser for tests of pages: Chromium, driven by Playwright, and the accessibility checks of axe.

Fixtures are in ``tests/conftest.py``: ``check_page(page)`` at the end of a test that has made a page, or ``browser``
(one process of Chromium for the tests of a process) with ``opened``, ``problems`` and ``require_good``. Where there is
no browser the tests are skipped, with the reason; ``make test`` installs one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["SIZES", "THEMES", "chromium", "opened", "problems", "require_good"]

SIZES = {"desk": (1280, 900), "phone": (390, 844)}
THEMES = ("light", "dark")

_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")


def chromium() -> str | None:
    """The path of Chromium: ``CHROMIUM``, or what the system has."""
    names = (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
    return next((path for name in names if name and (path := shutil.which(name))), None)


@contextmanager
def running_browser() -> Iterator[Browser]:
    """One browser; skips the test where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make test")
    pytest.importorskip("axe_playwright_python", reason="axe is not installed: make test")
    path = chromium()
    if path is None:
        pytest.skip("no Chromium was found: apt-get install chromium, or set CHROMIUM to its path")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=list(_FLAGS))
        try:
            yield started
        finally:
            started.close()


@contextmanager
def opened(browser: Browser, page: str | Path, size: str, theme: str) -> Iterator[Page]:
    """A page in the browser: a file, an address (http://…) or HTML. Whatever it asks of other hosts is an error."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if theme == "dark" else "light"
    )
    try:
        shown = context.new_page()
        if isinstance(page, Path):
            shown.goto(page.resolve().as_uri())
        elif page.startswith(("http://", "https://")):
            shown.goto(page)
        else:
            shown.set_content(page)
        yield shown
    finally:
        context.close()


def problems(shown: Page) -> list[str]:
    """What is wrong with a page that is open: what axe finds, and whether the page scrolls sideways."""
    from axe_playwright_python.base import AXE_SCRIPT

    if not shown.evaluate("'axe' in window"):
        shown.evaluate(AXE_SCRIPT)
    # Only what is wrong comes back: the list of all that is right is long.
    violations: list[dict[str, Any]]
    violations, wide, seen = shown.evaluate(
        """axe.run(document, {resultTypes: ['violations']}).then(({violations}) =>
            [violations, document.documentElement.scrollWidth, document.documentElement.clientWidth])"""
    )
    found = [
        f"{rule['id']} ({rule['impact']}): {rule['help']}: {node['html'][:160]}"
        for rule in violations
        for node in rule["nodes"][:3]
    ]
    return [*found, *([f"the page is {wide} pixels wide, the screen {seen}"] if wide > seen else [])]


def require_good(
    browser: Browser, page: str | Path, *, sizes: Sequence[str] = tuple(SIZES), themes: Sequence[str] = THEMES
) -> None:
    """Fail where a page has a problem, at any of these sizes and in any of these themes."""
    found = []
    with opened(browser, page, sizes[0], themes[0]) as shown:
        for size in sizes:
            width, height = SIZES[size]
            shown.set_viewport_size({"width": width, "height": height})
            for theme in themes:
                shown.emulate_media(color_scheme="dark" if theme == "dark" else "light")
                found += [f"{size}, {theme}: {problem}" for problem in problems(shown)]
    assert not found, "\n".join(found)
