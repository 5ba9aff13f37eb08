"""A database that somebody else holds, what killed processes left behind, and sessions whose server is gone."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from sqlalchemy import event
from tests.service.conftest import COUNTS, MODEL, Running
from tests.service.test_interactive import NEW, QUESTION, opened, survey
from tests.service.test_trust import submit

from discreet.data import synthetic
from discreet.data.readers import write
from discreet.service import sessions, supervisor, tasks
from discreet.service.schema import JOBS, KEYS
from discreet.service.store import Store
from discreet.service.supervisor import Supervisor, recover
from discreet.service.sweeping import sweep

__all__ = ["survey"]

HOLD_DATABASE = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
held.execute("COMMIT")
"""

HOLD_LOCK = """
import fcntl, os, sys
held = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
fcntl.flock(held, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.readline()
"""


@contextmanager
def elsewhere(program: str, place: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process, which holds something until it is told to end."""
    command = [sys.executable, "-c", program, str(place)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "held\n"
    try:
        yield process
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def patience(store: Store, seconds: float) -> None:
    """Let connections from now on wait so long for another writer."""
    store.engine.dispose()
    event.listen(store.engine, "connect", lambda one, _: one.execute(f"PRAGMA busy_timeout = {int(1000 * seconds)}"))


# Another writer


def test_a_writer_elsewhere_is_waited_for_and_keeps_nobody_else_waiting(service: Running) -> None:
    service.run(MODEL, under="a")
    service.call("POST", "/releases/nightly/recommend", json={"history": []})
    found: dict[str, int] = {}
    bodies: dict[str, Any] = {
        "/runs": {"json": COUNTS, "headers": {"Idempotency-Key": "b"}},
        "/uploads": {
            "params": {"name": "few", "population": "viewers", "filename": "few.csv"},
            "content": b"user,item\nann,tea\n",
        },
    }

    def post(path: str) -> None:
        found[path] = service.call("POST", path, **bodies[path]).status_code

    threads = [threading.Thread(target=post, args=(path,)) for path in bodies]
    with elsewhere(HOLD_DATABASE, service.folder / "service/service.db"):
        for thread in threads:
            thread.start()
        # Reading and asking go on meanwhile. Should one of them wait for the writer, it waits until it gives up.
        assert service.web.get("/health/live").status_code == 200
        assert service.web.get("/health/ready").status_code == 200
        assert service.get("/jobs")["entries"]
        assert service.call("POST", "/releases/nightly/recommend", json={"history": ["film-3"]}).status_code == 200
        assert not found
    for thread in threads:
        thread.join()
    assert found == {"/runs": 202, "/uploads": 202}


def test_a_writer_elsewhere_that_does_not_end_is_told_and_nothing_is_charged(service: Running) -> None:
    patience(service.hub.store, 0.05)
    given = {"json": COUNTS, "headers": {"Idempotency-Key": "a"}}
    with elsewhere(HOLD_DATABASE, service.folder / "service/service.db"):
        answer = service.call("POST", "/runs", **given)
        assert (answer.status_code, answer.json()["code"]) == (503, "database")
        assert int(answer.headers["Retry-After"]) > 0
        assert str(service.folder) not in answer.text
        assert "sqlite" not in answer.text.lower()
    assert service.get("/jobs")["entries"][0]["kind"] == "register"
    assert service.call("POST", "/runs", **given).status_code == 202


def test_reading_does_not_wait_to_note_that_a_key_was_used(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = service.hub
    name, key = service.issue("auditor")
    use = sql.update(KEYS).where(KEYS.c.id == name).values(last_used="2020-01-01T00:00:00Z")
    with elsewhere(HOLD_DATABASE, service.folder / "service/service.db"):
        assert not hub.store.try_write(use)
    with hub.store._writer:  # waiting for it would never end
        assert not hub.store.try_write(use)
        assert hub.keys.caller(key).key == name
    assert [one["last_used"] for one in service.get("/keys")["entries"] if one["id"] == name] == [None]
    assert hub.store.try_write(use)
    hub.keys._good.clear()
    hub.keys.caller(key)
    used = next(one["last_used"] for one in service.get("/keys")["entries"] if one["id"] == name)
    assert used > "2020-01-01T00:00:00Z"
    with hub.store.read() as connection:  # the patience of others is as before
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one() == 60_000


def test_a_job_waits_for_a_writer_elsewhere(service: Running) -> None:
    job = submit(service)["id"]
    with elsewhere(HOLD_DATABASE, service.folder / "service/service.db"):
        thread = threading.Thread(target=service.work, args=(job,))
        thread.start()
        time.sleep(0.2)
        assert service.get(f"/jobs/{job}")["state"] == "queued"
    thread.join()
    assert service.get(f"/jobs/{job}")["state"] == "done"
    assert service.get("/populations/viewers")["n_entries"] == 1


def test_a_ledger_that_cannot_be_read_says_nothing_about_where_it_is(service: Running) -> None:
    tenant = service.hub.keys.caller(service.key).tenant
    ledger = service.folder / "service/tenants" / tenant / "ledger.db"
    service.hub.store._ledgers.clear()
    ledger.rename(ledger.with_name("away.db"))
    ledger.mkdir()
    _, auditor = service.issue("auditor")
    answer = service.call("GET", "/populations/viewers/statement", key=auditor)
    assert (answer.status_code, answer.json()["code"]) == (503, "database"), answer.text
    assert str(service.folder) not in answer.text


# What killed processes left


def test_locks_of_processes_that_are_gone_are_swept_and_others_stay(service: Running) -> None:
    locks = service.hub.store._lock_folder()
    (locks / "job_stale").touch()
    with elsewhere(HOLD_LOCK, locks / "job_alive") as process, service.hub.store.holding("job_mine") as mine:
        assert mine
        sweep(service.hub.store)
        assert {file.name for file in locks.iterdir()} == {"job_alive", "job_mine"}
        with service.hub.store.holding("job_alive") as held:
            assert not held
        process.kill()
        process.wait()
        sweep(service.hub.store)
        assert {file.name for file in locks.iterdir()} == {"job_mine"}
    assert not list(locks.iterdir())


UPLOAD, DATASET = f"up_{'a' * 24}", f"ds_{'b' * 24}"


def test_what_a_killed_upload_left_is_swept_and_nothing_else(service: Running) -> None:
    query = {"name": "few", "population": "viewers", "filename": "few.csv"}
    service.call("POST", "/uploads", params=query, content=b"user,item\nann,tea\n")
    caller = service.hub.keys.caller(service.key)
    data = service.hub.store.folder(caller.tenant, "data")
    kept = set(data.iterdir())
    assert {one.name[:3] for one in kept} == {"up_", "ds_"}
    for name, file in (
        (UPLOAD, "upload.csv.gz"),
        (DATASET, "public.parquet"),
        (f"up_{'c' * 24}", "notes of somebody.txt"),  # not what discreet writes
        ("up_short", "upload.csv"),
        ("mine", "upload.csv"),
    ):
        (data / name).mkdir()
        (data / name / file).write_bytes(b"user,it")
    (data / f"up_{'d' * 24}").symlink_to(service.folder)
    with service.hub.datasets.receiving(caller) as under_way:
        (under_way / "upload.csv").touch()
        assert sweep(service.hub.store) == [data / DATASET, data / UPLOAD]
        assert under_way.exists()
        (under_way / "upload.csv").unlink()
    left_alone = {one.name for one in data.iterdir()} - {one.name for one in kept} - {under_way.name}
    assert left_alone == {f"up_{'c' * 24}", f"up_{'d' * 24}", "up_short", "mine"}
    assert kept <= set(data.iterdir())
    assert (service.folder / "films.parquet").exists()
    assert sweep(service.hub.store) == [under_way]  # nothing names it


def test_a_release_that_was_never_finished_is_swept_after_a_day(service: Running) -> None:
    releases = service.hub.store.folder(service.hub.keys.caller(service.key).tenant, "releases")
    old, new, other = (releases / f".discreet-{letter * 12}" for letter in "abx")
    for folder in (old, new, other):
        folder.mkdir()
    for folder in (old, other):
        os.utime(folder, (1, 1))
    assert sweep(service.hub.store) == [old]
    assert new.exists()
    assert other.exists()  # not a name that discreet gives


def test_an_upload_that_fails_leaves_nothing(service: Running) -> None:
    query = {"name": "few", "population": "viewers", "filename": "few.csv"}

    def broken() -> Iterator[bytes]:
        yield b"user,item\n"
        raise ConnectionError

    data = service.hub.store.folder(service.hub.keys.caller(service.key).tenant, "data")
    before = set(data.iterdir())
    assert service.call("POST", "/uploads", params=query, content=broken()).status_code == 500
    assert set(data.iterdir()) == before
    assert not list(service.hub.store._lock_folder().iterdir())


def test_every_start_sweeps(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    swept: list[Store] = []
    monkeypatch.setattr(supervisor, "sweep", swept.append)
    one = Supervisor(service.hub.store)
    monkeypatch.setattr(one, "_turn", lambda: None)
    one.start()
    one.stop()
    assert swept == [service.hub.store]


# Sessions whose server is gone


def unopened(running: Running) -> str:
    """A session whose server died before it began to open it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sessions.Sessions, "_start", lambda self, job: None)
        return opened(running).json()["id"]


def test_no_process_takes_a_session(survey: Running) -> None:
    job = unopened(survey)
    assert job not in survey.hub.jobs.waiting(100)
    assert survey.hub.jobs.unopened() == [job]


def test_a_session_that_waits_for_a_server_that_is_gone_ends_and_may_be_opened_again(
    survey: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = unopened(survey)
    other = Supervisor(survey.hub.store)  # of the next start, or of another server
    other._end_unopened()
    assert survey.get(f"/jobs/{job}")["state"] == "queued"  # its server may be about to open it
    monkeypatch.setattr(supervisor, "OPEN_SECONDS", 0.0)
    with survey.hub.store.holding(job):
        other._end_unopened()
    assert survey.get(f"/jobs/{job}")["state"] == "queued"
    other._end_unopened()
    shown = survey.get(f"/sessions/{job}")
    assert (shown["state"], shown["problem"]["retry"], shown["entry"]) == ("failed", "free", None)
    assert survey.get("/populations/survey")["left"]["epsilon"] == "10"
    assert opened(survey).json()["id"] == job
    assert survey.get(f"/sessions/{job}")["state"] == "open"
    assert survey.get("/populations/survey")["left"]["epsilon"] == "9"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_session_whose_server_died_before_the_charge_fails_and_costs_nothing(
    survey: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: Any, **__: Any) -> Any:
        raise SystemExit  # ends the thread as a crash would: nothing is noted

    with monkeypatch.context() as patch:
        patch.setattr(tasks.Datasets, "load", crash)
        job = opened(survey).json()["id"]
    assert survey.get(f"/jobs/{job}")["state"] == "running"
    recover(survey.hub.store, job)
    shown = survey.get(f"/sessions/{job}")
    assert (shown["state"], shown["problem"]["retry"], shown["entry"]) == ("failed", "free", None), shown
    assert "before the session was open" in shown["problem"]["detail"]
    assert survey.get("/populations/survey")["left"]["epsilon"] == "10"
    assert opened(survey).json()["id"] == job
    assert survey.get(f"/sessions/{job}")["state"] == "open"


def test_a_server_that_is_stopped_keeps_the_answers_of_its_sessions(survey: Running) -> None:
    job = opened(survey).json()["id"]
    answer = survey.call("POST", f"/sessions/{job}/ask", json=QUESTION).json()
    survey.hub.sessions.end()
    shown = survey.get(f"/sessions/{job}")
    assert shown["state"] == "done", shown
    answers = survey.get(f"/releases/{shown['result']['release']}/answers")["entries"]
    assert [one["answer"] for one in answers] == [answer["answer"]]


def test_what_an_unopened_session_reserved_is_free_again(survey: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    terms = {"name": "people", "epsilon": 2, "unit": "record/replace", "open_to_analysts": True}
    assert survey.call("POST", "/populations", json=terms).status_code == 201
    name, key = survey.issue("analyst")
    survey.call("PUT", f"/populations/people/allowances/{name}", json={"epsilon": 1})
    write(synthetic.survey(households=60, seed=4), survey.folder / "table.parquet")
    body = {"name": "table", "population": "people", "path": str(survey.folder / "table.parquet")}
    survey.work(survey.call("POST", "/datasets", json=body).json()["job"]["id"])
    monkeypatch.setattr(supervisor, "OPEN_SECONDS", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(sessions.Sessions, "_start", lambda self, job: None)
        body = {**NEW, "dataset": "table"}
        answer = survey.call("POST", "/sessions", key=key, json=body, headers={"Idempotency-Key": "a"})
        assert answer.status_code == 202, answer.text
    read = sql.select(JOBS.c.charges).where(JOBS.c.id == answer.json()["id"])
    assert survey.hub.store.all(read)[0].charges == 1
    Supervisor(survey.hub.store)._end_unopened()
    assert survey.hub.store.all(read)[0].charges == 0
