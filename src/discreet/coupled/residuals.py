"""Least squares over many noisy marginals at once, in closed form, however large the product domain is.

What a table says about some attributes B and about no part of them (their residual) is orthogonal to every other
residual, and every marginal of a superset of B measures it with noise of its own. So the least squares estimate is
found set by set, its variance is known in advance, and shares of a budget can be chosen for the queries. Nothing here
looks at rows.
References are in ``coupled/marginals.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from discreet.common.arrays import Floats, Integers
from discreet.coupled.workloads.product import ProductWorkload
from discreet.coupled.workloads.workload import Workload

__all__ = ["Axes", "MarginalSets", "asked_sets", "least_squares", "subsets"]

Axes = tuple[int, ...]
"""Places of attributes, rising."""

MOST_WHOLE = 2**20
"""Cells of all attributes together up to which their histogram is a candidate."""

SPREAD = 0.25
"""Variance of the weights of a random query; those between 0 and 1 have a third of it."""

STEPS = 1024
"""The largest weight of a marginal, in whole numbers."""

ROUNDS = 150
"""Rounds in which weights are improved; they hardly change after half of them."""

FEW = 1e-3
"""How much less than the others the marginals of other sizes weigh to begin with."""


def subsets(axes: Axes) -> list[Axes]:
    """The subsets of some attributes that are not empty, small ones first.

    Examples
    --------
    >>> subsets((0, 3))
    [(0,), (3,), (0, 3)]
    """
    return [part for size in range(1, len(axes) + 1) for part in combinations(axes, size)]


def asked_sets(workload: Workload) -> list[Axes]:
    """The sets of attributes that queries ask of, without those that are part of another; the first where none is.

    Queries that are no products ask of all attributes.
    """
    if not isinstance(workload, ProductWorkload):
        return [tuple(range(len(workload.shape)))]
    sets = sorted((axes for axes, _ in workload.groups if axes), key=lambda axes: (-len(axes), axes))
    covered: set[Axes] = set()
    found = []
    for axes in sets:
        if axes not in covered:
            found.append(axes)
            covered.update(subsets(axes))
    return sorted(found) or [(0,)]


@dataclass(frozen=True)
class MarginalSets:
    """Marginals that could be measured, and what queries need of them.

    Parameters
    ----------
    shape
        Number of codes of each attribute.
    sets
        Sets of attributes with all their subsets, small ones first.
    needs
        For each set how much the variance of its residual adds to the squared errors of all queries.
    whole
        All attributes that are asked of, where a histogram of them may be measured, too. Otherwise empty.

    Attributes
    ----------
    candidates : tuple of sets
        What may be measured: ``sets``, and ``whole`` last.
    """

    shape: tuple[int, ...]
    sets: tuple[Axes, ...]
    needs: Floats
    whole: Axes = ()

    @classmethod
    def of(cls, workload: Workload, top: Sequence[Axes]) -> MarginalSets:
        """All subsets of the sets ``top``, which include whatever the queries ask of."""
        sets = sorted({part for axes in top for part in subsets(axes)}, key=lambda axes: (len(axes), axes))
        if not isinstance(workload, ProductWorkload):
            # Independent weights have on average a length in each residual by its dimension.
            free = [prod(workload.shape[axis] - 1 for axis in axes) for axes in sets]
            return cls(workload.shape, tuple(sets), np.array(free) * (len(workload) * SPREAD / workload.n_cells))
        place = {axes: number for number, axes in enumerate(sets)}
        weights = [(w.sum(axis=1), np.square(w).sum(axis=1), row) for w, row in workload.weights_by_attribute()]
        needs = np.zeros(len(sets))
        for axes, queries in workload.groups:
            cells = prod(workload.shape[axis] for axis in axes)
            inside, outside = {}, {}
            for axis in axes:
                total, squares, row = weights[axis]
                constant = total**2 / workload.shape[axis]
                outside[axis] = constant[row[queries]]
                inside[axis] = np.maximum(squares - constant, 0.0)[row[queries]]
            for part in subsets(axes):
                factors = [inside[axis] if axis in part else outside[axis] for axis in axes]
                needs[place[part]] += float(np.prod(factors, axis=0).sum()) / cells
        whole = tuple(sorted({axis for axes in top for axis in axes}))
        if whole in place or prod(workload.shape[axis] for axis in whole) > MOST_WHOLE:
            whole = ()
        return cls(workload.shape, tuple(sets), needs, whole)

    @cached_property
    def candidates(self) -> tuple[Axes, ...]:
        return (*self.sets, self.whole) if self.whole else self.sets

    @cached_property
    def cells(self) -> Floats:
        """Number of cells of each marginal that may be measured."""
        return np.array([float(prod(self.shape[axis] for axis in axes)) for axes in self.candidates])

    def within(self, axes: Axes) -> Sequence[Axes]:
        """The sets that a marginal includes."""
        return self.sets if axes == self.whole else subsets(axes)

    @cached_property
    def _covers(self) -> csr_array:
        """Row B of the sets, column A of the candidates: 1/cells of A where A includes B."""
        place = {axes: number for number, axes in enumerate(self.sets)}
        rows, columns = [], []
        for number, axes in enumerate(self.candidates):
            inside = self.within(axes)
            rows += [place[part] for part in inside]
            columns += [number] * len(inside)
        values = 1 / self.cells[columns]
        return csr_array((values, (rows, columns)), shape=(len(self.sets), len(self.candidates)))

    def precision(self, weights: Floats) -> Floats:
        """Σ of squared weight over cells of the marginals that include each set, in units of the noise."""
        return self._covers @ np.square(weights)

    def error(self, weights: Floats) -> float:
        """Sum over the queries of the variance of a least squares answer, for variance 1 on weighted counts."""
        used = self.needs > 0
        with np.errstate(divide="ignore"):
            return float((self.needs[used] / self.precision(weights)[used]).sum())

    def variance(self, weights: Floats) -> Floats:
        """Mean variance of the least squares counts of each marginal, for noise of variance 1 on weighted counts.

        Infinite where a part of the marginal was not measured at all.
        """
        free = np.array([float(prod(self.shape[axis] - 1 for axis in axes)) for axes in self.sets])
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(free > 0, free / self.precision(weights), 0.0)
        # The transpose has 1/cells of A at (A, B); the other 1/cells is the mean over the cells.
        return (np.asarray(self._covers.T @ each) / self.cells)[: len(self.sets)]

    def weights(self, norm: Literal[1, 2], known: Floats | None = None) -> Integers:
        """Whole weights for which the queries have the least expected squared error, of noise for this norm.

        The sum of the weights (or of their squares) sets the scale of the noise. Weights are scaled by what they
        would gain until they all gain the same: the multiplicative algorithm for optimal designs. For squares the
        problem is convex; for sums it is not, so marginals of each size are tried to begin with.

        Parameters
        ----------
        known
            What is taken to be known of each residual before anything is measured: one over its variance, in the same
            units as ``precision`` of weights of norm 1. A marginal then need not be measured. Nothing by default, and
            all that is asked for is measured at least a little.
        """
        prior = np.zeros(len(self.sets)) if known is None else known
        # What no query needs is needed a little, so that nothing is divided by 0.
        needs = np.maximum(self.needs, 1e-12 * self.needs.max(initial=1e-300))
        power, sizes = 1 / 3 if norm == 1 else 1 / 4, np.array([len(axes) for axes in self.candidates])
        best, least, included = np.ones(sizes.size), np.inf, self._covers.T
        for size in np.unique(sizes):
            weights = np.power(self.cells, power) * np.where(sizes == size, 1.0, FEW)
            for _ in range(ROUNDS):
                weights = weights / np.linalg.norm(weights, ord=norm)
                precision = np.maximum(self.precision(weights) + prior, 1e-300)
                error = float((needs / precision).sum())
                if error < least:
                    best, least = weights, error
                gain = np.asarray(included @ (needs / precision**2))
                weights = weights * np.power(gain * weights if norm == 1 else gain, power)
        whole = np.rint(best / best.max() * STEPS).astype(np.int64)
        if known is not None:
            return whole
        for place in np.flatnonzero(self.precision(whole.astype(np.float64)) == 0)[::-1]:
            # Large sets come last; a set that one of them includes is then measured with it.
            if not self.precision(whole.astype(np.float64))[place]:
                whole[place] = 1
        return whole


def least_squares(
    marginals: MarginalSets, weights: Integers, noisy: Mapping[Axes, Floats], total: float
) -> dict[Axes, Floats]:
    """The marginals of every set, consistent with each other and with the total: least squares over all noisy ones.

    What was not measured is taken to be 0: attributes that do not depend on each other in it.

    Parameters
    ----------
    weights
        The weight of each candidate, 0 where it was not measured; noise has the same variance on all weighted counts.
    noisy
        Noisy counts of each measured marginal, in records, one axis for each attribute.

    Examples
    --------
    >>> sets = MarginalSets((2, 2), ((0,), (1,), (0, 1)), np.ones(3))
    >>> noisy = {(0,): np.array([6.0, 4.0]), (0, 1): np.array([[4.0, 4.0], [1.0, 3.0]])}
    >>> found = least_squares(sets, np.array([1, 0, 1]), noisy, 10)
    >>> found[0,], found[0, 1].sum(axis=1)
    (array([6.33333333, 3.66666667]), array([6.33333333, 3.66666667]))
    """
    precision = marginals.precision(weights.astype(np.float64))
    residuals = {axes: np.zeros([marginals.shape[axis] for axis in axes]) for axes in marginals.sets}
    for axes, weight, cells in zip(marginals.candidates, weights, marginals.cells, strict=True):
        if weight:
            for part in marginals.within(axes):
                residuals[part] += _summed(noisy[axes], axes, part) * (float(weight) ** 2 / cells)
    for axes, share in zip(marginals.sets, precision, strict=True):
        if share:
            residuals[axes] = _centered(residuals[axes]) / share
    found = {}
    for axes, cells in zip(marginals.sets, marginals.cells, strict=False):
        counts = np.full([marginals.shape[axis] for axis in axes], total / cells)
        for part in subsets(axes):
            inside = prod(marginals.shape[axis] for axis in part)
            along = [marginals.shape[axis] if axis in part else 1 for axis in axes]
            counts += residuals[part].reshape(along) * (inside / cells)
        found[axes] = counts
    return found


def _summed(counts: Floats, axes: Axes, part: Iterable[int]) -> Floats:
    """Counts by a part of the attributes."""
    kept = set(part)
    return counts.sum(axis=tuple(place for place, axis in enumerate(axes) if axis not in kept))


def _centered(values: Floats) -> Floats:
    """What is left of a table when the mean along each of its axes is taken out."""
    for axis in range(values.ndim):
        values = values - values.mean(axis=axis, keepdims=True)
    return values
