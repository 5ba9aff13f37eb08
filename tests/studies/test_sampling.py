"""The study of counts from samples: what it measures, on a small world, and what its sentences say about it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import DataError
from discreet.privacy.losses import rho_for
from discreet.studies import published, study
from discreet.studies.report import StudyReport
from discreet.studies.sampling.measuring import Counts, Measured, _scores, measure
from discreet.studies.sampling.setting import Setting, setting_of
from discreet.studies.sampling.statements import VERDICTS
from discreet.studies.sampling.sweeps import in_order_of_ids
from discreet.studies.sampling.ways import Way, half, our_ways, published_ways, single_ways


@pytest.fixture(scope="module")
def told() -> list[float]:
    return []


@pytest.fixture(scope="module")
def report(told: list[float]) -> StudyReport:
    world = dc.synthetic.films(users=300, items=60, records=6000, seed=5)
    return study("sampling", world, quick=True, progress=lambda share, what: told.append(share))


@pytest.fixture(scope="module")
def setting() -> Setting:
    return setting_of(dc.synthetic.films(users=60, items=30, records=900, seed=5), seed=0, quick=True)


# The report


def test_every_figure_is_there(report: StudyReport) -> None:
    headings = list(report.tables)
    for part in ("What the paper says", "Item counts", "Edge counts", "One release", "Share of the top K", "over l"):
        assert any(part in heading for heading in headings)
    assert "Top 10 for gender M, age <25" in headings
    assert [chart.name for chart in report.charts] == ["first-look", "error-over-l", "top-k", "days"]
    json.dumps(report.to_dict(), allow_nan=False)


def test_all_methods_are_compared_and_deviations_are_given(report: StudyReport) -> None:
    table = next(table for heading, table in report.tables.items() if heading.startswith("Edge counts"))
    assert table.filter(pl.col("from") == "paper")["method"].to_list() == [
        "SRA", "HPA", "LPA", "DFT", "GS, groups of 50", "GS, groups of 200",
    ]  # fmt: skip
    counted = table.filter(~pl.col("method").str.starts_with("selection"))
    assert counted["squared error"].is_not_null().all()
    assert (counted["sd"] > 0).all()
    assert table["top 10"].is_between(0, 1).all()
    assert table.filter(pl.col("method").str.starts_with("selection"))["squared error"].is_null().all()


def test_every_published_statement_is_judged(report: StudyReport) -> None:
    said = published("sampling")["statements"]
    assert {one["name"] for one in said} == set(VERDICTS)
    table = report.tables["What the paper says"]
    assert table.height == len(said)
    assert set(table["here"]) <= {"holds", "does not hold"}
    held = table.filter(here="holds").height
    assert report.findings[0].startswith(
        f"Of {len(said)} statements of the paper that these data can tell about, {held} "
    )


def test_numbers_in_findings_are_those_of_the_tables(report: StudyReport) -> None:
    table = next(table for heading, table in report.tables.items() if heading.startswith("One release"))
    best = table["squared error"].min()
    assert isinstance(best, float)
    assert f"the least squared error is {min(best, _least(table, 'ours')):.3g}" in report.findings[3]
    assert f"of the paper's {_least(table, 'paper'):.3g}" in report.findings[3]


def _least(table: pl.DataFrame, origin: str) -> float:
    found = table.filter(pl.col("from") == origin)["squared error"].min()
    assert isinstance(found, float)
    return found


def test_progress_runs_from_nothing_to_all(report: StudyReport, told: list[float]) -> None:
    assert report.setting["runs"] == 3
    assert told == sorted(told)
    assert 0 < told[0] < 0.05
    assert told[-1] == 1.0


# The setting


def test_without_facts_about_users_edges_are_by_weekday() -> None:
    setting = setting_of(dc.synthetic.checkins(users=50, items=20, seed=1), seed=0, quick=True)
    assert [one.name for one in setting.contexts] == ["weekday"]
    assert setting.place_name == "weekday Tuesday"


def test_records_without_any_context_are_refused() -> None:
    with pytest.raises(DataError, match="no context"):
        setting_of(dc.Interactions([("ann", "tea")]), seed=0, quick=True)
    with pytest.raises(DataError, match="no records"):
        setting_of(dc.synthetic.films(users=5, items=5, seed=1).emptied(), seed=0, quick=True)


def test_items_that_nobody_declared_are_renumbered() -> None:
    rows = [(user, item, 1.0, 86_400 * user) for user in range(30) for item in range(user + 1)]
    data = dc.Interactions(rows)
    setting = setting_of(data, seed=3, quick=True)
    titles = setting.data.titles(np.arange(30))
    assert sorted(titles, key=int) == [str(item) for item in range(30)]
    assert titles != [str(item) for item in range(30)]
    assert dict(zip(titles, setting.items.tolist(), strict=True)) == {str(item): 30 - item for item in range(30)}


def test_the_cap_follows_the_fewest_records_as_in_the_paper() -> None:
    few = dc.Interactions([(user, item, 1.0, 0) for user in range(3) for item in range(19)])
    many = dc.Interactions([(user, item, 1.0, 0) for user in range(3) for item in range(20)])
    assert [setting_of(data, seed=0, quick=True).cap for data in (few, many)] == [10, 30]


# The ways


def test_half_of_a_budget_is_half_of_its_rho() -> None:
    delta = Fraction(1, 10**6)
    part = half(Fraction(1, 2), delta)
    assert 2 * rho_for(part, delta) <= rho_for(Fraction(1, 2), delta)
    assert 2 * rho_for(part * Fraction(1001, 1000), delta) > rho_for(Fraction(1, 2), delta)


def test_all_ways_spend_what_they_say(setting: Setting) -> None:
    for way in (*published_ways(setting, Fraction(1)), *our_ways(setting, Fraction(1))):
        loss = way.method.guarantee(setting.data, contexts=setting.contexts).loss
        assert (way.budget == "ε") == (type(loss).__name__ == "Pure"), way.name
        delta = setting.delta if way.budget == "ε, δ" else Fraction(0)
        assert float(loss.epsilon_at(delta)) <= 1 + 1e-9, way.name  # type: ignore[attr-defined]


def test_names_are_distinct(setting: Setting) -> None:
    names = [way.name for way in single_ways(setting, Fraction(1, 2))]
    assert len(set(names)) == len(names)


# Measuring


def test_true_counts_have_no_error(setting: Setting) -> None:
    items, edges = setting.items.astype(float), setting.edges.astype(float)
    found = _scores(setting, Counts(items, edges, items, edges))
    assert found["items", "mse"] == found["edges", "mse"] == 0
    assert found["items", "kl_original"] == found["edges", "kl_released"] == 0
    assert all(math.isclose(found["items", f"top {k}"], 1, abs_tol=0.2) for k in setting.lengths)  # ties are shared


def test_with_an_endless_budget_nothing_is_lost(setting: Setting) -> None:
    from discreet.counting.item_counts import ItemCounts

    way = Way("weighted", "ours", "ε", ItemCounts.of(epsilon=10**6, cap=10_000))
    measured = measure(setting, [way], lambda who: None)
    assert measured.mean("weighted", "items", "mse") < 1e-2
    assert measured.mean("weighted", "edges", "mse") < 1e-2


def test_the_best_is_the_least_error_and_the_largest_precision() -> None:
    rows = [("a", "items", "mse", 0, 4.0), ("b", "items", "mse", 0, 2.0)]
    rows += [("a", "items", "top", 0, 0.3), ("b", "items", "top", 0, 0.1), ("a", "items", "top", 1, 0.5)]
    table = pl.DataFrame(rows, schema=["way", "level", "metric", "run", "value"], orient="row")
    measured = Measured(table, {}, {})
    assert measured.best(["a", "b", "c"], "items", "mse") == ("b", 2.0)
    assert measured.best(["a", "b", "c"], "items", "top") == ("a", 0.4)
    assert math.isclose(measured.deviation("a", "items", "top"), math.sqrt(0.02))
    assert math.isnan(measured.mean("c", "items", "mse"))


def test_ids_in_order_of_popularity_help_the_fourier_transform() -> None:
    rng = np.random.default_rng(8)
    rows = {(int(user), int(item)) for user in range(400) for item in np.minimum(rng.geometric(0.08, 40) - 1, 59)}
    rows |= {(user, item) for user, item in enumerate(range(60))}
    data = dc.Interactions([(user, item, 1.0, 86_400 * user) for user, item in sorted(rows)])
    setting = setting_of(data, seed=1, quick=True)
    ways = [way for way in published_ways(setting, Fraction(100)) if way.name == "DFT"]
    in_order = in_order_of_ids(replace(setting, epsilon=Fraction(100)), lambda who: None)
    assert in_order is not None
    assert in_order.mean("DFT", "items", "mse") < 0.5 * measure(setting, ways, lambda who: None).mean(
        "DFT", "items", "mse"
    )


def test_a_declared_catalog_keeps_its_order(setting: Setting) -> None:
    assert setting.as_they_came is None
    assert in_order_of_ids(setting, lambda who: None) is None
