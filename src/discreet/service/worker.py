"""The process of one job: waits for its number, runs it, ends.

Every job has a process of its own: one that runs out of memory or dies takes nothing else with it.
"""

from __future__ import annotations

import json
import resource
import sys
import warnings
from typing import Any

from discreet.errors import DataError, DiscreetError, DiscreetWarning
from discreet.service import reports, tasks
from discreet.service.jobs import Jobs
from discreet.service.problems import Problem, problem_of
from discreet.service.settings import ServiceSettings
from discreet.service.store import Store

__all__ = ["main", "perform"]


def perform(store: Store, job: str) -> None:
    """Run a job that waits, if nobody else runs it."""
    jobs = Jobs(store)
    with store.holding(job) as held:
        row = jobs.claim(job) if held else None
        if row is None:
            return
        try:
            tasks.TASKS[row.kind](tasks.Task(store, row))
        except tasks.CancelledError:
            with store.write(f"job {job}") as connection:
                jobs.end(connection, job, "cancelled")
        except Exception as error:
            entry = store.ledger(row.tenant, row.who).keyed(job).latest() if row.spends else None
            with store.write(f"job {job}") as connection:
                number = None if entry is None else entry.id
                problem = failure(error, None if entry is None or not entry.may_have_drawn else number)
                # Nothing was charged: what was reserved in the allowance is free again.
                freed = {} if not row.spends or entry is not None else {"charges": row.charges - 1}
                jobs.end(connection, job, "failed", problem=problem, entry=number, **freed)
                store.log(connection, row.tenant, row.who, "failed", job, problem["code"])


def failure(error: BaseException, entry: int | None) -> dict[str, Any]:
    """Why a job failed. What may depend on the records is marked, and shown to curators alone."""
    if isinstance(error, Problem):
        described, about = error.to_json(), "request"
    elif isinstance(error, DiscreetError):
        described, about = problem_of(error).to_json(), "data" if isinstance(error, DataError) else "request"
    elif isinstance(error, MemoryError):
        described = Problem(507, "memory", "The job needed more memory than a job may have.").to_json()
        described["remedy"], about = "Start the service with a larger --memory, or use fewer records.", "data"
    else:
        described, about = Problem(500, "defect", f"{type(error).__name__}: {error}").to_json(), "data"
        described["remedy"] = "This is a defect of discreet: please report it."
    if entry is not None:
        described["detail"] += f" Entry {entry} of the ledger was charged, and stays charged."
    return {**described, "about": about}


def main() -> None:
    """Read the settings, import everything, wait for a job, run it."""
    settings = ServiceSettings.from_json(json.loads(sys.stdin.readline()))
    warnings.simplefilter("ignore", DiscreetWarning)
    if settings.memory_limit is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (settings.memory_limit, settings.memory_limit))
    store = Store(settings)
    job = sys.stdin.readline().strip()
    if job:
        perform(store, job)


assert reports.__doc__  # registers its tasks

if __name__ == "__main__":
    main()
