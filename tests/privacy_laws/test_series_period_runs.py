"""Whole series with a window, run on streams that differ in one person's records of one period.

``docs/proofs/periods.md``, Theorem 3: records of a period outside of the window change nothing; those of the only
period that the window meets are one step; those of one of several are two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from tests.privacy_laws.test_series_runs import OTHERS, STEPS, Nights, Rows, counts, night, run_of, visit

from discreet.data.periods import Window
from discreet.factors import PrivateRatings, PrivateRecommender, private_ratings
from discreet.series import opened
from discreet.testing.coupled import CoupledRunError, coupled_run

DAY = 86_400
WINDOW = "1970-01-01..1970-01-04"
"""The four days of the streams."""


def at(person: Any, item: int, day: int) -> tuple[Any, str, int, int, str]:
    """A record of a person with the time of a day."""
    _, name, rating, _, device = visit(person, item, 0)
    return person, name, rating, DAY * day + item, device


RUNS: dict[str, Callable[[Nights, Any], Any]] = {
    "counts": run_of(counts, window=WINDOW),
    "counts from full exports": run_of(counts, window=WINDOW, records="all"),
    "counts by context": run_of(counts, window=WINDOW, contexts=["device=phone,laptop"]),
    "tastes": run_of(lambda: PrivateRecommender(epsilon=10**5, head=5), window=WINDOW, enter_after=2, people=1000),
    "tastes, settled later": run_of(
        lambda: PrivateRecommender(epsilon=10**5, head=5), window=WINDOW, enter_after=3, settle=1, durable=True
    ),
    "ratings": run_of(lambda: PrivateRatings(epsilon=10**6), window=WINDOW, enter_after=2),
}

STRAYS: dict[str, list[Rows]] = {
    **{
        f"outside on step {step}": [[at("p", item, 4) for item in range(4)] if step == t else [] for t in range(STEPS)]
        for step in range(STEPS)
    },
    "before and after, on all steps": [[at("p", t, -1), at("p", t + 1, 4 + t)] for t in range(STEPS)],
    "somebody else's other days": [[at("u0", 7, 9), at("u1", 6, -400)] for _ in range(STEPS)],
    "an id of another type": [[at(17, t, 30)] for t in range(STEPS)],
}


def stream(*parts: list[Rows]) -> Nights:
    return [night([row for part in parts for row in part[t]], repeats=True) for t in range(STEPS)]


@pytest.fixture(autouse=True)
def _few_ratings() -> Any:
    with mock.patch.object(private_ratings, "LEAST_RATINGS", 0):
        yield


@pytest.mark.parametrize("case", RUNS)
def test_records_of_periods_outside_of_the_window_change_nothing(case: str) -> None:
    for name, stray in STRAYS.items():
        if case != "counts" and name not in ("before and after, on all steps", "somebody else's other days"):
            continue  # the others run on all steps at once
        result = coupled_run(RUNS[case], stream(OTHERS, stray), stream(OTHERS))
        assert result.guarantee is not None, name
        assert result.spent.mu_squared == 0, name


# The window in one period, and in two: the first two days, and the other two.

WHOLE = [[at("p", 3 + 2 * t + k, t) for k in range(2)] for t in range(STEPS)]
LATE = [[], [], *WHOLE[2:]]
HIDDEN = [[at("p", 3, 0), at("p", 4, 3)], [], [at("p", 2, 2), at("p", 5, 1)], []]
"""Records that come on other steps than their times say."""
HIDDEN_LATE = [[at("p", 4, 3)], [], [at("p", 2, 2)], []]
PAIRS = {"as they come": (WHOLE, LATE), "late records": (HIDDEN, HIDDEN_LATE)}
NOBODY: list[Rows] = [[] for _ in range(STEPS)]


@pytest.mark.parametrize(("case", "pair"), [*(("counts", one) for one in PAIRS), ("tastes", "late records")])
def test_within_one_period_one_step_and_within_two_one_out_and_one_in(case: str, pair: str) -> None:
    """Without the records of the first two days: the history goes out, and what is left of it comes in."""
    whole, rest = PAIRS[pair]
    out = coupled_run(RUNS[case], stream(OTHERS, whole), stream(OTHERS, NOBODY))
    back = coupled_run(RUNS[case], stream(OTHERS, NOBODY), stream(OTHERS, rest))
    assert out.guarantee is not None
    assert back.guarantee is not None
    assert out.spent.mu_squared  # the runs check that it is within the guarantee


def test_one_step_is_not_enough_where_the_window_meets_two_periods() -> None:
    """The pair costs more than one user, so that charging one step to each period would be wrong."""
    before: Rows = [at("p", item, 0) for item in range(4)]
    after: Rows = [at("p", item, 3) for item in range(4, 8)]
    first, second = [before, [], [], after], [[], [], [], after]
    with pytest.raises(CoupledRunError, match=r"spends .* and says that it spends"):
        coupled_run(RUNS["counts"], stream(OTHERS, first), stream(OTHERS, second))


# Broken versions


def broken(held: Callable[..., Any]) -> list[str]:
    found = []
    with mock.patch.object(opened, "held_to", held):
        for name, stray in STRAYS.items():
            try:
                result = coupled_run(RUNS["counts"], stream(OTHERS, stray), stream(OTHERS))
                assert result.spent.mu_squared == 0
            except (CoupledRunError, AssertionError):
                found.append(name)
    return found


def test_a_window_that_is_not_applied_is_caught() -> None:
    assert "outside on step 0" in broken(lambda data, window: data)


def test_a_window_that_ends_a_day_late_is_caught() -> None:
    def late(data: Any, window: Window) -> Any:
        return data.filter(data.timestamp < window.end + DAY, independent="record")

    assert broken(late)


def test_a_window_that_drops_people_is_caught() -> None:
    """Whoever has a record of another day is left out as a whole: then that record changes something."""

    def people(data: Any, window: Window) -> Any:
        inside = window.contains(data.timestamp)
        outside = set(data.user[~inside].tolist())
        return data.filter(inside & [one not in outside for one in data.user.tolist()], independent="record")

    assert "somebody else's other days" in broken(people)
