"""Counting methods by name."""

from __future__ import annotations

import pytest

import discreet as dc
from discreet.counting import ItemCounts
from discreet.counting.counts import CountMethod
from discreet.errors import UsageError
from discreet.models.registry import create, names, registered, settings_of


@pytest.mark.parametrize("name", names("counts"))
def test_every_name_stands_for_a_counting_method(name: str) -> None:
    kind = registered(name, "counts")
    assert issubclass(kind, CountMethod)
    assert kind.name == name
    assert next(iter(settings_of(kind))) == "epsilon"
    # Everything but the budget has a default.
    assert create(name, "counts", epsilon=1).parameters["epsilon"] == "1"


def test_settings_go_to_the_method() -> None:
    assert create("weighted", "counts", epsilon="1/2", cap=7) == ItemCounts(epsilon="1/2", cap=7)


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("guessing", {}, "guessing"),
        ("weighted", {"cap": 3}, "epsilon"),
        ("weighted", {"epsilon": 1, "cap": "1/2"}, "cap"),
        ("clipped", {"epsilon": 1}, "clipped"),
        ("weighted", {"epsilon": 1, "cap": 3, "taste": 1}, "taste"),
        ("weighted", {"epsilon": 0, "cap": 3}, "epsilon"),
    ],
)
def test_mistakes_are_named(name: str, settings: dict, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        create(name, "counts", **settings)


def test_what_is_usual() -> None:
    assert create("weighted", epsilon=1) == ItemCounts(epsilon=1, cap=30, item_share="1/2")
    assert create("weighted", epsilon=1, delta="1e-6") == ItemCounts(1, 100, "1e-6", item_share="1/4")
    assert create("sra", epsilon=1).parameters["cap"] == 30


@pytest.mark.parametrize("number", ["1/2", 0.5, "0.5"])
def test_numbers_are_exact_however_they_are_given(number) -> None:
    assert ItemCounts(number, 3, delta="1e-6") == ItemCounts("1/2", 3, delta=1e-6)
    assert ItemCounts(number, 3).parameters["epsilon"] == "1/2"


@pytest.mark.parametrize("name", ["weighted", "sra", "hpa", "lpa"])
def test_a_method_counts_by_context(name: str) -> None:
    visits = dc.synthetic.checkins(users=30, items=12, seed=1)
    release = create(name, "counts", epsilon=2, cap=5).release(visits, contexts=["weekday"])
    assert release.kind == "item-counts"
    assert release.table("counts").height == 12
    assert release.table("edges").height == 12 * 7
    assert release.parameters["edge_noise_sd"] > 0
