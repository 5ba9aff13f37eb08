"""The runs of a game: many fits to either dataset, in several processes, resumable."""

from __future__ import annotations

import hashlib
import json
import math
import pickle
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.attacks.engine.identity import identity
from discreet.attacks.engine.targets import Target
from discreet.attacks.games.game import Dataset, Features, Game, NeighboringData
from discreet.common.plain_json import parse_json
from discreet.errors import EvaluationError

if TYPE_CHECKING:
    from discreet.attacks.engine.workers import WorkerPool

__all__ = ["CannotLoadError", "Job", "Journal", "Played", "Run", "Seen", "perform"]

Run = tuple[int, bool]
"""The number of a run, and whether the secret is there."""

Seen = list[Features]
"""What each of the games that share a fit saw."""

LARGE = 1.7e308
FEWEST = 8
"""Runs on each dataset below which a game is not worth its fits."""


class CannotLoadError(Exception):
    """Another process cannot import what a job is made of."""


@dataclass(frozen=True, eq=False)
class Job:
    """Games that share their datasets, against one target: what every process needs to know.

    The games differ in what the attacker sees and in nothing else, so that one fit serves them all. The seed draws
    datasets from the caller's records; the noise of the model is not seeded.
    """

    target: Target
    games: tuple[Game, ...]
    data: Dataset
    seed: int

    @property
    def crafted(self) -> bool:
        return self.games[0].crafted

    def pair(self, number: int) -> NeighboringData:
        """The datasets of a run; those that are crafted are the same in all of them."""
        name = int.from_bytes(hashlib.sha256(self.games[0].name.encode()).digest()[:4])
        draw = np.random.default_rng([self.seed, name, 0 if self.crafted else number])
        return self.games[0].datasets(self.target, self.data, draw)

    def play(self, runs: Sequence[Run]) -> Generator[tuple[Run, Seen]]:
        """Fit and observe, one run after the other."""
        pair, held = None, -1
        for number, present in runs:
            if pair is None or (number != held and not self.crafted):
                pair, held = self.pair(number), number
            yield (number, present), self.target.observe(pair, self.games, present=present)

    @property
    def key(self) -> str:
        """What earlier runs must have in common with these: model, settings, games, the source of all, the records."""
        return identity(self.target.identity, self.games, self.data.fingerprint, self.seed)[:16]

    def pickled(self) -> bytes | None:
        """The job for another process, or None where it cannot go there."""
        data = self.data.emptied() if self.crafted else self.data
        try:
            packed = pickle.dumps(replace(self, data=data))
        except Exception:  # models of others fail in their own ways
            return None
        # What a script or a notebook defines for itself, another process would not find.
        return None if b"__main__" in packed else packed


class Journal:
    """Finished runs as lines of JSON, so that an interrupted audit goes on where it stopped.

    The folder belongs to the owner of the records: it holds what attackers saw of models that nothing was charged for.
    """

    def __init__(self, folder: Path, job: Job) -> None:
        self._path = folder / f"{job.games[0].name}-{job.key}.jsonl"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise EvaluationError(f"{folder} cannot be used to keep runs: {error.strerror}.") from error

    def read(self) -> dict[Run, Seen]:
        """What was finished before; a last line that was cut off is left out."""
        done: dict[Run, Seen] = {}
        if not self._path.is_file():
            return done
        for line in self._path.read_bytes().splitlines():
            try:
                run, seen = from_line(parse_json(line))
            except (ValueError, KeyError, TypeError, OverflowError):
                continue
            done[run] = seen
        return done

    def write(self, run: Run, seen: Seen) -> None:
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(as_line(run, seen)) + "\n")
        except OSError as error:
            raise EvaluationError(f"{self._path} cannot be written: {error.strerror}.") from error


def as_line(run: Run, seen: Seen) -> dict[str, Any]:
    """A run as plain JSON, which knows neither NaN nor infinity."""
    vectors = [np.clip(vector, -LARGE, LARGE).tolist() for vector in seen]
    plain = [[None if math.isnan(x) else x for x in vector] for vector in vectors]
    return {"run": run[0], "present": run[1], "seen": plain}


def from_line(line: dict[str, Any]) -> tuple[Run, Seen]:
    """The inverse of ``as_line``."""
    seen = [np.array([math.nan if x is None else float(x) for x in vector], dtype=float) for vector in line["seen"]]
    return (int(line["run"]), bool(line["present"])), seen


class Played(NamedTuple):
    """Runs without the secret and as many with it, in order; whether somebody stopped them."""

    without: list[Seen]
    with_: list[Seen]
    interrupted: bool = False


def perform(
    job: Job,
    runs: int,
    *,
    until: float = math.inf,
    latest: float = math.inf,
    folder: Path | None = None,
    tick: Callable[[float], None] = lambda share: None,
    crew: WorkerPool | None = None,
    pace: float = 0.01,
) -> Played:
    """Fit and observe, with the secret and without, ``runs`` times on each dataset or as often as there is time for.

    After ``until``, a time of ``time.monotonic``, no more runs are waited for, once there are ``FEWEST``; after
    ``latest`` none at all. The clock decides and never an outcome, so that what the runs prove holds as if their number
    had been fixed before. Ctrl-C ends the runs; those that are finished count. ``pace`` is about how many seconds a
    run takes.
    """
    journal = None if folder is None else Journal(folder, job)
    done = {} if journal is None else journal.read()
    wanted = [(number, present) for number in range(runs) for present in (False, True)]
    left = [run for run in wanted if run not in done]
    arriving = _arriving(job, left, crew, pace)
    started, interrupted = time.monotonic(), False
    try:
        for arrived in arriving:
            if arrived is not None:
                run, seen = arrived
                done[run] = seen
                if journal is not None:
                    journal.write(run, seen)
            now = time.monotonic()
            tick(min(1.0, max((now - started) / max(until - started, 1e-6), len(done) / len(wanted))))
            if now >= latest or (now >= until and len(done) >= 2 * FEWEST):
                break
    except KeyboardInterrupt:
        interrupted = True
    finally:
        arriving.close()
    whole = [n for n in range(runs) if (n, False) in done and (n, True) in done]
    return Played([done[n, False] for n in whole], [done[n, True] for n in whole], interrupted)


def _arriving(
    job: Job, left: Sequence[Run], crew: WorkerPool | None, pace: float
) -> Generator[tuple[Run, Seen] | None]:
    """Runs as they are finished, and None now and then while there are none; by other processes where that can be."""
    packed = None if crew is None else job.pickled()
    if crew is not None and packed is not None:
        try:
            yield from crew.play(packed, left, pace=pace)
        except CannotLoadError:
            pass  # the model is of a module that other processes do not find
        else:
            return
    yield from job.play(left)
