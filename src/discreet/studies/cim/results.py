"""What was measured on all inputs, and how tables and charts show it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import polars as pl

from discreet.studies.cim.inputs import Input
from discreet.studies.cim.ways import OURS
from discreet.studies.published import published, published_table
from discreet.studies.report import Chart

__all__ = ["Results", "charts", "tables"]

SHOWN = (0.1, 0.2, 0.4, 0.7, 1.0)
"""Budgets that a printed table has room for; the charts have all of them."""


@dataclass(frozen=True)
class Results:
    """All measurements, each a table with a column ``input``.

    Attributes
    ----------
    errors
        MSE of each way at each ε: the mean over runs, and their deviation.
    costs
        Claimed and spent ε of the refuted ways.
    thresholds, etas
        The sweeps over T and η.
    couplings
        Table 5.2.
    """

    inputs: tuple[Input, ...]
    errors: pl.DataFrame
    costs: pl.DataFrame
    thresholds: pl.DataFrame
    etas: pl.DataFrame
    couplings: pl.DataFrame

    def error(self, name: str, method: str, epsilon: float) -> float:
        return self._row(name, method, epsilon)["MSE"]

    def measured(self, name: str) -> list[float]:
        """The budgets that an input was measured at."""
        return sorted(self.errors.filter(pl.col("input") == name)["ε"].unique())

    def compared(self, name: str, method: str, epsilon: float) -> float:
        """By how much ours errs more than another, in standard errors of the difference of the means over runs."""
        mine, other = self._row(name, OURS, epsilon), self._row(name, method, epsilon)
        spread = math.hypot(*(row["deviation"] / math.sqrt(row["runs"]) for row in (mine, other)))
        return (mine["MSE"] - other["MSE"]) / max(spread, 1e-300)

    def _row(self, name: str, method: str, epsilon: float) -> dict[str, Any]:
        chosen = (pl.col("input") == name) & (pl.col("method") == method) & (pl.col("ε") == epsilon)
        return self.errors.row(by_predicate=chosen, named=True)


def tables(results: Results) -> dict[str, pl.DataFrame]:
    """Everything as tables, under their headings."""
    made = {f"MSE at ε, {source.name}": _errors(results, source.name) for source in results.inputs}
    made["What refuted methods claim and spend"] = results.costs
    made["Coupled groups (Table 5.2)"] = results.couplings.drop("compared")
    made["Impact of T (Figures 5.3, 5.4), ε = 1"] = _thresholds(results)
    made["Impact of η (Figure 5.5), ε = 1"] = results.etas
    made["Published"] = _published(results)
    return made


def _errors(results: Results, name: str) -> pl.DataFrame:
    part = results.errors.filter(pl.col("input") == name, pl.col("ε").is_in(list(SHOWN)))
    wide = part.pivot("ε", index=["method", "standing"], values="MSE", maintain_order=True)
    words = wide.with_columns(_significant(wide[column]) for column in wide.columns[2:])
    return words.rename({column: f"ε = {float(column):g}" for column in wide.columns[2:]})


def _significant(errors: pl.Series) -> pl.Series:
    """Four digits of each: errors of one column differ by factors of a million."""
    return pl.Series(errors.name, [None if error is None else f"{error:.4g}" for error in errors], dtype=pl.String)


def _thresholds(results: Results) -> pl.DataFrame:
    wide = results.thresholds.pivot("update", index=["input", "T"], values=["updates", "MSE"], maintain_order=True)
    names = {f"{value}_{update}": f"{value}, {update}" for value in ("updates", "MSE") for update in _UPDATES}
    return wide.with_columns(_significant(wide[f"MSE_{update}"]) for update in _UPDATES).rename(names)


_UPDATES = ("printed", "corrected")


def _published(results: Results) -> pl.DataFrame:
    """The values that the text names, with ours on the same dataset or the one that stands for it."""
    rows = []
    for row in published_table("cim").iter_rows(named=True):
        sources = [source.name for source in results.inputs if source.like == row["data"]]
        ours = _ours(results, sources[0], row) if sources else None
        rows.append({**row, "here": ours})
    made = pl.DataFrame(rows, schema_overrides={"here": pl.Float64}, infer_schema_length=None)
    return made.with_columns(_significant(made["value"]), _significant(made["here"])).rename({"value": "published"})


def _ours(results: Results, name: str, row: dict[str, object]) -> float | None:
    symbol, separator, number = str(row["at"]).partition(" = ")
    if not separator:
        return None
    value = float(number)
    if symbol == "ε":
        method = str(row["quantity"]).removeprefix("MSE of ")
        method = "CIM as printed" if method == "CIM" else method
        return results.error(name, method, value) if value in results.measured(name) else None
    if symbol == "T":
        found = results.thresholds.filter(pl.col("input") == name, pl.col("T") == value, pl.col("update") == "printed")
        column = "updates" if row["quantity"] == "updates" else "MSE"
    else:
        found, column = results.etas.filter(pl.col("input") == name, pl.col("η") == value), "u_max"
    return float(found[column].item()) if found.height else None


def charts(results: Results) -> tuple[Chart, ...]:
    several = "input" if len(results.inputs) > 1 else None
    etas = results.etas.unpivot(
        index=["input", "η"], on=["u_max", "updates, printed", "updates, corrected"], variable_name="what"
    ).with_columns(pl.col("value").cast(pl.Float64))
    sweep = published("cim")["parameters"]["queries"]
    return (
        Chart(
            "errors",
            "Error over ε (Figures 5.1 and 5.2)",
            results.errors.filter(pl.col("standing") != "REFUTED"),
            x="ε",
            y="MSE",
            series="method",
            panel=several,
            log_y=True,
        ),
        Chart(
            "refuted",
            "Error of the refuted methods at the ε that they claim, and with everything charged",
            results.errors.filter((pl.col("standing") == "REFUTED") | (pl.col("method") == OURS)),
            x="ε",
            y="MSE",
            series="method",
            panel=several,
            log_y=True,
        ),
        Chart(
            "updates-over-t",
            f"Updates over T (Figure 5.3), of up to {sweep:,}",
            results.thresholds,
            x="T",
            y="updates",
            series="update",
            panel=several,
            log_x=True,
        ),
        Chart(
            "error-over-t",
            "Error of CIM over T (Figure 5.4)",
            results.thresholds,
            x="T",
            y="MSE",
            series="update",
            panel=several,
            log_x=True,
            log_y=True,
        ),
        Chart(
            "updates-over-eta",
            "Updates over η, and u_max as published (Figure 5.5)",
            etas,
            x="η",
            y="value",
            series="what",
            panel=several,
            log_x=True,
            log_y=True,
        ),
    )
