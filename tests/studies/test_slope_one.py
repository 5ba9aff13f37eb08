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
from discreet.studies import StudyReport, slope_one
from discreet.studies.published import published_table
from discreet.studies.slope_one_claims import Found, claims_table
from discreet.studies.slope_one_figures import ATTACKERS, FIGURE, PUBLISHED, Plan, at_utility, sensitivity


@pytest.fixture(scope="module")
def films() -> Interactions:
    return synthetic.films(users=300, items=80, seed=7)


@pytest.fixture(scope="module")
def report(films: Interactions) -> StudyReport:
    return slope_one.run(films, seed=1, quick=True)


def test_the_sensitivity_of_the_paper(films: Interactions) -> None:
    assert sensitivity(films, Plan()) == 0.5


def test_tables_and_charts(report: StudyReport) -> None:
    claims, figure, utilities, readings = report.tables.values()
    assert set(claims["claim"]) == set(published_table("slope-one")["claim"])
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
    assert len(report.findings) == 4


def test_the_same_seed_gives_the_same_report(films: Interactions, report: StudyReport) -> None:
    again = slope_one.run(films, seed=1, quick=True)
    assert again.to_dict() == report.to_dict()


def test_progress_is_told(films: Interactions) -> None:
    told: list[float] = []
    slope_one.run(films, quick=True, progress=lambda done, what: told.append(done))
    assert told == sorted(told)
    assert told[-1] == 1


# Judgments


def world(risk: Callable[[float], float], everybody: Callable[[float], float] | None = None) -> Found:
    """Splits in which the utility rises from 0 to 1 over ε, and the risk is a function of the utility."""
    epsilons = np.array([*FIGURE[:-1], 7.0, 1000.0])
    rows = []
    for epsilon in np.sort(epsilons):
        utility = float((np.log10(epsilon) + 1) / 4)
        risks = dict.fromkeys(ATTACKERS, risk(utility))
        if everybody is not None:
            risks["all outputs"] = everybody(utility)
        rows.append({"split": 0, "epsilon": float(epsilon), "utility": utility, "drawn": risk(utility)} | risks)
    table = pl.DataFrame(rows)
    scale = synthetic.films(users=10, items=5, seed=1).scale
    return Found(table, table, {"another": table}, 0.5, scale)


def verdicts(found: Found) -> dict[str, str]:
    return dict(zip(published_table("slope-one")["key"], claims_table(found)["verdict"], strict=True))


def test_claims_hold_where_the_numbers_do() -> None:
    good = verdicts(world(lambda u: u**9))
    assert set(good) == set(published_table("slope-one")["key"])
    assert {key for key, verdict in good.items() if verdict != "holds"} == {"random"}


def test_claims_fail_where_the_numbers_do() -> None:
    bad = verdicts(world(np.sqrt, everybody=lambda u: 1.0))
    for key in ("convex", "seventy", "random"):
        assert bad[key] == "does not hold"
    # An attacker who gets a fifth without information is as good as random.
    assert verdicts(world(lambda u: 0.2 + 0.8 * u**9))["random"] == "holds"
    assert verdicts(world(lambda u: 0.2 + 0.8 * u**9))["nothing"] == "does not hold"
    assert verdicts(world(lambda u: u**9, everybody=lambda u: u))["strongest"] == "does not hold"
    never = world(lambda u: u**9)
    lower = never.figure.with_columns(pl.col("utility") / 2)
    half = Found(lower, lower, {}, 0.4, never.scale)
    assert verdicts(half)["seventy"] == "not run"
    assert verdicts(half)["scale"] == "does not hold"
    assert verdicts(half)["differ"] == "does not hold"


def test_between_the_points_of_a_curve() -> None:
    found = world(lambda u: u**9)
    there = at_utility(found.fine, 0.7)
    assert there is not None
    assert there["epsilon"] == pytest.approx(10**1.8, rel=0.01)
    assert there[PUBLISHED] == pytest.approx(0.7**9, abs=0.05)
    assert at_utility(found.fine, 1.1) is None


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("a", "x"), ("b", "x")], "have none"),
        ([("a", "x", 1.0), ("b", "x", 2.0)], "scale with steps"),
    ],
)
def test_records_that_do_not_do(rows: list, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        slope_one.run(Interactions(rows), quick=True)


def test_too_few_people(films: Interactions) -> None:
    few = partial(slope_one.run, films.sample_users(8, seed=0), quick=True)
    with pytest.raises(UsageError, match="fewer than ten people"):
        few()
