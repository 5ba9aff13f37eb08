"""Starts the processes of jobs, and finds out what became of those that died."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import IO, Any

from sqlalchemy.engine import Row

from discreet.privacy.ledger import Entry
from discreet.privacy.ledger.retries import holds
from discreet.service.jobs import DIED, MOST_ATTEMPTS, Jobs
from discreet.service.problems import Problem
from discreet.service.releases import Releases
from discreet.service.store import Store
from discreet.service.tasks import finish

__all__ = ["Supervisor", "recover"]

INTERVAL = 0.1


class Supervisor:
    """A thread that keeps processes ready and gives each one job.

    A process that runs a job goes on when the server dies; a process that waits for one ends.
    """

    def __init__(self, store: Store) -> None:
        self.store, self.jobs = store, Jobs(store)
        self._ready: list[subprocess.Popen[str]] = []
        self._busy: dict[str, subprocess.Popen[str]] = {}
        self._unclaimed: dict[str, int] = {}
        self._wake, self._stop = threading.Event(), False
        self._thread = threading.Thread(target=self._run, name="discreet-jobs", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, *, kill: bool = False) -> None:
        """Start nothing more; jobs that run go on unless they are to be killed."""
        self._stop = True
        self._wake.set()
        self._thread.join(timeout=10)
        for process in self._ready:
            process.kill()
        for process in self._busy.values():
            if kill:
                process.kill()
                process.wait()

    def wake(self) -> None:
        """There is a new job."""
        self._wake.set()

    @property
    def processes(self) -> list[int]:
        """The processes of jobs that run."""
        return [process.pid for process in self._busy.values()]

    def _run(self) -> None:
        while not self._stop:
            try:
                self._turn()
            except Exception as error:  # the database may be away for a while
                print(f"discreet: jobs are waiting: {type(error).__name__}", file=sys.stderr)  # noqa: T201
            self._wake.wait(INTERVAL)
            self._wake.clear()

    def _turn(self) -> None:
        self._reap()
        for row in self.jobs.running():
            if row.id not in self._busy:
                recover(self.store, row)
        free = self.store.settings.workers - len(self._busy)
        for job in [job for job in self.jobs.waiting(free + len(self._busy)) if job not in self._busy][: max(free, 0)]:
            process = self._ready.pop() if self._ready else self._spawn()
            _say(process, job)
            self._busy[job] = process
        while len(self._ready) + len(self._busy) < self.store.settings.workers and not self._stop:
            self._ready.append(self._spawn())

    def _spawn(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "discreet.service.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C in a terminal ends the server, not a job that was charged
            text=True,
        )
        _say(process, json.dumps(self.store.settings.to_json()))
        return process

    def _reap(self) -> None:
        self._ready = [process for process in self._ready if process.poll() is None]
        for job, process in list(self._busy.items()):
            if process.poll() is None:
                continue
            del self._busy[job]
            if job in self.jobs.waiting(1000):  # it ended without having begun
                self._unclaimed[job] = self._unclaimed.get(job, 0) + 1
                if self._unclaimed[job] >= MOST_ATTEMPTS:
                    problem = Problem(
                        500, "start", "The process of the job cannot start.", remedy="See the server's log."
                    )
                    with self.store.write(f"job {job}") as connection:
                        self.jobs.end(connection, job, "failed", problem={**problem.to_json(), "about": "data"})


def _say(process: subprocess.Popen[str], line: str) -> None:
    pipe: IO[Any] | None = process.stdin
    try:
        assert pipe is not None
        pipe.write(line + "\n")
        pipe.flush()
    except BrokenPipeError:  # it died: the next turn starts another
        pass


def recover(store: Store, row: Row[Any]) -> None:
    """Bring a job whose process is gone into a true state.

    | what the ledger knows | what happens |
    | --- | --- |
    | nothing was charged, or charged and not begun to draw | it is tried again; the charge is used |
    | the release was saved | the job is done |
    | noise may have been drawn, and nothing was saved | it failed, and says which entry stays charged |
    """
    jobs = Jobs(store)
    with store.holding(row.id) as held:
        if not held:
            return  # its process lives, perhaps under another server
        entry = store.ledger(row.tenant, row.who).keyed(row.id).latest() if row.spends else None
        place = Releases(store).place(row.tenant, row.id)
        if entry is not None and (entry.saved_at is not None or holds(place, entry.release)):
            finish(store, row, None)
            return
        with store.write(f"job {row.id}") as connection:
            current = jobs._row(connection, row.id)
            if current.state != "running":
                return
            if entry is not None and entry.may_have_drawn:
                problem = died(entry)
                jobs.end(connection, row.id, "failed", problem=problem.to_json(), entry=entry.id)
                store.log(connection, row.tenant, row.who, "failed", row.id, problem.code)
            elif current.attempts < MOST_ATTEMPTS:
                jobs.requeue(connection, row.id)
            else:
                problem = Problem(
                    500, "died", "The process of the job died several times.", remedy="Look at its memory."
                )
                jobs.end(connection, row.id, "failed", problem={**problem.to_json(), "about": "data"})
                store.log(connection, row.tenant, row.who, "failed", row.id, problem.code)


def died(entry: Entry) -> Problem:
    """What a job says whose process died while it was drawing."""
    return Problem(
        500,
        DIED,
        f"The process died after noise may have been drawn. Entry {entry.id} ({entry.loss}) stays charged, and there "
        "is no release for it.",
        remedy="Send the same request under the same Idempotency-Key to try again: it is charged again.",
        entry=entry.id,
    )
