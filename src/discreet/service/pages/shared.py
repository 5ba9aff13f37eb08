"""What all pages share: who looks, forms, templates, errors in the same design."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Undefined, select_autoescape
from starlette.datastructures import FormData, UploadFile

from discreet import __version__
from discreet.errors import DiscreetError
from discreet.service.access import Caller
from discreet.service.forgery import require_same_site, require_token
from discreet.service.guard import answer as as_json
from discreet.service.hub import Hub
from discreet.service.pages import words
from discreet.service.problems import Problem, problem_of
from discreet.service.settings import ServiceSettings

__all__ = [
    "ERRORS", "Form", "SignInNeededError", "TheForm", "TheVisitor", "Visitor", "answer", "cookie_name",
    "fragment", "go", "render",
]  # fmt: skip

TEMPLATES = Path(__file__).parent / "templates"
STATIC = Path(__file__).parent / "static"
ERRORS = (Problem, DiscreetError)
"""What a form shows beside it."""

NAVIGATION = (
    ("/", "Overview", "read releases"),
    ("/populations", "Populations", "read populations"),
    ("/releases", "Releases", "read releases"),
    ("/choose", "Choose ε", "estimate"),
    ("/sessions", "Questions", "hold sessions"),
    ("/series", "Series", "read series"),
    ("/attack", "See an attack", "read methods"),
    ("/jobs", "Jobs", "read jobs"),
    ("/reports", "Audits", "read reports"),
    ("/keys", "Keys and people", "read keys"),
    ("/log", "Log", "read log"),
    ("/api", "API", "read methods"),
)
"""Address, name, and the action that a person must be allowed to see it."""


class SignInNeededError(Exception):
    """Nobody is signed in."""


@dataclass(frozen=True)
class Visitor:
    """Who looks at a page.

    Attributes
    ----------
    caller
        The key that the person signed in with.
    csrf
        What every form of the session must have in it.
    is_local
        Whether no keys are asked for, because the service is open on purpose.
    """

    hub: Hub
    caller: Caller
    csrf: str
    path: str
    is_local: bool = False

    def page(self, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """A page for this person."""
        shown = [(place, name) for place, name, action in NAVIGATION if self.caller.may(action)]
        found = {"visitor": self, "me": self.caller, "csrf": self.csrf, "navigation": shown, "path": self.path}
        return render(template, status=status, **found, **values)


@dataclass(frozen=True)
class Form:
    """What was typed into a form, kept for showing it again, and what was wrong with it.

    Attributes
    ----------
    name
        Which form of the page it is; its error is shown beside that one.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    problem: Problem | None = None

    def __getitem__(self, name: str) -> str:
        return self.values.get(name, "")

    def get(self, name: str, default: str = "") -> str:
        return self.values.get(name, default)

    def error(self, name: str) -> Problem | None:
        """What was wrong with a form of this name."""
        return self.problem if name == self.name else None

    def failed(self, name: str, error: Exception) -> Form:
        """The same with what was wrong."""
        return Form(self.values, name, error if isinstance(error, Problem) else as_problem(error))

    @property
    def status(self) -> int:
        return 200 if self.problem is None else self.problem.status


def as_problem(error: Exception) -> Problem:
    assert isinstance(error, DiscreetError)
    return problem_of(error)


def cookie_name(settings: ServiceSettings) -> str:
    """Browsers accept a name with this prefix over HTTPS alone, and from this host alone."""
    return "__Host-discreet" if settings.secure_cookies else "discreet"


def _visitor(request: Request) -> Visitor:
    hub: Hub = request.app.state.hub
    if request.app.state.local is not None:
        return Visitor(hub, request.app.state.local, request.app.state.local_csrf, request.url.path, is_local=True)
    cookie = request.cookies.get(cookie_name(hub.store.settings), "")
    found = hub.keys.session(cookie) if cookie else None
    if found is None:
        raise SignInNeededError
    caller, csrf = found
    hub.count_request(caller)
    return Visitor(hub, caller, csrf, request.url.path)


TheVisitor = Annotated[Visitor, Depends(_visitor)]


async def _form(request: Request, visitor: TheVisitor) -> FormData:
    """The form of a page of this session; anything else is refused before it is used."""
    require_same_site(request, visitor.hub.store.settings)
    form = await request.form()
    token = form.get("csrf", "")
    require_token(token if isinstance(token, str) else "", visitor.csrf)
    return form


TheForm = Annotated[FormData, Depends(_form)]


def typed(form: FormData) -> Form:
    """The texts of a form."""
    return Form({name: value.strip() for name, value in form.items() if not isinstance(value, UploadFile)})


class Missing(StrictUndefined):
    """What is not there may be asked for in a condition, and is an error where it would be shown."""

    __slots__ = ()
    __bool__ = Undefined.__bool__


@cache
def environment() -> Environment:
    """Templates: everything that is put into one is escaped."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(("html",), default=True),
        undefined=Missing,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"version": __version__, "blank": Form(), "static": _static}
    made.filters |= {name: getattr(words, name) for name in words.__all__}
    made.filters["path"] = lambda text: quote(str(text), safe="")
    return made


@cache
def _static(name: str) -> str:
    """The address of a file, which changes with the version."""
    return f"/static/{name}?v={__version__}-{(STATIC / name).stat().st_mtime_ns % 10**9:x}"


def render(template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page as an answer."""
    text = environment().get_template(template).render(**values)
    # Forms say where they come from only under this policy; nothing is told to other hosts.
    return HTMLResponse(text, status, headers={"Referrer-Policy": "same-origin"})


def fragment(template: str, visitor: Visitor, **values: Any) -> str:
    """A part of a page, for scripts that put it in its place."""
    return environment().get_template(template).render(visitor=visitor, me=visitor.caller, csrf=visitor.csrf, **values)


def go(place: str) -> Response:
    """After a form: look there."""
    return RedirectResponse(place, status_code=303)


# Errors

API = ("/v1/", "/health/", "/metrics", "/static/")


def wants_page(request: Request) -> bool:
    """Whether a person would see the answer."""
    return not request.url.path.startswith(API) and "text/html" in request.headers.get("accept", "")


def answer(problem: Problem, request: Request) -> Response:
    """A problem as an answer: as a page where a person would see it."""
    return page_for(request, problem) if wants_page(request) else as_json(problem)


def page_for(request: Request, problem: Problem) -> Response:
    """A problem as a page, in the design of the others."""
    titles = {404: "Not found", 403: "Not allowed", 429: "Too many requests", 500: "Something went wrong"}
    values = {"problem": problem, "title": titles.get(problem.status, "This did not work")}
    if problem.status == 404 and not problem.remedy:
        values["remedy"] = "The address may be mistyped or old, or the page is for others."
    visitor = _quietly(lambda: _visitor(request))
    page = "problem.html"
    shown = (
        visitor.page(page, status=problem.status, **values)
        if visitor
        else render(page, status=problem.status, visitor=None, path=request.url.path, **values)
    )
    shown.headers.update(problem.headers)
    return shown


def _quietly(ask: Callable[[], Visitor]) -> Visitor | None:
    try:
        return ask()
    except Exception:  # the page says what went wrong first
        return None
