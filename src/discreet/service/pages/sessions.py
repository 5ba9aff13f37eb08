"""Sessions of questions: any number of questions about a table for one charge, asked one at a time."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from discreet.data import Table
from discreet.data.domains import CategoricalDomain, Domain
from discreet.service.pages.run_forms import datasets_of, whole
from discreet.service.pages.shared import ERRORS, Form, TheForm, TheVisitor, Visitor, go, typed
from discreet.service.populations import amount_of
from discreet.service.problems import Problem
from discreet.service.runs import RunRequest
from discreet.service.store import fresh_id

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

METHOD = "pmw"
MOST_OFFERED = 200
"""An attribute with more values is typed, not chosen from a list."""

MOST_SHOWN = 50


@router.get("/sessions")
def sessions_page(visitor: TheVisitor, dataset: str = "") -> Response:
    """All sessions, and the form that opens one."""
    usual = {"dataset": dataset, "epsilon": "1", "updates": "20", "questions": "1000"}
    return _sessions(visitor, Form(usual))


def _sessions(visitor: Visitor, form: Form) -> Response:
    visitor.caller.require("hold sessions")
    return visitor.page(
        "sessions.html",
        status=form.status,
        form=form,
        sessions=visitor.hub.sessions.listed(visitor.caller),
        datasets=datasets_of(visitor, kinds=("table",)),
    )


def _request(given: Form) -> tuple[RunRequest, int]:
    settings: dict[str, Any] = {"epsilon": given["epsilon"] or "1"}
    settings["updates"] = whole(given, "updates", "Measured answers", most=10_000, usual=20)
    if given["delta"]:
        settings["delta"] = given["delta"]
    questions = whole(given, "questions", "Questions", most=10**6, usual=1000)
    coupling = given["coupling"] or None
    return RunRequest(given["dataset"], METHOD, settings, name=given["name"], coupling=coupling), questions


@router.post("/sessions/check")
def check(visitor: TheVisitor, form: TheForm) -> Response:
    """Show what a session costs, and ask once."""
    given = typed(form)
    try:
        estimate = visitor.hub.sessions.estimate(visitor.caller, *_request(given))
    except ERRORS as error:
        return _sessions(visitor, given.failed("open", error))
    dataset = visitor.hub.datasets.get(visitor.caller, given["dataset"])
    return visitor.page(
        "confirm.html",
        what="A session of questions" + (f", to be called “{given['name']}”" if given["name"] else ""),
        estimate=estimate | {"population": dataset.population} | _amounts(estimate),
        values=given.values,
        token=fresh_id("page"),
        action="/sessions",
        button="Spend it and open the session",
        back="/sessions",
        crumb="Questions",
    )


def _amounts(estimate: dict[str, Any]) -> dict[str, Any]:
    """What is left before and after, as amounts."""
    left = amount_of(estimate["left"])
    after = left - amount_of(estimate["cost"]) if estimate["left_after"] is None else amount_of(estimate["left_after"])
    return {"left": left, "after": after}


@router.post("/sessions")
def open_session(visitor: TheVisitor, form: TheForm) -> Response:
    """Open it. The same form sent twice is the same session."""
    given = typed(form)
    try:
        job, _ = visitor.hub.sessions.open(visitor.caller, *_request(given), given["token"] or fresh_id("page"))
    except ERRORS as error:
        return _sessions(visitor, given.failed("open", error))
    return go(f"/sessions/{job.id}")


# One session


@router.get("/sessions/{session}")
def session_page(visitor: TheVisitor, session: str) -> Response:
    """One session: what is left of it, a form for a question, and the answers so far."""
    return _session(visitor, session, Form())


def _session(visitor: Visitor, session: str, form: Form, answer: dict[str, Any] | None = None) -> Response:
    me, hub = visitor.caller, visitor.hub
    shown = hub.sessions.show(me, session)
    row = hub.jobs.get(me, session)
    is_open = shown["state"] == "open"
    answers = hub.sessions.answers(me, session)
    return visitor.page(
        "session.html",
        status=form.status,
        form=form,
        session=shown,
        row=row,
        updates=row.request["settings"].get("updates"),
        attributes=[_attribute(*one) for one in enumerate(_domains(visitor, row).items())] if is_open else [],
        answers=answers[: -MOST_SHOWN - 1 : -1],
        n_answers=len(answers),
        answer=answer,
    )


def _domains(visitor: Visitor, row: Any) -> dict[str, Domain]:
    """The public values of the table; none where the dataset was removed, which the session survives."""
    try:
        public = visitor.hub.datasets.public(row.tenant, row.request["dataset"])
    except ERRORS:
        return {}
    return dict(public.domains) if isinstance(public, Table) else {}


def _attribute(place: int, named: tuple[str, Domain]) -> dict[str, Any]:
    """How a form asks about one attribute: values to choose from, or the ends of a range."""
    name, domain = named
    shown: dict[str, Any] = {"field": f"q{place}", "name": name, "label": name.replace("_", " ")}
    if isinstance(domain, CategoricalDomain):
        return shown | {"values": [str(one) for one in domain.values] if len(domain.values) <= MOST_OFFERED else None}
    firsts, lasts = _ends(domain)
    offered = len(firsts) <= MOST_OFFERED
    return shown | {
        "low": domain.low,
        "high": domain.high,
        "firsts": firsts if offered else None,
        "lasts": lasts if offered else None,
        "is_range": True,
    }


def _ends(domain: Any) -> tuple[list[int], list[int]]:
    """Where ranges may begin and end: at the ends of bins."""
    firsts = [int(one) for one in domain._firsts()]
    return firsts, [*(one - 1 for one in firsts[1:]), domain.high]


@router.post("/sessions/{session}/ask")
def ask(visitor: TheVisitor, form: TheForm, session: str) -> Response:
    """Ask one question. A mistake in it costs nothing."""
    given = typed(form)
    try:
        visitor.caller.require("hold sessions")
        row = visitor.hub.jobs.get(visitor.caller, session)
        answer = visitor.hub.sessions.ask(visitor.caller, session, _question(given, _domains(visitor, row)))
    except ERRORS as error:
        return _session(visitor, session, given.failed("ask", error))
    return _session(visitor, session, given, answer)


def _question(given: Form, domains: dict[str, Domain]) -> dict[str, Any]:
    """The question of a form: every attribute that something was chosen for."""
    if given["json"]:
        try:
            found = json.loads(given["json"])
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            detail = "The question is not a JSON object."
            raise Problem(422, "request", detail, remedy='Write for example {"age": [18, 29], "gender": "F"}.')
        return found
    question: dict[str, Any] = {}
    for place, (name, domain) in enumerate(domains.items()):
        if isinstance(domain, CategoricalDomain):
            if text := given[f"q{place}"]:
                named = {str(value): value for value in domain.values}
                question[name] = named.get(text, text)
        elif given[f"q{place}-from"] or given[f"q{place}-to"]:
            question[name] = [
                _number(given[f"q{place}-from"] or str(domain.low), name),
                _number(given[f"q{place}-to"] or str(domain.high), name),
            ]
    return question


def _number(text: str, name: str) -> int:
    if not text.lstrip("-").isdigit():
        raise Problem(422, "request", f"{name}: {text!r} is not a whole number.", remedy="Type digits.")
    return int(text)


@router.post("/sessions/{session}/close")
def close(visitor: TheVisitor, form: TheForm, session: str) -> Response:
    """Close it: all answers become a release."""
    try:
        visitor.hub.sessions.close(visitor.caller, session)
    except ERRORS as error:
        return _session(visitor, session, Form().failed("close", error))
    return go(f"/sessions/{session}")
