"""Every model on every split: fitted in a sandbox, asked, measured, thrown away."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import polars as pl

from discreet.data import splits
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.evaluation.catalog import evaluate_catalog
from discreet.evaluation.questions import Questions
from discreet.evaluation.ranking import evaluate_ranking
from discreet.evaluation.ratings import evaluate_ratings
from discreet.privacy.charging import sandbox
from discreet.recommender import Recommender
from discreet.studies.frontier.contestants import Contestant
from discreet.studies.frontier.setting import Setting

__all__ = ["RANKING_METRICS", "RATING_METRICS", "Measured", "Row", "measure_rankings", "measure_ratings"]

LISTED = 100
RANKING_METRICS = ("recall@20", "nDCG@100", "catalog@20", "popularity@20")
RATING_METRICS = ("RMSE", "MAE")

Tick = Callable[[str], None]
"""Told what was done."""

Row = tuple[str, float | None, float, int, int, str, float]


@dataclass(frozen=True)
class Measured:
    """Scores of all models: one row for each model, ε, share of the users, split and metric."""

    table: pl.DataFrame

    @classmethod
    def of(cls, rows: list[Row]) -> Measured:
        names = ["model", "epsilon", "share", "users", "split", "metric", "value"]
        kinds = [pl.String, pl.Float64, pl.Float64, pl.Int64, pl.Int64, pl.String, pl.Float64]
        return cls(pl.DataFrame(rows, schema=dict(zip(names, kinds, strict=True)), orient="row"))

    @cached_property
    def _summary(self) -> dict[tuple[str, float | None, float, str], tuple[float, float]]:
        found = self.table.group_by("model", "epsilon", "share", "metric").agg(
            pl.col("value").mean().alias("mean"), pl.col("value").std().fill_null(0.0).alias("deviation")
        )
        return {(m, e, s, metric): (mean, sd) for m, e, s, metric, mean, sd in found.iter_rows()}

    @property
    def models(self) -> list[str]:
        """In the order in which they were measured."""
        return self.table["model"].unique(maintain_order=True).to_list()

    def budgets(self, model: str) -> list[float | None]:
        """The values of ε that a model was measured at; for a reference None alone."""
        return self.table.filter(pl.col("model") == model)["epsilon"].unique(maintain_order=True).to_list()

    def mean(self, model: str, epsilon: float | None, metric: str, share: float = 1.0) -> float:
        """The mean over splits; NaN where nothing was measured."""
        return self._summary.get((model, epsilon, share, metric), (float("nan"), 0.0))[0]

    def deviation(self, model: str, epsilon: float | None, metric: str, share: float = 1.0) -> float:
        """The standard deviation over splits, each of which has fresh noise."""
        return self._summary.get((model, epsilon, share, metric), (float("nan"), float("nan")))[1]

    def users(self, share: float = 1.0) -> int:
        """How many users models learned from."""
        return int(self.table.filter(pl.col("share") == share)["users"][0])


def measure_rankings(setting: Setting, contestants: list[Contestant], tick: Tick) -> Measured:
    """All models on all users, and the first of them on fewer."""
    rows: list[Row] = []
    main = contestants[0]
    for seed in setting.seeds:
        questions = setting.ranking_questions(seed)
        for contestant in contestants:
            rows += _runs(setting, contestant, questions, seed, 1.0, ranking_scores, tick)
        for share in setting.shares[:-1]:
            rows += _runs(setting, main, _on_fewer(questions, share, seed), seed, float(share), ranking_scores, tick)
    return Measured.of(rows)


def measure_ratings(setting: Setting, contestants: list[Contestant], tick: Tick) -> Measured:
    """All models that predict ratings."""
    rows: list[Row] = []
    for seed in setting.seeds:
        questions = setting.rating_questions(seed)
        for contestant in contestants:
            rows += _runs(setting, contestant, questions, seed, 1.0, rating_scores, tick)
    return Measured.of(rows)


def _runs(
    setting: Setting,
    contestant: Contestant,
    questions: Questions,
    seed: int,
    share: float,
    scores: Callable[[Recommender, Questions], dict[str, float]],
    tick: Tick,
) -> list[Row]:
    rows: list[Row] = []
    for epsilon in contestant.budgets(setting.epsilons):
        with sandbox():
            begun = time.perf_counter()
            model = contestant.make(epsilon or Fraction(1), setting.delta).fit(questions.train)
            seconds = time.perf_counter() - begun
            found = scores(model, questions)
        budget = None if epsilon is None else float(epsilon)
        key = (contestant.name, budget, share, questions.train.n_users, seed)
        rows += [(*key, metric, value) for metric, value in {**found, "fit, s": seconds}.items()]
        tick(contestant.name if epsilon is None else f"{contestant.name}, ε = {epsilon}")
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
