"""Weighted sampling without replacement: Wallenius' noncentral hypergeometric law.

k rounds; in each, one of those who are left is drawn with probability proportional to its weight. Categories hold
members of one weight; a candidate of its own is a category with one member. Weights are given by their logarithms,
because those of the exponential mechanism leave the range of floating point.

References
----------
K. T. Wallenius: Biased sampling: the noncentral hypergeometric probability distribution. Stanford 1963.
B. F. J. Manly: A model for certain types of selection experiments. Biometrics 30 (1974).
A. Fog: Calculation methods for Wallenius' noncentral hypergeometric distribution. Comm. in Statistics 37 (2008).
Z. Lu: Privacy preserving neighbourhood-based collaborative filtering. MPhil thesis, Adelaide 2015, section 3.3.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from discreet.common.arrays import Integers, Vector
from discreet.errors import UsageError

__all__ = ["Law", "category_law", "manly_mean", "sampling_law", "set_probability", "wallenius_mean"]

Law = dict[tuple[int, ...], float]

# Exact laws are for short lists: beyond so many outcomes, or steps on the way to them, they are refused.
MOST_OUTCOMES = 200_000
MOST_STEPS = 3_000_000


def category_law(log_weights: ArrayLike, counts: ArrayLike, k: int, *, lumped: Sequence[int] = ()) -> Law:
    """Probability of every outcome of k draws, as a sorted tuple with each category as often as it was drawn.

    Parameters
    ----------
    log_weights, counts
        Logarithm of the weight of a member, and number of members, of each category.
    k
        Number of draws; fewer where there are not so many members with a weight.
    lumped
        Categories whose weight is that of all their members together, however many are left (not Wallenius' law any
        more, but PNCF's single candidate C0).

    Examples
    --------
    >>> law = category_law(np.log([2.0, 1.0]), [1, 2], 2)
    >>> {outcome: round(p, 4) for outcome, p in law.items()}
    {(0, 1): 0.8333, (1, 1): 0.1667}
    """
    log_weights, counts = np.asarray(log_weights, dtype=np.float64), np.asarray(counts, dtype=np.int64)
    draws = min(k, int(counts[log_weights > -np.inf].sum()))
    law: Law = {(): 1.0}
    for _ in range(draws):
        if len(law) * counts.size > MOST_STEPS:
            raise _too_long()
        further: Law = {}
        for drawn, probability in law.items():
            left = counts - np.bincount(np.array(drawn, dtype=np.int64), minlength=counts.size)
            for category in lumped:
                left[category] = min(left[category], 1)
            chances = _shares(log_weights, left)
            for category in np.flatnonzero(chances).tolist():
                outcome = tuple(sorted((*drawn, category)))
                further[outcome] = further.get(outcome, 0.0) + probability * float(chances[category])
        law = further
    return law


def sampling_law(log_weights: ArrayLike, k: int, *, pool: Sequence[int] = (), pool_log_weight: float = 0.0) -> Law:
    """Probability of every set of candidates, as a sorted tuple, in k draws without replacement.

    Parameters
    ----------
    log_weights
        Of each candidate; −∞ for those who are never drawn.
    k
        Number of draws; fewer where not so many have a weight.
    pool, pool_log_weight
        Candidates who stand in the draw as one, with this weight, and are taken out uniformly when it is drawn.
    """
    weights = np.asarray(log_weights, dtype=np.float64)
    alone = np.setdiff1d(np.flatnonzero(weights > -np.inf), np.asarray(pool, dtype=np.int64)).tolist()
    members = len(alone) + len(pool)
    if math.comb(members, min(k, members)) > MOST_OUTCOMES:
        raise _too_long()
    if members <= k:
        return {tuple(sorted((*alone, *pool))): 1.0}
    if k == 0:
        return {(): 1.0}
    if pool:
        return _pooled_law(weights, k, alone, list(pool), pool_log_weight)
    if members * math.comb(members, min(k - 1, members // 2)) > MOST_STEPS:
        # Few sets, but many ways to them: the integral goes there directly.
        return {chosen: set_probability(weights, chosen) for chosen in itertools.combinations(alone, k)}
    law = category_law(weights[alone], np.ones(members), k)
    return {tuple(alone[category] for category in chosen): p for chosen, p in law.items()}


def set_probability(log_weights: ArrayLike, chosen: Sequence[int]) -> float:
    """Probability that exactly these candidates are drawn: Lu's equation 3.9, in another variable.

    With arrival times, everybody in the set must come before the first of the others. With d the summed weight of the
    others and s = e^y the time, that is ∫ d·e^(y − d·e^y)·Π(1 − e^(−wᵢ·e^y)) dy. The integrand is analytic in a strip
    of half-width π/2 and dies away on both sides, so the trapezoid rule with step 1/8 is exact to rounding.

    Examples
    --------
    >>> round(set_probability(np.log([2.0, 1.0, 1.0]), [0]), 12)
    0.5
    """
    weights = np.asarray(log_weights, dtype=np.float64)
    inside = np.zeros(weights.size, dtype=bool)
    inside[list(chosen)] = True
    others = weights[~inside & (weights > -np.inf)]
    if others.size == 0:
        return 1.0
    log_d = float(np.logaddexp.reduce(others))
    # The largest value lies between −ln d and ln((k+1)/d); to the left the integrand falls at least like e^y.
    y = np.arange(-45.0, math.log(len(chosen) + 850), 0.125) - log_d
    exponents = log_d + y - np.exp(log_d + y)
    for weight in weights[inside]:
        log_rate = weight + y
        rate = np.exp(np.clip(log_rate, -40.0, 700.0))
        # For rates below e^−40, 1 − e^(−rate) is the rate.
        exponents += np.where(log_rate < -40, log_rate, np.log(-np.expm1(-rate)))
    return float(0.125 * np.exp(exponents).sum())


def wallenius_mean(log_weights: ArrayLike, counts: ArrayLike, k: int) -> Vector:
    """Expected number drawn from each category, exactly, through all outcomes."""
    means = np.zeros(np.asarray(counts).size)
    for outcome, probability in category_law(log_weights, counts, k).items():
        for category, times in Counter(outcome).items():
            means[category] += times * probability
    return means


def manly_mean(log_weights: ArrayLike, counts: ArrayLike, k: int) -> Vector:
    """Expected number drawn from each category by Manly's approximation, equation 3.11 of Lu.

    All (1 − μᵢ/mᵢ)^(1/wᵢ) are one number e^(−t), so μᵢ = mᵢ·(1 − e^(−wᵢ·t)), with t such that the sum is k.

    Parameters
    ----------
    log_weights, counts
        As in ``category_law``; further axes in front are further problems.
    k
        Number of draws.

    Examples
    --------
    >>> manly_mean(np.zeros(4), np.ones(4), 2)
    array([0.5, 0.5, 0.5, 0.5])
    """
    weights, members = np.broadcast_arrays(np.asarray(log_weights, float), np.asarray(counts, float))
    members = np.where(weights > -np.inf, members, 0.0)
    weights = np.where(members > 0, weights, -np.inf)
    total = members.sum(axis=-1)
    draws = np.minimum(float(k), total)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # 1 − e^(−x) ≤ x bounds ln t from below; with the smallest weight for all it is bounded from above.
        low = np.log(draws) - np.logaddexp.reduce(weights + np.log(members), axis=-1)
        lightest = np.where(members > 0, weights, np.inf).min(axis=-1, initial=np.inf)
        high = np.log(-np.log1p(-np.minimum(draws / total, 1 - 1e-16))) - lightest
        means = _drawn(weights, members, _time_until(weights, members, draws, low, high))
    return np.where((total <= k)[..., None], members, means)


def _time_until(log_weights: Vector, members: Vector, draws: Vector, low: Vector, high: Vector) -> Vector:
    """Logarithm of the time at which so many are drawn: halving, and Newton's steps from below.

    The number drawn is concave in time, so that a step of Newton's from below never goes too far.
    """
    for _ in range(200):
        middle = (low + high) / 2
        enough = _drawn(log_weights, members, middle).sum(axis=-1) >= draws
        high, low = np.where(enough, middle, high), np.where(enough, low, middle)
        rates = np.exp(np.minimum(log_weights + low[..., None], 700.0))
        missing = draws + (members * np.expm1(-rates)).sum(axis=-1)
        step = np.log1p(np.maximum(missing, 0.0) / (members * rates * np.exp(-rates)).sum(axis=-1))
        low = np.where(np.isfinite(step), np.minimum(low + step, high), low)
        if not np.any(np.minimum(step, high - low) > 1e-13):
            break
    return low


def _drawn(log_weights: Vector, members: Vector, log_time: Vector) -> Vector:
    rates = np.exp(np.minimum(log_weights + log_time[..., None], 700.0))
    return -members * np.expm1(-rates)


def _shares(log_weights: Vector, left: Integers) -> Vector:
    """Chance of each category in the next draw. Sums are taken over what is left, never by subtraction."""
    with np.errstate(divide="ignore"):
        logs = log_weights + np.log(left.astype(np.float64))
    shares = np.exp(logs - logs.max())
    return shares / shares.sum()


def _pooled_law(weights: Vector, k: int, alone: list[int], pool: list[int], pool_log_weight: float) -> Law:
    log_weights = np.append(weights[alone], pool_log_weight)
    counts = np.append(np.ones(len(alone), dtype=np.int64), len(pool))
    law: Law = {}
    for drawn, probability in category_law(log_weights, counts, k, lumped=[len(alone)]).items():
        from_pool = drawn.count(len(alone))
        singles = [alone[category] for category in drawn if category < len(alone)]
        for chosen in _completed(singles, pool, from_pool):
            law[chosen] = probability / math.comb(len(pool), from_pool)
    return law


def _completed(singles: list[int], pool: list[int], size: int) -> Iterator[tuple[int, ...]]:
    for taken in itertools.combinations(pool, size):
        yield tuple(sorted((*singles, *taken)))


def _too_long() -> UsageError:
    return UsageError(
        "an exact law of so many outcomes is too long to write out.",
        remedy="Ask for it on a shorter list, or use inclusion(), which approximates long lists.",
    )
