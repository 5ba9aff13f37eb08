"""The study of a model every week: what it compares, and that all ways spend the same."""

from __future__ import annotations

import json
import math

import pytest

import discreet as dc
from discreet.errors import DataError
from discreet.studies import StudyReport, study
from discreet.studies.nightly import DAY, NightlyStudy, clock_of


@pytest.fixture(scope="module")
def films() -> dc.Interactions:
    return dc.synthetic.films(users=250, items=40, records=3000, seed=5)


@pytest.fixture(scope="module")
def told() -> list[float]:
    return []


@pytest.fixture(scope="module")
def report(films: dc.Interactions, told: list[float]) -> StudyReport:
    return study("nightly", films, quick=True, progress=lambda share, what: told.append(share))


def test_every_way_is_asked_at_the_same_steps(report: StudyReport, told: list[float]) -> None:
    ways = ["series", "every step", "every 3 steps", "without privacy"]
    for heading in ("Recall@20 by step", "RMSE by step"):
        table = report.tables[heading]
        assert table["way"].to_list() == ways
        assert table.columns == ["way", "step 2", "step 5", "step 7"]
        assert table.null_count().sum_horizontal().item() == 0
    assert [chart.name for chart in report.charts] == ["recall", "rmse"]
    assert told[-1] == 1.0
    json.dumps(report.to_dict(), allow_nan=False)


def test_noise_is_compared_at_the_same_price(report: StudyReport) -> None:
    heading = "Noise of the last release, in units of a single release at ε = 4"
    noise = dict(report.tables[heading].rows())
    assert noise["series"] == pytest.approx(1.62, abs=0.01)
    assert noise["every step"] == pytest.approx(math.sqrt(6))
    assert noise["every 3 steps"] == pytest.approx(math.sqrt(2))


def test_without_ratings_there_are_rankings_alone() -> None:
    visits = dc.synthetic.checkins(users=80, items=25, seed=2)
    report = study("nightly", visits, quick=True)
    assert "Recall@20 by step" in report.tables
    assert "RMSE by step" not in report.tables


def test_steps_are_weeks_or_all_of_the_time(films: dc.Interactions) -> None:
    assert films.timestamp is not None
    start, week = clock_of(films, 52, NightlyStudy().settings(quick=False).days)
    assert week == 7 * DAY
    assert start == films.timestamp.min()
    _, length = clock_of(films, 10, None)
    assert (films.timestamp.max() - start) // length == 9


def test_records_without_times_are_refused() -> None:
    with pytest.raises(DataError, match="with times"):
        study("nightly", dc.Interactions([("a", "b", 3)], scale="1:5", items=["b"]), quick=True)
