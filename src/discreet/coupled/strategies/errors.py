"""Expected errors of strategies, from queries and domains alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.coupled.strategies.axes import AxisStrategy
from discreet.coupled.workloads.choices import Choice
from discreet.coupled.workloads.product import ProductWorkload
from discreet.coupled.workloads.workload import GRID, Workload

__all__ = ["AxisWeights", "product_error", "sampled_error"]

Floats = NDArray[np.float64]

MOST_SAMPLED = 64
"""Queries that are looked at where each weighs every cell."""


@dataclass(frozen=True)
class AxisWeights:
    """The queries attribute by attribute, on the attributes that any of them asks of.

    Parameters
    ----------
    attributes, sizes
        Names of these attributes and how many values they have.
    weights
        For each of them the distinct rows of weights from 0 to 1.
    index
        Which row each query has: queries × attributes.
    workload
        The same queries on these attributes alone.
    """

    attributes: tuple[str, ...]
    sizes: tuple[int, ...]
    weights: tuple[Floats, ...]
    index: NDArray[np.int64]
    workload: ProductWorkload

    @classmethod
    def of(cls, workload: ProductWorkload) -> AxisWeights:
        asked = list(workload)
        # A workload that asks nothing of any attribute still needs one to be counted along.
        names = [name for name in workload.domains if any(name in query for query in asked)] or [*workload.domains][:1]
        sizes = tuple(workload.domains[name].size for name in names)
        index = np.zeros((len(asked), len(names)), dtype=np.int64)
        weights = []
        for place, (name, size) in enumerate(zip(names, sizes, strict=True)):
            rows: dict[Choice | None, int] = {None: 0}
            for query, choices in enumerate(asked):
                index[query, place] = rows.setdefault(choices.get(name), len(rows))
            weights.append(np.stack([_weights_of(choice, size) for choice in rows]))
        part = workload
        if len(names) < len(workload.domains):
            part = ProductWorkload({name: workload.domains[name] for name in names}, asked)
        return cls(tuple(names), sizes, tuple(weights), index, part)


def product_error(weights: AxisWeights, axes: tuple[AxisStrategy, ...]) -> float:
    """Mean over the queries of the variance of an answer, in units of the variance of the noise on one count.

    With M the Kronecker product of the axes' matrices and the total known, that is wᵀM⁻¹w − (wᵀM⁻¹1)²/(1ᵀM⁻¹1), and
    each term is a product over the attributes.
    """
    squares, sums = np.ones(len(weights.index)), np.ones(len(weights.index))
    for place, axis in enumerate(axes):
        square, total = axis.variances(weights.weights[place])
        squares *= square[weights.index[:, place]]
        sums *= total[weights.index[:, place]]
    everything = math.prod(axis.of_everything for axis in axes)
    return float(np.mean(np.maximum(squares - sums**2 / everything, 0.0)))


def sampled_error(workload: Workload) -> float:
    """The same for noise on every cell, from some of the queries: mean of Σw² − (Σw)²/cells."""
    places = np.unique(np.linspace(0, len(workload) - 1, MOST_SAMPLED).astype(np.int64))
    errors = []
    for place in places:
        weights = workload.weights(int(place)) / GRID
        errors.append(float(weights @ weights) - float(weights.sum()) ** 2 / weights.size)
    return float(np.mean(errors))


def _weights_of(choice: Choice | None, size: int) -> Floats:
    """Weights from 0 to 1; 1 everywhere where nothing is asked."""
    if choice is None:
        return np.ones(size)
    return choice.over(size) / (GRID if choice.weighted else 1)
