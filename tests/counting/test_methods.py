"""Ways to count by name."""

from __future__ import annotations

import pytest

import discreet as dc
from discreet.counting import METHODS, ClippedCounts, ItemCounts, count_method, method_class, usual_method
from discreet.counting.counts import CountMethod
from discreet.counting.methods import settings_of
from discreet.errors import UsageError


@pytest.mark.parametrize("name", METHODS)
def test_every_name_stands_for_a_way_to_count(name: str) -> None:
    kind = method_class(name)
    assert issubclass(kind, CountMethod)
    assert kind.name == name
    assert "epsilon" in settings_of(name)


def test_settings_go_to_the_method() -> None:
    assert count_method("weighted", epsilon="1/2", cap=7) == ItemCounts.of(epsilon="1/2", cap=7)


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("guessing", {}, "guessing"),
        ("weighted", {"epsilon": 1}, "cap"),
        ("weighted", {"epsilon": 1, "cap": 3, "taste": 1}, "taste"),
        ("weighted", {"epsilon": 0, "cap": 3}, "epsilon"),
    ],
)
def test_mistakes_are_named(name: str, settings: dict, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        count_method(name, **settings)


def test_what_is_usual() -> None:
    assert usual_method(epsilon=1) == ItemCounts.of(epsilon=1, cap=30)
    assert usual_method(epsilon=1, cap=4, item_share="1/3") == ItemCounts.of(epsilon=1, cap=4, item_share="1/3")
    assert usual_method(epsilon=1, delta="1e-6") == ClippedCounts.of(epsilon=1, delta="1e-6", norm_squared=100)
    assert usual_method(epsilon=1, delta="1e-6", cap=9) == ClippedCounts.of(epsilon=1, delta="1e-6", norm_squared=9)
    assert usual_method("sra", epsilon=1).parameters["cap"] == 30
    head_tail = usual_method("head-tail", epsilon=1, head=3, head_cap=1, tail_cap=2)
    assert head_tail.parameters["head"] == 3
    for wrong in ({}, {"epsilon": 1, "delta": "1e-6", "name": "weighted"}, {"epsilon": 1, "name": "clipped"}):
        with pytest.raises(UsageError, match=r"epsilon|delta"):
            usual_method(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["weighted", "sra", "hpa", "lpa", "hybrid"])
def test_a_method_counts_by_context(name: str) -> None:
    visits = dc.synthetic.checkins(users=30, items=12, seed=1)
    release = count_method(name, epsilon=2, cap=5).release(visits, contexts=["weekday"])
    assert release.kind == "item-counts"
    assert release.table("counts").height == 12
    assert release.table("edges").height == 12 * 7
    assert release.parameters["edge_noise_sd"] > 0
