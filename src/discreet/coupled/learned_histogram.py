"""An estimate of all cells that learns from measured answers; everything here is post-processing of them.

References
----------
M. Hardt, G. Rothblum: A multiplicative weights mechanism for privacy-preserving data analysis. FOCS 2010.
M. Hardt, K. Ligett, F. McSherry: A simple and practical algorithm for differentially private data release. NIPS 2012.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.common.arrays import Floats, Integers
from discreet.coupled.workloads.workload import GRID, Workload

__all__ = ["MOST_PASSES", "LearnedHistogram", "on_grid"]

MOST_PASSES = 1000

USUAL_ERROR = 0.1
"""Error of the uniform histogram at a query that was picked for its error, as a share of all rows: a public guess."""

MOST_KEPT = 2**28
"""Bytes up to which the weights of past queries are kept; beyond it they are computed again."""


def on_grid(workload: Workload, estimate: Floats, n_rows: int) -> Integers:
    """Answers of an estimate in whole grid steps, from 0 to all rows, as true answers are."""
    return np.clip(np.rint(workload.answers(estimate) * GRID), 0, n_rows * GRID).astype(np.int64)


@dataclass
class _Measurement:
    """One measured answer as a share of all rows, and how far it has bent the estimate so far."""

    query: Workload
    share: float
    all_or_nothing: bool
    kept: NDArray[np.uint16] | None
    bent: float = 0.0

    @property
    def weights(self) -> NDArray[np.uint16]:
        return self.query.weights(0).astype(np.uint16) if self.kept is None else self.kept


@dataclass
class LearnedHistogram:
    """Records in each cell: uniform at first, then proportional to exp(Σ λᵢ·fᵢ) over the measured queries fᵢ.

    The estimate is nowhere negative, and its sum is the number of rows. ``noise`` is the standard deviation of a
    measured answer, in records; all measurements are gone through ``passes`` times after each new one.

    The fit is the most likely histogram if noise is Gaussian with deviation s and, before any measurement, errors of
    the uniform estimate have deviation e: λᵢ = (mᵢ − fᵢ(x))/(κs²), κ = 1/(4e²), in shares of all rows. It is found
    coordinate by coordinate; a query in [0, 1] has a variance of at most ¼, so a step of (mᵢ − fᵢ(x) − κs²λᵢ)/(¼ + κs²)
    never overshoots. Without noise it fits the measurements exactly.
    """

    n_rows: int
    n_cells: int
    noise: float = 0.0
    passes: int = 4
    estimate: Floats = field(init=False)
    _past: list[_Measurement] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.estimate = np.full(self.n_cells, self.n_rows / self.n_cells)

    def learn(self, query: Workload, measured: float) -> None:
        """Take in what one query was measured to give, in records."""
        weights = query.weights(0).astype(np.uint16)
        keep = 2 * self.n_cells * (len(self._past) + 1) <= MOST_KEPT
        all_or_nothing = bool(np.all((weights == 0) | (weights == GRID)))
        new = _Measurement(query, measured / self.n_rows, all_or_nothing, weights if keep else None)
        self._past.append(new)
        ridge = (self.noise / self.n_rows / USUAL_ERROR) ** 2 / 4
        for _ in range(self.passes):
            for one in reversed(self._past):
                weights = one.weights
                self._bend(one, weights, (one.share - self._found(weights) - ridge * one.bent) / (0.25 + ridge))

    def _found(self, weights: NDArray[np.uint16]) -> float:
        """What the estimate gives, as a share of all rows."""
        from discreet.coupled.kernels import inner

        return inner(self.estimate, weights) / (GRID * self.n_rows)

    def _bend(self, one: _Measurement, weights: NDArray[np.uint16], step: float) -> None:
        from discreet.coupled.kernels import bend

        bend(self.estimate, weights, step, float(self.n_rows), GRID, one.all_or_nothing)
        one.bent += step
