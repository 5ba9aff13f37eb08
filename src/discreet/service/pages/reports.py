"""What was measured on the records: audits, attacks, risk and frontier. Started here by curators, and read here."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import ValidationError
from starlette.datastructures import FormData

from discreet.service import catalog
from discreet.service.api.admin import AttackRequest, AuditRequest, FrontierRequest, RiskRequest
from discreet.service.pages.findings import found_in, short
from discreet.service.pages.run_forms import (
    datasets_of,
    fields_of,
    groups_of,
    methods_for,
    numbers_in,
    request_of,
    whole,
)
from discreet.service.pages.shared import ERRORS, Form, TheForm, TheVisitor, Visitor, go, typed
from discreet.service.problems import Problem
from discreet.service.releases import release_for

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

PER_PAGE = 50

KINDS = {
    "audit": ("Audit", "Tries to refute the guarantee: the method is run many times with and without one person."),
    "attack": ("Attack", "Plays one attack against several recommenders: how often does it guess a hidden rating?"),
    "risk": ("Risk", "What an attacker learns and what is left of the lists, over ε. It helps to choose ε."),
    "frontier": (
        "Accuracy over ε",
        "How good the lists are for people who were held out, beside a model without privacy.",
    ),
}
ATTACKS = {
    "sybil": "Invented accounts that look like the person",
    "beta-sybil": "The same, made for methods that hide within β neighbors",
    "adaptive-sybil": "Invented accounts that follow what was answered",
    "item-sybil": "Invented accounts against similar items",
    "two-releases": "What changed between two releases",
    "lia": "Linear inference from released averages",
}
AGAINST = ("knn", "ppns", "private-item-knn")
"""Chosen at first."""

EPSILONS = "0.25, 0.5, 1, 2, 4, 8"


@router.get("/reports")
def reports_page(visitor: TheVisitor, before: int | None = None, dataset: str = "") -> Response:
    """Audits, attacks, risk curves; of one dataset if so asked."""
    rows = visitor.hub.reports.listed(visitor.caller, before=before, limit=PER_PAGE, dataset=dataset or None)
    names = _names(visitor)
    return visitor.page(
        "reports.html",
        reports=[short(row, names) for row in rows],
        dataset=names.get(dataset, ""),
        more=rows[-1].number if len(rows) == PER_PAGE else None,
        address=f"/reports?dataset={dataset}&" if dataset else "/reports?",
    )


def _names(visitor: Visitor) -> dict[str, str]:
    return {one["id"]: one["name"] for one in visitor.hub.datasets.listed(visitor.caller)}


# Starting one


@router.get("/reports/new")
def new_report_page(
    visitor: TheVisitor, kind: str = "audit", dataset: str = "", release: str = "", method: str = ""
) -> Response:
    """The form that starts one."""
    given = {"kind": kind, "dataset": dataset, "release": release, "method": method, "epsilon": "1", "delta": "1e-6"}
    return _new(visitor, Form(given), list(AGAINST))


@router.post("/reports/form")
def new_report_again(visitor: TheVisitor, form: TheForm) -> Response:
    """The same form for another method or other data."""
    return _new(visitor, typed(form), _against(form))


@router.post("/reports/new")
def start(visitor: TheVisitor, form: TheForm) -> Response:
    """Start it: a job."""
    visitor.caller.require("run reports")
    given, against = typed(form), _against(form)
    try:
        job = visitor.hub.report(visitor.caller, _kind(given), _asked(given, against))
    except ERRORS as error:
        return _new(visitor, given.failed("report", error), against)
    return go(f"/jobs/{job.id}")


def _kind(given: Form) -> str:
    if given["kind"] not in KINDS:
        raise Problem(404, "not-found", "There is no such report.", remedy=f"Choose from {', '.join(KINDS)}.")
    return given["kind"]


def _against(form: FormData) -> list[str]:
    return [str(one) for one in form.getlist("against")]


def _new(visitor: Visitor, form: Form, against: list[str]) -> Response:
    visitor.caller.require("run reports")
    kind, release = _kind(form), None
    if form["release"]:
        release = release_for(visitor.hub.releases.get(visitor.caller, form["release"]), visitor.caller)
    # Audits are for every method; the others compare lists or ratings.
    known = datasets_of(visitor, kinds=() if kind == "audit" else ("interactions",))
    dataset = next((one for one in known if form["dataset"] in (one["id"], one["name"])), known[0] if known else None)
    methods = _methods(visitor, kind, dataset)
    names = [one["name"] for one in methods]
    method = form["method"] if form["method"] in names else (names[0] if names else "")
    form = Form({**form.values, "method": method, "dataset": dataset["id"] if dataset else ""}, form.name, form.problem)
    return visitor.page(
        "new_report.html",
        status=form.status,
        form=form,
        kind=kind,
        kinds=_kinds_of(release),
        release=release,
        datasets=known,
        groups=groups_of(methods),
        method=catalog.described(method) if method else None,
        fields=fields_of(method) if method else [],
        attacks=ATTACKS,
        models=[one["name"] for one in catalog.methods() if one["gives"] == "recommender"],
        against=against,
        epsilons=EPSILONS,
    )


def _kinds_of(release: dict[str, Any] | None) -> dict[str, tuple[str, str]]:
    """What can be measured about a release: a model that recommends has a risk and a frontier."""
    if release is None:
        return KINDS
    wanted = ("audit", "risk", "frontier") if release["gives"] == "recommender" else ("audit",)
    return {one: KINDS[one] for one in wanted}


def _methods(visitor: Visitor, kind: str, dataset: dict[str, Any] | None) -> list[dict[str, Any]]:
    if dataset is None:
        return []
    found = methods_for(visitor, dataset)
    if kind == "audit":
        return found
    return [one for one in found if one["gives"] == "recommender" and "epsilon" in one["settings"]["properties"]]


def _asked(given: Form, against: list[str]) -> dict[str, Any]:
    """The request of a form, checked as the API checks it."""
    kind = given["kind"]
    settings = {} if kind == "attack" or given["release"] else dict(request_of(given).settings)
    if kind in ("risk", "frontier"):
        settings.pop("epsilon", None)
    about: dict[str, Any] = {"release": given["release"]} if given["release"] else {"dataset": given["dataset"]}
    try:
        if kind == "attack":
            targets = whole(given, "targets", "People", most=1000, usual=10)
            asked: Any = AttackRequest(
                dataset=given["dataset"],
                attack=given["attack"],  # type: ignore[arg-type]
                against=against,
                epsilon=float(given["epsilon"] or 1),
                delta=given["delta"],
                targets=targets,
            )
        elif kind == "audit":
            seconds = whole(given, "seconds", "Seconds", most=3600, usual=60)
            asked = AuditRequest(**about, method=given["method"], settings=settings, options={"seconds": seconds})
        elif kind == "risk":
            options = {
                "epsilons": numbers_in(given, "epsilons", "Values of ε"),
                "targets": whole(given, "targets", "People", most=1000, usual=10),
            }
            asked = RiskRequest(**about, method=given["method"], settings=settings, options=options)
        else:
            asked = FrontierRequest(
                **about,
                method=given["method"],
                settings=settings,
                epsilons=numbers_in(given, "epsilons", "Values of ε"),
                measure=given["measure"] or "rankings",  # type: ignore[arg-type]
            )
    except (ValidationError, ValueError):
        remedy = "Choose from the lists, tick at least one model, and type numbers such as 1 or 0.5."
        raise Problem(422, "request", "This cannot be measured as it was asked for.", remedy=remedy) from None
    return asked.model_dump()


# Reading one


@router.get("/reports/{report}")
def report_page(visitor: TheVisitor, report: str) -> Response:
    """One report."""
    row = visitor.hub.reports.get(visitor.caller, report)
    release = None
    if row.release is not None:
        with suppress(Problem):  # of a release that is the curator's alone an auditor sees the audit, not the release
            release = release_for(visitor.hub.releases.get(visitor.caller, row.release), visitor.caller)
    return visitor.page("report.html", report=short(row, _names(visitor)), release=release, **found_in(row))
