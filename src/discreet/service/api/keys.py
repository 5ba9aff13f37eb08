"""Setting up, and keys."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from discreet.service.api.shared import Body, TheCaller, TheHub, problems
from discreet.service.keys import side_of

__all__ = ["router"]

router = APIRouter(tags=["keys"])

Name = Annotated[str, Field(min_length=1, max_length=100, examples=["nightly job"])]


class Setup(Body):
    token: Annotated[str, Field(max_length=200, examples=["from the link that the first start prints"])]
    name: Name


class NewKey(Body):
    name: Name
    role: Literal["curator", "analyst", "application", "auditor"]
    releases: Annotated[
        list[str] | None, Field(description="The releases that the key may see; all unless given.", max_length=1000)
    ] = None
    users: Annotated[
        list[str] | Literal["all"] | None,
        Field(description='Of an application: for which users it may ask; "all" belongs to the curator\'s side.'),
    ] = None
    days: Annotated[float | None, Field(gt=0, le=3650, description="How long it works; for good unless given.")] = None


class Key(Body):
    id: str
    key: Annotated[str, Field(description="Shown once, and kept nowhere.", examples=["dk_0123456789abcdef_…"])]


@router.post("/setup", status_code=201, response_model=Key, responses=problems())
def set_up(hub: TheHub, body: Setup) -> dict[str, Any]:
    """Get the first key of a curator, with the token of a one-time link."""
    key = hub.keys.redeem(body.token, body.name)
    return {"id": key.split("_")[1], "key": key}


@router.get("/me", responses=problems())
def me(caller: TheCaller) -> dict[str, Any]:
    """Who a key belongs to, and what it may do."""
    return {
        "key": caller.key,
        "name": caller.name,
        "role": caller.role,
        "scope": dict(caller.scope),
        "side": side_of(caller.role, caller.scope),
    }


@router.get("/keys", responses=problems())
def list_keys(hub: TheHub, caller: TheCaller) -> dict[str, Any]:
    """All keys, without what could be used as one.

    ``side`` is "curator" for curators and for keys that may ask for all users, "public" for the others.
    """
    return {"entries": hub.keys.listed(caller)}


@router.post("/keys", status_code=201, response_model=Key, responses=problems())
def issue_key(hub: TheHub, caller: TheCaller, body: NewKey) -> dict[str, Any]:
    """Make a key."""
    scope = {name: value for name in ("releases", "users") if (value := getattr(body, name)) is not None}
    key, hidden = hub.keys.issue(caller, name=body.name, role=body.role, scope=scope, days=body.days)
    return {"id": key, "key": hidden}


@router.post("/keys/{key}/rotate", response_model=Key, responses=problems(404))
def rotate_key(hub: TheHub, caller: TheCaller, key: str) -> dict[str, Any]:
    """Give a key a new secret; the old one stops working."""
    return {"id": key, "key": hub.keys.rotate(caller, key)}


@router.delete("/keys/{key}", status_code=204, response_class=Response, responses=problems(404))
def revoke_key(hub: TheHub, caller: TheCaller, key: str) -> None:
    """End a key for good."""
    hub.keys.revoke(caller, key)
