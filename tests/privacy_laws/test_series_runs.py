"""Whole series, run on streams that differ in one person: who comes on one step, on all of them, or on none."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import polars as pl
import pytest

from discreet.counting import ContextPopularity, ItemCounts
from discreet.data.interactions import Interactions
from discreet.factors import PrivateRatings, PrivateRecommender, private_ratings
from discreet.neighbors import PrivateItemKNN
from discreet.privacy.series import Factorization
from discreet.series import Series, entering
from discreet.testing.coupled import CoupledResult, CoupledRunError, coupled_run

ITEMS = tuple(f"i{number}" for number in range(8))
STEPS = 4

Rows = list[tuple[Any, str, int, int, str]]
Nights = list[Interactions]


def night(rows: Rows, *, repeats: bool = False) -> Interactions:
    names = ("user_id", "item_id", "rating", "timestamp", "device")
    columns: dict[str, Any] = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    for name, kind in (("item_id", pl.String), ("rating", pl.Float64), ("timestamp", pl.Int64), ("device", pl.String)):
        columns[name] = pl.Series(columns[name], dtype=kind)
    duplicates = "keep" if repeats else "error"
    return Interactions(
        columns, items=list(ITEMS), scale="1:5", context=("device",), duplicates=duplicates, name="shop"
    )


def visit(person: Any, item: int, step: int) -> tuple[Any, str, int, int, str]:
    return person, ITEMS[item % 8], 1 + (item + step) % 5, 86_400 * step + item, ("phone", "laptop")[item % 2]


OTHERS = [
    [visit(f"u{user}", user + 3 * step + k, step) for user in range(5) for k in range(2)] for step in range(STEPS)
]

PERSONS: dict[str, list[Rows]] = {
    "none": [[] for _ in range(STEPS)],
    **{
        f"step {arrival}": [
            [visit("p", item, step) for item in range(4)] if step == arrival else [] for step in range(4)
        ]
        for arrival in range(STEPS)
    },
    "all steps": [[visit("p", 2 * step + k, step) for k in range(2)] for step in range(STEPS)],
    "everything on every step": [[visit("p", item, step) for item in range(8)] for step in range(STEPS)],
    "the same item on every step": [[visit("p", 0, step)] for step in range(STEPS)],
    "first and last": [[visit("p", 0, 0)], [], [], [visit("p", item, 3) for item in range(1, 6)]],
    "an id of another type on one step": [[], [visit(17, item, 1) for item in range(3)], [], []],
    "an id of another type": [[visit(17, item, step) for item in range(3)] for step in range(STEPS)],
}


def streams(*, repeats: bool, others: bool = True) -> Iterator[tuple[str, Nights, Nights]]:
    """Streams with and without the person."""
    for name, person in PERSONS.items():
        rest = OTHERS if others else [[] for _ in range(STEPS)]
        yield (
            f"{name}{'' if others else ', nobody else'}",
            [night(rest[step] + person[step], repeats=repeats) for step in range(STEPS)],
            [night(rest[step], repeats=repeats) for step in range(STEPS)],
        )


def run_of(method: Callable[[], Any], *, durable: bool = False, **settings: Any) -> Callable[[Nights, Any], Any]:
    def run(nights: Nights, ledger: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "series" if durable else None
            series = Series(method(), steps=STEPS, folder=place, **settings)
            releases = []
            for step, tonight in enumerate(nights):
                if durable:
                    series = Series(method(), steps=STEPS, folder=place, **settings)
                releases.append(series.advance(tonight, ledger=ledger, step=step))
            shown = [None if one is None else (dict(one.parts), str(one.parameters)) for one in releases]
            return {"steps": [None if one is None else list(one) for one in shown], "last": releases[-1]}

    return run


def counts() -> ItemCounts:
    return ItemCounts(epsilon=1, delta="1e-6", cap=4)


CASES: dict[str, tuple[Callable[[Nights, Any], Any], bool]] = {
    "counts": (run_of(counts), False),
    "counts with repeats": (run_of(counts), True),
    "counts on disk": (run_of(counts, durable=True), True),
    "counts by context": (run_of(counts, contexts=["device=phone,laptop"]), True),
    "counts by weekday": (run_of(counts, contexts=["weekday"]), False),
    "counts of few people": (run_of(counts, people=10), True),
    "context popularity": (
        run_of(lambda: ContextPopularity(epsilon=1, delta="1e-6", cap=3, contexts=["device=phone,laptop"])),
        True,
    ),
    "popularity of a ranking": (run_of(lambda: PrivateRecommender(epsilon=1), enter_after=2), False),
    "tastes": (run_of(lambda: PrivateRecommender(epsilon=10**5, head=5), enter_after=2, people=1000), False),
    "tastes on disk": (
        run_of(lambda: PrivateRecommender(epsilon=10**5, positive=3), enter_after=3, settle=1, durable=True),
        False,
    ),
    "tastes from full exports": (run_of(lambda: PrivateRecommender(epsilon=10**5), enter_after=2, records="all"), True),
    "ratings": (run_of(lambda: PrivateRatings(epsilon=1), enter_after=1), False),
    "ratings with factors": (run_of(lambda: PrivateRatings(epsilon=10**6), enter_after=4, settle=2), False),
    "neighbors": (run_of(lambda: PrivateItemKNN(epsilon=1, cap=2), enter_after=3), False),
    "neighbors, settled later": (run_of(lambda: PrivateItemKNN(epsilon=8, head=4), enter_after=2, settle=2), True),
}


ALONE = ("counts with repeats", "counts by context", "tastes", "ratings", "neighbors")
"""Run on streams with nobody else, too."""


@pytest.mark.parametrize(("case", "others"), [*((case, True) for case in CASES), *((case, False) for case in ALONE)])
def test_one_person_changes_nothing_but_what_is_paid_for(case: str, others: bool) -> None:
    run, repeats = CASES[case]
    results: dict[str, CoupledResult] = {}
    # Factors with fewer ratings than are worth while.
    with mock.patch.object(private_ratings, "LEAST_RATINGS", 0):
        for place, (name, first, second) in enumerate(streams(repeats=repeats, others=others)):
            try:
                results[name] = coupled_run(run, *((first, second) if place % 2 else (second, first)))
            except AssertionError as error:
                raise AssertionError(f"{case}, a person who comes: {name}: {error}") from error
    assert all(result.guarantee is not None for result in results.values())
    assert any(result.spent.mu_squared for name, result in results.items())
    for name, result in results.items():
        if name.startswith("none"):
            assert result.spent.mu_squared == 0


def test_the_bound_is_reached_by_somebody() -> None:
    first, second = next((one, two) for name, one, two in streams(repeats=False) if name == "step 0")
    result = coupled_run(run_of(counts), first, second)
    assert result.guarantee is not None
    assert result.spent.mu_squared is not None
    spent = float(result.spent.mu_squared / result.guarantee.loss.mu_squared)  # type: ignore[attr-defined]
    assert 0.999 < spent <= 1


def test_what_people_do_may_depend_on_earlier_releases() -> None:
    """The nights are made on the way: others take up what was released as most popular."""

    def run(nights: Nights, ledger: Any) -> Any:
        series, releases, followed = Series(counts(), steps=STEPS), [], []
        for step, tonight in enumerate(nights):
            rows = tonight.to_frame().rows() + followed
            release = series.advance(night(rows), ledger=ledger)
            assert release is not None
            best = release.table("counts").sort("count")["item_id"][-1]
            followed = [(f"follower {step}", best, 5, 86_400 * step, "phone")]
            releases.append(release)
        return {"steps": [dict(one.parts) for one in releases], "last": releases[-1]}

    for _, first, second in streams(repeats=False):
        coupled_run(run, first, second)


@pytest.mark.parametrize(
    ("case", "part"), [("tastes", "tastes"), ("ratings with factors", "residuals"), ("neighbors", "co_counts")]
)
def test_the_cases_reach_what_they_are_about(case: str, part: str) -> None:
    first = next(streams(repeats=False))[1]
    with mock.patch.object(private_ratings, "LEAST_RATINGS", 0):
        assert part in CASES[case][0](first, None)["last"].parts


# Broken versions


def violations(run: Callable[[Nights, Any], Any], *, repeats: bool = True) -> list[str]:
    found = []
    for name, first, second in streams(repeats=repeats):
        try:
            coupled_run(run, first, second)
        except CoupledRunError:
            found.append(name)
    return found


def test_noise_for_one_step_is_caught() -> None:
    one_step = property(lambda self: self.coefficients[0] ** 2)
    with mock.patch.object(Factorization, "norm_squared", one_step):
        assert "step 0" in violations(run_of(counts))


def test_a_cap_on_each_step_is_caught() -> None:
    def forgetful(people: Any, *rest: Any, **options: Any) -> Any:
        fresh = entering.People(people.entered, people.records.clear(), people.waiting)
        entered = enter(fresh, *rest, **options)
        return entering.People(people.entered, pl.concat([people.records, entered.records]), people.waiting)

    enter = entering.enter_records
    with mock.patch.object(entering, "enter_records", forgetful):
        assert "everything on every step" in violations(run_of(counts))


def model() -> PrivateRecommender:
    return PrivateRecommender(epsilon=1)


def test_people_who_enter_again_are_caught() -> None:
    def forgetful(people: Any, *rest: Any, **options: Any) -> Any:
        fresh = entering.People(people.entered.clear(), people.records, people.waiting)
        return enter(fresh, *rest, **options)

    enter = entering.enter_once
    with mock.patch.object(entering, "enter_once", forgetful):
        assert "everything on every step" in violations(run_of(model, enter_after=2), repeats=False)


def test_a_rule_about_everybody_is_caught() -> None:
    """People enter when all of them together have enough records."""

    def together(people: Any, tonight: Any, *rest: Any, enter_after: int, **options: Any) -> Any:
        waiting = tonight.height + people.waiting.height
        return enter(people, tonight, *rest, enter_after=1 if waiting % 2 else 10**6, **options)

    enter = entering.enter_once
    with mock.patch.object(entering, "enter_once", together):
        assert violations(run_of(model), repeats=False)


def test_a_series_that_charges_one_step_is_caught() -> None:
    """Noise at the price of a single release on every step, without a factorization."""

    def run(nights: Nights, ledger: Any) -> Any:
        releases = [
            counts().release(tonight, ledger=ledger if not step else None) for step, tonight in enumerate(nights)
        ]
        return {"steps": [dict(one.parts) for one in releases], "last": releases[-1]}

    assert "all steps" in violations(run)


def test_names_of_people_that_depend_on_other_people_are_caught() -> None:
    """With an id of another type among them everybody would have another name, and enter again."""
    from discreet.series import records

    def by_column(users: Any) -> pl.Series:
        return pl.Series([f"{users.series.dtype}:{one}" for one in users.ids()], dtype=pl.String)

    with mock.patch.object(records, "_names", by_column):
        assert violations(run_of(counts)) == ["an id of another type on one step"]
