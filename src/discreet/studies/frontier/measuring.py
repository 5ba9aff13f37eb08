"""Every model on every split: fitted in a sandbox, asked, measured, thrown away."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import polars as pl

from discreet.data import splits
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.evaluation.catalog import evaluate_catalog
from discreet.evaluation.questions import Questions
from discreet.evaluation.ranking import evaluate_ranking
from discreet.evaluation.ratings import evaluate_ratings
from discreet.models.recommender import Recommender
from discreet.privacy.charging import sandbox
from discreet.studies.frontier.models import ComparedModel
from discreet.studies.frontier.questions import FrontierData
from discreet.studies.study import Steps, summarized

__all__ = ["KEYS", "RANKING_METRICS", "Row", "measure_rankings", "measure_ratings"]

LISTED = 100
RANKING_METRICS = ("recall@20", "nDCG@100", "catalog@20", "popularity@20")

Row = tuple[str, str, float | None, float, str, float]
KEYS = {
    "model": pl.String,
    "protects": pl.String,
    "epsilon": pl.Float64,
    "share": pl.Float64,
    "metric": pl.String,
}


def measure_rankings(data: FrontierData, models: list[ComparedModel], steps: Steps) -> pl.DataFrame:
    """All models on all users, and the first of them on fewer: means and deviations over the splits."""
    rows: list[Row] = []
    main = models[0]
    for seed in data.seeds:
        questions = data.ranking_questions(seed)
        for compared in models:
            rows += _runs(data, compared, questions, 1.0, ranking_scores, steps)
        for share in data.shares[:-1]:
            rows += _runs(data, main, _on_fewer(questions, share, seed), float(share), ranking_scores, steps)
    return summarized(rows, KEYS)


def measure_ratings(data: FrontierData, models: list[ComparedModel], steps: Steps) -> pl.DataFrame:
    """All models that predict ratings."""
    rows: list[Row] = []
    for seed in data.seeds:
        questions = data.rating_questions(seed)
        for compared in models:
            rows += _runs(data, compared, questions, 1.0, rating_scores, steps)
    return summarized(rows, KEYS)


def _runs(
    data: FrontierData,
    compared: ComparedModel,
    questions: Questions,
    share: float,
    scores: Callable[[Recommender, Questions], dict[str, float]],
    steps: Steps,
) -> list[Row]:
    rows: list[Row] = []
    for epsilon in compared.budgets(data.epsilons):
        with sandbox():
            begun = time.perf_counter()
            model = compared.make(epsilon or Fraction(1), data.delta).fit(questions.train)
            seconds = time.perf_counter() - begun
            found = scores(model, questions)
        budget = None if epsilon is None else float(epsilon)
        key = (compared.name, compared.protects, budget, share)
        rows += [
            (*key, metric, value)
            for metric, value in {**found, "users": questions.train.n_users, "fit, s": seconds}.items()
        ]
        steps.done(compared.name if epsilon is None else f"{compared.name}, ε = {epsilon}")
    return rows


def _on_fewer(questions: Questions, share: Fraction, seed: int) -> Questions:
    """The same questions to a model that learned from a share of the users."""
    train = questions.train
    kept = splits.choose_users(train.n_users, max(1, round(share * train.n_users)), seed=seed)
    return Questions(train.filter(kept[train.user]), questions.told, questions.held_out)


# What is asked


def ranking_scores(model: Recommender, questions: Questions) -> dict[str, float]:
    """How well people are served whom the model did not learn from, and what their lists do to the catalog."""
    lists = lists_for_strangers(model, questions.told)
    k = min(20, questions.train.n_items)
    ranked = evaluate_ranking(lists, held_out=questions.held_out, k=[k, LISTED], metrics=["truncated_recall", "ndcg"])
    shown = evaluate_catalog(lists, trained_on=questions.train, k=k)
    found = (
        ranked[f"truncated_recall@{k}"],
        ranked[f"ndcg@{LISTED}"],
        shown[f"catalog_coverage@{k}"],
        shown[f"popularity_percentile@{k}"],
    )
    return dict(zip(RANKING_METRICS, found, strict=True))


def lists_for_strangers(model: Recommender, told: Interactions) -> pl.DataFrame:
    """The best items for each person, given what the model is told of them."""
    try:
        return model.attach(told).recommend(told.users.ids(), n=LISTED)
    except UsageError:
        # Neighbor models hold on to their own records and take strangers one by one.
        ids, codes = told.items.ids(), told.user_starts
        histories = (
            {ids[item]: 1.0 for item in told.item[begin:end].tolist()}
            for begin, end in zip(codes[:-1].tolist(), codes[1:].tolist(), strict=True)
        )
        return pl.concat(
            model.recommend(history=history, n=LISTED).select(pl.lit(who).alias("user_id"), pl.all())
            for who, history in zip(told.users.ids(), histories, strict=True)
        )


def rating_scores(model: Recommender, questions: Questions) -> dict[str, float]:
    """How far predictions are from the ratings of people whom the model knows the other ratings of."""
    held_out = questions.held_out
    known = questions.train.users.encode(held_out.users.series, unknown="mark")[held_out.user] >= 0
    asked = held_out.filter(np.asarray(known))
    predicted = model.predict(asked.to_frame().select("user_id", "item_id").iter_rows())
    found = evaluate_ratings(predicted, held_out=asked, missing="skip")
    return {"RMSE": found["rmse"], "MAE": found["mae"]}
