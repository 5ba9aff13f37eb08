"""Models of one evaluation against each other, user by user: intervals, paired tests, and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from discreet.common.arrays import Floats
from discreet.errors import EvaluationError
from discreet.evaluation.significance import Test, paired_t_test, wilcoxon_test

if TYPE_CHECKING:
    from discreet.evaluation.evaluation import Evaluation

__all__ = ["comparison", "holm", "interval_over_users", "values_of_users"]

TESTS = {"t-test": "paired t-test over users", "wilcoxon": "Wilcoxon's signed-rank test over users"}


def values_of_users(found: Evaluation, metric: str, model: str) -> pl.DataFrame:
    """``user_id`` and the mean of a metric over the splits in which the user was asked about."""
    tables = []
    for run in found.runs[model]:
        table = run.scores.per_user
        if table is None or metric not in table.columns:
            raise EvaluationError(
                f"{metric} has no values of single users.", remedy=f"Those that have: {', '.join(found.user_metrics)}."
            )
        tables.append(table.select("user_id", pl.col(metric).cast(pl.Float64)))
    together = pl.concat(tables, how="vertical_relaxed").drop_nulls()
    return together.group_by("user_id", maintain_order=True).agg(pl.col(metric).mean())


def interval_over_users(values: Floats, confidence: float) -> tuple[float, float]:
    """The interval of the mean over users, by Student's t; the mean itself where there is one user."""
    from scipy.stats import t

    mean = float(values.mean())
    if values.size < 2:
        return mean, mean
    half = float(t.ppf((1 + confidence) / 2, values.size - 1)) * float(values.std(ddof=1)) / np.sqrt(values.size)
    return mean - half, mean + half


def comparison(found: Evaluation, metric: str, against: str, *, test: Test, confidence: float) -> pl.DataFrame:
    """Every model beside one of them; see ``Evaluation.compare``."""
    theirs = values_of_users(found, metric, against)
    rows = []
    for model in found.models:
        ours = values_of_users(found, metric, model)
        low, high = interval_over_users(ours[metric].to_numpy(), confidence)
        row = {"model": model, "metric": metric, "value": ours[metric].mean(), "low": low, "high": high}
        if model != against:
            both = ours.join(theirs, on="user_id", suffix="_theirs", maintain_order="left")
            if both.height < 2:
                raise EvaluationError("a paired test takes at least two users whom both models were asked about.")
            pair = both[metric].to_numpy(), both[f"{metric}_theirs"].to_numpy()
            run = paired_t_test if test == "t-test" else wilcoxon_test
            told = run(pair[0], against=pair[1], confidence=confidence)
            row |= {"difference": told.difference, "difference_low": told.low, "difference_high": told.high}
            row |= {"p": told.p_value, "users": told.n}
        else:
            row |= {"difference": 0.0, "difference_low": 0.0, "difference_high": 0.0, "p": None, "users": ours.height}
        rows.append(row)
    table = pl.DataFrame(rows, schema_overrides={"p": pl.Float64, "users": pl.Int64})
    return table.with_columns(p_holm=pl.Series(holm(table["p"].to_list()), dtype=pl.Float64))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """p-values of several tests, raised so that all of them together keep the error of one (Holm 1979).

    Examples
    --------
    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    raised: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, p * (len(known) - rank)))
        raised[place] = largest
    return raised
