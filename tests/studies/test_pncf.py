"""`study pncf` on small datasets whose answers are known."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.data import Interactions, synthetic
from discreet.errors import DataError, UsageError
from discreet.neighbors import KNN, PNCF, UniformNeighbors, selection
from discreet.neighbors.selection import Candidates
from discreet.studies import StudyReport, study
from discreet.studies.pncf import PRIVATE, SIMILARITIES, Cell, Grid, PNCFStudy, measure_grid, taken_from
from discreet.studies.pncf_selection import AXES, choices, question, truncation
from discreet.studies.study import Settings, Steps

Judge = Callable[..., list[str]]
LISTED = PNCFStudy().layout["methods"]
METHODS = [one["name"] for one in LISTED["grid"]]


@pytest.fixture(scope="module")
def films() -> Interactions:
    return synthetic.films(users=300, items=80, seed=7).with_catalog("observed")


@pytest.fixture(scope="module")
def report(films: Interactions) -> StudyReport:
    said: list[tuple[float, str]] = []
    found = study("pncf", films, quick=True, progress=lambda share, what: said.append((share, what)))
    shares = [share for share, _ in said]
    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.05
    assert shares[-1] == 1.0
    assert "split 1, user COS" in {what for _, what in said}
    return found


def test_the_grid_has_every_method_with_the_published_figures_beneath(report: StudyReport) -> None:
    for axis, similarity in product(AXES, SIMILARITIES.values()):
        table = report.tables[f"MAE, {axis} neighbors, {similarity}"]
        assert table.columns == ["method", "sd", "k=5", "k=20"]
        assert [name for name in table["method"] if not name.startswith(" ")] == [*METHODS, PRIVATE]
        assert table["k=5"].is_between(0.4, 1.6).all()
        assert table["method"].to_list()[1] == "  published, Netflix: non-private"
        assert table["sd"].is_null().all(), "one split has no spread"
    item = report.tables["MAE, item neighbors, PCC"]
    assert item.row(1) == ("  published, Netflix: non-private", None, 0.7504, 0.7083)


def test_tests_choices_and_truncation_have_a_row_for_each_setting(report: StudyReport) -> None:
    tests = report.tables["Paired t-tests: how much lower the error is, and the gain at k = 20"]
    assert tests.height == 4 * 4
    assert tests["t told"].drop_nulls().to_list() == [
        26.5135, 11.6696, 25.8884, 10.5045, 22.7078, 11.1771, 17.0451, 10.9179,
    ]  # fmt: skip
    assert tests["df"].unique().to_list() == [1]
    assert tests["df told"].drop_nulls().unique().to_list() == [9]
    assert len(PNCFStudy().settings(quick=False).sizes) - 1 == 9, "a full run has the degrees of freedom of the thesis"
    verdicts = report.verdicts
    assert verdicts is not None
    significant = verdicts.filter(pl.col("claim").str.starts_with("the gain of PNCF over DP"))
    assert significant["verdict"].str.starts_with("not judged here: ").all()
    assert significant["verdict"].str.contains("needs values of k = 10, here 2").all()
    assert tests["p over users"].is_between(0, 1).all()
    mean = report.charts[0].data.filter(neighbors="item PCC").group_by("method").agg(pl.col("MAE").mean())
    lower = {row["method"]: row["MAE"] for row in mean.iter_rows(named=True)}
    first = tests.row(0, named=True)
    assert (first["lower"], first["than"], first["neighbors"]) == ("PNCF", "DP", "item PCC")
    assert np.sign(first["t over k"]) == np.sign(lower["DP"] - lower["PNCF"])
    chosen = report.tables["What is chosen, k = 20, and the error without noise on weights"]
    assert chosen.height == 4 * 6
    nearest = chosen.filter(choice="non-private")["mean similarity"].to_numpy()
    for choice in ("uniform", "DP", "PNCF"):
        assert (chosen.filter(choice=choice)["mean similarity"].to_numpy() < nearest).all()
    cut = next(table for heading, table in report.tables.items() if heading.startswith("Truncation"))
    assert cut["neighbors"].to_list() == ["item PCC", "item COS", "user PCC", "user COS"]
    assert (cut["candidates below 0"].to_numpy()[[1, 3]] == 0).all()
    assert report.tables["MAE by epsilon, PCC, k = 20"].columns == ["neighbors", "method", "epsilon=0.1", "epsilon=1"]


def test_charts_and_settings_are_of_this_run(report: StudyReport, films: Interactions) -> None:
    assert [chart.name for chart in report.charts] == ["mae", "published", "epsilon"]
    grid = report.charts[0].data
    assert grid.height == 4 * (len(METHODS) + 1) * 2
    assert report.setting["splits"] == 1
    assert report.setting["held-out ratings"] == (films.records_per_user > 1).sum()


def test_what_is_printed_fits_on_a_hundred_columns(report: StudyReport) -> None:
    from discreet.reports import readable

    for heading, table in list(report.tables.items())[1:]:
        cells = [table.columns, *readable(table)]
        width = sum(max(len(row[place]) for row in cells) + 3 for place in range(table.width))
        assert width <= 100, heading


def test_errors_are_those_of_the_models(films: Interactions) -> None:
    """A model without randomness has the error that one computes by hand from its predictions."""
    asked = question(films, seed=5)
    assert len(asked.pairs) == (films.records_per_user > 1).sum()
    learned = asked.train.to_frame()
    assert not set(asked.pairs) & set(zip(learned["user_id"], learned["item_id"], strict=True))
    methods = {"grid": LISTED["grid"][:1], "without noise": [], "proved": LISTED["proved"], "readings": {}}
    settings = Settings(
        seeds=[5], sizes=[7], size=7, epsilon="1", budgets=[], sweep_size=7, printed_questions=9, steps_size=7, cases=9
    )
    found = measure_grid(films, methods, settings, Steps()).means().filter(method="non-private", axis="user")
    error = found.filter(similarity="cosine")
    predicted = KNN(k=7, axis="user", similarity="cosine").fit(asked.train).predict(asked.pairs)["score"].to_numpy()
    assert error["MAE"].item() == pytest.approx(float(np.abs(predicted - asked.actual).mean()))
    assert error["sd"].item() is None


def test_a_rating_that_nobody_can_speak_about_is_left_out() -> None:
    records = [(user, item, 3) for user in "abc" for item in "xy"]
    data = Interactions([*records, ("d", "alone", 5), ("d", "also", 1)], scale="1:5").with_catalog("observed")
    asked = question(data, seed=0)
    assert asked.unanswerable == 1
    assert len(asked.pairs) == 3
    assert data.users.decode(asked.user) == ["a", "b", "c"]


def test_with_a_huge_epsilon_the_published_choices_are_the_nearest_neighbors() -> None:
    """In a dense dataset no two similarities are the same, so that nothing but the choice can differ."""
    dense = synthetic.films(users=150, items=60, records=6_000, seed=7).with_catalog("observed")
    settings = PNCFStudy().settings(quick=True).with_(epsilon=str(10**9), budgets=("1",), seeds=(0,))
    measured = measure_grid(dense, LISTED, settings, Steps())
    mae = measured.mae()
    for axis, similarity, k in product(AXES, SIMILARITIES.values(), (5, 20)):
        here = mae.filter(axis=axis, similarity=similarity, k=k)
        nearest, naive, pncf = (here.filter(method=name)["MAE"].item() for name in ("non-private", "DP", "PNCF"))
        assert naive == pytest.approx(nearest, abs=1e-6)
        # PNCF cuts at the k-th similarity, so it takes the nearest, but where a large RS lets C0 go before one of them.
        assert pncf == pytest.approx(nearest, abs=0.05)
    chosen = measured.choices()
    assert (chosen.filter(choice="DP")["nearest"] == 1).all()
    assert (chosen.filter(choice="PNCF")["nearest"] > 0.9).all()
    assert (chosen.filter(choice="uniform")["nearest"] < 0.9).all()
    assert (measured.truncation()["acting"] > 0.9).all()
    at_one = Grid(settings.with_(epsilon="1"), [], np.zeros((0, 1, 1)), [], measured.truncated)
    assert (at_one.truncation()["acting"] == 0).all()


def test_where_all_candidates_are_taken_every_choice_is_the_same(films: Interactions) -> None:
    """With k beyond every list, choice plays no part: uniform and noiseless PNCF are the non-private model."""
    asked = question(films, seed=1)
    of = {"k": 500, "axis": "item", "similarity": "cosine"}
    plain = asked.errors(KNN(**of))
    np.testing.assert_allclose(asked.errors(UniformNeighbors(**of)), plain)
    np.testing.assert_allclose(asked.errors(PNCF(epsilon=1, **of, laplace=None)), plain)
    assert choices(asked, axis="item", similarity="cosine", k=500, epsilon="1") == {}
    assert truncation(asked, axis="item", similarity="cosine", k=500)[0].size == 0


@pytest.mark.parametrize("similarity", ["pearson", "cosine"])
def test_truncation_acts_where_the_strategy_says_so(films: Interactions, similarity: str) -> None:
    """The epsilon from which it acts is where the threshold of the strategy itself leaves 0."""
    from discreet.studies.pncf_selection import _lists

    asked = question(films, seed=2)
    begins, _ = truncation(asked, axis="item", similarity=similarity, k=5)
    lists = _lists(asked, axis="item", similarity=similarity, form="lemma", k=5)
    ours = sorted(_begins(lists[place], 5) for place in range(len(lists)))
    np.testing.assert_allclose(np.sort(begins), ours, rtol=1e-6)


def _begins(candidates: Candidates, k: int) -> float:
    """By bisection on the threshold of the strategy."""
    low, high = 1e-3, 1e9
    if selection.PNCF(k, epsilon=high).threshold(candidates) <= 0:
        return float("inf")
    for _ in range(50):
        middle = (low * high) ** 0.5
        above = selection.PNCF(k, epsilon=middle).threshold(candidates) > 0
        low, high = (low, middle) if above else (middle, high)
    return high


def small_grid(errors: dict[Cell, list[list[float]]], **of: Any) -> Grid:
    settings = Settings(size=1, epsilon="1", sizes=[1], budgets=[], sweep_size=1)
    return Grid(settings, list(errors), np.array(list(errors.values())), **{"chosen": [], "truncated": {}} | of)


def test_a_split_without_anything_to_choose_does_not_count() -> None:
    """Of three splits the second had nothing to choose: it adds no row."""
    choice, uniform = (Cell("item", "cosine", name, 1, "1", noise=False) for name in ("DP", "uniform, no noise"))
    rows = [("item", "cosine", "DP", 0.25, 0.5), ("item", "cosine", "DP", 0.75, 1.0)]
    found = small_grid({choice: [[1.0, 2.0]], uniform: [[2.0, 2.5]]}, chosen=rows).choices()
    assert found.select("choice", "mean similarity", "nearest", "− uniform").rows() == [("DP", 0.5, 0.75, -0.75)]
    assert small_grid({choice: [[1.0]]}).choices().is_empty()


def test_tests_pair_what_belongs_together() -> None:
    a, b = Cell("item", "cosine", "a", 1, "1"), Cell("item", "cosine", "b", 1, "1")
    nan = float("nan")
    errors = {a: [[1.0, 2.0, nan], [1.0, nan, nan]], b: [[2.0, 4.0, 1.0], [4.0, nan, nan]]}
    grid = small_grid(errors)
    means = grid.means()
    assert means["MAE"][0] == pytest.approx(1.25)
    assert means["sd"][0] == pytest.approx(0.5 / np.sqrt(2))
    test = grid.gain_over_users(a, b)
    assert test.n == 2
    assert test.difference == pytest.approx(2.0)


# Judgments


def grid(errors: dict[str, list[float]]) -> dict[str, pl.DataFrame]:
    """Errors of methods at k = 5 and k = 20, for item neighbors and PCC."""
    rows = [
        {"axis": "item", "similarity": "PCC", "method": method, "k": k, "MAE": value}
        for method, values in errors.items()
        for k, value in zip((5, 20), values, strict=True)
    ]
    return {"mae": pl.DataFrame(rows)}


def test_verdicts_on_the_grid_follow_the_errors(judge: Judge) -> None:
    good = {"non-private": [0.7, 0.7], "PNCF": [0.75, 0.75], "DP": [0.9, 0.9], "RS&NM": [0.8, 0.8], PRIVATE: [0.6, 0.6]}
    bad = good | {"PNCF": [0.75, 0.95]}
    for key in ("between", "naive", "proved DP", "proved PNCF", "proved non-private"):
        assert judge("pncf", key, grid(good)) == ["holds"], key
    assert judge("pncf", "between", grid(bad)) == ["does not hold"]
    assert judge("pncf", "naive", grid(bad)) == ["does not hold"]
    assert judge("pncf", "proved DP", grid(good | {PRIVATE: [0.6, 0.91]})) == ["does not hold"]
    assert judge("pncf", "uniform", grid(good)) == ["not judged here"]


@pytest.mark.parametrize(
    ("errors", "fast", "stable"),
    [
        ({0.1: 1.0, 0.4: 0.8, 0.7: 0.75, 1.0: 0.74}, "holds", "holds"),
        ({0.1: 1.0, 0.4: 0.95, 0.7: 0.9, 1.0: 0.74}, "does not hold", "does not hold"),
        ({0.1: 1.0, 1.0: 0.74}, "not judged here", "not judged here"),
    ],
)
def test_verdicts_on_the_sweep_need_its_points(
    judge: Judge, errors: dict[float, float], fast: str, stable: str
) -> None:
    rows = [{"neighbors": "item", "method": "PNCF", "epsilon": e, "MAE": value} for e, value in errors.items()]
    tables = {"sweep": pl.DataFrame(rows)}
    assert judge("pncf", "fast", tables) == [fast]
    assert judge("pncf", "stable", tables) == [stable]


@pytest.mark.parametrize(
    ("difference", "p", "verdict"),
    [(-0.02, 1e-6, "holds"), (-0.02, 0.2, "does not hold"), (0.02, 1e-6, "does not hold")],
)
def test_a_choice_is_better_only_if_the_test_says_so(judge: Judge, difference: float, p: float, verdict: str) -> None:
    table = pl.DataFrame({"neighbors": ["item PCC"], "choice": ["PNCF"], "− uniform": [difference], "p": [p]})
    assert judge("pncf", "choice PNCF", {"choices": table}) == [verdict]


def test_what_cannot_be_studied_is_refused() -> None:
    pairs = [("a", "x"), ("a", "y")]
    for data, kind, words in (
        (Interactions(pairs), UsageError, "have none"),
        (Interactions([(*pair, 1, 2) for pair in pairs], duplicates="keep", scale="1:5"), UsageError, "may repeat"),
        (Interactions([("a", "x", 1), ("b", "y", 2)], scale="1:5"), DataError, "nothing can be held out"),
        (Interactions([("a", "x", 1), ("a", "y", 2)], scale="1:5"), DataError, "nothing can be measured"),
    ):
        with pytest.raises(kind, match=words):
            study("pncf", data)


def test_of_too_many_users_and_items_a_part_is_taken(films: Interactions) -> None:
    taken = taken_from(films, seed=3, most=50)
    assert taken.n_users <= 50
    assert taken.n_items == 50
    assert taken.catalog_is_public
