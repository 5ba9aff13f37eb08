"""`study pncf`: Zhu's private neighbor collaborative filtering, Tables 3.1 to 3.3 and Figures 3.4 to 3.6.

References
----------
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014, chapter 3.
T. Zhu, Y. Ren, W. Zhou, J. Rong, P. Xiong: An effective privacy preserving algorithm for neighborhood-based
collaborative filtering. Future Generation Computer Systems 36 (2014).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from discreet.common.arrays import Floats
from discreet.data.interactions import Interactions
from discreet.errors import DataError
from discreet.evaluation.significance import PairedTest, paired_t_test
from discreet.studies.pncf_bounds import BOUNDS, bounds
from discreet.studies.pncf_readings import CENTERED, PRINTED, READ, by_reading, distances, read, steps_between
from discreet.studies.pncf_selection import AXES, UNIFORM, Question, choices, question, truncation
from discreet.studies.study import (
    Measurements,
    Settings,
    Steps,
    Study,
    made,
    one_rating_each,
    published,
    published_table,
)

__all__ = ["Cell", "Grid", "PNCFStudy", "measure_grid", "taken_from"]

MOST = 8_000
"""More users or items than this are not taken: the similarities of all pairs are kept in memory."""

SIMILARITIES = {"pearson": "PCC", "cosine": "COS"}
"""Similarities, and what the thesis calls them."""

PRIVATE = "PrivateItemKNN"
"""The proved model. It has its own similarity, so its errors are the same in every part of the grid."""
OWN = ("item", "own")

SWEPT = ("DP", "PNCF", "PNCF, exact RS")
"""The methods of the sweep over epsilon."""

COMPARED = (("PNCF", "DP"), ("RS&NM", "DP"), ("PNCF", "RS&NM"), ("PNCF", UNIFORM))
"""Which method is tested against which."""

DRAWS = 3
"""How often methods without noise choose in a split: the differences between them are small."""

PLACE = ("axis", "similarity", "method")


class PNCFStudy(Study):
    """Errors of non-private, published and proved neighbor models under All-But-One.

    Two readings stand side by side. As printed, neighbors are chosen from all items, items are predicted from ratings
    as they are, and noise has the scale 2k·RS/ε. In the centered reading, neighbors are chosen among those with a
    rating to offer, ratings count as distances from means, and noise has the scale 2·RS/ε. The second one was found by
    trying: it agrees best with the published numbers, and all other tables are of it. In both, similarities are those
    over co-ratings without shrinkage, and RS is that of each pair. A held-out rating of an item that nobody else has
    rated is left out. The models draw their noise from the operating system, so errors differ a little from run to run;
    ``sd`` says how much.
    """

    name = "pncf"

    def measure(self, data: Interactions, settings: Settings, *, seed: int, steps: Steps) -> Measurements:
        one_rating_each(data)
        if not (data.records_per_user > 1).any():
            raise DataError("nobody has rated two items, so nothing can be held out.")
        taken = taken_from(data, seed=seed)
        splits = settings.splits if settings.quick or taken.n_users >= 2_000 else settings.splits_of_few_users
        settings = settings.with_(splits=splits, seeds=[100 * seed + split for split in range(splits)])
        grid = measure_grid(taken, self.layout["methods"], settings, steps)
        mae, means = grid.mae(), grid.means().filter(epsilon=settings.epsilon)
        readings = by_reading(means.filter(pl.col("k").is_in(list(settings.sizes))))
        changes = steps_between(means, list(self.layout["methods"]["readings"]), k=settings.steps_size)
        tables = {
            "mae": mae,
            "grid": with_published(mae),
            "published": _named(published_table("pncf")).rename({"mae": "MAE"}),
            "tests": grid.tests(mae),
            "choices": grid.choices(),
            "truncation": grid.truncation(),
            "sweep": grid.sweep(),
            "readings": _named(readings),
            "distances": _named(distances(readings)),
            "steps": _named(changes),
            "bounds": pl.DataFrame(grid.bounds, schema=BOUNDS),
        }
        labels = {
            "k": settings.size,
            "epsilon": settings.epsilon,
            "sweep_k": settings.sweep_size,
            "steps_k": settings.steps_size,
            "values of k": len(settings.sizes),
            "published": f"{published('pncf')['where']}, {published('pncf')['data']}",
        }
        part = "" if len(taken) == len(data) else f", a part of {len(data):,}"
        setting = {
            "ratings": f"{len(taken):,}{part}; {taken.n_users:,} users, {taken.n_items:,} items",
            "protocol": "All-But-One: one rating of each user is held out, at random",
            "splits": splits,
            "seeds of the splits": settings.seeds,
            "held-out ratings": grid.asked,
            "left out (items that nobody else rated)": grid.unanswerable,
            "centered reading": "neighbors among those with a rating to offer; mean-centered; noise of 2·RS/ε",
            "printed reading": "neighbors from all; items by (3.2.3), not centered; noise of 2k·RS/ε; up to "
            f"{settings.printed_questions:,} held-out ratings of each split",
            "both readings": "the mean where no neighbor has a rating; clipped to the scale; no minimum overlap",
            "choices without noise": f"drawn {DRAWS} times in each split",
            PRIVATE: "protects all ratings of one user; same row in every table",
        }
        return Measurements(setting, tables, labels=labels)


def taken_from(data: Interactions, *, seed: int, most: int = MOST) -> Interactions:
    """The records that the study runs on: not more users and items than fit, and all items in the catalog."""
    if data.n_users > most:
        data = data.sample_users(most, seed=seed)
    if data.n_items > most:
        popular = np.argsort(-data.records_per_item, kind="stable")[:most]
        data = data.filter(np.isin(data.item, popular))
    # A study releases nothing, so it may take the items that occur for known.
    return data.with_catalog("observed")


class Cell(NamedTuple):
    """One entry of the grid."""

    axis: str
    similarity: str
    method: str
    k: int
    epsilon: str
    noise: bool = True
    reading: str = CENTERED


def cells_of(methods: Mapping[str, Any], settings: Settings) -> dict[Cell, Mapping[str, Any]]:
    """Everything that is measured, and how it is made."""
    found: dict[Cell, Mapping[str, Any]] = {}
    epsilon = settings.epsilon
    for axis, similarity in product(AXES, SIMILARITIES):
        for one, k in product(methods["grid"], settings.sizes):
            found[Cell(axis, similarity, one["name"], k, epsilon)] = one
        for one in methods["without noise"]:
            found[Cell(axis, similarity, one["name"], settings.size, epsilon, noise=False)] = one
        for one, budget in product(methods["grid"], settings.budgets):
            if similarity == "pearson" and one["name"] in SWEPT:
                found[Cell(axis, similarity, one["name"], settings.sweep_size, budget)] = one
    for (reading, changed), one, similarity in product(methods["readings"].items(), methods["grid"], SIMILARITIES):
        if one["name"] in READ:
            whole = reading == PRINTED
            for axis, k in product(AXES if whole else AXES[:1], settings.sizes if whole else [settings.steps_size]):
                place = Cell(axis, similarity, one["name"], k, epsilon, reading=reading)
                found[place] = read(one, changed)
    for k in settings.sizes:
        found[Cell(*OWN, PRIVATE, k, epsilon)] = methods["proved"]
    return found


def measure_grid(data: Interactions, methods: Mapping[str, Any], settings: Settings, steps: Steps) -> Grid:
    """Run every model on every split."""
    cells, pairs = cells_of(methods, settings), list(product(AXES, SIMILARITIES))
    steps.expect(len(settings.seeds) * len(cells))
    errors = np.full((len(cells), len(settings.seeds), data.n_users), np.nan)
    grid = Grid(settings, list(cells), errors, [], {pair: [] for pair in pairs})
    for split, seed in enumerate(settings.seeds):
        asked = question(data, seed=seed)
        some = asked.some(settings.printed_questions)
        grid.asked += len(asked.pairs)
        grid.unanswerable += asked.unanswerable
        for axis, similarity in (*pairs, OWN):
            if (axis, similarity) != OWN:
                # The choices come first: they make the table of all pairs that the models then share.
                where: dict[str, Any] = {"axis": axis, "similarity": similarity, "k": settings.size}
                grid.truncated[axis, similarity].append(truncation(asked, **where))
                chosen = choices(asked, **where, epsilon=settings.epsilon)
                grid.chosen += [(axis, similarity, name, *found) for name, found in chosen.items()]
                if not split:
                    said = bounds(asked, **where, epsilon=settings.epsilon, cases=settings.cases)
                    grid.bounds += [{**row, "neighbors": f"{axis} {SIMILARITIES[similarity]}"} for row in said]
            for row, (cell, method) in enumerate(cells.items()):
                if cell[:2] == (axis, similarity):
                    here = asked if cell.reading == CENTERED else some
                    work = partial(_draws, here, method, cell)
                    if (draws := steps.attempt(f"{cell.method}, {axis}-based, {cell.reading}", work)) is not None:
                        errors[row, split, here.user] = np.mean(draws, axis=0)
                    steps.done(f"split {split + 1}, {axis} {SIMILARITIES.get(similarity, PRIVATE)}")
    return grid


def _draws(asked: Question, method: Mapping[str, Any], cell: Cell) -> list[Floats]:
    """Errors of one method, for each time that it is drawn."""
    return [asked.errors(made(method, cell._asdict())) for _ in range(1 if cell.noise else DRAWS)]


@dataclass(eq=False)
class Grid:
    """What was measured.

    Attributes
    ----------
    settings
        With the seeds of the splits; ``sizes`` are the values of k, ``size`` the k of the tests over users and of the
        choices, ``budgets`` and ``sweep_size`` those of the sweep over epsilon.
    cells, errors
        What was measured, and absolute errors by cell, split and user; NaN for users without a held-out rating.
    chosen
        Axis, similarity and name of each choice, with what ``choices`` says of it; split by split.
    truncated
        What ``truncation`` says, by axis and similarity; split by split.
    bounds
        What ``bounds`` says, by axis and similarity; of the first split.
    """

    settings: Settings
    cells: list[Cell]
    errors: Floats
    chosen: list[tuple[Any, ...]]
    truncated: dict[tuple[str, str], list[tuple[Floats, float]]]
    asked: int = 0
    unanswerable: int = 0
    bounds: list[dict[str, Any]] = field(default_factory=list)

    def cell(self, axis: str, similarity: str, method: str, *, noise: bool = True) -> Cell:
        """The place of a method in the tests over users."""
        return Cell(axis, similarity, method, self.settings.size, self.settings.epsilon, noise)

    def means(self) -> pl.DataFrame:
        """MAE of every cell: the mean over the splits, and its deviation; none for a single split."""
        known = ~np.isnan(self.errors)
        with np.errstate(invalid="ignore"):  # what could not run has no errors
            by_split = np.nansum(self.errors, axis=2) / known.sum(axis=2)
        sd = by_split.std(axis=1, ddof=1) if by_split.shape[1] > 1 else [None] * len(self.cells)
        cells = pl.DataFrame(self.cells, schema=Cell._fields, orient="row")
        return cells.with_columns(MAE=by_split.mean(axis=1), sd=pl.Series(sd, dtype=pl.Float64))

    def gain_over_users(self, ours: Cell, against: Cell) -> PairedTest:
        """Student's test of how much lower our error is, one pair for each user: the mean over the user's splits."""
        rows = np.stack([self.errors[self.cells.index(cell)] for cell in (against, ours)])
        with np.errstate(invalid="ignore"):
            theirs, own = np.nansum(rows, axis=1) / (~np.isnan(rows)).sum(axis=1)
        both = ~np.isnan(theirs - own)
        return paired_t_test(theirs[both], against=own[both])

    # Tables

    def mae(self) -> pl.DataFrame:
        """Table 3.1, one row for each method and k."""
        at = pl.col("k").is_in(list(self.settings.sizes)) & (pl.col("epsilon") == self.settings.epsilon)
        found = self.means().filter(pl.col("noise"), at, reading=CENTERED).drop("epsilon", "noise", "reading")
        pairs = pl.DataFrame(list(product(AXES, SIMILARITIES)), schema=["axis", "similarity"], orient="row")
        everywhere = found.filter(method=PRIVATE).drop("axis", "similarity").join(pairs, how="cross")
        grid = pl.concat([found.filter(pl.col("method") != PRIVATE), everywhere.select(found.columns)])
        return _named(grid.sort("axis", "similarity", descending=[False, True], maintain_order=True))

    def tests(self, mae: pl.DataFrame) -> pl.DataFrame:
        """Tables 3.2 and 3.3: tests over the values of k, as published, and over users, who are independent."""
        was, rows = published_table("pncf-tests"), []
        for (ours, against), axis, similarity in product(COMPARED, AXES, SIMILARITIES):
            here = mae.filter(axis=axis, similarity=SIMILARITIES[similarity])
            lower, higher = (here.filter(method=one)["MAE"] for one in (ours, against))
            if lower.is_nan().any() or higher.is_nan().any():
                continue
            over_k = paired_t_test(higher, against=lower)
            over_users = self.gain_over_users(*(self.cell(axis, similarity, one) for one in (ours, against)))
            told = was.filter(axis=axis, similarity=similarity, ours=ours, against=against)
            rows.append(
                {
                    "lower": ours,
                    "than": against,
                    "neighbors": f"{axis} {SIMILARITIES[similarity]}",
                    "df": over_k.n - 1,
                    "t over k": over_k.statistic,
                    "df told": told["df"].first(),
                    "t told": told["t"].first(),
                    "gain": over_users.difference,
                    "p over users": over_users.p_value,
                }
            )
        return pl.DataFrame(rows, schema_overrides={"t told": pl.Float64, "df told": pl.Int64})

    def choices(self) -> pl.DataFrame:
        """How near the chosen neighbors are, and the error of each choice without noise on the weights."""
        schema = {"axis": pl.String, "similarity": pl.String, "choice": pl.String}
        numbers = {"mean similarity": pl.Float64, "nearest": pl.Float64}
        found = pl.DataFrame(self.chosen, schema=schema | numbers, orient="row")
        found = found.group_by(*schema, maintain_order=True).mean()
        means, rows = self.means(), []
        for axis, similarity, name in found.select(*schema).iter_rows():
            cell, uniform = (self.cell(axis, similarity, one, noise=one == "non-private") for one in (name, UNIFORM))
            ran = not np.isnan(self.errors[[self.cells.index(one) for one in (cell, uniform)]]).all(axis=(1, 2)).any()
            test = None if cell == uniform or not ran else self.gain_over_users(cell, uniform)
            rows.append(
                {
                    "MAE": means["MAE"][self.cells.index(cell)],
                    "− uniform": None if test is None else -test.difference,
                    "p": None if test is None else test.p_value,
                }
            )
        more = pl.DataFrame(rows, schema=dict.fromkeys(("MAE", "− uniform", "p"), pl.Float64))
        shown = found.with_columns(pl.col("choice").str.strip_suffix(", no noise")).hstack(more)
        return _named(shown).select("neighbors", "choice", *numbers, *more.columns)

    def truncation(self) -> pl.DataFrame:
        """In which share of the questions truncation acts, and from which epsilon on it would."""
        rows = []
        for (axis, similarity), splits in self.truncated.items():
            begins = np.concatenate([begins for begins, _ in splits])
            rows.append(
                {
                    "neighbors": f"{axis} {SIMILARITIES[similarity]}",
                    "questions": begins.size,
                    "acting": float((begins < float(self.settings.epsilon)).mean()) if begins.size else None,
                    "acts from epsilon (median)": float(np.median(begins)) if begins.size else None,
                    "candidates below 0": float(np.mean([negative for _, negative in splits])),
                }
            )
        return pl.DataFrame(rows, schema_overrides=dict.fromkeys(("acting", "acts from epsilon (median)"), pl.Float64))

    def sweep(self) -> pl.DataFrame:
        """Figure 3.6: errors over epsilon."""
        found = self.means().filter(
            pl.col("noise"), pl.col("method").is_in(SWEPT), similarity="pearson", reading=CENTERED
        )
        found = found.filter(pl.col("epsilon").is_in(list(self.settings.budgets)), k=self.settings.sweep_size)
        found = found.with_columns(pl.col("epsilon").cast(pl.Float64)).sort(
            "axis", pl.col("method").cast(pl.Enum(SWEPT)), "epsilon"
        )
        return found.select(pl.col("axis").alias("neighbors"), "method", "epsilon", "MAE", "sd")


def with_published(mae: pl.DataFrame) -> pl.DataFrame:
    """Errors with the published figures below ours, and the largest deviation of each method."""
    keys = ("axis", "similarity", "k", "method", "mae")
    told = pl.concat(
        [
            published_table("pncf").select(pl.lit(published("pncf")["data"]).alias("data"), *keys),
            published_table("pncf-anchors").select("data", *keys),
        ]
    )
    shown = _named(told.filter(pl.col("k").is_in(mae["k"].unique().to_list()))).rename({"mae": "MAE"})
    label = pl.format("  published, {}: {}", "data", "method")
    parts = []
    for _, part in mae.with_columns(pl.col("sd").max().over(*PLACE)).group_by(*PLACE, maintain_order=True):
        known = shown.join(part.select(PLACE).unique(), on=PLACE)
        parts += [part, known.with_columns(method=label, sd=pl.lit(None, pl.Float64)).select(part.columns)]
    return pl.concat(parts)


def _named(table: pl.DataFrame) -> pl.DataFrame:
    """Similarities by the names that the thesis gives them, and a column for the panels of charts."""
    similarity = pl.col("similarity").replace(SIMILARITIES)
    return table.with_columns(similarity, neighbors=pl.concat_str("axis", pl.lit(" "), similarity))
