"""What somebody with a key, or with none, could try: names of others, endless streams, forms that hold the database."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
import sqlalchemy as sql
from fastapi.testclient import TestClient
from tests.service.conftest import COUNTS, Running
from tests.service.test_interactive import opened, survey
from tests.service.test_trust import analyst

from discreet.service import asking, sessions
from discreet.service.api import runs
from discreet.service.app import create_app
from discreet.service.problems import Problem
from discreet.service.schema import RELEASES, TOKENS
from discreet.service.settings import ServiceSettings

__all__ = ["survey"]

T = TypeVar("T")


def in_a_thread(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine: in this thread a browser of other tests may have a loop that runs."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


# Names


def test_an_analyst_cannot_put_a_release_in_the_place_of_another_one(service: Running) -> None:
    release = service.run(COUNTS, under="a")["result"]["release"]
    key = analyst(service)
    for path in ("/runs", "/runs/rehearse"):
        body = {**COUNTS, "settings": {"epsilon": "1/8", "cap": 2}}
        answer = service.call("POST", path, key=key, json=body, headers={"Idempotency-Key": path})
        assert (answer.status_code, answer.json()["code"]) == (409, "name"), answer.text
        for name in (release, "rel_0123", "job_0123"):
            answer = service.call(
                "POST", path, key=key, json={**body, "name": name}, headers={"Idempotency-Key": f"{path} {name}"}
            )
            assert answer.status_code == 422, answer.text
    _, application = service.issue("application")
    assert service.get("/releases/counts", key=application)["id"] == release


def test_a_name_belongs_to_whoever_asked_first_also_while_the_job_waits(service: Running) -> None:
    body = {**COUNTS, "settings": {"epsilon": "1/8", "cap": 2}, "name": "fresh"}
    first, second = analyst(service), analyst(service)
    jobs = [
        service.call("POST", "/runs", key=key, json=body, headers={"Idempotency-Key": "k"}) for key in (first, second)
    ]
    assert jobs[0].status_code == 202
    assert (jobs[1].status_code, jobs[1].json()["code"]) == (409, "name"), jobs[1].text
    assert service.work(jobs[0].json()["id"])["state"] == "done"


def test_an_analyst_uses_a_name_of_their_own_again_and_curators_any(service: Running) -> None:
    key, body = analyst(service), {**COUNTS, "settings": {"epsilon": "1/8", "cap": 2}, "name": "mine"}
    for number in range(2):
        assert service.run(body, under=f"n{number}", key=key)["state"] == "done"
    assert service.run({**body, "method": "weighted"}, under="c")["state"] == "done"


def test_an_id_is_found_before_a_name_and_a_release_before_a_rehearsal(service: Running) -> None:
    first = service.run({**COUNTS, "name": "same"}, under="a")["result"]["release"]
    rehearsed = service.call("POST", "/runs/rehearse", json={**COUNTS, "name": "same"}).json()["id"]
    assert service.work(rehearsed)["state"] == "done"
    assert service.get("/releases/same")["id"] == first
    with service.hub.store.write() as connection:  # as an older version could have written it
        connection.execute(sql.update(RELEASES).where(RELEASES.c.id != first).values(name=first))
    assert service.get(f"/releases/{first}")["id"] == first


# Streams


def events(service: Running, key: str, job: str) -> Any:
    caller = service.hub.keys.caller(key)
    return runs._events(service.hub, caller, job)


def test_a_stream_ends_with_the_key(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    name, key = service.issue("analyst")
    service.call("PUT", f"/populations/viewers/allowances/{name}", json={"epsilon": 1})
    job = service.call("POST", "/runs", key=key, json=COUNTS, headers={"Idempotency-Key": "a"}).json()["id"]
    monkeypatch.setattr(runs, "POLL_SECONDS", 0.01)

    async def follow() -> list[str]:
        stream, told = events(service, key, job), []
        async for line in stream:
            told.append(line)
            if len(told) == 1:
                await asyncio.to_thread(service.call, "DELETE", f"/keys/{name}")
        return told

    told = in_a_thread(asyncio.wait_for(follow(), 60))
    assert len(told) == 1
    assert '"queued"' in told[0]


def test_one_key_follows_few_jobs_at_a_time(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MOST_STREAMS", 2)
    job = service.call("POST", "/runs/rehearse", json=COUNTS).json()["id"]
    caller = service.hub.keys.caller(service.key)

    async def follow() -> None:
        held: list[Any] = [runs._events(service.hub, caller, job) for _ in range(2)]
        for one in held:
            await anext(one)
        with pytest.raises(Problem) as refused:
            runs.require_stream(service.hub, caller)
        assert refused.value.status == 429
        assert refused.value.headers["Retry-After"]
        for one in held:
            await one.aclose()
        runs.require_stream(service.hub, caller)

    in_a_thread(follow())


# Sessions of questions


def test_one_key_holds_few_sessions(survey: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_OF_A_KEY", 2)
    for number in range(2):
        assert opened(survey, under=f"n{number}").status_code == 202
    refused = opened(survey, under="third")
    assert (refused.status_code, refused.json()["code"]) == (429, "queue")
    assert opened(survey, under="n1").status_code == 200  # the same key of a request returns its session
    key = survey.issue("curator")[1]
    answer = survey.call(
        "POST",
        "/sessions",
        key=key,
        json={"dataset": "survey", "settings": {"epsilon": 1, "updates": 5}},
        headers={"Idempotency-Key": "other"},
    )
    assert answer.status_code == 202


# Without a key


@contextmanager
def no_writes(service: Running) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:

        def write(*_: Any) -> Any:
            raise AssertionError("a request without a key holds the database")

        patch.setattr(service.hub.store, "write", write)
        yield


def test_whoever_has_no_key_holds_no_lock_of_the_database(service: Running) -> None:
    with no_writes(service):
        for path, body in (("/v1/setup", {"token": "x", "name": "x"}), ("/v1/keys", {"name": "x", "role": "auditor"})):
            assert service.web.post(path, json=body).status_code == 401
        headers = {"origin": "http://testserver"}
        assert service.web.post("/sign-in", data={"key": "dk_a_b"}, headers=headers).status_code == 401
        assert service.web.post("/setup", data={"token": "x", "name": "x"}, headers=headers).status_code == 401


def test_a_link_is_used_once_also_by_two_at_a_time(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = service.hub
    token = hub.keys.new_link(hub.keys.caller(service.key).tenant)
    unused = hub.store.one(sql.select(TOKENS).where(TOKENS.c.used.is_(None)))
    hub.keys.redeem(token, "first")
    monkeypatch.setattr(hub.store, "one", lambda query: unused)  # what the second one saw before
    with pytest.raises(Problem, match="was used"):
        hub.keys.redeem(token, "second")


# Answers


SECRET = "a-film-that-tells-everything"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("recommend", {"history": {SECRET: "not a number"}}),
        ("recommend", {"history": [SECRET, {}]}),
        ("recommend", {"history": [SECRET], "n": SECRET}),
        ("recommend/batch", {"histories": [{SECRET: []}]}),
        ("predict", {"items": ["film-3"], "history": {SECRET: None}}),
        ("tags", {"resources": ["x"], "own": [{"resource": SECRET, "tag": 3, SECRET: 1}]}),
    ],
)
def test_an_error_does_not_repeat_a_history(shared: Running, path: str, body: dict[str, Any]) -> None:
    answer = shared.call("POST", f"/releases/nightly/{path}", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "request"), answer.text
    assert SECRET not in answer.text
    assert answer.json()["where"]["field"].startswith("body")


def test_other_sites_may_not_read_answers_and_browsers_stay_with_tls(shared: Running, tmp_path: Path) -> None:
    for path in ("/v1/me", "/sign-in", "/v1/nowhere", "/static/style.css"):
        answer = shared.web.get(path)
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "Strict-Transport-Security" not in answer.headers
    secure = TestClient(create_app(ServiceSettings(folder=tmp_path, secure_cookies=True), jobs=False))
    assert "max-age=" in secure.get("/v1/me").headers["Strict-Transport-Security"]


def test_a_file_is_named_by_its_path_alone(service: Running) -> None:
    hidden = service.folder / "service" / "hidden.json"
    hidden.write_text('{"secret-of-the-service": [1]}')
    for option in ("domains", "catalog", "items", "format", "items_public", "name"):
        body = {"name": f"by {option}", "population": "viewers", "path": str(service.folder / "films.parquet")}
        answer = service.call("POST", "/datasets", json={**body, "reading": {option: str(hidden)}})
        told = answer.text if answer.status_code != 202 else str(service.work(answer.json()["job"]["id"]))
        assert "secret-of-the-service" not in told, option


# Memory


def test_an_answer_has_a_limit_of_lines(shared: Running) -> None:
    for body in ({"histories": [[]] * 10_000, "n": 101}, {"users": ["u"] * 10_000, "n": 101}):
        answer = shared.call("POST", "/releases/nightly/recommend/batch", json=body)
        assert (answer.status_code, answer.json()["code"]) == (422, "request")
        assert "lines" in answer.json()["detail"]


def test_likeness_is_worked_out_a_few_items_at_a_time(shared: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"items": [f"film-{number}" for number in range(1, 20)], "n": 3}
    whole = shared.call("POST", "/releases/nightly/similar", json=body).json()
    assert len(whole["entries"]) == 19
    model = shared.hub.asking.model(shared.hub.releases.get(shared.hub.keys.caller(shared.key), "nightly")).model
    sizes, similar = [], type(model)._similar

    def counted(self: Any, items: Any) -> Any:
        sizes.append(len(items))
        return similar(self, items)

    monkeypatch.setattr(type(model), "_similar", counted)
    monkeypatch.setattr(asking, "AT_A_TIME", 7)
    assert shared.call("POST", "/releases/nightly/similar", json=body).json() == whole
    assert max(sizes) == 7


def test_a_session_has_a_limit_of_questions(survey: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_QUESTIONS", 1)
    session = opened(survey).json()["id"]
    path = f"/sessions/{session}/ask"
    first = survey.call("POST", path, json={"question": {"gender": "F"}})
    assert first.status_code == 200
    other = survey.call("POST", path, json={"question": {"gender": "M"}})
    assert (other.status_code, other.json()["code"]) == (409, "questions")
    assert survey.call("POST", path, json={"question": {"gender": "F"}}).json() == first.json()
