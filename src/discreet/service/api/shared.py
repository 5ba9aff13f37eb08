"""What all routes share: who asks, the service behind, documented problems, pages of long lists."""

from __future__ import annotations

from math import isfinite
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from discreet.service.access import Caller
from discreet.service.hub import Hub
from discreet.service.keys import unauthorized
from discreet.service.problems import MEDIA_TYPE, Problem

__all__ = [
    "Body",
    "Cursor",
    "Limit",
    "ProblemBody",
    "TheCaller",
    "TheHub",
    "caller_of",
    "is_plain",
    "json_body",
    "page_of",
    "parsed",
    "problems",
]


MOST_DEPTH = 20
"""How deep a body may be nested."""


class Body(BaseModel):
    """Of a request: names that are not known are refused, so that a typing error is not a default."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, given: Any) -> Any:
        if not is_plain(given):
            raise ValueError(
                "this has a zero byte, a broken character, a number that is not one, or is nested too deep"
            )
        return given


def is_plain(given: Any, depth: int = MOST_DEPTH) -> bool:
    """Whether a value of JSON can be kept and given back: no database takes half a character or an infinite number."""
    if isinstance(given, str):
        return "\0" not in given and (given.isascii() or not any("\ud800" <= one <= "\udfff" for one in given))
    if isinstance(given, float):
        return isfinite(given)
    if isinstance(given, int):
        return given.bit_length() <= 4000
    if isinstance(given, list | tuple | dict) and not depth:
        return False
    if isinstance(given, dict):
        return all(is_plain(key) and is_plain(value, depth - 1) for key, value in given.items())
    return not isinstance(given, list | tuple) or all(is_plain(one, depth - 1) for one in given)


AnyBody = TypeVar("AnyBody", bound=Body)


def json_body(kind: type[Body]) -> dict[str, Any]:
    """The description of a body that a route reads by itself, with ``parsed``."""
    schema = {name: value for name, value in kind.model_json_schema().items() if name != "title"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


async def parsed(request: Request, kind: type[AnyBody]) -> AnyBody:
    """The body of a request, read and checked in one go: for routes that are asked by the thousand."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Problem(415, "media-type", "The body is not JSON.", remedy="Send Content-Type: application/json.")
    try:
        return kind.model_validate_json(await request.body())
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        raise RequestValidationError([{**one, "loc": ("body", *one["loc"])} for one in found]) from None


class ProblemBody(BaseModel):
    """What every answer other than success looks like (RFC 9457)."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "urn:discreet:problem:budget",
                    "title": "Conflict",
                    "status": 409,
                    "code": "budget",
                    "detail": "This does not fit into the budget of 'customers': ε = 0.5 is left.",
                    "where": {},
                    "remedy": "Ask for less, or wait for the next period of the account.",
                }
            ]
        }
    )

    type: str
    title: str
    status: int
    code: str
    detail: str
    where: dict[str, Any] = Field(default_factory=dict)
    remedy: str = ""


MEANINGS = {
    400: "The request is not HTTP as it should be.",
    401: "There is no valid key.",
    403: "The key may not do this.",
    404: "There is no such thing, or it is somebody else's.",
    405: "This is not done here.",
    408: "The request did not come in time.",
    409: "It conflicts with what is there: the budget, a name, a key.",
    413: "The request is too large.",
    415: "The body is of another type.",
    422: "The request is not understood.",
    429: "Too many requests or jobs; Retry-After says when to try again.",
    501: "A part of discreet that is not installed.",
    503: "The database does not answer; Retry-After says when to try again.",
}


def problems(*more: int) -> dict[int | str, dict[str, Any]]:
    """The answers of a route other than success."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemBody"}}}
    return {
        status: {"description": MEANINGS[status], "model": ProblemBody, "content": content}
        for status in sorted({400, 401, 403, 408, 413, 422, 429, 503, *more})
    }


async def _hub(request: Request) -> Hub:
    return request.app.state.hub


TheHub = Annotated[Hub, Depends(_hub)]


async def caller_of(request: Request) -> Caller:
    """Who asks, by the key in the header. A key that was found good a moment ago is not looked up again."""
    hub: Hub = request.app.state.hub
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer" and given:
        given = given.strip()
        caller = hub.keys.recent(given) or await run_in_threadpool(hub.keys.caller, given)
    elif request.app.state.local is not None:
        caller = request.app.state.local
    else:
        raise unauthorized()
    hub.count_request(caller)
    return caller


TheCaller = Annotated[Caller, Depends(caller_of)]

Cursor = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="next of the page before this one.")]
Limit = Annotated[int, Query(ge=1, le=200, description="The most entries.")]


def page_of(rows: list[Any], shown: list[dict[str, Any]], limit: int) -> dict[str, Any]:
    """One page of a long list; ``next`` is None on the last one."""
    return {"entries": shown, "next": rows[-1].number if len(rows) == limit else None}
