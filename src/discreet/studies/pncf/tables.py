"""Tables and charts of `study pncf`."""

from __future__ import annotations

from itertools import product
from typing import Any

import polars as pl

from discreet.studies.charts import Chart
from discreet.studies.pncf.grid import AXES, METHODS, PRIVATE, SIMILARITIES, UNIFORM, Cell
from discreet.studies.pncf.measuring import Measured
from discreet.studies.published import published, published_table

__all__ = ["charts", "tables"]

COMPARED = (("PNCF", "DP"), ("RS&NM", "DP"), ("PNCF", "RS&NM"), ("PNCF", UNIFORM))
"""Which method is tested against which."""


def tables(measured: Measured) -> dict[str, pl.DataFrame]:
    """Tables under their headings."""
    plan = measured.plan
    found = {
        f"MAE, {axis} neighbors, {SIMILARITIES[similarity]}": _grid(measured, axis, similarity)
        for axis, similarity in product(AXES, SIMILARITIES)
    }
    found["Paired t-tests: how much lower the error is"] = _tests(measured)
    found[f"What is chosen, k = {plan.size}, and the error without noise on weights"] = _choices(measured)
    found[f"Truncation, questions with more than k = {plan.size} candidates"] = _truncations(measured)
    found[f"MAE by epsilon, PCC, k = {plan.sweep_size}"] = _sweep_table(measured)
    return found


def charts(measured: Measured) -> tuple[Chart, ...]:
    """The grid, the same as published, and the sweep over epsilon."""
    plan, panel = measured.plan, "neighbors"
    points = [
        {
            panel: _panel(axis, similarity),
            "method": method,
            "k": k,
            **_point(measured, measured.cell(method, axis, similarity, k)),
        }
        for axis, similarity in product(AXES, SIMILARITIES)
        for method, k in product((*METHODS, PRIVATE), plan.sizes)
    ]
    was = published_table("pncf").select(
        pl.concat_str("axis", pl.lit(" "), pl.col("similarity").replace(SIMILARITIES)).alias(panel),
        "method",
        "k",
        pl.col("mae").alias("MAE"),
    )
    sweep = [
        {"neighbors": axis, "method": cell.method, "epsilon": float(cell.epsilon), **_point(measured, cell)}
        for axis in AXES
        for cell in measured.plan.sweep_cells(axis)
    ]
    return (
        Chart(
            "mae",
            f"MAE by k at epsilon {plan.epsilon}",
            pl.DataFrame(points),
            x="k",
            y="MAE",
            series="method",
            panel=panel,
            band="sd",
        ),
        Chart(
            "published",
            f"As published: {published('pncf')['where']}, {published('pncf')['data']}",
            was,
            x="k",
            y="MAE",
            series="method",
            panel=panel,
        ),
        Chart(
            "epsilon",
            f"MAE by epsilon, PCC, k = {plan.sweep_size}",
            pl.DataFrame(sweep),
            x="epsilon",
            y="MAE",
            series="method",
            panel="neighbors",
            band="sd",
        ),
    )


def _panel(axis: str, similarity: str) -> str:
    return f"{axis} {SIMILARITIES[similarity]}"


def _point(measured: Measured, cell: Cell) -> dict[str, float | None]:
    return {"MAE": measured.errors.mae(cell), "sd": measured.errors.spread(cell)}


def _grid(measured: Measured, axis: str, similarity: str) -> pl.DataFrame:
    """One part of Table 3.1: methods below each other, published figures under ours."""
    sizes = measured.plan.sizes
    was = published_table("pncf").filter(axis=axis, similarity=similarity)
    told = published_table("pncf-anchors").filter(axis=axis, similarity=similarity)
    rows: list[dict[str, Any]] = []
    for method in (*METHODS, PRIVATE):
        cells = [measured.cell(method, axis, similarity, k) for k in sizes]
        errors = {f"k={cell.k}": measured.errors.mae(cell) for cell in cells}
        spreads = [spread for spread in map(measured.errors.spread, cells) if spread is not None]
        rows.append({"method": method, **errors, "sd": max(spreads, default=None)})
        figures = pl.concat(
            [
                was.filter(method=method).select(pl.lit(published("pncf")["data"]).alias("data"), "k", "mae"),
                told.filter(method=method).select("data", "k", "mae"),
            ]
        )
        for (where,), part in figures.group_by("data", maintain_order=True):
            of_size = dict(part.select("k", "mae").rows())
            given = {f"k={k}": of_size.get(k) for k in sizes}
            if any(value is not None for value in given.values()):
                rows.append({"method": f"  published, {where}", **given, "sd": None})
    schema = {"method": pl.String, **{f"k={k}": pl.Float64 for k in sizes}, "sd": pl.Float64}
    return pl.DataFrame(rows, schema=schema)


def _tests(measured: Measured) -> pl.DataFrame:
    """Tables 3.2 and 3.3: tests over the values of k, as published, and over users, who are independent."""
    plan, errors = measured.plan, measured.errors
    was = published_table("pncf-tests")
    rows = []
    for (ours, against), axis, similarity in product(COMPARED, AXES, SIMILARITIES):
        cells = [[measured.cell(method, axis, similarity, k) for k in plan.sizes] for method in (ours, against)]
        over_k = errors.gain_over_k(*cells)
        mine, theirs = (measured.cell(method, axis, similarity, plan.size) for method in (ours, against))
        over_users = errors.gain_over_users(mine, theirs)
        told = was.filter(axis=axis, similarity=similarity, ours=ours, against=against)["t"].to_list()
        rows.append(
            {
                "lower": ours,
                "than": against,
                "neighbors": _panel(axis, similarity),
                "df": over_k.n - 1,
                "t over k": over_k.statistic,
                "published t": told[0] if told else None,
                f"gain, k={plan.size}": over_users.difference,
                "p over users": over_users.p_value,
            }
        )
    return pl.DataFrame(rows, schema_overrides={"published t": pl.Float64})


def _choices(measured: Measured) -> pl.DataFrame:
    plan, errors = measured.plan, measured.errors
    rows = []
    for (axis, similarity), chosen in measured.choices.items():
        uniform = Cell(UNIFORM, axis, similarity, plan.size, plan.epsilon, noise=False)
        for name, choice in chosen.items():
            cell = Cell(name, axis, similarity, plan.size, plan.epsilon, noise=name == "non-private")
            same = cell == uniform
            test = None if same else errors.gain_over_users(cell, uniform)
            rows.append(
                {
                    "neighbors": _panel(axis, similarity),
                    "choice": name.removesuffix(", no noise"),
                    "mean similarity": choice.similarity,
                    "nearest": choice.nearest,
                    "MAE": errors.mae(cell),
                    "− uniform": None if test is None else -test.difference,
                    "p": None if test is None else test.p_value,
                }
            )
    numbers = dict.fromkeys(("mean similarity", "nearest", "MAE", "− uniform", "p"), pl.Float64)
    return pl.DataFrame(rows, schema={"neighbors": pl.String, "choice": pl.String, **numbers})


def _truncations(measured: Measured) -> pl.DataFrame:
    rows = [
        {
            "neighbors": _panel(axis, similarity),
            "questions": cut.begins.size,
            "acting": cut.acting(float(measured.plan.epsilon)),
            "acts from epsilon (median)": cut.median,
            "candidates below 0": cut.negative,
        }
        for (axis, similarity), cut in measured.truncations.items()
    ]
    return pl.DataFrame(rows)


def _sweep_table(measured: Measured) -> pl.DataFrame:
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for axis in AXES:
        for cell in measured.plan.sweep_cells(axis):
            row = rows.setdefault((axis, cell.method), {"neighbors": axis, "method": cell.method})
            row[f"epsilon={cell.epsilon}"] = measured.errors.mae(cell)
    return pl.DataFrame(list(rows.values()))
