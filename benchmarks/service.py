"""The service under load, against an empty route of the same server and against the library, in one run.

python -m benchmarks service                       100,000 requests, a model of 59,000 items
python -m benchmarks service --requests 10000      fewer
python -m benchmarks service --profile out.prof    where the time of the server goes

A real uvicorn server in one process, a client with keep-alive connections in another. Every history is another one, so
that no answer is remembered. Requests to the empty route and to the model take turns, and the medians of the rounds are
compared: other programs on the machine slow both down. Goals: at least 0.5 of the requests a second of the empty route,
a p99 of at most 5 times its p99, memory that does not grow, an answer within 3 seconds after the start of the server,
and 0.5 of the library's users a second for a batch. Exit code 1 if one is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from harness import Claims

CONNECTIONS = 16
ROUND = 2_000
HISTORY = 30
BATCH, BATCHES, ONE_BY_ONE = 5_000, 5, 50


# The server


def prepare(folder: Path, users: int, items: int) -> tuple[str, Any]:
    """A service with one model; the key of an application, and the films."""
    from discreet import synthetic
    from discreet.data.readers import write
    from discreet.service.hub import Hub
    from discreet.service.runs import RunRequest
    from discreet.service.settings import ServiceSettings
    from discreet.service.store import Store
    from discreet.service.worker import perform

    hub = Hub(Store(ServiceSettings(folder=folder)))
    curator = hub.keys.caller(hub.keys.redeem(hub.keys.add_tenant("bench")[1], "bench"))
    films = synthetic.films(users=users, items=items, seed=7)
    hub.populations.open(curator, name="viewers", epsilon=8, delta="1e-6")
    file = write(films, folder / "films.parquet")
    dataset = hub.datasets.add(curator, name="films", population="viewers", file=file, reading={})
    perform(hub.store, hub.jobs.submit(curator, "register", {"dataset": dataset}, population="viewers")[0].id)
    settings = {"epsilon": 4, "delta": "1e-6"}
    request = RunRequest(dataset=dataset, method="private-recommender", settings=settings, name="model")
    perform(hub.store, hub.run(curator, request, "bench")[0].id)
    hub.datasets.allow_users(curator, dataset, True)
    return hub.keys.issue(curator, name="shop", role="application", scope={"users": "all"})[1], films


def serve(folder: Path, port: int, profile: str | None) -> None:
    """The service with one empty route more."""
    from discreet.service.app import create_app, run_server
    from discreet.service.settings import ServiceSettings

    app = create_app(ServiceSettings(folder=folder, workers=0, rate_limit=10**6))

    @app.get("/empty")
    async def empty() -> dict[str, str]:
        return {}

    app.router.routes.insert(0, app.router.routes.pop())  # no other route is tried before it
    if profile is None:
        run_server(app, host="127.0.0.1", port=port)
        return
    import cProfile
    import signal

    profiler = cProfile.Profile()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        profiler.runcall(run_server, app, host="127.0.0.1", port=port)
    finally:
        profiler.dump_stats(profile)


@dataclass
class Server:
    """A server in a process of its own."""

    process: subprocess.Popen[bytes]
    port: int

    @property
    def processor_seconds(self) -> float:
        """What the server has used of the processor."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def memory(self) -> float:
        """In megabytes."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGESIZE") / 2**20


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start(command: list[str], port: int, key: str) -> tuple[Server, float]:
    """Start a server; how long it takes until a model was asked."""
    began = time.perf_counter()
    server = Server(subprocess.Popen(command), port)
    body = json.dumps({"history": ["film-3"]}).encode()
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    url = f"http://127.0.0.1:{port}/v1/releases/model/recommend"
    while True:
        try:
            urllib.request.urlopen(urllib.request.Request(url, body, headers)).read()
            return server, time.perf_counter() - began
        except OSError:
            assert server.process.poll() is None, "the server has ended"
            time.sleep(0.02)


# The client


def posted(key: str, path: str, body: bytes) -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def questions(key: str, films: Any, number: int, seed: int) -> list[bytes]:
    """Requests with histories that are all different."""
    draw, ids = np.random.default_rng(seed), films.items.ids()
    weights = np.bincount(films.item, minlength=len(ids)) + 1.0
    chosen = draw.choice(len(ids), size=(number, HISTORY), p=weights / weights.sum())
    path = "/v1/releases/model/recommend"
    return [posted(key, path, json.dumps({"history": [ids[i] for i in row]}).encode()) for row in chosen]


async def ask_all(port: int, requests: list[bytes]) -> tuple[float, list[float]]:
    """Requests a second, and how long each took."""
    waiting, times = iter(requests), []

    async def connection() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
        for request in waiting:
            sent = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            await reader.readexactly(length)
            times.append(time.perf_counter() - sent)
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(connection() for _ in range(CONNECTIONS)))
    return len(requests) / (time.perf_counter() - began), times


def p99(times: list[float]) -> float:
    return float(np.quantile(times, 0.99)) * 1000


# The comparison


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--users", type=int, default=20_000)
    parser.add_argument("--items", type=int, default=59_000)
    parser.add_argument("--profile", help="a file for cProfile; the figures are of no use then")
    parser.add_argument("--serve", nargs=2, metavar=("FOLDER", "PORT"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.serve is not None:
        serve(Path(given.serve[0]), int(given.serve[1]), given.profile)
        return 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "service"
        key, films = prepare(folder, given.users, given.items)
        return compare(folder, key, films, given.requests, given.profile)


def compare(folder: Path, key: str, films: Any, requests: int, profile: str | None) -> int:
    port = free_port()
    program = [sys.executable, "-c", "from discreet.cli import main; main()"]
    cli = [*program, "serve", "--folder", str(folder), "--port", str(port), "--workers", "0"]
    claims, started = Claims(), []
    for _ in range(3):
        server, seconds = start(cli, port, key)
        started.append((seconds, server.processor_seconds))
        server.process.terminate()
        server.process.wait()
    own = [sys.executable, __file__, "--serve", str(folder), str(port)]
    server, _ = start(own if profile is None else [*own, "--profile", profile], port, key)
    try:
        load(server, key, films, requests, claims)
        batches(server, key, folder, films, claims)
    finally:
        server.process.terminate()
        server.process.wait()
    seconds, processor = min(started)
    claims.goal("from start to the first answer", seconds, 3)
    claims.goal("the same, processor time", processor, 3)
    return claims.close()


def load(server: Server, key: str, films: Any, requests: int, claims: Claims) -> None:
    """Requests one by one, beside those of a route that does nothing, and the memory over all of them."""
    empty = posted(key, "/empty", b"").replace(b"POST", b"GET", 1)
    rounds, before = max(requests // ROUND, 1), 0.0
    speeds, slow = [], []
    warm_up = max(rounds // 4, 10)  # until what is remembered is full
    for number in range(warm_up + rounds):
        if number == warm_up:
            before = server.memory
        plain, plain_times = asyncio.run(ask_all(server.port, [empty] * ROUND))
        asked, asked_times = asyncio.run(ask_all(server.port, questions(key, films, ROUND, number)))
        if number >= warm_up:
            speeds.append((asked, plain))
            slow.append((p99(asked_times), p99(plain_times)))
    after = server.memory
    asked, plain = (median(column) for column in zip(*speeds, strict=True))
    late, plain_late = (median(column) for column in zip(*slow, strict=True))
    claims.rate("recommendations for a posted history", "an empty route", asked, plain, "requests/s", 0.5)
    claims.error("the same, slowest of a hundred", "an empty route", late, plain_late, "ms", 1 / 5)
    claims.error(f"memory after {rounds * ROUND:,} requests", "before them", after, before, "MB", 1 / 1.02)


def batches(server: Server, key: str, folder: Path, films: Any, claims: Claims) -> None:
    """Users a second of batches, beside the library's, which takes posted histories one by one."""
    from discreet.models.recommender import load_model

    model = load_model(next((folder / "tenants").glob("*/releases/*"))).attach(films)
    users, ids = films.users.ids()[:BATCH], films.items.ids()
    rows = films.csr[: len(users)]
    histories = [
        {ids[i]: float(v) for i, v in zip(rows.indices[a:b], rows.data[a:b], strict=True)}
        for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    ]

    def asked(**body: Any) -> Callable[[], int]:
        request = posted(key, "/v1/releases/model/recommend/batch", json.dumps(body).encode())
        many = len(next(iter(body.values())))
        return lambda: asyncio.run(ask_all(server.port, [request])) and many

    def of_library() -> int:
        return model.recommend(users, n=10)["user_id"].n_unique()

    def one_by_one() -> int:
        return len([model.recommend(history=history) for history in histories[:ONE_BY_ONE]])

    for name, service, library in (
        ("a batch of users", asked(users=users), of_library),
        ("a batch of posted histories", asked(histories=histories), one_by_one),
    ):
        for job in (service, library):
            job()
        speeds = [(timed(service), timed(library)) for _ in range(BATCHES)]
        ours, theirs = (median(column) for column in zip(*speeds, strict=True))
        claims.rate(name, "the library in one process", ours, theirs, "users/s", 0.5)


def timed(job: Callable[[], int]) -> float:
    """How many a second."""
    began = time.perf_counter()
    return job() / (time.perf_counter() - began)


if __name__ == "__main__":
    sys.exit(main())
