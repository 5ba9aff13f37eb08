"""Study: many queries on coupled rows, Zhu's thesis chapter 5: Figures 5.1 to 5.5 and Table 5.2.

All methods get the same public coupling: the groups of the table, or a graph with the statistics of the thesis (a
quarter of the rows in groups of up to k of Table 5.2, degrees from 0.6 to 1). Errors are of shares of the rows, as in
Equation 5.6.1. Refuted methods are shown at the ε that they claim and with everything charged.

References
----------
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014, chapter 5.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from discreet.common.arrays import Floats
from discreet.coupled import CIM, LMCS, Coupling, Workload, random_queries
from discreet.coupled.published.bounds import published_error_bound, published_update_chance, published_updates
from discreet.coupled.published.cim import cim_account
from discreet.coupled.query_method import QuerySetting
from discreet.coupled.workloads.workload import GRID
from discreet.data.tables import Table
from discreet.errors import UsageError
from discreet.privacy.release import Release
from discreet.studies.cim_inputs import Input, built_in, given
from discreet.studies.quick import Most
from discreet.studies.study import Measurements, Settings, Steps, Study, made, published, published_table

__all__ = ["CHARGED", "EVEN", "OURS", "CIMStudy", "QueryRun", "measurements", "over_threshold", "standing"]

# Pairs of rows grow with the square; a sample shows what correlation finds.
MOST_COMPARED = 2_000

BETA = 0.05
"""β of Theorem 5.5.1."""

EVEN = "nothing asked"
"""An even histogram, which costs nothing."""
OURS = "ours: shrunk-histogram"
CHARGED = ", charged"
"""Follows the name of a refuted method whose claim was reduced until it spends ε."""

Listed = Mapping[str, Any]
"""A method of the layout."""


class CIMStudy(Study):
    """Errors of many queries over ε, T and η, and what the methods spend.

    Without data the study runs on the built-in survey and on six small tables like those of the thesis.
    """

    name = "cim"
    data_kind = Table
    quick_most = Most(records=20_000)

    def builtin(self, *, quick: bool) -> None:
        """No single table takes the place of one that is given: ``measure`` makes seven, by its seed."""

    def measure(self, data: Table | None, settings: Settings, *, seed: int, steps: Steps) -> Measurements:
        sources = built_in(seed=seed, quick=settings.quick) if data is None else [given(data, seed=seed)]
        # For one of many inputs: the values that the text of the thesis names.
        fewer = settings.with_(
            epsilons=_common(settings.epsilons, settings.named_epsilons),
            thresholds=_common(settings.thresholds, settings.named_thresholds),
            etas=_common(settings.etas, settings.named_etas),
        )
        plans = [settings, *[fewer] * (len(sources) - 1)]
        steps.expect(sum(len(one.epsilons) + len(one.thresholds) + len(one.etas) for one in plans))
        runs = [QueryRun.of(source, queries=settings.queries, seed=seed) for source in sources]
        pairs, methods = list(zip(runs, plans, strict=True)), self.layout["methods"]
        setting = {source.name: f"{source.table!r}; {source.coupling!r}" for source in sources}
        thresholds = [over_threshold(run, one, steps) for run, one in pairs]
        tables = {
            "errors": pl.concat([errors(run, methods, one, steps) for run, one in pairs]),
            "costs": pl.concat([costs(run, methods) for run in runs]),
            "thresholds": pl.concat([measured for measured, _ in thresholds]),
            "bounds": pl.concat([said for _, said in thresholds]),
            "etas": pl.concat([over_eta(run, one, steps) for run, one in pairs]),
            "couplings": couplings(sources, seed=seed),
        }
        like = {source.like: source.name for source in sources if source.like}
        return measurements(setting | {"queries": settings.queries}, tables, methods, like)


def measurements(
    setting: dict[str, Any], tables: dict[str, pl.DataFrame], methods: list[Listed], like: dict[str, str]
) -> Measurements:
    """What was measured, with our errors compared with all others, and with the published values.

    Parameters
    ----------
    like
        The dataset of the thesis that an input stands for, with the name of the input.
    """
    more = {"compared": _compared(tables["errors"], methods), "published": _beside_published(tables, like)}
    kept = published("cim")
    rows, k, queries = kept["rows_of"]["Adult"], kept["table_5_2"]["Adult"], kept["parameters"]["queries"]
    told = published_table("cim").filter(data="Adult", quantity="MSE of LM&GS", at="ε = 1")["value"].item()
    figures = {
        "scale of the Laplace noise that the published error of LM&GS stands for (Adult, ε = 1)": math.sqrt(told / 2),
        "k·L/n of the thesis, Adult": k * queries / rows,
        "k/n of the thesis, Adult": k / rows,
    }
    return Measurements(setting, tables | more, figures)


def _common(values: tuple[Any, ...], named: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(value for value in values if value in named)


def _compared(found: pl.DataFrame, methods: list[Listed]) -> pl.DataFrame:
    """At each ε, the method that comes closest to ours or is ahead, in standard errors of the difference.

    Refuted methods take part with everything charged.
    """
    names = [one["name"] + (CHARGED if one["method"] in COSTS else "") for one in methods]
    ours = [one["name"] for one in methods if one.get("ours")]
    rivals = {"methods of others": [EVEN, *(name for name in names if name not in ours)], "our other methods": ours}
    rows = []
    for (source, epsilon), part in found.group_by("input", "ε", maintain_order=True):
        at = {row["method"]: row for row in part.iter_rows(named=True)}
        if OURS not in at:
            continue
        mine = at[OURS]
        for against, names in rivals.items():
            gaps = {name: _gap(mine, at[name]) for name in names if name != OURS and name in at}
            if not gaps:
                continue
            nearest = max(gaps, key=lambda name: gaps[name])
            rows.append(
                {
                    "input": source,
                    "ε": epsilon,
                    "against": against,
                    "nearest": nearest,
                    "standard errors": gaps[nearest],
                    "ratio": mine["MSE"] / at[nearest]["MSE"] if at[nearest]["MSE"] else None,
                }
            )
    texts, numbers = ("input", "against", "nearest"), ("ε", "standard errors", "ratio")
    schema = dict.fromkeys(texts, pl.String) | dict.fromkeys(numbers, pl.Float64)
    order = ("input", "ε", "against", "nearest", "standard errors", "ratio")
    return pl.DataFrame(rows, schema={name: schema[name] for name in order})


def _gap(mine: dict[str, Any], other: dict[str, Any]) -> float:
    spread = math.hypot(*(row["deviation"] / math.sqrt(row["runs"]) for row in (mine, other)))
    return (mine["MSE"] - other["MSE"]) / max(spread, 1e-300)


def _beside_published(tables: dict[str, pl.DataFrame], like: dict[str, str]) -> pl.DataFrame:
    """The values that the text names, with ours on the same dataset or the one that stands for it."""
    rows = [
        {**row, "here": _measured_at(tables, like[row["data"]], row) if row["data"] in like else None}
        for row in published_table("cim").iter_rows(named=True)
    ]
    return pl.DataFrame(rows, schema_overrides={"here": pl.Float64}, infer_schema_length=None)


def _measured_at(tables: dict[str, pl.DataFrame], name: str, row: dict[str, Any]) -> float | None:
    symbol, _, number = str(row["at"]).partition(" = ")
    is_error, method = str(row["quantity"]).startswith("MSE"), str(row["quantity"]).removeprefix("MSE of ")
    places: dict[str, tuple[str, dict[str, str], str]] = {
        "ε": ("errors", {"method": method.replace("CIM", "CIM as printed")}, "MSE"),
        "T": ("thresholds", {"update": "printed"}, "MSE" if is_error else "updates"),
        "η": ("etas", {}, "u_max"),
    }
    if symbol not in places:
        return None
    table, where, column = places[symbol]
    found = tables[table].filter(pl.col(symbol) == float(number), input=name, **where)
    return float(found[column].item()) if found.height else None


@dataclass(frozen=True)
class QueryRun:
    """An input with its queries and their true answers, as shares of the rows."""

    source: Input
    workload: Workload
    truth: Floats

    @classmethod
    def of(cls, source: Input, *, queries: int, seed: int) -> QueryRun:
        workload = random_queries(source.table, queries, seed=seed)
        return cls(source, workload, workload.true_answers(source.table) / (GRID * len(source.table)))

    @property
    def setting(self) -> QuerySetting:
        return QuerySetting.of(self.source.table, self.workload, self.source.coupling)

    @property
    def even(self) -> float:
        """The error of an even histogram, which costs nothing."""
        cells = self.workload.n_cells
        return float(np.square(self.workload.answers(np.full(cells, 1 / cells)) - self.truth).mean())

    def release(self, method: Listed, **values: Any) -> Release:
        return made(method, values).release(
            self.source.table, self.workload, coupling=self.source.coupling, allow_refuted=True
        )

    def error(self, release: Release) -> float:
        """MSE of Equation 5.6.1: answers are shares of the rows."""
        shares = release.table("answers")["answer"].to_numpy() / len(self.source.table)
        return float(np.square(shares - self.truth).mean())

    def charged(self, method: Listed, epsilon: Fraction) -> Release:
        """A release of a refuted method with its claim reduced until what it really spends is ε."""
        cost = COSTS[method["method"]](self)
        return self.release(method, epsilon=epsilon / Fraction(cost).limit_denominator(10**9))


def lmcs_cost(run: QueryRun) -> float:
    """What LM&CS spends for each ε that it claims, if its scales were public: a group moves each answer by up to k."""
    scales = LMCS(epsilon=1).scales(run.source.table, run.setting)
    with np.errstate(divide="ignore"):
        return max(1.0, float((run.setting.largest / scales).sum()))


def cim_cost(run: QueryRun) -> float:
    """What CIM spends for each ε that it claims, if its scales were right and public: ε₀ in every round."""
    return CIM(epsilon=1).round_budget(run.workload.n_cells) * len(run.workload)


COSTS = {"lm-cs": lmcs_cost, "cim": cim_cost}
"""The refuted methods, and what each spends at least, for each unit of ε that it claims."""


def standing(method: Listed) -> str:
    """Whether the guarantee of a method holds."""
    return "REFUTED" if method["method"] in COSTS else "PROVED"


def errors(run: QueryRun, methods: list[Listed], settings: Settings, steps: Steps) -> pl.DataFrame:
    """MSE of every method at every ε: mean and deviation over runs; refuted methods also with everything charged."""
    rows: list[dict[str, Any]] = []
    for epsilon in map(Fraction, settings.epsilons):
        steps.done(f"{run.source.name}, ε = {float(epsilon):g}")
        rows.append(_row(run, EVEN, "", epsilon, [run.even]))
        for one in methods:
            # Ten thousand answers with noise of their own have a mean error that hardly differs between runs.
            runs = settings.runs if not one.get("steady") else max(1, settings.runs // 5)
            name, times = one["name"], range(runs)
            found = steps.attempt(
                f"{name}, {run.source.name}",
                lambda one=one, at=epsilon, times=times: [run.error(run.release(one, epsilon=at)) for _ in times],
            )
            if found is not None:
                rows.append(_row(run, name, standing(one), epsilon, found))
            if one["method"] in COSTS:
                charged = steps.attempt(
                    f"{name}{CHARGED}, {run.source.name}", lambda one=one, at=epsilon: run.error(run.charged(one, at))
                )
                if charged is not None:
                    rows.append(_row(run, name + CHARGED, standing(one), epsilon, [charged]))
    return pl.DataFrame(rows)


def _row(run: QueryRun, method: str, standing: str, epsilon: Fraction, found: list[float]) -> dict[str, Any]:
    return {
        "input": run.source.name,
        "method": method,
        "standing": standing,
        "ε": float(epsilon),
        "MSE": float(np.mean(found)),
        "deviation": float(np.std(found)),
        "runs": len(found),
    }


def costs(run: QueryRun, methods: list[Listed]) -> pl.DataFrame:
    """What refuted methods claim and what they spend at least, at ε = 1."""
    spent = {one["name"]: COSTS[one["method"]](run) for one in methods if one["method"] in COSTS}
    columns = {
        "input": run.source.name,
        "method": list(spent),
        "claimed ε": 1.0,
        "spent at least": list(spent.values()),
    }
    return pl.DataFrame(columns)


def over_threshold(run: QueryRun, settings: Settings, steps: Steps) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Figures 5.3 and 5.4: updates and error over T, at ε = 1; and the bounds of the thesis beside what is measured."""
    rows, said = [], []
    for threshold in settings.thresholds:
        steps.done(f"{run.source.name}, T = {threshold:g}")
        for update in ("printed", "corrected"):
            method = made(_cim(threshold=threshold, update=update), {})
            done = method.rounds(run.source.table, run.setting)
            error = done.answers - run.truth
            row = {"input": run.source.name, "T": threshold, "update": update, "updates": int(done.updated.sum())}
            rows.append({**row, "MSE": float(np.square(error).mean())})
            at: dict[str, float] = {
                "threshold": threshold,
                "alpha": float(np.abs(done.estimated - run.truth).max()),
                "scale": float(method.scales(run.source.table, run.setting).max()),
            }
            queries, largest = len(run.workload), float(np.abs(error).max())
            for statement, measured, bound in (
                ("Lemma 5: share of updates", row["updates"] / queries, published_update_chance(**at)),
                ("Corollary 2: updates", row["updates"], published_updates(queries, **at)),
                (
                    f"Theorem 5.5.1: largest error, β = {BETA:g}",
                    largest,
                    published_error_bound(queries, **at, beta=BETA),
                ),
            ):
                place = {"statement": statement, "input": run.source.name, "update": update, "T": threshold}
                said.append({**place, "α": at["alpha"], "measured": float(measured), "bound": bound})
    return pl.DataFrame(rows), pl.DataFrame(said)


def over_eta(run: QueryRun, settings: Settings, steps: Steps) -> pl.DataFrame:
    """Figure 5.5: u_max as published, and how many updates there are."""
    rows = []
    for eta in settings.etas:
        steps.done(f"{run.source.name}, η = {eta:g}")
        row: dict[str, Any] = {"input": run.source.name, "η": float(eta)}
        for update in ("printed", "corrected"):
            account = cim_account(run.release(_cim(threshold=settings.sweep_threshold, eta=eta, update=update)))
            row |= {"u_max": account.most_updates, "ε₀": account.per_round, f"updates, {update}": account.updates}
        rows.append(row)
    return pl.DataFrame(rows)


def _cim(*, threshold: float, update: str, eta: float = 7) -> Listed:
    return {"method": "cim", "with": {"epsilon": 1, "threshold": str(threshold), "eta": str(eta), "update": update}}


def couplings(sources: list[Input], *, seed: int) -> pl.DataFrame:
    """Table 5.2: the coupling of the runs, and the one that Pearson correlation finds in a sample of the rows."""
    table_52 = published("cim")["table_5_2"]
    rows = []
    for source in sources:
        facts = source.coupling.statistics()
        row = {
            "input": source.name,
            "rows": len(source.table),
            "cells": source.table.n_cells,
            "k": facts["k"],
            "coupled rows": facts["coupled_share"],
            "k published": table_52.get(source.like),
        }
        rows.append({**row, **_by_correlation(source.table, seed=seed)})
    return pl.DataFrame(rows, infer_schema_length=None)


def _by_correlation(table: Table, *, seed: int) -> dict[str, Any]:
    """Rows that correlate with others at δ₀ = 0.6; nothing for rows of a single value, whose correlation is none."""
    row: dict[str, Any] = {"compared": None, "k, Pearson": None, "coupled, Pearson": None}
    if len(table.attributes) < 2:
        return row
    chosen = np.zeros(len(table), dtype=bool)
    chosen[np.random.default_rng([seed, 52]).permutation(len(table))[:MOST_COMPARED]] = True
    try:
        facts = Coupling.pearson(table.filter(chosen)).statistics()
    except UsageError:  # values without an order, or too many pairs
        return row
    return {"compared": int(chosen.sum()), "k, Pearson": facts["k"], "coupled, Pearson": facts["coupled_share"]}
