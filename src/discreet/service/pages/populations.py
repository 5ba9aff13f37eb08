"""Populations: what was spent, what is left, who may spend, and the data behind."""

from __future__ import annotations

import json
import shutil
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.datastructures import FormData, UploadFile

from discreet.errors import DiscreetError
from discreet.privacy.cadence import cadences
from discreet.service.api.data import ENDINGS, NewPopulation, registered
from discreet.service.pages.overview import population_cards
from discreet.service.pages.shared import ERRORS, Form, TheForm, TheVisitor, Visitor, go, typed
from discreet.service.problems import Problem
from discreet.service.releases import release_for

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

COLUMNS = ("user", "item", "rating", "timestamp", "context")
"""Names of columns that the form asks for."""

FIGURES = ("users", "records")


@router.get("/populations")
def populations_page(visitor: TheVisitor) -> Response:
    """All populations."""
    visitor.caller.require("read populations")
    return visitor.page("populations.html", cards=population_cards(visitor))


@router.get("/populations/new")
def new_population_page(visitor: TheVisitor) -> Response:
    """The form that opens one."""
    visitor.caller.require("open populations")
    return visitor.page("new_population.html", form=Form({"view": "basic", "delta": "1e-6", "unit": "user"}))


@router.post("/populations/new")
def open_population(visitor: TheVisitor, form: TheForm) -> Response:
    """Open a population."""
    visitor.caller.require("open populations")
    given = typed(form)
    try:
        name = _terms(given)
        visitor.hub.populations.open(visitor.caller, **name)
    except ERRORS as error:
        again = given.failed("open", error)
        return visitor.page("new_population.html", form=again, status=again.status)
    return go(_place(given["name"]))


def _terms(given: Form) -> dict[str, Any]:
    from pydantic import ValidationError

    filled = {one: given[one] for one in ("name", "epsilon", "delta", "unit", "view", "per", "time_zone", "lifetime")}
    asked: dict[str, Any] = {one: text for one, text in filled.items() if text}
    if asked.get("unit") == "group/replace":
        if not given["group_size"].isdecimal():
            remedy = "Say how many rows of the survey one household has at most."
            raise Problem(422, "request", "A household needs a largest number of rows.", remedy=remedy)
        asked["unit"] = f"group/replace:{int(given['group_size'])}"
    asked["open_to_analysts"] = given["open_to_analysts"] == "yes"
    if asked["open_to_analysts"]:
        asked.pop("view", None)
    try:
        found = NewPopulation(**asked).model_dump()
    except ValidationError as error:
        first = error.errors()[0]
        names = {"name": "The name", "epsilon": "The limit ε", "delta": "δ"}
        what = names.get(str(first["loc"][0]), str(first["loc"][0]))
        remedy = "Use letters, digits, spaces and . : - in names; write numbers such as 4, 1/2 or 1e-6."
        plain = "it has signs that names cannot have" if "pattern" in first["type"] else first["msg"].lower()
        raise Problem(422, "request", f"{what} is not understood: {plain}.", remedy=remedy) from None
    return {one: value for one, value in found.items() if value is not None}


@router.get("/populations/{population}")
def population_page(visitor: TheVisitor, population: str, nights: int = 365) -> Response:
    """One population."""
    return _population(visitor, population, Form(), nights=nights)


def _population(visitor: Visitor, name: str, form: Form, *, nights: int = 365) -> Response:
    me, hub = visitor.caller, visitor.hub
    me.require("read populations")
    hub.populations.get(me, name)
    card = next(card for card in population_cards(visitor) if card["name"] == name)
    datasets = [one for one in hub.datasets.listed(me) if one["population"] == name]
    return visitor.page(
        "population.html",
        status=form.status,
        card=card,
        form=form,
        row=hub.populations.get(me, name),
        entries=card["statement"].every[::-1] if me.may("read statements") else None,
        datasets=datasets,
        allowances=_allowances(visitor, name) if me.is_curator else [],
        analysts=[one for one in hub.keys.listed(me) if one["role"] == "analyst" and not one["revoked"]]
        if me.is_curator
        else [],
        plan=_plan(card, nights),
        nights=nights,
        releases=[release_for(row, me) for row in hub.releases.listed(me, population=name, limit=6)],
        measured=_measured(visitor, datasets),
        roots=hub.roots(me) if me.is_curator else (),
        endings=", ".join(ENDINGS),
        megabytes=hub.store.settings.upload_limit // 1024**2,
    )


def _measured(visitor: Visitor, datasets: list[dict[str, Any]]) -> dict[str, int]:
    """How many reports there are about each dataset; for curators."""
    if not visitor.caller.is_curator:
        return {}
    return {one["id"]: len(visitor.hub.reports.listed(visitor.caller, dataset=one["id"])) for one in datasets}


def _plan(card: dict[str, Any], nights: int) -> dict[str, Any] | None:
    """What is left, spread over so many nights; None where nothing is."""
    left, account = card["statement"].left, card["account"]
    if not left.epsilon or not 1 <= nights <= 100_000:
        return None
    try:
        return {"left": left, "rows": cadences(nights, left.epsilon, left.delta or account.limit.delta)}
    except DiscreetError:
        return None


def _allowances(visitor: Visitor, name: str) -> list[dict[str, Any]]:
    row = visitor.hub.populations.get(visitor.caller, name)
    people = {one["id"]: one for one in visitor.hub.keys.listed(visitor.caller)}
    return [
        {"key": key, "name": people[key]["name"] if key in people else key, "allowed": allowed}
        | visitor.hub.populations.used_by(visitor.caller, name, key)
        for key, allowed in row.allowances.items()
    ]


@router.post("/populations/{population}/allowances")
def allow(visitor: TheVisitor, form: TheForm, population: str) -> Response:
    """Give an analyst an allowance, or another one."""
    visitor.caller.require("open populations")
    given = typed(form)
    try:
        if not given["epsilon"] or not given["key"]:
            raise Problem(
                422, "request", "No analyst or no ε was given.", remedy="Choose one, and type for example 1/2."
            )
        visitor.hub.keys.require_known(visitor.caller, given["key"], role="analyst")
        amount = {"epsilon": given["epsilon"], "delta": given["delta"] or "0"}
        visitor.hub.populations.allow(visitor.caller, population, given["key"], amount)
    except ERRORS as error:
        return _population(visitor, population, given.failed("allowance", error))
    return go(f"{_place(population)}#allowances")


@router.post("/populations/{population}/allowances/remove")
def disallow(visitor: TheVisitor, form: TheForm, population: str) -> Response:
    """Take an allowance away."""
    visitor.caller.require("open populations")
    try:
        visitor.hub.populations.allow(visitor.caller, population, typed(form)["key"], None)
    except ERRORS as error:
        return _population(visitor, population, Form().failed("allowance", error))
    return go(f"{_place(population)}#allowances")


# Data


@router.post("/populations/{population}/data")
def add_data(request: Request, visitor: TheVisitor, form: TheForm, population: str) -> Response:
    """Upload a file, or register one by its path; a job reads and attaches it."""
    visitor.caller.require("manage data")
    given, hub, caller = typed(form), visitor.hub, visitor.caller
    try:
        common = _declared(given, population)
        if given["path"]:
            file = hub.file_below_roots(caller, given["path"])
            job = registered(hub, caller, file=file, catalog=None, **common)["job"]
        else:
            with hub.datasets.receiving(caller) as folder:
                job = registered(hub, caller, file=_kept(form, folder), catalog=None, **common)["job"]
    except ERRORS as error:
        return _population(visitor, population, given.failed("data", error))
    return go(f"/jobs/{job['id']}")


def _declared(given: Form, population: str) -> dict[str, Any]:
    if not given["name"]:
        raise Problem(422, "request", "The dataset has no name.", remedy="Type one, such as purchases.")
    reading: dict[str, Any] = {
        one: given[one] for one in (*COLUMNS, "scale", "window", "time_zone", "group", "missing") if given[one]
    }
    if given["kind"] in ("tags", "table"):
        reading["what"] = given["kind"]
    if given["domains"]:
        try:
            reading["domains"] = json.loads(given["domains"])
        except (ValueError, RecursionError):
            remedy = 'Write {"gender": ["F", "M"], "age": {"low": 0, "high": 99}}.'
            raise Problem(422, "request", "The values of the columns are not JSON.", remedy=remedy) from None
    declared = {}
    for one in FIGURES:
        if given[one]:
            if not given[one].isdigit() or not int(given[one]):
                raise Problem(422, "request", f"{given[one]!r} is not a whole number above 0.", remedy="Type digits.")
            declared[one] = int(given[one])
    return {"name": given["name"], "population": population, "reading": reading, "declared": declared}


def _kept(form: FormData, folder: Any) -> Any:
    sent = form.get("file")
    if not isinstance(sent, UploadFile) or not sent.filename:
        raise Problem(422, "request", "No file was chosen.", remedy="Choose a file, or type the path of one.")
    ending = next((one for one in sorted(ENDINGS, key=len, reverse=True) if sent.filename.lower().endswith(one)), None)
    if ending is None:
        raise Problem(415, "format", "This is not a kind of file that is read.", remedy=f"Use {', '.join(ENDINGS)}.")
    file = folder / f"upload{ending}"
    with file.open("xb") as out:
        file.chmod(0o600)
        shutil.copyfileobj(sent.file, out)
    return file


@router.post("/datasets/{dataset}/remove")
def remove_dataset(visitor: TheVisitor, form: TheForm, dataset: str) -> Response:
    """Forget a dataset; releases stay, and so does what they cost."""
    visitor.caller.require("manage data")
    row = visitor.hub.datasets.get(visitor.caller, dataset)
    visitor.hub.datasets.remove(visitor.caller, row.id)
    return go(f"{_place(row.population)}#data")


@router.post("/datasets/{dataset}/asking")
def allow_asking(visitor: TheVisitor, form: TheForm, dataset: str) -> Response:
    """Allow recommendations from a person's own records, for that person, or end that."""
    visitor.caller.require("manage data")
    row = visitor.hub.datasets.get(visitor.caller, dataset)
    visitor.hub.datasets.allow_users(visitor.caller, row.id, typed(form)["allowed"] == "yes")
    return go(f"{_place(row.population)}#data")


def _place(population: str) -> str:
    return f"/populations/{quote(population, safe='')}"
