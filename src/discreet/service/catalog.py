"""The methods that can be run, with their settings as JSON Schema."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from discreet.data import synthetic
from discreet.errors import DiscreetError
from discreet.models.registry import entries, entry_of
from discreet.privacy.units import Unit
from discreet.service.problems import Problem

__all__ = ["described", "method_names", "methods", "settings_schema", "standing_of"]

RUNNABLE = ("recommender", "counts", "top list", "pairs", "synthetic data", "tags", "answers")
"""What the service runs. Recommenders of tags are made from a release of tags, when it is asked."""


def method_names() -> list[str]:
    """The names of the methods that can be run."""
    return [entry.name for entry in entries().values() if entry.gives in RUNNABLE]


def methods() -> list[dict[str, Any]]:
    """Every method that can be run."""
    return [described(name) for name in method_names()]


@cache
def described(name: str) -> dict[str, Any]:
    """One method: what it takes and gives, what it says about itself, and its settings."""
    known = entries().get(name)
    if known is None or known.gives not in RUNNABLE:
        raise Problem(
            404, "not-found", f"There is no method {name!r}.", remedy=f"Choose from: {', '.join(method_names())}."
        )
    kind = known.load()
    return {
        "name": name,
        "takes": known.takes,
        "gives": known.gives,
        "summary": (kind.__doc__ or "").strip().partition("\n")[0],
        "series": bool(getattr(kind, "enters", "")),
        "settings": settings_schema(kind),
    }


@cache
def standing_of(name: str) -> str:
    """Whether what a method guarantees is "proved", "as published" or "refuted"; "none" where it guarantees nothing.

    Found on invented data, with the settings that the method has by itself.
    """
    from discreet.service.runs import RunRequest

    schema = described(name)["settings"]
    usual = {"epsilon": "1", "delta": "1e-6", "cap": 30, "k": 10, "head": 10}
    given = {one: usual[one] for one in schema.get("properties", ()) if one in ("epsilon", "delta")}
    given |= {one: usual[one] for one in schema.get("required", ()) if one in usual}
    request = RunRequest("", name, given, queries={"all_marginals": 1})
    try:
        guarantee = request.guarantee(_invented(entry_of(name).takes))
    except DiscreetError:
        return "none"
    return "none" if guarantee is None else guarantee.standing.value


@cache
def _invented(takes: str) -> Any:
    made: dict[str, Callable[[], Any]] = {
        "interactions": lambda: synthetic.films(users=30, items=20, seed=1),
        "tags": lambda: synthetic.tags(users=30, resources=20, seed=1).with_vocabulary("observed"),
        "table": lambda: synthetic.survey(households=30, seed=1),
    }
    return made[takes]()


def settings_schema(kind: type[Any]) -> dict[str, Any]:
    """The settings of a dataclass as JSON Schema."""
    if not is_dataclass(kind):
        return {"type": "object"}
    hints = _hints(kind)
    properties, required = {}, []
    for one in fields(kind):
        if not one.init:
            continue
        properties[one.name] = _schema_of(hints.get(one.name, Any))
        if one.default is MISSING and one.default_factory is MISSING:
            required.append(one.name)
        elif isinstance(one.default, str | int | float | bool | None):
            properties[one.name] = {**properties[one.name], "default": one.default}
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _hints(kind: type[Any]) -> dict[str, Any]:
    try:
        return get_type_hints(kind)
    except NameError:  # a type that is imported for type checkers alone
        return {}


_PLAIN: dict[Any, dict[str, Any]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    Fraction: {"type": ["string", "number"]},
    Decimal: {"type": ["string", "number"]},
    Unit: {"type": "string"},
    types.NoneType: {"type": "null"},
}


def _schema_of(hint: Any) -> dict[str, Any]:
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(inside)}
    if origin in (Union, types.UnionType):
        options = [schema for one in inside if (schema := _schema_of(one))]
        distinct = [one for place, one in enumerate(options) if one not in options[:place]]
        return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
    if origin in (list, tuple, Sequence) or hint in (list, tuple):
        return {"type": "array"}
    if origin in (dict, Mapping) or hint is dict or is_dataclass(hint):
        return {"type": "object"}
    return {}
