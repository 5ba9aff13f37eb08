"""Recommenders of elsewhere: by the name of a library, and behind HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import parse_qs, urlparse

import pytest

from discreet.attacks import LensKitModel, audit
from discreet.errors import DataError, EvaluationError, MissingExtraError, UsageError
from discreet.models.foreign.lookup import HTTPModel, outside


class Popularity(BaseHTTPRequestHandler):
    """A service that recommends what most of its records are about."""

    records: ClassVar[list[list[object]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).records = json.loads(body)["records"]
        self._answer({"ok": True})

    def do_GET(self) -> None:
        asked = parse_qs(urlparse(self.path).query)
        seen = {item for user, item, _ in self.records if user == asked["user"][0]}
        counts: dict[object, int] = {}
        for _, item, _ in self.records:
            counts[item] = counts.get(item, 0) + 1
        best = sorted(counts, key=lambda item: (-counts[item], str(item)))
        listed = [{"item_id": item, "score": counts[item]} for item in best if item not in seen]
        self._answer({"items": listed[: int(asked["n"][0])]} if "plain" not in asked else "no list")

    def _answer(self, answer: object) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def service() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Popularity)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_service_is_audited(service: str, films) -> None:
    model = outside(f"{service}/list?user={{user}}&n={{n}}", train=f"{service}/train")
    report = audit(model, films, attacks="canary-recommendations", runs=5, processes=1)
    score = report["canary-recommendations"]
    assert (score.hits, score.false_alarms) == (score.runs_present, 0)
    assert report.verdict.startswith("at least ε = ")


def test_a_service_is_trained_by_one_process(service: str, films, monkeypatch) -> None:
    """Several processes would train it at once, and each would see what another one trained."""
    from discreet.attacks.engine import audit as engine
    from discreet.attacks.engine import workers

    monkeypatch.setattr(engine, "WORTH_A_PROCESS", 0)
    monkeypatch.setattr(workers.WorkerPool, "play", lambda *job, **options: pytest.fail("another process trains it"))
    model = outside(f"{service}/list?user={{user}}&n={{n}}", train=f"{service}/train")
    report = audit(model, films, attacks="canary-recommendations", runs=20, processes=2, seconds=None)
    score = report["canary-recommendations"]
    assert (score.hits, score.false_alarms) == (score.runs_present, 0)
    assert report.notes == ("http is one service: it is fitted by one process",)


def test_runs_of_a_service_are_not_kept(service: str, films, tmp_path) -> None:
    model = outside(f"{service}/list?user={{user}}&n={{n}}", train=f"{service}/train")
    with pytest.raises(UsageError, match="nothing here tells whether the service was changed"):
        audit(model, films, attacks="canary-recommendations", runs=2, folder=tmp_path)


def test_a_service_that_fails_is_named(service: str, films) -> None:
    model = HTTPModel(f"{service}/list?user={{user}}&n={{n}}&plain=1", f"{service}/train").fit(films)
    with pytest.raises(DataError, match="no list of items"):
        model.recommend(["u1"])
    with pytest.raises(EvaluationError, match="does not answer"):
        HTTPModel("http://127.0.0.1:9/{user}", "http://127.0.0.1:9/train").fit(films)


def test_names_of_libraries() -> None:
    assert isinstance(outside("lenskit"), LensKitModel)
    with pytest.raises(UsageError, match="there is no module 'nonsense'"):
        outside("nonsense:KNN")
    with pytest.raises(UsageError, match="has no class or function 'NoModel'"):
        outside("discreet.counting:NoModel")
    with pytest.raises(UsageError, match="cannot be made with these settings"):
        outside("discreet.neighbors:KNN", settings={"kk": 3})
    assert outside("discreet.neighbors:KNN", settings={"k": 3})().k == 3
    with pytest.raises(UsageError, match="learn from"):
        outside("http://localhost/{user}")
    with pytest.raises(UsageError, match="for whom"):
        outside("http://localhost/", train="http://localhost/")


@pytest.mark.parametrize("library", ["lenskit", "implicit", "surprise", "rectools"])
def test_a_library_that_is_not_there_or_has_no_such_model(library: str) -> None:
    with pytest.raises((MissingExtraError, UsageError), match=f"{library}"):
        outside(f"{library}:NoSuchModel")
