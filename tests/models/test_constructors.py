"""What every registered method and model guarantees about its settings: one interface, no exceptions."""

from __future__ import annotations

import json
from dataclasses import is_dataclass
from fractions import Fraction
from functools import cache
from inspect import signature
from typing import Any

import pytest

import discreet as dc
from discreet.coupled import random_queries
from discreet.errors import UsageError
from discreet.models.registry import REGISTRY, Entry, create, settings_of
from discreet.privacy import Unit
from discreet.privacy.method import Method
from discreet.privacy.numbers import as_fraction

ENTRIES = list(REGISTRY.values())
METHODS = [entry for entry in ENTRIES if issubclass(entry.load(), Method)]
NEEDED: dict[str, Any] = {"epsilon": 1, "cap": 3, "head": 4}
"""A value for each setting that some entry requires."""

NORMAL_NOISE = {"private-recommender", "private-ratings", "dp-als", "synthetic-interactions"}
"""Models and methods that have no pure variant and say so."""

FREE = {"positive", "features", "contexts", "settings"}
"""Settings of which every number, or every name, may mean something: the data decide."""

WRONG: dict[str, tuple[Any, ...]] = {
    "epsilon": (0, -1, "much", float("nan"), float("inf")),
    "delta": (-1, 1, "little"),
    "unit": ("planet",),
    "method": ("guess",),
    "k": (0, -1),
    "axis": ("row",),
    "candidates": ("some",),
    "centering": ("median",),
    "weighting": ("none",),
    "fallback": (3,),
    "similarity": ("nearness",),
    "ties": ("coin", "attacker"),
    "reading": ("literal",),
    "rs": (0, -1, "most", True),
    "rs_cap": (0, -1),
    "smoothing": (-0.1, float("inf"), float("nan")),
    "laplace": ("1", "3k"),
    "c0": ("none",),
    "rho": (0, 1),
    "beta": (0, -1),
    "floor": (-1, 1.5),
}
"""Values that make no sense for a setting; -1 for all others."""


def with_setting(name: str) -> list[Entry]:
    return [entry for entry in ENTRIES if name in settings_of(entry.load())]


def made(entry: Entry, **settings: Any) -> Any:
    required = {name: NEEDED[name] for name, needed in settings_of(entry.load()).items() if needed}
    return create(entry.name, entry.gives, **{**required, **settings})


def named(entry: Entry) -> str:
    return entry.name


@pytest.mark.parametrize("entry", ENTRIES, ids=named)
def test_settings_are_the_fields_of_a_dataclass(entry: Entry) -> None:
    kind = entry.load()
    assert is_dataclass(kind)
    assert kind.name == entry.name


@pytest.mark.parametrize("entry", with_setting("epsilon"), ids=named)
def test_epsilon_is_required_first_and_exact(entry: Entry) -> None:
    first = next(iter(signature(entry.load()).parameters.values()))
    assert (first.name, first.default) == ("epsilon", first.empty)
    for epsilon in ("1/2", 0.5, Fraction(1, 2)):
        assert as_fraction(made(entry, epsilon=epsilon).parameters["epsilon"]) == Fraction(1, 2)
    with pytest.raises(UsageError, match="needs epsilon"):
        create(entry.name, entry.gives)


@pytest.mark.parametrize("entry", METHODS, ids=named)
def test_methods_have_an_epsilon(entry: Entry) -> None:
    assert "epsilon" in settings_of(entry.load())


@pytest.mark.parametrize("entry", with_setting("delta"), ids=named)
def test_a_delta_of_zero_means_pure(entry: Entry) -> None:
    if entry.name in NORMAL_NOISE:
        with pytest.raises(UsageError, match="delta must be above 0"):
            made(entry, delta=0)
    else:
        assert planned(made(entry, delta=0), entry).loss.kind == "pure"
    assert planned(made(entry, delta="1e-6"), entry).loss.kind != "pure"


@pytest.mark.parametrize("entry", with_setting("unit"), ids=named)
def test_a_unit_is_a_word_or_a_unit(entry: Entry) -> None:
    assert made(entry, unit="user").parameters == made(entry, unit=Unit("user")).parameters


@pytest.mark.parametrize("entry", ENTRIES, ids=named)
def test_wrong_settings_fail_in_the_constructor(entry: Entry) -> None:
    usual = made(entry)
    for name in settings_of(entry.load()):
        if name in FREE or isinstance(getattr(usual, name), bool):
            continue
        for wrong in WRONG.get(name, (-1,)):
            with pytest.raises(UsageError):
                assert not made(entry, **{name: wrong}), f"{entry.name} takes {name} = {wrong!r}"


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry.gives != "tag recommender"], ids=named)
def test_parameters_make_the_same_again(entry: Entry) -> None:
    model = made(entry)
    saved = json.loads(json.dumps(model.parameters))
    known = {name: value for name, value in saved.items() if name in settings_of(entry.load())}
    assert set(known) == set(settings_of(entry.load()))
    assert create(entry.name, entry.gives, **known).parameters == model.parameters


@pytest.mark.parametrize("entry", METHODS, ids=named)
def test_an_estimate_tells_the_loss_and_the_standing(entry: Entry) -> None:
    told = asked("estimate", made(entry), entry)
    assert {"loss", "standing"} <= set(told)
    assert json.dumps(told, default=str)


# Data for every method


@cache
def data_for(takes: str) -> tuple[Any, ...]:
    if takes == "tags":
        tags = dc.synthetic.tags(users=20, resources=8, vocabulary=24, seed=7)
        return (tags.with_vocabulary("observed").with_resources("observed"),)
    if takes == "interactions":
        return (dc.synthetic.films(users=30, items=12, seed=7),)
    table = dc.synthetic.survey(households=10, seed=1)
    return table, random_queries(table, 4, seed=3)


def asked(what: str, method: Any, entry: Entry) -> Any:
    further = {"users": 500} if "users" in signature(getattr(method, what)).parameters else {}
    return getattr(method, what)(*data_for(entry.takes), **further)


def planned(method: Any, entry: Entry) -> Any:
    return asked("plan", method, entry)
