"""Pages in a real Chromium: every page at three widths in both themes, and the main tasks as people do them."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from tests.browser import THEMES, problems
from tests.service.conftest import COUNTS, MODEL, Running, start
from tests.service.test_asking import register
from tests.service.test_interactive import SERIES
from tests.service.test_reports import FAST

from discreet.data import synthetic
from discreet.data.readers import write
from discreet.service.pages.attack_story import told
from discreet.service.worker import perform

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

OPTIONS = {"runs": 20, "attacks": ["rating-predictions", "swapped-ranks"], "seconds": None}
WIDTHS = {390: 844, 1280: 900, 1600: 1000}


BROKEN = "/broken-on-purpose"
"""A page with a defect: what people see then."""


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
    app: Any = running.web.app

    @app.get(BROKEN, include_in_schema=False)
    def _broken() -> None:
        raise RuntimeError("on purpose")

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
    running.issue("analyst")
    story = running.web.app.state.story  # type: ignore[attr-defined]
    story.file.write_text(json.dumps(told(most_fits=1, games=1).to_json()))
    yield Site(running, address)
    server.should_exit = True
    thread.join(timeout=10)


@pytest.fixture(scope="module")
def places(site: Site) -> list[str]:
    """Every page, with something on it."""
    running = site.running
    dataset = running.get("/datasets")["entries"][0]["id"]
    register(running, "survey", synthetic.survey(households=60, seed=3), terms={"unit": "record/replace"})
    asked = {"dataset": "survey", "settings": {"epsilon": 1, "updates": 5}, "name": "talk"}
    sessions = [submitted(running, "/sessions", {**asked, "name": name}) for name in ("talk", "closed")]
    for session in sessions:
        question = {"question": {"gender": "F", "age": [18, 29]}}
        assert running.call("POST", f"/sessions/{session}/ask", json=question).status_code == 200
    running.call("POST", f"/sessions/{sessions[1]}/close")
    series = submitted(running, "/series", SERIES)
    running.work(series)
    for step in (0, 2):
        taken = running.call("POST", f"/series/{series}/advance", json={"dataset": "films", "step": step})
        assert running.work(taken.json()["id"])["state"] == "done"
    reports = [
        running.work(running.call("POST", f"/reports/{kind}", json=body).json()["id"])["result"]["report"]
        for kind, body in (
            *FAST,
            ("audit", {"dataset": "films", "method": "ppns", "settings": {"epsilon": "1"}, "options": OPTIONS}),
        )
    ]
    month = {"name": "borrowers", "epsilon": 1, "delta": "1e-6", "per": "month", "time_zone": "UTC", "lifetime": 8}
    assert running.call("POST", "/populations", json=month).status_code == 201
    job, failed = running.get("/jobs")["entries"][0]["id"], failed_job(running)
    return [
        "/", "/populations", "/populations/new", "/populations/viewers", "/populations/borrowers",
        "/populations/survey", "/releases", "/releases/counts?verify=1", "/releases/nightly", "/choose",
        f"/choose?dataset={dataset}&epsilon=50", "/sessions", *(f"/sessions/{one}" for one in sessions), "/series",
        "/series/new", f"/series/{series}", "/attack", "/jobs", f"/jobs/{job}", f"/jobs/{failed}", "/reports",
        *(f"/reports/{one}" for one in reports), "/reports/new", "/reports/new?kind=attack", "/reports/new?kind=risk",
        "/keys", "/log", "/api", "/nothing-here", BROKEN, "/sign-in", "/setup",
    ]  # fmt: skip


def submitted(running: Running, path: str, body: dict[str, Any]) -> str:
    answer = running.call("POST", path, json=body, headers={"Idempotency-Key": f"{path} {body['name']}"})
    assert answer.status_code == 202, answer.text
    return answer.json()["id"]


def failed_job(running: Running) -> str:
    """A job that read a file with mistakes in it."""
    given = {"name": "bad", "population": "viewers", "filename": "bad.csv", "reading": '{"scale": "1:5"}'}
    sent = running.call("POST", "/uploads", params=given, content=b"user,item,rating\nann,tea,9\nbob,,4\n")
    job = sent.json()["job"]["id"]
    assert running.work(job)["state"] == "failed"
    return job


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
    # Answers with a status of 4xx or 5xx are told in the console, too: a page that is not there, a form shown again.
    assert not [one for one in errors if "responded with a status of " not in one]


def test_every_page_at_every_width_in_both_themes(site: Site, places: list[str], page: Page) -> None:
    """No error in the console (the page of the test sees to it), nothing that axe finds, nothing that is too wide."""
    site.sign_in(page)
    found = []
    for place in places:
        answer = page.goto(f"{site.address}{place}")
        assert answer is not None
        assert answer.status == {"/nothing-here": 404, BROKEN: 500}.get(place, 200), place
        for summary in page.locator("main details").all()[:4]:
            summary.evaluate("box => { box.open = true; }")
        for width, height in WIDTHS.items():
            page.set_viewport_size({"width": width, "height": height})
            for theme in THEMES:
                page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
                found += [f"{place} {width} {theme}: {one}" for one in problems(page)]
    assert not found, "\n".join(found)


def test_what_others_see_has_no_fault_either(site: Site, page: Page) -> None:
    """An analyst: a page that is not for them, and the estimate from public values."""
    key, secret = site.running.issue("analyst")
    amount = {"epsilon": "1", "delta": "1e-7"}
    assert site.running.call("PUT", f"/populations/viewers/allowances/{key}", json=amount).status_code == 204
    site.sign_in(page, secret)
    for place, status in (("/", 200), ("/keys", 403), ("/choose", 200), ("/populations/viewers", 200)):
        answer = page.goto(f"{site.address}{place}")
        assert answer is not None
        assert answer.status == status
        for width, theme in ((390, "dark"), (1280, "light")):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
            assert not problems(page), place


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
    """Sign in, open a population, add data, choose ε, run, ask, read the statement, sign out: no mouse."""
    write(synthetic.films(users=200, items=40, seed=4), site.running.folder / "walks.parquet")
    keys = page.keyboard
    page.goto(f"{site.address}/populations")
    page.wait_for_function("document.activeElement.name === 'key'")  # the field of the key gets the focus by itself
    keys.type(site.running.key)
    keys.press("Enter")
    page.wait_for_url(f"{site.address}/populations")
    keys.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    keys.press("Enter")
    reached(page, "Open a population")
    keys.press("Enter")
    page.wait_for_url("**/populations/new")
    filled(page, "f-name", "walkers")
    filled(page, "f-epsilon", "3")
    keys.press("Enter")
    page.wait_for_url("**/populations/walkers")

    filled(page, "f-name", "walks")
    filled(page, "f-path", str(site.running.folder / "walks.parquet"))
    reached(page, "Add the data")
    keys.press("Enter")
    page.wait_for_url("**/jobs/job_*")
    site.work()
    page.get_by_text("The data are attached").wait_for()
    reached(page, "Choose ε for a first release")
    keys.press("Enter")
    page.wait_for_url("**/choose?dataset=*")
    reached(page, "", "f-epsilon")
    keys.press("Tab")
    keys.press("ArrowRight")
    page.locator("#estimate .big", has_text="ε = 1.5").wait_for()
    filled(page, "f-name", "paths")
    reached(page, "Run…")
    keys.press("Enter")
    page.get_by_role("heading", name="Spend ε = 1.5").wait_for()
    reached(page, "Spend it and run")
    keys.press("Enter")
    page.wait_for_url("**/jobs/job_*")
    site.work()
    page.get_by_text("Look at the release").wait_for()
    reached(page, "Look at the release and ask it")
    keys.press("Enter")
    page.wait_for_url("**/releases/rel_*")
    reached(page, "", "ask-text")
    asked(page.locator("#ask-text"))
    keys.press("Enter")
    page.locator("ol.answers").first.wait_for()
    reached(page, "×", back=True)
    keys.press("Enter")
    assert page.locator(".chips li").count() == 0
    reached(page, "walkers", back=True)
    keys.press("Enter")
    page.wait_for_url("**/populations/walkers")
    assert "private-recommender" in page.get_by_role("region", name="Charges").inner_text()
    reached(page, "Sign out")
    keys.press("Enter")
    page.wait_for_url(f"{site.address}/sign-in")


def filled(page: Page, identity: str, text: str) -> None:
    """Go to a field with the Tab key, and type into it."""
    reached(page, "", identity)
    page.keyboard.press("Control+a")
    page.keyboard.type(text)


def reached(page: Page, text: str, identity: str = "", *, back: bool = False) -> None:
    """Go from one thing to the next with the Tab key until this one is reached."""
    for _ in range(80):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        told, name = page.evaluate("[document.activeElement.textContent.trim(), document.activeElement.id]")
        if (identity and name == identity) or (text and told == text):
            return
    raise AssertionError(f"{text or identity} cannot be reached with the keyboard")


def test_another_method_shows_its_settings(site: Site, page: Page) -> None:
    site.sign_in(page)
    for place in ("/reports/new", "/series/new", "/choose"):
        page.goto(f"{site.address}{place}")
        page.get_by_label("δ", exact=True).fill("1e-8")
        page.get_by_label("Method").select_option("weighted")
        page.locator("input[name=set-cap]").wait_for(state="attached")
        assert page.get_by_label("δ", exact=True).input_value() == "1e-8", "what was typed stays"


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
