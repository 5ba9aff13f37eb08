"""The coupled run on branches and settings that small datasets do not reach by themselves.

What decides about a branch is public or released, so a test may set it: tastes and factors are learned from a handful
of people here, where the models would rank by popularity.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from unittest import mock

import polars as pl
import pytest
from tests.privacy_laws.test_coupled_runs import USER, Case, count, model, other, queries, synthesized, tags
from tests.privacy_laws.test_coupled_runs import (
    test_a_neighboring_dataset_changes_nothing_but_what_is_paid_for as check,
)

from discreet.counting import TopItems
from discreet.factors import SyntheticInteractions, popular, private_ratings, synthetic_drawing, tastes
from discreet.privacy.units import Unit
from discreet.testing.neighboring import NeighboringPair, interaction_pairs


def dated() -> Iterator[NeighboringPair]:
    return interaction_pairs(USER, rated=False, context=True)


def by_own_history(records: pl.DataFrame) -> list[int]:
    """Scores that would be others if the table held one record more."""
    return [(place + 1) * records.height % 7 for place in range(records.height)]


LEARNED = [
    model("private-recommender", head=4),
    model("private-recommender", rated=False, epsilon=8),
    model("private-ratings"),
    model("private-ratings", epsilon=8),
]

SETTINGS = [
    count("hybrid", epsilon=1, cap=2, delta="1e-6"),
    count("hybrid", epsilon=1, cap=2, delta="1e-6", contexts=("weekday",), repeats=True),
    count("hpa", epsilon=1, cap=1, contexts=("device=phone,laptop",), score="device"),
    count("hpa", epsilon=1, cap=1, contexts=("weekday",), score="timestamp"),
    count("hpa", epsilon=1, cap=1, contexts=("weekday",), repeats=True, score=by_own_history),
    count("dft", epsilon=1, cap=2, delta="1e-6"),
    count("dft", epsilon="1e-7", cap=2, contexts=("weekday",), repeats=True),
    *[
        other(
            "top-items",
            lambda data, ledger, s=settings: TopItems(**s).release(data, contexts=("weekday",), ledger=ledger),
            dated,
            label=f"weekday {settings}",
        )
        for settings in (
            {"k": 2, "epsilon": 1, "count_share": "1/2", "count_cap": 1},
            {"k": 2, "epsilon": 1, "delta": "1e-6", "count_share": "1/2"},
            {"k": 2, "epsilon": 1, "one_context_each": True},
        )
    ],
    tags("ptr-j", epsilon=1, delta="1e-6", gram_share="1/4"),
    tags("ptr-j", epsilon=1, delta=0, gram_share="1/4", resources=0),
    tags("ptr-t", Unit("record", "value"), epsilon=2, delta="1e-6", popularity_share="1/2"),
    queries("pmw", epsilon=20, delta="1e-6", updates=3),
    queries("mwem", epsilon=1, delta="1e-6", rounds=3),
    queries("shrunk-histogram", epsilon=4, delta="1e-6"),
    queries("strategy", epsilon=1, delta="1e-6", household=True),
]


@pytest.mark.parametrize("case", LEARNED, ids=str)
def test_tastes_and_factors(case: Case) -> None:
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(tastes, "CROSSOVER", 0))
        stack.enter_context(mock.patch.object(popular, "TOLERATED", 1))
        stack.enter_context(mock.patch.object(private_ratings, "CROSSOVER", 0))
        stack.enter_context(mock.patch.object(private_ratings, "LEAST_RATINGS", 0))
        fitted = case.run(next(case.pairs()).first, None)["model"]
        assert {"tastes", "residuals"} & set(fitted.release_.parts)
        check(case)


TASTES: list[tuple[dict[str, Any], dict[str, bool]]] = [
    ({"epsilon": 1, "head": 4}, {"rated": True}),
    ({"epsilon": 8}, {"rated": False}),
]
SYNTHESIZED = [
    other(
        "synthetic-interactions",
        lambda data, ledger, s=settings: SyntheticInteractions(**s).release(data, ledger=ledger),
        synthesized(**records),
        label=f"{settings} {' '.join(records)}".strip(),
    )
    for settings, records in TASTES
]


@pytest.mark.parametrize("case", SYNTHESIZED, ids=str)
def test_people_with_tastes(case: Case) -> None:
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(tastes, "CROSSOVER", 0))
        stack.enter_context(mock.patch.object(synthetic_drawing, "SIMULATED", 64))
        assert "fitted-directions" in case.run(next(case.pairs()).first, None).parts
        check(case)


@pytest.mark.parametrize("case", LEARNED[:2], ids=str)
def test_tastes_after_popularity_again(case: Case) -> None:
    """Where the first release is too noisy, there are three: their shares add up to the budget."""
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(tastes, "CROSSOVER", 0))
        stack.enter_context(mock.patch.object(tastes, "share_needed", lambda spread, whole, shares: shares[2]))
        fitted = case.run(next(case.pairs()).first, None)["model"]
        assert {"first", "more", "tastes"} <= set(fitted.release_.parts)
        check(case)


@pytest.mark.parametrize("case", SETTINGS, ids=lambda case: re.sub(" at 0x[0-9a-f]+", "", str(case)))
def test_other_settings(case: Case) -> None:
    check(case)
