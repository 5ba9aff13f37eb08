"""The exact distributions of PriTop's steps, which its refutations compare."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def selection_law(scores: Vector, epsilon: float) -> Vector:
    """Probability of each candidate, equation 4.3.12: proportional to exp(ε·q/8).

    Examples
    --------
    >>> selection_law(np.array([1.0, 0.5]), 1.0).round(4)
    array([0.5156, 0.4844])
    """
    weights = np.exp(epsilon * (scores - scores.max()) / 8)
    return weights / weights.sum()


def list_law(scores: Matrix, epsilon: float) -> dict[tuple[int, ...], float]:
    """Probability of each way to replace a list: Algorithm 5, one entry after the other, without replacement.

    Parameters
    ----------
    scores
        q of each candidate (column) for each entry of the list (row). Entries for which no candidate is left are not
        replaced: the outcome is shorter.

    Examples
    --------
    >>> law = list_law(np.array([[1.0, 0.5], [0.5, 1.0]]), 1.0)
    >>> {outcome: round(chance, 4) for outcome, chance in law.items()}
    {(0, 1): 0.5156, (1, 0): 0.4844}
    """
    law: dict[tuple[int, ...], float] = {(): 1.0}
    for row in scores:
        longer: dict[tuple[int, ...], float] = {}
        for outcome, chance in law.items():
            left = np.array([j for j in range(row.size) if j not in outcome], dtype=np.int64)
            if not left.size:
                longer[outcome] = chance
                continue
            for j, share in zip(left.tolist(), selection_law(row[left], epsilon).tolist(), strict=True):
                longer[(*outcome, j)] = chance * share
        law = longer
    return law


def size_law(weight: int, scale: float, most: int) -> Vector:
    """Probabilities that a list shall have 0, 1, … ``most`` − 1 tags, and ``most`` or more.

    Examples
    --------
    >>> size_law(1, 4.0, 2).round(4)
    array([0.4412, 0.1175, 0.4412])
    """
    edges = np.arange(most) + 0.5 - weight  # noise below edge n gives at most n tags
    below = np.where(edges < 0, np.exp(np.minimum(edges, 0) / scale) / 2, 1 - np.exp(-np.maximum(edges, 0) / scale) / 2)
    return np.diff(np.concatenate([[0.0], below, [1.0]]))


def weight_log_ratio(first: Integers, second: Integers, scale: float) -> float:
    """The largest |ln p(Ŵ|first) − ln p(Ŵ|second)| over all outcomes: the distance in L1 over the scale.

    Examples
    --------
    >>> weight_log_ratio(np.array([20, 0]), np.array([0, 20]), 4.0)
    10.0
    """
    return float(np.abs(first - second).sum() / scale)
