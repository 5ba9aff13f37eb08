"""The study of the frontier: what it measures on a small dataset, and what its tables and sentences say about it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import DataError, EvaluationError
from discreet.evaluation.protocols import Questions, run_model, strong_generalization
from discreet.factors import EASE, Popularity
from discreet.factors.references import MOST_ITEMS
from discreet.factors.tastes import CURVE, expected_share
from discreet.neighbors import KNN
from discreet.studies import StudyReport, published, study
from discreet.studies.frontier import (
    KEYS,
    LENGTHS,
    MAIN,
    POPULAR,
    RANKING_METRICS,
    FrontierStudy,
    crossover,
    distances,
    learning_curve,
    likes_of,
    measurements,
    on_fewer,
)  # fmt: skip
from discreet.studies.study import Measurements, Steps, summarized

Judge = Callable[..., list[str]]
Row = tuple[str, str, float | None, float, str, float]
RECALL, FEATURED, COMPETITOR, RATINGS = "recall@20", f"{MAIN}, features", "DP-ALS", "PrivateRatings"
EPSILONS = [float(Fraction(epsilon)) for epsilon in FrontierStudy().settings(quick=False).epsilons]
RANKERS = FrontierStudy().layout["methods"]["rankings"]
DELTA = "1e-5"


def questions_of(films: dc.Interactions) -> Questions:
    return strong_generalization(likes_of(films), 1, 22, 0.8, 5, None)


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
    assert table.height == (6 * 2 + 4) * (4 + 1)
    deviations = table.filter(metric=RECALL)["sd"]
    assert (deviations >= 0).all()
    assert deviations.max() > 0  # type: ignore[operator]
    assert (table.filter(metric="fit, s")["mean"] > 0).all()
    ratings = report.tables["Ratings with deviations, and seconds to fit"]
    assert set(ratings["metric"]) == {"rmse", "mae", "fit, s"}


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


def test_the_tuning_split_is_left_out(report: StudyReport) -> None:
    assert report.setting["seeds of the splits"] == [1, 2]


def test_likes_are_records_from_three_quarters_up_without_ratings(films: dc.Interactions) -> None:
    likes = likes_of(films)
    assert likes.rating is None
    assert likes.records_per_user.min() >= 5
    assert likes.catalog_is_public
    assert likes.n_items == films.n_items
    assert likes.item_table is not None
    assert "genres" in likes.item_table.columns
    true = films.to_frame().filter(pl.col("rating") >= 4).join(likes.to_frame(), on=["user_id", "item_id"], how="inner")
    assert true.height == len(likes)


def test_an_undeclared_catalog_is_taken_for_public_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = dc.synthetic.films(users=60, items=25, seed=5).to_frame().select("user_id", "item_id", "rating")
    study = FrontierStudy()
    few = [one for one in RANKERS if one["name"] in (MAIN, FEATURED, POPULAR, "EASE")]
    monkeypatch.setattr(FrontierStudy, "layout", FrontierStudy().layout | {"methods": {"rankings": few, "ratings": []}})
    settings = study.settings(quick=True).with_(splits=1)
    found = study.measure(dc.Interactions(bare, scale="1:5"), settings, seed=0, steps=Steps())
    assert found.setting["catalog"].startswith("not declared")
    assert found.setting["public columns used"] == []
    assert FEATURED not in found.tables["ranking"]["model"]


def test_too_little_is_refused(films: dc.Interactions) -> None:
    with pytest.raises(DataError, match="no records"):
        study("frontier", films.emptied(), quick=True)
    with pytest.raises(EvaluationError, match="it takes 20"):
        study("frontier", films.sample_users(10, seed=1), quick=True)


def test_ease_is_left_out_where_it_refuses() -> None:
    (most,) = (one["items"] for one in RANKERS if one["name"] == "EASE")
    assert most == MOST_ITEMS


# Measuring


@pytest.mark.parametrize("model", [EASE(), Popularity()])
def test_rankings_are_measured_as_evaluate_does(films: dc.Interactions, model: dc.factors.EASE) -> None:
    mine = run_model("model", model, questions_of(films), LENGTHS).scores
    theirs = dc.evaluate(model, films, splits=1, seed=1, test_users=22)
    for metric in RANKING_METRICS:
        assert mine[metric] == pytest.approx(theirs[metric])


def test_models_that_hold_their_records_are_asked_about_strangers(films: dc.Interactions) -> None:
    model = KNN(k=20, similarity="cosine_full")
    assert run_model("kNN", model, questions_of(films), LENGTHS).scores[RECALL] > 0.5


def test_fewer_users_are_asked_the_same_questions(films: dc.Interactions) -> None:
    questions = questions_of(films)
    fewer = on_fewer(questions, Fraction(1, 4), 1)
    assert fewer.train.n_users == round(questions.train.n_users / 4)
    assert set(fewer.train.users.ids()) <= set(questions.train.users.ids())
    assert fewer.held_out is questions.held_out
    assert fewer.rankings


# What follows


def mu(epsilon: float) -> float:
    return float(dc.privacy.losses.mu_for(Fraction(epsilon), DELTA))


def made_up(*, recall: dict[float, float], popular: float = 0.2, **of: float) -> pl.DataFrame:
    """A run in which recall is a function of users × μ, on two splits that differ by a hundredth."""
    rows: list[Row] = []
    for shift in (-0.005, 0.005):
        for one in RANKERS:
            for budget in EPSILONS if one["protects"] else [None]:
                value = popular if one["name"] == POPULAR else 0.4 if budget is None else recall[budget]
                key = (one["name"], one["protects"], budget, 1.0)
                rows += [(*key, metric, of.get(one["name"], 1.0) * value + shift) for metric in RANKING_METRICS]
                rows.append((*key, "users", 1000.0))
        for epsilon in EPSILONS:
            # Half of the users at ε are worth what all are at the point of half of the strength, on a line in its log.
            known = [math.log(mu(e)) for e in EPSILONS]
            value = np.interp(math.log(mu(epsilon) / 2), known, [recall[e] for e in EPSILONS])
            key = (MAIN, "user", epsilon, 0.5)
            rows += [(*key, RECALL, float(value) + shift), (*key, "users", 500.0)]
    return summarized(rows, KEYS)


def found_in(ranking: pl.DataFrame, ratings: pl.DataFrame | None = None) -> Measurements:
    return measurements({}, ranking, ratings, {"records": 6000, "users": 300, "delta": DELTA})


def crossing(ranking: pl.DataFrame) -> float | None:
    return crossover(ranking, learning_curve(ranking, delta=DELTA))


@pytest.fixture(scope="module")
def line() -> pl.DataFrame:
    """Recall of 0.1, 0.14 … 0.34 over the usual budgets."""
    return made_up(recall={e: 0.1 + 0.04 * place for place, e in enumerate(EPSILONS)})


def test_means_and_deviations_are_over_splits(line: pl.DataFrame) -> None:
    found = line.filter(model=MAIN, epsilon=1.0, metric=RECALL, share=1.0)
    assert found["value"].item() == pytest.approx(0.18)
    assert found["sd"].item() == pytest.approx(0.01 / math.sqrt(2))
    curve = learning_curve(line, delta=DELTA).filter(pl.col("share of users") == "1")
    assert curve["of the best without privacy"].to_list() == pytest.approx([0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85])


def test_curves_that_are_one_collapse(line: pl.DataFrame, judge: Judge) -> None:
    at_epsilon, at_strength = distances(learning_curve(line, delta=DELTA))
    assert at_strength == pytest.approx(0, abs=1e-9)
    assert at_epsilon is not None
    assert at_epsilon > 0.03
    assert judge("frontier", "strength", found_in(line)) == ["holds"]


def test_the_crossover_is_where_the_lines_meet(line: pl.DataFrame, judge: Judge) -> None:
    place = crossing(line)
    assert place is not None
    assert place == pytest.approx(1000 * math.sqrt(mu(1.0) * mu(2.0)), rel=1e-6)
    assert judge("frontier", "popularity recall", found_in(line)) == ["does not hold"]


def test_who_is_always_ahead_or_behind_has_no_crossover(judge: Judge) -> None:
    recall = dict.fromkeys(EPSILONS, 0.3)
    ahead, behind = (made_up(recall=recall, popular=popular) for popular in (0.2, 0.35))
    assert crossing(ahead) == 0
    assert crossing(behind) is None
    for key in ("popularity recall", "popularity ndcg"):
        assert judge("frontier", key, found_in(ahead)) == ["holds"]
        assert judge("frontier", key, found_in(behind)) == ["does not hold"]


def test_a_lead_of_the_competitor_is_admitted(judge: Judge) -> None:
    recall = dict.fromkeys(EPSILONS, 0.3)
    behind, ahead = (made_up(recall=recall, **{COMPETITOR: factor}) for factor in (0.9, 3.0))
    for key in ("competitor", "best"):
        assert judge("frontier", key, found_in(behind)) == ["holds"], key
        assert judge("frontier", key, found_in(ahead)) == ["does not hold"], key


def test_other_verdicts(judge: Judge) -> None:
    recall = dict.fromkeys(EPSILONS, 0.3)
    plain = found_in(made_up(recall=recall))
    assert judge("frontier", "catalog", plain) == ["does not hold"]
    assert judge("frontier", "features", plain) == ["does not hold"]
    assert judge("frontier", "ratings", plain) == ["not judged here"]
    assert judge("frontier", "unit", plain) == ["does not hold"]
    better = found_in(made_up(recall=recall, **{FEATURED: 1.2, "PrivateItemKNN, one rating": 1.1}))
    assert judge("frontier", "features", better) == ["holds"]
    assert judge("frontier", "unit", better) == ["holds"]


# Targets


def targets(found: Measurements, stage: str, judge: Judge, *, million: bool = True) -> dict[str, str]:
    found.labels.update(records=1_000_209 if million else 9, users=6_040)
    keys = [claim["key"] for claim in published("frontier")["claims"] if claim["key"].startswith(stage)]
    return {key: judge("frontier", key, found)[0] for key in keys}


def test_targets_are_judged_on_movielens_1m_alone(judge: Judge) -> None:
    recall = {e: 0.1 + 0.05 * place for place, e in enumerate(EPSILONS)}
    steeper = made_up(recall=recall)
    rows: list[Row] = [(RATINGS, "user", e, 1.0, "rmse", value) for e, value in ((1.0, 0.95), (4.0, 0.91), (8.0, 0.9))]
    rated = found_in(steeper, summarized(rows, KEYS))
    assert set(targets(rated, "target", judge, million=False).values()) == {"not judged here"}
    found = targets(rated, "target", judge)
    assert len(found) == 9
    for metric in (RECALL, "RMSE"):
        told = [found[f"target {metric} {epsilon}"] for epsilon in (1, 4, 8)]
        assert told == ["does not hold", "holds", "holds"]
    beyond = targets(rated, "beyond", judge)
    assert [beyond[f"beyond RMSE {epsilon}"] for epsilon in (4, 8)] == ["holds", "holds"]


def test_targets_that_ask_for_features_are_not_tested_without_them(line: pl.DataFrame, judge: Judge) -> None:
    bare = found_in(line.filter(pl.col("model") != FEATURED))
    found = targets(bare, "target", judge)
    assert {found[key] for key in found if key.endswith("features")} == {"not judged here"}
    assert {found[key] for key in found if "RMSE" in key} == {"not judged here"}


def test_published_points_have_their_sources(line: pl.DataFrame) -> None:
    kept = FrontierStudy().report(found_in(line)).tables["Published elsewhere"]
    assert kept.columns == published("frontier")["columns"]
    assert kept.filter(data="MovieLens 1M")["value"].item() == 0.915


# What estimates say


def test_what_is_expected_is_what_the_study_printed() -> None:
    points = np.array(CURVE)
    assert len(CURVE) == len(EPSILONS)
    assert (np.diff(points, axis=0) > 0).all()
    users = points[:, 0] / [mu(e) for e in EPSILONS]
    assert np.allclose(users, 5430, atol=6)
    assert expected_share(float(points[2, 0])) == pytest.approx(points[2, 1])
