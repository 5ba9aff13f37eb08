"""What goes on for longer than one request: sessions of questions, and series of releases."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from discreet.service.api.runs import Dataset, IdempotencyKey, Settings
from discreet.service.api.shared import Body, TheCaller, TheHub, problems
from discreet.service.jobs import job_for
from discreet.service.runs import RunRequest

__all__ = ["router"]

router = APIRouter(tags=["sessions and series"])

AGAIN: dict[int | str, dict[str, Any]] = {200: {"description": "The job that the key stands for."}}


class NewSession(Body):
    dataset: Dataset
    settings: Settings
    name: Annotated[str, Field(max_length=100)] = ""
    coupling: Annotated[str | None, Field(max_length=100, description="The column of groups.")] = None
    questions: Annotated[int, Field(ge=1, le=10**6, description="About how many will be asked; more may be.")] = 1000

    def request(self) -> RunRequest:
        given = {"dataset": self.dataset, "settings": self.settings, "name": self.name, "coupling": self.coupling}
        return RunRequest(method="pmw", **given)


class SessionQuestion(Body):
    question: Annotated[dict[str, Any], Field(examples=[{"age": [18, 29], "gender": "F"}])]


class NewSeries(Body):
    dataset: Annotated[Dataset, Field(description="The records of the first step, or any with the same public side.")]
    method: Annotated[str, Field(max_length=100, examples=["private-recommender"])]
    settings: Settings
    name: Annotated[str, Field(max_length=100, examples=["nightly"])] = ""
    steps: Annotated[int, Field(ge=1, le=100_000, examples=[365])]
    contexts: list[str] = Field(default_factory=list, max_length=10)
    records: Annotated[
        Literal["new", "all"], Field(description="What each step is given: new records, or all so far.")
    ] = "new"
    enter_after: Annotated[int, Field(ge=1)] = 10
    settle: Annotated[int | None, Field(ge=0, description="The first step that releases something.")] = None
    people: Annotated[int | None, Field(ge=1)] = None
    window: Annotated[str | None, Field(max_length=60, examples=["2026"])] = None
    time_zone: Annotated[str | None, Field(max_length=60)] = None

    def parts(self) -> tuple[RunRequest, dict[str, Any]]:
        given = self.model_dump()
        run = {name: given.pop(name) for name in ("dataset", "method", "settings", "name")}
        return RunRequest(**run), given


class Step(Body):
    dataset: Dataset
    step: Annotated[int | None, Field(ge=0, description="Its number, from 0; the next one unless given.")] = None


@router.post("/sessions/estimate", responses=problems(404, 409))
def estimate_session(hub: TheHub, caller: TheCaller, body: NewSession) -> dict[str, Any]:
    """What a session would cost, and whether it fits. No record is read, nothing is spent."""
    return hub.sessions.estimate(caller, body.request(), body.questions)


@router.get("/sessions", responses=problems())
def list_sessions(hub: TheHub, caller: TheCaller) -> dict[str, Any]:
    """The latest sessions; of an analyst their own."""
    return {"entries": hub.sessions.listed(caller)}


@router.post("/sessions", status_code=202, responses={**AGAIN, **problems(404, 409)})
def open_session(
    hub: TheHub, caller: TheCaller, body: NewSession, response: Response, idempotency_key: IdempotencyKey
) -> dict[str, Any]:
    """Charge the population and open a session: any number of questions for this charge."""
    job, new = hub.sessions.open(caller, body.request(), body.questions, idempotency_key)
    response.status_code = 202 if new else 200
    return job_for(job, caller)


@router.get("/sessions/{session}", responses=problems(404))
def show_session(hub: TheHub, caller: TheCaller, session: str) -> dict[str, Any]:
    """Where a session stands."""
    return hub.sessions.show(caller, session)


@router.post("/sessions/{session}/ask", responses=problems(404, 409))
def ask_session(hub: TheHub, caller: TheCaller, session: str, body: SessionQuestion) -> dict[str, Any]:
    """Ask one question. The same question gets the same answer; a mistake costs nothing."""
    return hub.sessions.ask(caller, session, body.question)


@router.post("/sessions/{session}/close", responses=problems(404, 409))
def close_session(hub: TheHub, caller: TheCaller, session: str) -> dict[str, Any]:
    """Close a session. All its answers are kept as a release."""
    return job_for(hub.sessions.close(caller, session), caller)


@router.post("/series/estimate", responses=problems(404, 409))
def estimate_series(hub: TheHub, caller: TheCaller, body: NewSeries) -> dict[str, Any]:
    """What to expect of a series, and what it would cost. No record is read, nothing is spent."""
    return hub.series.estimate(caller, *body.parts())


@router.post("/series", status_code=202, responses={**AGAIN, **problems(404, 409)})
def open_series(
    hub: TheHub, caller: TheCaller, body: NewSeries, response: Response, idempotency_key: IdempotencyKey
) -> dict[str, Any]:
    """Charge a whole series and open it: a job, whose id is that of the series. For curators."""
    job, new = hub.series.open(caller, *body.parts(), idempotency_key)
    response.status_code = 202 if new else 200
    return job_for(job, caller)


@router.get("/series", responses=problems())
def list_series(hub: TheHub, caller: TheCaller) -> dict[str, Any]:
    """The series, the latest first."""
    return {"entries": hub.series.listed(caller)}


@router.get("/series/{series}", responses=problems(404))
def show_series(hub: TheHub, caller: TheCaller, series: str) -> dict[str, Any]:
    """Where a series stands: steps, noise, releases, guarantee."""
    return hub.series.show(caller, series)


@router.post("/series/{series}/advance", status_code=202, responses=problems(404, 409))
def advance_series(hub: TheHub, caller: TheCaller, series: str, body: Step) -> dict[str, Any]:
    """Take the records of the next step: a job, with a release of all steps so far. A repeated step is returned."""
    return job_for(hub.series.advance(caller, series, body.dataset, body.step), caller)
