# ruff: noqa: T201 (a command that prints what it found)
"""Kill -9 of servers and workers at random moments while many analysts spend, and what must be true afterwards.

``make crash`` runs all of it: ``python -m tests.service.crash --rounds 20 --spenders 50 --database both``.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import sqlalchemy as sql

from discreet.data import synthetic
from discreet.data.readers import write
from discreet.privacy import Release
from discreet.privacy.ledger import Amount, Entry
from discreet.service.hub import Hub
from discreet.service.jobs import DIED, ENDED
from discreet.service.populations import amount_of
from discreet.service.schema import JOBS, LOG, RELEASES
from discreet.service.settings import ServiceSettings
from discreet.service.store import Store
from discreet.service.worker import is_saved, perform

ANALYSTS = 10
EPSILON = Fraction(1, 20)
PATIENCE = 300.0
"""Seconds that anything may take before a round counts as stuck; a busy machine is no failure."""

POPULATION, PEOPLE, MARK = "viewers", "people", "DISCREET_CRASH_TEST"
TALKERS = 5
"""Of so many spenders one holds sessions of questions about a table, the others make releases."""


RUN: tuple[str, dict[str, Any]] = (
    "/v1/runs",
    {"dataset": "films", "method": "weighted", "settings": {"epsilon": str(EPSILON), "cap": 10}},
)
TALK: tuple[str, dict[str, Any]] = (
    "/v1/sessions",
    {"dataset": "survey", "settings": {"epsilon": str(EPSILON), "updates": 3}},
)


@dataclass
class Asked:
    """One request of one analyst, and the jobs that were ever given as its answer."""

    key: str
    under: str
    jobs: set[str] = field(default_factory=set)
    refused: str = ""


@dataclass
class Crash:
    """A service that is killed, and the analysts who spend."""

    folder: Path
    database: str | None
    seed: int
    spenders: int
    servers: int = 1
    workers: int = 3
    counts: Counter[str] = field(default_factory=Counter)
    asked: list[Asked] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.settings = ServiceSettings(
            folder=self.folder / "service", database=self.database, queue_limit=10_000, key_queue_limit=10_000
        )
        self.mark = f"{os.getpid()}-{self.seed}-{self.folder.name}"
        self.ports = [free_port() for _ in range(self.servers)]
        self.running: list[subprocess.Popen[bytes]] = []
        self.lock, self.stop = threading.Lock(), threading.Event()
        self.mistakes: list[str] = []
        hub = Hub(Store(self.settings))
        self.hub = hub
        self.secret = hub.keys.redeem(hub.keys.add_tenant("shop")[1], "carla")
        curator = hub.keys.caller(self.secret)
        self.tenant, self.curator = curator.tenant, curator
        # Together the allowances are three times what the population has: colluding analysts meet its limit.
        limit = EPSILON * max(self.spenders, ANALYSTS)
        hub.populations.open(curator, name=POPULATION, open_to_analysts=True, epsilon=limit)
        hub.populations.open(curator, name=PEOPLE, open_to_analysts=True, epsilon=limit, unit="record/replace")
        self.keys, self.ids = [], []
        for number in range(ANALYSTS):
            key, secret = hub.keys.issue(curator, name=f"analyst {number}", role="analyst")
            for population in (POPULATION, PEOPLE):
                hub.populations.allow(curator, population, key, {"epsilon": str(limit * 3 / ANALYSTS)})
            self.keys.append(secret)
            self.ids.append(key)
        films, survey = synthetic.films(users=100, items=30, seed=1), synthetic.survey(households=20, seed=1)
        for name, data, population in (("films", films, POPULATION), ("survey", survey, PEOPLE)):
            file = write(data, self.folder / f"{name}.parquet")
            dataset = hub.datasets.add(curator, name=name, population=population, file=file, reading={})
            job, _ = hub.jobs.submit(curator, "register", {"dataset": dataset, "name": name}, population=population)
            perform(hub.store, job.id)
            assert hub.jobs.find(job.id).state == "done"

    # Servers

    def start(self, number: int) -> None:
        """Start a server; it is not waited for."""
        command = [
            sys.executable,
            "-c",
            "from discreet.cli import main; main()",
            "serve",
            "--folder",
            str(self.settings.folder),
        ]
        command += ["--port", str(self.ports[number]), "--workers", str(self.workers)]
        secret = {} if self.database is None else {"DISCREET_DATABASE": self.database}
        process = subprocess.Popen(
            command,
            env={**os.environ, MARK: self.mark, **secret},
            stdout=subprocess.DEVNULL,
            stderr=(self.folder / "servers.log").open("ab"),
        )
        if number < len(self.running):
            self.running[number] = process
        else:
            self.running.append(process)

    def kill(self) -> None:
        """Kill a server, a worker, or all workers, at a moment of chance."""
        what = self.random.choice(("server", "worker", "worker at work", "worker at work", "all workers"))
        if what == "worker at work":
            self.wait_for(lambda: self.stop.is_set() or bool(self.hub.jobs.running()))
            time.sleep(self.random.random() * 0.3)
        if what == "server":
            number = self.random.randrange(self.servers)
            self.running[number].kill()
            self.running[number].wait()
            if self.random.random() < 0.7:  # its workers go on, and the next server finds them at work
                self.start(number)
            else:
                self._kill_workers(self.workers)
                self.start(number)
        else:
            self._kill_workers(1 if what == "worker" else self.workers)
        self.counts[f"kills: {what}"] += 1

    def _kill_workers(self, most: int) -> None:
        found = [pid for pid in self.processes() if pid not in {one.pid for one in self.running}]
        self.random.shuffle(found)
        for pid in found[:most]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def processes(self) -> list[int]:
        """The processes of this service that live."""
        found = []
        for folder in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                if f"{MARK}={self.mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
        return found

    def end(self) -> None:
        self.stop.set()
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self.running:
            process.wait()

    # Spenders

    def spend(self, number: int) -> None:
        """One analyst's program: ask, ask again under the same key when no answer came, sometimes repeat, poll."""
        chance = random.Random(self.seed * 1000 + number)
        key = number % ANALYSTS
        with httpx.Client(timeout=PATIENCE) as web:
            while not self.stop.is_set():
                one = Asked(self.ids[key], f"{number}-{chance.random()}")
                with self.lock:
                    self.asked.append(one)
                talks = number % TALKERS == 0
                for _ in range(chance.choice((1, 1, 2, 3))):
                    answer = self._ask(web, chance, key, one, TALK if talks else RUN)
                    if answer is None or one.refused:
                        break
                    if talks:
                        self._talk(web, chance, key, answer["id"])
                    else:
                        self._poll(web, chance, key, answer["id"])
                if one.refused:
                    self.stop.wait(0.2 + chance.random())

    def _ask(
        self, web: httpx.Client, chance: random.Random, key: int, one: Asked, what: tuple[str, dict[str, Any]]
    ) -> dict[str, Any] | None:
        answer = self._request(web, chance, "POST", what[0], key, json=what[1], under=one.under)
        if answer is None:
            return None
        if answer.status_code in (200, 202):
            one.jobs.add(answer.json()["id"])
            return answer.json()
        one.refused = answer.json()["code"]
        self._count(f"refused: {one.refused}")
        if one.refused not in ("budget", "allowance", "queue"):
            self.mistakes.append(f"{answer.status_code} {answer.text[:300]}")
        return None

    def _talk(self, web: httpx.Client, chance: random.Random, key: int, session: str) -> None:
        """Ask some questions and close, sometimes; the server that held the session may be gone, or be another one."""
        for _ in range(chance.choice((0, 2, 4))):
            question = {"question": {"gender": chance.choice("FM"), "age": [18, chance.choice((29, 44, 59))]}}
            answer = self._request(web, chance, "POST", f"/v1/sessions/{session}/ask", key, json=question)
            if answer is None:
                return
            self._count(f"questions: {answer.status_code if answer.is_success else answer.json()['code']}")
            if answer.status_code not in (200, 409):
                self.mistakes.append(f"{answer.status_code} {answer.text[:300]}")
            self.stop.wait(0.1 * chance.random())
        if chance.random() < 0.8:
            self._request(web, chance, "POST", f"/v1/sessions/{session}/close", key)

    def close_sessions(self) -> bool:
        """Close what is still open, at whichever server has it; whether nothing is."""
        query = sql.select(JOBS.c.id).where(JOBS.c.kind == "session", JOBS.c.state == "running")
        found = [row.id for row in self.hub.store.all(query)]
        for session in found:
            for port in self.ports:
                with contextlib.suppress(httpx.TransportError):
                    url = f"http://127.0.0.1:{port}/v1/sessions/{session}/close"
                    httpx.post(url, headers={"Authorization": f"Bearer {self.secret}"}, timeout=PATIENCE)
        return not found

    def _poll(self, web: httpx.Client, chance: random.Random, key: int, job: str) -> None:
        for _ in range(200):
            answer = self._request(web, chance, "GET", f"/v1/jobs/{job}", key)
            if answer is None:
                return
            if answer.status_code != 200:
                self.mistakes.append(f"{answer.status_code} {answer.text[:300]}")
                return
            if answer.json()["state"] in ENDED or self.stop.wait(0.1 + 0.3 * chance.random()):
                return

    def _request(
        self,
        web: httpx.Client,
        chance: random.Random,
        method: str,
        path: str,
        key: int,
        *,
        under: str = "",
        **given: Any,
    ) -> httpx.Response | None:
        """An answer, however often the server dies meanwhile; None at the end of the round."""
        headers = {"Authorization": f"Bearer {self.keys[key]}"} | ({"Idempotency-Key": under} if under else {})
        while not self.stop.is_set():
            try:
                return web.request(
                    method, f"http://127.0.0.1:{chance.choice(self.ports)}{path}", headers=headers, **given
                )
            except httpx.TransportError:
                self._count("requests without an answer")
                self.stop.wait(0.1 + 0.2 * chance.random())
        return None

    def _count(self, what: str) -> None:
        with self.lock:
            self.counts[what] += 1

    # Rounds

    def round(self, kills: int) -> None:
        """Servers, spenders and kills; then everything is waited for and looked at."""
        self.stop.clear()
        for number in range(self.servers):
            self.start(number)
        self.wait_for(lambda: all(self.answers(port) for port in self.ports))
        threads = [threading.Thread(target=self.spend, args=(number,)) for number in range(self.spenders)]
        for thread in threads:
            thread.start()
        for _ in range(kills):
            time.sleep(self.random.random() * 1.5)
            self.kill()
            self.check_reservations()
        self.stop.set()
        for thread in threads:
            thread.join(PATIENCE)
        self.wait_for(lambda: all(self.answers(port) for port in self.ports))
        self.wait_for(self.close_sessions)
        self.wait_for(self.all_ended)
        self.end()
        self.check()

    def answers(self, port: int) -> bool:
        for number, process in enumerate(self.running):
            if process.poll() is not None:
                self.start(number)
        try:
            return httpx.get(f"http://127.0.0.1:{port}/health/ready", timeout=PATIENCE).status_code == 200
        except httpx.TransportError:
            return False

    def all_ended(self) -> bool:
        query = sql.select(sql.func.count()).select_from(JOBS).where(JOBS.c.state.not_in(ENDED))
        return self.hub.store.all(query)[0][0] == 0

    def wait_for(self, what: Any) -> None:
        until = time.monotonic() + PATIENCE
        while not what():
            if time.monotonic() > until:
                raise TimeoutError((self.folder / "servers.log").read_text()[-3000:])
            time.sleep(0.1)

    # What must be true

    def check_reservations(self) -> None:
        """At any time: what an analyst has reserved is at least what the ledger was charged for them."""
        for population in (POPULATION, PEOPLE):
            charged: dict[str, Fraction] = defaultdict(Fraction)
            entries = self.hub.store.ledger(self.tenant, "the test").statement(population).entries
            owners = {row.id: row.key for row in self.hub.store.all(sql.select(JOBS.c.id, JOBS.c.key))}
            for entry in entries:
                if entry.key in owners:
                    charged[owners[entry.key]] += entry.loss.epsilon_at(Fraction(0))
            allowances = self.hub.populations.get(self.curator, population).allowances
            for key, row in zip(self.ids, self.reserved(population), strict=True):
                allowed = amount_of(allowances[key])
                self._must(charged[key] <= row.epsilon, f"{key}: {charged[key]} charged, {row.epsilon} reserved")
                self._must(row.within(allowed), f"{key}: {row} reserved of {allowed}")
        self.counts["looks at reservations"] += 1

    def reserved(self, population: str) -> list[Amount]:
        callers = [self.hub.keys.caller(key) for key in self.keys]
        with self.hub.store.read() as connection:
            return [self.hub.populations.reserved(connection, caller, population) for caller in callers]

    def check(self) -> None:
        """When every job has ended."""
        store = self.hub.store
        under: dict[str, list[Entry]] = defaultdict(list)
        for population in (POPULATION, PEOPLE):
            statement = store.ledger(self.tenant, "the test").statement(population)
            spent = sum((entry.loss.epsilon_at(Fraction(0)) for entry in statement.entries), Fraction(0))
            self._must(spent <= statement.account.limit.epsilon, f"overspent: {spent} of {population}")
            for entry in statement.entries:
                under[entry.key or ""].append(entry)
        self.check_reservations()
        self._must(set(under) <= {row.id for row in store.all(sql.select(JOBS.c.id))}, "a charge of no job")
        for row in store.all(sql.select(JOBS).where(JOBS.c.kind.in_(("run", "session")))):
            self._check_job(row, under[row.id])
        folders = {path.name for path in store.folder(self.tenant, "releases").iterdir() if path.name[0] != "."}
        for row in store.all(sql.select(RELEASES)):
            entry = next((one for one in under[row.job] if one.release == row.release), None)
            self._must(entry is not None and entry.state == "settled", f"{row.id}: a release without a charge")
            self._must(Release.load(row.place).id == row.release, f"{row.id}: another release")
            folders.discard(row.job)
        self._must(not folders, f"folders that no release names: {sorted(folders)}")
        for one in self.asked:
            self._must(len(one.jobs) <= 1, f"several jobs under one key: {one}")
        for file in (self.settings.folder / "locks").iterdir():
            with self.hub.store.holding(file.name) as held:
                self._must(held, f"{file.name}: a lock of a process that is gone")
        self.counts["rounds"] += 1

    def _check_job(self, row: Any, entries: list[Entry]) -> None:
        """The state of a job is what the ledger and the disk say."""
        told = self.hub.store.all(
            sql.select(LOG).where(LOG.c.subject == row.id, LOG.c.action == "failed", LOG.c.outcome == DIED)
        )
        self._must(len(entries) - 1 <= len(told), f"{row.id}: {len(entries)} charges, {len(told)} deaths told")
        self._must(row.charges == len(entries), f"{row.id}: {row.charges} reserved, {len(entries)} charged")
        latest = entries[-1] if entries else None
        saved = latest is not None and is_saved(self.hub.store, row, latest)
        code = (row.problem or {}).get("code")
        self.counts["jobs"] += 1
        kind = "jobs" if row.kind == "run" else "sessions"
        self.counts[f"{kind} {row.state} {code or ''}".strip()] += 1
        self.counts["second charges"] += max(0, len(entries) - 1)
        self.counts["deaths while drawing, told"] += len(told)
        self._must(row.entry == (latest and latest.id), f"{row.id}: entry {row.entry}, the ledger has {latest}")
        if row.state == "done":
            self._must(saved, f"{row.id} is done and has no release")
        elif code == DIED:
            self._must(bool(latest and latest.may_have_drawn) and not saved, f"{row.id} did not die while drawing")
            self._must(f"Entry {row.entry}" in row.problem["detail"], f"{row.id} does not name its entry")
        else:
            self._must(not saved, f"{row.id} has a release and is {row.state}")
            drawn = latest is not None and latest.may_have_drawn and latest.id not in [one.id for one in entries[:-1]]
            self._must(not drawn or len(told) > 0 or code == "budget", f"{row.id} has drawn and is {row.state} {code}")

    def _must(self, good: bool, otherwise: str) -> None:
        if not good:
            self.mistakes.append(otherwise)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def crash(database: str | None, **given: Any) -> Iterator[Crash]:
    """A service to be killed, in a folder that is removed."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-crash-"))
    made = Crash(folder, database, **given)
    try:
        yield made
    finally:
        made.end()
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL server of our own."""
    from pgserver.postgres_server import get_server

    server = get_server(tempfile.mkdtemp(prefix="discreet-postgres-"), cleanup_mode="delete")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--spenders", type=int, default=50)
    options.add_argument("--kills", type=int, default=8, help="in each round")
    options.add_argument("--database", choices=("sqlite", "postgres", "both"), default="both")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    mistakes = 0
    for kind in ("sqlite", "postgres") if given.database == "both" else (given.database,):
        totals: Counter[str] = Counter()
        with contextlib.ExitStack() as stack:
            url = stack.enter_context(postgres()) if kind == "postgres" else None
            for number in range(given.rounds):
                place = url and schema_of(url, f"round_{number}")
                servers = 2 if kind == "postgres" else 1
                with crash(place, seed=given.seed + number, spenders=given.spenders, servers=servers) as one:
                    one.round(given.kills)
                    totals += one.counts
                    for mistake in one.mistakes:
                        print(f"{kind}, round {number + 1}: {mistake}", flush=True)
                    mistakes += len(one.mistakes)
                print(f"{kind}, round {number + 1} of {given.rounds}: {one.counts['jobs']} jobs", flush=True)
        print(f"\n{kind}: {given.rounds} rounds, {given.spenders} spenders, {given.kills} kills each")
        for name, count in sorted(totals.items()):
            print(f"  {count:7,}  {name}")
        print(f"  {mistakes:7,}  mistakes", flush=True)
    sys.exit(1 if mistakes else 0)


def schema_of(url: str, name: str) -> str:
    """The same database with a fresh schema of its own."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")  # type: ignore[arg-type]
    return f"{url}&options=-csearch_path%3D{name}"


if __name__ == "__main__":
    main()
