"""Rules that decide from what an attacker sees which dataset a model was fitted to, learned on runs of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.engine.directions import FAR, Matrix, Vector, directions, expanded, medians
from discreet.attacks.games.game import Features

__all__ = ["Matrix", "Rule", "learn", "stacked"]

THRESHOLDS = 80


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

    Parameters
    ----------
    fill, other
        The usual values without the secret and with it. The first stand for numbers that are not there; distances are
        taken from both.
    weights
        Of the numbers, of their absence, and of their distances from both centers.
    threshold
        Scores above it mean "present".
    looks_at
        How many numbers have a weight.
    """

    fill: Vector
    other: Vector
    weights: Vector
    threshold: float
    looks_at: int

    def scores(self, rows: Matrix) -> Vector:
        """One number for each run: the larger, the more it looks as if the secret were there."""
        seen = np.full((rows.shape[0], self.fill.size), np.nan)
        width = min(seen.shape[1], rows.shape[1])
        seen[:, :width] = rows[:, :width]
        return expanded(seen, self.fill, self.other) @ self.weights

    def decide(self, scores: Vector) -> NDArray[np.bool_]:
        """In which runs the secret is said to be there."""
        return scores > self.threshold


def learn(
    without: Matrix,
    with_: Matrix,
    *,
    delta: float,
    alpha: float,
    normal: bool = False,
    hint: Features | None = None,
) -> Rule:
    """The rule that promises the largest bound.

    Parameters
    ----------
    without, with_
        One row a run, of either dataset. None of these runs may be used to evaluate the rule.
    delta, alpha
        The delta of the claim and the chance of error that the evaluation will have.
    normal
        Whether the claim is about Gaussian or concentrated loss: the threshold then aims at the largest ρ, and not at
        the largest ε.
    hint
        What the secret changes where there is no noise; an attacker who knows the mechanism knows that much.

    Notes
    -----
    Directions are learned on one half (``directions``); the other half decides which direction and which threshold
    would prove most.
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
        rules.append((promise, Rule(fill, other, weights, threshold, int(np.count_nonzero(weights)))))
    return max(rules, key=lambda rule: rule[0])[1]


def _threshold(without: Vector, with_: Vector, *, delta: float, alpha: float, normal: bool) -> tuple[float, float]:
    """The threshold with the largest bound, and that bound."""
    both = np.unique(np.concatenate([without, with_]))
    if both.size > THRESHOLDS:
        both = np.unique(np.quantile(both, np.linspace(0, 1, THRESHOLDS), method="nearest"))
    cuts = np.concatenate([[both[0] - 1.0], (both[1:] + both[:-1]) / 2]) if both.size > 1 else both
    hits = (with_[None, :] > cuts[:, None]).sum(axis=1)
    false = (without[None, :] > cuts[:, None]).sum(axis=1)
    bounds = _bounds(hits, with_.size, false, without.size, delta=delta, alpha=alpha, normal=normal)
    place = int(np.argmax(bounds))
    return float(cuts[place]), float(bounds[place])


def _bounds(
    hits: NDArray[np.int64],
    runs: int,
    false: NDArray[np.int64],
    runs_absent: int,
    *,
    delta: float,
    alpha: float,
    normal: bool,
) -> Vector:
    """The bounds of many scores at once; below 0 where nothing is proved, so that the better one shows."""
    from scipy.stats import beta

    lowest = np.where(hits == 0, 0.0, beta.ppf(alpha / 2, np.maximum(hits, 1), runs - hits + 1))
    highest = np.where(
        false == runs_absent, 1.0, beta.ppf(1 - alpha / 2, false + 1, np.maximum(runs_absent - false, 1))
    )
    small = 1e-12
    if normal:
        low, high = np.clip(lowest, small, 1 - small), np.clip(highest, small, 1 - small)
        return np.sign(low - high) * np.maximum(_divergence(low, high), _divergence(high, low))
    up = np.log(np.maximum(lowest - delta, small) / np.maximum(highest, small))
    down = np.log(np.maximum(1 - highest - delta, small) / np.maximum(1 - lowest, small))
    return np.maximum(up, down)


def _divergence(first: Vector, second: Vector) -> Vector:
    """Of coins of one bias from coins of another: what ρ is bounded by."""
    return first * np.log(first / second) + (1 - first) * np.log((1 - first) / (1 - second))


def _widened(rows: Matrix, width: int) -> Matrix:
    wide = np.full((rows.shape[0], width), np.nan)
    wide[:, : rows.shape[1]] = rows
    return wide
