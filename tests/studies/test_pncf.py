"""`study pncf` on small worlds whose answers are known."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import polars as pl
import pytest

from discreet.data import Interactions, synthetic
from discreet.errors import DataError, UsageError
from discreet.neighbors import KNN, PNCF, UniformNeighbors, selection
from discreet.neighbors.selection import Candidates
from discreet.studies import StudyReport, study
from discreet.studies.pncf import PNCFStudy, experiment
from discreet.studies.pncf.experiment import measure_grid, taken_from
from discreet.studies.pncf.grid import AXES, METHODS, PRIVATE, SIMILARITIES, Cell, Errors, question
from discreet.studies.pncf.selection import Choice, choices, truncation
from discreet.studies.study import Steps

Judge = Callable[..., list[str]]


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
    assert tests["published t"].drop_nulls().to_list() == [
        26.5135, 11.6696, 25.8884, 10.5045, 22.7078, 11.1771, 17.0451, 10.9179,
    ]  # fmt: skip
    assert tests["df"].unique().to_list() == [1]
    assert tests["p over users"].is_between(0, 1).all()
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
    errors = Errors(films.n_users)
    cell = Cell("non-private", "user", "cosine", 7)
    errors.add(cell, asked)
    predicted = KNN(k=7, axis="user", similarity="cosine").fit(asked.train).predict(asked.pairs)["score"].to_numpy()
    assert errors.mae(cell) == pytest.approx(float(np.abs(predicted - asked.actual).mean()))
    assert errors.spread(cell) is None


def test_a_rating_that_nobody_can_speak_about_is_left_out() -> None:
    records = [(user, item, 3) for user in "abc" for item in "xy"]
    data = Interactions([*records, ("d", "alone", 5), ("d", "also", 1)], scale="1:5").with_catalog("observed")
    asked = question(data, seed=0)
    assert asked.unanswerable == 1
    assert len(asked.pairs) == 3
    assert data.users.decode(asked.user) == ["a", "b", "c"]


def test_with_a_huge_epsilon_the_published_choices_are_the_nearest_neighbors() -> None:
    """In a dense world no two similarities are the same, so that nothing but the choice can differ."""
    dense = synthetic.films(users=150, items=60, records=6_000, seed=7).with_catalog("observed")
    settings = PNCFStudy().settings(quick=True).with_(epsilon=str(10**9), budgets=("1",), seeds=(0,))
    measured = measure_grid(dense, settings, Steps())
    for axis, similarity, k in product(AXES, SIMILARITIES, (5, 20)):
        nearest = measured.mae("non-private", axis, similarity, k)
        assert measured.mae("DP", axis, similarity, k) == pytest.approx(nearest, abs=1e-6)
        # PNCF cuts at the k-th similarity, so it takes the nearest, but where a large RS lets C0 go before one of them.
        assert measured.mae("PNCF", axis, similarity, k) == pytest.approx(nearest, abs=0.05)
    for pair, chosen in measured.choices.items():
        assert chosen["DP"].nearest == 1
        assert chosen["PNCF"].nearest > 0.9 > chosen["uniform, no noise"].nearest
        assert measured.truncations[pair].acting(1e9) > 0.9
        assert measured.truncations[pair].acting(1.0) == 0


def test_where_all_candidates_are_taken_every_choice_is_the_same(films: Interactions) -> None:
    """With k beyond every list, choice plays no part: uniform and noiseless PNCF are the non-private model."""
    asked = question(films, seed=1)
    of = {"k": 500, "axis": "item", "similarity": "cosine"}
    plain = asked.errors(KNN(**of))
    np.testing.assert_allclose(asked.errors(UniformNeighbors(**of)), plain)
    np.testing.assert_allclose(asked.errors(PNCF(epsilon=1, **of, laplace=None)), plain)
    assert choices(asked, axis="item", similarity="cosine", k=500, epsilon="1") == {}
    assert truncation(asked, axis="item", similarity="cosine", k=500).median is None


@pytest.mark.parametrize("similarity", ["pearson", "cosine"])
def test_truncation_acts_where_the_strategy_says_so(films: Interactions, similarity: str) -> None:
    """The epsilon from which it acts is where the threshold of the strategy itself leaves 0."""
    from discreet.studies.pncf.selection import _lists

    asked = question(films, seed=2)
    cut = truncation(asked, axis="item", similarity=similarity, k=5)
    lists = _lists(asked, axis="item", similarity=similarity, form="lemma", k=5)
    begins = np.sort(cut.begins)
    ours = sorted(_begins(lists[place], 5) for place in range(len(lists)))
    np.testing.assert_allclose(begins, ours, rtol=1e-6)


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


def test_a_split_without_anything_to_choose_does_not_count() -> None:
    splits = [{"DP": Choice(0.25, 0.5)}, {}, {"DP": Choice(0.75, 1.0)}]
    assert Choice.means(splits) == {"DP": Choice(0.5, 0.75)}
    assert Choice.means([{}]) == {}


def test_tests_pair_what_belongs_together() -> None:
    errors = Errors(3)
    a, b = Cell("a", "item", "cosine", 1), Cell("b", "item", "cosine", 1)
    errors.of_cell[a] = [np.array([1.0, 2.0, np.nan]), np.array([1.0, np.nan, np.nan])]
    errors.of_cell[b] = [np.array([2.0, 4.0, 1.0]), np.array([4.0, np.nan, np.nan])]
    assert errors.by_split(a).tolist() == [1.5, 1.0]
    assert errors.spread(a) == pytest.approx(0.5 / np.sqrt(2))
    test = errors.gain_over_users(a, b)
    assert test.n == 2
    assert test.difference == pytest.approx(2.0)
    assert errors.gain_over_k([a, a], [b, b]).difference == pytest.approx(errors.mae(b) - errors.mae(a))


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
    assert judge("pncf", "uniform", grid(good)) == ["not tested"]


@pytest.mark.parametrize(
    ("errors", "fast", "stable"),
    [
        ({0.1: 1.0, 0.4: 0.8, 0.7: 0.75, 1.0: 0.74}, "holds", "holds"),
        ({0.1: 1.0, 0.4: 0.95, 0.7: 0.9, 1.0: 0.74}, "does not hold", "does not hold"),
        ({0.1: 1.0, 1.0: 0.74}, "not tested", "not tested"),
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


def test_of_too_many_users_and_items_a_part_is_taken(films: Interactions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment, "MOST", 50)
    taken = taken_from(films, seed=3)
    assert taken.n_users <= 50
    assert taken.n_items == 50
    assert taken.catalog_is_public
