"""Processes that play runs: jobs and numbers of runs come in on standard input, lines of JSON go out.

They are started as programs of their own and not forked: a fork would copy threads that hold locks, and the usual
alternative runs the caller's script a second time.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from queue import Empty, Queue
from threading import Thread
from typing import IO, Any, Self

from discreet.attacks.engine.identity import local_modules
from discreet.attacks.engine.randomness import reseed_modules
from discreet.attacks.engine.runs import CannotLoadError, Job, Run, Seen, as_line, from_line
from discreet.errors import DiscreetError, EvaluationError, Remedy

__all__ = ["WorkerPool"]

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS")
SHORT_WORK = 0.3
"""Seconds of work that a process is given at a time: what it has begun when the time is up is finished in vain."""
MOST_AT_ONCE = 64
LOOK_AROUND = 0.1
"""Seconds after which the caller is told that nothing has come."""
LONG_RUN = 1.5
"""Seconds after which a process that nobody waits for any more is ended."""


@dataclass(eq=False)
class _Worker:
    """A process, where its errors go, and since when it has been working on what."""

    number: int
    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    job: int = 0
    busy_since: float | None = None

    def send(self, message: tuple[int, Any]) -> None:
        assert self.process.stdin is not None
        try:
            pickle.dump(message, self.process.stdin)
            self.process.stdin.flush()
        except OSError:
            pass  # it died; the end of its lines says so

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self.errors.close()


class WorkerPool:
    """Processes that play one job after the other. They start when they are first needed and end with the block."""

    def __init__(self, processes: int) -> None:
        self.processes = processes
        self._workers: dict[int, _Worker] = {}
        self._lines: Queue[tuple[int, str | None]] = Queue()
        self._job = 0
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        for worker in self._workers.values():
            worker.stop()
        self._workers = {}

    @property
    def started(self) -> bool:
        return bool(self._workers)

    def play(self, packed: bytes, runs: Sequence[Run], *, pace: float) -> Generator[tuple[Run, Seen] | None]:
        """Runs of a pickled job in the order in which they are finished, and None now and then while there are none.

        A process that is busy with a long run when the caller stops asking is ended; another takes its place.
        """
        self._job += 1
        shares = _shares(runs, pace)
        while len(self._workers) < self.processes:
            self._start()
        for worker in self._workers.values():
            worker.send((self._job, packed))
            self._hand_out(worker, shares)
        try:
            while any(worker.job == self._job for worker in self._workers.values()):
                yield self._next(shares)
        finally:
            self._end_long_runs()

    def _next(self, shares: Iterator[Sequence[Run]]) -> tuple[Run, Seen] | None:
        """The next finished run; None if there is none for a while, or only news."""
        try:
            number, line = self._lines.get(timeout=LOOK_AROUND)
        except Empty:
            return None
        worker = self._workers.get(number)
        if worker is None:
            return None  # it was ended
        if line is None:
            raise EvaluationError(f"a process of the audit died: {_last_line(worker.errors)}")
        answer = json.loads(line)
        if answer["job"] != self._job:
            return None  # of an earlier job that ran out of time
        if "error" in answer:
            raise EvaluationError(answer["error"], remedy=Remedy(answer["remedy"], cli=answer["remedy_cli"]))
        if "unloadable" in answer:
            raise CannotLoadError(answer["unloadable"])
        if "done" in answer:
            self._hand_out(worker, shares)
            return None
        return from_line(answer)

    def _start(self) -> None:
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the worker is stopped
        worker = _Worker(self._number, _process(errors), errors)
        self._workers[self._number] = worker
        Thread(target=_drain, args=(worker.process, worker.number, self._lines), daemon=True).start()
        self._number += 1

    def _hand_out(self, worker: _Worker, shares: Iterator[Sequence[Run]]) -> None:
        """Give a process its next share, or none where none is left."""
        share = next(shares, None)
        worker.job, worker.busy_since = (0, None) if share is None else (self._job, time.monotonic())
        if share is not None:
            worker.send((self._job, list(share)))

    def _end_long_runs(self) -> None:
        now = time.monotonic()
        for number, worker in list(self._workers.items()):
            if worker.busy_since is not None and now - worker.busy_since > LONG_RUN:
                worker.stop()
                del self._workers[number]
            else:
                worker.job, worker.busy_since = 0, None


def _shares(runs: Sequence[Run], pace: float) -> Iterator[Sequence[Run]]:
    """Runs in portions of some tenths of a second, pairs of them together: their datasets are built once."""
    size = 2 * max(1, min(MOST_AT_ONCE, int(SHORT_WORK / max(pace, 1e-6) / 2)))
    return iter([runs[begin : begin + size] for begin in range(0, len(runs), size)])


def _process(errors: IO[bytes]) -> subprocess.Popen[bytes]:
    environment = {**os.environ, **dict.fromkeys(ONE_THREAD, "1")}
    # The same modules must be found there as here.
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    # In a new session: Ctrl-C does not reach it.
    return subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import _serve; _serve()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=environment,
        start_new_session=True,
    )


def _drain(process: subprocess.Popen[bytes], number: int, lines: Queue[tuple[int, str | None]]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put((number, line.decode()))
    lines.put((number, None))


def _last_line(file: IO[bytes]) -> str:
    file.seek(0)
    words = file.read().decode(errors="replace").strip().splitlines()
    return words[-1] if words else "it left no message."


def _serve() -> None:
    """Play what standard input asks for, until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    out, sys.stdout = sys.stdout, sys.stderr  # what libraries print must not get among the lines

    def say(**line: Any) -> None:
        out.write(json.dumps(line) + "\n")
        out.flush()

    job: Job | None = None
    while True:
        try:
            number, message = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        if isinstance(message, bytes):
            try:
                loaded: Job = pickle.loads(message)
                _renew_randomness(loaded)
                job = loaded
            except Exception as error:
                job = None
                say(job=number, unloadable=f"{type(error).__name__}: {error}")
            continue
        if job is None:
            continue
        try:
            for run, seen in job.play(message):
                say(job=number, **as_line(run, seen))
        except DiscreetError as error:
            say(job=number, error=error.what, remedy=error.remedy, remedy_cli=error.remedy.cli)
        say(job=number, done=True)


def _renew_randomness(job: Job) -> None:
    """Generators of modules have the same state in every process that imports them with a fixed seed."""
    prototype = job.target.prototype
    holders = [prototype, type(prototype), getattr(prototype, "make", None)]
    names = {getattr(holder, "__module__", None) or "" for holder in holders}
    reseed_modules({*local_modules(*names), *(name for name in names if not name.startswith("discreet"))})
