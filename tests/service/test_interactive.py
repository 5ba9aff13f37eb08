"""Sessions and series: charged when they open, once under a key; what they answer stays the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.service.conftest import FILMS, Running
from tests.service.test_asking import register

from discreet.data import synthetic
from discreet.data.readers import write
from discreet.service import sessions
from discreet.service.supervisor import recover

QUESTION = {"question": {"gender": "F", "age": [18, 29]}}
NEW = {"dataset": "survey", "settings": {"epsilon": 1, "updates": 5}, "name": "talk"}
SERIES = {
    "dataset": "films",
    "method": "weighted",
    "settings": {"epsilon": 1, "delta": "1e-7", "cap": 30},
    "steps": 4,
    "name": "weekly",
}


@pytest.fixture
def survey(service: Running) -> Iterator[Running]:
    register(service, "survey", synthetic.survey(households=60, seed=3), terms={"unit": "record/replace"})
    yield service
    for held in sessions._HELD.values():
        held.closing.set()


def opened(running: Running, body: dict[str, Any] = NEW, under: str = "a", path: str = "/sessions") -> Any:
    return running.call("POST", path, json=body, headers={"Idempotency-Key": under})


def test_a_session_is_charged_once_and_closes_into_a_release(survey: Running) -> None:
    estimate = survey.call("POST", "/sessions/estimate", json=NEW).json()
    assert (estimate["cost"]["epsilon"], estimate["left_after"]["epsilon"], estimate["fits"]) == ("1", "9", True)
    answer = opened(survey)
    assert answer.status_code == 202, answer.text
    session = answer.json()["id"]
    assert survey.get(f"/sessions/{session}")["state"] == "open"
    assert survey.get("/populations/survey")["left"]["epsilon"] == "9"  # before a question was asked
    again = opened(survey)
    assert (again.status_code, again.json()["id"]) == (200, session)
    first = survey.call("POST", f"/sessions/{session}/ask", json=QUESTION).json()
    assert first["label"] == "age = 18–29 and gender = F"
    assert survey.call("POST", f"/sessions/{session}/ask", json=QUESTION).json() == first
    assert survey.get(f"/sessions/{session}")["questions"] == 1
    assert [(one["id"], one["state"], one["name"]) for one in survey.get("/sessions")["entries"]] == [
        (session, "open", "talk")
    ]
    wrong = survey.call("POST", f"/sessions/{session}/ask", json={"question": {"shoe": 1}})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "request")
    closed = survey.call("POST", f"/sessions/{session}/close").json()
    assert closed["state"] == "done", closed
    answers = survey.get(f"/releases/{closed['result']['release']}/answers")["entries"]
    assert [one["answer"] for one in answers] == [first["answer"]]
    assert survey.call("POST", f"/sessions/{session}/close").json()["result"] == closed["result"]
    refused = survey.call("POST", f"/sessions/{session}/ask", json=QUESTION)
    assert (refused.status_code, refused.json()["code"]) == (409, "session")
    assert survey.get("/populations/survey")["left"]["epsilon"] == "9"


def test_a_session_is_its_owners(survey: Running) -> None:
    session = opened(survey).json()["id"]
    _, analyst = survey.issue("analyst")
    assert survey.call("POST", f"/sessions/{session}/ask", key=analyst, json=QUESTION).status_code == 404
    _, application = survey.issue("application")
    assert survey.call("POST", f"/sessions/{session}/ask", key=application, json=QUESTION).status_code == 403
    assert opened(survey, {**NEW, "dataset": "films"}, under="b").status_code == 422
    too_much = opened(survey, {**NEW, "settings": {"epsilon": 100}}, under="c")
    assert (too_much.status_code, too_much.json()["code"]) == (409, "budget")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_session_that_a_crash_took_stays_charged_and_says_so(survey: Running, monkeypatch: Any) -> None:
    def crash(*_: Any, **__: Any) -> Any:
        raise SystemExit  # ends the thread as a crash would: nothing is noted

    monkeypatch.setattr(sessions, "Held", crash)
    session = opened(survey).json()["id"]
    recover(survey.hub.store, session)
    shown = survey.get(f"/sessions/{session}")
    assert shown["state"] == "failed", shown
    assert "stays charged" in shown["problem"]["detail"]
    assert survey.get("/populations/survey")["left"]["epsilon"] == "9"


def test_a_series_is_charged_once_for_all_its_steps(service: Running) -> None:
    estimate = service.call("POST", "/series/estimate", json=SERIES)
    assert estimate.status_code == 200, estimate.text
    assert estimate.json()["steps"] == 4
    assert estimate.json()["fits"]
    assert estimate.json()["cost"]["epsilon"] == "1"
    assert service.get("/populations/viewers")["n_entries"] == 0
    answer = opened(service, SERIES, path="/series")
    assert answer.status_code == 202, answer.text
    series = answer.json()["id"]
    job = service.work(series)
    assert (job["state"], job["result"]) == ("done", {"series": series}), job
    assert opened(service, SERIES, path="/series").json()["id"] == series
    assert opened(service, {**SERIES, "steps": 5}, path="/series").status_code == 409
    step = service.call("POST", f"/series/{series}/advance", json={"dataset": "films", "step": 0})
    done = service.work(step.json()["id"])
    assert done["state"] == "done", done
    release = service.get(f"/releases/{done['result']['release']}")
    assert release["entry"] == job["entry"] == 1
    assert len(service.get(f"/releases/{release['id']}/top")["entries"]) == 10
    again = service.work(
        service.call("POST", f"/series/{series}/advance", json={"dataset": "films", "step": 0}).json()["id"]
    )
    assert service.get(f"/releases/{again['result']['release']}")["release"] == release["release"]
    assert FILMS.timestamp is not None
    later = FILMS.filter(FILMS.timestamp % 2 == 0, independent="record")
    write(later, service.folder / "later.parquet")
    body = {"name": "later", "population": "viewers", "path": str(service.folder / "later.parquet")}
    service.work(service.call("POST", "/datasets", json=body).json()["job"]["id"])
    skipped = service.work(
        service.call("POST", f"/series/{series}/advance", json={"dataset": "later", "step": 2}).json()["id"]
    )
    assert skipped["state"] == "done", skipped
    shown = service.get(f"/series/{series}")
    assert (shown["last"], shown["missed"], shown["entry"]) == (2, [1], 1)
    assert [one["id"] for one in service.get("/series")["entries"]] == [series]
    assert service.get("/populations/viewers")["spent"] == {"epsilon": "1", "delta": "1/10000000"}


def test_series_are_for_curators(service: Running) -> None:
    _, analyst = service.issue("analyst")
    answer = service.call("POST", "/series", key=analyst, json=SERIES, headers={"Idempotency-Key": "a"})
    assert answer.status_code == 403
    wrong = opened(service, {**SERIES, "method": "top-items", "settings": {"epsilon": 1}}, path="/series")
    assert (wrong.status_code, wrong.json()["code"]) == (422, "request")
