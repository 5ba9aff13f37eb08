"""Exact output laws, compared: what a mechanism does on one dataset against what it does on its neighbor."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping

import numpy as np
from numpy.typing import NDArray

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

Law = Mapping[Hashable, float] | NDArray[np.float64]


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


def _renyi(p: NDArray[np.float64], q: NDArray[np.float64], order: float) -> float:
    if np.any((p > 0) & (q == 0)):
        return math.inf
    possible = p > 0
    terms = order * np.log(p[possible]) + (1 - order) * np.log(q[possible])
    largest = float(terms.max())
    return (largest + math.log(float(np.exp(terms - largest).sum()))) / (order - 1)


def additive_log_ratio(mechanism: AdditiveMechanism, first: BoundedSums, second: BoundedSums) -> float:
    """The largest log-ratio of the laws of two noisy vectors of sums, enumerated output by output.

    Coordinates are independent, so the largest ratio of the whole is the product of the largest ratios of each. If the
    two sides would get different noise, the laws that are compared are those two.
    """
    return sum(
        max(float(np.max(p - q)), float(np.max(q - p))) for p, q, _ in _coordinate_laws(mechanism, first, second)
    )


def additive_renyi(mechanism: AdditiveMechanism, first: BoundedSums, second: BoundedSums, order: float) -> float:
    """Rényi divergence of order α of two noisy vectors of sums: the sum over the coordinates."""
    total = 0.0
    for p, q, _ in _coordinate_laws(mechanism, first, second):
        total += max(_renyi(np.exp(p), np.exp(q), order), _renyi(np.exp(q), np.exp(p), order))
    return total


def _coordinate_laws(
    mechanism: AdditiveMechanism, first: BoundedSums, second: BoundedSums
) -> list[tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]]:
    """For each coordinate that differs: log-laws of both sides over a window that holds all but e^−25 of them."""
    if first.values.shape != second.values.shape:
        raise UsageError("outputs of different length tell two datasets apart at once.")
    one, other = mechanism.log_pmf(first), mechanism.log_pmf(second)
    widest = max(mechanism.standard_deviation(first) / first.step, mechanism.standard_deviation(second) / second.step)
    reach = math.ceil(12 * float(widest)) + 4
    same_noise = mechanism.parameter(first) == mechanism.parameter(second)
    laws = []
    for a, b in zip(first.values.ravel(), second.values.ravel(), strict=True):
        if a == b and same_noise:
            continue
        outputs = np.arange(min(a, b) - reach, max(a, b) + reach + 1)
        laws.append((one(outputs - a), other(outputs - b), outputs))
    return laws


def fits_law(
    samples: NDArray[np.int64], log_pmf: Callable[[NDArray[np.int64]], NDArray[np.float64]], *, cells: int = 40
) -> float:
    """p-value of a chi-square test that integer samples follow a law.

    The line is cut at public places (quantiles of the stated law), so that each of about ``cells`` cells expects many
    samples; what lies beyond the last cut is a cell, too.
    """
    from scipy.stats import chisquare

    spread = max(4, int(np.abs(samples).max()) + 1)
    support = np.arange(-spread, spread + 1)
    cumulative = np.cumsum(np.exp(log_pmf(support)))
    cuts = np.unique(np.searchsorted(cumulative, np.linspace(0, 1, cells + 1)[1:-1]))
    expected = np.diff(np.concatenate([[0.0], cumulative[cuts], [1.0]])) * samples.size
    observed = np.bincount(np.searchsorted(support[cuts], samples), minlength=cuts.size + 1)
    big = expected >= 5
    if not big.all():  # pool what is too small to test alone
        expected = np.append(expected[big], expected[~big].sum())
        observed = np.append(observed[big], observed[~big].sum())
        if expected[-1] < 1e-9:
            expected, observed = expected[:-1], observed[:-1]
    return float(chisquare(observed, expected * observed.sum() / expected.sum()).pvalue)


def _aligned(first: Law, second: Law) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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
