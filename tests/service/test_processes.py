"""Jobs in processes of their own: what becomes of them for want of memory, and when the server is stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.service import odd_models
from tests.service.conftest import COUNTS, Running, start, wait
from tests.service.crash import free_port
from tests.service.test_trust import analyst, left

from discreet.models.registry import REGISTRY
from discreet.service.jobs import DIED
from discreet.service.supervisor import Supervisor

MODELS = f"{odd_models.__file__}:"
LIMIT = 4 * 1024**3


def until(what: Callable[[], Any], seconds: float = 120) -> None:
    """Wait; a busy machine is no failure."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module", autouse=True)
def names() -> Iterator[None]:
    """The models of this file are known to this file alone."""
    yield
    for name in ("greedy", "waiting"):
        REGISTRY.pop(name, None)


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service whose jobs run in processes with a limit of memory."""
    running = start(tmp_path_factory.mktemp("limited"), memory_limit=LIMIT, models=(f"{MODELS}Greedy",))
    running.hub.supervisor.start()
    yield running
    running.hub.supervisor.stop(kill=True)


def greedy(running: Running, key: str, under: str, **settings: Any) -> dict[str, Any]:
    """A job that wants too much, as its curator sees it when it has ended."""
    body = {"dataset": "films", "method": "greedy", "settings": {"epsilon": "1/4", **settings}}
    answer = running.call("POST", "/runs", key=key, json=body, headers={"Idempotency-Key": under})
    assert answer.status_code == 202, answer.text
    running.hub.supervisor.wake()
    return wait(lambda: running.get(f"/jobs/{answer.json()['id']}"))


@pytest.mark.parametrize("how", ["error", "abort"])
def test_want_of_memory_before_the_charge_fails_one_job_and_costs_nothing(limited: Running, how: str) -> None:
    key, before = analyst(limited), limited.get("/populations/viewers")["n_entries"]
    job = greedy(limited, key, how, when="before", how=how)
    assert (job["state"], job["problem"]["code"], job["problem"]["retry"]) == ("failed", "memory", "free"), job
    assert "more memory than a job may have" in job["problem"]["detail"]
    assert (job["entry"], job["attempts"]) == (None, 1)
    assert limited.get("/populations/viewers")["n_entries"] == before
    assert left(limited, key) == 1
    seen = limited.get(f"/jobs/{job['id']}", key=key)["problem"]
    assert seen == {
        "code": "failed",
        "detail": "The job failed.",
        "remedy": "The curator can see why.",
        "retry": "free",
    }


@pytest.mark.parametrize("how", ["error", "abort"])
def test_want_of_memory_after_the_charge_says_which_entry_stays_charged(limited: Running, how: str) -> None:
    key = analyst(limited)
    job = greedy(limited, key, how, when="after", how=how)
    assert (job["state"], job["problem"]["code"], job["problem"]["retry"]) == ("failed", DIED, "charged"), job
    assert "more memory than a job may have" in job["problem"]["detail"]
    assert f"Entry {job['entry']}" in job["problem"]["detail"]
    assert "--memory" in job["problem"]["remedy"]
    assert "charged again" in job["problem"]["remedy"]
    assert left(limited, key) == Fraction(3, 4)
    seen = limited.get(f"/jobs/{job['id']}", key=key)["problem"]  # how much it needed depends on the records
    assert (seen["code"], seen["retry"]) == ("failed", "charged")
    assert f"Entry {job['entry']} of the ledger was charged" in seen["detail"]
    assert "memory" not in str(seen)


def test_the_service_goes_on_after_a_job_that_wanted_too_much(limited: Running) -> None:
    greedy(limited, analyst(limited), "once more", when="before", how="abort")
    answer = limited.call("POST", "/runs", json=COUNTS, headers={"Idempotency-Key": "modest"})
    limited.hub.supervisor.wake()
    job = wait(lambda: limited.get(f"/jobs/{answer.json()['id']}"))
    assert job["state"] == "done", job


# A server that is stopped


def serve(folder: Path, port: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", "from discreet.cli import main; main()", "serve", "--folder", str(folder)]
    process = subprocess.Popen([*command, "--port", str(port), "--model", f"{MODELS}Waiting"])

    def answers() -> bool:
        assert process.poll() is None
        try:
            return httpx.get(f"http://127.0.0.1:{port}/health/ready", timeout=60).status_code == 200
        except httpx.TransportError:
            return False

    until(answers)
    return process


def test_a_server_that_is_stopped_leaves_its_jobs_alone_and_the_next_one_goes_on(tmp_path: Path) -> None:
    running = start(tmp_path, models=(f"{MODELS}Waiting",))
    body = {"dataset": "films", "method": "waiting", "settings": {"epsilon": 1, "folder": str(tmp_path)}}
    at_work = running.call("POST", "/runs", json=body, headers={"Idempotency-Key": "a"}).json()["id"]
    queued = running.call("POST", "/runs", json=COUNTS, headers={"Idempotency-Key": "b"}).json()["id"]
    port = free_port()
    server = serve(tmp_path / "service", port)
    try:
        until((tmp_path / "charged").exists)
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=120) == 0
        states = [running.get(f"/jobs/{job}")["state"] for job in (at_work, queued)]
        assert states == ["running", "queued"]  # the process lives, and holds the lock of its job
        with running.hub.store.holding(at_work) as held:
            assert not held
        (tmp_path / "go on").touch()
        done = wait(lambda: running.get(f"/jobs/{at_work}"))  # without a server
        assert (done["state"], done["entry"], done["attempts"]) == ("done", 1, 1)
        assert running.get(f"/jobs/{queued}")["state"] == "queued"
        server = serve(tmp_path / "service", port)
        assert wait(lambda: running.get(f"/jobs/{queued}"))["state"] == "done"
        assert running.get("/populations/viewers")["n_entries"] == 2
    finally:
        (tmp_path / "go on").touch()
        server.terminate()
        server.wait(timeout=120)


def test_a_process_that_waits_for_a_job_ends_when_its_server_is_gone(tmp_path: Path) -> None:
    process = Supervisor(start(tmp_path).hub.store)._spawn()
    assert process.stdin is not None
    process.stdin.close()  # what the end of the server does
    assert process.wait(timeout=120) == 0
