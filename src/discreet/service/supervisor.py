"""Starts the processes of jobs, and finds out what became of those that died."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from typing import IO, Any

from sqlalchemy.engine import Row

from discreet.privacy.ledger import Entry
from discreet.service.jobs import HELD_BY_THE_SERVER, MOST_ATTEMPTS, Jobs
from discreet.service.problems import Problem
from discreet.service.store import Store
from discreet.service.sweeping import sweep
from discreet.service.tasks import finish
from discreet.service.worker import died, died_of_memory, is_saved, too_much_memory

__all__ = ["Supervisor", "recover"]

INTERVAL, MOST_PAUSE = 0.1, 5.0
MOST_STARTS = 5
"""How many processes of a job may end before they have begun it."""

OPEN_SECONDS = 60.0
"""How long a session may wait for the server that opens it."""


class Supervisor:
    """A thread that keeps processes ready and gives each one job.

    A process that runs a job goes on when the server dies; a process that waits for one ends.
    """

    def __init__(self, store: Store) -> None:
        self.store, self.jobs = store, Jobs(store)
        self._ready: list[subprocess.Popen[str]] = []
        self._busy: dict[str, subprocess.Popen[str]] = {}
        self._unclaimed: dict[str, int] = {}
        self._unopened: dict[str, float] = {}
        self._told = ""
        self._wake, self._stop = threading.Event(), False
        self._thread = threading.Thread(target=self._run, name="discreet-jobs", daemon=True)

    def start(self) -> None:
        sweep(self.store)
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
        pause = INTERVAL
        while not self._stop:
            try:
                self._turn()
                pause = INTERVAL
            except Exception as error:  # the database may be away for a while, or the disk full
                self._tell(f"jobs are waiting: {type(error).__name__}")
                pause = min(2 * pause, MOST_PAUSE)
            self._wake.wait(pause)
            self._wake.clear()

    def _turn(self) -> None:
        self._reap()
        for row in self.jobs.running():
            if row.id not in self._busy:
                self._recover(row.id)
        self._end_unopened()
        free = self.store.settings.workers - len(self._busy)
        for job in [job for job in self.jobs.waiting(free + len(self._busy)) if job not in self._busy][: max(free, 0)]:
            process = self._ready.pop() if self._ready else self._spawn()
            _say(process, job)
            self._busy[job] = process
        while len(self._ready) + len(self._busy) < self.store.settings.workers and not self._stop:
            self._ready.append(self._spawn())

    def _end_unopened(self) -> None:
        """End sessions that wait for a server that is gone: no process may take them, and they would wait for ever."""
        waiting, at = self.jobs.unopened(), time.monotonic()
        self._unopened = {job: self._unopened.get(job, at) for job in waiting}
        for job, since in self._unopened.items():
            if at - since < OPEN_SECONDS:
                continue
            with self.store.holding(job) as held:
                row = self.jobs.find(job) if held else None
                if row is not None and row.state == "queued":
                    _give_up(self.jobs, row, None, not_opened(), about="server")

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
            self._recover(job, process.returncode)
            self._count_unclaimed(job)

    def _recover(self, job: str, code: int | None = None) -> None:
        """See what became of a job. One that cannot be helped now does not keep the others waiting."""
        try:
            recover(self.store, job, code=code)
        except Exception as error:
            self._tell(f"job {job} cannot be looked after: {type(error).__name__}")

    def _count_unclaimed(self, job: str) -> None:
        """A job whose processes end before they begin it fails, rather than being started for ever."""
        with self.store.holding(job) as held:
            row = self.jobs.find(job) if held else None
            if row is None or row.state != "queued" or row.attempts:
                self._unclaimed.pop(job, None)
                return
            self._unclaimed[job] = self._unclaimed.get(job, 0) + 1
            if self._unclaimed[job] >= MOST_STARTS:
                del self._unclaimed[job]
                text = "The process of the job cannot start."
                problem = Problem(500, "start", text, remedy="See the server's log, and try again.")
                self.jobs.fail(row, {**problem.to_json(), "about": "data"}, retry="free")

    def _tell(self, text: str) -> None:
        """Say something to the operator, once until something else is said."""
        if text != self._told:
            self._told = text
            print(f"discreet: {text}", file=sys.stderr)  # noqa: T201


def _say(process: subprocess.Popen[str], line: str) -> None:
    pipe: IO[Any] | None = process.stdin
    try:
        assert pipe is not None
        pipe.write(line + "\n")
        pipe.flush()
    except BrokenPipeError:  # it died: the next turn starts another
        pass


def recover(store: Store, job: str, *, code: int | None = None) -> None:
    """Bring a job whose process is gone into a true state.

    | what the ledger knows | what happens |
    | --- | --- |
    | nothing was charged, or charged and not begun to draw | it is tried again; the charge is used |
    | the same, of a session, which lived in a server | it failed; the same request opens it with the same charge |
    | the release was saved | the job is done |
    | noise may have been drawn, and nothing was saved | it failed, and says which entry stays charged |

    Parameters
    ----------
    code
        How the process ended, where that is known: one that gave up for want of memory is not tried again.
    """
    jobs, no_memory = Jobs(store), code == -signal.SIGABRT and store.settings.memory_limit is not None
    with store.holding(job) as held:
        if not held:
            return  # its process lives, perhaps under another server
        row = jobs.find(job)  # it may have ended since it was last looked at
        if row.state != "running":
            return
        entries = jobs.charged(row)
        entry = entries[-1] if entries else None
        if entry is not None and is_saved(store, row, entry):
            finish(store, row, None)
        elif entry is not None and entry.saved_at is not None:
            jobs.fail(row, {**gone(entry).to_json(), "about": "data"})
        elif entry is not None and entry.may_have_drawn and len(entries) >= row.charges:
            jobs.fail(row, died_of_memory(entry) if no_memory else died(entry).to_json(), retry="charged")
        elif no_memory:
            _give_up(jobs, row, entry, too_much_memory())
        elif row.kind in HELD_BY_THE_SERVER:
            _give_up(jobs, row, entry, not_opened(), about="server")
        elif row.attempts < MOST_ATTEMPTS:
            with store.write(f"job {row.id}") as connection:
                jobs.requeue(connection, row.id)
        else:
            text = "The process of the job died several times."
            _give_up(jobs, row, entry, Problem(500, "died", text, remedy="Look at its memory, and try again."))


def _give_up(jobs: Jobs, row: Row[Any], entry: Entry | None, problem: Problem, *, about: str = "data") -> None:
    """End a job that has drawn nothing with its latest charge."""
    retry = "charged" if entry is not None and entry.may_have_drawn else "free"
    jobs.fail(row, {**problem.to_json(), "about": about}, retry=retry)


def not_opened() -> Problem:
    """What a session says whose server ended before it was open: nobody else takes it up."""
    return Problem(
        500, "died", "The server ended before the session was open.", remedy="Send the same request again; it is free."
    )


def gone(entry: Entry) -> Problem:
    return Problem(
        500,
        "missing",
        f"The release of entry {entry.id} was saved, and is no longer in {entry.saved_in}.",
        remedy="Put it back; or send the request under another Idempotency-Key, which is charged.",
    )
