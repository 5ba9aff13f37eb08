"""Everything that `study pncf` measures, and the loop that measures it."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np

from discreet.data.interactions import Interactions
from discreet.studies.pncf.grid import (
    AXES,
    BARE,
    METHODS,
    PRIVATE,
    SIMILARITIES,
    Cell,
    Errors,
    Question,
    question,
)
from discreet.studies.pncf.selection import Choice, Truncation, choices, truncation
from discreet.studies.report import Progress

__all__ = ["Measured", "Plan", "measure"]

SWEPT = ("DP", "PNCF", "PNCF, exact RS")
"""The methods of the sweep over epsilon."""


@dataclass(frozen=True)
class Plan:
    """What is measured.

    Attributes
    ----------
    seeds
        One split for each.
    sizes
        Values of k in the grid.
    size
        The one k of the tests over users and of the look at the choice.
    budgets, sweep_size
        Values of epsilon in the sweep, and its k.
    """

    seeds: tuple[int, ...]
    sizes: tuple[int, ...] = (5, 10, 20, 30, 40, 50)
    size: int = 40
    epsilon: str = "1"
    budgets: tuple[str, ...] = ("0.1", "0.2", "0.4", "0.7", "1")
    sweep_size: int = 35

    @classmethod
    def of(cls, data: Interactions, *, seed: int, quick: bool) -> Plan:
        splits = 1 if quick else 5 if data.n_users < 2000 else 3
        seeds = tuple(100 * seed + split for split in range(splits))
        if quick:
            return cls(seeds, sizes=(5, 20), size=20, budgets=("0.1", "1"), sweep_size=20)
        return cls(seeds)

    def cells(self, axis: str, similarity: str) -> list[Cell]:
        """Everything that is measured for one kind of neighbors and one similarity."""
        grid = [Cell(method, axis, similarity, k, self.epsilon) for method, k in product(METHODS, self.sizes)]
        bare = [Cell(method, axis, similarity, self.size, self.epsilon, noise=False) for method in BARE]
        sweep = self.sweep_cells(axis) if similarity == "pearson" else []
        return list(dict.fromkeys([*grid, *bare, *sweep]))

    def sweep_cells(self, axis: str) -> list[Cell]:
        """The sweep over epsilon, method by method."""
        return [
            Cell(method, axis, "pearson", self.sweep_size, epsilon) for method, epsilon in product(SWEPT, self.budgets)
        ]

    @property
    def private_cells(self) -> list[Cell]:
        return [Cell(PRIVATE, "item", "own", k, self.epsilon) for k in self.sizes]


@dataclass(frozen=True, eq=False)
class Measured:
    """What came out."""

    plan: Plan
    errors: Errors
    choices: dict[tuple[str, str], dict[str, Choice]] = field(default_factory=dict)
    truncations: dict[tuple[str, str], Truncation] = field(default_factory=dict)
    asked: int = 0
    unanswerable: int = 0

    def cell(self, method: str, axis: str, similarity: str, k: int) -> Cell:
        """Where a method stands in the grid."""
        if method == PRIVATE:
            axis, similarity = "item", "own"
        return Cell(method, axis, similarity, k, self.plan.epsilon)

    def mae(self, method: str, axis: str, similarity: str, k: int) -> float:
        """Its error there."""
        return self.errors.mae(self.cell(method, axis, similarity, k))


def measure(data: Interactions, plan: Plan, *, progress: Progress | None = None) -> Measured:
    """Run every model of the plan on every split."""
    errors = Errors(data.n_users)
    pairs = list(product(AXES, SIMILARITIES))
    steps = len(plan.seeds) * (sum(len(plan.cells(*pair)) for pair in pairs) + len(plan.private_cells))
    done = 0

    def add(cells: list[Cell], asked: Question, what: str) -> None:
        nonlocal done
        for cell in cells:
            if progress is not None:
                progress(done / steps, what)
            errors.add(cell, asked)
            done += 1

    chosen: dict[tuple[str, str], list[dict[str, Choice]]] = {pair: [] for pair in pairs}
    cut: dict[tuple[str, str], list[Truncation]] = {pair: [] for pair in pairs}
    counts = np.zeros(2, dtype=np.int64)
    for number, seed in enumerate(plan.seeds, start=1):
        asked = question(data, seed=seed)
        counts += (len(asked.pairs), asked.unanswerable)
        for axis, similarity in pairs:
            what = f"split {number}, {axis} {SIMILARITIES[similarity]}"
            # The look at the choice comes first: it makes the table of all pairs that the models then share.
            setting = {"axis": axis, "similarity": similarity, "k": plan.size}
            cut[axis, similarity].append(truncation(asked, **setting))
            chosen[axis, similarity].append(choices(asked, **setting, epsilon=plan.epsilon))
            add(plan.cells(axis, similarity), asked, what)
        add(plan.private_cells, asked, f"split {number}, {PRIVATE}")
    if progress is not None:
        progress(1.0, "done")
    return Measured(
        plan,
        errors,
        {pair: Choice.means(many) for pair, many in chosen.items()},
        {pair: Truncation.joined(many) for pair, many in cut.items()},
        *counts.tolist(),
    )
