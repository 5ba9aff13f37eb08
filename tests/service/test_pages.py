"""Pages without a browser: who sees what, forged requests, sessions, errors beside their forms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sql
from fastapi.testclient import TestClient
from tests.service.conftest import FILMS, MODEL, Running

from discreet.reports.theme import DARK, LIGHT
from discreet.service.app import create_app
from discreet.service.pages.shared import STATIC
from discreet.service.schema import REPORTS
from discreet.service.settings import ServiceSettings
from discreet.service.store import now

HERE = "http://testserver"
PAGES = {
    "/": {"curator", "analyst", "application", "auditor"},
    "/populations": {"curator", "analyst", "auditor"},
    "/populations/new": {"curator"},
    "/populations/viewers": {"curator", "analyst", "auditor"},
    "/releases": {"curator", "analyst", "application", "auditor"},
    "/releases/counts": {"curator", "analyst", "application", "auditor"},
    "/releases/nightly": {"curator", "analyst", "application", "auditor"},
    "/choose": {"curator", "analyst"},
    "/sessions": {"curator", "analyst"},
    "/series": {"curator", "auditor"},
    "/series/new": {"curator"},
    "/jobs": {"curator", "analyst"},
    "/reports": {"curator", "auditor"},
    "/reports/new": {"curator"},
    "/reports/new?kind=attack": {"curator"},
    "/reports/new?kind=risk": {"curator"},
    "/reports/new?kind=frontier": {"curator"},
    "/keys": {"curator"},
    "/log": {"curator", "auditor"},
    "/api": {"curator", "analyst", "application", "auditor"},
}


class Person:
    """Somebody with a browser."""

    def __init__(self, running: Running, key: str | None = None) -> None:
        self.web = TestClient(
            running.web.app, base_url=HERE, headers={"accept": "text/html"}, raise_server_exceptions=False
        )
        self.signed = self.post("/sign-in", key=key or running.key, then="/")

    def get(self, place: str) -> httpx.Response:
        return self.web.get(place, follow_redirects=False)

    def post(self, place: str, *, origin: str | None = HERE, csrf: str | None = None, **given: Any) -> httpx.Response:
        headers = {} if origin is None else {"origin": origin}
        files = {"file": given.pop("file")} if "file" in given else None
        data = {"csrf": self.csrf if csrf is None else csrf, **given}
        return self.web.post(place, data=data, files=files, headers=headers, follow_redirects=False)

    @property
    def csrf(self) -> str:
        found = re.search(r'name="csrf" content="([^"]+)"', self.web.get("/").text)
        return "" if found is None else found[1]


@pytest.fixture(scope="module")
def people(shared: Running) -> dict[str, Person]:
    """One person of each role; the analyst has an allowance."""
    found = {"curator": Person(shared)}
    for role in ("analyst", "application", "auditor"):
        key, secret = shared.issue(role)
        if role == "analyst":
            amount = {"epsilon": "1", "delta": "1e-7"}
            assert shared.call("PUT", f"/populations/viewers/allowances/{key}", json=amount).status_code == 204
        found[role] = Person(shared, secret)
    return found


@pytest.mark.parametrize("place", PAGES)
def test_each_role_sees_its_pages(people: dict[str, Person], place: str) -> None:
    for role, person in people.items():
        answer = person.get(place)
        assert answer.status_code == (200 if role in PAGES[place] else 403), (role, answer.text)
        assert "<main" in answer.text
        assert "style=" not in answer.text, "the policy forbids styles in the text"
        assert not re.search(r"<script(?! src=\"/static/)", answer.text)


def test_nobody_but_a_curator_sees_what_depends_on_records(shared: Running, people: dict[str, Person]) -> None:
    job = shared.get("/jobs")["entries"][-1]["id"]  # that read the data
    told = people["curator"].get(f"/jobs/{job}").text
    assert f"{len(FILMS):,}" in told
    for role in ("analyst", "application", "auditor"):
        text = "".join(people[role].get(place).text for place in PAGES if role in PAGES[place])
        assert f"{len(FILMS):,}" not in text
        assert str(shared.folder) not in text
        assert people[role].get(f"/jobs/{job}").status_code in (403, 404)
    entries = people["analyst"].get("/populations/viewers").text
    assert "Every charge" not in entries
    assert "carla" not in entries, "who spent what is for those who may read statements"
    assert "Every charge" in people["auditor"].get("/populations/viewers").text
    assert "Add data" not in people["auditor"].get("/populations/viewers").text


def test_the_model_without_privacy_is_for_curators(service: Running) -> None:
    assert service.run(MODEL, under="a")["state"] == "done"
    curator = Person(service)
    job = curator.post("/releases/nightly/reference").headers["location"].rpartition("/")[2]
    assert service.work(job)["state"] == "done"
    analyst = Person(service, service.issue("analyst")[1])
    asked = {"text": "film-3", "item": "film-7"}
    assert "Without privacy" in curator.post("/releases/nightly/ask", **asked).text
    answer = analyst.post("/releases/nightly/ask", **asked)
    assert answer.status_code == 200
    assert 'ol class="answers"' in answer.text
    for page in (answer, analyst.get("/releases"), analyst.get("/")):
        assert "ithout privacy" not in page.text
    assert analyst.post("/releases/nightly/reference").status_code == 403
    # What was asked is in no log.
    assert "film-7" not in curator.get("/log").text


def test_another_tenant_has_nothing_here(shared: Running) -> None:
    key = shared.hub.keys.redeem(shared.hub.keys.add_tenant("others")[1], "otto")
    otto = Person(shared, key)
    for place in ("/populations/viewers", "/releases/counts", "/releases/nightly/download"):
        assert otto.get(place).status_code == 404
    assert "viewers" not in "".join(otto.get(place).text for place in ("/", "/releases", "/log", "/jobs", "/keys"))
    assert "no population yet" in otto.get("/").text


# Forged requests and sessions


def test_forged_forms_are_refused(service: Running) -> None:
    carla, form = Person(service), {"name": "forged", "epsilon": "1"}
    assert carla.post("/populations/new", csrf="guessed", **form).status_code == 403
    assert carla.post("/populations/new", csrf=Person(service).csrf, **form).status_code == 403, "of another session"
    assert carla.post("/populations/new", origin="https://evil.example", **form).status_code == 403
    assert carla.post("/populations/new", origin="null", **form).status_code == 403
    assert carla.post("/populations/new", origin=None, **form).status_code == 403
    crossed = {"origin": HERE, "sec-fetch-site": "cross-site"}
    assert carla.web.post("/populations/new", data={"csrf": carla.csrf, **form}, headers=crossed).status_code == 403
    assert carla.post("/sign-in", origin="https://evil.example", key=service.key).status_code == 403
    assert [one["name"] for one in service.get("/populations")["entries"]] == ["viewers"]
    assert carla.post("/populations/new", **form).status_code == 303


def test_a_cookie_is_no_key_of_the_api(people: dict[str, Person]) -> None:
    assert people["curator"].web.get("/v1/me").status_code == 401


def test_a_session_ends_with_its_key(service: Running) -> None:
    key, secret = service.issue("curator")
    person = Person(service, secret)
    assert person.get("/keys").status_code == 200
    service.call("POST", f"/keys/{key}/rotate")
    assert person.get("/keys").headers["location"] == "/sign-in?then=/keys"
    key, secret = service.issue("analyst")
    person = Person(service, secret)
    assert person.get("/choose").status_code == 200
    assert Person(service).post(f"/keys/{key}/revoke").status_code == 303
    assert person.get("/choose").status_code == 303
    assert "not known" in Person(service, secret).signed.text
    carla = Person(service)
    assert carla.post("/sign-out").status_code == 303
    assert carla.get("/").headers["location"] == "/sign-in"


def test_cookies_are_out_of_reach(tmp_path: Path, service: Running) -> None:
    cookie = Person(service).signed.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "secure" not in cookie
    settings = ServiceSettings(folder=tmp_path / "tls", secure_cookies=True, public_url="https://d.example")
    web = TestClient(create_app(settings, jobs=False), base_url="https://d.example")
    hub: Any = web.app.state.hub  # type: ignore[attr-defined]
    key = hub.keys.redeem(hub.keys.add_tenant("shop")[1], "carla")
    cookie = web.post(
        "/sign-in", data={"key": key}, headers={"origin": "https://d.example"}, follow_redirects=False
    ).headers["set-cookie"]
    assert cookie.startswith("__Host-discreet=")
    assert "; Secure" in cookie


def test_signing_in_leads_nowhere_else(service: Running) -> None:
    for place in ("https://evil.example/", "//evil.example", "/\\evil.example"):
        assert Person(service).post("/sign-in", key=service.key, then=place).headers["location"] == "/"
    assert Person(service).post("/sign-in", key=service.key, then="/keys").headers["location"] == "/keys"
    wrong = Person(service, f"{service.key}x").signed
    assert wrong.status_code == 401
    assert service.key not in wrong.text


def test_the_setup_link_gives_a_key_once(service: Running) -> None:
    token = service.hub.keys.add_tenant("new")[1]
    person = Person(service, "none")
    nameless = person.post("/setup", token=token, name="")
    assert nameless.status_code == 422
    assert token in nameless.text, "what was typed is not lost"
    shown = person.post("/setup", token=token, name="nora")
    key = re.search(r'id="the-key">(dk_[^<]+)<', shown.text)
    assert key is not None
    assert service.hub.keys.caller(key[1]).name == "nora"
    assert person.get("/").status_code == 200
    again = Person(service, "none").post("/setup", token=token, name="mallory")
    assert again.status_code == 401
    assert "mallory" in again.text
    assert key[1] not in person.get("/keys").text


@pytest.fixture
def local(tmp_path: Path) -> Iterator[TestClient]:
    settings = ServiceSettings(folder=tmp_path, insecure_local=True, public_url="http://127.0.0.1:8000")
    with TestClient(create_app(settings, jobs=False), base_url="http://127.0.0.1:8000") as web:
        yield web


def test_a_service_without_keys_refuses_other_sites(local: TestClient) -> None:
    page = local.get("/", headers={"accept": "text/html"})
    assert "No keys are asked for" in page.text
    token = re.search(r'name="csrf" content="([^"]+)"', page.text)
    assert token is not None
    form = {"csrf": token[1], "name": "mine", "epsilon": "1"}
    evil = {"origin": "https://evil.example"}
    assert local.post("/populations/new", data=form, headers=evil).status_code == 403
    assert local.post("/v1/populations", json={"name": "x", "epsilon": 1}, headers=evil).status_code == 403
    assert local.get("/v1/keys", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert local.get("/", headers={"host": "evil.example:8000"}).status_code == 403, "a name that points here"
    own = {"origin": "http://127.0.0.1:8000"}
    assert local.post("/populations/new", data={**form, "csrf": ""}, headers=own).status_code == 403
    assert local.post("/populations/new", data=form, headers=own, follow_redirects=False).status_code == 303


# Forms


def test_errors_stand_beside_the_form_and_lose_nothing(people: dict[str, Person]) -> None:
    carla = people["curator"]
    again = carla.post("/populations/new", name="a/b", epsilon="4", delta="1e-9", open_to_analysts="yes")
    assert again.status_code == 422
    assert 'role="alert"' in again.text
    for typed in ('value="a/b"', 'value="4"', 'value="1e-9"', "checked"):
        assert typed in again.text
    again = carla.post("/keys", name="x", role="application", users="u1", days="soon")
    assert again.status_code == 422
    assert 'value="soon"' in again.text
    assert 'value="u1"' in again.text
    again = carla.post("/populations/viewers/data", name="mine", rating="stars", file=("a.exe", b"x"))
    assert again.status_code == 415
    assert 'value="stars"' in again.text
    again = carla.post("/populations/viewers/allowances", key="nobody", epsilon="1/3")
    assert again.status_code == 404
    assert 'value="1/3"' in again.text


def test_a_run_shows_its_cost_and_happens_once(service: Running) -> None:
    carla = Person(service)
    dataset = service.get("/datasets")["entries"][0]["id"]
    form = {"dataset": dataset, "method": "weighted", "epsilon": "1/2", "set-cap": "30", "name": "from a page"}
    page = carla.post("/choose/check", **form)
    assert "Spend ε = 0.5?" in page.text
    assert service.get("/populations/viewers")["n_entries"] == 0
    token = re.search(r'name="token" value="([^"]+)"', page.text)
    assert token is not None
    first, second = (carla.post("/choose/run", **form, token=token[1]).headers["location"] for _ in range(2))
    assert first == second, "sent twice it is the same job"
    assert service.work(first.rpartition("/")[2])["state"] == "done"
    assert service.get("/populations/viewers")["n_entries"] == 1
    refused = carla.post("/choose/run", **{**form, "epsilon": "9"}, token="other")
    assert refused.status_code == 409
    assert 'value="9"' in refused.text


def test_an_upload_from_a_page_is_read_by_a_job(service: Running) -> None:
    file = ("likes.csv", b"user,item\nann,tea\nbob,rum\n")
    sent = Person(service).post("/populations/viewers/data", name="likes", users="2", file=file)
    assert sent.status_code == 303, sent.text
    assert service.work(sent.headers["location"].rpartition("/")[2])["state"] == "done"
    assert "likes" in [one["name"] for one in service.get("/datasets")["entries"]]
    object.__setattr__(service.hub.store.settings, "upload_limit", 10)
    big = ("big.csv", b"user,item\n" + b"ann,tea\n" * 20_000)
    assert Person(service).post("/populations/viewers/data", name="big", file=big).status_code == 413


def test_analysts_choose_among_proved_methods(people: dict[str, Person]) -> None:
    page = people["analyst"].get("/choose").text
    assert '<option value="private-recommender"' in page
    assert '<option value="ppns"' not in page
    assert '<option value="ppns"' in people["curator"].get("/choose").text


def test_problems_are_pages_for_people_and_json_for_programs(shared: Running, people: dict[str, Person]) -> None:
    page = people["curator"].get("/releases/none")
    assert page.status_code == 404
    assert "Not found" in page.text
    assert shared.call("GET", "/releases/none").headers["content-type"] == "application/problem+json"
    assert Person(shared, "none").get("/keys").headers["location"] == "/sign-in?then=/keys"


def test_a_defect_is_a_page_without_its_reason(shared: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    person = Person(shared)

    def broken(*given: Any, **more: Any) -> None:
        raise RuntimeError("film-3 of ann")

    monkeypatch.setattr(shared.hub.releases, "listed", broken)
    page = person.get("/releases")
    assert page.status_code == 500
    assert "film-3" not in page.text
    assert "Something went wrong" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]


def test_the_colors_are_those_of_reports() -> None:
    light, dark = (STATIC / "style.css").read_text().split("@media (prefers-color-scheme: dark)")[:2]
    for text, colors in ((light, LIGHT), (dark, DARK)):
        for name, color in colors.items():
            assert f"--{name}: {color};" in text


def test_every_route_of_the_api_is_in_its_reference(shared: Running, people: dict[str, Person]) -> None:
    page = people["auditor"].get("/api").text
    for path in shared.web.get("/v1/openapi.json").json()["paths"]:
        assert f">{path}<" in page


def test_counts_are_drawn_with_their_noise(people: dict[str, Person]) -> None:
    page = people["auditor"].get("/releases/counts?verify=1").text
    assert page.count('class="whisker"') == 2 * 3 * 15  # drawn for much and for little room; one of them is shown
    assert "The release is whole" in page


def test_what_was_measured_is_shown_to_curators_alone(service: Running) -> None:
    dataset = service.get("/datasets")["entries"][0]["id"]
    curator = service.hub.keys.caller(service.key)
    point = dict.fromkeys(("utility", "utility_low", "utility_high", "risk", "risk_low", "risk_high"), 0.5)
    curve = {"attacker": "the neighbors", "points": [{"epsilon": epsilon, **point} for epsilon in (0.5, 1, 4)]}
    rows = [{"model": "private-recommender", "epsilon": e, "values": {"recall@20": 0.2}} for e in (1, 2)]
    plain = {"model": "ease", "epsilon": None, "values": {"recall@20": 0.4}}
    reports = {
        "frontier": {"measure": "rankings", "rows": [*rows, plain]},
        "risk": {"model": "private-recommender", "curves": [curve]},
    }
    analyst, secret = service.issue("analyst")
    service.hub.populations.allow(curator, "viewers", analyst, {"epsilon": "1", "delta": "1e-7"})
    for kind, report in reports.items():
        with service.hub.store.write() as connection:
            row = {"id": f"rep_{kind}", "tenant": curator.tenant, "job": "job", "kind": kind, "dataset": dataset}
            row |= {"release": None, "summary": f"the {kind}", "report": report, "created": now(), "who": "carla"}
            connection.execute(sql.insert(REPORTS).values(**row))
        page, of_others = Person(service).get("/choose").text, Person(service, secret).get("/choose").text
        assert f'href="/reports/rep_{kind}"' in page
        assert "curators only" in page
        assert "/reports/" not in of_others
        assert "No record was read" in of_others, "the estimate from public values"
        assert Person(service).get(f"/reports/rep_{kind}").status_code == 200
