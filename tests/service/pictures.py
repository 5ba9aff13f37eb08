"""Pictures of the pages for the documentation: ``python -m tests.service.pictures``.

Fills a service with the content of ``discreet serve --demo`` in a folder of its own, and photographs it in Chromium.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from tests.browser import running_browser

from discreet.service.app import create_app
from discreet.service.demo import fill
from discreet.service.settings import ServiceSettings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
MOST_BYTES = 120_000


def main(folder: Path) -> None:
    app = create_app(ServiceSettings(folder=folder, workers=0), jobs=False)
    key_file = folder / "demo-key"
    key = fill(app.state.hub)
    if key is not None:
        key_file.write_text(key)
    app.state.story.play()
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", timeout_graceful_shutdown=1))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.01)
    address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    with running_browser() as browser:
        photograph(browser, address, key_file.read_text())
    server.should_exit = True
    for file in FOLDER.glob("*.png"):
        size = file.stat().st_size
        assert size < MOST_BYTES, f"{file.name} has {size} bytes"


def photograph(browser: Browser, address: str, key: str) -> None:
    FOLDER.mkdir(exist_ok=True)
    desk = signed_in(browser, address, key, width=1040, height=640, theme="light")
    shoot(desk, "overview")
    desk.goto(f"{address}/populations/viewers")
    shoot(desk, "population")
    desk.goto(f"{address}/choose?dataset=films")
    shoot(desk, "choose")
    desk.goto(f"{address}/releases/film counts")
    desk.locator("#h-out").scroll_into_view_if_needed()
    desk.evaluate("document.getElementById('h-out').scrollIntoView()")
    shoot(desk, "counts")
    desk.goto(f"{address}/releases/recommender, week 2")
    for text in ("silent b", "emerald"):
        desk.get_by_role("combobox").press_sequentially(text)
        desk.locator("#options li").first.wait_for()
        desk.keyboard.press("ArrowDown")
        desk.keyboard.press("Enter")
    desk.get_by_role("button", name="Recommend").click()
    desk.locator("ol.answers").first.wait_for()
    desk.evaluate("document.getElementById('h-ask').scrollIntoView()")
    shoot(desk, "ask")
    desk.goto(f"{address}/series")
    desk.get_by_role("link", name="weekly plays").click()
    shoot(desk, "series")
    open_session(desk, address)
    shoot(desk, "session")
    desk.get_by_text("Close the session").click()
    desk.get_by_role("button", name="Close it").click()
    desk.get_by_text("The session is closed").wait_for()
    desk.goto(f"{address}/reports")
    desk.get_by_role("link", name="Audit: ppns").click()
    shoot(desk, "audit")
    desk.goto(f"{address}/reports/new?kind=risk")
    shoot(desk, "measure")
    dark = signed_in(browser, address, key, width=1040, height=560, theme="dark")
    dark.goto(f"{address}/attack")
    dark.locator(".steps button").last.click()
    dark.evaluate("document.getElementById('h-steps').scrollIntoView()")
    shoot(dark, "attack")
    phone = signed_in(browser, address, key, width=390, height=760, theme="dark")
    shoot(phone, "phone")


def open_session(page: Page, address: str) -> None:
    """Open a session as a person does, and ask a question in it."""
    page.goto(f"{address}/sessions")
    page.get_by_label("Name of the session").fill("talk with the board")
    page.get_by_role("button", name="Open…").click()
    page.get_by_role("button", name="Spend it and open the session").click()
    page.wait_for_url("**/sessions/job_*")
    page.get_by_label("gender").select_option("F")
    page.get_by_label("age from").select_option("18")
    page.get_by_label("age to").select_option("29")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator("#answer .big").wait_for()
    page.evaluate("scrollTo(0, 0)")


def signed_in(browser: Browser, address: str, key: str, *, width: int, height: int, theme: str) -> Page:
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if theme == "dark" else "light"
    )
    page = context.new_page()
    page.goto(f"{address}/sign-in")
    page.get_by_label("Key").fill(key)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{address}/")
    return page


def shoot(page: Page, name: str) -> None:
    page.screenshot(path=FOLDER / f"{name}.png")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            main(Path(made))
