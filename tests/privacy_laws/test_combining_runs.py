"""Several curators, run with and without one person: round by round, whatever the rounds before were.

The person is in the data of one curator. What the others release is the same in both runs, so their noise is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import pytest

from discreet.combining import combine, release_round
from discreet.combining import rounds as rounds_module
from discreet.combining.rounds import OneRound
from discreet.combining.stages import Step
from discreet.data.interactions import Interactions
from discreet.factors import private_ratings, tastes
from discreet.models.registry import create, names, registered
from discreet.privacy.draws import Draw, watched
from discreet.privacy.losses import GaussianLoss
from discreet.privacy.method import Method
from discreet.privacy.release import Release
from discreet.privacy.units import Unit
from discreet.testing.coupled import CoupledRunError, coupled_run
from discreet.testing.neighboring import NeighboringPair, interaction_pairs

METHODS: dict[str, dict[str, Any]] = {
    "private-recommender": {"epsilon": 2},
    "private-ratings": {"epsilon": 2},
    "private-item-knn": {"epsilon": 2, "cap": 3},
    "private-slope-one": {"epsilon": 2, "delta": "1e-6", "cap": 3},
    "private-cosine": {"epsilon": 2, "delta": 0, "cap": 3},
    "dp-als": {"epsilon": 2, "factors": 2, "rounds": 2, "cap": 3},
    "context-popularity": {"epsilon": 2, "cap": 3},
    "weighted": {"epsilon": 2, "cap": 3},
    "hybrid": {"epsilon": 2, "cap": 3},
    "item-pairs": {"epsilon": 2, "cap": 3, "head": 4},
}


class _WithoutNoise:
    """Gives the sums themselves: for curators whose records are the same in both runs."""

    def drawn(self, draw: Draw, sample: Callable[[], Any]) -> Any:
        return draw.secret.copy()


def quiet(method: Method, data: Interactions, after: Release | None, **options: Any) -> Release:
    with watched(_WithoutNoise()):
        return release_round(method, data, after=after, **options)


def run_of(
    name: str,
    other: Interactions,
    *,
    hostile: Callable[[Release], Release] | None = None,
    options: Mapping[str, Any] | None = None,
    **changed: Any,
) -> Callable[[Interactions, Any], Any]:
    """All rounds of the first curator, each combined with those of a second one who spends half as much."""
    settings = METHODS[name] | changed
    mine, theirs = create(name, **settings), create(name, **{**settings, "epsilon": settings["epsilon"] / 2})

    def run(data: Interactions, ledger: Any) -> Any:
        seen: list[Any] = []
        after: Release | None = None
        while after is None or after.kind == "round":
            part = release_round(mine, data, after=after, ledger=ledger, **(options or {}))
            after = combine(part, quiet(theirs, other, after, **(options or {})), people="disjoint")
            seen += [dict(part.parts), str(part.parameters), str(part.guarantee.to_json()), dict(after.parts)]
            if hostile is not None and after.kind == "round":
                after = hostile(after)
        return {"seen": seen, "last": after}

    return run


def pairs() -> Iterator[NeighboringPair]:
    return interaction_pairs(Unit("user"))


@cache
def other() -> Interactions:
    """The second curator's records."""
    return max((pair.first for pair in pairs()), key=len)


@pytest.fixture(autouse=True)
def one_moment() -> Iterator[None]:
    """A release has the time in its id, and later rounds name it."""
    with mock.patch("discreet.privacy.release.datetime") as clock:
        clock.now.return_value = datetime(2026, 1, 1, tzinfo=UTC)
        yield


ROUTES = {"tastes": 0, "more popularity, then tastes": 2, "popularity": None}
"""What the recommender goes on with after its first round: the place of the share that popularity needs, if any."""

CASES = [(name, route) for name in METHODS for route in (ROUTES if name == "private-recommender" else ["tastes"])]


@pytest.fixture(autouse=True)
def every_round(request: pytest.FixtureRequest) -> Iterator[None]:
    """What is learned from many people only is learned from few here, so that every round is seen.

    So few people would always leave the recommender with popularity. Here the case says what it goes on with.
    """
    case = getattr(request.node, "callspec", None)
    place = ROUTES[case.params.get("route", "tastes") if case else "tastes"]

    def needed(spread: Any, whole: float, shares: np.ndarray) -> float | None:
        return None if place is None else float(shares[place])

    with (
        mock.patch.multiple(tastes, CROSSOVER=0, share_needed=needed),
        mock.patch.multiple(private_ratings, LEAST_RATINGS=0, CROSSOVER=0),
    ):
        yield


def test_every_method_of_sums_over_records_is_here() -> None:
    made_of_sums = {
        name
        for gives in ("recommender", "counts", "pairs")
        for name in names(gives)
        if issubclass(kind := registered(name), Method) and kind.reads == "sums"
    }
    published = {"sra", "hpa", "lpa", "dft", "gs"}  # nothing is proved about them, or they choose by scores
    assert made_of_sums - published == set(METHODS)


@pytest.mark.parametrize(("name", "route"), CASES)
def test_one_person_changes_nothing_but_what_is_paid_for(name: str, route: str) -> None:
    run, spent = run_of(name, other()), []
    for pair in pairs():
        try:
            result = coupled_run(run, pair.first, pair.second)
        except AssertionError as error:
            raise AssertionError(f"{name}, {pair}: {error}") from error
        if result.guarantee is not None:
            # Of the two budgets the larger one is promised, exactly.
            assert result.guarantee.loss == create(name, **METHODS[name]).plan(pair.first).loss
            spent.append(result.spent)
    assert len(spent) >= 5


@pytest.mark.parametrize(
    ("name", "settings", "options"),
    [
        ("context-popularity", {"contexts": ["device=phone,laptop,radio", "age=<25,25+"], "delta": "1e-6"}, {}),
        ("hybrid", {}, {"contexts": ["device=phone,laptop", "age=<25,25+"]}),
        ("weighted", {}, {"contexts": ["weekday"]}),
    ],
)
def test_counts_by_context(name: str, settings: dict[str, Any], options: dict[str, Any]) -> None:
    ran, every = 0, list(interaction_pairs(Unit("user"), rated=False, context=True))
    rest = max((pair.first for pair in every), key=len)
    run = run_of(name, rest, options=options, **settings)
    for pair in every[::3]:
        ran += coupled_run(run, pair.first, pair.second).guarantee is not None
    assert ran >= 3


def _shifted(by: Callable[[np.ndarray], np.ndarray]) -> Callable[[Release], Release]:
    def change(after: Release) -> Release:
        arrays = {name: part for name, part in after.parts.items() if name.startswith("round")}
        changed = {name: by(np.asarray(part)).astype(part.dtype) for name, part in arrays.items()}  # type: ignore[union-attr]
        return replace(after, parts={**after.parts, **changed}, id="")

    return change


FIRST_ROUNDS: dict[str, Callable[[Release], Release]] = {
    "nothing": _shifted(np.zeros_like),
    "everything below zero": _shifted(lambda array: np.full_like(array, -(2**50))),
    "everything huge": _shifted(lambda array: np.full_like(array, 2**55)),
    "one item alone": _shifted(lambda array: np.where(np.arange(array.size).reshape(array.shape) == 0, 2**50, 0)),
}


@pytest.mark.parametrize("first", FIRST_ROUNDS)
@pytest.mark.parametrize(
    ("name", "route"), [case for case in CASES if case[0] not in ("weighted", "context-popularity")]
)
def test_any_first_round_is_public_input(name: str, route: str, first: str) -> None:
    """Whoever made the round before, and however wrong it is: what is spent stays within the promise."""
    run, ran = run_of(name, other(), hostile=FIRST_ROUNDS[first]), 0
    for pair in list(pairs())[::6]:
        ran += coupled_run(run, pair.first, pair.second).guarantee is not None
    assert ran or name == "dp-als"  # normal equations of nothing have no solution, which is found before the charge


def test_the_budget_is_reached_by_somebody() -> None:
    spent = [coupled_run(run_of("weighted", other()), pair.first, pair.second).spent.pure for pair in pairs()]
    assert 1.99 < max(float(one) for one in spent if one is not None) <= 2


# Broken versions


def violations(run: Callable[[Interactions, Any], Any]) -> list[str]:
    """Pairs that a broken version is caught by. It has to run: one that refuses shows nothing about the check."""
    found = []
    for pair in pairs():
        try:
            result = coupled_run(run, pair.first, pair.second)
        except CoupledRunError:
            found.append(str(pair))
        else:
            assert not result.refusal, result.refusal
    return found


@pytest.mark.parametrize(("route", "rounds"), [("tastes", 2), ("more popularity, then tastes", 3), ("popularity", 2)])
def test_the_whole_budget_in_every_round_is_caught(route: str, rounds: int) -> None:
    def greedy(step: Step, loss: Any) -> tuple[Any, ...]:
        return tuple(type(one)(loss.mu_squared) for one in step.mechanisms)

    budget = create("private-recommender", **METHODS["private-recommender"]).plan(other()).loss
    with mock.patch.object(Step, "paid_by", greedy):
        promised = run_of("private-recommender", other())(other(), None)["last"].guarantee.loss
    assert promised.mu_squared == rounds * budget.mu_squared  # the promise is true, and far more than was asked for
    assert run_of("private-recommender", other())(other(), None)["last"].guarantee.loss == budget


@pytest.mark.parametrize("route", ROUTES)
def test_noise_for_the_budget_of_all_rounds_is_caught(route: str) -> None:
    """A round that says its share and draws noise for the whole budget."""
    rounds = OneRound._rounds

    def quiet_rounds(self: OneRound, plan: Any) -> Any:
        whole = tuple(
            type(one)(one.mu_squared / share)
            for one, share in zip(plan.public.mechanisms, plan.public.step.shares, strict=True)
        )
        return rounds(self, replace(plan, public=replace(plan.public, mechanisms=whole)))

    with mock.patch.object(OneRound, "_rounds", quiet_rounds):
        assert violations(run_of("private-recommender", other()))


@pytest.mark.parametrize("route", ROUTES)
def test_a_first_round_that_is_not_charged_is_caught(route: str) -> None:
    """The second round alone is charged."""
    settings, rest = METHODS["private-recommender"], other()
    method = create("private-recommender", **settings)

    def run(data: Interactions, ledger: Any) -> Any:
        first = release_round(method, data)
        after = combine(first, quiet(method, rest, None), people="disjoint")
        return release_round(method, data, after=after, ledger=ledger)

    assert violations(run)


@pytest.mark.parametrize("route", ROUTES)
def test_the_strongest_of_the_guarantees_is_caught(route: str) -> None:
    """A combination that promises what its strictest curator does."""
    from discreet.combining import promises

    def strongest(losses: Any, delta: Fraction | None = None) -> Any:
        return min(losses, key=lambda one: one.mu_squared)

    with mock.patch.object(promises, "weakest", strongest):
        assert violations(run_of("private-recommender", other()))


def test_what_later_rounds_are_about_must_not_follow_from_the_records() -> None:
    """A curator who decides about the second round by their own records, and not by what was combined."""
    real = rounds_module.by_round

    def run(data: Interactions, ledger: Any) -> Any:
        own = np.append(np.bincount(data.item, minlength=data.n_items), data.n_users).astype(np.int64) << 20
        with mock.patch.object(rounds_module, "by_round", lambda parts, rounds: [[own]] if rounds else []):
            return run_of("private-recommender", other())(data, ledger)

    assert violations(run)
    assert rounds_module.by_round is real


def test_people_in_two_parts_lose_what_both_spend() -> None:
    """Declared disjoint, such a person is not covered; without the declaration the guarantee is for both."""

    def run(people: Any) -> Callable[[Interactions, Any], Any]:
        def both(data: Interactions, ledger: Any) -> Any:
            method = create("weighted", epsilon=1, cap=3, delta="1e-6")
            return combine(*(method.release(data, ledger=ledger) for _ in range(2)), people=people)

        return both

    assert violations(run("disjoint"))
    assert not violations(run("may-overlap"))
    loss = run("may-overlap")(other(), None).guarantee.loss
    assert isinstance(loss, GaussianLoss)
    assert loss.mu_squared == 2 * create("weighted", epsilon=1, cap=3, delta="1e-6").plan(other()).loss.mu_squared
