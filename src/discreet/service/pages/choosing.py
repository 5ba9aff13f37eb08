"""Choosing ε: what a run would cost and give, before anything is spent; then the run, asked for once."""

from __future__ import annotations

import math
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import Response

from discreet.privacy.numbers import as_fraction
from discreet.service import catalog
from discreet.service.pages import charts
from discreet.service.pages.expecting import accuracy_of, example_of, measured_on
from discreet.service.pages.run_forms import datasets_of, fields_of, groups_of, methods_for, request_of
from discreet.service.pages.shared import ERRORS, Form, TheForm, TheVisitor, Visitor, fragment, go, typed
from discreet.service.pages.words import success
from discreet.service.populations import amount_of
from discreet.service.problems import Problem
from discreet.service.runs import RunRequest
from discreet.service.store import fresh_id

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

EPSILONS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1, 1.5, 2, 2.5, 3, 4, 5, 7, 10)
"""Where the slider stops."""

FIRST = {"interactions": "private-recommender", "tags": "private-topics", "table": "marginals"}


@router.get("/choose")
def choose_page(
    visitor: TheVisitor, dataset: str = "", method: str = "", epsilon: str = "", population: str = ""
) -> Response:
    """The slider, and what it means."""
    visitor.caller.require("estimate")
    known = datasets_of(visitor, population=population)
    if not known:
        return visitor.page("choose_empty.html")
    chosen = next((one for one in known if dataset in (one["id"], one["name"])), known[0])
    given = {"dataset": chosen["id"], "method": method or FIRST[chosen["kind"]], "delta": "1e-7"}
    given["epsilon"] = epsilon or _usual(visitor, chosen["population"])
    return _choose(visitor, Form(given))


def _usual(visitor: Visitor, population: str) -> str:
    """Where the slider stands at first: at 1, or at the largest ε that is left for this person."""
    left = visitor.hub.populations.statement(visitor.caller, population).left.epsilon
    if visitor.caller.role == "analyst":
        allowed = visitor.hub.populations.allowance(visitor.caller, population)["left"]
        left = min(left, amount_of(allowed).epsilon)
    return f"{max((one for one in EPSILONS if one <= min(left, 1)), default=EPSILONS[0]):g}"


def _choose(visitor: Visitor, form: Form, template: str = "choose.html", **more: Any) -> Response:
    known = datasets_of(visitor)
    dataset = next((one for one in known if one["id"] == form["dataset"]), None)
    if dataset is None:
        raise Problem(404, "not-found", "There is no such dataset.", remedy="Choose one from the list.")
    methods = methods_for(visitor, dataset)
    if form["method"] not in [one["name"] for one in methods] and methods:
        form = Form({**form.values, "method": methods[0]["name"]}, form.name, form.problem)
    form, estimate = _estimated(visitor, form)
    return visitor.page(
        template,
        status=form.status,
        form=form,
        datasets=known,
        dataset=dataset,
        groups=groups_of(methods),
        method=catalog.described(form["method"]),
        fields=fields_of(form["method"]),
        estimate=estimate,
        epsilons=EPSILONS,
        stop=_stop(form["epsilon"]),
        **more,
    )


def _stop(epsilon: str) -> int:
    """The stop of the slider that is nearest."""
    try:
        wanted = math.log(max(float(as_fraction(epsilon)), 1e-9))
    except ERRORS:
        wanted = 0.0
    return min(range(len(EPSILONS)), key=lambda place: abs(math.log(EPSILONS[place]) - wanted))


# Estimates


def _estimated(visitor: Visitor, form: Form) -> tuple[Form, dict[str, Any] | None]:
    """What the request would cost and give; where it is wrong, the form says how."""
    try:
        request = request_of(form)
        if request.gives == "answers" and request.queries is None:
            request = RunRequest.from_json({**request.to_json(), "queries": {"all_marginals": 1}})
        found = visitor.hub.estimate(visitor.caller, request)
        return form, found | _drawn(visitor, request, found)
    except ERRORS as error:
        return (form if form.problem else form.failed("choose", error)), None


def _drawn(visitor: Visitor, request: RunRequest, found: dict[str, Any]) -> dict[str, Any]:
    dataset = visitor.hub.datasets.get(visitor.caller, request.dataset)
    if found["cost"] is None:
        return {"request": request, "population": dataset.population, "epsilon": None}
    epsilon = float(as_fraction(found["cost"]["epsilon"]))
    statement = visitor.hub.populations.statement(visitor.caller, dataset.population)
    limit, left = statement.account.limit, statement.left
    after = left - amount_of(found["cost"]) if found["left_after"] is None else amount_of(found["left_after"])
    attack = [(one, success(one)) for one in EPSILONS]
    return {
        "request": request,
        "population": dataset.population,
        "epsilon": epsilon,
        "attack": success(epsilon),
        "attack_chart": charts.curve(
            attack, "How often a guess is right at most, over ε: from 50 % at small ε to nearly 100 % at 10", at=epsilon
        ),
        "accuracy": accuracy_of(visitor.hub, visitor.caller, request, found["expected"], EPSILONS, epsilon),
        "measured": measured_on(visitor, dataset, request.method, epsilon),
        "measurable": visitor.caller.may("run reports") and request.gives == "recommender",
        "example": example_of(request, found["expected"], dataset.declared),
        "left": left,
        "after": after,
        "limit": limit,
        "meter": charts.meter(
            float(left.epsilon / limit.epsilon),
            f"{left} left now, {after} afterwards",
            after=float(after.epsilon / limit.epsilon),
        ),
    }


@router.post("/choose")
def choose_again(visitor: TheVisitor, form: TheForm) -> Response:
    """Estimate what was typed."""
    visitor.caller.require("estimate")
    return _choose(visitor, typed(form))


@router.post("/choose/estimate")
def estimate(request: Request, visitor: TheVisitor, form: TheForm) -> Response:
    """The estimate alone, while the slider moves."""
    visitor.caller.require("estimate")
    again, found = _estimated(visitor, typed(form))
    return Response(fragment("parts/estimate.html", visitor, estimate=found, form=again), media_type="text/html")


# Running


@router.post("/choose/check")
def check(visitor: TheVisitor, form: TheForm) -> Response:
    """Show what a run costs, and ask once."""
    visitor.caller.require("run")
    given = typed(form)
    again, found = _estimated(visitor, given)
    if found is None:
        return _choose(visitor, again)
    where = {name: given[name] for name in ("dataset", "method", "epsilon")}
    return visitor.page(
        "confirm.html",
        what=given["method"] + (f", to be called “{given['name']}”" if given["name"] else ""),
        estimate=found,
        token=fresh_id("page"),
        values=given.values,
        action="/choose/run",
        button="Spend it and run" if found["cost"] else "Run it",
        back=f"/choose?{urlencode(where)}",
        crumb="Choose ε",
    )


@router.post("/choose/run")
def run(visitor: TheVisitor, form: TheForm) -> Response:
    """Run it. The same form sent twice is the same job."""
    given = typed(form)
    try:
        job, _ = visitor.hub.run(visitor.caller, request_of(given), given["token"] or fresh_id("page"))
    except ERRORS as error:
        return _choose(visitor, given.failed("choose", error))
    return go(f"/jobs/{job.id}")


@router.post("/choose/rehearse")
def rehearse(visitor: TheVisitor, form: TheForm) -> Response:
    """The whole job on invented people, for nothing."""
    given = typed(form)
    try:
        job = visitor.hub.rehearse(visitor.caller, request_of(given))
    except ERRORS as error:
        return _choose(visitor, given.failed("choose", error))
    return go(f"/jobs/{job.id}")
