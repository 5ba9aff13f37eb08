"""The study of counts from samples: what it measures, on a small dataset, and what its sentences say about it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import DataError
from discreet.privacy.losses import mu_for, rho_for
from discreet.studies import StudyReport, published, study
from discreet.studies.sampling import SamplingStudy, in_order_of_ids, printed_lists, sizes
from discreet.studies.sampling_run import CountingRun, Counts, Measured, comparison, half, measure, scores_of
from discreet.studies.study import Measurements, made, summarized

LISTED = {one["name"]: one for one in SamplingStudy().layout["methods"]}
Judge = Callable[..., list[str]]


def run_of(data: dc.Interactions, *, seed: int = 0) -> CountingRun:
    return CountingRun.of(data, SamplingStudy().settings(quick=True), seed=seed)


@pytest.fixture(scope="module")
def told() -> list[float]:
    return []


@pytest.fixture(scope="module")
def report(told: list[float]) -> StudyReport:
    dataset = dc.synthetic.films(users=300, items=60, records=6000, seed=5)
    return study("sampling", dataset, quick=True, progress=lambda share, what: told.append(share))


@pytest.fixture(scope="module")
def run() -> CountingRun:
    return run_of(dc.synthetic.films(users=60, items=30, records=900, seed=5), seed=0)


def error(scores: pl.DataFrame, level: str = "items") -> float:
    """The squared error of the only method."""
    return scores.filter(level=level, metric="mse")["value"].item()


# The report


def test_every_figure_is_there(report: StudyReport) -> None:
    headings = list(report.tables)
    for part in ("Verdicts", "Item counts", "Edge counts", "One release", "Share of the top K", "over l"):
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


def test_every_claim_is_judged(report: StudyReport) -> None:
    table = report.verdicts
    assert table is not None
    assert set(table["claim"]) == {claim["claim"] for claim in published("sampling")["claims"]}
    about_the_paper = table.filter(~pl.col("where").str.starts_with("not in the paper"))
    assert about_the_paper["verdict"].str.contains("needs a full run, this one is quick").all()
    assert (about_the_paper["measured"].str.len_chars() > 0).all(), "what was measured is shown all the same"


def test_progress_runs_from_nothing_to_all(report: StudyReport, told: list[float]) -> None:
    assert report.setting["runs"] == 3
    assert told == sorted(told)
    assert 0 < told[0] < 0.05
    assert told[-1] == 1.0


# The setting


def test_without_facts_about_users_edges_are_by_weekday() -> None:
    run = run_of(dc.synthetic.checkins(users=50, items=20, seed=1), seed=0)
    assert [one.name for one in run.contexts] == ["weekday"]
    assert run.place_name == "weekday Tuesday"


def test_records_without_any_context_are_refused() -> None:
    with pytest.raises(DataError, match="no context"):
        run_of(dc.Interactions([("ann", "tea")]), seed=0)
    with pytest.raises(DataError, match="no records"):
        run_of(dc.synthetic.films(users=5, items=5, seed=1).emptied(), seed=0)


def test_items_that_nobody_declared_are_renumbered() -> None:
    rows = [(user, item, 1.0, 86_400 * user) for user in range(30) for item in range(user + 1)]
    data = dc.Interactions(rows)
    run = run_of(data, seed=3)
    titles = run.data.titles(np.arange(30))
    assert sorted(titles, key=int) == [str(item) for item in range(30)]
    assert titles != [str(item) for item in range(30)]
    assert dict(zip(titles, run.items.tolist(), strict=True)) == {str(item): 30 - item for item in range(30)}


def test_the_cap_follows_the_fewest_records_as_in_the_paper() -> None:
    few = dc.Interactions([(user, item, 1.0, 0) for user in range(3) for item in range(19)])
    many = dc.Interactions([(user, item, 1.0, 0) for user in range(3) for item in range(20)])
    assert [run_of(data, seed=0).cap for data in (few, many)] == [10, 30]


# The variants


def test_a_list_and_counts_of_half_a_budget_spend_its_rho() -> None:
    delta = Fraction(1, 10**6)

    def spent(epsilon: Fraction) -> Fraction:
        return rho_for(epsilon, delta) + mu_for(epsilon, delta) ** 2 / 2

    part = half(Fraction(1, 2), delta)
    assert spent(part) <= rho_for(Fraction(1, 2), delta)
    assert spent(part * Fraction(1001, 1000)) > rho_for(Fraction(1, 2), delta)


def test_all_ways_spend_what_they_say(run: CountingRun) -> None:
    for name, one in LISTED.items():
        loss = made(one, run.values()).plan(run.data, contexts=run.contexts).loss
        assert (one["spends"] == "ε") == (type(loss).__name__ == "Pure"), name
        delta = run.delta if one["spends"] == "ε, δ" else Fraction(0)
        assert float(loss.epsilon_at(delta)) <= 1 + 1e-9, name


def test_names_are_distinct() -> None:
    assert len(LISTED) == len(SamplingStudy().layout["methods"])


# Measuring


def test_true_counts_have_no_error(run: CountingRun) -> None:
    items, edges = run.items.astype(float), run.edges.astype(float)
    found = scores_of(run, Counts(items, edges, items, edges))
    assert found["items", "mse"] == found["edges", "mse"] == 0
    assert found["items", "kl_original"] == found["edges", "kl_released"] == 0
    assert all(math.isclose(found["items", f"top {k}"], 1, abs_tol=0.2) for k in run.lengths)  # ties are shared


def test_with_an_endless_budget_nothing_is_lost(run: CountingRun) -> None:
    endless = replace(run, epsilon=Fraction(10**6), cap=10_000)
    measured = measure(endless, [LISTED["weighted"]], lambda who: None).scores
    assert error(measured) < 1e-2
    assert error(measured, "edges") < 1e-2


def test_means_and_deviations_are_over_runs() -> None:
    rows = [("a", "items", "mse", 4.0), ("a", "items", "top", 0.3), ("a", "items", "top", 0.5)]
    scores = summarized(rows, dict.fromkeys(("method", "level", "metric"), pl.String))
    table = comparison(Measured(scores, {}, {}), [{"name": "a", "from": "paper", "spends": "ε"}])
    assert table.select("level", "squared error", "top").rows() == [("items", 4.0, 0.4)]
    assert math.isclose(table["top sd"].item(), math.sqrt(0.02))


# Judgments


def found(**changes: dict[str, float]) -> Measurements:
    """A run in which the paper's statements hold: SRA and HPA well ahead of the others."""
    errors = {"SRA": 1.0, "HPA": 2.0, "LPA": 90.0, "DFT": 20.0, "GS, groups of 50": 30.0, "GS, groups of 200": 10.0}
    precision = {"SRA": 0.7, "HPA": 0.6, "LPA": 0.1, "DFT": 0.0, "GS, groups of 50": 0.1, "GS, groups of 200": 0.0}
    errors, precision = errors | changes.get("errors", {}), precision | changes.get("precision", {})
    rows = [
        {"level": level, "method": method, "from": "paper", "spends": "ε", "squared error": error}
        | {"D(rel‖orig)": error, "D(orig‖rel)": error, "top": precision[method]}
        for level in ("items", "edges")
        for method, error in errors.items()
    ]
    ours = {"from": "ours", "spends": "ε", "squared error": 0.5, "D(rel‖orig)": 0.5, "D(orig‖rel)": 3.0, "top": 0.9}
    rows += [{"level": level, "method": "weighted"} | ours for level in ("items", "edges")]
    first = dict.fromkeys(precision, 0.0) | {"SRA": 1.0, "HPA": 1.0} | changes.get("first", {})
    top = [
        {"method": method, "K": k, "precision": value}
        for method in precision
        for k, value in ((1, first[method]), (100, 0.5 if method in ("SRA", "HPA") else 0.4))
    ]
    tables = {"main": pl.DataFrame(rows), "top": pl.DataFrame(top)}
    tables["zeros"] = pl.DataFrame({"level": ["items", "edges"], "squared error": [50.0, 50.0]})
    lists = {"of the original list in that of HPA": 7.0, "of the original list in that of SRA": 2.0}
    return Measurements({}, tables, lists | changes.get("lists", {}))


GOOD = (
    "LPA worst", "GS against DFT", "least error", "LPA farthest", "SRA nearer", "comparable", "existing fail",
    "superior items", "superior edges", "SRA items", "first item", "falling", "up to 100", "list",
)  # fmt: skip


@pytest.mark.parametrize("key", GOOD)
def test_statements_hold_where_the_numbers_do(judge: Judge, key: str) -> None:
    assert judge("sampling", key, found()) == ["holds"]


@pytest.mark.parametrize(
    ("key", "changes"),
    [
        ("LPA worst", {"errors": {"DFT": 91.0}}),
        ("GS against DFT", {"errors": {"DFT": 5.0}}),
        ("least error", {"errors": {"DFT": 0.9}}),
        ("LPA farthest", {"errors": {"HPA": 91.0}}),
        ("SRA nearer", {"errors": {"SRA": 3.0}}),
        ("comparable", {"errors": {"HPA": 21.0}}),
        ("existing fail", {"precision": {"DFT": 0.3}}),
        ("superior items", {"precision": {"DFT": 0.3}}),
        ("superior edges", {"precision": {"HPA": 0.2}}),
        ("SRA items", {"precision": {"HPA": 0.8}}),
        ("first item", {"first": {"HPA": 0.9}}),
        ("first item", {"first": {"DFT": 0.1}}),
        ("falling", {"first": {"SRA": 0.4}}),
        ("up to 100", {"first": {"DFT": 1.0}}),
        ("list", {"lists": {"of the original list in that of HPA": 2.0}}),
    ],
)
def test_statements_fail_where_the_numbers_do(judge: Judge, key: str, changes: dict[str, dict[str, float]]) -> None:
    assert judge("sampling", key, found(**changes)) == ["does not hold"]


def test_ours_against_the_paper(judge: Judge) -> None:
    assert judge("sampling", "ours pure squared error", found()) == ["holds", "holds"]
    assert judge("sampling", "ours pure D(orig‖rel)", found()) == ["does not hold", "does not hold"]
    assert judge("sampling", "ours pure top", found()) == ["holds", "holds"]
    assert judge("sampling", "ours with δ top", found()) == ["not judged here", "not judged here"]
    assert judge("sampling", "zeros", found()) == [
        "holds",
        "holds",
        "does not hold",
        "holds",
        "holds",
        "holds",
        "holds",
    ]
    assert judge("sampling", "popularity", found()) == judge("sampling", "weekly", found()) == ["not judged here"]


def test_ids_in_order_of_popularity_help_the_fourier_transform() -> None:
    rng = np.random.default_rng(8)
    rows = {(int(user), int(item)) for user in range(400) for item in np.minimum(rng.geometric(0.08, 40) - 1, 59)}
    rows |= {(user, item) for user, item in enumerate(range(60))}
    data = dc.Interactions([(user, item, 1.0, 86_400 * user) for user, item in sorted(rows)])
    run = run_of(data, seed=1)
    exact = replace(run, epsilon=Fraction(100))
    in_order = in_order_of_ids(exact, LISTED["DFT"], lambda who: None)
    assert in_order is not None
    shuffled = measure(exact, [LISTED["DFT"]], lambda who: None).scores
    assert in_order.filter(level="items")["squared error"].item() < 0.5 * error(shuffled)


def test_a_declared_catalog_keeps_its_order(run: CountingRun) -> None:
    assert run.as_they_came is None
    assert in_order_of_ids(run, LISTED["DFT"], lambda who: None) is None


# Real check-ins, and methods that cannot run


def test_every_method_runs_on_a_city_with_a_very_busy_person() -> None:
    """3,600 visits of one person among 28,000 counts: DFT had no grid for that."""
    city = dc.synthetic.checkins(users=60, items=4_000, records=4_000, busiest=3_600, seed=1)
    run = replace(run_of(city), runs=1)
    measured = measure(run, [one for one in LISTED.values() if "second" not in one], lambda who: None)
    assert measured.refused == {}
    table = comparison(measured, list(LISTED.values()))
    assert "did not run" not in table.columns
    assert error(measured.scores.filter(method="DFT")) > error(measured.scores.filter(method="SRA"))


class SomeRefused(SamplingStudy):
    """The study with noise that nobody can draw for three of its methods."""

    @property
    def layout(self) -> dict[str, Any]:
        layout = super().layout
        for one in layout["methods"]:
            if one["name"] in ("DFT", "HPA", "clipped, expected"):
                one["with"] |= {name: "1e-40" for name in ("epsilon", "delta") if name in one["with"]}
        return layout


def test_a_method_that_cannot_run_is_a_row_that_says_why() -> None:
    told: list[float] = []
    dataset = dc.synthetic.films(users=40, items=25, records=500, seed=5)
    report = SomeRefused().run(dataset, quick=True, progress=lambda share, what: told.append(share))
    for part in ("Item counts", "Edge counts", "One release"):
        table = next(table for heading, table in report.tables.items() if heading.startswith(part))
        refused = table.filter(pl.col("did not run") != "")
        assert refused["method"].to_list() == ["HPA", "DFT", "clipped, expected"]
        assert refused["squared error"].is_null().all()
        assert refused["did not run"].str.contains("noise is drawn").all()
        others = table.filter(pl.col("did not run") == "", ~pl.col("method").str.starts_with("selection"))
        assert others["squared error"].is_not_null().all()
    assert report.tables["Not run"].height == 3
    assert report.verdicts is not None
    json.dumps(report.to_dict(), allow_nan=False)
    assert told == sorted(told)


# Tables 4 and 5


def test_films_of_movielens_stand_beside_table_5() -> None:
    titles = ["American Beauty (1999)", "Matrix, The (1999)", "Boxcar"]
    people = {"user_id": [0, 1, 2], "gender": ["M", "F", "M"], "age": [18, 25, 1]}
    rows = [(user, item, 1.0, 86_400 * item) for user in range(3) for item in range(user + 1)]
    data = dc.Interactions(rows, items=pl.DataFrame({"item_id": [0, 1, 2], "title": titles}), users=people, name="tiny")
    run = run_of(data)
    table = printed_lists(run, {"original": titles, "SRA": titles})
    assert table is not None
    assert table["original, printed"][0] == "American Beauty"
    assert table["original, here"].to_list() == titles
    assert table["HPA, here"].to_list() == ["", "", ""]
    known = sizes(run)
    assert known.row(0) == ("here: tiny", 3, 3, 6, 3, 2.0, 1)
    assert known.filter(name="MovieLens")["most"].item() == 2314


def test_other_films_are_not_compared_with_table_5(run: CountingRun) -> None:
    assert [one.name for one in run.contexts] == ["gender", "age"]
    assert printed_lists(run, {}) is None
    assert printed_lists(run_of(dc.synthetic.checkins(users=50, items=20, seed=1)), {}) is None
