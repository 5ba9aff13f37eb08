"""The figures of Lu's fifth chapter, each as a table and a chart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import polars as pl

from discreet.data.interactions import Interactions
from discreet.data.splits import seeded
from discreet.errors import UsageError
from discreet.neighbors.similarity import Kind, Similarity
from discreet.studies.ppns_arena import FULL, LAYOUT, MODELS, RAREST, READINGS, Arena, Model, Plan, Reading, strategy
from discreet.studies.ppns_panel import Crowd, Panel, Score
from discreet.studies.ppns_questions import left_out, turned, whole
from discreet.studies.report import Chart

__all__ = ["Figure", "figures"]

DEFENDED = (LAYOUT, FULL, RAREST)
ACCURACY_BETAS = (1, 2, 3, 4)
ACCURACY_METHODS: tuple[tuple[Model, int | None], ...] = (
    ("kNN", None),
    *(("PPNS", beta) for beta in ACCURACY_BETAS),
    ("nPNS", None),
    ("PNCF", None),
)
CELLS = 4_000_000
"""Ratings in question × candidates, at most: where there are more candidates, fewer ratings are asked."""

ACCURACY_READINGS: tuple[tuple[str, Kind, bool], ...] = (
    ("co-rated, answer inside", "cosine", True),
    ("co-rated, left out", "cosine", False),
    ("full cosine, left out", "cosine_full", False),
)
"""Name, similarity, and whether the rating in question is among those that the similarity is computed from."""

Rows = list[dict[str, Any]]
Scores = tuple[Score, Score] | None


@dataclass(frozen=True, eq=False)
class Figure:
    """One figure of the thesis, measured again.

    Attributes
    ----------
    number
        Its number there; "kNN" for one that is not there, the attack on plain kNN under all readings.
    heading
        What it shows.
    table, chart
        The numbers, and the same drawn.
    """

    number: str
    heading: str
    table: pl.DataFrame
    chart: Chart


def figures(data: Interactions, plan: Plan, *, seed: int) -> Iterator[tuple[int, int, Figure]]:
    """The figures one by one, each with its place and how many there are."""
    arena = Arena(data, plan, seed=seed)
    makers: list[Callable[[], Figure]] = [
        partial(_accuracy, data, plan, "item", seed=seed),
        partial(_accuracy, data, plan, "user", seed=seed),
        partial(_plain_knn, arena),
        partial(_over_beta, arena),
        partial(_over_k, arena),
        partial(_over_epsilon, arena),
        partial(_over_known, arena),
        partial(_over_beta_averaged, arena),
        partial(_over_size, arena),
        partial(_over_known_averaged, arena),
        partial(_over_k_averaged, arena),
        partial(_over_epsilon_averaged, arena),
    ]
    for place, make in enumerate(makers):
        yield place, len(makers), make()


# Nobody attacks


def _accuracy(data: Interactions, plan: Plan, axis: Literal["user", "item"], *, seed: int) -> Figure:
    number, name = ("5.4", "Figure 5.4") if axis == "item" else ("5.5", "Figures 5.5 and 5.6")
    records = data if axis == "user" else turned(data)
    able = np.flatnonzero(records.records_per_user > 1)
    if able.size == 0:
        raise UsageError(f"no {axis} has two ratings, so none can be left out and predicted from the others.")
    people = seeded(seed, f"ppns {axis}s").permutation(able)[: plan.people]
    k, most = min(plan.accuracy_k, records.n_users // 5), min(plan.questions, CELLS // records.n_users)
    crowd, rows = Crowd(records), []
    for reading, kind, inside in ACCURACY_READINGS:
        asked = whole(records, people) if inside else left_out(records, people, most=most, seed=seed)
        panel = Panel(crowd, asked, Similarity(kind))
        for model, beta in ACCURACY_METHODS:
            score = panel.ask(strategy(model, k=k, beta=beta), present=False)
            rows.append(
                {
                    "reading": reading,
                    "model": model,
                    "β": beta,
                    "MAE": score.mae,
                    "±": score.standard_error,
                    "unanswered": score.unanswered,
                }
            )
    table = pl.DataFrame(rows, schema_overrides={"β": pl.Int64})
    # The others have no β: they are drawn as level lines.
    level = [row | {"β": beta} for row in rows if row["β"] is None for beta in ACCURACY_BETAS]
    drawn = pl.DataFrame([*level, *(row for row in rows if row["β"] is not None)])
    heading = f"{name}: {axis}-based accuracy, nobody attacks (k = {k})"
    chart = Chart(f"figure-{number.replace('.', '-')}", heading, drawn, x="β", y="MAE", series="model", panel="reading")
    return Figure(number, heading, table, chart)


# The kNN attack


def _plain_knn(arena: Arena) -> Figure:
    rows = [
        row
        for reading in READINGS
        for known in arena.plan.known
        for row in _row(reading, "kNN", "m", known, arena.score(reading, "kNN", known=known))
    ]
    return _figure("kNN", "The kNN attack on plain kNN over m, under six readings", "m", rows, log_x=True)


def _over_beta(arena: Arena) -> Figure:
    def one(reading: Reading, model: Model, beta: int) -> Scores:
        return arena.score(reading, model, beta=beta)

    return _sweep("5.7", "kNN attack over β", "β", arena.plan.betas, DEFENDED, MODELS, one)


def _over_k(arena: Arena) -> Figure:
    def one(reading: Reading, model: Model, k: int) -> Scores:
        return arena.score(reading, model, k=k)

    return _sweep("5.8", "kNN attack over k", "k", arena.plan.ks, (LAYOUT, FULL), MODELS, one)


def _over_epsilon(arena: Arena) -> Figure:
    def one(reading: Reading, model: Model, epsilon: float) -> Scores:
        return arena.score(reading, model, epsilon=epsilon)

    return _sweep(
        "5.9", "kNN attack over ε", "ε", arena.plan.epsilons, (LAYOUT, FULL), ("PNCF", "PPNS"), one, log_x=True
    )


def _over_known(arena: Arena) -> Figure:
    def one(reading: Reading, model: Model, known: int) -> Scores:
        return arena.score(reading, model, known=known)

    return _sweep("5.10", "kNN attack over m", "m", arena.plan.known, DEFENDED, MODELS, one, log_x=True)


# The x-kNN attacks


def _over_beta_averaged(arena: Arena) -> Figure:
    def one(reading: Reading, model: Model, beta: int) -> Scores:
        sizes = tuple(x for x in arena.plan.averaged if x <= beta)
        return arena.mean_score(reading, model, xs=sizes, beta=beta)

    betas = [beta for beta in arena.plan.betas if beta <= arena.plan.beta]
    return _sweep("5.11", "mean over the x-kNN attacks, x up to β₀", "β₀", betas, (LAYOUT, FULL), MODELS, one)


def _over_size(arena: Arena) -> Figure:
    def one(reading: Reading, model: Model, x: int) -> Scores:
        return arena.score(reading, model, x=x)

    heading = f"each x-kNN attack, β₀ = {arena.plan.beta}"
    return _sweep("5.12", heading, "x", arena.plan.sizes, (LAYOUT, FULL), MODELS, one)


def _over_known_averaged(arena: Arena) -> Figure:
    def one(reading: Reading, model: Model, known: int) -> Scores:
        return arena.mean_score(reading, model, xs=arena.plan.averaged, known=known)

    return _sweep("5.13", _mean_of(arena, "m"), "m", arena.plan.known, (LAYOUT,), MODELS, one, log_x=True)


def _over_k_averaged(arena: Arena) -> Figure:
    def one(reading: Reading, model: Model, k: int) -> Scores:
        return arena.mean_score(reading, model, xs=arena.plan.averaged, k=k)

    return _sweep("5.14", _mean_of(arena, "k"), "k", arena.plan.ks, (LAYOUT,), MODELS, one)


def _over_epsilon_averaged(arena: Arena) -> Figure:
    def one(reading: Reading, model: Model, epsilon: float) -> Scores:
        return arena.mean_score(reading, model, xs=arena.plan.averaged, epsilon=epsilon)

    return _sweep("5.15", _mean_of(arena, "ε"), "ε", arena.plan.epsilons, (LAYOUT,), ("PNCF", "PPNS"), one, log_x=True)


def _mean_of(arena: Arena, over: str) -> str:
    return f"mean over the x-kNN attacks, x = {', '.join(map(str, arena.plan.averaged))}, over {over}"


# Tables and charts


def _sweep(
    number: str,
    heading: str,
    over: str,
    values: Sequence[Any],
    readings: Sequence[Reading],
    models: Sequence[Model],
    one: Callable[[Reading, Model, Any], Scores],
    *,
    log_x: bool = False,
) -> Figure:
    """All readings, models and values of one parameter."""
    rows = [
        row
        for reading in readings
        for model in models
        for value in values
        for row in _row(reading, model, over, value, one(reading, model, value))
    ]
    return _figure(number, f"Figure {number}: {heading}", over, rows, log_x=log_x)


def _row(reading: Reading, model: str, over: str, value: Any, scores: Scores) -> Rows:
    """One line of a table, or none where there was nobody to attack."""
    if scores is None:
        return []
    present, absent = scores
    return [
        {
            "reading": reading.name,
            "model": model,
            over: value,
            "MAE": present.mae,
            "exact": present.exact,
            "exact, absent": absent.exact,
            "right": present.right,
            "right, absent": absent.right,
            "unanswered": present.unanswered,
        }
    ]


def _figure(number: str, heading: str, over: str, rows: Rows, *, log_x: bool) -> Figure:
    table = pl.DataFrame(rows).with_columns(pl.col("MAE").fill_nan(None))
    long = table.unpivot(on=["MAE", "exact"], index=["reading", "model", over], variable_name="measure")
    # Both measures of one reading side by side.
    order = pl.Enum(table["reading"].unique(maintain_order=True))
    long = long.sort(pl.col("reading").cast(order), "measure", maintain_order=True)
    long = long.with_columns(panel=pl.format("{}: {}", "reading", "measure")).drop("measure")
    name = "plain-knn" if number == "kNN" else f"figure-{number.replace('.', '-')}"
    chart = Chart(name, heading, long, x=over, y="value", series="model", panel="panel", log_x=log_x)
    return Figure(number, heading, table, chart)
