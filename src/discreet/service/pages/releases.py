"""Releases and models: what they guarantee, what came out, and asking them."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from markupsafe import Markup
from sqlalchemy.engine import Row

from discreet.service.api.releases import download_release, verify_release
from discreet.service.pages import charts
from discreet.service.pages.findings import short
from discreet.service.pages.shared import ERRORS, Form, TheForm, TheVisitor, Visitor, as_problem, fragment, go, typed
from discreet.service.problems import Problem
from discreet.service.releases import release_for
from discreet.service.runs import RunRequest
from discreet.service.store import fresh_id

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

PER_PAGE, ROWS, BARS, ANSWERS, MOST_TYPED = 30, 50, 15, 10, 100
REFERENCE = "ease"
"""The model without privacy that a curator sees beside a private one."""


@router.get("/releases")
def releases_page(visitor: TheVisitor, before: int | None = None) -> Response:
    """All releases."""
    rows = visitor.hub.releases.listed(visitor.caller, before=before, limit=PER_PAGE)
    shown = [release_for(row, visitor.caller) for row in rows]
    return visitor.page("releases.html", releases=shown, more=rows[-1].number if len(rows) == PER_PAGE else None)


@router.get("/releases/{release}")
def release_page(visitor: TheVisitor, release: str, part: str | None = None, verify: bool = False) -> Response:
    """One release."""
    return _release(visitor, release, Form(), part=part, verify=verify)


def _release(
    visitor: Visitor,
    release: str,
    form: Form,
    *,
    part: str | None = None,
    verify: bool = False,
    answer: dict[str, Any] | None = None,
) -> Response:
    me = visitor.caller
    row = visitor.hub.releases.get(me, release)
    content = _content(visitor, row, part) if me.may("download releases") else None
    reports = (
        [one for one in visitor.hub.reports.listed(me, limit=200, dataset=row.dataset) if _about(one, row)]
        if me.may("read reports") and row.dataset is not None
        else []
    )
    return visitor.page(
        "release.html",
        status=form.status,
        release=release_for(row, me),
        content=content,
        verified=_verified(visitor, row) if verify and me.may("download releases") else None,
        reports=[short(one, {}) for one in reports],
        form=form,
        answer=answer,
        reference=_reference(visitor, row),
        can_audit=me.may("run reports") and row.dataset is not None and not row.rehearsal,
    )


def _about(report: Row[Any], row: Row[Any]) -> bool:
    """Whether a report is about this release, or its method on its data."""
    measured = [report.report.get("model"), *(one.get("model") for one in report.report.get("rows") or [])]
    return report.release == row.id or (report.release is None and row.method in measured)


def _content(visitor: Visitor, row: Row[Any], part: str | None) -> dict[str, Any] | None:
    """The table of a release, its noise figures, and a chart where there is something to draw."""
    if row.secret:
        return None
    found = visitor.hub.releases.preview(row, part, rows=1000)
    rows, noise = found["rows"], _noise(found["parameters"])
    chart = _chart(rows, found["parameters"], row.name)
    if row.is_model and found["table"] == "items":
        rows = []  # the public list of items: nothing came out there
    largest = bool(rows) and isinstance(rows[0].get("count"), int | float) and "rank" not in rows[0]
    if largest:
        rows = sorted(rows, key=lambda one: -one["count"])
    return {**found, "n_rows": len(rows), "rows": rows[:ROWS], "noise": noise, "chart": chart, "largest": largest}


NOISE = {
    "noise_sd": "Standard deviation of the noise",
    "noise_95": "95 % of the noise is within ±",
    "noise_first": "Noise of popularity (standard deviation)",
    "noise_tastes": "Noise of tastes (standard deviation)",
    "noise_weights": "Noise of weights (standard deviation)",
    "noise_offsets": "Noise of offsets (standard deviation)",
}


def _noise(parameters: dict[str, Any]) -> list[tuple[str, float]]:
    return [(words, parameters[name]) for name, words in NOISE.items() if isinstance(parameters.get(name), float)]


def _chart(rows: list[dict[str, Any]], parameters: dict[str, Any], name: str) -> Markup | None:
    """The largest values as bars, with what noise adds or takes in 95 of 100 cases."""
    if not rows or not isinstance(rows[0].get("count"), int | float):
        return None
    error = parameters.get("noise_95") or 2 * float(parameters.get("noise_sd") or 0)
    best = sorted(rows, key=lambda one: -one["count"])[:BARS]
    drawn = [charts.Bar(str(one.get("title") or one.get("item_id") or ""), one["count"], float(error)) for one in best]
    return charts.bars(drawn, f"The {len(drawn)} largest values of {name}, with error bars of ±{error:,.0f} (95 %)")


def _verified(visitor: Visitor, row: Row[Any]) -> dict[str, Any]:
    """What checking every file against its hash and against the ledger found."""
    try:
        return verify_release(visitor.hub, visitor.caller, row.id)
    except ERRORS as error:
        problem = error if isinstance(error, Problem) else as_problem(error)
        return {"whole": False, "problem": problem}


@router.get("/releases/{release}/download")
def download(visitor: TheVisitor, release: str) -> Response:
    """The files of a release."""
    return download_release(visitor.hub, visitor.caller, release)


# Asking


@router.post("/releases/{release}/items")
def complete(visitor: TheVisitor, form: TheForm, release: str) -> Response:
    """Items whose id or title has what was typed in it."""
    visitor.caller.require("ask")
    model = visitor.hub.asking.model(visitor.hub.releases.get(visitor.caller, release))
    text = typed(form)["text"]
    found = model.complete(text, 8) if text else []
    return JSONResponse([{"id": str(one["item_id"]), "title": one.get("title") or ""} for one in found])


@router.post("/releases/{release}/ask")
def ask(request: Request, visitor: TheVisitor, form: TheForm, release: str) -> Response:
    """Recommendations for somebody who liked the typed items. What was typed is not kept anywhere."""
    visitor.caller.require("ask")
    row = visitor.hub.releases.get(visitor.caller, release)
    given = typed(form)
    chosen = [str(one).strip() for one in form.getlist("item") if str(one).strip()]
    written = [one.strip() for one in given["text"].replace("\n", ",").split(",") if one.strip()]
    given = Form({**given.values, "items": "\n".join(chosen)})
    try:
        answer = _answer(visitor, row, [*chosen, *written][:MOST_TYPED])
    except ERRORS as error:
        failed = given.failed("ask", error)
        if "fragment" in request.headers.get("x-wants", ""):
            html = fragment(
                "parts/answer.html", visitor, answer=None, form=failed, release=release_for(row, visitor.caller)
            )
            return Response(html, failed.status, media_type="text/html")
        return _release(visitor, release, failed)
    if "fragment" in request.headers.get("x-wants", ""):
        shown = release_for(row, visitor.caller)
        return Response(
            fragment("parts/answer.html", visitor, answer=answer, form=given, release=shown), media_type="text/html"
        )
    return _release(visitor, release, given, answer=answer)


def _answer(visitor: Visitor, row: Row[Any], typed_items: list[str]) -> dict[str, Any]:
    if not typed_items:
        raise Problem(422, "request", "No item was given.", remedy="Type an item that somebody liked, then ask.")
    model = visitor.hub.asking.model(row)
    titles = {title.casefold(): str(item) for item, title in model.titles.items()}
    items = [titles.get(one.casefold(), one) for one in typed_items]
    found = model.recommend(items, ANSWERS)
    named = {str(item): title for item, title in model.titles.items()}
    answer = {**found, "asked": [named.get(one, one) for one in items if one not in map(str, found["ignored"])]}
    other = _reference(visitor, row)
    if other is not None and "items" in other:
        plain = visitor.hub.asking.model(other["row"]).recommend(_liked(visitor, row, items), ANSWERS)
        shared = {one["item_id"] for one in plain["items"]} & {one["item_id"] for one in found["items"]}
        answer |= {"plain": plain["items"], "shared": shared}
    return answer


def _liked(visitor: Visitor, row: Row[Any], items: list[str]) -> list[str] | dict[str, float]:
    """Items that somebody liked, for a model that was fitted on ratings: each with the highest."""
    scale = getattr(visitor.hub.datasets.public(row.tenant, row.dataset), "scale", None)
    return items if scale is None else dict.fromkeys(items, float(scale.high))


def _reference(visitor: Visitor, row: Row[Any]) -> dict[str, Any] | None:
    """The latest model without privacy on the same data; for curators, who may see the records anyway."""
    me = visitor.caller
    if not me.is_curator or not row.is_model or row.dataset is None or row.secret:
        return None
    rows = visitor.hub.releases.listed(me, limit=200, population=row.population)
    same = [one for one in rows if one.method == REFERENCE and one.dataset == row.dataset and one.secret]
    if same:
        return {"row": same[0], "items": True}
    busy = [one for one in visitor.hub.jobs.listed(me, limit=20) if one.request.get("method") == REFERENCE]
    running = [one for one in busy if one.state in ("queued", "running") and one.request.get("dataset") == row.dataset]
    return {"job": running[0].id} if running else {}


@router.post("/releases/{release}/reference")
def make_reference(visitor: TheVisitor, form: TheForm, release: str) -> Response:
    """Fit the model without privacy, on the curator's side. It is never shown to others."""
    visitor.caller.require("manage data")
    row = visitor.hub.releases.get(visitor.caller, release)
    request = RunRequest(row.dataset, REFERENCE, {}, name="without privacy (for comparison)")
    try:
        job, _ = visitor.hub.run(visitor.caller, request, fresh_id("reference"))
    except ERRORS as error:
        return _release(visitor, release, Form().failed("reference", error))
    return go(f"/jobs/{job.id}")
