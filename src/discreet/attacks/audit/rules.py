"""Rules that decide from what an attacker sees in which world a model was fitted, learned on runs of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.audit.game import Features

__all__ = ["Rule", "learn", "stacked"]

Matrix = NDArray[np.float64]

WIDTHS = (None, 10, 1)
"""How many numbers the rules that compete look at; None for all of them."""
THRESHOLDS = 80
FAR = 1e12


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
    fill
        What stands for a number that is not there; also the center that distances are taken from.
    weights
        Of the numbers, of their distances from the center, and of their absence.
    threshold
        Scores above it mean "present".
    looks_at
        How many numbers have a weight.
    """

    fill: NDArray[np.float64]
    weights: NDArray[np.float64]
    threshold: float
    looks_at: int

    def scores(self, rows: Matrix) -> NDArray[np.float64]:
        """One number for each run: the larger, the more it looks as if the secret were there."""
        seen = np.full((rows.shape[0], self.fill.size), np.nan)
        width = min(seen.shape[1], rows.shape[1])
        seen[:, :width] = rows[:, :width]
        return _expanded(seen, self.fill) @ self.weights

    def decide(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
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
        One row a run, in either world. None of these runs may be used to evaluate the rule.
    delta, alpha
        The delta of the claim and the chance of error that the evaluation will have.
    normal
        Whether the claim is about Gaussian or concentrated loss: the threshold then aims at the largest ρ, and not at
        the largest ε.
    hint
        What the secret changes where there is no noise; an attacker who knows the mechanism knows that much.

    Notes
    -----
    Directions are learned on one half: differences of means over variances (the discriminant of independent normal
    numbers), of all numbers, of the ten that tell most, and of the best one alone; and the hint over variances. Beside
    each number stands its distance from its usual value, because a secret may change how far something scatters and
    not where it lies. The other half decides which direction and which threshold would prove most.
    """
    width = max(without.shape[1], with_.shape[1])
    rows = [_widened(part, width) for part in (without, with_)]
    fit = [part[: max(1, part.shape[0] // 2)] for part in rows]
    choose = [part[part.shape[0] // 2 :] for part in rows]
    fill = np.nan_to_num(_quiet_median(fit[0]))
    first, second = (_expanded(part, fill) for part in fit)
    difference = second.mean(axis=0) - first.mean(axis=0)
    spread = (first.var(axis=0) + second.var(axis=0)) / 2
    # What never varied says nothing, unless it is never the same in both worlds: then it says everything.
    floor = 1e-9 * (1 + np.abs(first).max(axis=0, initial=0.0) ** 2)
    telling = np.abs(difference) / np.sqrt(spread + floor)
    direction = np.where(telling > 0, difference / (spread + floor), 0.0)
    directions = [_widest(direction, telling, most) for most in WIDTHS]
    if hint is not None:
        directions.append(_hinted(hint, width) / (spread + floor))
    rules = []
    for weights in directions:
        scores = [_expanded(part, fill) @ weights for part in choose]
        threshold, promise = _threshold(*scores, delta=delta, alpha=alpha, normal=normal)
        rules.append((promise, Rule(fill, weights, threshold, int(np.count_nonzero(weights)))))
    return max(rules, key=lambda rule: rule[0])[1]


def _widest(direction: NDArray[np.float64], telling: NDArray[np.float64], most: int | None) -> NDArray[np.float64]:
    """The direction with no more numbers than so many, those that tell most."""
    weights = direction.copy()
    if most is not None:
        weights[np.argsort(-telling, kind="stable")[most:]] = 0.0
    return weights


def _hinted(hint: Features, width: int) -> NDArray[np.float64]:
    """A change of the numbers themselves as a change of all that a rule looks at."""
    change = np.zeros(3 * width)
    size = min(width, hint.size)
    change[:size] = np.nan_to_num(np.clip(hint[:size], -FAR, FAR))
    return change


def _threshold(
    without: NDArray[np.float64], with_: NDArray[np.float64], *, delta: float, alpha: float, normal: bool
) -> tuple[float, float]:
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
) -> NDArray[np.float64]:
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


def _divergence(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of coins of one bias from coins of another: what ρ is bounded by."""
    return first * np.log(first / second) + (1 - first) * np.log((1 - first) / (1 - second))


def _expanded(rows: Matrix, fill: NDArray[np.float64]) -> Matrix:
    """The numbers, how far each is from its usual value, and which of them are missing."""
    missing = np.isnan(rows)
    seen = np.where(missing, fill, rows)
    return np.concatenate([seen, np.abs(seen - fill), missing.astype(np.float64)], axis=1)


def _widened(rows: Matrix, width: int) -> Matrix:
    wide = np.full((rows.shape[0], width), np.nan)
    wide[:, : rows.shape[1]] = rows
    return wide


def _quiet_median(rows: Matrix) -> NDArray[np.float64]:
    """Medians of the columns; NaN for columns without a number."""
    medians = np.full(rows.shape[1], np.nan)
    known = ~np.isnan(rows).all(axis=0)
    if known.any():
        medians[known] = np.nanmedian(rows[:, known], axis=0)
    return medians
