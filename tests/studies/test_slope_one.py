"""The study of Slope One: the paper's figures, and judgments on both sides."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl
import pytest

from discreet.data import Interactions, synthetic
from discreet.errors import UsageError
from discreet.studies import StudyReport, published
from discreet.studies.slope_one import (
    ATTACKERS,
    FIGURE,
    PUBLISHED,
    SlopeOneStudy,
    at_utility,
    measurements,
    sensitivity,
)
from discreet.studies.study import Measurements

Judge = Callable[..., list[str]]


@pytest.fixture(scope="module")
def films() -> Interactions:
    return synthetic.films(users=300, items=80, seed=7)


@pytest.fixture(scope="module")
def report(films: Interactions) -> StudyReport:
    return SlopeOneStudy().run(films, seed=1, quick=True)


def test_the_sensitivity_of_the_paper(films: Interactions) -> None:
    assert sensitivity(films, SlopeOneStudy().settings(quick=False)) == 0.5


def test_tables_and_charts(report: StudyReport) -> None:
    claims, figure, utilities, readings, _ = report.tables.values()
    assert set(claims["claim"]) == {claim["claim"] for claim in published("slope-one")["claims"]}
    assert figure["ε"].to_list() == list(FIGURE)
    assert (np.diff(figure["difference"].to_numpy()) <= 0).all()
    assert (np.diff(figure["one output"].to_numpy()) > 0).all()
    assert (figure["drawn"] - figure["one output"]).abs().max() < 0.1  # type: ignore[operator]
    assert (figure["one, clipped"] >= figure["one output"]).all()
    assert (figure["all"] >= figure["one output"] - 1e-12).all()
    assert utilities.filter(utility=0.7)["published"].to_list() == [0.04]
    assert readings.height == 5
    assert [chart.name for chart in report.charts] == ["figure-1a", "figure-1b", "figure-2"]
    for chart in report.charts:
        assert chart.altair().to_dict()
    json.dumps(report.to_dict(), allow_nan=False)


def test_the_same_seed_gives_the_same_report(films: Interactions, report: StudyReport) -> None:
    again = SlopeOneStudy().run(films, seed=1, quick=True)
    assert again.to_dict() == report.to_dict()


def test_progress_is_told(films: Interactions) -> None:
    told: list[float] = []
    SlopeOneStudy().run(films, quick=True, progress=lambda done, what: told.append(done))
    assert told == sorted(told)
    assert told[-1] == 1


# Judgments


def made_up(
    risk: Callable[[float], float], everybody: Callable[[float], float] | None = None, **more: float
) -> Measurements:
    """A run in which the utility rises from 0 to 1 over ε, and the risk is a function of the utility."""
    epsilons = np.sort([*FIGURE[:-1], 7.0, 1000.0])
    rows = []
    for epsilon in epsilons:
        utility = float((np.log10(epsilon) + 1) / 4) * more.get("most", 1.0)
        risks = dict.fromkeys(ATTACKERS, risk(utility))
        if everybody is not None:
            risks["all outputs"] = everybody(utility)
        known = {"epsilon": float(epsilon), "utility": utility, "difference": 1 - utility, "utility_sd": 0.0}
        rows.append(known | {"drawn": risk(utility)} | risks)
    table = pl.DataFrame(rows)
    setting = {"Δf": more.get("sensitivity", 0.5), "T": more.get("T", 20), "φ_m": 10, "Δr": 5}
    return measurements(table, table, {"another": table}, setting, chance=0.2)


def test_claims_hold_where_the_numbers_do(judge: Judge) -> None:
    good = made_up(lambda u: u**9)
    for claim in published("slope-one")["claims"]:
        expected = "does not hold" if claim["key"] == "random" else "holds"
        assert judge("slope-one", claim["key"], good) == [expected], claim["key"]


def test_claims_fail_where_the_numbers_do(judge: Judge) -> None:
    bad = made_up(np.sqrt, everybody=lambda u: 1.0)
    for key in ("convex", "seventy", "random"):
        assert judge("slope-one", key, bad) == ["does not hold"]
    # An attacker who gets a fifth without information is as good as random.
    fifth = made_up(lambda u: 0.2 + 0.8 * u**9)
    assert judge("slope-one", "random", fifth) == ["holds"]
    assert judge("slope-one", "nothing", fifth) == ["does not hold"]
    assert judge("slope-one", "strongest", made_up(lambda u: u**9, everybody=lambda u: u)) == ["does not hold"]
    half = made_up(lambda u: u**9, most=0.5, sensitivity=0.4)
    assert judge("slope-one", "scale", half) == ["does not hold"]
    assert judge("slope-one", "differ", half) == ["does not hold"]


def test_claims_about_other_settings_are_not_tested(judge: Judge) -> None:
    assert judge("slope-one", "seventy", made_up(lambda u: u**9, most=0.5)) == ["not judged here"]
    quick = made_up(lambda u: u**9, T=8)
    assert judge("slope-one", "scale", quick) == judge("slope-one", "seventy", quick) == ["not judged here"]


def test_between_the_points_of_a_curve() -> None:
    curve = made_up(lambda u: u**9).tables["curve"]
    there = at_utility(curve, 0.7)
    assert there is not None
    assert there["epsilon"] == pytest.approx(10**1.8, rel=0.01)
    assert there[PUBLISHED] == pytest.approx(0.7**9, abs=0.05)
    assert at_utility(curve, 1.1) is None


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("a", "x"), ("b", "x")], "have none"),
        ([("a", "x", 1.0), ("b", "x", 2.0)], "scale with steps"),
    ],
)
def test_records_that_do_not_do(rows: list, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        SlopeOneStudy().run(Interactions(rows), quick=True)


def test_too_few_people(films: Interactions) -> None:
    few = partial(SlopeOneStudy().run, films.sample_users(8, seed=0), quick=True)
    with pytest.raises(UsageError, match="fewer than ten people"):
        few()
