"""Keys and people, the log, and the reference of the API."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from discreet.service.access import ACTIONS, ROLES
from discreet.service.log import log_lines
from discreet.service.pages.api_reference import reference
from discreet.service.pages.shared import ERRORS, Form, TheForm, TheVisitor, Visitor, go, typed
from discreet.service.problems import Problem

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

PER_PAGE = 50


# Keys


@router.get("/keys")
def keys_page(visitor: TheVisitor) -> Response:
    """All keys."""
    return _keys(visitor, Form())


def _keys(visitor: Visitor, form: Form, *, shown: dict[str, str] | None = None) -> Response:
    keys = visitor.hub.keys.listed(visitor.caller)
    can = {role: [action for action, roles in ACTIONS.items() if role in roles] for role in ROLES}
    return visitor.page(
        "keys.html", keys=keys, form=form, roles=ROLES, can=can, actions=ACTIONS, shown=shown, status=form.status
    )


@router.post("/keys")
def issue(visitor: TheVisitor, form: TheForm) -> Response:
    """Make a key, and show it once."""
    visitor.caller.require("manage keys")
    given = typed(form)
    try:
        if not given["name"]:
            raise Problem(422, "request", "The key has no name.", remedy="Type who or what will use it.")
        scope: dict[str, Any] = {}
        if given["releases"]:
            scope["releases"] = [one.strip() for one in given["releases"].split(",") if one.strip()]
        if given["users"]:
            users = [one.strip() for one in given["users"].split(",") if one.strip()]
            scope["users"] = "all" if users == ["all"] else users
        days = _days(given["days"])
        role: Any = given["role"]
        key, hidden = visitor.hub.keys.issue(visitor.caller, name=given["name"], role=role, scope=scope, days=days)
    except ERRORS as error:
        return _keys(visitor, given.failed("issue", error))
    return _keys(visitor, Form(), shown={"id": key, "key": hidden, "name": given["name"], "role": given["role"]})


def _days(text: str) -> float | None:
    if not text:
        return None
    if not text.isdigit() or not 1 <= int(text) <= 3650:
        raise Problem(422, "request", f"{text!r} is not a number of days.", remedy="Type 1 to 3650, or nothing.")
    return float(text)


@router.post("/keys/{key}/rotate")
def rotate(visitor: TheVisitor, form: TheForm, key: str) -> Response:
    """A new secret for a key, shown once; the old one and its sessions end."""
    visitor.caller.require("manage keys")
    try:
        hidden = visitor.hub.keys.rotate(visitor.caller, key)
    except ERRORS as error:
        return _keys(visitor, Form().failed("issue", error))
    shown = {"id": key, "key": hidden, "name": "", "role": ""}
    if key == visitor.caller.key:  # the session ended with the old secret: this is the last page of it
        return visitor.page("new_key.html", shown=shown)
    return _keys(visitor, Form(), shown=shown)


@router.post("/keys/{key}/revoke")
def revoke(visitor: TheVisitor, form: TheForm, key: str) -> Response:
    """End a key for good."""
    visitor.caller.require("manage keys")
    try:
        if key == visitor.caller.key:
            detail = "This is the key that you are signed in with."
            raise Problem(409, "own-key", detail, remedy="Sign in with another curator's key to revoke it.")
        visitor.hub.keys.revoke(visitor.caller, key)
    except ERRORS as error:
        return _keys(visitor, Form().failed("issue", error))
    return go("/keys")


# The log


@router.get("/log")
def log_page(visitor: TheVisitor, before: int | None = None) -> Response:
    """Who did what."""
    rows = log_lines(visitor.hub.store, visitor.caller, before=before, limit=PER_PAGE)
    return visitor.page("log.html", rows=rows, more=rows[-1].number if len(rows) == PER_PAGE else None)


# The reference of the API


@router.get("/api")
def api_page(request: Request, visitor: TheVisitor) -> Response:
    """Every route, from the document that programs read."""
    return visitor.page("api.html", groups=reference(request.app.openapi()))
