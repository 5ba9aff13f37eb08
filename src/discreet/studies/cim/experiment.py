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
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.coupled import CIM, Coupling, QueryMethod, Workload, random_queries
from discreet.coupled.published.cim import Update, cim_account
from discreet.coupled.query_method import QuerySetting
from discreet.coupled.workloads.workload import GRID
from discreet.data.tables import Table
from discreet.errors import UsageError
from discreet.privacy.release import Release
from discreet.studies.cim.inputs import Input, built_in, given
from discreet.studies.cim.methods import CHARGED, EVEN, METHODS, OURS, ComparedMethod
from discreet.studies.study import Measurements, Settings, Steps, Study, published, published_table

__all__ = ["CIMStudy", "QueryRun", "measurements"]

# Pairs of rows grow with the square; a sample shows what correlation finds.
MOST_COMPARED = 2_000


class CIMStudy(Study):
    """Errors of many queries over ε, T and η, and what the methods spend.

    Without data the study runs on the built-in survey and on six small tables like those of the thesis.
    """

    name = "cim"
    data_kind = Table

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
        pairs = list(zip(runs, plans, strict=True))
        setting = {
            "queries": settings.queries,
            "runs of each method": settings.runs,
            "seed": seed,
            "T of the sweep over η": settings.sweep_threshold,
            **{source.name: f"{source.table!r}; {source.coupling!r}" for source in sources},
        }
        tables = {
            "errors": pl.concat([errors(run, one, steps) for run, one in pairs]),
            "costs": pl.concat([costs(run) for run in runs]),
            "thresholds": pl.concat([over_threshold(run, one, steps) for run, one in pairs]),
            "etas": pl.concat([over_eta(run, one, steps) for run, one in pairs]),
            "couplings": couplings(sources, seed=seed),
        }
        return measurements(setting, tables, {source.like: source.name for source in sources if source.like})


def measurements(setting: dict[str, Any], tables: dict[str, pl.DataFrame], like: dict[str, str]) -> Measurements:
    """What was measured, with our errors compared with all others, and with the published values.

    Parameters
    ----------
    like
        The dataset of the thesis that an input stands for, with the name of the input.
    """
    more = {"compared": _compared(tables["errors"]), "published": _beside_published(tables, like)}
    kept = published("cim")
    rows, k, queries = kept["rows_of"]["Adult"], kept["table_5_2"]["Adult"], kept["parameters"]["queries"]
    told = published_table("cim").filter(data="Adult", quantity="MSE of LM&GS", at="ε = 1")["value"].item()
    figures = {
        "scale of the Laplace noise that the published error of LM&GS stands for (Adult, ε = 1)": math.sqrt(told / 2),
        "k·L/n of the thesis, Adult": k * queries / rows,
        "k/n of the thesis, Adult": k / rows,
    }
    return Measurements(setting, tables | more, figures, labels={"queries": queries})


def _common(values: tuple[Any, ...], named: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(value for value in values if value in named)


def _compared(found: pl.DataFrame) -> pl.DataFrame:
    """At each ε, the method that comes closest to ours or is ahead, in standard errors of the difference.

    Refuted methods take part with everything charged.
    """
    others = [EVEN, *(one.name if one.cost is None else one.name + CHARGED for one in METHODS if not one.ours)]
    rivals = {"methods of others": others, "our other methods": [one.name for one in METHODS if one.ours]}
    rows = []
    for (source, epsilon), part in found.group_by("input", "ε", maintain_order=True):
        at = {row["method"]: row for row in part.iter_rows(named=True)}
        mine = at[OURS]
        for against, names in rivals.items():
            gaps = {name: _gap(mine, at[name]) for name in names if name != OURS}
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
    return pl.DataFrame(rows, schema_overrides={"ratio": pl.Float64})


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
    symbol, separator, number = str(row["at"]).partition(" = ")
    if not separator:
        return None
    method = str(row["quantity"]).removeprefix("MSE of ").replace("CIM", "CIM as printed")
    table, where, column = (
        {
            "ε": ("errors", {"ε": float(number), "method": method}, "MSE"),
            "T": (
                "thresholds",
                {"T": float(number), "update": "printed"},
                "updates" if "MSE" not in row["quantity"] else "MSE",
            ),
            "η": ("etas", {"η": float(number)}, "u_max"),
        }[symbol]
        if separator
        else ("", {}, "")
    )
    found = tables[table].filter(input=name, **where)
    return float(found[column].item()) if found.height else None


@dataclass(frozen=True)
class QueryRun:
    """An input with its queries and their true answers, as shares of the rows."""

    source: Input
    workload: Workload
    truth: NDArray[np.float64]

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

    def release(self, method: QueryMethod) -> Release:
        return method.release(self.source.table, self.workload, coupling=self.source.coupling, allow_refuted=True)

    def error(self, release: Release) -> float:
        """MSE of Equation 5.6.1: answers are shares of the rows."""
        shares = release.table("answers")["answer"].to_numpy() / len(self.source.table)
        return float(np.square(shares - self.truth).mean())


def errors(run: QueryRun, settings: Settings, steps: Steps) -> pl.DataFrame:
    """MSE of every method at every ε: mean and deviation over runs; refuted methods also with everything charged."""
    rows: list[dict[str, Any]] = []
    for epsilon in map(Fraction, settings.epsilons):
        steps.done(f"{run.source.name}, ε = {float(epsilon):g}")
        rows.append(_row(run, EVEN, "", epsilon, [run.even]))
        for method in METHODS:
            runs = settings.runs if method.cost is None and method.name != "LM&GS" else max(1, settings.runs // 5)
            found = [run.error(run.release(method.method(epsilon))) for _ in range(runs)]
            rows.append(_row(run, method.name, method.standing, epsilon, found))
            if method.cost is not None:
                rows.append(_charged(run, method, epsilon))
    return pl.DataFrame(rows)


def _charged(run: QueryRun, method: ComparedMethod, epsilon: Fraction) -> dict[str, Any]:
    """One run: ten thousand answers with noise of their own have a mean error that hardly differs between runs."""
    found = run.error(run.release(method.charged(epsilon, run.source.table, run.setting)))
    return _row(run, method.name + CHARGED, method.standing, epsilon, [found])


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


def costs(run: QueryRun) -> pl.DataFrame:
    """What refuted methods claim and what they spend at least, at ε = 1."""
    rows = []
    for method in METHODS:
        if method.cost is not None:
            spent = method.cost(run.source.table, run.setting)
            rows.append({"input": run.source.name, "method": method.name, "claimed ε": 1.0, "spent at least": spent})
    return pl.DataFrame(rows)


def over_threshold(run: QueryRun, settings: Settings, steps: Steps) -> pl.DataFrame:
    """Figures 5.3 and 5.4: updates and error over T, at ε = 1."""
    rows = []
    for threshold in settings.thresholds:
        steps.done(f"{run.source.name}, T = {threshold:g}")
        for update in ("printed", "corrected"):
            release = run.release(_cim(threshold=threshold, update=update))
            updates = cim_account(release).updates
            row = {"input": run.source.name, "T": threshold, "update": update, "updates": updates}
            rows.append({**row, "MSE": run.error(release)})
    return pl.DataFrame(rows)


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


def _cim(*, threshold: float, update: Update, eta: float = 7) -> CIM:
    return CIM(epsilon=1, threshold=str(threshold), eta=str(eta), update=update)


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
