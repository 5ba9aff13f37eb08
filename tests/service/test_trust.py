"""Jobs, charges and reservations when things go wrong; what is refused before it does harm."""

from __future__ import annotations

import asyncio
import errno
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from tests.service.conftest import COUNTS, Running, start

from discreet.privacy import Release
from discreet.service import guard, tasks
from discreet.service.jobs import DIED
from discreet.service.populations import amount_of
from discreet.service.schema import JOBS, LOG, POPULATIONS
from discreet.service.supervisor import recover
from discreet.service.worker import perform


def analyst(service: Running, epsilon: str = "1") -> str:
    name, key = service.issue("analyst")
    service.call("PUT", f"/populations/viewers/allowances/{name}", json={"epsilon": epsilon})
    return key


def submit(service: Running, key: str | None = None, under: str = "a") -> dict[str, Any]:
    answer = service.call("POST", "/runs", key=key, json=COUNTS, headers={"Idempotency-Key": under})
    assert answer.status_code in (200, 202), answer.text
    return answer.json()


def left(service: Running, key: str) -> Fraction:
    return amount_of(service.get("/populations/viewers", key=key)["allowance"]["left"]).epsilon


class Died(BaseException):
    """As if the process were gone."""


def die(service: Running, job: str, where: str) -> None:
    """Run a job whose process dies at a point."""
    with pytest.MonkeyPatch.context() as patch:

        def stop(*given: Any, **more: Any) -> Any:
            raise Died

        target: dict[str, tuple[Any, str]] = {
            "reading": (tasks.Datasets, "load"),
            "saving": (Release, "save"),
            "noting": (tasks.Releases, "add"),
        }
        kind, name = target[where]
        patch.setattr(kind, name, stop)
        with pytest.raises(Died):
            perform(service.hub.store, job)


def test_a_job_that_died_before_its_charge_is_tried_again(service: Running) -> None:
    job = submit(service)["id"]
    die(service, job, "reading")
    recover(service.hub.store, job)
    assert service.get(f"/jobs/{job}")["state"] == "queued"
    assert service.work(job)["state"] == "done"
    assert service.get("/populations/viewers")["n_entries"] == 1


def test_a_job_that_dies_again_and_again_fails_and_frees_what_it_reserved(service: Running) -> None:
    key = analyst(service)
    job = submit(service, key)["id"]
    for _ in range(3):
        die(service, job, "reading")
        recover(service.hub.store, job)
    shown = service.get(f"/jobs/{job}", key=key)
    assert (shown["state"], shown["problem"]["code"], shown["problem"]["retry"]) == ("failed", "failed", "free")
    assert left(service, key) == 1
    assert submit(service, key)["state"] == "queued"  # under the same key, at no further cost
    assert left(service, key) == Fraction(1, 2)
    assert service.work(job)["state"] == "done"


def test_a_job_that_died_while_drawing_says_which_entry_stays_charged(service: Running) -> None:
    key = analyst(service)
    job = submit(service, key)["id"]
    die(service, job, "saving")
    recover(service.hub.store, job)
    shown = service.get(f"/jobs/{job}", key=key)
    assert (shown["state"], shown["problem"]["code"], shown["entry"]) == ("failed", DIED, 1)
    assert "Entry 1" in shown["problem"]["detail"]
    assert left(service, key) == Fraction(1, 2)
    assert submit(service, key)["id"] == job
    assert left(service, key) == 0
    assert service.work(job)["state"] == "done"
    assert service.get("/populations/viewers")["n_entries"] == 2
    assert submit(service, key)["state"] == "done"


def test_a_job_that_died_after_it_saved_is_done(service: Running) -> None:
    job = submit(service)["id"]
    die(service, job, "noting")
    recover(service.hub.store, job)
    shown = service.get(f"/jobs/{job}")
    assert (shown["state"], shown["entry"]) == ("done", 1)
    assert service.get(f"/releases/{shown['result']['release']}/verify")["whole"] is True


def test_looking_after_a_job_that_has_ended_changes_nothing(service: Running) -> None:
    job = service.run(COUNTS, under="a")
    recover(service.hub.store, job["id"])
    assert service.get(f"/jobs/{job['id']}") == job


def test_looking_after_a_job_whose_process_lives_changes_nothing(service: Running) -> None:
    job = submit(service)["id"]
    with service.hub.store.holding(job) as held:
        assert held
        service.hub.jobs.claim(job)
        found: list[str] = []
        thread = threading.Thread(target=lambda: found.append(str(recover(service.hub.store, job))))
        thread.start()
        thread.join()
        assert found == ["None"]
        assert service.get(f"/jobs/{job}")["state"] == "running"


def test_a_full_disk_loses_the_release_and_names_the_entry(service: Running) -> None:
    job = submit(service)["id"]
    with pytest.MonkeyPatch.context() as patch:

        def full(*given: Any, **more: Any) -> Any:
            raise OSError(errno.ENOSPC, "No space left on device")

        patch.setattr(Release, "save", full)
        perform(service.hub.store, job)
    shown = service.get(f"/jobs/{job}")
    assert (shown["state"], shown["problem"]["code"]) == ("failed", DIED)
    assert "no space left" in shown["problem"]["detail"]
    assert "Entry 1" in shown["problem"]["detail"]


def test_want_of_memory_fails_one_job_and_is_not_tried_again(service: Running) -> None:
    job = submit(service)["id"]
    with pytest.MonkeyPatch.context() as patch:

        def greedy(*given: Any, **more: Any) -> Any:
            raise MemoryError

        patch.setattr(tasks.Datasets, "load", greedy)
        perform(service.hub.store, job)
    shown = service.get(f"/jobs/{job}")
    assert (shown["state"], shown["problem"]["code"]) == ("failed", "memory")


def test_cancelling_frees_what_was_reserved(service: Running) -> None:
    key = analyst(service)
    job = submit(service, key)["id"]
    assert left(service, key) == Fraction(1, 2)
    assert service.call("POST", f"/jobs/{job}/cancel", key=key).json()["state"] == "cancelled"
    assert left(service, key) == 1
    assert service.work(job)["state"] == "cancelled"


def test_colluding_analysts_cannot_reserve_more_than_each_may(service: Running) -> None:
    keys = [analyst(service, "1") for _ in range(4)]

    def ask(number: int) -> int:
        headers, body = {"Idempotency-Key": f"n{number}"}, {**COUNTS, "name": f"counts {number % 4}"}
        return service.call("POST", "/runs", key=keys[number % 4], json=body, headers=headers).status_code

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(24)))
    assert answers.count(202) == 8
    assert set(answers) == {202, 409}


def test_one_key_under_concurrent_requests_is_one_job(service: Running) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: submit(service, under="same")["id"], range(16)))
    assert len(set(found)) == 1


def test_a_clock_that_goes_backwards_changes_no_state(service: Running) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.service.jobs.now", lambda: "1999-01-01T00:00:00Z")
        assert service.run(COUNTS, under="a")["state"] == "done"
    assert service.run({**COUNTS, "name": "b"}, under="b")["state"] == "done"
    assert [one["name"] for one in service.get("/jobs")["entries"]][:2] == ["b", "counts"]


def test_an_account_that_a_crash_left_without_its_row_is_taken_up(service: Running) -> None:
    terms = {"name": "late", "epsilon": 2}
    assert service.call("POST", "/populations", json=terms).status_code == 201
    with service.hub.store.write() as connection:
        connection.execute(sql.delete(POPULATIONS).where(POPULATIONS.c.name == "late"))
    assert service.call("POST", "/populations", json={**terms, "epsilon": 3}).status_code == 409
    assert service.call("POST", "/populations", json=terms).status_code == 201
    assert service.call("POST", "/populations", json=terms).status_code == 409


def test_the_log_refuses_changes(service: Running) -> None:
    for statement in (sql.update(LOG).values(who="nobody"), sql.delete(LOG)):
        with pytest.raises(Exception, match="append-only"), service.hub.store.write() as connection:
            connection.execute(statement)


def test_what_was_uploaded_is_deleted_with_its_dataset(service: Running) -> None:
    query = {"name": "few", "population": "viewers", "filename": "few.csv"}
    answer = service.call("POST", "/uploads", params=query, content=b"user,item\nann,tea\nbob,tea\n").json()
    assert service.work(answer["job"]["id"])["state"] == "done"
    uploads = service.folder / "service/tenants" / service.hub.keys.caller(service.key).tenant / "data"
    assert list(uploads.glob("up_*/*"))
    assert service.call("DELETE", "/datasets/few").status_code == 204
    assert not list(uploads.glob("up_*"))


def test_a_dataset_whose_reading_was_cancelled_leaves_its_name_free(service: Running) -> None:
    query = {"name": "few", "population": "viewers", "filename": "few.csv"}
    for _ in range(2):
        answer = service.call("POST", "/uploads", params=query, content=b"user,item\nann,tea\n")
        assert answer.status_code == 202, answer.text
        service.call("POST", f"/jobs/{answer.json()['job']['id']}/cancel")


# Requests


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/keys", b'{"name": "a\\u0000b", "role": "auditor"}'),
        ("/keys", b'{"name": "\\ud800", "role": "auditor"}'),
        ("/populations", b'{"name": "x", "epsilon": NaN}'),
        ("/populations", b'{"name": "x", "epsilon": 1e999}'),
        ("/populations", b'{"name": "x", "epsilon": "1e999999999"}'),
        ("/populations", b'{"name": "x", "epsilon": ' + b"9" * 5000 + b"}"),
        ("/runs/estimate", b'{"dataset": "films", "method": "weighted", "settings": {"epsilon": ' + b"[" * 9000),
        (
            "/runs/estimate",
            b'{"dataset": "films", "method": "weighted", "settings": {"a": ' + b"[" * 60 + b"]" * 60 + b"}}",
        ),
    ],
)
def test_what_no_database_can_keep_is_refused(shared: Running, path: str, content: bytes) -> None:
    answer = shared.call("POST", path, content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422), answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_zero_byte_in_an_address_is_refused(shared: Running) -> None:
    assert shared.call("GET", "/jobs/a%00b").status_code == 400
    assert shared.call("GET", "/releases?population=a%00b").status_code == 400


def test_a_body_without_a_length_is_counted(shared: Running) -> None:
    chunk = b" " * 2**20
    answer = shared.call(
        "POST", "/keys", content=(chunk for _ in range(9)), headers={"Content-Type": "application/json"}
    )
    assert (answer.status_code, answer.json()["code"]) == (413, "too-large")


def test_a_slow_body_is_not_waited_for(shared: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "CHUNK_SECONDS", 0.01)
    sent: list[Any] = []

    async def never() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"authorization", f"Bearer {shared.key}".encode()), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/v1/keys", "raw_path": b"/v1/keys", "query_string": b""}
    scope |= {"headers": headers, "scheme": "http", "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1)}
    scope |= {"http_version": "1.1", "root_path": "", "asgi": {"version": "3.0"}}
    # In a thread of its own: the browser of other tests keeps a loop running in this one.
    thread = threading.Thread(target=lambda: asyncio.run(shared.web.app(scope, never, send)))  # type: ignore[arg-type]
    thread.start()
    thread.join()
    assert sent[0]["status"] == 408
    assert json.loads(sent[1]["body"])["code"] == "time"


def test_every_answer_has_the_headers_and_the_shape(shared: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: Any, **more: Any) -> Any:
        raise RuntimeError("secret-of-a-history")

    monkeypatch.setattr(shared.hub.keys, "listed", broken)
    for method, path, status in (
        ("GET", "/v1/nowhere", 404),
        ("PATCH", "/v1/keys", 405),
        ("GET", "/v1/me", 200),
        ("GET", "/v1/keys", 500),
        ("OPTIONS", "/v1/keys", 405),
    ):
        answer = shared.web.request(method, path, headers={**shared.headers(), "Origin": "https://evil.example"})
        assert answer.status_code == status
        assert {name.lower() for name in guard.HEADERS} <= set(answer.headers)
        assert "access-control-allow-origin" not in answer.headers
        assert "secret-of-a-history" not in answer.text
        if status != 200:
            assert {"type", "title", "status", "code", "detail", "where", "remedy"} <= set(answer.json())
        if status == 405:
            assert answer.headers["allow"]


def test_a_defect_is_logged_without_its_message(
    shared: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*given: Any, **more: Any) -> Any:
        raise RuntimeError("secret-of-a-history")

    monkeypatch.setattr(shared.hub.keys, "listed", broken)
    shared.call("GET", "/keys")
    assert "RuntimeError" in caplog.text
    assert "secret-of-a-history" not in caplog.text


def test_the_queue_is_bounded_for_each_key_and_tenant(tmp_path: Path) -> None:
    running = start(tmp_path, key_queue_limit=2, queue_limit=3)
    answers = [running.call("POST", "/runs/rehearse", json=COUNTS) for _ in range(3)]
    assert [one.status_code for one in answers] == [202, 202, 429]
    assert answers[2].headers["Retry-After"]
    key = running.issue("curator")[1]
    codes = [running.call("POST", "/runs/rehearse", key=key, json=COUNTS).status_code for _ in range(2)]
    assert codes == [202, 429]


def test_a_key_that_asks_too_often_waits(tmp_path: Path) -> None:
    running = start(tmp_path, rate_limit=2)
    key = running.issue("auditor")[1]
    codes = [running.call("GET", "/me", key=key).status_code for _ in range(21)]
    assert codes[:20] == [200] * 20
    answer = running.call("GET", "/me", key=key)
    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) >= 1


def test_a_repeated_key_of_a_request_is_in_the_log(service: Running) -> None:
    job = submit(service)["id"]
    die(service, job, "saving")
    recover(service.hub.store, job)
    submit(service)
    lines = [(one["action"], one["outcome"]) for one in service.get("/log")["entries"] if one["subject"] == job]
    assert lines[:2] == [("try again", "charged again"), ("failed", DIED)]
    with service.hub.store.read() as connection:
        assert connection.execute(sql.select(JOBS.c.charges).where(JOBS.c.id == job)).scalar_one() == 2
