"""Forms that ask for a method and its settings: what they offer, and the request that they stand for."""

from __future__ import annotations

import json
from typing import Any

from discreet.service import catalog
from discreet.service.pages.shared import Form, Visitor
from discreet.service.problems import Problem
from discreet.service.runs import RunRequest

__all__ = ["datasets_of", "fields_of", "groups_of", "methods_for", "numbers_in", "request_of", "whole"]

PREFIX = "set-"
"""Of the fields that hold settings of the method."""


def datasets_of(visitor: Visitor, *, population: str = "", kinds: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """The datasets of populations that a person may know of, of one population or some kinds if so asked."""
    names = {one["name"] for one in visitor.hub.populations.listed(visitor.caller)}
    found = [one for one in visitor.hub.datasets.listed(visitor.caller) if one["population"] in names]
    return [
        one
        for one in found
        if (not population or one["population"] == population) and (not kinds or one["kind"] in kinds)
    ]


def methods_for(visitor: Visitor, dataset: dict[str, Any]) -> list[dict[str, Any]]:
    """What can be run on a dataset: for curators everything, for analysts what is proved."""
    found = []
    for one in catalog.methods():
        if one["takes"] != dataset["kind"]:
            continue
        standing = catalog.standing_of(one["name"])
        if visitor.caller.is_curator or standing == "proved":
            found.append({**one, "standing": standing})
    return found


def groups_of(methods: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    order = {
        "proved": "Proved",
        "as published": "As published, not proved here",
        "refuted": "Refuted: for experiments",
        "none": "No proved guarantee: for comparison and experiments",
    }
    groups = [(title, [one for one in methods if one["standing"] == kind]) for kind, title in order.items()]
    return [(title, found) for title, found in groups if found]


def fields_of(method: str) -> list[dict[str, Any]]:
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


def whole(given: Form, name: str, label: str, *, least: int = 1, most: int, usual: int) -> int:
    """A whole number that was typed; the usual one where nothing was."""
    text = given[name] or str(usual)
    if not text.isdigit() or not least <= int(text) <= most:
        raise Problem(
            422, "request", f"{label}: {text!r} is not a whole number from {least} to {most:,}.", remedy="Type digits."
        )
    return int(text)


def numbers_in(given: Form, name: str, label: str) -> list[float]:
    """Numbers above 0 with commas between them, each once and in order."""
    try:
        found = sorted({float(one) for one in given[name].split(",") if one.strip()})
    except ValueError:
        found = []
    if not found or found[0] <= 0 or found[-1] > 1000:
        raise Problem(
            422, "request", f"{label}: these are not numbers above 0 and up to 1000.", remedy="Type 0.5, 1, 2."
        )
    return found
