"""The study of the frontier: what it measures on a small world, and what its tables and sentences say about it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import DataError, EvaluationError
from discreet.factors import EASE, Biases, Popularity
from discreet.factors.expectation import CURVE, expected_share
from discreet.neighbors import KNN
from discreet.studies import StudyReport, published, study
from discreet.studies.frontier import FrontierStudy
from discreet.studies.frontier.experiment import RECALL, Results
from discreet.studies.frontier.measuring import KEYS, RANKING_METRICS, Row, _on_fewer, ranking_scores, rating_scores
from discreet.studies.frontier.models import COMPETITOR, FEATURED, MAIN, POPULAR, RATINGS, ranking_models
from discreet.studies.frontier.questions import FrontierData
from discreet.studies.study import summarized

Judge = Callable[..., list[str]]
EPSILONS = tuple(map(Fraction, FrontierStudy().settings(quick=False).epsilons))


def data_of(data: dc.Interactions, *, seed: int = 0, quick: bool = True) -> FrontierData:
    return FrontierData.of(data, FrontierStudy().settings(quick=quick), seed=seed)


@pytest.fixture(scope="module")
def films() -> dc.Interactions:
    return dc.synthetic.films(users=300, items=60, records=6000, seed=5)


@pytest.fixture(scope="module")
def told() -> list[float]:
    return []


@pytest.fixture(scope="module")
def report(films: dc.Interactions, told: list[float]) -> StudyReport:
    return study("frontier", films, quick=True, progress=lambda share, what: told.append(share))


# The report


def test_every_model_is_in_the_tables(report: StudyReport) -> None:
    recall = report.tables["Recall@20 over epsilon"]
    assert recall["model"].to_list() == [
        MAIN, FEATURED, COMPETITOR, "PrivateItemKNN", POPULAR, "PrivateItemKNN, one rating",
        "EASE", "ALS", "item kNN", "popularity",
    ]  # fmt: skip
    private = recall.filter(pl.col("none").is_null())
    assert private.height == 6
    assert private.select("1", "8").null_count().sum_horizontal().item() == 0
    assert recall.filter(pl.col("1").is_null())["none"].is_between(0.3, 1).all()
    assert report.tables["RMSE over epsilon"].height == 6
    assert [chart.name for chart in report.charts] == ["recall", "ndcg", "catalog", "rmse", "users-times-mu"]
    json.dumps(report.to_dict(), allow_nan=False)


def test_deviations_and_times_are_given(report: StudyReport) -> None:
    table = report.tables["Rankings with deviations, and seconds to fit"]
    assert table.height == (6 * 2 + 4) * (len(RANKING_METRICS) + 1)
    deviations = table.filter(metric=RECALL)["sd"]
    assert (deviations >= 0).all()
    assert deviations.max() > 0  # type: ignore[operator]
    assert (table.filter(metric="fit, s")["mean"] > 0).all()


def test_the_learning_curve_is_by_users_times_mu(report: StudyReport) -> None:
    curve = report.tables[f"{MAIN} by users × μ"]
    assert curve["share of users"].to_list() == ["1/2", "1/2", "1", "1"]
    assert curve["users"].to_list() == [106, 106, 212, 212]
    assert curve["users × μ"][2] == pytest.approx(212 * 0.26806, rel=1e-3)
    assert (curve["of the best without privacy"] > 0).all()


def test_progress_runs_from_nothing_to_all(report: StudyReport, told: list[float]) -> None:
    assert report.setting["seeds of the splits"] == [1, 2]
    assert told == sorted(told)
    assert 0 < told[0] < 0.05
    assert told[-1] == 1.0


def test_without_ratings_there_are_rankings_alone() -> None:
    visits = dc.synthetic.checkins(users=80, items=25, seed=2)
    report = study("frontier", visits, quick=True)
    assert "Recall@20 over epsilon" in report.tables
    assert not any("RMSE" in heading for heading in report.tables)
    assert FEATURED not in report.tables["Recall@20 over epsilon"]["model"].to_list()


# The setting


def test_the_tuning_split_is_left_out(films: dc.Interactions) -> None:
    assert data_of(films, quick=False).seeds == (1, 2, 3)
    assert data_of(films, seed=10).seeds == (11, 12)


def test_likes_are_records_from_three_quarters_up_without_ratings(films: dc.Interactions) -> None:
    likes = data_of(films).likes
    assert likes.rating is None
    assert likes.records_per_user.min() >= 5
    assert likes.catalog_is_public
    assert likes.n_items == films.n_items
    assert likes.item_table is not None
    assert "genres" in likes.item_table.columns
    true = films.to_frame().filter(pl.col("rating") >= 4).join(likes.to_frame(), on=["user_id", "item_id"], how="inner")
    assert true.height == len(likes)


def test_an_undeclared_catalog_is_taken_for_public_and_that_is_said(films: dc.Interactions) -> None:
    bare = dc.Interactions(films.to_frame().select("user_id", "item_id", "rating"), scale="1:5")
    setting = data_of(bare)
    assert setting.data.catalog_is_public
    assert not setting.declared
    assert setting.features == ()
    assert [one.name for one in ranking_models(setting)].count(FEATURED) == 0


def test_too_little_is_refused(films: dc.Interactions) -> None:
    with pytest.raises(DataError, match="no records"):
        data_of(films.emptied())
    with pytest.raises(EvaluationError, match="it takes 20"):
        data_of(films.sample_users(10, seed=1))


# Measuring


@pytest.mark.parametrize("model", [EASE(), Popularity()])
def test_rankings_are_measured_as_evaluate_does(films: dc.Interactions, model: dc.factors.EASE) -> None:
    setting = data_of(films)
    questions = setting.ranking_questions(1)
    mine = ranking_scores(model.fit(questions.train), questions)
    theirs = dc.evaluate(model, films, splits=1, seed=1)
    assert mine["recall@20"] == pytest.approx(theirs["recall@20"])
    assert mine["nDCG@100"] == pytest.approx(theirs["ndcg@100"])
    assert mine["catalog@20"] == pytest.approx(theirs["catalog@20"])
    assert mine["popularity@20"] == pytest.approx(theirs["popularity@20"])


def test_ratings_are_measured_as_evaluate_does(films: dc.Interactions) -> None:
    questions = data_of(films).rating_questions(2)
    mine = rating_scores(Biases().fit(questions.train), questions)
    theirs = dc.evaluate(Biases(), films, splits=1, seed=2, protocol="holdout")
    assert mine == pytest.approx({"RMSE": theirs["rmse"], "MAE": theirs["mae"]})


def test_models_that_hold_their_records_are_asked_about_strangers(films: dc.Interactions) -> None:
    questions = data_of(films).ranking_questions(1)
    model = KNN(k=20, similarity="cosine_full").fit(questions.train)
    assert ranking_scores(model, questions)["recall@20"] > 0.5


def test_fewer_users_are_asked_the_same_questions(films: dc.Interactions) -> None:
    questions = data_of(films).ranking_questions(1)
    fewer = _on_fewer(questions, Fraction(1, 4), 1)
    assert fewer.train.n_users == round(questions.train.n_users / 4)
    assert set(fewer.train.users.ids()) <= set(questions.train.users.ids())
    assert fewer.held_out is questions.held_out


# What follows


def made_up(data: FrontierData, *, recall: dict[float, float], popular: float = 0.2, **of: float) -> Results:
    """A run in which recall is a function of users × μ, on two splits that differ by a hundredth."""
    rows: list[Row] = []
    for shift in (-0.005, 0.005):
        for one in ranking_models(data):
            for epsilon in one.budgets(data.epsilons):
                budget = None if epsilon is None else float(epsilon)
                value = popular if one.name == POPULAR else 0.4 if budget is None else recall[budget]
                key = (one.name, one.protects, budget, 1.0)
                rows += [(*key, metric, of.get(one.name, 1.0) * value + shift) for metric in RANKING_METRICS]
                rows.append((*key, "users", 1000.0))
        for epsilon in data.epsilons:
            # Half of the users at ε are worth what all are at the point of half of the strength, on a line in its log.
            known = [math.log(data.mu(e)) for e in data.epsilons]
            value = np.interp(math.log(data.mu(epsilon) / 2), known, [recall[float(e)] for e in data.epsilons])
            key = (MAIN, "user", float(epsilon), 0.5)
            rows += [(*key, RECALL, float(value) + shift), (*key, "users", 500.0)]
    return Results(data, summarized(rows, KEYS))


@pytest.fixture(scope="module")
def seven(films: dc.Interactions) -> FrontierData:
    return replace(data_of(films), epsilons=EPSILONS)


@pytest.fixture(scope="module")
def line(seven: FrontierData) -> Results:
    """Recall of 0.1, 0.14 … 0.34 over the usual budgets."""
    return made_up(seven, recall={float(e): 0.1 + 0.04 * place for place, e in enumerate(EPSILONS)})


def test_means_and_deviations_are_over_splits(line: Results) -> None:
    assert line.mean(MAIN, 1.0) == pytest.approx(0.18)
    found = line.ranking.filter(model=MAIN, epsilon=1.0, metric=RECALL, share=1.0)
    assert found["sd"].item() == pytest.approx(0.01 / math.sqrt(2))
    assert math.isnan(line.mean(MAIN, 3.0))
    curve = line.learning_curve().filter(pl.col("share of users") == "1")
    assert curve["of the best without privacy"].to_list() == pytest.approx([0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85])


def test_curves_that_are_one_collapse(line: Results, judge: Judge) -> None:
    at_epsilon, at_strength = line.distances()
    assert at_strength == pytest.approx(0, abs=1e-9)
    assert at_epsilon is not None
    assert at_epsilon > 0.03
    assert judge("frontier", "strength", line.measurements()) == ["holds"]


def test_the_crossover_is_where_the_lines_meet(line: Results, judge: Judge) -> None:
    place = line.crossover()
    assert place is not None
    assert place == pytest.approx(math.sqrt(line.strength(1.0) * line.strength(2.0)), rel=1e-6)
    assert judge("frontier", "popularity recall", line.measurements()) == ["does not hold"]


def test_who_is_always_ahead_or_behind_has_no_crossover(seven: FrontierData, judge: Judge) -> None:
    recall = {float(e): 0.3 for e in EPSILONS}
    ahead, behind = (made_up(seven, recall=recall, popular=popular) for popular in (0.2, 0.35))
    assert ahead.crossover() == 0
    assert behind.crossover() is None
    for key in ("popularity recall", "popularity ndcg"):
        assert judge("frontier", key, ahead.measurements()) == ["holds"]
        assert judge("frontier", key, behind.measurements()) == ["does not hold"]


def test_a_lead_of_the_competitor_is_admitted(seven: FrontierData, judge: Judge) -> None:
    recall = {float(e): 0.3 for e in EPSILONS}
    behind, ahead = (made_up(seven, recall=recall, **{COMPETITOR: factor}) for factor in (0.9, 3.0))
    for key in ("competitor", "best"):
        assert judge("frontier", key, behind.measurements()) == ["holds"], key
        assert judge("frontier", key, ahead.measurements()) == ["does not hold"], key


def test_other_verdicts(seven: FrontierData, judge: Judge) -> None:
    recall = {float(e): 0.3 for e in EPSILONS}
    plain = made_up(seven, recall=recall).measurements()
    assert judge("frontier", "catalog", plain) == ["does not hold"]
    assert judge("frontier", "features", plain) == ["does not hold"]
    assert judge("frontier", "ratings", plain) == ["not tested"]
    assert judge("frontier", "unit", plain) == ["does not hold"]
    better = made_up(seven, recall=recall, **{FEATURED: 1.2, "PrivateItemKNN, one rating": 1.1}).measurements()
    assert judge("frontier", "features", better) == ["holds"]
    assert judge("frontier", "unit", better) == ["holds"]


# Targets


def targets(results: Results, stage: str, judge: Judge, *, million: bool = True) -> dict[str, str]:
    found = results.measurements()
    found.labels.update(records=1_000_209 if million else 9, users=6_040)
    keys = [claim["key"] for claim in published("frontier")["claims"] if claim["key"].startswith(stage)]
    return {key: judge("frontier", key, found)[0] for key in keys}


def test_targets_are_judged_on_movielens_1m_alone(seven: FrontierData, judge: Judge) -> None:
    recall = {float(e): 0.1 + 0.05 * place for place, e in enumerate(EPSILONS)}
    steeper = made_up(seven, recall=recall)
    rows: list[Row] = [(RATINGS, "user", e, 1.0, "RMSE", value) for e, value in ((1.0, 0.95), (4.0, 0.91), (8.0, 0.9))]
    rated = Results(seven, steeper.ranking, summarized(rows, KEYS))
    assert set(targets(rated, "target", judge, million=False).values()) == {"not tested"}
    found = targets(rated, "target", judge)
    assert len(found) == 9
    for metric in (RECALL, "RMSE"):
        told = [found[f"target {metric} {epsilon}"] for epsilon in (1, 4, 8)]
        assert told == ["does not hold", "holds", "holds"]
    beyond = targets(rated, "beyond", judge)
    assert [beyond[f"beyond RMSE {epsilon}"] for epsilon in (4, 8)] == ["holds", "holds"]


def test_targets_that_ask_for_features_are_not_tested_without_them(line: Results, judge: Judge) -> None:
    bare = Results(line.of, line.ranking.filter(pl.col("model") != FEATURED))
    found = targets(bare, "target", judge)
    assert {found[key] for key in found if key.endswith("features")} == {"not tested"}
    assert {found[key] for key in found if "RMSE" in key} == {"not tested"}


def test_published_points_have_their_sources(line: Results) -> None:
    kept = FrontierStudy().report(line.measurements()).tables["Published elsewhere"]
    assert kept.columns == published("frontier")["columns"]
    assert kept.filter(data="MovieLens 1M")["value"].item() == 0.915


# What estimates say


def test_what_is_expected_is_what_the_study_printed() -> None:
    points = np.array(CURVE)
    assert len(CURVE) == len(EPSILONS)
    assert (np.diff(points, axis=0) > 0).all()
    users = points[:, 0] / [float(dc.privacy.losses.mu_for(e, "1e-5")) for e in EPSILONS]
    assert np.allclose(users, 5430, atol=6)
    assert expected_share(float(points[2, 0])) == pytest.approx(points[2, 1])
