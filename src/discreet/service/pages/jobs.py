"""Jobs: lists, one job, cancelling, and what is told while they run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse

from discreet.service.api.runs import require_stream
from discreet.service.jobs import ENDED, job_for
from discreet.service.pages.shared import ERRORS, Form, TheForm, TheVisitor, Visitor, fragment, go

__all__ = ["router", "shown_jobs"]

router = APIRouter(include_in_schema=False)

PER_PAGE = 30
TURN_SECONDS = 0.5
LONGEST_TURNS = 1200
"""A page asks again after ten minutes."""

KINDS = {
    "run": "Release",
    "rehearse": "Rehearsal",
    "register": "Reading data",
    "session": "Questions",
    "series": "Opening a series",
    "advance": "Step of a series",
    "audit": "Audit",
    "attack": "Attack",
    "risk": "Risk curve",
    "frontier": "Frontier",
}


def shown_jobs(visitor: Visitor, *, before: int | None = None, limit: int = PER_PAGE) -> list[dict[str, Any]]:
    """Jobs as the person may see them, the latest first."""
    if not visitor.caller.may("read jobs"):
        return []
    rows = visitor.hub.jobs.listed(visitor.caller, before=before, limit=limit)
    return [shown(row, visitor) | {"number": row.number} for row in rows]


def shown(row: Any, visitor: Visitor) -> dict[str, Any]:
    job = job_for(row, visitor.caller)
    return job | {"what": KINDS.get(row.kind, row.kind), "ended": row.state in ENDED}


@router.get("/jobs")
def jobs_page(visitor: TheVisitor, before: int | None = None) -> Response:
    """All jobs."""
    visitor.caller.require("read jobs")
    jobs = shown_jobs(visitor, before=before)
    more = jobs[-1]["number"] if len(jobs) == PER_PAGE else None
    return visitor.page("jobs.html", jobs=jobs, more=more, live=before is None)


@router.get("/jobs/stream")
def follow_jobs(request: Request, visitor: TheVisitor, limit: int = 5) -> Response:
    """The latest jobs, told at every change."""
    visitor.caller.require("read jobs")
    most = min(max(limit, 1), PER_PAGE)

    def told() -> str:
        return fragment("parts/jobs.html", visitor, jobs=shown_jobs(visitor, limit=most))

    return _stream(visitor, told, lambda: False)


@router.get("/jobs/{job}")
def job_page(visitor: TheVisitor, job: str) -> Response:
    """One job."""
    return _job(visitor, job, Form())


def _job(visitor: Visitor, job: str, form: Form) -> Response:
    visitor.caller.require("read jobs")
    row = visitor.hub.jobs.get(visitor.caller, job)
    return visitor.page(
        "job.html", job=shown(row, visitor), request=_asked(row, visitor), form=form, status=form.status
    )


def _asked(row: Any, visitor: Visitor) -> dict[str, Any]:
    """What was asked for: settings are public; where files lie is the curator's."""
    hidden = {"dataset", "name", "method", "report", "release", "of"} | (
        set() if visitor.caller.is_curator else {"options"}
    )
    asked = {
        name: value
        for name, value in row.request.items()
        if name not in hidden and value not in (None, [], {}, "", False)
    }
    settings = asked.pop("settings", {})
    terms = {name: value for name, value in asked.pop("series", {}).items() if value not in (None, [])}
    return {**settings, **asked, **terms}


@router.get("/jobs/{job}/stream")
def follow_job(visitor: TheVisitor, job: str) -> Response:
    """One job, told at every change until it ends."""
    visitor.caller.require("read jobs")
    visitor.hub.jobs.get(visitor.caller, job)

    def ended() -> bool:
        return visitor.hub.jobs.get(visitor.caller, job).state in ENDED

    def told() -> str:
        return fragment("parts/job.html", visitor, job=shown(visitor.hub.jobs.get(visitor.caller, job), visitor))

    return _stream(visitor, told, ended)


@router.post("/jobs/{job}/cancel")
def cancel_job(visitor: TheVisitor, form: TheForm, job: str) -> Response:
    """Cancel a job that waits, or stop one before it is charged."""
    try:
        visitor.hub.jobs.cancel(visitor.caller, job)
    except ERRORS as error:
        return _job(visitor, job, Form().failed("cancel", error))
    return go(f"/jobs/{job}")


def _stream(visitor: Visitor, told: Callable[[], str], ended: Callable[[], bool]) -> Response:
    hub, caller = visitor.hub, visitor.caller
    require_stream(hub, caller)

    async def events() -> AsyncIterator[str]:
        before = None
        hub.streams[caller.key] += 1
        try:
            for _ in range(LONGEST_TURNS):
                if not await asyncio.to_thread(hub.keys.is_good, caller):
                    return
                over = await asyncio.to_thread(ended)
                html = await asyncio.to_thread(told)
                if html != before:
                    before = html
                    yield f"event: change\ndata: {json.dumps(html)}\n\n"
                if over:
                    yield "event: end\ndata: {}\n\n"
                    return
                await asyncio.sleep(TURN_SECONDS)
        finally:
            hub.streams[caller.key] -= 1

    return StreamingResponse(events(), media_type="text/event-stream")
