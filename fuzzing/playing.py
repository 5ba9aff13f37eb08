"""Play numbered cases; the same number and seed give the same case."""

from __future__ import annotations

import resource
import signal
import tempfile
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from discreet.errors import DiscreetError
from fuzzing.targets import targets

__all__ = ["Finding", "play"]

SECONDS, PATIENCE = 20, 200
"""A case that takes this many seconds of processor time, or of the clock, is a finding."""
MEMORY = 8 << 30
"""Address space of a process that fuzzes."""


@dataclass(frozen=True)
class Finding:
    """A case that did not end as it should."""

    case: int
    target: str
    error: str


def play(cases: Iterable[int], seed: int, *, journal: Path | None = None) -> list[Finding]:
    """Play cases and return those that raised something that is not ours, or took too long."""
    if journal is not None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for clock in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(clock, _too_long)
    found: list[Finding] = []
    with tempfile.TemporaryDirectory() as folder:
        played = targets(Path(folder))
        names = sorted(played)
        for case in cases:
            random = Random(f"{seed}/{case}")
            name = names[case % len(names)]
            if journal is not None:
                journal.write_text(str(case))
            _set_clocks(SECONDS, PATIENCE)
            try:
                played[name](random)
            except DiscreetError:
                pass
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                words = " ".join(f"{type(error).__name__}: {error}".split())[:300]
                found.append(Finding(case, name, f"{words} [{Path(where.filename).name}:{where.lineno}]"))
            finally:
                _set_clocks(0, 0)
    return found


def _set_clocks(processor: int, wall: int) -> None:
    signal.setitimer(signal.ITIMER_PROF, processor)
    signal.alarm(wall)


def _too_long(*_: object) -> None:
    raise TimeoutError(f"longer than {SECONDS} s")
