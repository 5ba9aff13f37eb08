"""The study of the birth-death chain: measures with known answers, verdicts, and its report."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from discreet.data import Interactions, synthetic
from discreet.errors import UsageError
from discreet.studies import StudyReport, published
from discreet.studies.study import Measurements
from discreet.studies.subsets import (
    ALL,
    ALL_HALF,
    CHAIN,
    GENTLE,
    RESTRICTED,
    RESTRICTED_HALF,
    SubsetsStudy,
    accuracy,
    apart,
    completed_rows,
    convergence,
    half_way,
    impossible_mass,
    laws_of_one_user,
    ties,
)

Judge = Callable[..., list[str]]
QUICK = SubsetsStudy().settings(quick=True)
FALLING = np.linspace(5, 1, 61)


def quiet(what: str) -> None:
    """Nobody is told."""


@pytest.fixture(scope="module")
def films() -> Interactions:
    return synthetic.films(users=300, items=120, seed=7)


@pytest.fixture(scope="module")
def report(films: Interactions) -> StudyReport:
    steps: list[float] = []
    found = SubsetsStudy().run(films, seed=1, quick=True, progress=lambda share, what: steps.append(share))
    assert steps == sorted(steps)
    assert steps[-1] == 1.0
    return found


# Measures


def test_rows_fall_and_leave_out_what_was_rated(films: Interactions) -> None:
    rows = completed_rows(films, 5, seed=3)
    assert len(rows) == 5
    rated = set(films.records_per_user.tolist())
    for row in rows:
        assert np.all(np.diff(row) <= 0)
        assert films.n_items - row.size in rated
        assert 1 <= row.min() <= row.max() <= 5


def test_accuracy_of_equal_ratings_is_by_counting() -> None:
    """All sets alike: a tenth of one of n + 1 sets, and ten of 61 items."""
    table = accuracy([np.full(61, 3.0)], 5.0, QUICK.with_(epsilons=(1.0,)), seed=0, report=quiet)
    row = table.row(0, named=True)
    sets = 1 + 51 // 3 * 6
    for law in (RESTRICTED, RESTRICTED_HALF):
        assert row[law] == pytest.approx(0.9 + 0.1 / sets)
    for law in (ALL, ALL_HALF):
        assert row[law] == pytest.approx(10 / 61)
    assert 0.9 < row[CHAIN] < 0.95


def test_a_large_epsilon_is_exact_over_all_sets_and_frozen_in_the_chain() -> None:
    plan = QUICK.with_(epsilons=(1.0, 100.0, 10_000.0))
    table = accuracy([FALLING], 5.0, plan, seed=0, report=quiet)
    assert table[ALL][2] > 0.999
    assert table[CHAIN].to_list()[1:] == [1.0, 1.0]
    assert table[RESTRICTED][1] < 0.99
    assert table[GENTLE][0] is not None
    assert table[GENTLE][2] is None  # equation 36


def test_half_of_the_top_ten() -> None:
    """Equation 28 needs twice the ε of the law that the chain has."""
    first, second = half_way([FALLING], 5.0)
    assert first == pytest.approx(2 * second)
    table = accuracy([FALLING], 5.0, QUICK.with_(epsilons=(second,), iterations=1), seed=0, report=quiet)
    assert table[ALL].item() == pytest.approx(0.5, abs=0.01)


def test_divergence_over_the_top_hides_what_is_missing() -> None:
    plan = QUICK.with_(lengths=(100, 30_000), converging=(1,))
    first, last = convergence([FALLING], 5.0, plan, seed=0, report=quiet).iter_rows(named=True)
    assert last["KL, top sets"] < first["KL, top sets"]
    assert last["KL, top sets"] < 0.2
    assert first["KL, all sets"] == math.inf
    assert last["total variation"] > 0.3
    assert first["sets visited"] <= 101


def test_laws_without_sampling() -> None:
    table = laws_of_one_user(FALLING, 5.0, (10, 1_000, 10**6))
    assert table["sets within reach"].to_list() == [11, 103, 103]
    assert np.all(np.diff(table["total variation"].to_numpy()) < 0)
    assert table["total variation"][2] < 1e-3


def test_one_entry_gives_nearly_everything_away() -> None:
    assert impossible_mass([FALLING], 1.0, 5.0) > 0.9
    assert apart([FALLING], 5.0) > 0.1
    assert apart([np.full(61, 3.0)], 5.0) == pytest.approx(0)


def test_rows_whose_top_ten_is_not_one() -> None:
    level = np.concatenate([np.full(40, 5.0), FALLING[1:]])
    rows, share = ties([FALLING, level], 5.0, 10_000)
    assert rows == 1
    assert share > 0.999
    assert ties([FALLING], 5.0, 1)[0] == 0


# Judgments


def found(*, chain: float, limit: float, distance: float) -> Measurements:
    by_epsilon = pl.DataFrame(
        {"ε": [1.0, 100.0], CHAIN: [0.901, chain], GENTLE: [0.901, None], RESTRICTED: [0.9, limit]}
        | {RESTRICTED_HALF: [0.9, limit], ALL_HALF: [0.01, 0.4], ALL: [0.01, 0.7]}
    )
    by_length = pl.DataFrame(
        [
            {"ε": epsilon, "iterations": steps, "users": 3, "KL, top sets": top, "KL, all sets": math.inf}
            | {"total variation": distance, "sets visited": 4.0, "sets": 9.0}
            for epsilon, steps, top in ((1.0, 10, 0.4), (1.0, 100, 0.1), (100.0, 10, 0.0))
        ]
    )
    figures = {"total variation of φ^ε and φ^½ε at ε = 100": 0.2}
    return Measurements({}, {"accuracy": by_epsilon, "convergence": by_length}, figures)


def test_verdicts_follow_the_numbers(judge: Judge) -> None:
    frozen = found(chain=1.0, limit=0.91, distance=0.9)
    for key in ("floor", "whole", "falls", "begin"):
        assert judge("subsets", key, frozen) == ["holds"], key
    for key in ("floor of all sets", "moved", "falls everywhere", "begin everywhere", "limit", "close"):
        assert judge("subsets", key, frozen) == ["does not hold"], key
    assert judge("subsets", "one entry", frozen) == ["not judged here"]
    good = found(chain=1.0, limit=0.999, distance=0.001)
    for key in ("whole", "moved", "falls", "falls everywhere", "begin", "begin everywhere", "close"):
        assert judge("subsets", key, good) == ["holds"], key
    assert judge("subsets", "whole", found(chain=0.9, limit=0.9, distance=0.1)) == ["does not hold"]


# The whole


def test_tables_and_charts(report: StudyReport) -> None:
    claims, by_epsilon, by_length, after, figures = report.tables.values()
    assert claims.height == len(published("subsets")["claims"])
    assert figures["value"].null_count() <= 1
    assert by_epsilon["ε"].to_list() == list(QUICK.epsilons)
    assert by_epsilon[CHAIN].is_between(0.9, 1).all()
    assert by_epsilon[ALL_HALF][0] < 0.2
    assert by_length.height == len(QUICK.lengths) * len(QUICK.converging)
    assert after.height == len(QUICK.lengths)
    assert [chart.name for chart in report.charts] == ["figure-4a", "figure-4b", "figure-4b-all-sets"]
    for chart in report.charts:
        assert chart.altair().to_dict()


def test_the_report_is_json(report: StudyReport) -> None:
    json.dumps(report.to_dict(), allow_nan=False)


def test_the_same_seed_gives_the_same_report(films: Interactions, report: StudyReport) -> None:
    again = SubsetsStudy().run(films, seed=1, quick=True)
    assert again.to_dict() == report.to_dict()


def test_what_it_cannot_run_on(films: Interactions) -> None:
    with pytest.raises(UsageError, match="have none"):
        SubsetsStudy().run(Interactions({"user_id": films.user, "item_id": films.item}))
    few = Interactions([(user, item, 3) for user in range(4) for item in range(8)], scale="1:5")
    with pytest.raises(UsageError, match="nobody has"):
        SubsetsStudy().run(few, quick=True)
