"""Exact output laws, compared: what a mechanism does on one dataset against what it does on its neighbor."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from discreet.common.arrays import Floats, Integers
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.mechanisms import AdditiveMechanism

__all__ = [
    "additive_log_ratio",
    "additive_renyi",
    "fits_law",
    "max_log_ratio",
    "renyi_divergence",
    "smallest_delta",
]

Law = Mapping[Any, float] | Floats


def max_log_ratio(first: Law, second: Law) -> float:
    """The largest |ln Pr₁[o] − ln Pr₂[o]| over all outcomes; infinite if one can happen on one side only.

    Examples
    --------
    >>> round(max_log_ratio({"a": 0.5, "b": 0.5}, {"a": 0.25, "b": 0.75}), 4)
    0.6931
    >>> max_log_ratio({"a": 1.0}, {"a": 0.5, "b": 0.5})
    inf
    """
    p, q = _aligned(first, second)
    if np.any((p > 0) != (q > 0)):
        return math.inf
    possible = p > 0
    return float(np.max(np.abs(np.log(p[possible]) - np.log(q[possible])), initial=0.0))


def smallest_delta(first: Law, second: Law, epsilon: float) -> float:
    """The least δ for which the two laws are (ε, δ)-close, both ways round.

    Examples
    --------
    >>> smallest_delta({"a": 1.0}, {"a": 0.5, "b": 0.5}, 1.0)
    0.5
    """
    p, q = _aligned(first, second)
    factor = math.exp(epsilon)
    return float(max(np.maximum(p - factor * q, 0).sum(), np.maximum(q - factor * p, 0).sum()))


def renyi_divergence(first: Law, second: Law, order: float) -> float:
    """Rényi divergence of order α > 1, the larger of both directions."""
    p, q = _aligned(first, second)
    return max(_renyi(p, q, order), _renyi(q, p, order))


def _renyi(p: Floats, q: Floats, order: float) -> float:
    if np.any((p > 0) & (q == 0)):
        return math.inf
    return _renyi_of_logs(np.log(p[p > 0]), np.log(q[p > 0]), order)


def _renyi_of_logs(p: Floats, q: Floats, order: float) -> float:
    terms = order * p + (1 - order) * q
    largest = float(terms.max())
    return (largest + math.log(float(np.exp(terms - largest).sum()))) / (order - 1)


def additive_log_ratio(mechanism: AdditiveMechanism, first: BoundedSums, second: BoundedSums) -> float:
    """The largest log-ratio of the laws of two noisy vectors of sums, enumerated output by output.

    Coordinates are independent, so the largest ratio of the whole is the product of the largest ratios of each. Two
    different noises on the two sides have an unbounded ratio, however little they differ.
    """
    laws = _coordinate_laws(mechanism, first, second, reach=lambda deviation, shift: 12 * deviation + 4)
    if laws is None:
        return math.inf
    return sum(_defined(max(float(np.max(p - q)), float(np.max(q - p)))) for p, q in laws)


def additive_renyi(mechanism: AdditiveMechanism, first: BoundedSums, second: BoundedSums, order: float) -> float:
    """Rényi divergence of order α of two noisy vectors of sums: the sum over the coordinates.

    The window grows with α: what decides lies α shifts away from where most of the mass is.
    """
    laws = _coordinate_laws(
        mechanism, first, second, reach=lambda deviation, shift: 12 * deviation + (order + 1) * shift + 4
    )
    if laws is None:
        return math.inf
    return sum(_defined(max(_renyi_of_logs(p, q, order), _renyi_of_logs(q, p, order))) for p, q in laws)


def _coordinate_laws(
    mechanism: AdditiveMechanism, first: BoundedSums, second: BoundedSums, *, reach: Callable[[float, float], float]
) -> list[tuple[Floats, Floats]] | None:
    """For each coordinate that differs: log-laws of both sides over a window; None if the noise differs."""
    if first.values.shape != second.values.shape:
        raise UsageError("outputs of different length tell two datasets apart at once.")
    if mechanism.parameter(first) != mechanism.parameter(second) or first.step != second.step:
        return None
    deviation = _defined(mechanism.standard_deviation(first)) / float(first.step)
    one, other = mechanism.log_pmf(first), mechanism.log_pmf(second)
    laws = []
    for a, b in zip(first.values.ravel(), second.values.ravel(), strict=True):
        if a != b:
            window = math.ceil(reach(deviation, abs(float(a) - float(b))))
            outputs = np.arange(min(a, b) - window, max(a, b) + window + 1)
            laws.append((one(outputs - a), other(outputs - b)))
    return laws


def _defined(number: float) -> float:
    if math.isnan(number):
        raise UsageError("a law has a probability that is not a number: nothing is shown by comparing it.")
    return number


def fits_law(samples: Integers, log_pmf: Callable[[Integers], Floats], *, cells: int = 40) -> float:
    """p-value of chi-square tests that integer samples follow a law: of place, of remainders, and of the tails.

    The line is cut at quantiles of the stated law into about ``cells`` cells and at far quantiles for the tails; the
    remainders modulo 2, 3 and 5 show a lattice that places do not. The smallest of the five p-values is returned, times
    five.
    """
    spread = max(16, 4 * int(np.abs(samples).max()) + 1)
    support = np.arange(-spread, spread + 1)
    law = np.exp(log_pmf(support))
    cumulative = np.cumsum(law)
    far = np.array([1e-4, 1e-3, 1e-2, 0.99, 0.999, 0.9999])
    tests = []
    for quantiles in (np.linspace(0, 1, cells + 1)[1:-1], far):
        cuts = np.unique(np.minimum(np.searchsorted(cumulative, quantiles), support.size - 1))
        expected = np.diff(np.concatenate([[0.0], cumulative[cuts], [1.0]]))
        tests.append((np.bincount(np.searchsorted(support[cuts], samples), minlength=cuts.size + 1), expected))
    for divisor in (2, 3, 5):
        expected = np.bincount(support % divisor, weights=law, minlength=divisor)
        tests.append((np.bincount(samples % divisor, minlength=divisor), expected))
    return min(1.0, 5 * min(_chi_square(observed, expected) for observed, expected in tests))


def _chi_square(observed: Integers, expected: Floats) -> float:
    """p-value; cells that expect fewer than five samples are tested together."""
    from scipy.stats import chisquare

    expected = expected / expected.sum() * observed.sum()
    big = expected >= 5
    if not big.all():
        expected = np.append(expected[big], expected[~big].sum())
        observed = np.append(observed[big], observed[~big].sum())
    if expected[-1] < 1e-6 * observed.sum() and observed[-1] == 0:
        expected, observed = expected[:-1], observed[:-1]
    if expected.size < 2:
        return 1.0
    return float(chisquare(observed, expected / expected.sum() * observed.sum()).pvalue)


def _aligned(first: Law, second: Law) -> tuple[Floats, Floats]:
    """Both laws over the same outcomes. A law that does not sum to 1 hides something."""
    p, q = _over_same_outcomes(first, second)
    for law in (p, q):
        if not abs(float(law.sum()) - 1) < 1e-6 or (law < 0).any():
            raise UsageError(f"a law must have probabilities that sum to 1; this one has {float(law.sum()):.6g}.")
    return p, q


def _over_same_outcomes(first: Law, second: Law) -> tuple[Floats, Floats]:
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        outcomes = sorted(set(first) | set(second), key=repr)
        return (
            np.array([first.get(outcome, 0.0) for outcome in outcomes]),
            np.array([second.get(outcome, 0.0) for outcome in outcomes]),
        )
    p, q = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if p.shape != q.shape:
        raise UsageError(f"laws over {p.shape} and {q.shape} outcomes cannot be compared.")
    return p, q
