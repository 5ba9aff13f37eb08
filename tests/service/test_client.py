"""The client, against a real server in a thread: the example of the docs, and errors of the library."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from tests.service.conftest import Running, start

import discreet as dc
from discreet.data.readers import write
from discreet.errors import BudgetError, PrivacyError, UsageError
from discreet.service.worker import perform

PURCHASES = dc.synthetic.films(users=200, items=50, seed=8)
DOCS = Path(__file__).parents[2] / "docs" / "service-api.md"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Running]]:
    """The address of a server, whose jobs are run by a thread."""
    service = start(tmp_path_factory.mktemp("client"))
    write(PURCHASES, service.folder / "purchases.parquet")
    server = uvicorn.Server(uvicorn.Config(service.web.app, port=0, log_level="critical"))
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(0.02):
            for job in service.hub.jobs.waiting(10):
                perform(service.hub.store, job)

    threads = [threading.Thread(target=server.run), threading.Thread(target=work)]
    for thread in threads:
        thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", service
    server.should_exit = True
    ended.set()
    for thread in threads:
        thread.join()


def test_the_example_of_the_docs_runs(running: tuple[str, Running], monkeypatch: pytest.MonkeyPatch) -> None:
    url, service = running
    monkeypatch.chdir(service.folder)
    example = re.search(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert example is not None
    names: dict[str, Any] = {"url": url, "key": service.key}
    exec(compile(example.group(1), str(DOCS), "exec"), names)
    client, model = names["client"], names["model"]
    assert model.guarantee == dc.Release.load("downloaded").guarantee
    assert names["counts"].table("counts").height == PURCHASES.n_items
    assert model.recommend(history=["film-3"], n=4).columns == ["item_id", "score", "rank", "title"]
    assert model.predict(["film-3"], history={"film-5": 5}).columns == ["item_id", "score"]
    assert names["counts"].top(3).height == 3
    settings = {"epsilon": 1, "delta": "1e-7"}
    again = client.fit("private-recommender", "purchases", **settings, key="2026-11-18", name="shop").wait()
    assert again.id == model.id
    assert len(client.statement("customers")["entries"]) == 2
    assert client.load("shop").verify()["charged_to"] == "customers"


def test_errors_are_those_of_the_library(running: tuple[str, Running]) -> None:
    url, service = running
    client = dc.Client(url, service.key)
    with pytest.raises(BudgetError, match="does not fit"):
        client.release("weighted", "films", epsilon=100, cap=30)
    with pytest.raises(UsageError, match="no setting colour"):
        client.estimate("weighted", "films", epsilon=1, colour="red")
    with pytest.raises(UsageError, match="There is no release"):
        client.load("nothing")
    with pytest.raises(PrivacyError, match="no valid key"):
        dc.Client(url, "dk_1_2").populations()


def test_a_lost_connection_is_tried_again_under_the_same_key(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers["Idempotency-Key"])
        if len(keys) == 1:
            raise httpx.ReadError("lost")
        if len(keys) == 2:
            return httpx.Response(429, headers={"Retry-After": "0"}, json={"code": "queue", "detail": "full"})
        return httpx.Response(202, json={"id": "job_1", "state": "queued"})

    monkeypatch.setattr("discreet.service.client.PAUSE", 0)
    client = dc.Client("http://service", "dk_a_b", transport=httpx.MockTransport(answer))
    assert client.release("weighted", "films", epsilon=1, cap=30).id == "job_1"
    assert len(keys) == 3
    assert len(set(keys)) == 1
