"""Shrinking noisy counts to what a model expects, as far as the noise deserves.

All of it is post-processing: it looks at noisy counts, at the public variance of their noise, and at a model that was
released. Small tables are shrunk as a whole (after James and Stein). Of the many cells of a histogram each is shrunk by
itself: many noisy differences show their common law (most may be nothing but noise, some real, a few very large). The
law is estimated by taking the noise apart again (deconvolution), then every noisy difference is replaced by its
expectation given that law.

References
----------
B. Silverman, M. Jones, J. Wilson, D. Nychka: A smoothed EM approach to indirect estimation problems. JRSS B, 1990.
B. Efron: Two modeling strategies for empirical Bayes estimation. Statistical Science, 2014.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from discreet.common.arrays import AnyFloats, Floats, Integers
from discreet.coupled.consistency import onto_simplex
from discreet.privacy.budget import Budget

__all__ = [
    "FAR",
    "Kept",
    "Law",
    "expected_differences",
    "kept_share",
    "law_of",
    "noise_height",
    "shrink_cells",
    "shrink_table",
]

# Relative variance of the square of one noise variable: E[z⁴]/E[z²]² − 1.
_SPREAD: dict[Law, float] = {"laplace": 5.0, "gaussian": 2.0}

TABLE_CAUTION = 0.5
"""Standard deviations by which the mean square of pure noise may exceed its variance before it counts as signal."""

LEAST_EXPECTED = 0.1
"""In deviations of noise: cells with an expected count below twice this are shrunk alike, those above in groups within
a factor of 2."""

SLIGHT_NOISE = 0.25
"""Deviation below which whole numbers are their own best estimate."""

Law = Literal["laplace", "gaussian"]
"""The distribution of the noise, for estimates from noisy counts."""

FAR = 24.0
"""Deviations of noise from which on a difference is kept as it is: no noise on a table in memory goes that far."""

# Sizes of differences, in deviations of noise: ranges that grow by a factor, with points inside them.
_FIRST, _GROWTH, _SPACING = 0.25, 1.5, 1 / 3

_MOST_VALUES = 1024

_ROUNDS = 30

_SOME = 0.02
"""Share of real differences that the estimation begins with."""

EVIDENCE = 6.0
"""Units of log-likelihood by which a learned law must do better than 'nothing but noise' to count as much as it."""

SURPRISE = 0.02
"""How many large differences a table is taken to have if nothing was learned: so large a one is then believed."""


def kept_share(
    mean_square: Floats | float, variance: float, pooled: AnyFloats | float, *, law: Law, caution: float
) -> Floats:
    """How much of the difference between noisy counts and a model to keep: 1 − (variance of the noise)/(mean square).

    The mean is over ``pooled`` differences; ``caution`` is 0 for the estimator of James and Stein (see
    ``TABLE_CAUTION``).

    Examples
    --------
    >>> kept_share(np.array([4.0, 0.9]), 1.0, 100, law="gaussian", caution=0.0)
    array([0.75, 0.  ])
    """
    margin = 1 + caution * np.sqrt(_SPREAD[law] / np.maximum(pooled, 1.0))
    # Differences far smaller than the noise are kept to nothing; the floor only avoids a division by 0.
    return np.maximum(0.0, 1 - margin * variance / np.maximum(mean_square, 1e-9 * variance))


def shrink_table(noisy: Floats, center: Floats, variance: float, total: float, *, law: Law) -> Floats:
    """A small noisy table, shrunk as a whole to what is expected, then without negative counts; its total is public."""
    # The total is known, so its share of the noise can be taken out of every count.
    settled = noisy + (total - float(noisy.sum())) / noisy.size
    difference = settled - center
    free = max(noisy.size - 1, 1)
    share = kept_share(float((difference**2).sum()) / free, variance, free, law=law, caution=TABLE_CAUTION)
    return onto_simplex(center + float(share) * difference, total)


def shrink_cells(noisy: Integers | Floats, model: Floats, variance: float, total: float, *, law: Law) -> Floats:
    """Noisy counts of all cells, each moved to a model as far as cells of which it expects about as much suggest.

    Where the model is right, noisy counts differ from it by noise alone, and the model is kept. Where it is far off, or
    misses a few crowded cells, counts that stand out of the noise are kept and the rest follow the model. What is found
    beyond the model must be missing elsewhere: it is taken from the cells that follow the model, in proportion to what
    it expects of them.
    """
    deviation = math.sqrt(variance)
    if deviation < SLIGHT_NOISE:
        return onto_simplex(noisy, total)
    group = np.floor(np.log2(np.maximum(model / (LEAST_EXPECTED * deviation), 1.0))).astype(np.int64)
    difference = noisy - model
    share = np.ones(model.size)
    near = np.abs(difference) < FAR * deviation
    for one in np.unique(group):
        members = np.flatnonzero((group == one) & near)
        if members.size:
            kept = expected_differences(
                difference[members],
                deviation=deviation,
                lowest=-float(model[members].mean()),
                highest=total,
                cells=model.size,
                law=law,
            )
            difference[members], share[members] = kept.differences, kept.share
    counts = np.maximum(model + difference, 0.0)
    following = np.minimum(model, counts) * (1 - share)
    surplus = (counts.sum() - total) / max(float(following.sum()), 1e-300)
    return onto_simplex(counts - min(max(surplus, -1.0), 1.0) * following, total)


@dataclass(frozen=True)
class Kept:
    """Expected true differences, and how much of a little more would have been kept (small where noise drowns all)."""

    differences: Floats
    share: Floats


def law_of(budget: Budget) -> Law:
    """The distribution of the noise that a budget pays for; rounding of Gaussian noise is too fine to matter."""
    return "laplace" if budget.is_pure else "gaussian"


def noise_height(deviation: float, cells: int, *, law: Law) -> float:
    """A bound that the largest noise on ``cells`` cells seldom exceeds (about once in 15 times or less).

    Examples
    --------
    >>> round(noise_height(1.0, 1000, law="laplace"), 1), round(noise_height(1.0, 1000, law="gaussian"), 1)
    (6.3, 4.2)
    """
    rare = math.log(cells) + 2
    return deviation * (rare / math.sqrt(2) if law == "laplace" else math.sqrt(2 * rare))


def expected_differences(
    noisy: Floats, *, deviation: float, lowest: float, highest: float, cells: int, law: Law
) -> Kept:
    """Noisy differences from what was expected, each replaced by its expectation given what all of them are like.

    None is further than ``FAR`` deviations from 0; they may be a part of the differences of a table with ``cells`` of
    them. True differences are from ``lowest``, at most 0, to ``highest``, at least 0. A learned law is trusted as far
    as it explains the noisy values better than noise alone does; otherwise a rare surprise is all that is expected. So
    a single large noise does not pass for a discovery.

    Examples
    --------
    >>> noisy = np.array([-2.0, 1.0, 0.0, 2.0, -1.0, 60.0])
    >>> kept = expected_differences(noisy, deviation=3.0, lowest=-5.0, highest=100.0, cells=6, law="gaussian")
    >>> np.abs(kept.differences[:5]).max() < 0.1, kept.differences[5] > 50
    (np.True_, np.True_)
    """
    sizes = _Sizes.of(deviation, max(lowest, -FAR * deviation), min(highest, FAR * deviation))
    values, counts = _condensed(noisy)
    distance = values[:, None] - sizes.points
    logs = -math.sqrt(2) * np.abs(distance) / deviation if law == "laplace" else -0.5 * (distance / deviation) ** 2
    likely = np.exp(logs - logs.max(axis=1, keepdims=True))
    chance, moment = likely @ sizes.spread, likely @ (sizes.spread * sizes.points[:, None])
    learned = _learn(chance, counts, sizes.zero)
    surprise = sizes.surprise(0.7 * noise_height(deviation, cells, law=law), SURPRISE / cells)
    gain = float(counts @ np.log((chance @ learned) / (chance @ surprise)))
    # Twice the exponent of a fair comparison: a hundredth of a large noise would still be much on a flat table.
    trust = 1 / (1 + math.exp(2 * min(max(EVIDENCE - gain, -50.0), 50.0)))
    expected = trust * (moment @ learned) / (chance @ learned) + (1 - trust) * (moment @ surprise) / (chance @ surprise)
    slope = np.clip(np.gradient(expected, values), 0.0, 1.0) if values.size > 1 else np.zeros(1)
    return Kept(np.interp(noisy, values, expected), np.interp(noisy, values, slope))


@dataclass(frozen=True)
class _Sizes:
    """Ranges of true differences; within a range all are alike.

    ``spread`` is points by ranges: the law within each range. ``zero`` is the range that is no difference at all, and
    ``ends`` are the upper ends of the ranges above it.
    """

    points: Floats
    spread: Floats
    zero: int
    ends: Floats

    @classmethod
    def of(cls, deviation: float, lowest: float, highest: float) -> _Sizes:
        far = max(highest, 2 * deviation)
        number = math.ceil(math.log(FAR / _FIRST) / math.log(_GROWTH)) + 1
        edges = np.append(0.0, deviation * _FIRST * _GROWTH ** np.arange(number))
        # The last range is not cut to a sliver.
        edges = np.append(edges[edges < 0.8 * far], far)
        above = list(pairwise(edges))
        below = [(-min(high, -lowest), -low) for low, high in above if low < -lowest]
        ranges = [np.array([lowest])] if lowest < 0 else []  # a cell that is empty
        ranges += [_inside(low, high, deviation) for low, high in reversed(below)]
        zero = len(ranges)
        ranges += [np.zeros(1), *(_inside(low, high, deviation) for low, high in above)]
        range_of = np.repeat(np.arange(len(ranges)), [part.size for part in ranges])
        spread = np.zeros((range_of.size, len(ranges)))
        spread[np.arange(range_of.size), range_of] = 1 / np.bincount(range_of)[range_of]
        return cls(np.concatenate(ranges), spread, zero, edges[1:])

    def surprise(self, least: float, chance: float) -> Floats:
        """No difference, but for the chance of one that ends above ``least``."""
        large = self.ends > min(least, self.ends[-2])
        law = np.zeros(self.spread.shape[1])
        law[self.zero + 1 :][large] = chance / large.sum()
        law[self.zero] = 1 - chance
        return law


def _inside(low: float, high: float, deviation: float) -> Floats:
    number = max(3, math.ceil((high - low) / (_SPACING * deviation)))
    return low + (high - low) * (np.arange(number) + 0.5) / number


def _condensed(noisy: Floats) -> tuple[Floats, Floats]:
    """Values in rising order and how many there are of each; of very many, shared out between points of a fine grid."""
    if noisy.size <= _MOST_VALUES:
        values, counts = np.unique(noisy, return_counts=True)
        return values, counts.astype(np.float64)
    values = np.linspace(noisy.min(), noisy.max(), _MOST_VALUES)
    if values[0] == values[-1]:
        return values[:1], np.array([float(noisy.size)])
    place = (noisy - values[0]) / (values[1] - values[0])
    left = np.minimum(place.astype(np.int64), _MOST_VALUES - 2)
    right_share = place - left
    counts = np.bincount(left, 1 - right_share, _MOST_VALUES) + np.bincount(left + 1, right_share, _MOST_VALUES)
    return values, counts.astype(np.float64)


def _learn(chance: Floats, counts: Floats, zero: int) -> Floats:
    """The law of the ranges: expectation, maximization, and a smoothing step that keeps few values from faking detail.

    Rounds are few and fixed: going on would sharpen chance patterns.
    """
    law = np.full(chance.shape[1], _SOME / (chance.shape[1] - 1))
    law[zero] = 1 - _SOME
    for _ in range(_ROUNDS):
        joint = chance * law
        members = counts @ (joint / joint.sum(axis=1, keepdims=True))
        members[:zero] = _smoothed(members[:zero])
        members[zero + 1 :] = _smoothed(members[zero + 1 :])
        law = members / members.sum()
    return law


def _smoothed(values: Floats) -> Floats:
    if values.size < 3:
        return values
    wide = np.concatenate([values[:1], values, values[-1:]])
    return 0.25 * wide[:-2] + 0.5 * values + 0.25 * wide[2:]
