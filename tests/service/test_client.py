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
    assert len(client.statement("customers")["entries"]) == 4  # the model, the counts, the series, and its step
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


def test_a_series_has_the_methods_of_the_library(running: tuple[str, Running]) -> None:
    url, service = running
    client = dc.Client(url, service.key)
    settings = {"epsilon": "1/2", "delta": "1e-7", "cap": 9}
    series = client.series("weighted", steps=3, name="steps", **settings)
    assert series.estimate("films")["steps"] == 3
    with pytest.raises(UsageError, match="is not open"):
        series.show()
    before = len(client.statement("viewers")["entries"])
    assert series.open("films", key="s").open("films", key="s").id
    assert len(client.statement("viewers")["entries"]) == before + 1
    assert (series.last, series.missed) == (-1, ())
    made = series.advance("films").wait()
    assert series.advance("films", step=0).wait().facts["release"] == made.facts["release"]
    latest = series.release()
    assert latest is not None
    assert latest.facts["release"] == made.facts["release"]
    with pytest.raises(UsageError, match="step 2 was not taken"):
        series.release(2)
    again = client.resume("steps")
    assert (again.id, again.last) == (series.id, 0)
    assert again.guarantee == series.guarantee
    assert again.estimate("films") == series.estimate("films")
    with pytest.raises(UsageError, match="no series"):
        client.resume("nothing")


def test_the_methods_of_a_series_and_a_session_are_those_of_the_library() -> None:
    from discreet.coupled import QuerySession
    from discreet.service.remote import RemoteRelease, RemoteSeries, RemoteSession

    for remote, local, names in (
        (RemoteSeries, dc.Series, ("estimate", "open", "advance", "release", "show", "last", "missed", "guarantee")),
        (RemoteSession, QuerySession, ("ask", "close")),
        (RemoteRelease, dc.PrivateRecommender, ("recommend", "predict", "similar_items", "guarantee")),
        (RemoteRelease, dc.Release, ("table", "describe")),
        (dc.Client, dc.Ledger, ("open", "statement", "attach")),
        (dc.Client, dc.Series, ("resume",)),
        (dc.Client, dc, ("audit",)),
    ):
        assert [name for name in names if not (hasattr(remote, name) and hasattr(local, name))] == []


def test_reports_are_jobs_whose_result_is_the_report(running: tuple[str, Running]) -> None:
    url, service = running
    client = dc.Client(url, service.key)
    report = client.attack("sybil", "films", against=["knn"], targets=2).wait()
    assert report["kind"] == "attack"
    assert report["id"] in [one["id"] for one in client.reports()]
    assert client.report(report["id"]) == report
    audit = client.audit("weighted", "films", settings={"epsilon": 1, "cap": 3}, seconds=1, runs=20).wait()
    assert audit["kind"] == "audit"


def test_long_lists_are_read_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(dict(request.url.params))
        start = int(request.url.params.get("cursor", 0))
        entries = [{"id": f"rel_{number}"} for number in range(start, min(start + 2, 5))]
        return httpx.Response(200, json={"entries": entries, "next": start + 2 if start + 2 < 5 else None})

    client = dc.Client("http://service", "dk_a_b", transport=httpx.MockTransport(answer))
    assert [one.id for one in client.releases("viewers")] == [f"rel_{number}" for number in range(5)]
    assert [one.get("cursor") for one in asked] == [None, "2", "4"]
    assert {one["population"] for one in asked} == {"viewers"}
