"""Reports, the log, health and metrics."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import sqlalchemy as sql
from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from discreet.service.api.shared import Body, Cursor, Limit, TheCaller, TheHub, page_of, problems
from discreet.service.jobs import job_for
from discreet.service.log import log_lines
from discreet.service.metrics import CONTENT_TYPE, metrics
from discreet.service.schema import TENANTS

__all__ = ["health", "router"]

router = APIRouter(tags=["reports and log"])


class AuditRequest(Body):
    dataset: Annotated[str, Field(max_length=100)]
    method: Annotated[str, Field(max_length=100, examples=["ppns"])]
    settings: dict[str, Any] = Field(default_factory=dict)
    options: dict[str, Any] = Field(
        default_factory=dict, description="runs, seconds, attacks, …", examples=[{"seconds": 60}]
    )


@router.post("/reports/audit", status_code=202, responses=problems(404, 409))
def run_audit(hub: TheHub, caller: TheCaller, body: AuditRequest) -> dict[str, Any]:
    """Attack a method on the records: how much it reveals, beside what it guarantees. For curators."""
    caller.require("run reports")
    row = hub.datasets.get(caller, body.dataset)
    job, _ = hub.jobs.submit(caller, "audit", {**body.model_dump(), "dataset": row.id}, population=row.population)
    hub.supervisor.wake()
    return job_for(job, caller)


@router.get("/reports", responses=problems())
def list_reports(hub: TheHub, caller: TheCaller, cursor: Cursor = None, limit: Limit = 50) -> dict[str, Any]:
    """Reports that were kept, the latest first."""
    rows = hub.reports.listed(caller, before=cursor, limit=limit)
    names = ("id", "kind", "dataset", "release", "summary", "created", "who", "job")
    return page_of(rows, [{name: getattr(row, name) for name in names} for row in rows], limit)


@router.get("/reports/{report}", responses=problems(404))
def show_report(hub: TheHub, caller: TheCaller, report: str) -> dict[str, Any]:
    """A report."""
    row = hub.reports.get(caller, report)
    return {"id": row.id, "kind": row.kind, "summary": row.summary, "created": row.created, "report": row.report}


health = APIRouter(tags=["health"])


@health.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **problems()},
)
def show_metrics(hub: TheHub, caller: TheCaller) -> Response:
    """Budgets, jobs and requests for Prometheus, which sends a key of an auditor (``authorization: credentials``)."""
    return Response(metrics(hub, caller), media_type=CONTENT_TYPE)


@health.get("/health/live")
def live() -> dict[str, str]:
    """The process answers."""
    return {"status": "live"}


@health.get("/health/ready", responses={503: {"description": "The database does not answer."}})
def ready(hub: TheHub) -> Response:
    """The database answers, too."""
    try:
        hub.store.all(sql.select(TENANTS.c.id).limit(1))
    except Exception:
        return JSONResponse({"status": "the database does not answer"}, status_code=503)
    return JSONResponse({"status": "ready"})


@router.get("/log", responses=problems())
def show_log(hub: TheHub, caller: TheCaller, cursor: Cursor = None, limit: Limit = 50) -> dict[str, Any]:
    """Who did what, the latest first. Nothing is ever removed from it."""
    rows = log_lines(hub.store, caller, before=cursor, limit=limit)
    return page_of(rows, [asdict(row) for row in rows], limit)
