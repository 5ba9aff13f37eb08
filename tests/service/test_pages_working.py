"""What people start and follow from pages: reports on the records, sessions of questions, series, surveys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from tests.service.conftest import COUNTS, MODEL, Running, start
from tests.service.crash import schema_of
from tests.service.test_asking import register
from tests.service.test_pages import PAGES, Person

from discreet.data import synthetic
from discreet.service import sessions
from discreet.service.pages.findings import short
from discreet.service.store import clock, dated

SERIES = {"method": "weighted", "epsilon": "1", "delta": "1e-7", "set-cap": "30", "steps": "20", "records": "all"}


@pytest.fixture
def survey(service: Running) -> Iterator[Running]:
    register(service, "survey", synthetic.survey(households=60, seed=3), terms={"unit": "record/replace"})
    yield service
    for held in sessions._HELD.values():
        held.closing.set()


def job_of(answer: httpx.Response) -> str:
    assert answer.status_code == 303, answer.text
    return answer.headers["location"].rpartition("/")[2]


def token_of(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    found = re.search(r'name="token" value="([^"]+)"', answer.text)
    assert found is not None, answer.text
    return found[1]


# Reports

FORMS: dict[str, dict[str, Any]] = {
    "attack": {"attack": "sybil", "against": ["knn", "ppns"], "targets": "2", "epsilon": "1"},
    "risk": {"method": "published-slope-one", "epsilons": "1, 100", "targets": "2"}
    | {"set-least_ratings": "5", "set-minimum_overlap": "2"},
    "frontier": {"method": "private-recommender", "delta": "1e-6", "epsilons": "1, 2"},
}


@pytest.mark.parametrize("kind", FORMS)
def test_reports_are_started_from_a_page_and_kept_beside_the_data(shared: Running, kind: str) -> None:
    carla, dataset = Person(shared), shared.get("/datasets")["entries"][0]["id"]
    before = shared.get("/populations/viewers")["n_entries"]
    done = shared.work(job_of(carla.post("/reports/new", kind=kind, dataset=dataset, **FORMS[kind])))
    assert done["state"] == "done", done["problem"]
    report = done["result"]["report"]
    page = carla.get(f"/reports/{report}").text
    assert 'class="chart' in page
    assert "curators only" in page
    assert f"/reports?dataset={dataset}" in carla.get("/populations/viewers").text
    assert report in carla.get(f"/reports?dataset={dataset}").text
    assert shared.get("/populations/viewers")["n_entries"] == before, "no budget is spent"
    auditor = Person(shared, shared.issue("auditor")[1])
    assert auditor.get(f"/reports/{report}").status_code == 404, "an auditor reads audits alone"
    assert report not in auditor.get("/reports").text
    analyst = Person(shared, shared.issue("analyst")[1])
    for person in (auditor, analyst):
        assert person.post("/reports/new", kind=kind, dataset=dataset, **FORMS[kind]).status_code == 403


def test_an_audit_of_a_release_is_shown_with_it_to_curators_and_auditors(shared: Running) -> None:
    carla, release = Person(shared), shared.get("/releases/counts")["id"]
    assert "Accuracy over ε" not in carla.get(f"/reports/new?release={release}").text, "counts have no lists"
    done = shared.work(job_of(carla.post("/reports/new", kind="audit", release=release, seconds="2")))
    assert done["state"] == "done", done["problem"]
    link = f"/reports/{done['result']['report']}"
    auditor = Person(shared, shared.issue("auditor")[1])
    for person in (carla, auditor):
        assert link in person.get(f"/releases/{release}").text
        page = person.get(link).text
        assert "The attacks" in page
        assert "ε = 0.5" in page, "what was claimed, in words"
        assert "{&#39;" not in page
        assert "What the method claims" in page


@pytest.mark.parametrize(
    ("lower", "verdict", "told"),
    [
        (0.2, "consistent", "No attack got past the claim of ε = 1: 1 was tried"),
        (3.0, "refuted", "ε = 3, and ε = 1 was"),
    ],
)
def test_an_audit_says_in_words_what_it_found(lower: float, verdict: str, told: str) -> None:
    claimed = {"loss": {"kind": "pure", "epsilon": "1"}, "epsilon": 1.0}
    score = {"game": "swapped-ranks", "verdict": verdict, "epsilon_lower": lower, "claimed": claimed}
    nothing = {"game": "sybil", "verdict": "no claim", "epsilon_lower": 9.0, "claimed": None}
    report = {"scores": [nothing, score], "refuted": verdict == "refuted", "confidence": 0.95}
    row: Any = SimpleNamespace(id="rep", kind="audit", report=report, summary="", created="", who="", dataset=None)
    assert told in short(row, {})["words"]


def test_mistakes_stand_beside_the_form_of_a_report(shared: Running) -> None:
    carla, dataset = Person(shared), shared.get("/datasets")["entries"][0]["id"]
    for kind, wrong in (
        ("audit", {"method": "weighted", "seconds": "long"}),
        ("risk", {"method": "private-recommender", "epsilons": "1, x"}),
        ("attack", {"attack": "sybil", "against": []}),
        ("attack", {"attack": "none", "against": ["knn"]}),
    ):
        answer = carla.post("/reports/new", kind=kind, dataset=dataset, **wrong)
        assert answer.status_code == 422
        assert 'role="alert"' in answer.text
    assert carla.get("/reports/new?kind=nonsense").status_code == 404
    again = carla.post("/reports/form", kind="audit", dataset=dataset, method="top-items", seconds="17")
    assert 'value="17"' in again.text
    assert 'name="set-k"' in again.text, "the settings of the method that was chosen"


# Sessions


def test_a_session_from_its_price_to_its_release(survey: Running) -> None:
    carla = Person(survey)
    form = {"dataset": "survey", "name": "talk", "epsilon": "1", "updates": "5", "questions": "100"}
    page = carla.post("/sessions/check", **form)
    assert "Spend ε = 1?" in page.text
    assert survey.get("/populations/survey")["n_entries"] == 0
    token = token_of(page)
    first, second = (job_of(carla.post("/sessions", **form, token=token)) for _ in range(2))
    assert first == second, "sent twice it is the same session"
    assert survey.get("/populations/survey")["n_entries"] == 1
    page = carla.get(f"/sessions/{first}").text
    assert "<option>F</option>" in page
    assert "<option>29</option>" in page, "ranges end where bins do"
    names = re.findall(r'<label for="f-(q\d+)">(\w+)<', page)
    gender = next(field for field, name in names if name == "gender")
    age = next(iter(re.findall(r'name="(q\d+)-from" aria-label="age from"', page)))
    answer = carla.post(f"/sessions/{first}/ask", **{gender: "F", f"{age}-from": "18", f"{age}-to": "29"})
    assert "age = 18–29 and gender = F" in answer.text
    assert survey.get(f"/sessions/{first}")["questions"] == 1
    wrong = carla.post(f"/sessions/{first}/ask", **{f"{age}-from": "19"})
    assert wrong.status_code == 422
    assert 'role="alert"' in wrong.text
    several = carla.post(f"/sessions/{first}/ask", json='{"income": {"in": ["low", "high"]}}')
    assert "income" in several.text
    assert survey.get(f"/sessions/{first}")["questions"] == 2, "a mistake is no question"
    assert "talk" in carla.get("/sessions").text
    assert carla.post(f"/sessions/{first}/close").status_code == 303
    closed = carla.get(f"/sessions/{first}").text
    release = re.search(r'href="(/releases/rel_\w+)"', closed)
    assert release is not None
    assert "age = 18–29 and gender = F" in carla.get(release[1]).text
    assert carla.post(f"/sessions/{first}/ask").status_code == 409


def test_a_session_survives_its_dataset(survey: Running) -> None:
    carla = Person(survey)
    session = job_of(carla.post("/sessions", dataset="survey", epsilon="1", updates="5"))
    dataset = next(one["id"] for one in survey.get("/datasets")["entries"] if one["name"] == "survey")
    assert carla.post(f"/datasets/{dataset}/remove").status_code == 303
    assert carla.get(f"/sessions/{session}").status_code == 200
    assert "gender = F" in carla.post(f"/sessions/{session}/ask", json='{"gender": "F"}').text


def test_a_session_is_shown_to_nobody_else(survey: Running) -> None:
    carla = Person(survey)
    form = {"dataset": "survey", "epsilon": "1", "updates": "5"}
    session = job_of(carla.post("/sessions", **form))
    analyst = Person(survey, survey.issue("analyst")[1])
    assert analyst.get(f"/sessions/{session}").status_code == 404
    assert session not in analyst.get("/sessions").text
    assert analyst.post("/sessions/check", **form).status_code == 404, "a population without an allowance is not there"
    assert Person(survey, survey.issue("auditor")[1]).get(f"/sessions/{session}").status_code == 403
    refused = carla.post("/sessions/check", **{**form, "epsilon": "100"})
    assert "This does not fit" in refused.text
    assert carla.post("/sessions", **{**form, "epsilon": "100"}).status_code == 409


def test_a_survey_in_csv_names_its_values_and_its_groups(service: Running) -> None:
    carla = Person(service)
    opened = carla.post("/populations/new", name="homes", epsilon="5", delta="1e-6", unit="record/replace")
    assert opened.status_code == 303, opened.text
    rows = b"home,age,sex\n" + b"".join(b"h%d,%d,%s\n" % (n // 3, n % 90, b"FM"[n % 2 : n % 2 + 1]) for n in range(90))
    form = {"name": "homes", "kind": "table", "group": "home"}
    wrong = carla.post("/populations/homes/data", **form, domains="{", file=("homes.csv", rows))
    assert wrong.status_code == 422
    assert "not JSON" in wrong.text
    unknown = carla.post("/populations/homes/data", **form, domains='{"age": "any"}', file=("homes.csv", rows))
    assert unknown.status_code == 422
    assert "this is not a domain" in unknown.text
    domains = '{"age": {"low": 0, "high": 99, "bins": [0, 18, 65]}, "sex": ["F", "M"]}'
    sent = carla.post("/populations/homes/data", **form, domains=domains, file=("homes.csv", rows))
    done = service.work(job_of(sent))
    assert done["state"] == "done", done["problem"]
    assert done["result"]["describe"]["groups"] == 30
    page = carla.post("/sessions/check", dataset="homes", epsilon="1", coupling="home")
    assert "one group of at most 3 records" in page.text
    # By the API, too.
    reading = '{"domains": {"age": {"low": 0, "high": 99}}, "group": "home"}'
    given = {"name": "more", "population": "homes", "filename": "more.csv", "reading": reading}
    answer = service.call("POST", "/uploads", params=given, content=rows)
    assert service.work(answer.json()["job"]["id"])["state"] == "done"
    bad = {**given, "name": "bad", "reading": '{"domains": {"age": "any"}}'}
    assert service.call("POST", "/uploads", params=bad, content=rows).status_code == 422


def test_a_population_of_households_says_how_large_they_are(service: Running) -> None:
    carla = Person(service)
    form = {"name": "flats", "epsilon": "5", "delta": "1e-6", "unit": "group/replace"}
    for size in ("", "many", "-2"):
        refused = carla.post("/populations/new", **form, group_size=size)
        assert refused.status_code == 422
        assert "A household needs a largest number of rows" in refused.text
    assert carla.post("/populations/new", **form, group_size="4").status_code == 303
    assert "one group of at most 4 records" in carla.get("/populations/flats").text


# Series


def test_a_series_with_missed_and_overdue_steps(service: Running) -> None:
    carla, today = Person(service), clock()
    dataset = service.get("/datasets")["entries"][0]["id"]
    form = {**SERIES, "dataset": dataset, "name": "weekly"}
    page = carla.post("/series/check", **form)
    assert "A series of 20 steps of weighted" in page.text
    with dated(today - timedelta(days=42)):
        job = job_of(carla.post("/series", **form, token=token_of(page)))
        assert service.work(job)["state"] == "done"
    assert "not begun" in carla.get("/series").text
    for weeks, step in ((6, ""), (5, ""), (3, "3")):
        with dated(today - timedelta(weeks=weeks)):
            done = service.work(job_of(carla.post(f"/series/{job}/advance", dataset=dataset, step=step)))
            assert done["state"] == "done", done["problem"]
    auditor = Person(service, service.issue("auditor")[1])
    for person in (carla, auditor):
        overview = person.get("/").text
        assert "missed: 2; 2 steps overdue since" in overview
        shown = person.get(f"/series/{job}").text
        assert "2 steps are overdue" in shown
        assert shown.count('<span class="badge warn">missed</span>') == 1
        assert "2 overdue" in person.get("/series").text
        assert "missed: 2" in person.get("/populations/viewers").text
    assert "Take step 4" in carla.get(f"/series/{job}").text
    assert "Take step" not in auditor.get(f"/series/{job}").text
    assert auditor.post(f"/series/{job}/advance", dataset=dataset).status_code == 403
    again = carla.post(f"/series/{job}/advance", dataset=dataset, step="soon")
    assert again.status_code == 422
    assert 'value="soon"' in again.text
    assert Person(service, service.issue("analyst")[1]).get(f"/series/{job}").status_code == 403
    # Whoever is no curator sees days, not times: how long a step took depends on the records.
    times = {one["created"] for one in service.get(f"/series/{job}", key=service.issue("auditor")[1])["releases"]}
    assert all(time.endswith("T00:00:00Z") for time in times)


def test_a_rehearsal_from_a_page(shared: Running) -> None:
    carla, dataset = Person(shared), shared.get("/datasets")["entries"][0]["id"]
    before = shared.get("/populations/viewers")["n_entries"]
    form = {"dataset": dataset, "method": "weighted", "epsilon": "1", "set-cap": "30", "name": "trial"}
    done = shared.work(job_of(carla.post("/choose/rehearse", **form)))
    assert "This is a rehearsal" in carla.get(f"/releases/{done['result']['release']}").text
    assert shared.get("/populations/viewers")["n_entries"] == before


def test_the_slider_begins_at_what_is_left(service: Running) -> None:
    key, secret = service.issue("analyst")
    amount = {"epsilon": "0.45", "delta": "1e-7"}
    assert service.call("PUT", f"/populations/viewers/allowances/{key}", json=amount).status_code == 204
    assert 'name="epsilon" value="0.4"' in Person(service, secret).get("/choose").text
    assert 'name="epsilon" value="1"' in Person(service).get("/choose").text
    assert 'name="epsilon" value="3"' in Person(service).get("/choose?epsilon=3").text


# PostgreSQL


def test_the_pages_on_postgres(postgres_server: str, tmp_path: Path) -> None:
    running = start(tmp_path, database=schema_of(postgres_server, "pages"))
    with running.web:
        running.run(COUNTS, under="counts")
        running.run(MODEL, under="model")
        carla, dataset = Person(running), running.get("/datasets")["entries"][0]["id"]
        job = job_of(carla.post("/series", **SERIES, dataset=dataset))
        assert running.work(job)["state"] == "done"
        assert running.work(job_of(carla.post(f"/series/{job}/advance", dataset=dataset)))["state"] == "done"
        frontier = running.work(
            job_of(carla.post("/reports/new", kind="frontier", dataset=dataset, **FORMS["frontier"]))
        )
        assert frontier["state"] == "done", frontier["problem"]
        more = (f"/series/{job}", f"/reports/{frontier['result']['report']}", f"/jobs/{job}")
        for place in (*PAGES, *more):
            answer = carla.get(place)
            assert answer.status_code == 200, (place, answer.text)
        assert "film-" in carla.post("/releases/nightly/ask", text="film-3").text
        assert (
            "Spend"
            in carla.post("/choose/check", dataset=dataset, method="weighted", epsilon="1/2", **{"set-cap": "3"}).text
        )
