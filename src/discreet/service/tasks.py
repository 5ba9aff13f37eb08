"""What jobs do. Everything here runs in the process of one job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import Row

from discreet.common.folders import MANIFEST
from discreet.models.recommender import Recommender
from discreet.privacy import Guarantee, Ledger, Release
from discreet.service.datasets import Datasets
from discreet.service.jobs import Jobs
from discreet.service.populations import Populations
from discreet.service.releases import Releases
from discreet.service.runs import RunRequest
from discreet.service.schema import POPULATIONS
from discreet.service.store import Store

__all__ = ["TASKS", "CancelledError", "Task", "finish", "ledger_of", "task"]


class CancelledError(Exception):
    """The job was asked to stop before it was charged."""


@dataclass(frozen=True)
class Task:
    """What a job works with."""

    store: Store
    job: Row[Any]

    @property
    def request(self) -> dict[str, Any]:
        return self.job.request

    def phase(self, name: str, progress: float | None = None, rate: str = "") -> None:
        """Tell how far it is; stops a job that was cancelled."""
        if Jobs(self.store).report(self.job.id, phase=name, progress=progress, rate=rate):
            raise CancelledError

    def progress(self, share: float, text: str) -> None:
        """Tell how far it is, in the way that the library tells it."""
        self.phase("working", share, text)

    def done(self, result: dict[str, Any], **values: Any) -> None:
        """Note the result and the end of the job."""
        with self.store.write(f"job {self.job.id}") as connection:
            Jobs(self.store).end(connection, self.job.id, "done", result=result, **values)


TASKS: dict[str, Callable[[Task], None]] = {}
"""Kind of job: what it does."""


def task(kind: str) -> Callable[[Callable[[Task], None]], Callable[[Task], None]]:
    """Register what a kind of job does."""

    def register(function: Callable[[Task], None]) -> Callable[[Task], None]:
        TASKS[kind] = function
        return function

    return register


@task("register")
def _register(task: Task) -> None:
    """Read a dataset for the first time."""
    found = Datasets(task.store).check(task.job.tenant, task.request["dataset"], task.job.who)
    task.done({"dataset": task.request["dataset"], "describe": found})


@task("run")
def _run(task: Task) -> None:
    """Charge, draw, save. Under the key of the job a repeated run is charged once unless noise may have been drawn."""
    store, job, request = task.store, task.job, RunRequest.from_json(task.request)
    ledger = ledger_of(store, job, request)
    data = Datasets(store).load(job.tenant, request.dataset)
    task.phase("drawing")
    made = request.release(data, ledger.keyed(job.id))
    finish(store, job, made)


def ledger_of(store: Store, job: Row[Any], request: RunRequest) -> Ledger:
    """The ledger as a job charges it: a filter where analysts may choose."""
    row = store.one(
        sql.select(POPULATIONS).where(POPULATIONS.c.tenant == job.tenant, POPULATIONS.c.name == job.population)
    )
    assert row is not None
    return Populations(store).ledger_of(job.tenant, job.who, is_open=row.open_to_analysts, delta=request.delta)


@task("rehearse")
def _rehearse(task: Task) -> None:
    """The same on invented people; nothing is charged, and the release says what it is."""
    store, job, request = task.store, task.job, RunRequest.from_json(task.request)
    datasets = Datasets(store)
    public = datasets.public(job.tenant, request.dataset)
    declared = datasets._row(job.tenant, request.dataset).declared
    data = request.rehearsal(public, declared)
    task.phase("drawing")
    made = request.release(data, None)
    finish(store, job, made, rehearsal=True)


def finish(
    store: Store,
    job: Row[Any],
    made: Release | Recommender | None,
    *,
    rehearsal: bool = False,
    entry: int | None = None,
) -> str:
    """Save what a job made, unless it is saved already, and note release and end of the job together.

    Parameters
    ----------
    made
        The release or fitted model; None where an earlier attempt has saved it.
    entry
        Of the ledger, where the job itself was not charged.
    """
    releases = Releases(store)
    place = releases.place(job.tenant, job.id)
    if made is not None and not place.exists():
        made.save(place)
    held = Release.load(place) if (place / MANIFEST).is_file() else None
    guarantee: Guarantee | None = held.guarantee if held is not None else getattr(made, "guarantee_", None)
    if rehearsal and guarantee is not None:
        about = (*guarantee.not_covered, "anything: this is a rehearsal on people who do not exist")
        guarantee = replace(guarantee, not_covered=about)
    latest = None if rehearsal else store.ledger(job.tenant, job.who).keyed(job.id).latest()
    entry = entry if latest is None else latest.id
    request = RunRequest.from_json(job.request)
    with store.write(f"job {job.id}") as connection:
        name = releases.add(
            connection,
            job,
            place,
            guarantee=guarantee,
            kind=request.method if held is None else held.kind,
            gives=request.gives,
            release=None if held is None else held.id,
            is_model=request.gives == "recommender",
            rehearsal=rehearsal,
            entry=entry,
        )
        Jobs(store).end(
            connection,
            job.id,
            "done",
            result={"release": name},
            problem=None,
            entry=entry,
        )
        store.log(connection, job.tenant, job.who, "release", name, "rehearsal" if rehearsal else "")
    return name
