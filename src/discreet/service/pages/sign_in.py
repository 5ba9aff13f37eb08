"""Signing in with a key, the one-time setup link, signing out."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from starlette.datastructures import FormData

from discreet.service.forgery import require_same_site
from discreet.service.hub import Hub
from discreet.service.pages.shared import ERRORS, Form, TheForm, TheVisitor, cookie_name, go, render, typed
from discreet.service.problems import Problem

__all__ = ["router"]

router = APIRouter(include_in_schema=False)


@router.get("/sign-in")
def sign_in_page(request: Request, then: str = "/") -> Response:
    """Ask for a key."""
    if request.app.state.local is not None:
        return go("/")
    return render("sign_in.html", form=Form(), then=_own(then), path="/sign-in", visitor=None)


@router.post("/sign-in")
async def sign_in(request: Request) -> Response:
    """A session for the owner of a key. The key itself is kept nowhere."""
    form = await _outside(request)
    given, then = _text(form, "key"), _own(_text(form, "then"))
    hub: Hub = request.app.state.hub
    try:
        cookie = await run_in_threadpool(hub.keys.sign_in, given)
    except Problem:
        wrong = Problem(
            401,
            "unauthorized",
            "This key is not known, has expired, or was revoked.",
            remedy="Copy the whole key, from dk_ to its end. A curator can give you another one.",
        )
        # The key is the one thing that is not shown again.
        again = Form().failed("sign-in", wrong)
        return render("sign_in.html", form=again, then=then, path="/sign-in", visitor=None, status=401)
    answer = go(then)
    _set(answer, hub, cookie)
    return answer


@router.get("/setup")
def setup_page(request: Request) -> Response:
    """The page of the one-time link. Its token is behind the #, which browsers do not send."""
    return render("setup.html", form=Form(), path="/setup", visitor=None, key=None)


@router.post("/setup")
async def set_up(request: Request) -> Response:
    """The first key of a curator, shown once."""
    form = await _outside(request)
    hub: Hub = request.app.state.hub
    name = _text(form, "name")
    try:
        if not name:
            raise Problem(422, "request", "No name was given.", remedy="Type the name that the log will show.")
        key = await run_in_threadpool(hub.keys.redeem, _text(form, "token"), name)
    except ERRORS as error:
        again = Form({"name": name, "token": _text(form, "token")}).failed("setup", error)
        return render("setup.html", form=again, path="/setup", visitor=None, key=None, status=again.status)
    answer = render("setup.html", form=Form(), path="/setup", visitor=None, key=key)
    _set(answer, hub, await run_in_threadpool(hub.keys.sign_in, key))
    return answer


@router.post("/sign-out")
def sign_out(request: Request, visitor: TheVisitor, form: TheForm) -> Response:
    """End the session."""
    settings = visitor.hub.store.settings
    visitor.hub.keys.sign_out(request.cookies.get(cookie_name(settings), ""))
    answer = go("/sign-in")
    answer.delete_cookie(cookie_name(settings), path="/", secure=settings.secure_cookies, httponly=True)
    return answer


async def _outside(request: Request) -> FormData:
    """A form of somebody who has no session yet."""
    require_same_site(request, request.app.state.hub.store.settings)
    return await request.form()


def _text(form: FormData, name: str) -> str:
    return typed(form)[name]


def _own(place: str) -> str:
    """A place of this service; anything else becomes the first page."""
    good = place.startswith("/") and not place.startswith(("//", "/\\")) and place.isprintable()
    return place if good else "/"


def _set(answer: Response, hub: Hub, cookie: str) -> None:
    settings = hub.store.settings
    given: dict[str, Any] = {"httponly": True, "samesite": "strict", "secure": settings.secure_cookies, "path": "/"}
    answer.set_cookie(cookie_name(settings), cookie, **given)
