"""What was asked of the models on MovieLens 1M, beside what they do."""

from __future__ import annotations

import math

import polars as pl

from discreet.studies.frontier.contestants import FEATURED, RATINGS
from discreet.studies.frontier.results import Results
from discreet.studies.frontier.setting import MAIN
from discreet.studies.published import published

__all__ = ["UNMEASURED", "targets_table"]

UNMEASURED = "not measured"
"""The verdict where records lack what a target asks for."""


def targets_table(results: Results) -> pl.DataFrame | None:
    """target, bound, measured, met; None on other data, for which nothing was set."""
    asked = published("frontier")["targets"]
    data = results.setting.data
    if (len(data), data.n_users) != (asked["data"]["records"], asked["data"]["users"]):
        return None
    rows = []
    for stage, metric, features, epsilon, bound in asked["rows"]:
        model = RATINGS if metric == "RMSE" else FEATURED if features else MAIN
        measured = results.ratings if metric == "RMSE" else results.ranking
        value = math.nan if measured is None else measured.mean(model, float(epsilon), metric)
        deviation = math.nan if measured is None else measured.deviation(model, float(epsilon), metric)
        rows.append(
            {
                "stage": stage,
                "model": model,
                "ε": epsilon,
                "metric": metric,
                "target": f"{'≤' if metric == 'RMSE' else '≥'} {bound:.3f}",
                "measured": None if math.isnan(value) else value,
                "sd": None if math.isnan(value) else deviation,
                "met": _verdict(metric, value, bound),
            }
        )
    return pl.DataFrame(rows, schema_overrides={"measured": pl.Float64, "sd": pl.Float64})


def _verdict(metric: str, value: float, bound: float) -> str:
    if math.isnan(value):
        return UNMEASURED
    return "yes" if (value <= bound if metric == "RMSE" else value >= bound) else "NO"
