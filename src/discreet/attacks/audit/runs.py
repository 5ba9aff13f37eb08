"""The runs of a game: many fits in either world, in several processes, resumable."""

from __future__ import annotations

import hashlib
import json
import math
import pickle
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.attacks.audit.game import Dataset, Features, Game, Worlds
from discreet.attacks.audit.targets import Target
from discreet.data.interactions import Interactions
from discreet.errors import EvaluationError
from discreet.privacy.charging import sandbox

if TYPE_CHECKING:
    from discreet.attacks.audit.workers import Crew

__all__ = ["Job", "Journal", "Run", "Seen", "perform"]

Run = tuple[int, bool]
"""The number of a run, and whether the secret is there."""

Seen = list[Features]
"""What each of the games that share a fit saw."""

LARGE = 1.7e308
FEWEST = 8
"""Runs in each world below which a game is not worth its fits."""


@dataclass(frozen=True, eq=False)
class Job:
    """Games that share their worlds, against one target: what every process needs to know.

    Parameters
    ----------
    games
        They differ in what the attacker sees and in nothing else, so that one fit serves them all.
    seed
        Draws worlds from the caller's records. The noise of the model is not seeded.
    """

    target: Target
    games: tuple[Game, ...]
    data: Dataset
    seed: int

    @property
    def crafted(self) -> bool:
        return self.games[0].crafted

    def worlds(self, number: int) -> Worlds:
        """The worlds of a run; those that are crafted are the same in all of them."""
        name = int.from_bytes(hashlib.sha256(self.games[0].name.encode()).digest()[:4])
        draw = np.random.default_rng([self.seed, name, 0 if self.crafted else number])
        return self.games[0].worlds(self.target, self.data, draw)

    def play(self, runs: Sequence[Run]) -> Generator[tuple[Run, Seen]]:
        """Fit and observe, one run after the other."""
        worlds, held = None, -1
        for number, present in runs:
            if worlds is None or (number != held and not self.crafted):
                worlds, held = self.worlds(number), number
            fitted = self.target.fit(worlds.world(present=present))
            # Models that are asked pay for their answers: that, too, is done in the sandbox.
            with sandbox():
                seen = [np.asarray(game.observe(fitted, worlds), dtype=np.float64) for game in self.games]
            yield (number, present), seen

    @property
    def key(self) -> str:
        """What earlier runs must have in common with these: the model, its settings, the games, the records."""
        data = None if self.crafted else self.data.fingerprint
        described = [self.target.described(), [asdict(game) for game in self.games], data, self.seed]
        return hashlib.sha256(json.dumps(described, sort_keys=True, default=str).encode()).hexdigest()[:16]

    def pickled(self) -> bytes | None:
        """The job for another process, or None where it cannot go there."""
        data = _emptied(self.data) if self.crafted else self.data
        try:
            packed = pickle.dumps(replace(self, data=data))
        except (pickle.PicklingError, AttributeError, TypeError):
            return None
        # What a script or a notebook defines for itself, another process would not find.
        return None if b"__main__" in packed else packed


def _emptied(data: Dataset) -> Dataset:
    """The same public lists, and no records."""
    if isinstance(data, Interactions):
        return data.emptied()
    return data.filter(np.zeros(len(data), dtype=bool), independent=True)


class Journal:
    """Finished runs as lines of JSON, so that an interrupted audit goes on where it stopped.

    Parameters
    ----------
    folder
        Where; None keeps nothing. The folder belongs to the owner of the records: it holds what attackers saw of
        models that nothing was charged for.
    job
        Its key names the file.
    """

    def __init__(self, folder: Path | None, job: Job) -> None:
        self._path = None if folder is None else folder / f"{job.games[0].name}-{job.key}.jsonl"
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            except OSError as error:
                raise EvaluationError(f"{folder} cannot be used to keep runs: {error.strerror}.") from error

    def read(self) -> dict[Run, Seen]:
        """What was finished before; a last line that was cut off is left out."""
        done: dict[Run, Seen] = {}
        if self._path is None or not self._path.is_file():
            return done
        for line in self._path.read_text(encoding="utf-8").splitlines():
            try:
                run, seen = from_line(json.loads(line))
            except (ValueError, KeyError, TypeError):
                continue
            done[run] = seen
        return done

    def write(self, run: Run, seen: Seen) -> None:
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(as_line(run, seen)) + "\n")


def as_line(run: Run, seen: Seen) -> dict[str, Any]:
    """A run as plain JSON, which knows neither NaN nor infinity."""
    vectors = [np.clip(vector, -LARGE, LARGE).tolist() for vector in seen]
    plain = [[None if math.isnan(x) else x for x in vector] for vector in vectors]
    return {"run": run[0], "present": run[1], "seen": plain}


def from_line(line: dict[str, Any]) -> tuple[Run, Seen]:
    """The inverse of ``as_line``."""
    seen = [np.array([math.nan if x is None else float(x) for x in vector], dtype=float) for vector in line["seen"]]
    return (int(line["run"]), bool(line["present"])), seen


def perform(
    job: Job,
    runs: int,
    *,
    seconds: float | None,
    folder: Path | None,
    tick: Callable[[float], None],
    crew: Crew | None = None,
    pace: float = 0.01,
) -> tuple[list[Seen], list[Seen]]:
    """Runs without the secret and as many with it, in order.

    Parameters
    ----------
    runs
        How many in each world, at most.
    seconds
        After so long no more runs are waited for, once there are ``FEWEST``. The clock decides and never an outcome, so
        that what the runs prove holds as if their number had been fixed before.
    folder
        Where finished runs are kept.
    tick
        Called with the share that is done.
    crew
        Processes that share the work; None for none but this one.
    pace
        About how many seconds a run takes.
    """
    journal = Journal(folder, job)
    done = journal.read()
    wanted = [(number, present) for number in range(runs) for present in (False, True)]
    left = [run for run in wanted if run not in done]
    packed = None if crew is None else job.pickled()
    arriving = job.play(left) if crew is None or packed is None else crew.play(packed, left, pace=pace)
    started = None
    try:
        for run, seen in arriving:
            # The clock starts with the first run: until then processes are starting.
            started = started or time.monotonic()
            done[run] = seen
            journal.write(run, seen)
            spent = 0.0 if seconds is None else (time.monotonic() - started) / seconds
            tick(min(1.0, max(spent, len(done) / len(wanted))))
            if spent >= 1 and len(done) >= 2 * FEWEST:
                break
    finally:
        arriving.close()
    whole = [n for n in range(runs) if (n, False) in done and (n, True) in done]
    return [done[n, False] for n in whole], [done[n, True] for n in whole]
