"""Tables and charts of the study of the frontier."""

from __future__ import annotations

import math

import polars as pl

from discreet.studies.charts import Chart
from discreet.studies.frontier.measuring import RANKING_METRICS, RATING_METRICS, Measured
from discreet.studies.frontier.results import RECALL, Results
from discreet.studies.frontier.setting import MAIN
from discreet.studies.frontier.targets import targets_table
from discreet.studies.published import published_table

__all__ = ["charts", "tables"]

HEADINGS = {
    "recall@20": "Recall@20 over epsilon",
    "nDCG@100": "nDCG@100 over epsilon",
    "catalog@20": "Share of the catalog in anybody's first 20, over epsilon",
    "popularity@20": "Mean popularity percentile of the first 20, over epsilon",
    "RMSE": "RMSE over epsilon",
    "MAE": "MAE over epsilon",
}
WITHOUT = "none"
"""Heading of the column for models that protect nobody."""


def tables(results: Results) -> dict[str, pl.DataFrame]:
    """Headings and tables, in order."""
    asked = targets_table(results)
    found = {} if asked is None else {"Targets": asked}
    for metric in RANKING_METRICS:
        found[HEADINGS[metric]] = _over_epsilon(results, results.ranking, metric)
    if results.ratings is not None:
        for metric in RATING_METRICS:
            found[HEADINGS[metric]] = _over_epsilon(results, results.ratings, metric)
    found[f"{MAIN} by users × μ"] = results.learning_curve().with_columns(
        pl.Series("ε", [f"{epsilon:g}" for epsilon in results.epsilons] * len(results.setting.shares)),
        (pl.col(RECALL) / results.best_without_privacy).alias(f"of {results.setting.yardstick}"),
    )
    found["Rankings with deviations"] = _everything(results.ranking, RANKING_METRICS[:2])
    if results.ratings is not None:
        found["Ratings with deviations"] = _everything(results.ratings, RATING_METRICS)
    found["Published elsewhere"] = published_table("frontier")
    return found


def charts(results: Results) -> tuple[Chart, ...]:
    """Accuracy over ε, what is shown over ε, and accuracy over users × μ."""
    drawn = [
        _curves(results, results.ranking, "recall", "recall@20", "Recall@20 over epsilon"),
        _curves(results, results.ranking, "ndcg", "nDCG@100", "nDCG@100 over epsilon"),
        _curves(results, results.ranking, "catalog", "catalog@20", "Share of the catalog that is shown"),
    ]
    if results.ratings is not None:
        drawn.append(_curves(results, results.ratings, "rmse", "RMSE", "RMSE over epsilon"))
    drawn.append(
        Chart(
            "users-times-mu",
            f"{MAIN}: one curve over users × μ, whatever the number of users",
            results.learning_curve(),
            x="users × μ",
            y=RECALL,
            series="share of users",
            band="sd",
            log_x=True,
        )
    )
    return tuple(drawn)


def _over_epsilon(results: Results, measured: Measured, metric: str) -> pl.DataFrame:
    """One row a model, one column an ε; models without privacy have a column of their own."""
    rows = []
    for name in measured.models:
        row: dict[str, object] = {"model": name}
        for epsilon in results.epsilons:
            value = measured.mean(name, epsilon, metric)
            row[f"{epsilon:g}"] = None if math.isnan(value) else value
        value = measured.mean(name, None, metric)
        row[WITHOUT] = None if math.isnan(value) else value
        rows.append(row)
    columns = [*(f"{epsilon:g}" for epsilon in results.epsilons), WITHOUT]
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(columns, pl.Float64))


def _everything(measured: Measured, metrics: tuple[str, ...]) -> pl.DataFrame:
    """Means and deviations of all models, and how long fitting took."""
    rows = []
    for name in measured.models:
        for epsilon in measured.budgets(name):
            row: dict[str, object] = {"model": name, "ε": "" if epsilon is None else f"{epsilon:g}"}
            for metric in metrics:
                row[metric] = measured.mean(name, epsilon, metric)
                row[f"± {metric}"] = measured.deviation(name, epsilon, metric)
            rows.append(row | {"fit, s": measured.mean(name, epsilon, "fit, s")})
    return pl.DataFrame(rows)


def _curves(results: Results, measured: Measured, name: str, metric: str, title: str) -> Chart:
    """Lines over ε; models without privacy are level."""
    rows = [
        {
            "model": model,
            "ε": epsilon,
            metric: measured.mean(model, epsilon if results.protects(model) else None, metric),
            "sd": measured.deviation(model, epsilon if results.protects(model) else None, metric),
        }
        for model in measured.models
        for epsilon in results.epsilons
    ]
    return Chart(name, title, pl.DataFrame(rows), x="ε", y=metric, series="model", band="sd", log_x=True)
