"""Audits, attacks and risk curves as jobs. They are measured on the records, so their results are for curators."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import Row

from discreet.models.registry import create, entry_of
from discreet.service.access import Caller
from discreet.service.datasets import Datasets
from discreet.service.jobs import Jobs
from discreet.service.problems import not_found
from discreet.service.schema import REPORTS
from discreet.service.store import Store, fresh_id, now
from discreet.service.tasks import Task, task

__all__ = ["Reports"]


class Reports:
    """Reports that were kept."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def listed(self, caller: Caller, *, before: int | None = None, limit: int = 50) -> list[Row[Any]]:
        caller.require("read reports")
        query = self._rows(caller).order_by(REPORTS.c.number.desc())
        return self.store.all((query if before is None else query.where(REPORTS.c.number < before)).limit(limit))

    def get(self, caller: Caller, report: str) -> Row[Any]:
        caller.require("read reports")
        row = self.store.one(self._rows(caller).where(REPORTS.c.id == report))
        if row is None:
            raise not_found("report", report)
        return row

    def _rows(self, caller: Caller) -> Any:
        """Audits are for auditors, too; attacks and risk curves are the curator's alone."""
        query = sql.select(REPORTS).where(REPORTS.c.tenant == caller.tenant)
        return query if caller.is_curator else query.where(REPORTS.c.kind == "audit")


def keep(task: Task, summary: str, report: dict[str, Any]) -> None:
    """Keep a report, and end its job."""
    store, job, name = task.store, task.job, fresh_id("rep")
    with store.write(f"job {job.id}") as connection:
        connection.execute(
            sql.insert(REPORTS).values(
                id=name,
                tenant=job.tenant,
                job=job.id,
                kind=job.kind,
                dataset=job.request.get("dataset"),
                release=job.request.get("release"),
                summary=summary,
                report=report,
                created=now(),
                who=job.who,
            )
        )
        Jobs(store).end(connection, job.id, "done", result={"report": name})


@task("audit")
def _audit(task: Task) -> None:
    from discreet.attacks import Asked, audit

    asked = task.request
    data: Any = Datasets(task.store).load(task.job.tenant, asked["dataset"])
    model: Any = create(asked["method"], **asked["settings"])
    if entry_of(asked["method"]).takes == "table":
        model = Asked(model)
    report = audit(model, data, **asked.get("options", {}), processes=1, progress=task.progress)
    keep(task, str(report.verdict), report.to_json())
