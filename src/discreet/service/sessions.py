"""Interactive sessions: any number of questions about a table for one charge, answered one at a time.

A session lives in a thread of the server, which holds its job as the process of a job does. It is charged when it
opens. A server that is stopped closes its sessions, and their answers are kept. When the server is killed, the session
is lost: its entry stays charged, and its job says so.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import sqlalchemy as sql
from sqlalchemy.engine import Connection, Row

from discreet.coupled import PMW, QuerySession
from discreet.coupled.query_method import QuerySetting
from discreet.coupled.workloads.product import ProductWorkload
from discreet.data import Table
from discreet.errors import UsageError
from discreet.privacy import Guarantee
from discreet.service.access import Caller
from discreet.service.datasets import Data, Datasets
from discreet.service.jobs import ENDED, Jobs, job_for
from discreet.service.problems import Problem
from discreet.service.runs import RunRequest
from discreet.service.schema import JOBS
from discreet.service.tasks import CancelledError, Task, finish, ledger_of, task

if TYPE_CHECKING:
    from discreet.service.hub import Hub

__all__ = ["Sessions"]

MOST_OPEN, MOST_OF_A_KEY = 20, 5
"""Sessions that one server holds at a time, and that one key has."""

MOST_LISTED = 100

MOST_QUESTIONS = 100_000
"""Different questions of one session, which all are kept in memory until it is closed."""

IDLE_SECONDS = 3600.0
"""A session that nobody has asked for so long is closed, and its release kept."""

WAIT_SECONDS, END_SECONDS = 60.0, 10.0
"""How long opening and closing one is waited for, and closing all of them when the server ends."""


@dataclass
class Held:
    """An open session, and what it was asked."""

    session: QuerySession
    closing: threading.Event = field(default_factory=threading.Event)
    asked: dict[str, dict[str, Any]] = field(default_factory=dict)
    used: float = field(default_factory=time.monotonic)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """The answer; the same one for the same question, which then costs no update."""
        name = json.dumps(question, sort_keys=True)
        with self.lock:
            self.used = time.monotonic()
            if name not in self.asked:
                if len(self.asked) >= MOST_QUESTIONS:
                    text = f"A session answers {MOST_QUESTIONS:,} different questions."
                    raise Problem(409, "questions", text, remedy="Close it: all answers are kept. Open another one.")
                answer = self.session.ask(question)
                self.asked[name] = {"label": answer.label, "answer": answer.value, "source": answer.source}
            return {**self.asked[name], "updates_left": self.session.updates_left}


_HELD: dict[str, Held] = {}
"""The sessions of this process, by their jobs."""


class Sessions:
    """Open, ask, close."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self._threads: dict[str, threading.Thread] = {}

    def end(self) -> None:
        """Close what is open, when the server ends: the answers so far become releases."""
        until = time.monotonic() + END_SECONDS
        for job in tuple(self._threads):
            if (held := _HELD.get(job)) is not None:
                held.closing.set()
        for thread in tuple(self._threads.values()):
            thread.join(max(0.0, until - time.monotonic()))

    def estimate(self, caller: Caller, request: RunRequest, questions: int) -> dict[str, Any]:
        """What a session would cost, and whether it fits. No record is read."""
        caller.require("hold sessions")
        dataset = self.hub._dataset(caller, request)
        public = self.hub.datasets.public(caller.tenant, dataset.id)
        return self.hub.price(caller, dataset, public, session_guarantee(request, public, questions), request)

    def listed(self, caller: Caller) -> list[dict[str, Any]]:
        """The latest sessions, of an analyst their own: where each stands."""
        caller.require("hold sessions")
        rows = self.hub.jobs.listed(caller, limit=MOST_LISTED, kind="session")
        names = ("name", "population", "created")
        return [{**self._shown(row, caller), **{one: job_for(row, caller)[one] for one in names}} for row in rows]

    def open(self, caller: Caller, request: RunRequest, questions: int, idempotency: str) -> tuple[Row[Any], bool]:
        """Charge and open a session. The same key returns the same session."""
        caller.require("hold sessions")
        hub = self.hub
        dataset = hub._dataset(caller, request)
        public = hub.datasets.public(caller.tenant, dataset.id)
        guarantee = session_guarantee(request, public, questions)
        described = {**request.to_json(), "dataset": dataset.id, "questions": questions}
        job, new = hub.submit_spending(
            caller,
            "session",
            dataset,
            public,
            guarantee,
            described,
            idempotency,
            refuse=lambda connection: _require_room(connection, caller),
        )
        if job.state == "queued":
            self._start(job.id)
        return hub.jobs.get(caller, job.id), new

    def _start(self, job: str) -> None:
        thread = threading.Thread(target=self._hold, args=(job,), name=f"session {job}", daemon=True)
        thread.start()
        until = time.monotonic() + WAIT_SECONDS
        while job not in _HELD and thread.is_alive() and time.monotonic() < until:
            time.sleep(0.01)

    def _hold(self, job: str) -> None:
        from discreet.service.worker import perform

        self._threads[job] = threading.current_thread()
        try:
            perform(self.hub.store, job)
        finally:
            self._threads.pop(job, None)

    def ask(self, caller: Caller, job: str, question: dict[str, Any]) -> dict[str, Any]:
        """The answer to one question. A mistake in it costs nothing."""
        return self._held(caller, job).ask(question)

    def show(self, caller: Caller, job: str) -> dict[str, Any]:
        """Where a session stands; what it guarantees while it is open."""
        return self._shown(self._row(caller, job), caller)

    def answers(self, caller: Caller, job: str) -> list[dict[str, Any]]:
        """What an open session was asked and answered, in order."""
        row = self._row(caller, job)
        held = _HELD.get(row.id)
        if held is None:
            return []
        with held.lock:
            return list(held.asked.values())

    def _shown(self, row: Row[Any], caller: Caller) -> dict[str, Any]:
        held = _HELD.get(row.id)
        seen = job_for(row, caller)
        shown = {name: seen[name] for name in ("id", "state", "result", "problem", "entry")}
        if row.state == "running" and held is not None:
            shown["state"] = "open"
            shown |= {"updates_left": held.session.updates_left, "questions": len(held.session)}
            shown["guarantee"] = held.session.guarantee.to_json()
        return shown

    def close(self, caller: Caller, job: str) -> Row[Any]:
        """End a session and keep all answers as a release. Closing again returns the same."""
        row = self._row(caller, job)
        if row.state not in ENDED:
            self._held(caller, job).closing.set()
        until = time.monotonic() + WAIT_SECONDS
        while row.state not in ENDED and time.monotonic() < until:
            time.sleep(0.01)
            row = self._row(caller, job)
        return row

    def _row(self, caller: Caller, job: str) -> Row[Any]:
        caller.require("hold sessions")
        row = self.hub.jobs.get(caller, job)
        if row.kind != "session":
            raise Problem(404, "not-found", f"There is no session {job!r}.", remedy="Open one.")
        return row

    def _held(self, caller: Caller, job: str) -> Held:
        row = self._row(caller, job)
        held = _HELD.get(job)
        if row.state == "running" and held is not None and not held.closing.is_set():
            return held
        raise Problem(
            409,
            "session",
            "This session is not open." if row.state != "running" else "This session is not open here.",
            remedy="Its answers are in the release of its job." if row.result else "Open another one.",
            session={"state": row.state, "result": row.result, "problem": row.problem},
        )


def _require_room(connection: Connection, caller: Caller) -> None:
    """Refuse a session where the server, or the key, has enough of them."""
    mine = (JOBS.c.tenant == caller.tenant, JOBS.c.key == caller.key, JOBS.c.kind == "session")
    open_ones = sql.select(sql.func.count()).select_from(JOBS).where(*mine, JOBS.c.state.not_in(ENDED))
    of_key = connection.execute(open_ones).scalar_one()
    for found, most in ((len(_HELD), MOST_OPEN), (of_key, MOST_OF_A_KEY)):
        if found >= most:
            raise Problem(
                429,
                "queue",
                f"{most} sessions are open already.",
                remedy="Close one of them.",
                headers={"Retry-After": "60"},
            )


def session_guarantee(request: RunRequest, public: Data, questions: int) -> Guarantee:
    """What a session will guarantee, from public values alone."""
    table, method = _checked(request, public)
    coupling = request._options(table).get("coupling")
    setting = QuerySetting.of(table, ProductWorkload(table.domains, [{}]), coupling)
    return method.session_plan(setting, questions, subject="answers to any number of linear queries").guarantee


def _checked(request: RunRequest, data: Data) -> tuple[Table, PMW]:
    method = request.made()
    if not isinstance(method, PMW) or not isinstance(data, Table):
        raise UsageError("a session is held on a table, with the method pmw.", remedy="Run other methods as a run.")
    return data, method


@task("session")
def _session(task: Task) -> None:
    """Charge, open, and hold the session until somebody closes it."""
    store, job, request = task.store, task.job, RunRequest.from_json(task.request)
    ledger = ledger_of(store, job, request)
    table, method = _checked(request, Datasets(store).load(job.tenant, request.dataset))
    task.phase("drawing")
    session = QuerySession.open(
        table,
        method,
        coupling=request._options(table).get("coupling"),
        ledger=ledger.keyed(job.id),
        questions=task.request["questions"],
    )
    held = Held(session)
    try:
        task.phase("open")
        _HELD[job.id] = held  # whoever sees it here sees it open
        while not held.closing.wait(timeout=1.0):
            if time.monotonic() - held.used > IDLE_SECONDS or Jobs(store).report(job.id, phase="open"):
                held.closing.set()
        with held.lock:
            release = session.close()
    except CancelledError:
        release = session.close()
    finally:
        _HELD.pop(job.id, None)
    finish(store, job, release)
