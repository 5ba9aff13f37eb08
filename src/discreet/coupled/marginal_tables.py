"""Marginals without negative counts that agree with each other, and rows that are drawn from a tree of them.

All of it is post-processing of noisy marginals.

References
----------
C. Chow, C. Liu: Approximating discrete probability distributions with dependence trees. IEEE Trans. Inf. Theory, 1968.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import prod

import numpy as np
import polars as pl

from discreet.common.arrays import Floats, Integers
from discreet.coupled.consistency import fit_to_sums
from discreet.coupled.forests import LEAST_SHARE
from discreet.coupled.residuals import Axes
from discreet.coupled.shrinking import Law, shrink_cells, shrink_table
from discreet.errors import UsageError

__all__ = ["codes_from_tree", "consistent_tables", "tree_parts"]

MANY_CELLS = 64
"""From so many cells on each is shrunk by what all of them are like; smaller tables are shrunk as a whole."""

FIT_ROUNDS = 20

LEAST_INFORMATION = 1e-9
"""Pairs of attributes that tell less about each other, in nats a row, are not joined in the tree."""


def consistent_tables(
    estimates: Mapping[Axes, Floats], variances: Mapping[Axes, float], total: float, *, law: Law
) -> dict[Axes, Floats]:
    """Tables of counts without negative ones, each with the sums that its smaller tables have.

    Parameters
    ----------
    estimates
        Estimated counts by each set of attributes; with a set come all its subsets.
    variances
        Mean variance of the noise on the counts of each; infinite where nothing was measured of it.
    total
        The public number of rows.
    law
        The law of the noise.

    Notes
    -----
    A table is shrunk to what its smaller tables expect (no dependence beyond theirs), as far as the noise deserves, and
    then scaled to their sums. Tables of two attributes agree exactly; of three or more nearly, because there need
    not be a table that has all the sums of three others.
    """
    found: dict[Axes, Floats] = {}
    for axes in sorted(estimates, key=len):
        noisy, variance = estimates[axes], variances[axes]
        if len(axes) == 1:
            counts = _shrunk(noisy, np.full(noisy.shape, total / noisy.size), variance, total, law=law)
            lifted = np.maximum(counts, LEAST_SHARE * total)
            found[axes] = lifted * (total / lifted.sum())
        else:
            sums = [found[tuple(axis for axis in axes if axis != left)] for left in axes]
            expected = fit_to_sums(np.ones(noisy.shape), sums, rounds=FIT_ROUNDS)
            shrunk = _shrunk(noisy, expected, variance, total, law=law)
            found[axes] = fit_to_sums(shrunk, sums, rounds=FIT_ROUNDS)
    return found


def _shrunk(noisy: Floats, expected: Floats, variance: float, total: float, *, law: Law) -> Floats:
    """Noisy counts, moved to what is expected; that itself where nothing was measured."""
    if not np.isfinite(variance):
        return expected
    if noisy.size < MANY_CELLS:
        return shrink_table(noisy, expected, variance, total, law=law)
    return shrink_cells(noisy.ravel(), expected.ravel(), variance, total, law=law).reshape(noisy.shape)


def tree_parts(
    tables: Mapping[Axes, Floats], shape: Sequence[int], names: Sequence[str], total: float
) -> dict[str, pl.DataFrame | Floats]:
    """The forest of measured pairs that tell most, as parts of a release: "tree" and "tree_counts".

    "tree" has a row for each attribute, parents before children: attribute, parent (null for a root), and where its
    counts begin in "tree_counts"; those of a child are by parent and child, the child changing first. Attributes that
    nothing was asked of have the same count for every value.
    """
    joined = list(range(len(shape)))
    near: dict[int, list[int]] = {axis: [] for axis in joined}
    pairs = {axes: _information(table) for axes, table in tables.items() if len(axes) == 2}
    for first, second in sorted(pairs, key=lambda axes: (-pairs[axes], axes)):
        if joined[first] != joined[second] and pairs[first, second] > LEAST_INFORMATION:
            near[first].append(second)
            near[second].append(first)
            joined = [joined[first] if one == joined[second] else one for one in joined]
    parents: dict[int, int | None] = {}
    for root in range(len(shape)):
        waiting: list[tuple[int, int | None]] = [] if root in parents else [(root, None)]
        while waiting:
            axis, parent = waiting.pop()
            parents[axis] = parent
            waiting += [(child, axis) for child in near[axis] if child != parent]
    counts = []
    for axis, parent in parents.items():
        if parent is None:
            counts.append(tables.get((axis,), np.full(shape[axis], total / shape[axis])))
        else:
            counts.append(tables[axis, parent].T if axis < parent else tables[parent, axis])
    starts = np.cumsum([0, *(one.size for one in counts)])[:-1]
    tree = pl.DataFrame(
        {
            "attribute": [names[axis] for axis in parents],
            "parent": pl.Series([None if one is None else names[one] for one in parents.values()], dtype=pl.String),
            "start": starts.astype(np.int64),
        }
    )
    return {"tree": tree, "tree_counts": np.concatenate([one.ravel() for one in counts])}


def codes_from_tree(
    tree: pl.DataFrame, counts: Floats, sizes: Mapping[str, int], rows: int, uniforms: Callable[[int], Floats]
) -> dict[str, Integers]:
    """Codes of rows that are drawn from a released tree: a root by its counts, a child by those beside its parent's.

    ``uniforms`` gives this many random numbers from 0 to 1.
    """
    starts = tree["start"].to_list()
    fits = set(tree["attribute"]) == set(sizes) and np.isfinite(counts).all() and counts.min() >= 0
    expected = [0]
    for attribute, parent in tree.select("attribute", "parent").rows() if fits else ():
        expected.append(expected[-1] + prod(sizes[name] for name in (attribute, parent) if name is not None))
    if not fits or expected != [*starts, counts.size]:
        raise UsageError("the released tree does not fit the given domains.", remedy="Give the domains of the table.")
    codes: dict[str, Integers] = {}
    for (attribute, parent, _), (start, stop) in zip(tree.rows(), pairwise(expected), strict=True):
        table = counts[start:stop].reshape(-1, sizes[attribute])
        above = np.zeros(rows, dtype=np.int64) if parent is None else codes[parent]
        codes[attribute] = _drawn(table, above, uniforms(rows))
    return {attribute: codes[attribute] for attribute in sizes}


def _drawn(table: Floats, above: Integers, uniforms: Floats) -> Integers:
    """A column of the table for each of the rows ``above``, with the chances that the counts of that row give."""
    running = np.cumsum(table, axis=1)
    # One line of numbers for all rows of the table: row r goes from r to r + 1.
    shares = running / np.maximum(running[:, -1:], 1e-300)
    shares[:, -1] = 1.0
    line = (shares + np.arange(len(table))[:, None]).ravel()
    places = np.searchsorted(line, above + uniforms, side="right")
    return np.clip(places - above * table.shape[1], 0, table.shape[1] - 1)


def _information(table: Floats) -> float:
    """Mutual information of the two attributes of a table, in nats."""
    joint = table / table.sum()
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    real = joint > 0
    return float((joint[real] * np.log(joint[real] / product[real])).sum())
