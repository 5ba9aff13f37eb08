"""The two readings of Zhu's chapter 3 side by side: how far each is from Table 3.1, and what the steps between do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from discreet.studies.study import published_table

__all__ = ["CENTERED", "PRINTED", "READ", "by_reading", "distances", "read", "steps_between"]

CENTERED, PRINTED = "centered", "printed"
READ = ("non-private", "PNCF", "DP")
"""The methods of Table 3.1."""

TABLE = "Table 3.1"
SIMILARITY = pl.col("similarity").cast(pl.Enum(["pearson", "cosine"]))
PLACE = ("axis", "similarity", "method", "k")


def read(listed: Mapping[str, Any], reading: Mapping[str, Any]) -> dict[str, Any]:
    """A method of the layout in another reading: with these settings."""
    return {**listed, "with": listed["with"] | reading}


def by_reading(means: pl.DataFrame) -> pl.DataFrame:
    """Errors of both readings and of Table 3.1 at ε = 1, one row for each method, reading and k."""
    at = means.filter(pl.col("reading").is_in([CENTERED, PRINTED]), pl.col("method").is_in(READ), noise=True)
    found = at.select(*PLACE, "reading", "MAE")
    told = published_table("pncf").rename({"mae": "MAE"}).join(found.select(PLACE).unique(), on=PLACE, how="semi")
    told = told.with_columns(pl.col("k").cast(found["k"].dtype), reading=pl.lit(TABLE)).select(found.columns)
    order = pl.Enum([PRINTED, CENTERED, TABLE])
    return pl.concat([found, told]).sort(
        "axis",
        SIMILARITY,
        pl.col("method").cast(pl.Enum(READ)),
        pl.col("reading").cast(order),
        "k",
    )


def distances(readings: pl.DataFrame) -> pl.DataFrame:
    """Mean distance of both readings from Table 3.1 over k, and which one is nearer."""
    wide = readings.pivot("reading", index=PLACE, values="MAE", maintain_order=True)
    away = [(pl.col(name) - pl.col(TABLE)).abs().mean().alias(name) for name in (PRINTED, CENTERED)]
    found = wide.drop_nulls([PRINTED, CENTERED, TABLE]).group_by(*PLACE[:3], maintain_order=True).agg(*away, pl.len())
    nearer = pl.when(pl.col(PRINTED) < pl.col(CENTERED)).then(pl.lit(PRINTED)).otherwise(pl.lit(CENTERED))
    return found.rename({"len": "values of k"}).with_columns(nearer=nearer)


def steps_between(means: pl.DataFrame, readings: list[str], *, k: int) -> pl.DataFrame:
    """Errors at one k from the centered reading to the printed one, one change after the other; items only."""
    at = means.filter(pl.col("method").is_in(READ), axis="item", k=k, noise=True)
    wide = at.sort(SIMILARITY, pl.col("reading").cast(pl.Enum([CENTERED, *readings]))).pivot(
        "method", index=["axis", "similarity", "reading"], values="MAE", maintain_order=True
    )
    return wide.select("axis", "similarity", "reading", *(name for name in READ if name in wide.columns))
