"""Tables and charts of the study of tagging releases."""

from __future__ import annotations

from typing import Any

import polars as pl

from discreet.studies.charts import Chart
from discreet.studies.pritop_claims import SUPPRESSION_LOSS, TOP, Found, claims_table
from discreet.studies.pritop_measures import Measured
from discreet.studies.published import published_table

__all__ = ["charts", "tables"]

SHOWN = (1, 5, 10)
METRICS = ("recall", "precision")

_budget = pl.format("ε = {}", pl.col("epsilon"))


def tables(found: Found) -> dict[str, pl.DataFrame]:
    """Everything under the headings of the thesis."""
    return {
        "Claims of the text": claims_table(found),
        "Table 4.2: the data": _datasets(found),
        "Figure 4.1: semantic loss of PriTop; suppression at σ = 0.8 loses 0.2": _losses(found),
        "Figures 4.2 and 4.3: at ε = 1, or without ε": _by_length(found),
        "Figure 4.4: recall among ten, by ε": _by_epsilon(found, "recall"),
        "Figure 4.5: precision among ten, by ε": _by_epsilon(found, "precision"),
        "Table 4.3: paired t-tests, over N = 1 … 10 and over users at N = 10": _tests(found),
        "What is published at ε = 1": _contents(found),
        "Recall where the text gives a number": published_table("pritop-recall"),
    }


def charts(found: Found) -> tuple[Chart, ...]:
    """Figures 4.1 to 4.5."""
    losses = found.losses.select("K", "loss", budget=_budget)
    level = (
        losses.select("K")
        .unique(maintain_order=True)
        .with_columns(loss=pl.lit(SUPPRESSION_LOSS), budget=pl.lit("suppression, σ = 0.8"))
    )
    drawn = [
        Chart("figure-4-1", "Figure 4.1: semantic loss", pl.concat([losses, level]), x="K", y="loss", series="budget")
    ]
    for number, metric in zip(("2", "3"), METRICS, strict=True):
        points = pl.DataFrame(
            [
                {"N": n, metric: way.scores[f"{metric}@{n}"], "way": way.name}
                for way in _at_one(found)
                for n in found.setting.lengths
            ]
        )
        title = f"Figure 4.{number}: {metric} at ε = 1, or without ε"
        drawn.append(Chart(f"figure-4-{number}", title, points, x="N", y=metric, series="way"))
    for number, metric in zip(("4", "5"), METRICS, strict=True):
        points = pl.DataFrame(
            [
                {"epsilon": float(way.epsilon), metric: way.scores[f"{metric}@{TOP}"], "way": way.name}
                for way in found.ways
                if way.epsilon is not None
            ]
        )
        title = f"Figure 4.{number}: {metric} among ten, by ε"
        drawn.append(Chart(f"figure-4-{number}", title, points, x="epsilon", y=metric, series="way", log_x=True))
    return tuple(drawn)


def _at_one(found: Found) -> list[Measured]:
    return [way for way in found.ways if way.epsilon is None or way.epsilon == 1]


def _datasets(found: Found) -> pl.DataFrame:
    data = found.setting.data
    here = {
        "data": f"here: {data.name or 'triples'}",
        "records": len(data),
        "users": data.n_users,
        "resources": data.n_resources,
        "tags": data.n_tags,
    }
    return pl.concat([pl.DataFrame([here]), published_table("pritop-datasets")])


def _losses(found: Found) -> pl.DataFrame:
    wide = found.losses.with_columns(budget=_budget).pivot("budget", index="K", values="loss")
    strict = found.losses.filter(pl.col("epsilon") == 1.0).select("K", "deleted", "loss_of_replaced")
    names = {"deleted": "deleted, ε = 1", "loss_of_replaced": "loss of the others"}
    return wide.join(strict, on="K", how="left", maintain_order="left").rename(names)


def _by_length(found: Found) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"way": way.name, "hides": way.hides}
            | {f"recall@{n}": way.scores[f"recall@{n}"] for n in SHOWN}
            | {f"precision@{n}": way.scores[f"precision@{n}"] for n in SHOWN[1:]}
            for way in _at_one(found)
        ]
    )


def _by_epsilon(found: Found, metric: str) -> pl.DataFrame:
    budgets = sorted({*found.setting.published, *found.setting.ours})
    rows: dict[str, dict[str, Any]] = {}
    for way in found.ways:
        if way.epsilon is not None:
            row = rows.setdefault(way.name, {"way": way.name} | {f"ε = {float(one):g}": None for one in budgets})
            row[f"ε = {float(way.epsilon):g}"] = way.scores[f"{metric}@{TOP}"]
    schema = {"way": pl.String} | {f"ε = {float(one):g}": pl.Float64 for one in budgets}
    return pl.DataFrame(list(rows.values()), schema=schema)


def _tests(found: Found) -> pl.DataFrame:
    pritop, own = found.way("PriTop", 1.0), found.way("own tags alone")
    pairs = [(pritop, found.way("tag suppression, σ = 0.8"))]
    pairs += [(found.way("PriTop, kindest reading", 1.0), found.way("tag suppression, σ = 0.8"))]
    for way in found.ways:
        if way.kind == "ours" and way.epsilon == 1:
            pairs += [(way, own), (way, pritop)]
    rows: list[dict[str, Any]] = [
        {"way": "PriTop", "against": f"published, {data}", "metric": metric, "t over N": t, "df": df}
        for data, metric, df, t in published_table("pritop-tests").iter_rows()
    ]
    for ours, theirs in pairs:
        for metric in METRICS:
            lengths, users = found.test_over_lengths(ours, theirs, metric), found.test_over_users(ours, theirs, metric)
            rows.append(
                {
                    "way": ours.name,
                    "against": theirs.name,
                    "metric": metric,
                    "t over N": lengths.statistic,
                    "df": lengths.n - 1,
                    "t over users": users.statistic,
                    "df of users": users.n - 1,
                    "p": users.p_value,
                }
            )
    schema = {"way": pl.String, "against": pl.String, "metric": pl.String, "t over N": pl.Float64, "df": pl.Int64}
    return pl.DataFrame(rows, schema=schema | {"t over users": pl.Float64, "df of users": pl.Int64, "p": pl.Float64})


def _contents(found: Found) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"way": way.name, "triples": way.triples, "true share": way.true, "semantic loss": way.loss}
            for way in _at_one(found)
            if way.triples is not None
        ],
        schema={"way": pl.String, "triples": pl.Int64, "true share": pl.Float64, "semantic loss": pl.Float64},
    )
