"""`study pncf`: Zhu's private neighbor collaborative filtering, Tables 3.1 to 3.3 and Figures 3.4 to 3.6.

References
----------
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014, chapter 3.
T. Zhu, Y. Ren, W. Zhou, J. Rong, P. Xiong: An effective privacy preserving algorithm for neighborhood-based
collaborative filtering. Future Generation Computer Systems 36 (2014).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from discreet.data.interactions import Interactions
from discreet.errors import DataError
from discreet.studies.pncf.grid import (
    AXES,
    BARE,
    DELTA,
    DRAWS,
    METHODS,
    PRIVATE,
    SIMILARITIES,
    UNIFORM,
    Cell,
    Errors,
    question,
)  # fmt: skip
from discreet.studies.pncf.selection import Choice, Truncation, choices, truncation
from discreet.studies.study import Measurements, Settings, Steps, Study, one_rating_each, published, published_table

__all__ = ["Grid", "PNCFStudy", "measure_grid", "taken_from"]

MOST = 8_000
"""More users or items than this are not taken: the similarities of all pairs are kept in memory."""

SWEPT = ("DP", "PNCF", "PNCF, exact RS")
"""The methods of the sweep over epsilon."""

COMPARED = (("PNCF", "DP"), ("RS&NM", "DP"), ("PNCF", "RS&NM"), ("PNCF", UNIFORM))
"""Which method is tested against which."""

Setting = tuple[str, str]
"""Axis and similarity."""


class PNCFStudy(Study):
    """Errors of non-private, published and proved neighbor models under All-But-One.

    Neighbors are chosen among those with a rating to offer, ratings count as distances from means, similarities are
    those over co-ratings without shrinkage, RS is that of each pair, and noise has the scale 2·RS/ε: the reading that
    the published numbers agree with best. A held-out rating of an item that nobody else has rated is left out. The
    models draw their noise from the operating system, so errors differ a little from run to run; ``sd`` says how much.
    """

    name = "pncf"

    def measure(self, data: Interactions, settings: Settings, *, seed: int, steps: Steps) -> Measurements:
        one_rating_each(data)
        if not (data.records_per_user > 1).any():
            raise DataError("nobody has rated two items, so nothing can be held out.")
        taken = taken_from(data, seed=seed)
        splits = settings.splits if settings.quick or taken.n_users >= 2_000 else settings.splits_of_few_users
        settings = settings.with_(seeds=tuple(100 * seed + split for split in range(splits)))
        grid = measure_grid(taken, settings, steps)
        tables = {
            "mae": grid.mae_table(),
            "grid": grid.with_published(),
            "published": _named(published_table("pncf")).rename({"mae": "MAE"}),
            "tests": grid.tests(),
            "choices": grid.choice_table(),
            "truncation": grid.truncation_table(),
            "sweep": grid.sweep(),
        }
        labels = {
            "k": settings.size,
            "epsilon": settings.epsilon,
            "sweep_k": settings.sweep_size,
            "published": f"{published('pncf')['where']}, {published('pncf')['data']}",
        }
        part = "" if len(taken) == len(data) else f", a part of {len(data):,}"
        setting = {
            "data": data.name or "unnamed",
            "ratings": f"{len(taken):,}{part}; {taken.n_users:,} users, {taken.n_items:,} items",
            "protocol": "All-But-One: one rating of each user is held out, at random",
            "splits": splits,
            "seeds of the splits": list(settings.seeds),
            "held-out ratings": grid.asked,
            "left out (items that nobody else rated)": grid.unanswerable,
            "neighbors": "among those with a rating to offer; mean-centered; clipped to the scale; no minimum overlap",
            "epsilon": settings.epsilon,
            "choices without noise": f"drawn {DRAWS} times in each split",
            PRIVATE: f"epsilon {settings.epsilon}, delta {DELTA} for all ratings of one user; same row in every table",
        }
        return Measurements(setting, tables, labels=labels)


def taken_from(data: Interactions, *, seed: int) -> Interactions:
    """The records that the study runs on: not more users and items than fit, and all items in the catalog."""
    if data.n_users > MOST:
        data = data.sample_users(MOST, seed=seed)
    if data.n_items > MOST:
        popular = np.argsort(-data.records_per_item, kind="stable")[:MOST]
        data = data.filter(np.isin(data.item, popular))
    # A study releases nothing, so it may take the items that occur for known.
    return data.with_catalog("observed")


def measure_grid(data: Interactions, settings: Settings, steps: Steps) -> Grid:
    """Run every model on every split."""
    grid, pairs = Grid(settings, Errors(data.n_users)), list(product(AXES, SIMILARITIES))
    steps.expect(len(settings.seeds) * (sum(len(grid.cells(*pair)) for pair in pairs) + len(settings.sizes)))
    chosen: dict[Setting, list[dict[str, Choice]]] = {pair: [] for pair in pairs}
    cut: dict[Setting, list[Truncation]] = {pair: [] for pair in pairs}
    for number, seed in enumerate(settings.seeds, start=1):
        asked = question(data, seed=seed)
        grid.asked += len(asked.pairs)
        grid.unanswerable += asked.unanswerable
        for axis, similarity in pairs:
            # The choices come first: they make the table of all pairs that the models then share.
            where: dict[str, Any] = {"axis": axis, "similarity": similarity, "k": settings.size}
            cut[axis, similarity].append(truncation(asked, **where))
            chosen[axis, similarity].append(choices(asked, **where, epsilon=settings.epsilon))
            for cell in grid.cells(axis, similarity):
                grid.errors.add(cell, asked)
                steps.done(f"split {number}, {axis} {SIMILARITIES[similarity]}")
        for k in settings.sizes:
            grid.errors.add(grid.cell(PRIVATE, "item", "own", k), asked)
            steps.done(f"split {number}, {PRIVATE}")
    grid.choices = {pair: Choice.means(many) for pair, many in chosen.items()}
    grid.truncations = {pair: Truncation.joined(many) for pair, many in cut.items()}
    return grid


@dataclass(eq=False)
class Grid:
    """Errors of all methods, and what their choice of neighbors does.

    Attributes
    ----------
    settings
        With the seeds of the splits; ``sizes`` are the values of k, ``size`` the k of the tests over users and of the
        choices, ``budgets`` and ``sweep_size`` those of the sweep over epsilon.
    """

    settings: Settings
    errors: Errors
    choices: dict[Setting, dict[str, Choice]] = field(default_factory=dict)
    truncations: dict[Setting, Truncation] = field(default_factory=dict)
    asked: int = 0
    unanswerable: int = 0

    def cell(self, method: str, axis: str, similarity: str, k: int) -> Cell:
        """The place of a method in the grid."""
        if method == PRIVATE:
            axis, similarity = "item", "own"
        return Cell(method, axis, similarity, k, self.settings.epsilon)

    def cells(self, axis: str, similarity: str) -> list[Cell]:
        """Everything that is measured for one kind of neighbors and one similarity."""
        grid = [self.cell(method, axis, similarity, k) for method in METHODS for k in self.settings.sizes]
        bare = [self._bare(method, axis, similarity) for method in BARE]
        sweep = self._sweep_cells(axis) if similarity == "pearson" else []
        return list(dict.fromkeys([*grid, *bare, *sweep]))

    def _bare(self, method: str, axis: str, similarity: str) -> Cell:
        return Cell(method, axis, similarity, self.settings.size, self.settings.epsilon, noise=False)

    def _sweep_cells(self, axis: str) -> list[Cell]:
        return [
            Cell(method, axis, "pearson", self.settings.sweep_size, epsilon)
            for method, epsilon in product(SWEPT, self.settings.budgets)
        ]

    def mae(self, method: str, axis: str, similarity: str, k: int) -> float:
        """The error of a method."""
        return self.errors.mae(self.cell(method, axis, similarity, k))

    def _point(self, cell: Cell) -> dict[str, float | None]:
        return {"MAE": self.errors.mae(cell), "sd": self.errors.spread(cell)}

    # Tables

    def mae_table(self) -> pl.DataFrame:
        """Table 3.1, one row for each method and k."""
        rows = [
            {"axis": axis, "similarity": similarity, "method": method, "k": k}
            | self._point(self.cell(method, axis, similarity, k))
            for axis, similarity in product(AXES, SIMILARITIES)
            for method in (*METHODS, PRIVATE)
            for k in self.settings.sizes
        ]
        return _named(pl.DataFrame(rows, schema_overrides={"sd": pl.Float64}))

    def with_published(self) -> pl.DataFrame:
        """The same with the published figures below ours, and the largest deviation of each method."""
        ours = self.mae_table().with_columns(pl.col("sd").max().over("axis", "similarity", "method"))
        told = pl.concat(
            [
                published_table("pncf").select(pl.lit(published("pncf")["data"]).alias("data"), *_KEYS),
                published_table("pncf-anchors").select("data", *_KEYS),
            ]
        )
        shown = _named(told.filter(pl.col("k").is_in(self.settings.sizes))).rename({"mae": "MAE"})
        parts = []
        for _, part in ours.group_by("axis", "similarity", "method", maintain_order=True):
            parts.append(part)
            known = shown.join(
                part.select("axis", "similarity", "method").unique(), on=["axis", "similarity", "method"]
            )
            label = pl.format("  published, {}: {}", "data", "method")
            parts.append(known.with_columns(method=label, sd=pl.lit(None, pl.Float64)).select(part.columns))
        return pl.concat(parts)

    def tests(self) -> pl.DataFrame:
        """Tables 3.2 and 3.3: tests over the values of k, as published, and over users, who are independent."""
        was, rows = published_table("pncf-tests"), []
        for (ours, against), axis, similarity in product(COMPARED, AXES, SIMILARITIES):
            cells = [
                [self.cell(method, axis, similarity, k) for k in self.settings.sizes] for method in (ours, against)
            ]
            over_k = self.errors.gain_over_k(*cells)
            over_users = self.errors.gain_over_users(
                *(self.cell(method, axis, similarity, self.settings.size) for method in (ours, against))
            )
            told = was.filter(axis=axis, similarity=similarity, ours=ours, against=against)["t"].to_list()
            rows.append(
                {
                    "lower": ours,
                    "than": against,
                    "neighbors": f"{axis} {SIMILARITIES[similarity]}",
                    "df": over_k.n - 1,
                    "t over k": over_k.statistic,
                    "published t": told[0] if told else None,
                    "gain": over_users.difference,
                    "p over users": over_users.p_value,
                }
            )
        return pl.DataFrame(rows, schema_overrides={"published t": pl.Float64})

    def choice_table(self) -> pl.DataFrame:
        """How near the chosen neighbors are, and the error of each choice without noise on the weights."""
        rows = []
        for (axis, similarity), chosen in self.choices.items():
            uniform = self._bare(UNIFORM, axis, similarity)
            for name, choice in chosen.items():
                cell = self._bare(name, axis, similarity)._replace(noise=name == "non-private")
                test = None if cell == uniform else self.errors.gain_over_users(cell, uniform)
                rows.append(
                    {
                        "neighbors": f"{axis} {SIMILARITIES[similarity]}",
                        "choice": name.removesuffix(", no noise"),
                        "mean similarity": choice.similarity,
                        "nearest": choice.nearest,
                        "MAE": self.errors.mae(cell),
                        "− uniform": None if test is None else -test.difference,
                        "p": None if test is None else test.p_value,
                    }
                )
        numbers = dict.fromkeys(("mean similarity", "nearest", "MAE", "− uniform", "p"), pl.Float64)
        return pl.DataFrame(rows, schema={"neighbors": pl.String, "choice": pl.String, **numbers})

    def truncation_table(self) -> pl.DataFrame:
        """In which share of the questions truncation acts, and from which epsilon on it would."""
        rows = [
            {
                "neighbors": f"{axis} {SIMILARITIES[similarity]}",
                "questions": cut.begins.size,
                "acting": cut.acting(float(self.settings.epsilon)) if cut.begins.size else None,
                "acts from epsilon (median)": cut.median,
                "candidates below 0": cut.negative,
            }
            for (axis, similarity), cut in self.truncations.items()
        ]
        return pl.DataFrame(rows, schema_overrides={"acting": pl.Float64})

    def sweep(self) -> pl.DataFrame:
        """Figure 3.6: errors over epsilon."""
        rows = [
            {"neighbors": axis, "method": cell.method, "epsilon": float(cell.epsilon), **self._point(cell)}
            for axis in AXES
            for cell in self._sweep_cells(axis)
        ]
        return pl.DataFrame(rows, schema_overrides={"sd": pl.Float64})


_KEYS = ("axis", "similarity", "k", "method", "mae")


def _named(table: pl.DataFrame) -> pl.DataFrame:
    """Similarities by the names that the thesis gives them, and a column for the panels of charts."""
    similarity = pl.col("similarity").replace(SIMILARITIES)
    return table.with_columns(similarity, neighbors=pl.concat_str("axis", pl.lit(" "), similarity))
