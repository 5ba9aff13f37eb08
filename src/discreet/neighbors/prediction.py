"""Predicted ratings from chosen neighbors: candidates of many questions at once, and the weighted mean.

References
----------
Z. Lu: Privacy preserving neighbourhood-based collaborative filtering recommendation algorithms. MPhil thesis,
University of Adelaide 2015, equations 3.4 to 3.6.
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014, equation 3.2.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discreet.common.arrays import AnyIntegers, Integers, Mask, Matrix, Vector
from discreet.neighbors.selection import CandidateLists, SelectionStrategy

__all__ = ["Chosen", "Pools", "parts_of_size", "ragged", "weighted_mean"]

# About so many candidates are held at a time.
CELLS = 2**22


@dataclass(frozen=True, eq=False)
class Pools:
    """The candidates of many questions, one list after the other.

    Attributes
    ----------
    starts
        Where each list begins, and where the last one ends.
    other
        Codes of the candidates.
    similarity, sensitivity
        Of each candidate to the target of the question.
    value
        What a candidate says: the rating, or NaN where there is none.
    """

    starts: Integers
    other: AnyIntegers
    similarity: Vector
    sensitivity: Vector | None
    value: Vector

    def only(self, keep: Mask) -> Pools:
        """The same lists without the candidates outside the mask."""
        starts = np.concatenate([[0], np.cumsum(keep)])[self.starts]
        sensitivity = None if self.sensitivity is None else self.sensitivity[keep]
        return Pools(starts, self.other[keep], self.similarity[keep], sensitivity, self.value[keep])

    def choose(self, strategy: SelectionStrategy) -> Chosen:
        """Draw the neighbors of every question, and their weights."""
        lists = CandidateLists(self.similarity, self.starts, self.sensitivity)
        places = strategy.choose_many(lists)
        weight = strategy.weights_many(lists, places)
        if not self.other.size:
            return Chosen(np.full(places.shape, -1), weight, np.full(places.shape, np.nan))
        cells = np.where(places >= 0, self.starts[:-1, None] + places, 0)
        return Chosen(
            other=np.where(places >= 0, self.other[cells], -1),
            weight=weight,
            value=np.where(places >= 0, self.value[cells], np.nan),
        )


@dataclass(frozen=True, eq=False)
class Chosen:
    """The neighbors of each question in one row: codes (−1 for none), weights, and what they say (NaN for nothing)."""

    other: AnyIntegers
    weight: Matrix
    value: Matrix


def weighted_mean(chosen: Chosen, *, means: Vector | None, equal: bool = False) -> Vector:
    """Σ w·(r − mean)/Σ|w| of each row over the neighbors that say something; NaN where their weights are all 0.

    Parameters
    ----------
    chosen
        The neighbors.
    means
        Mean of each entity, taken away from what it says; None for ratings as they are.
    equal
        Give all the same weight: the plain average of equation 3.4.

    Examples
    --------
    >>> two = Chosen(np.array([[0, 1]]), np.array([[0.5, 1.0]]), np.array([[4.0, 1.0]]))
    >>> weighted_mean(two, means=None), weighted_mean(two, means=np.array([3.0, 2.0]))
    (array([2.]), array([-0.33333333]))
    """
    says = ~np.isnan(chosen.value)
    weight = np.where(says, 1.0 if equal else chosen.weight, 0.0)
    value = np.where(says, chosen.value, 0.0)
    if means is not None and means.size:
        value = np.where(says, value - means[np.maximum(chosen.other, 0)], 0.0)
    total = np.abs(weight).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0, (weight * value).sum(axis=1) / total, np.nan)


def ragged(begin: AnyIntegers, size: AnyIntegers) -> tuple[Integers, Integers]:
    """Where lists start when they are joined, and the places that they take their members from.

    Examples
    --------
    >>> ragged(np.array([5, 0]), np.array([2, 1]))
    (array([0, 2, 3]), array([5, 6, 0]))
    """
    starts = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    return starts, np.arange(starts[-1]) + np.repeat(begin - starts[:-1], size)


def parts_of_size(cost: AnyIntegers, most: int = CELLS) -> Iterator[slice]:
    """Cut a row of questions so that the costs within each part add up to about ``most``.

    Examples
    --------
    >>> list(parts_of_size(np.array([2, 2, 9, 1]), 4))
    [slice(0, 1, None), slice(1, 2, None), slice(2, 4, None)]
    """
    part = np.cumsum(cost) // most
    cuts = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), cost.size]
    yield from (slice(a, b) for a, b in pairwise(cuts) if a < b)
