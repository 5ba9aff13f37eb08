"""The process of one job: waits for its number, runs it, ends.

Every job has a process of its own: one that runs out of memory or dies takes nothing else with it.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from sqlalchemy.engine import Row

from discreet.errors import BudgetError, DiscreetError, DiscreetWarning
from discreet.privacy.ledger import Entry
from discreet.privacy.ledger.retries import holds
from discreet.privacy.release import dated
from discreet.service import reports, series, sessions, tasks
from discreet.service.jobs import DIED, Jobs
from discreet.service.problems import Problem, problem_of
from discreet.service.releases import Releases
from discreet.service.settings import ServiceSettings
from discreet.service.store import Store

__all__ = ["main", "perform"]


def perform(store: Store, job: str) -> None:
    """Run a job that waits, if nobody else runs it."""
    jobs = Jobs(store)
    with _held(store, job) as held:
        row = jobs.claim(job) if held else None
        if row is None:
            return
        try:
            if row.cancel:
                raise tasks.CancelledError
            with dated(datetime.fromisoformat(row.created)):
                tasks.TASKS[row.kind](tasks.Task(store, row))
        except tasks.CancelledError:
            jobs.cancelled(row)
        except Exception as error:
            _lift_memory_limit()
            _fail(store, row, error)


@contextmanager
def _held(store: Store, job: str) -> Iterator[bool]:
    """Hold a job. Whoever looks whether it has died holds it for a moment, so it is tried several times."""
    for pause in (0.05, 0.2, 1.0, None):
        with store.holding(job) as held:
            if held or pause is None:
                yield held
                return
        time.sleep(pause)


def _fail(store: Store, row: Row[Any], error: Exception) -> None:
    """Note why a job failed; one whose release was saved before is done."""
    jobs = Jobs(store)
    entries = jobs.charged(row)
    entry = entries[-1] if entries else None
    if entry is not None and is_saved(store, row, entry):
        tasks.finish(store, row, None)
        return
    drawn = entry is not None and entry.may_have_drawn
    lost = drawn and isinstance(error, OSError | MemoryError)
    # This attempt may have failed before it was charged, after an earlier one had drawn.
    again = "charged" if lost or len(entries) < row.charges else "no"
    retry = again if drawn else "free"
    if lost and entry is not None:
        if isinstance(error, MemoryError):
            jobs.fail(row, died_of_memory(entry), retry=retry)
        else:
            problem = died(entry, f"The result could not be kept ({_words(error)})")
            jobs.fail(row, problem.to_json(), retry=retry)
    else:
        jobs.fail(row, failure(error, entry.id if drawn and entry is not None else None), retry=retry)


def is_saved(store: Store, row: Row[Any], entry: Entry) -> bool:
    """Whether the release of an entry is where the release of its job goes."""
    place = Releases(store).place(row.tenant, row.id)
    return holds(place, entry.release) or (entry.saved_at is not None and place.exists())


def died(entry: Entry, what: str = "The process died after noise may have been drawn") -> Problem:
    """What a job says that was charged, may have drawn, and left nothing."""
    return Problem(
        500,
        DIED,
        f"{what}. Entry {entry.id} ({entry.loss}) stays charged, and there is no release for it.",
        remedy="Send the same request under the same Idempotency-Key to try again: it is charged again.",
        entry=entry.id,
    )


def died_of_memory(entry: Entry) -> dict[str, Any]:
    """The same where the memory of a job was not enough. How much one needs depends on the records."""
    told = too_much_memory()
    problem = died(entry, "The job needed more memory than a job may have, after noise may have been drawn").to_json()
    return {**problem, "remedy": f"{told.remedy} {problem['remedy']}", "about": "data"}


def failure(error: BaseException, entry: int | None) -> dict[str, Any]:
    """Why a job failed. What may depend on the records is marked, and shown to curators alone.

    Wrong settings are refused when a run is submitted. What is found wrong later was found with the records at hand, so
    that of the library's errors only those of the budget are shown to everybody.
    """
    about = "data"
    if isinstance(error, Problem):
        described = error.to_json()
    elif isinstance(error, DiscreetError):
        described = problem_of(error, for_curators=True).to_json()
        about = "budget" if isinstance(error, BudgetError) else "data"
    elif isinstance(error, MemoryError):
        described = too_much_memory().to_json()
    elif isinstance(error, OSError):
        described = Problem(507, "storage", f"Something could not be read or written: {_words(error)}.").to_json()
        described["remedy"] = "See whether the disk is full, and try again."
    else:
        described = Problem(500, "defect", f"{type(error).__name__}: {error}").to_json()
        described["remedy"] = "This is a defect of discreet: please report it."
    if entry is not None:
        described["detail"] += f" Entry {entry} of the ledger was charged, and stays charged."
    return {**described, "about": about}


def too_much_memory() -> Problem:
    return Problem(
        507,
        "memory",
        "The job needed more memory than a job may have.",
        remedy="Start the service with a larger --memory, or use fewer records.",
    )


def _words(error: BaseException) -> str:
    return (getattr(error, "strerror", None) or type(error).__name__).lower()


def limit_memory(settings: ServiceSettings) -> None:
    """Hold this process to the memory of a job."""
    if settings.memory_limit is not None:
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (settings.memory_limit, most))


def _lift_memory_limit() -> None:
    """Noting why a job failed takes memory, too."""
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def main() -> None:
    """Read the settings, import everything, wait for a job, run it."""
    settings = ServiceSettings.from_json(json.loads(sys.stdin.readline()))
    warnings.simplefilter("ignore", DiscreetWarning)
    settings.load_models()
    store = Store(settings)
    job = sys.stdin.readline().strip()
    if job:
        limit_memory(settings)
        perform(store, job)


assert all(one.__doc__ for one in (reports, sessions, series))  # they register their tasks

if __name__ == "__main__":
    main()
