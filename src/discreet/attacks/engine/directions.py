"""Directions in which runs with a secret may differ from runs without: weights of the numbers that an attacker sees.

Each number comes with three others (``expanded``): whether it is missing, and its distances from its usual values
without the secret and with it. A secret may change where a number lies, how far it scatters, or whether it is there.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["FAR", "Matrix", "Vector", "directions", "expanded", "medians"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

WIDTHS = (None, 10, 1)
"""How many numbers the directions look at; None for all of them."""
FAR = 1e12
WIDEST_COVARIANCE = 200
"""Of more numbers than this, correlations are not looked at."""
SHRINKAGES = (0.1, 1e-6)
"""How far estimated correlations are pulled towards 0: some way, since there may be few runs to estimate them from, and
hardly at all, so that noise that numbers share is taken away whole."""
CORRELATED = 0.5
"""Numbers that correlate more than this are not treated as independent."""
ERRORS = 3.0
"""A median that moved by fewer standard errors than this is taken for one that did not move."""


def expanded(rows: Matrix, fill: Vector, other: Vector) -> Matrix:
    """The numbers, which of them are missing, and how far each is from its usual values."""
    missing = np.isnan(rows)
    seen = np.where(missing, fill, rows)
    return np.concatenate([seen, missing.astype(np.float64), np.abs(seen - fill), np.abs(seen - other)], axis=1)


def medians(rows: Matrix) -> Vector:
    """Medians of the columns; NaN for columns without a number."""
    found = np.full(rows.shape[1], np.nan)
    known = ~np.isnan(rows).all(axis=0)
    if known.any():
        found[known] = np.nanmedian(rows[:, known], axis=0)
    return found


def directions(first: Matrix, second: Matrix, *, hint: Vector | None = None) -> Iterator[Vector]:
    """Weights to be tried, learned from expanded runs without the secret and with it.

    - Differences of means over variances, the discriminant of independent normal numbers: of all numbers, of the ten
      that tell most, and of the best one alone.
    - The linear discriminant with correlations, which finds noise that several numbers share.
    - The log-likelihood ratio of independent numbers with Laplace noise, |x − m₀| − |x − m₁| over the scale: of all
      numbers that moved, of the best two and of the best ten. It is bounded, as Laplace noise bounds what a number
      tells, and so finds what several numbers tell together.
    - The hint, what the secret changes where there is no noise, over variances.
    """
    difference = second.mean(axis=0) - first.mean(axis=0)
    # What never varied says nothing, unless it is never the same with both datasets: then it says everything.
    variance = (first.var(axis=0) + second.var(axis=0)) / 2 + 1e-9 * (1 + np.abs(first).max(axis=0, initial=0.0) ** 2)
    telling = np.abs(difference) / np.sqrt(variance)
    for most in WIDTHS:
        yield _best(np.where(telling > 0, difference / variance, 0.0), telling, most)
    for shrinkage in SHRINKAGES:
        yield _discriminant(first, second, difference, variance, shrinkage)
    yield from _laplace(first, second)
    if hint is not None:
        width = first.shape[1] // 4
        change = np.zeros(first.shape[1])
        size = min(width, hint.size)
        change[:size] = np.nan_to_num(np.clip(hint[:size], -FAR, FAR))
        yield change / variance


def _best(weights: Vector, telling: Vector, most: int | None) -> Vector:
    """The weights of at most ``most`` numbers, those that tell most."""
    kept = weights.copy()
    if most is not None:
        kept[np.argsort(-telling, kind="stable")[most:]] = 0.0
    return kept


def _discriminant(first: Matrix, second: Matrix, difference: Vector, variance: Vector, shrinkage: float) -> Vector:
    """Weights of the linear discriminant of the numbers themselves, with shrunk correlations."""
    width = first.shape[1] // 4
    scale = np.sqrt(variance[:width])
    chosen = np.argsort(-np.abs(difference[:width]) / scale, kind="stable")[:WIDEST_COVARIANCE]
    scale, moved = scale[chosen], difference[chosen]
    matrix = (1 - shrinkage) * _correlations(first, second, chosen, scale)
    np.fill_diagonal(matrix, 1.0)
    weights = np.zeros(first.shape[1])
    weights[chosen] = np.linalg.solve(matrix, moved / scale) / scale
    return weights


def _laplace(first: Matrix, second: Matrix) -> Iterator[Vector]:
    """Weights of the log-likelihood ratio of independent Laplace noise around the two medians."""
    width = first.shape[1] // 4
    near_first, near_second = first[:, 2 * width : 3 * width], second[:, 3 * width :]
    scale = (near_first.mean(axis=0) + near_second.mean(axis=0)) / 2
    apart = np.abs(np.median(second[:, :width], axis=0) - np.median(first[:, :width], axis=0))
    error = scale * np.sqrt(1 / max(1, first.shape[0]) + 1 / max(1, second.shape[0]))
    moved = np.flatnonzero((apart > ERRORS * error) & (scale > 0))
    moved = moved[np.argsort(-apart[moved] / scale[moved], kind="stable")][:WIDEST_COVARIANCE]
    deviation = np.sqrt((first[:, moved].var(axis=0) + second[:, moved].var(axis=0)) / 2)
    correlations = np.abs(_correlations(first, second, moved, np.maximum(deviation, 1e-12)))
    chosen: list[int] = []
    for place in range(moved.size):
        if not chosen or correlations[place, chosen].max() < CORRELATED:
            chosen.append(place)
    for most in sorted({2, 10, len(chosen)}):
        if 2 <= most <= len(chosen):
            numbers = moved[chosen[:most]]
            weights = np.zeros(first.shape[1])
            weights[2 * width + numbers] = 1 / scale[numbers]
            weights[3 * width + numbers] = -1 / scale[numbers]
            yield weights


def _correlations(first: Matrix, second: Matrix, chosen: NDArray[np.int64], scale: Vector) -> Matrix:
    """Correlations of chosen numbers around the means of either dataset."""
    parts = [(part[:, chosen] - part[:, chosen].mean(axis=0)) / scale for part in (first, second)]
    centered = np.concatenate(parts)
    return centered.T @ centered / centered.shape[0]
