"""Processes that play runs: jobs and numbers of runs come in on standard input, lines of JSON go out.

They are started as programs of their own and not forked: a fork would copy threads that hold locks, and the usual
alternative runs the caller's script a second time.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from queue import Queue
from threading import Thread
from typing import IO, Any, Self

from discreet.attacks.audit.runs import Job, Run, Seen, as_line, from_line
from discreet.errors import DiscreetError, EvaluationError

__all__ = ["Crew"]

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS")
SHORT_WORK = 0.3
"""Seconds of work that a process is given at a time: what it has begun when the time is up is finished in vain."""
MOST_AT_ONCE = 64


class Crew:
    """Processes that play one job after the other. They start when they are first needed and end with the block.

    Parameters
    ----------
    processes
        How many.
    """

    def __init__(self, processes: int) -> None:
        self.processes = processes
        self._started: list[subprocess.Popen[bytes]] = []
        self._errors: list[IO[bytes]] = []
        self._lines: Queue[tuple[int, str | None]] = Queue()
        self._stack = ExitStack()
        self._job = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        for process in self._started:
            process.kill()
            process.wait()
        self._stack.close()

    @property
    def started(self) -> bool:
        return bool(self._started)

    def play(self, packed: bytes, runs: Sequence[Run], *, pace: float) -> Generator[tuple[Run, Seen]]:
        """Runs in the order in which they are finished.

        Parameters
        ----------
        packed
            The job, pickled.
        runs
            Which runs of it.
        pace
            About how many seconds one of them takes.
        """
        if not self._started:
            self._start()
        self._job += 1
        shares = _shares(runs, pace)
        busy = 0
        for number in range(self.processes):
            self._send(number, (self._job, packed))
            busy += self._hand_out(number, shares)
        while busy:
            number, line = self._lines.get()
            if line is None:
                raise EvaluationError(f"a process of the audit died: {_last_words(self._errors[number])}")
            answer = json.loads(line)
            if answer["job"] != self._job:
                continue  # of an earlier job, whose time was up
            if "error" in answer:
                raise EvaluationError(f"a run of the audit failed: {answer['error']}")
            if "done" in answer:
                busy += self._hand_out(number, shares) - 1
            else:
                yield from_line(answer)

    def _start(self) -> None:
        for number in range(self.processes):
            file = tempfile.TemporaryFile()  # noqa: SIM115 - the stack closes it
            self._errors.append(self._stack.enter_context(file))
            process = _process(self._errors[-1])
            self._started.append(process)
            Thread(target=_drain, args=(process, number, self._lines), daemon=True).start()

    def _hand_out(self, number: int, shares: Iterator[Sequence[Run]]) -> int:
        """Give a process its next share; how many it got, 0 where none is left."""
        share = next(shares, None)
        if share is None:
            return 0
        self._send(number, (self._job, list(share)))
        return 1

    def _send(self, number: int, message: tuple[int, Any]) -> None:
        stdin = self._started[number].stdin
        assert stdin is not None
        try:
            pickle.dump(message, stdin)
            stdin.flush()
        except OSError:
            pass  # it died; the end of its lines says so


def _shares(runs: Sequence[Run], pace: float) -> Iterator[Sequence[Run]]:
    """Runs in portions of some tenths of a second, pairs of them together: their worlds are built once."""
    size = 2 * max(1, min(MOST_AT_ONCE, int(SHORT_WORK / max(pace, 1e-6) / 2)))
    return iter([runs[begin : begin + size] for begin in range(0, len(runs), size)])


def _process(errors: IO[bytes]) -> subprocess.Popen[bytes]:
    environment = {**os.environ, **dict.fromkeys(ONE_THREAD, "1")}
    # The same modules must be found there as here.
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    return subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import _serve; _serve()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=environment,
    )


def _drain(process: subprocess.Popen[bytes], number: int, lines: Queue[tuple[int, str | None]]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put((number, line.decode()))
    lines.put((number, None))


def _last_words(file: IO[bytes]) -> str:
    file.seek(0)
    words = file.read().decode(errors="replace").strip().splitlines()
    return words[-1] if words else "it left no message."


def _serve() -> None:
    """Play what standard input asks for, until it ends."""
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
            job = pickle.loads(message)
            continue
        assert job is not None
        try:
            for run, seen in job.play(message):
                say(job=number, **as_line(run, seen))
        except DiscreetError as error:
            say(job=number, error=str(error))
        say(job=number, done=True)
