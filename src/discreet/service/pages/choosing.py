"""Choosing ε: what a run would cost and give, before anything is spent; then the run, asked for once."""

from __future__ import annotations

import json
import math
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from discreet.privacy.numbers import as_fraction
from discreet.service import catalog
from discreet.service.pages import charts
from discreet.service.pages.expecting import accuracy_of, example_of, measured_on
from discreet.service.pages.jobs import _fragment
from discreet.service.pages.shared import ERRORS, Form, TheForm, TheVisitor, Visitor, go, typed
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
GIVES = {
    "recommender": "A model that recommends items",
    "counts": "Counts of items",
    "top list": "The most popular items, in order",
    "pairs": "Pairs of items that go together",
    "tags": "A model of tags",
    "answers": "Answers to queries",
}
PREFIX = "set-"
"""Of the fields that hold settings of the method."""


@router.get("/choose")
def choose_page(
    visitor: TheVisitor, dataset: str = "", method: str = "", epsilon: str = "1", population: str = ""
) -> Response:
    """The slider, and what it means."""
    visitor.caller.require("estimate")
    known = _datasets(visitor, population)
    if not known:
        return visitor.page("choose_empty.html")
    chosen = next((one for one in known if dataset in (one["id"], one["name"])), known[0])
    given = {"dataset": chosen["id"], "method": method or FIRST[chosen["kind"]], "epsilon": epsilon, "delta": "1e-7"}
    return _choose(visitor, Form(given))


def _datasets(visitor: Visitor, population: str = "") -> list[dict[str, Any]]:
    names = {one["name"] for one in visitor.hub.populations.listed(visitor.caller)}
    found = [one for one in visitor.hub.datasets.listed(visitor.caller) if one["population"] in names]
    return [one for one in found if not population or one["population"] == population]


def _choose(visitor: Visitor, form: Form, template: str = "choose.html", **more: Any) -> Response:
    known = _datasets(visitor)
    dataset = next((one for one in known if one["id"] == form["dataset"]), None)
    if dataset is None:
        raise Problem(404, "not-found", "There is no such dataset.", remedy="Choose one from the list.")
    methods = _methods(visitor, dataset)
    if form["method"] not in [one["name"] for one in methods] and methods:
        form = Form({**form.values, "method": methods[0]["name"]}, form.name, form.problem)
    form, estimate = _estimated(visitor, form)
    return visitor.page(
        template,
        status=form.status,
        form=form,
        datasets=known,
        dataset=dataset,
        groups=_groups(methods),
        method=catalog.described(form["method"]),
        fields=_fields(form["method"]),
        estimate=estimate,
        epsilons=EPSILONS,
        stop=_stop(form["epsilon"]),
        **more,
    )


def _methods(visitor: Visitor, dataset: dict[str, Any]) -> list[dict[str, Any]]:
    """What can be run on a dataset: for curators everything, for analysts what is proved."""
    found = []
    for one in catalog.methods():
        if one["takes"] != dataset["kind"]:
            continue
        standing = catalog.standing_of(one["name"])
        if visitor.caller.is_curator or standing == "proved":
            found.append({**one, "standing": standing})
    return found


def _groups(methods: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    order = {
        "proved": "Proved",
        "as published": "As published, not proved here",
        "refuted": "Refuted: for experiments",
        "none": "No proved guarantee: for comparison and experiments",
    }
    groups = [(title, [one for one in methods if one["standing"] == kind]) for kind, title in order.items()]
    return [(title, found) for title, found in groups if found]


def _stop(epsilon: str) -> int:
    """The stop of the slider that is nearest."""
    try:
        wanted = math.log(max(float(as_fraction(epsilon)), 1e-9))
    except ERRORS:
        wanted = 0.0
    return min(range(len(EPSILONS)), key=lambda place: abs(math.log(EPSILONS[place]) - wanted))


# From a form to a request


def _fields(method: str) -> list[dict[str, Any]]:
    """The other settings of a method that a form can ask for."""
    schema = catalog.described(method)["settings"]
    found = []
    for name, one in schema.get("properties", {}).items():
        kind, options = one.get("type"), one.get("enum")
        if name in ("epsilon", "delta") or kind == "object":
            continue
        plain = {"integer": "whole number", "number": "number", "boolean": "yes or no", "string": "text"}
        hint = plain.get(kind, "number") if isinstance(kind, str) else ""
        found.append(
            {
                "name": name,
                "label": name.replace("_", " "),
                "default": one.get("default"),
                "options": ["yes", "no"] if kind == "boolean" else options,
                "hint": hint,
                "required": name in schema.get("required", ()),
            }
        )
    return found


def request_of(given: Form) -> RunRequest:
    """The request that a form stands for."""
    schema = catalog.described(given["method"])["settings"].get("properties", {})
    settings: dict[str, Any] = {name: given[name] for name in ("epsilon", "delta") if name in schema and given[name]}
    for name, one in schema.items():
        if text := given[f"{PREFIX}{name}"]:
            settings[name] = _value(name, text, one)
    contexts = tuple(one.strip() for one in given["contexts"].split(";") if one.strip())
    queries = None
    if given["queries"]:
        try:
            queries = json.loads(given["queries"])
        except ValueError:
            raise Problem(422, "request", "The queries are not JSON.", remedy='Write {"all_marginals": 2}.') from None
    return RunRequest(
        dataset=given["dataset"],
        method=given["method"],
        settings=settings,
        name=given["name"],
        contexts=contexts,
        queries=queries,
        coupling=given["coupling"] or None,
        allow_refuted=given["allow_refuted"] == "yes",
    )


def _value(name: str, text: str, schema: dict[str, Any]) -> Any:
    kinds = [schema, *schema.get("anyOf", [])]
    if any(one.get("type") == "boolean" for one in kinds):
        return text == "yes"
    if any(one.get("type") == "integer" for one in kinds) and text.lstrip("-").isdigit():
        return int(text)
    if any(one.get("type") == "array" for one in kinds):
        return [one.strip() for one in text.split(",") if one.strip()]
    if schema.get("type") == "integer":
        raise Problem(422, "request", f"{name} is a whole number, not {text!r}.", remedy="Type digits.")
    return text


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
    return Response(_fragment("parts/estimate.html", visitor, estimate=found, form=again), media_type="text/html")


# Running


@router.post("/choose/check")
def check(visitor: TheVisitor, form: TheForm) -> Response:
    """Show what a run costs, and ask once."""
    visitor.caller.require("run")
    given = typed(form)
    again, found = _estimated(visitor, given)
    if found is None:
        return _choose(visitor, again)
    return visitor.page("confirm_run.html", form=given, estimate=found, token=fresh_id("page"), values=given.values)


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
