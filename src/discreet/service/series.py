"""Series in the service: a release every night, at one price for all of them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sql
from sqlalchemy.engine import Row

from discreet.board.report import PopulationReport, SeriesRecord
from discreet.data import Interactions
from discreet.errors import UsageError
from discreet.models.registry import create
from discreet.privacy import Guarantee
from discreet.series import Series
from discreet.series.opened import OpenSeries
from discreet.service.access import Caller
from discreet.service.datasets import Datasets
from discreet.service.jobs import Jobs
from discreet.service.problems import Problem, not_found
from discreet.service.runs import RunRequest
from discreet.service.schema import JOBS, RELEASES
from discreet.service.store import Store, day_of
from discreet.service.tasks import Task, finish, ledger_of, task

if TYPE_CHECKING:
    from discreet.service.hub import Hub

__all__ = ["SETTINGS", "SeriesOfTenants"]

SETTINGS = ("steps", "contexts", "records", "enter_after", "settle", "people", "window", "time_zone")
"""Of a series, beside its method."""


class SeriesOfTenants:
    """Series are opened by curators and keep their state in a folder of the tenant, which is as secret as the records.

    The job that opened a series is its row: its id is the id of the series.
    """

    def __init__(self, hub: Hub) -> None:
        self.hub = hub

    def open(
        self, caller: Caller, request: RunRequest, terms: dict[str, Any], idempotency: str
    ) -> tuple[Row[Any], bool]:
        """Charge the whole series, and make its folder."""
        caller.require("manage data")
        dataset = self.hub._dataset(caller, request)
        public = self.hub.datasets.public(caller.tenant, dataset.id)
        described = {**request.to_json(), "dataset": dataset.id, "series": terms}
        guarantee = series_guarantee(described, public)
        job, new = self.hub.submit_spending(caller, "series", dataset, public, guarantee, described, idempotency)
        self.hub.supervisor.wake()
        return job, new

    def estimate(self, caller: Caller, request: RunRequest, terms: dict[str, Any]) -> dict[str, Any]:
        """What to expect and what it would cost, from public values alone."""
        caller.require("manage data")
        dataset = self.hub._dataset(caller, request)
        public: Any = self.hub.datasets.public(caller.tenant, dataset.id)
        described = {**request.to_json(), "series": terms}
        guarantee = series_guarantee(described, public)
        return {**made(described).estimate(public), **self.hub.price(caller, dataset, public, guarantee, request)}

    def advance(self, caller: Caller, series: str, dataset: str, step: int | None) -> Row[Any]:
        """Take the records of a step. A step that was taken is given out again."""
        caller.require("manage data")
        row = self.get(caller, series)
        data = self.hub.datasets.get(caller, dataset)
        if data.population != row.population:
            raise Problem(409, "population", "The data are of another population than the series.")
        request = {**row.request, "dataset": data.id, "of": row.id, "step": step}
        name = request["name"] or request["method"]
        job, _ = self.hub.jobs.submit(caller, "advance", {**request, "name": name}, population=row.population)
        self.hub.supervisor.wake()
        return job

    def get(self, caller: Caller, series: str) -> Row[Any]:
        """The job that opened a series."""
        caller.require("read series")
        row = self.hub.store.one(
            sql.select(JOBS).where(JOBS.c.id == series, JOBS.c.tenant == caller.tenant, JOBS.c.kind == "series")
        )
        if row is None or row.state != "done":
            raise not_found("series", series)
        return row

    def listed(self, caller: Caller) -> list[dict[str, Any]]:
        """The series of the tenant, the latest first."""
        caller.require("read series")
        of_tenant = (JOBS.c.tenant == caller.tenant, JOBS.c.kind == "series", JOBS.c.state == "done")
        rows = self.hub.store.all(sql.select(JOBS).where(*of_tenant).order_by(JOBS.c.number.desc()))
        return [self._shown(row, caller) for row in rows]

    def show(self, caller: Caller, series: str) -> dict[str, Any]:
        """Where a series stands: steps taken, missed and overdue, noise, releases, guarantee."""
        return self._shown(self.get(caller, series), caller)

    def _shown(self, row: Row[Any], caller: Caller) -> dict[str, Any]:
        facts = Series.resume(folder_of(self.hub.store, row.tenant, row.id)).show()
        del facts["ledger"]
        kept = (RELEASES.c.tenant == row.tenant, RELEASES.c.release.in_([one["release"] for one in facts["releases"]]))
        query = sql.select(RELEASES.c.release, RELEASES.c.id).where(*kept).order_by(RELEASES.c.number.desc())
        ids = {one.release: one.id for one in self.hub.store.all(query)}
        facts["releases"] = [{**one, "id": ids.get(one["release"])} for one in facts["releases"]]
        if not caller.is_curator:  # when a step ended tells how long it took, which depends on the records
            facts["releases"] = [{**one, "created": day_of(one["created"])} for one in facts["releases"]]
        known = self._record(row, caller)
        standing = {} if known is None else {"overdue": known.overdue, "standing": known.standing}
        return {
            "id": row.id,
            "name": row.request["name"],
            "population": row.population,
            "entry": row.entry,
            **facts,
            **standing,
        }

    def _record(self, row: Row[Any], caller: Caller) -> SeriesRecord | None:
        """What the ledger knows about the steps, at the pace so far."""
        statement = self.hub.populations.statement(caller, row.population)
        report = PopulationReport.of(statement, (), datetime.now(UTC))
        return next((one for one in report.series if one.charge.id == row.entry), None)


def folder_of(store: Store, tenant: str, series: str) -> Path:
    return store.folder(tenant, "series") / series


def made(request: dict[str, Any], folder: Path | None = None, population: str | None = None) -> Series:
    """The series of a request."""
    terms = {name: value for name, value in request["series"].items() if value is not None}
    method = create(request["method"], **request["settings"])
    return Series(method, folder=folder, population=population, **terms)


def series_guarantee(request: dict[str, Any], public: Any) -> Guarantee:
    """What all steps together will guarantee, from public values alone; finds every mistake."""
    if not isinstance(public, Interactions):
        raise UsageError("a series is made of interactions.", remedy="Choose another dataset.")
    settings = made(request).settings
    opened = OpenSeries("", settings, settings.shape_of(public))
    opened.rounds.check()
    return opened.guarantee


@task("series")
def _open(task: Task) -> None:
    """Charge the whole series. Repeating it finds the charge of the folder again."""
    store, job, request = task.store, task.job, RunRequest.from_json(task.request)
    data: Any = Datasets(store).load(job.tenant, request.dataset)
    task.phase("drawing")
    series = made(task.request, folder_of(store, job.tenant, job.id), job.population)
    series.open(data, ledger=ledger_of(store, job, request))
    task.done({"series": job.id}, entry=series.show()["charge"])


@task("advance")
def _advance(task: Task) -> None:
    """Take a step. What was interrupted is finished by the next attempt."""
    store, job, request = task.store, task.job, RunRequest.from_json(task.request)
    opened = Jobs(store).find(task.request["of"])
    data: Any = Datasets(store).load(job.tenant, request.dataset)
    task.phase("drawing")
    series = Series.resume(folder_of(store, job.tenant, opened.id))
    release = series.advance(data, ledger=ledger_of(store, opened, request), step=task.request["step"])
    if release is None:
        task.done({"series": opened.id, "step": series.last, "release": None})
        return
    finish(store, job, release, entry=opened.entry)
