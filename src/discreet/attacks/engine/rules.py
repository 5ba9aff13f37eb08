"""Rules that decide from what an attacker sees which dataset a model was fitted to, learned on runs of their own.

Each number comes with three others (``expanded``): whether it is missing, and its distances from its usual values
without the secret and with it. A secret may change where a number lies, how far it scatters, or whether it is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.attacks.engine.bounds import rate_at_least, rate_at_most
from discreet.attacks.games.game import Features
from discreet.common.arrays import Integers, Mask, Matrix, Vector

__all__ = ["Matrix", "Rule", "directions", "expanded", "learn", "medians", "stacked"]

THRESHOLDS = 80
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


def stacked(observations: Sequence[Features]) -> Matrix:
    """Vectors as the rows of one matrix, filled up with NaN, everything infinite made merely large."""
    width = max((vector.size for vector in observations), default=0)
    rows = np.full((len(observations), width), np.nan)
    for row, vector in zip(rows, observations, strict=True):
        row[: vector.size] = np.clip(vector, -FAR, FAR)
    return rows


@dataclass(frozen=True, eq=False)
class Rule:
    """A score, a weighted sum of what was seen, and the threshold above which the secret is said to be there.

    ``fill`` and ``other`` are the usual values without the secret and with it. The first stand for numbers that are not
    there; distances are taken from both. Weights are of the numbers, their absence and these distances.
    """

    fill: Vector
    other: Vector
    weights: Vector
    threshold: float

    def scores(self, rows: Matrix) -> Vector:
        """One number for each run: the larger, the more it looks as if the secret were there."""
        return expanded(_widened(rows, self.fill.size), self.fill, self.other) @ self.weights

    def decide(self, scores: Vector) -> Mask:
        """In which runs the secret is said to be there."""
        return scores > self.threshold


def learn(
    without: Matrix, with_: Matrix, *, delta: float, alpha: float, normal: bool = False, hint: Features | None = None
) -> Rule:
    """The rule that promises the largest bound, from runs (a row each) that may not be used to evaluate it.

    Directions are learned on one half (``directions``); the other half decides which direction and which threshold
    would prove most, at the delta of the claim and with the chance of error ``alpha``. Where the claim is about
    Gaussian or concentrated loss (``normal``), that is the largest ρ and not the largest ε. The hint is what the secret
    changes where there is no noise; an attacker who knows the mechanism knows that much.
    """
    width = max(without.shape[1], with_.shape[1])
    rows = [_widened(part, width) for part in (without, with_)]
    fit = [part[: max(1, part.shape[0] // 2)] for part in rows]
    choose = [part[part.shape[0] // 2 :] for part in rows]
    fill = np.nan_to_num(medians(fit[0]))
    other = np.where(np.isnan(medians(fit[1])), fill, medians(fit[1]))
    first, second = (expanded(part, fill, other) for part in fit)
    rules = []
    for weights in directions(first, second, hint=hint):
        scores = [expanded(part, fill, other) @ weights for part in choose]
        threshold, promise = _threshold(*scores, delta=delta, alpha=alpha, normal=normal)
        rules.append((promise, Rule(fill, other, weights, threshold)))
    return max(rules, key=lambda rule: rule[0])[1]


def _threshold(without: Vector, with_: Vector, *, delta: float, alpha: float, normal: bool) -> tuple[float, float]:
    """The threshold with the largest bound, and that bound; below 0 where nothing is proved."""
    both = np.unique(np.concatenate([without, with_]))
    if both.size > THRESHOLDS:
        both = np.unique(np.quantile(both, np.linspace(0, 1, THRESHOLDS), method="nearest"))
    cuts = np.concatenate([[both[0] - 1.0], (both[1:] + both[:-1]) / 2]) if both.size > 1 else both
    lowest = rate_at_least((with_[None, :] > cuts[:, None]).sum(axis=1), with_.size, alpha=alpha / 2)
    highest = rate_at_most((without[None, :] > cuts[:, None]).sum(axis=1), without.size, alpha=alpha / 2)
    small = 1e-12
    if normal:
        low, high = np.clip(lowest, small, 1 - small), np.clip(highest, small, 1 - small)
        bounds = np.sign(low - high) * np.maximum(_divergence(low, high), _divergence(high, low))
    else:
        up = np.log(np.maximum(lowest - delta, small) / np.maximum(highest, small))
        down = np.log(np.maximum(1 - highest - delta, small) / np.maximum(1 - lowest, small))
        bounds = np.maximum(up, down)
    place = int(np.argmax(bounds))
    return float(cuts[place]), float(bounds[place])


def _divergence(first: Vector, second: Vector) -> Vector:
    """Of coins of one bias from coins of another: what ρ is bounded by."""
    return first * np.log(first / second) + (1 - first) * np.log((1 - first) / (1 - second))


def _widened(rows: Matrix, width: int) -> Matrix:
    wide = np.full((rows.shape[0], width), np.nan)
    wide[:, : rows.shape[1]] = rows[:, :width]
    return wide


# Directions in which runs with a secret may differ from runs without: weights of the numbers


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


def _correlations(first: Matrix, second: Matrix, chosen: Integers, scale: Vector) -> Matrix:
    """Correlations of chosen numbers around the means of either dataset."""
    parts = [(part[:, chosen] - part[:, chosen].mean(axis=0)) / scale for part in (first, second)]
    centered = np.concatenate(parts)
    return centered.T @ centered / centered.shape[0]
