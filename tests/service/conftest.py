"""A service in a folder of the test, with a curator, a population and films."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from discreet.data import synthetic
from discreet.data.readers import write
from discreet.service.app import create_app
from discreet.service.hub import Hub
from discreet.service.jobs import ENDED
from discreet.service.settings import ServiceSettings
from discreet.service.worker import perform

FILMS = synthetic.films(users=300, items=60, seed=7)


@dataclass
class Running:
    """A service whose jobs are run in this process, when a test says so."""

    web: TestClient
    hub: Hub
    folder: Path
    key: str
    keys: dict[str, str] = field(default_factory=dict)

    def headers(self, key: str | None = None, **more: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key or self.key}", **more}

    def call(self, method: str, path: str, *, key: str | None = None, **given: Any) -> httpx.Response:
        headers = self.headers(key, **given.pop("headers", {}))
        return self.web.request(method, f"/v1{path}", headers=headers, **given)

    def get(self, path: str, **given: Any) -> Any:
        answer = self.call("GET", path, **given)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def issue(self, role: str, **given: Any) -> tuple[str, str]:
        """A new key: its id and itself."""
        answer = self.call("POST", "/keys", json={"name": f"an {role}", "role": role, **given})
        assert answer.status_code == 201, answer.text
        return answer.json()["id"], answer.json()["key"]

    def work(self, job: str) -> dict[str, Any]:
        """Run a job that waits, in this process; where it stands then."""
        perform(self.hub.store, job)
        return self.get(f"/jobs/{job}")

    def run(self, request: dict[str, Any], *, under: str, key: str | None = None) -> dict[str, Any]:
        """Submit a run and work it off."""
        answer = self.call("POST", "/runs", key=key, json=request, headers={"Idempotency-Key": under})
        assert answer.status_code in (200, 202), answer.text
        return self.work(answer.json()["id"])


COUNTS = {"dataset": "films", "method": "weighted", "settings": {"epsilon": "1/2", "cap": 30}, "name": "counts"}
MODEL = {
    "dataset": "films",
    "method": "private-recommender",
    "settings": {"epsilon": 1, "delta": "1e-7"},
    "name": "nightly",
}


def start(folder: Path, **settings: Any) -> Running:
    """A service without processes for jobs, with a population of films that analysts may use."""
    write(FILMS, folder / "films.parquet")
    app = create_app(ServiceSettings(folder=folder / "service", roots=(folder,), **settings), jobs=False)
    hub: Hub = app.state.hub
    web = TestClient(app, raise_server_exceptions=False)
    token = hub.keys.add_tenant("shop")[1]
    key = web.post("/v1/setup", json={"token": token, "name": "carla"}).json()["key"]
    running = Running(web, hub, folder, key)
    terms = {"name": "viewers", "epsilon": 4, "delta": "1e-6", "open_to_analysts": True}
    assert running.call("POST", "/populations", json=terms).status_code == 201
    data = {
        "name": "films",
        "population": "viewers",
        "path": str(folder / "films.parquet"),
        "declared": {"users": 300, "records": 10},
    }
    answer = running.call("POST", "/datasets", json=data)
    assert answer.status_code == 202, answer.text
    assert running.work(answer.json()["job"]["id"])["state"] == "done"
    return running


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    """A service of the test's own."""
    running = start(tmp_path)
    with running.web:
        yield running


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service for tests that change nothing that others look at, with released counts and a released model."""
    running = start(tmp_path_factory.mktemp("service"))
    with running.web:
        assert running.run(COUNTS, under="counts")["state"] == "done"
        assert running.run(MODEL, under="model")["state"] == "done"
        yield running


def wait(read: Callable[[], dict[str, Any]], seconds: float = 120) -> dict[str, Any]:
    """Wait until a job has ended."""
    until = time.monotonic() + seconds
    while True:
        job = read()
        if job["state"] in ENDED:
            return job
        assert time.monotonic() < until, job
        time.sleep(0.05)
