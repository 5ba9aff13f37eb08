"""Methods, runs in three ways, and jobs."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from discreet.service import catalog
from discreet.service.access import Caller
from discreet.service.api.shared import Body, Cursor, Limit, TheCaller, TheHub, page_of, problems
from discreet.service.hub import Hub
from discreet.service.jobs import ENDED, job_for
from discreet.service.problems import Problem
from discreet.service.runs import RunRequest

__all__ = ["router"]

router = APIRouter(tags=["runs and jobs"])


FOLLOW_SECONDS, POLL_SECONDS = 300.0, 0.3
"""How long one request follows a job, and how often it looks."""

MOST_STREAMS = 20
"""Jobs that one key follows at a time."""

Dataset = Annotated[str, Field(max_length=100, examples=["purchases"])]
Settings = Annotated[
    dict[str, Any],
    Field(
        description="Of the method, as its schema under /methods says.", examples=[{"epsilon": "1", "delta": "1e-6"}]
    ),
]
IdempotencyKey = Annotated[
    str,
    Header(
        min_length=1,
        max_length=200,
        pattern=r"^[!-~]([ -~]*[!-~])?$",
        description="The same key returns the same job.",
        examples=["2026-11-18"],
    ),
]


class Run(Body):
    dataset: Dataset
    method: Annotated[str, Field(max_length=100, examples=["private-recommender"])]
    settings: Settings
    name: Annotated[str, Field(max_length=100, examples=["nightly"])] = ""
    contexts: list[str] = Field(default_factory=list, max_length=10, examples=[["weekday"]])
    queries: Annotated[
        dict[str, Any] | list[dict[str, Any]] | None,
        Field(description="For answers: which queries.", examples=[{"all_marginals": 2}]),
    ] = None
    coupling: Annotated[str | None, Field(max_length=100)] = None
    allow_refuted: bool = False

    def request(self) -> RunRequest:
        return RunRequest.from_json(self.model_dump())


@router.get("/methods", responses=problems())
def list_methods(caller: TheCaller) -> dict[str, Any]:
    """Every method, with its settings as JSON Schema."""
    caller.require("read methods")
    return {"entries": catalog.methods()}


@router.get("/methods/{method}", responses=problems(404))
def show_method(caller: TheCaller, method: str) -> dict[str, Any]:
    """One method."""
    caller.require("read methods")
    return catalog.described(method)


@router.post("/runs/estimate", responses=problems(404, 409))
def estimate(hub: TheHub, caller: TheCaller, body: Run) -> dict[str, Any]:
    """What it would cost, whether it fits, and what to expect. No record is read, nothing is spent."""
    return hub.estimate(caller, body.request())


@router.post("/runs/rehearse", status_code=202, responses=problems(404, 409))
def rehearse(hub: TheHub, caller: TheCaller, body: Run) -> dict[str, Any]:
    """The whole job on invented people with the same public schema. Costs nothing; the release says what it is."""
    return job_for(hub.rehearse(caller, body.request()), caller)


@router.post(
    "/runs", status_code=202, responses={200: {"description": "The job that the key stands for."}, **problems(404, 409)}
)
def run(
    hub: TheHub,
    caller: TheCaller,
    body: Run,
    response: Response,
    idempotency_key: IdempotencyKey,
) -> dict[str, Any]:
    """Charge the population, draw the noise, keep the release: a job."""
    job, new = hub.run(caller, body.request(), idempotency_key)
    response.status_code = 202 if new else 200
    return job_for(job, caller)


@router.get("/jobs", responses=problems())
def list_jobs(hub: TheHub, caller: TheCaller, cursor: Cursor = None, limit: Limit = 50) -> dict[str, Any]:
    """Jobs, the latest first."""
    caller.require("read jobs")
    rows = hub.jobs.listed(caller, before=cursor, limit=limit)
    return page_of(rows, [job_for(row, caller) for row in rows], limit)


@router.get("/jobs/{job}", responses=problems(404))
def show_job(hub: TheHub, caller: TheCaller, job: str) -> dict[str, Any]:
    """Where a job stands."""
    caller.require("read jobs")
    return job_for(hub.jobs.get(caller, job), caller)


@router.post("/jobs/{job}/cancel", responses=problems(404))
def cancel_job(hub: TheHub, caller: TheCaller, job: str) -> dict[str, Any]:
    """Cancel a job that waits, or stop one before it is charged."""
    return job_for(hub.jobs.cancel(caller, job), caller)


@router.get(
    "/jobs/{job}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}, **problems(404)},
)
async def follow_job(hub: TheHub, caller: TheCaller, job: str) -> StreamingResponse:
    """Where a job stands, told at every change until it ends (server-sent events)."""
    caller.require("read jobs")
    await asyncio.to_thread(hub.jobs.get, caller, job)
    require_stream(hub, caller)
    return StreamingResponse(_events(hub, caller, job), media_type="text/event-stream")


async def _events(hub: Hub, caller: Caller, job: str) -> AsyncIterator[str]:
    """Where a job stands until it ends, or the key; after some minutes the browser asks again."""
    told, until = None, time.monotonic() + FOLLOW_SECONDS
    hub.streams[caller.key] += 1
    try:
        while time.monotonic() < until:
            shown = await asyncio.to_thread(_shown, hub, caller, job)
            if shown is None:
                return
            if shown != told:
                told = shown
                yield f"event: job\ndata: {json.dumps(shown)}\n\n"
            if shown["state"] in ENDED:
                return
            await asyncio.sleep(POLL_SECONDS)
    finally:
        hub.streams[caller.key] -= 1


def _shown(hub: Hub, caller: Caller, job: str) -> dict[str, Any] | None:
    """A job; None for a key that has ended since it was asked with."""
    return job_for(hub.jobs.get(caller, job), caller) if hub.keys.is_good(caller) else None


def require_stream(hub: Hub, caller: Caller) -> None:
    """Refuse a key that follows enough jobs already."""
    if hub.streams[caller.key] >= MOST_STREAMS:
        raise Problem(
            429,
            "streams",
            f"This key follows {MOST_STREAMS} jobs already.",
            remedy="End one of the streams, or look at the job itself.",
            headers={"Retry-After": "10"},
        )
