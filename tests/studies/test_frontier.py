"""The study of the frontier: what it measures on a small world, and what its tables and sentences say about it."""

from __future__ import annotations

import json
import math
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
from discreet.studies import published, study
from discreet.studies.frontier.contestants import COMPETITOR, FEATURED, POPULAR, RATINGS, ranking_contestants
from discreet.studies.frontier.figures import tables
from discreet.studies.frontier.findings import findings
from discreet.studies.frontier.measuring import RANKING_METRICS, Measured, Row, _on_fewer, ranking_scores, rating_scores
from discreet.studies.frontier.results import RECALL, Results
from discreet.studies.frontier.setting import EPSILONS, MAIN, Setting, setting_of
from discreet.studies.frontier.targets import UNMEASURED, targets_table
from discreet.studies.report import StudyReport


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
    table = report.tables["Rankings with deviations"]
    assert table.height == 6 * 2 + 4
    assert (table["± recall@20"] >= 0).all()
    assert table["± recall@20"].max() > 0  # type: ignore[operator]
    assert (table["fit, s"] > 0).all()


def test_the_learning_curve_is_by_users_times_mu(report: StudyReport) -> None:
    curve = report.tables[f"{MAIN} by users × μ"]
    assert curve["share of users"].to_list() == ["1/2", "1/2", "1", "1"]
    assert curve["users"].to_list() == [106, 106, 212, 212]
    assert curve["users × μ"][2] == pytest.approx(212 * 0.26806, rel=1e-3)
    assert (curve["of EASE"] > 0).all()


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
    assert setting_of(films, seed=0, quick=False).seeds == (1, 2, 3)
    assert setting_of(films, seed=10, quick=True).seeds == (11, 12)


def test_likes_are_records_from_three_quarters_up_without_ratings(films: dc.Interactions) -> None:
    likes = setting_of(films, seed=0, quick=True).likes
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
    setting = setting_of(bare, seed=0, quick=True)
    assert setting.data.catalog_is_public
    assert not setting.declared
    assert setting.features == ()
    assert [one.name for one in ranking_contestants(setting)].count(FEATURED) == 0


def test_too_little_is_refused(films: dc.Interactions) -> None:
    with pytest.raises(DataError, match="no records"):
        setting_of(films.emptied(), seed=0, quick=True)
    with pytest.raises(EvaluationError, match="it takes 20"):
        setting_of(films.sample_users(10, seed=1), seed=0, quick=True)


# Measuring


@pytest.mark.parametrize("model", [EASE(), Popularity()])
def test_rankings_are_measured_as_evaluate_does(films: dc.Interactions, model: dc.factors.EASE) -> None:
    setting = setting_of(films, seed=0, quick=True)
    questions = setting.ranking_questions(1)
    mine = ranking_scores(model.fit(questions.train), questions)
    theirs = dc.evaluate(model, films, splits=1, seed=1)
    assert mine["recall@20"] == pytest.approx(theirs["recall@20"])
    assert mine["nDCG@100"] == pytest.approx(theirs["ndcg@100"])
    assert mine["catalog@20"] == pytest.approx(theirs["catalog@20"])
    assert mine["popularity@20"] == pytest.approx(theirs["popularity@20"])


def test_ratings_are_measured_as_evaluate_does(films: dc.Interactions) -> None:
    questions = setting_of(films, seed=0, quick=True).rating_questions(2)
    mine = rating_scores(Biases().fit(questions.train), questions)
    theirs = dc.evaluate(Biases(), films, splits=1, seed=2, protocol="holdout")
    assert mine == pytest.approx({"RMSE": theirs["rmse"], "MAE": theirs["mae"]})


def test_models_that_hold_their_records_are_asked_about_strangers(films: dc.Interactions) -> None:
    questions = setting_of(films, seed=0, quick=True).ranking_questions(1)
    model = KNN(k=20, similarity="cosine_full").fit(questions.train)
    assert ranking_scores(model, questions)["recall@20"] > 0.5


def test_fewer_users_are_asked_the_same_questions(films: dc.Interactions) -> None:
    questions = setting_of(films, seed=0, quick=True).ranking_questions(1)
    fewer = _on_fewer(questions, Fraction(1, 4), 1)
    assert fewer.train.n_users == round(questions.train.n_users / 4)
    assert set(fewer.train.users.ids()) <= set(questions.train.users.ids())
    assert fewer.held_out is questions.held_out


# What follows


def made_up(setting: Setting, *, recall: dict[float, float], popular: float = 0.2) -> Results:
    """A world in which recall is a function of users × μ, on two splits that differ by a hundredth."""
    rankers = ranking_contestants(setting)
    rows: list[Row] = []
    for split, shift in ((1, -0.005), (2, 0.005)):
        for one in rankers:
            for epsilon in one.budgets(setting.epsilons):
                budget = None if epsilon is None else float(epsilon)
                value = popular if one.name == POPULAR else 0.4 if budget is None else recall[budget]
                key = (one.name, budget, 1.0, 1000, split)
                rows += [(*key, metric, value + shift) for metric in (*RANKING_METRICS, "fit, s")]
        for epsilon in setting.epsilons:
            # Half of the users at ε are worth what all are at the point of half of the strength, on a line in its log.
            known = [math.log(setting.mu(e)) for e in setting.epsilons]
            value = np.interp(math.log(setting.mu(epsilon) / 2), known, [recall[float(e)] for e in setting.epsilons])
            rows.append((MAIN, float(epsilon), 0.5, 500, split, RECALL, float(value) + shift))
    return Results(setting, Measured.of(rows), None, tuple(rankers))


@pytest.fixture(scope="module")
def line(films: dc.Interactions) -> Results:
    """Recall of 0.1, 0.14 … 0.34 over the usual budgets."""
    setting = replace(setting_of(films, seed=0, quick=True), epsilons=EPSILONS)
    return made_up(setting, recall={float(e): 0.1 + 0.04 * place for place, e in enumerate(EPSILONS)})


def test_means_and_deviations_are_over_splits(line: Results) -> None:
    assert line.ranking.mean(MAIN, 1.0, RECALL) == pytest.approx(0.18)
    assert line.ranking.deviation(MAIN, 1.0, RECALL) == pytest.approx(0.01 / math.sqrt(2))
    assert math.isnan(line.ranking.mean(MAIN, 3.0, RECALL))
    assert line.share(MAIN, 20.0) == pytest.approx(0.85)


def test_curves_that_are_one_collapse(line: Results) -> None:
    found = line.collapse()
    assert found.points == 5  # the two lowest points lie below the range of the other curve
    assert found.at_equal_strength == pytest.approx(0, abs=1e-9)
    assert found.at_equal_epsilon > 0.03


def test_the_crossover_is_where_the_lines_meet(line: Results) -> None:
    place = line.crossover()
    assert place is not None
    assert place == pytest.approx(math.sqrt(line.strength(1.0) * line.strength(2.0)), rel=1e-6)
    assert line.gain(2.0) == pytest.approx(0.02)


def test_who_is_always_ahead_or_behind_has_no_crossover(line: Results) -> None:
    setting, recall = line.setting, {float(e): 0.3 for e in EPSILONS}
    assert made_up(setting, recall=recall, popular=0.2).crossover() == 0
    assert made_up(setting, recall=recall, popular=0.35).crossover() is None
    said = "\n".join(findings(made_up(setting, recall=recall, popular=0.35)))
    assert "popularity is ahead at the largest budget, and at worst by 0.050" in said


def test_findings_tell_the_numbers_of_the_run(line: Results) -> None:
    said = "\n".join(findings(line))
    assert "25% at 0.25, 35% at 0.5, 45% at 1, 55% at 2, 65% at 4, 75% at 8, 85% at 20" in said
    assert f"ahead from users × μ = {line.crossover():,.0f} on, and behind by 0.100 at most below that" in said
    assert "there is none to meet" in said


def test_a_lead_of_the_competitor_is_admitted(line: Results) -> None:
    better = line.ranking.table.with_columns(
        pl.when(pl.col("model") == COMPETITOR).then(pl.col("value") * 3).otherwise(pl.col("value")).alias("value")
    )
    said = "\n".join(findings(replace(line, ranking=Measured(better))))
    assert "-67% at 1" in said
    assert f"those that protect whole users: {COMPETITOR} at 0.25, 0.5, 1, 2, 4, 8, 20" in said


# Targets


class _Twin:
    """Records that look like MovieLens 1M from outside."""

    n_users = 6040
    item_table = None

    def __len__(self) -> int:
        return 1_000_209


def test_targets_are_judged_on_movielens_1m_alone(line: Results) -> None:
    assert targets_table(line) is None
    steeper = made_up(line.setting, recall={float(e): 0.1 + 0.05 * place for place, e in enumerate(EPSILONS)})
    million = replace(steeper, setting=replace(line.setting, data=_Twin()))  # type: ignore[arg-type]
    rows: list[Row] = [(RATINGS, e, 1.0, 1000, 1, "RMSE", value) for e, value in ((1.0, 0.95), (4.0, 0.91), (8.0, 0.9))]
    table = targets_table(replace(million, ratings=Measured.of(rows)))
    assert table is not None
    assert table.height == len(published("frontier")["targets"]["rows"])
    recall = table.filter(stage="target", metric=RECALL, model=MAIN)
    assert recall["measured"].to_list() == pytest.approx([0.2, 0.3, 0.35])
    assert recall["met"].to_list() == ["NO", "yes", "yes"]
    errors = table.filter(stage="target", metric="RMSE")
    assert errors["met"].to_list() == ["NO", "yes", "yes"]
    assert table.filter(stage="beyond", metric="RMSE")["met"].to_list() == ["yes", "yes"]


def test_targets_that_ask_for_features_are_not_measured_without_them(line: Results) -> None:
    table = line.ranking.table.filter(pl.col("model") != FEATURED)
    setting = replace(line.setting, data=_Twin())  # type: ignore[arg-type]
    asked = targets_table(replace(line, setting=setting, ranking=Measured(table)))
    assert asked is not None
    featured = asked.filter(model=FEATURED)
    assert featured["met"].to_list() == [UNMEASURED] * 3
    assert featured["measured"].null_count() == 3


def test_published_points_have_their_sources(line: Results) -> None:
    kept = tables(line)["Published elsewhere"]
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
