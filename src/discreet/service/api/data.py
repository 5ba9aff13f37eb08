"""Populations and their data."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import Field, TypeAdapter, ValidationError

from discreet.errors import LedgerError
from discreet.service.access import Caller
from discreet.service.api.shared import Body, TheCaller, TheHub, is_plain, problems
from discreet.service.hub import Hub
from discreet.service.jobs import job_for
from discreet.service.problems import Problem

__all__ = ["ENDINGS", "NewPopulation", "registered", "router"]

router = APIRouter(tags=["populations and data"])

Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[\w][\w .:-]*$", examples=["customers"])]
Number = Annotated[str | int | float, Field(examples=["1/2", "1e-6"])]
ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".arrow", ".csv.gz", ".tsv.gz")


Declared = dict[Literal["users", "records", "rows"], Annotated[int, Field(ge=1, le=10**10)]]


class Limit(Body):
    epsilon: Number
    delta: Number = 0


class NewPopulation(Limit):
    name: Name
    unit: Annotated[str, Field(max_length=40)] = "user"
    view: Literal["basic", "concentrated", "pld"] = "basic"
    per: Literal["year", "quarter", "month", "week", "day"] | None = None
    time_zone: Annotated[str | None, Field(max_length=60, examples=["Europe/Berlin"])] = None
    lifetime: Number | None = None
    open_to_analysts: Annotated[bool, Field(description="Whether analysts may have allowances. Fixed for good.")] = (
        False
    )


class Registration(Body):
    name: Name
    population: Name
    path: Annotated[str, Field(max_length=4000, examples=["exports/purchases.parquet"])]
    catalog: Annotated[str | None, Field(max_length=4000, description="A public list of items, below a root.")] = None
    reading: dict[str, Any] = Field(
        default_factory=dict,
        description="How to read it: names of columns, scale, …",
        examples=[{"user": "customer", "item": "sku"}],
    )
    declared: Declared = Field(
        default_factory=dict,
        description="Public figures for estimates and rehearsals.",
        examples=[{"users": 10000, "records": 30}],
    )


class Asking(Body):
    allowed: Annotated[bool, Field(examples=[True])]


@router.get("/populations", responses=problems())
def list_populations(hub: TheHub, caller: TheCaller) -> dict[str, Any]:
    """The populations that the key may know of."""
    return {"entries": hub.populations.listed(caller)}


@router.post("/populations", status_code=201, responses=problems(409))
def open_population(hub: TheHub, caller: TheCaller, body: NewPopulation) -> dict[str, Any]:
    """Open the account of a population: once, with a limit that holds for good."""
    given = {name: value for name, value in body.model_dump().items() if value is not None}
    return hub.populations.open(caller, **given).to_json()


@router.get("/populations/{population}", responses=problems(404))
def show_population(hub: TheHub, caller: TheCaller, population: str) -> dict[str, Any]:
    """Limit, spent and left; for an analyst also the allowance."""
    caller.require("read populations")
    statement = hub.populations.statement(caller, population).to_json()
    entries, refuted = statement.pop("entries"), statement.pop("refuted")
    answer = {**statement, "n_entries": len(entries), "n_refuted": len(refuted)}
    if caller.role == "analyst":
        answer["allowance"] = hub.populations.allowance(caller, population)
    return answer


@router.get("/populations/{population}/statement", responses=problems(404))
def show_statement(hub: TheHub, caller: TheCaller, population: str) -> dict[str, Any]:
    """Everything that was charged, entry by entry."""
    caller.require("read statements")
    return hub.populations.statement(caller, population).to_json()


@router.put(
    "/populations/{population}/allowances/{key}", status_code=204, response_class=Response, responses=problems(404, 409)
)
def allow(hub: TheHub, caller: TheCaller, population: str, key: str, body: Limit) -> None:
    """Say what one analyst may spend, within the limit of the population."""
    caller.require("open populations")
    hub.keys.require_known(caller, key, role="analyst")
    hub.populations.allow(caller, population, key, body.model_dump())


@router.delete(
    "/populations/{population}/allowances/{key}", status_code=204, response_class=Response, responses=problems(404, 409)
)
def disallow(hub: TheHub, caller: TheCaller, population: str, key: str) -> None:
    """Take an allowance away."""
    caller.require("open populations")
    hub.keys.require_known(caller, key)
    hub.populations.allow(caller, population, key, None)


@router.get("/datasets", responses=problems())
def list_datasets(hub: TheHub, caller: TheCaller) -> dict[str, Any]:
    """The datasets: for a curator all there is to know, for others what is public."""
    caller.require("read populations")
    known = {one["name"] for one in hub.populations.listed(caller)}
    return {"entries": [one for one in hub.datasets.listed(caller) if one["population"] in known]}


@router.post("/datasets", status_code=202, responses=problems(404, 409))
def register_dataset(hub: TheHub, caller: TheCaller, body: Registration) -> dict[str, Any]:
    """Register a file below a configured root. It is read and attached to its population by a job."""
    caller.require("manage data")
    catalog = None if body.catalog is None else hub.file_below_roots(caller, body.catalog)
    return registered(
        hub,
        caller,
        name=body.name,
        population=body.population,
        file=hub.file_below_roots(caller, body.path),
        reading=body.reading,
        catalog=catalog,
        declared=body.declared,
    )


@router.post(
    "/uploads",
    status_code=202,
    responses=problems(404, 409, 415),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/octet-stream": {
                    "schema": {"type": "string", "format": "binary"},
                    "example": "user,item,rating\nann,tea,5\n",
                }
            },
        }
    },
)
async def upload(
    request: Request,
    hub: TheHub,
    caller: TheCaller,
    name: Annotated[str, Query(min_length=1, max_length=100)],
    population: Annotated[str, Query(min_length=1, max_length=100)],
    filename: Annotated[str, Query(max_length=200, description="Its ending tells the format.", examples=["sales.csv"])],
    reading: Annotated[str, Query(max_length=10_000, description="JSON: names of columns, scale, …")] = "{}",
    declared: Annotated[str, Query(max_length=1_000, description="JSON: public figures.")] = "{}",
    content_length: Annotated[int | None, Header(ge=0)] = None,
) -> dict[str, Any]:
    """Send the records themselves. They are streamed to the disk, then read and attached by a job."""
    caller.require("manage data")
    ending = next((one for one in sorted(ENDINGS, key=len, reverse=True) if filename.lower().endswith(one)), None)
    if ending is None:
        raise Problem(
            415, "format", f"{filename!r} is not a kind of file that is read.", remedy=f"Use {', '.join(ENDINGS)}."
        )
    limit = hub.store.settings.upload_limit
    if content_length is not None and content_length > limit:
        raise too_large(limit)
    await run_in_threadpool(hub.populations.get, caller, population)
    options = _json_object(reading, "reading")
    try:
        figures = TypeAdapter(Declared).validate_json(declared)
    except ValidationError:
        text = "declared is not a JSON object of users, records and rows."
        raise Problem(422, "request", text, remedy='Write for example {"users": 10000}.') from None
    given = {"name": name, "population": population, "reading": options, "catalog": None, "declared": figures}
    with hub.datasets.receiving(caller) as folder:
        file = folder / f"upload{ending}"
        await _stream(request, file, limit)
        return await run_in_threadpool(registered, hub, caller, file=file, **given)


async def _stream(request: Request, file: Path, limit: int) -> None:
    size = 0
    with open(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as out:
        async for chunk in request.stream():
            size += len(chunk)
            if size > limit:
                raise too_large(limit)
            out.write(chunk)
        out.flush()
        await run_in_threadpool(os.fsync, out.fileno())  # a slow disk keeps nobody else waiting


def registered(hub: Hub, caller: Caller, **given: Any) -> dict[str, Any]:
    """Note a dataset, and submit the job that reads it."""
    hub.populations.get(caller, given["population"])
    dataset = hub.datasets.add(caller, **given)
    try:
        job, _ = hub.jobs.submit(
            caller, "register", {"dataset": dataset, "name": given["name"]}, population=given["population"]
        )
    except (Problem, LedgerError):
        hub.datasets.drop(caller.tenant, dataset)
        raise
    hub.supervisor.wake()
    return {"dataset": dataset, "job": job_for(job, caller)}


def _json_object(text: str, what: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not is_plain(found):
        raise Problem(422, "request", f"{what} is not a JSON object.", remedy='Write for example {"user": "customer"}.')
    return found


def too_large(limit: int) -> Problem:
    return Problem(
        413, "too-large", f"The most that is taken is {limit:,} bytes.", remedy="Split it, or register a path."
    )


@router.put("/datasets/{dataset}/asking", status_code=204, response_class=Response, responses=problems(404))
def allow_asking(hub: TheHub, caller: TheCaller, dataset: str, body: Asking) -> None:
    """Allow recommendations for a user of these data, from that user's own records.

    Such an answer uses one person's records and is for that person alone. A key says for whom it may ask; one that may
    ask for all users can learn about everybody, and counts as the curator's side.
    """
    caller.require("manage data")
    hub.datasets.allow_users(caller, hub.datasets.get(caller, dataset).id, body.allowed)


@router.delete("/datasets/{dataset}", status_code=204, response_class=Response, responses=problems(404))
def remove_dataset(hub: TheHub, caller: TheCaller, dataset: str) -> None:
    """Forget a dataset and delete what was uploaded. Releases stay, and so does what they cost."""
    caller.require("manage data")
    hub.datasets.remove(caller, hub.datasets.get(caller, dataset).id)
