"""Several curators of tags or of tables, run with and without one person, assignment, row or group of rows.

The unit is in the data of one curator. What the other releases is the same in both runs, so its noise is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from unittest import mock

import numpy as np
import pytest

from discreet.combining import combine, release_round
from discreet.combining.rounds import OneRound
from discreet.coupled import Coupling, all_marginals, random_queries
from discreet.coupled.query_method import QuerySetting
from discreet.models.registry import create, names, registered
from discreet.privacy.draws import Draw, watched
from discreet.privacy.method import Method
from discreet.privacy.release import Release
from discreet.privacy.units import Unit
from discreet.testing.coupled import CoupledRunError, coupled_run
from discreet.testing.neighboring import NeighboringPair, table_pairs, tag_pairs


@dataclass(frozen=True)
class Case:
    """A method, and the units that its guarantee is about."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    unit: Unit = field(default_factory=Unit)
    ways: int = 0

    def __str__(self) -> str:
        return f"{self.name} {self.settings or ''} {self.unit.code} {self.ways or ''}".strip()

    @property
    def of_tags(self) -> bool:
        return self.name in names("tags")

    def pairs(self) -> Iterator[NeighboringPair]:
        return tag_pairs(self.unit) if self.of_tags else table_pairs(rows=self.unit.size)

    def method(self, epsilon: float = 2) -> Method:
        return create(self.name, epsilon=epsilon, **self.settings)

    def asked(self, data: Any) -> tuple[list[Any], dict[str, Any]]:
        """The queries, and which rows depend on each other."""
        if self.of_tags:
            return [], {}
        workload = all_marginals(data, self.ways) if self.ways else random_queries(data, 6, seed=3)
        return [workload], ({"coupling": Coupling.by_group(data).at_most(2)} if self.unit.what == "group" else {})

    def round(self, method: Method, data: Any, after: Release | None, ledger: Any = None) -> Release:
        asked, options = self.asked(data)
        return release_round(method, data, *asked, after=after, ledger=ledger, **options)


ROW, GROUP, ASSIGNMENT = Unit("record", "replace"), Unit("group", "replace", 2), Unit("record")

CASES = [
    Case("ptr-j", {"delta": "1e-6", "gram_share": "1/4", "head": 3, "resources": 2}),
    Case("ptr-j", {"resources": 2}),
    Case("ptr-j", {"unit": "assignment"}, ASSIGNMENT),
    Case("ptr-s", {"delta": "1e-6", "users": 4}),
    Case("private-topics", {"topics": 2}),
    *(
        Case(name, settings, unit, ways)
        for unit, ways in ((ROW, 0), (GROUP, 1))
        for name, settings in (
            ("histogram", {}),
            ("shrunk-histogram", {"delta": "1e-6"}),
            ("marginals", {"delta": "1e-6"}),
            ("marginals", {"nonnegative": False}),
            ("strategy", {}),
            ("strategy", {"strategy": "cells", "nonnegative": True, "delta": "1e-6"}),
            ("lm-gs", {}),
        )
    ),
]

REFUSED = {"ptr-t", "pmw", "mwem", "tree", "lm-cs", "cim", "pritop", "tag-suppression"}


class _WithoutNoise:
    """Gives the sums themselves: for curators whose data are the same in both runs."""

    def drawn(self, draw: Draw, sample: Callable[[], Any]) -> Any:
        return draw.secret.copy()


def run_of(case: Case, *, hostile: Callable[[Release], Release] | None = None) -> Callable[[Any, Any], Any]:
    """All rounds of the first curator, each combined with those of a second one who spends half as much."""
    other = max((pair.first for pair in case.pairs()), key=len)
    mine, theirs = case.method(2), case.method(1)

    def run(data: Any, ledger: Any) -> Any:
        seen: list[Any] = []
        after: Release | None = None
        while after is None or after.kind == "round":
            part = case.round(mine, data, after, ledger)
            with watched(_WithoutNoise()):
                quiet = case.round(theirs, other, after)
            after = combine(part, quiet, people="disjoint")
            seen += [dict(part.parts), str(part.parameters), str(part.guarantee.to_json()), dict(after.parts)]
            if hostile is not None and after.kind == "round":
                after = hostile(after)
        return {"seen": seen, "last": after}

    return run


@pytest.fixture(autouse=True)
def one_moment() -> Iterator[None]:
    """A release has the time in its id, and later rounds name it."""
    with mock.patch("discreet.privacy.release.datetime") as clock:
        clock.now.return_value = datetime(2026, 1, 1, tzinfo=UTC)
        yield


def test_every_method_of_tags_and_tables_is_here() -> None:
    known = {name for gives in ("tags", "answers") for name in names(gives) if issubclass(registered(name), Method)}
    assert known == {case.name for case in CASES} | (REFUSED & known)
    for name in REFUSED & known:
        kind = registered(name)
        assert kind.reads != "sums" or name in ("ptr-t", "mwem", "tree")  # these refuse by themselves (tests/combining)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_one_unit_changes_nothing_but_what_is_paid_for(case: Case) -> None:
    run, spent = run_of(case), []
    pairs = list(case.pairs())
    for pair in pairs[:: max(1, len(pairs) // 6)]:
        try:
            result = coupled_run(run, pair.first, pair.second)
        except AssertionError as error:
            raise AssertionError(f"{case}, {pair}: {error}") from error
        if result.guarantee is not None:
            # Of the two budgets the larger one is promised, exactly.
            assert result.guarantee.unit == case.unit
            assert result.guarantee.loss == case.method(2)._budget.loss
            spent.append(result.spent)
    assert len(spent) >= 4


FIRST_ROUNDS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "nothing": np.zeros_like,
    "everything below zero": lambda array: np.full_like(array, -(2**50)),
    "everything huge": lambda array: np.full_like(array, 2**55),
    "one tag alone": lambda array: np.where(np.arange(array.size).reshape(array.shape) == 0, 2**50, 0),
}


@pytest.mark.parametrize("first", FIRST_ROUNDS)
@pytest.mark.parametrize("case", [case for case in CASES if case.of_tags], ids=str)
def test_any_first_round_is_public_input(case: Case, first: str) -> None:
    """Whoever made the round before, and however wrong it is: what is spent stays within the promise."""

    def hostile(after: Release) -> Release:
        change = FIRST_ROUNDS[first]
        arrays = {name: np.asarray(part) for name, part in after.parts.items() if name.startswith("round")}
        # Matrices are in units of the sums, of 2^−20 each.
        changed = {
            name: (change(part) * (2.0**-20 if part.dtype == np.float64 else 1)).astype(part.dtype)
            for name, part in arrays.items()
        }
        return replace(after, parts={**after.parts, **changed}, id="")

    run, pairs, ran = run_of(case, hostile=hostile), list(case.pairs()), 0
    for pair in pairs[:: max(1, len(pairs) // 3)]:
        ran += coupled_run(run, pair.first, pair.second).guarantee is not None
    assert ran


# Broken versions


def caught(case: Case) -> bool:
    """Whether some pair tells a broken version from what it promises."""
    run = run_of(case)
    for pair in case.pairs():
        try:
            coupled_run(run, pair.first, pair.second)
        except CoupledRunError:
            return True
    return False


@pytest.mark.parametrize("case", [CASES[0], CASES[2], CASES[5]], ids=str)
def test_noise_for_twice_the_budget_is_caught(case: Case) -> None:
    rounds = OneRound._rounds

    def quiet_rounds(self: OneRound, plan: Any) -> Any:
        amounts = [next(iter(vars(one).values())) for one in plan.public.mechanisms]
        twice = tuple(type(one)(2 * amount) for one, amount in zip(plan.public.mechanisms, amounts, strict=True))
        return rounds(self, replace(plan, public=replace(plan.public, mechanisms=twice)))

    with mock.patch.object(OneRound, "_rounds", quiet_rounds):
        assert caught(case)


def test_bounds_of_single_rows_for_groups_are_caught() -> None:
    case = next(case for case in CASES if case.unit == GROUP)
    with mock.patch.object(QuerySetting, "largest", 1):
        assert caught(case)
