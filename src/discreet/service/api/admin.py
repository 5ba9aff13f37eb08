"""Reports, the log, health and metrics."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

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


Named = Annotated[str | None, Field(max_length=100, description="Or a release, whose method and settings it is about.")]
Method = Annotated[str, Field(max_length=100, examples=["private-recommender"])]
Epsilon = Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)]


class AuditRequest(Body):
    dataset: Annotated[str | None, Field(max_length=100, examples=["films"])] = None
    release: Named = None
    method: Annotated[str, Field(max_length=100, examples=["ppns"])] = ""
    settings: dict[str, Any] = Field(default_factory=dict)
    options: dict[str, Any] = Field(
        default_factory=dict, description="runs, seconds, attacks, …", examples=[{"seconds": 60}]
    )


class AttackRequest(Body):
    dataset: Annotated[str, Field(max_length=100, examples=["films"])]
    attack: Literal["sybil", "beta-sybil", "adaptive-sybil", "item-sybil", "two-releases", "lia"] = "sybil"
    against: Annotated[list[str], Field(min_length=1, max_length=10, examples=[["knn", "ppns", "private-item-knn"]])]
    epsilon: Epsilon = 1
    delta: Annotated[str, Field(max_length=40)] = "1e-6"
    targets: Annotated[int, Field(ge=1, le=1000)] = 20
    options: dict[str, Any] = Field(default_factory=dict, examples=[{"known": 8}])


class RiskRequest(Body):
    dataset: Annotated[str | None, Field(max_length=100, examples=["films"])] = None
    release: Named = None
    method: Method = "private-recommender"
    settings: dict[str, Any] = Field(default_factory=dict)
    value_of_utility: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1
    cost_of_risk: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1
    options: dict[str, Any] = Field(default_factory=dict, examples=[{"epsilons": [0.5, 1, 2], "targets": 10}])


class FrontierRequest(Body):
    dataset: Annotated[str | None, Field(max_length=100, examples=["films"])] = None
    release: Named = None
    method: Method = "private-recommender"
    settings: dict[str, Any] = Field(default_factory=dict)
    epsilons: list[Epsilon] = Field(
        default_factory=lambda: [0.25, 0.5, 1.0, 2.0, 4.0, 8.0], min_length=1, max_length=20
    )
    measure: Literal["rankings", "ratings"] = "rankings"
    seed: Annotated[int, Field(ge=0, le=2**31)] = 1


@router.post("/reports/audit", status_code=202, responses=problems(404, 409))
def run_audit(hub: TheHub, caller: TheCaller, body: AuditRequest) -> dict[str, Any]:
    """Attack a method on the records: how much it reveals, beside what it guarantees. For curators."""
    return job_for(hub.report(caller, "audit", body.model_dump()), caller)


@router.post("/reports/attack", status_code=202, responses=problems(404, 409))
def run_attack(hub: TheHub, caller: TheCaller, body: AttackRequest) -> dict[str, Any]:
    """Play one attack against several models on the records. For curators."""
    return job_for(hub.report(caller, "attack", body.model_dump()), caller)


@router.post("/reports/risk", status_code=202, responses=problems(404, 409))
def run_risk(hub: TheHub, caller: TheCaller, body: RiskRequest) -> dict[str, Any]:
    """What an attacker learns, and what is left of the lists, over epsilon. For curators."""
    return job_for(hub.report(caller, "risk", body.model_dump()), caller)


@router.post("/reports/frontier", status_code=202, responses=problems(404, 409))
def run_frontier(hub: TheHub, caller: TheCaller, body: FrontierRequest) -> dict[str, Any]:
    """Accuracy over epsilon on held-out people of the dataset, beside a model without privacy. For curators."""
    return job_for(hub.report(caller, "frontier", body.model_dump()), caller)


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
