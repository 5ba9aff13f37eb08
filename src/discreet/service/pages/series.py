"""Series: a release every night or week, at one price for all of them."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import ValidationError

from discreet.service import catalog
from discreet.service.api.interactive import NewSeries
from discreet.service.pages.run_forms import datasets_of, fields_of, groups_of, methods_for, request_of, whole
from discreet.service.pages.sessions import _amounts
from discreet.service.pages.shared import ERRORS, Form, TheForm, TheVisitor, Visitor, go, typed
from discreet.service.problems import Problem
from discreet.service.releases import guarantee_lines
from discreet.service.runs import RunRequest
from discreet.service.store import fresh_id

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

MOST_SHOWN = 60
"""Steps in the table of a series."""


@router.get("/series")
def series_list(visitor: TheVisitor) -> Response:
    """All series."""
    return visitor.page("series_list.html", series=visitor.hub.series.listed(visitor.caller))


# Opening one


@router.get("/series/new")
def new_series_page(visitor: TheVisitor, dataset: str = "", method: str = "") -> Response:
    """The form that opens one."""
    usual = {"epsilon": "1", "delta": "1e-7", "steps": "52", "records": "new"}
    return _new(visitor, Form({"dataset": dataset, "method": method, **usual}))


@router.post("/series/form")
def new_series_again(visitor: TheVisitor, form: TheForm) -> Response:
    """The same form for another method or other data."""
    return _new(visitor, typed(form))


def _new(visitor: Visitor, form: Form) -> Response:
    visitor.caller.require("manage data")
    known = datasets_of(visitor, kinds=("interactions",))
    dataset = next((one for one in known if form["dataset"] in (one["id"], one["name"])), known[0] if known else None)
    methods = [one for one in methods_for(visitor, dataset) if one["series"]] if dataset else []
    names = [one["name"] for one in methods]
    method = form["method"] if form["method"] in names else (names[0] if names else "")
    form = Form({**form.values, "method": method, "dataset": dataset["id"] if dataset else ""}, form.name, form.problem)
    return visitor.page(
        "new_series.html",
        status=form.status,
        form=form,
        datasets=known,
        groups=groups_of(methods),
        method=catalog.described(method) if method else None,
        fields=fields_of(method) if method else [],
    )


def _request(given: Form) -> tuple[RunRequest, dict[str, Any]]:
    """What a form asks for, checked as the API checks it."""
    run = request_of(given)
    more = {name: given[name] for name in ("window", "time_zone", "records") if given[name]}
    try:
        return NewSeries(
            dataset=run.dataset,
            method=run.method,
            settings=dict(run.settings),
            name=run.name,
            steps=whole(given, "steps", "Steps", most=100_000, usual=52),
            enter_after=whole(given, "enter_after", "A new item enters after", most=10**6, usual=10),
            **more,  # type: ignore[arg-type]
        ).parts()
    except ValidationError as error:
        first = error.errors()[0]
        raise Problem(422, "request", f"{first['loc'][0]}: {first['msg']}.", remedy="Change it.") from None


@router.post("/series/check")
def check(visitor: TheVisitor, form: TheForm) -> Response:
    """Show what the whole series costs, and ask once."""
    given = typed(form)
    try:
        request, terms = _request(given)
        estimate = visitor.hub.series.estimate(visitor.caller, request, terms)
    except ERRORS as error:
        return _new(visitor, given.failed("open", error))
    dataset = visitor.hub.datasets.get(visitor.caller, given["dataset"])
    return visitor.page(
        "confirm.html",
        what=f"A series of {terms['steps']} steps of {request.method}, paid for once",
        estimate=estimate | {"population": dataset.population} | _amounts(estimate),
        noise=(estimate.get("last_step") or {}, estimate.get("noise_factor_if_each_step_pays")),
        values=given.values,
        token=fresh_id("page"),
        action="/series",
        button="Spend it and open the series",
        back="/series/new",
        crumb="Series",
    )


@router.post("/series")
def open_series(visitor: TheVisitor, form: TheForm) -> Response:
    """Open it. The same form sent twice is the same series."""
    given = typed(form)
    try:
        job, _ = visitor.hub.series.open(visitor.caller, *_request(given), given["token"] or fresh_id("page"))
    except ERRORS as error:
        return _new(visitor, given.failed("open", error))
    return go(f"/jobs/{job.id}")


# One series


@router.get("/series/{series}")
def series_page(visitor: TheVisitor, series: str) -> Response:
    """One series: its steps, what was missed, and the form that takes the next one."""
    return _series(visitor, series, Form())


def _series(visitor: Visitor, series: str, form: Form) -> Response:
    shown = visitor.hub.series.show(visitor.caller, series)
    rows = visitor.hub.releases.listed(visitor.caller, population=shown["population"], limit=500)
    kept = {row.release: row for row in rows}
    missed = set(shown["missed"])
    steps = [_step(one, kept.get(one["release"])) | {"missed": one["step"] in missed} for one in shown["releases"]]
    return visitor.page(
        "series.html",
        status=form.status,
        form=form,
        series=shown,
        steps=steps[: -MOST_SHOWN - 1 : -1],
        n_steps=len(steps),
        lines=guarantee_lines(shown["guarantee"]) if shown["guarantee"] else None,
        datasets=[one for one in datasets_of(visitor, population=shown["population"]) if one["kind"] == "interactions"]
        if visitor.caller.may("manage data")
        else [],
    )


def _step(step: dict[str, Any], row: Any) -> dict[str, Any]:
    """A step that was taken, and its release where it was kept: a missed one is made up for and kept with the next."""
    if row is None:
        return {**step, "page": None, "when": step["created"]}
    return {**step, "page": row.id, "when": row.created}


@router.post("/series/{series}/advance")
def advance(visitor: TheVisitor, form: TheForm, series: str) -> Response:
    """Take the records of a step: a job."""
    given = typed(form)
    try:
        step = whole(given, "step", "Step", least=0, most=100_000, usual=0) if given["step"] else None
        job = visitor.hub.series.advance(visitor.caller, series, given["dataset"], step)
    except ERRORS as error:
        return _series(visitor, series, given.failed("advance", error))
    return go(f"/jobs/{job.id}")
