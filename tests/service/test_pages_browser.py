"""Pages in a real Chromium: every page at three widths in both themes, and the main tasks as people do them."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import uvicorn
from tests.browser import problems
from tests.service.conftest import COUNTS, MODEL, Running, start

from discreet.data import synthetic
from discreet.data.readers import write
from discreet.service.pages.attack_story import told
from discreet.service.worker import perform

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

OPTIONS = {"runs": 20, "attacks": ["rating-predictions", "swapped-ranks"], "seconds": None}
WIDTHS = {390: 844, 820: 1000, 1440: 900}


@dataclass
class Site:
    """A service that listens, for a browser. Its jobs are run in this process, when a test says so."""

    running: Running
    address: str

    def work(self) -> None:
        """Run the jobs that wait."""
        for job in self.running.hub.jobs.waiting(10):
            perform(self.running.hub.store, job)

    def sign_in(self, page: Page, key: str | None = None) -> None:
        page.goto(f"{self.address}/sign-in")
        page.get_by_label("Key").fill(key or self.running.key)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{self.address}/")


@pytest.fixture(scope="module")
def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    running = start(tmp_path_factory.mktemp("site"))
    server = uvicorn.Server(
        uvicorn.Config(running.web.app, port=0, log_level="error", timeout_graceful_shutdown=1, lifespan="off")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    for request, under in ((COUNTS, "counts"), (MODEL, "model")):
        assert running.run(request, under=under)["state"] == "done"
    reference = {"dataset": "films", "method": "ease", "settings": {}, "name": "without privacy"}
    assert running.run(reference, under="ease")["state"] == "done"
    audit = {"dataset": "films", "method": "ppns", "settings": {"epsilon": "1"}, "options": OPTIONS}
    assert running.work(running.call("POST", "/reports/audit", json=audit).json()["id"])["state"] == "done"
    running.issue("analyst")
    story = running.web.app.state.story  # type: ignore[attr-defined]
    story.file.write_text(json.dumps(told(most_fits=1, games=1).to_json()))
    yield Site(running, address)
    server.should_exit = True
    thread.join(timeout=10)


def places(site: Site) -> list[str]:
    """Every page."""
    running = site.running
    report, job = running.get("/reports")["entries"][0]["id"], running.get("/jobs")["entries"][0]["id"]
    return [
        "/", "/populations", "/populations/new", "/populations/viewers", "/releases", "/releases/counts?verify=1",
        "/releases/nightly", "/choose", "/attack", "/jobs", f"/jobs/{job}", "/reports", f"/reports/{report}", "/keys",
        "/log", "/api", "/nothing-here", "/sign-in", "/setup",
    ]  # fmt: skip


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page whose errors fail the test."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    shown, errors = context.new_page(), []
    shown.set_default_timeout(120_000)
    shown.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
    shown.on("pageerror", lambda error: errors.append(str(error)))
    shown.on("request", lambda asked: errors.append(asked.url) if "//127.0.0.1:" not in asked.url else None)
    yield shown
    context.close()
    # Answers with a status of 4xx are told in the console, too: a page that is not there, a form that is shown again.
    assert not [one for one in errors if "responded with a status of 4" not in one]


def test_every_page_at_every_width_in_both_themes(site: Site, page: Page) -> None:
    site.sign_in(page)
    found = []
    for place in places(site):
        page.goto(f"{site.address}{place}")
        for summary in page.locator("main > section > details, details.confirm").all()[:2]:
            summary.evaluate("box => { box.open = true; }")
        for number, (width, height) in enumerate(WIDTHS.items()):
            page.set_viewport_size({"width": width, "height": height})
            for theme in ("light", "dark"):
                page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
                if (theme == "dark") == (number != 1):  # axe sees each theme; each width has one of them
                    found += [f"{place} {width} {theme}: {one}" for one in problems(page)]
                wide = page.evaluate("document.documentElement.scrollWidth")
                found += [f"{place} {width} {theme}: {wide} pixels wide"] if wide > width else []
    assert not found, "\n".join(found)


def test_the_main_tasks(site: Site, page: Page) -> None:
    """Open a population, upload, estimate, run, ask, read the statement."""
    file = write(synthetic.films(users=200, items=40, seed=3), site.running.folder / "loans.parquet")
    site.sign_in(page)
    page.get_by_role("link", name="Populations", exact=True).click()
    page.get_by_role("link", name="Open a population").click()
    page.get_by_label("Name").fill("readers/")
    page.get_by_label("Limit ε", exact=True).fill("3")
    page.get_by_role("button", name="Open the population").click()
    assert "The name" in page.get_by_role("alert").inner_text()
    assert page.get_by_label("Limit ε", exact=True).input_value() == "3", "nothing that was typed is lost"
    page.get_by_label("Name").fill("readers")
    page.get_by_role("button", name="Open the population").click()

    page.get_by_label("Name of the dataset").fill("loans")
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_text("Names of columns, ratings, public figures").click()
    page.get_by_label("People, about").fill("300")
    page.get_by_role("button", name="Add the data").click()
    page.wait_for_url("**/jobs/job_*")
    site.work()
    page.get_by_role("link", name="Choose ε for a first release").click()

    assert page.locator("#estimate .big").inner_text().startswith("ε = 1,")
    slider = page.get_by_role("slider")
    slider.focus()
    slider.press("ArrowRight")
    page.locator("#estimate .big", has_text="ε = 1.5").wait_for()
    assert slider.get_attribute("aria-valuetext") == "ε = 1.5"
    page.get_by_label("Name of the release").fill("shelf")
    page.get_by_role("button", name="Run…").click()
    assert "Spend ε = 1.5" in page.get_by_role("heading", level=1).inner_text()
    told = re.search(r"left afterwards\s+ε = ([\d.]+)", page.locator("dl.facts").inner_text())
    assert told is not None
    promised = told[1]
    page.get_by_role("button", name="Spend it and run").click()
    page.wait_for_url("**/jobs/job_*")
    site.work()
    page.get_by_role("link", name="Look at the release and ask it").click()
    asked(page.get_by_role("combobox"))
    page.get_by_role("button", name="Recommend").click()
    page.locator("ol.answers li").nth(9).wait_for()

    page.get_by_label("Main").get_by_role("link", name="Populations").click()
    page.get_by_role("link", name="readers").click()
    assert "private-recommender" in page.get_by_role("region", name="Charges").inner_text()
    assert re.search(rf"left\s+ε ≈ {promised}", page.locator("dl.facts").first.inner_text()), "as the page said before"


def asked(box: Locator) -> None:
    """Choose the first item that is offered."""
    box.press_sequentially("the ")
    box.page.locator("#options li").first.wait_for()
    box.press("ArrowDown")
    box.press("Enter")


def test_by_keyboard_alone(site: Site, page: Page) -> None:
    """Sign in, find the model, ask it, rehearse, sign out: no mouse."""
    page.goto(f"{site.address}/releases")
    page.wait_for_function("document.activeElement.name === 'key'")  # the field of the key gets the focus by itself
    page.keyboard.type(site.running.key)
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site.address}/releases")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    reached(page, "nightly")
    page.keyboard.press("Enter")
    page.wait_for_url("**/releases/rel_*")
    reached(page, "", "ask-text")
    asked(page.locator("#ask-text"))
    page.keyboard.press("Enter")
    page.locator("ol.answers").first.wait_for()
    reached(page, "×", back=True)
    page.keyboard.press("Enter")
    assert page.locator(".chips li").count() == 0
    page.goto(f"{site.address}/choose?dataset=films")
    reached(page, "Rehearse for free")
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs/job_*")
    site.work()
    page.get_by_text("Look at the release").wait_for()
    reached(page, "Sign out")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site.address}/sign-in")


def reached(page: Page, text: str, identity: str = "", *, back: bool = False) -> None:
    """Go from one thing to the next with the Tab key until this one is reached."""
    for _ in range(80):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        told, name = page.evaluate("[document.activeElement.textContent.trim(), document.activeElement.id]")
        if (identity and name == identity) or (text and told == text):
            return
    raise AssertionError(f"{text or identity} cannot be reached with the keyboard")


def test_a_setup_link_keeps_its_token_to_itself(site: Site, page: Page) -> None:
    token = site.running.hub.keys.add_tenant("new shop")[1]
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url))
    page.goto(f"{site.address}/setup#{token}")
    assert page.get_by_label("Token of the link").input_value() == token
    assert token not in page.url
    page.get_by_label("Your name").fill("nora")
    page.get_by_role("button", name="Make my key").click()
    assert page.locator("#the-key").inner_text().startswith("dk_")
    page.get_by_role("link", name="I have kept it, continue").click()
    assert "There is no population yet" in page.locator("main").inner_text()
    assert not [address for address in addresses if token in address.partition("#")[0]]


def test_steps_of_the_attack_follow_each_other(site: Site, page: Page) -> None:
    site.sign_in(page)
    page.goto(f"{site.address}/attack")
    assert page.locator(".step:visible").count() == 1
    page.get_by_role("button", name="Next: 2 invented accounts").click()
    assert "With 2 invented accounts" in page.locator(".step:visible").inner_text()
    page.get_by_role("button", name="10 accounts").click()
    assert page.locator(".step:visible .bar.marked").count() == 3


def test_pages_work_without_scripts(site: Site, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    site.sign_in(page)
    page.goto(f"{site.address}/releases/nightly")
    page.get_by_role("combobox").fill("film-3, nothing")
    page.get_by_role("button", name="Recommend").click()
    assert "Not known to the model, and ignored: nothing" in page.locator("#answer").inner_text()
    page.goto(f"{site.address}/attack")
    assert page.locator(".step:visible").count() == 4
    context.close()
