"""Measurements: errors over ε (Figures 5.1 and 5.2), over T (5.3, 5.4), updates over η (5.5), couplings (Table 5.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.coupled import CIM, Coupling, QueryMethod, Workload, cim_account, random_queries
from discreet.coupled.cim import Update
from discreet.coupled.query_method import QuerySetting
from discreet.coupled.workload import GRID
from discreet.data.tables import Table
from discreet.errors import UsageError
from discreet.privacy.release import Release
from discreet.studies.cim.inputs import Input
from discreet.studies.cim.ways import CHARGED, EVEN, WAYS, Way
from discreet.studies.published import published

__all__ = ["QUICK", "Arena", "Plan", "costs", "couplings", "errors", "over_eta", "over_threshold"]

Told = Callable[[str], None]

# Pairs of rows grow with the square; a sample shows what correlation finds.
MOST_COMPARED = 2_000


@dataclass(frozen=True)
class Plan:
    """How much is measured.

    Parameters
    ----------
    queries
        Random linear queries.
    epsilons
        Budgets.
    runs
        Runs of each way, at each ε; those that only add noise need fewer.
    thresholds, etas
        T and η of the sweeps.
    sweep_threshold
        T of the sweep over η: at 0.3 hardly any query is far enough off to change the estimate.
    """

    queries: int = 10_000
    epsilons: tuple[Fraction, ...] = tuple(Fraction(tenth, 10) for tenth in range(1, 11))
    runs: int = 10
    thresholds: tuple[float, ...] = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.7, 1.0)
    etas: tuple[float, ...] = (0.1, 0.5, 1, 2, 4, 6, 7, 8, 10)
    sweep_threshold: float = 0.01

    @property
    def smaller(self) -> Plan:
        """For one of many inputs: the budgets that the text of the thesis names."""
        named = {Fraction(1, 10), Fraction(4, 10), Fraction(7, 10), Fraction(1)}
        return replace(
            self,
            epsilons=tuple(epsilon for epsilon in self.epsilons if epsilon in named),
            thresholds=tuple(threshold for threshold in self.thresholds if threshold in (0.01, 0.1, 0.3, 1.0)),
            etas=tuple(eta for eta in self.etas if eta in (0.1, 1, 7, 8)),
        )


QUICK = Plan(
    queries=300,
    epsilons=(Fraction(1, 10), Fraction(1)),
    runs=2,
    thresholds=(0.01, 0.3),
    etas=(0.1, 7, 8),
)


@dataclass(frozen=True)
class Arena:
    """An input with its queries and their true answers, as shares of the rows."""

    source: Input
    workload: Workload
    truth: NDArray[np.float64]

    @classmethod
    def of(cls, source: Input, plan: Plan, *, seed: int) -> Arena:
        workload = random_queries(source.table, plan.queries, seed=seed)
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


def errors(arena: Arena, plan: Plan, told: Told) -> pl.DataFrame:
    """MSE of every way at every ε: mean and deviation over runs; refuted ways also with everything charged."""
    rows: list[dict[str, Any]] = []
    for epsilon in plan.epsilons:
        told(f"{arena.source.name}, ε = {float(epsilon):g}")
        rows.append(_row(arena, EVEN, "", epsilon, [arena.even]))
        for way in WAYS:
            runs = plan.runs if way.cost is None and way.name != "LM&GS" else max(1, plan.runs // 5)
            found = [arena.error(arena.release(way.method(epsilon))) for _ in range(runs)]
            rows.append(_row(arena, way.name, way.standing, epsilon, found))
            if way.cost is not None:
                rows.append(_charged(arena, way, epsilon))
    return pl.DataFrame(rows)


def _charged(arena: Arena, way: Way, epsilon: Fraction) -> dict[str, Any]:
    """One run: ten thousand answers with noise of their own have a mean error that hardly differs between runs."""
    found = arena.error(arena.release(way.charged(epsilon, arena.source.table, arena.setting)))
    return _row(arena, way.name + CHARGED, way.standing, epsilon, [found])


def _row(arena: Arena, method: str, standing: str, epsilon: Fraction, found: list[float]) -> dict[str, Any]:
    return {
        "input": arena.source.name,
        "method": method,
        "standing": standing,
        "ε": float(epsilon),
        "MSE": float(np.mean(found)),
        "deviation": float(np.std(found)),
        "runs": len(found),
    }


def costs(arena: Arena) -> pl.DataFrame:
    """What refuted ways claim and what they spend at least, at ε = 1."""
    rows = []
    for way in WAYS:
        if way.cost is not None:
            spent = way.cost(arena.source.table, arena.setting)
            rows.append({"input": arena.source.name, "method": way.name, "claimed ε": 1.0, "spent at least": spent})
    return pl.DataFrame(rows)


def over_threshold(arena: Arena, plan: Plan, told: Told) -> pl.DataFrame:
    """Figures 5.3 and 5.4: updates and error over T, at ε = 1."""
    rows = []
    for threshold in plan.thresholds:
        told(f"{arena.source.name}, T = {threshold:g}")
        for update in ("printed", "corrected"):
            release = arena.release(_cim(threshold=threshold, update=update))
            updates = cim_account(release).updates
            row = {"input": arena.source.name, "T": threshold, "update": update, "updates": updates}
            rows.append({**row, "MSE": arena.error(release)})
    return pl.DataFrame(rows)


def over_eta(arena: Arena, plan: Plan, told: Told) -> pl.DataFrame:
    """Figure 5.5: u_max as published, and how many updates there are."""
    rows = []
    for eta in plan.etas:
        told(f"{arena.source.name}, η = {eta:g}")
        row: dict[str, Any] = {"input": arena.source.name, "η": float(eta)}
        for update in ("printed", "corrected"):
            account = cim_account(arena.release(_cim(threshold=plan.sweep_threshold, eta=eta, update=update)))
            row |= {"u_max": account.most_updates, "ε₀": account.per_round, f"updates, {update}": account.updates}
        rows.append(row)
    return pl.DataFrame(rows)


def _cim(*, threshold: float, update: Update, eta: float = 7) -> CIM:
    return CIM.of(epsilon=1, threshold=str(threshold), eta=str(eta), update=update)


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
