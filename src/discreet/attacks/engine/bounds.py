"""What the score of a game proves about epsilon.

References
----------
C. Clopper, E. Pearson: The use of confidence or fiducial limits illustrated in the case of the binomial. 1934.
M. Jagielski, J. Ullman, A. Oprea: Auditing differentially private machine learning. NeurIPS 2020.
J. Dong, A. Roth, W. Su: Gaussian differential privacy. JRSS B 2022.
M. Bun, T. Steinke: Concentrated differential privacy. TCC 2016.
T. Steinke, M. Nasr, M. Jagielski: Privacy auditing with one (1) training run. NeurIPS 2023.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import UsageError

__all__ = [
    "Band",
    "band",
    "epsilon_ceiling",
    "epsilon_lower_bound",
    "mu_lower_bound",
    "one_run_lower_bound",
    "rate_at_least",
    "rate_at_most",
    "rho_lower_bound",
    "share",
]

ORDERS = 60
"""Rényi orders that are tried: each gives a bound that holds, the best is taken."""


def rate_at_least(hits: ArrayLike, runs: int, *, alpha: float) -> Any:
    """The Clopper–Pearson lower limit of a rate: wrong with probability at most ``alpha``; one, or an array of them.

    Examples
    --------
    >>> round(float(rate_at_least(10, 10, alpha=0.025)), 4)
    0.6915
    """
    from scipy.stats import beta

    counts = np.asarray(hits)
    return np.where(counts == 0, 0.0, beta.ppf(alpha, np.maximum(counts, 1), runs - counts + 1))


def rate_at_most(hits: ArrayLike, runs: int, *, alpha: float) -> Any:
    """The Clopper–Pearson upper limit of a rate: wrong with probability at most ``alpha``; one, or an array of them."""
    from scipy.stats import beta

    counts = np.asarray(hits)
    return np.where(counts == runs, 1.0, beta.ppf(1 - alpha, counts + 1, np.maximum(runs - counts, 1)))


class Band(NamedTuple):
    """A mean or a share, and where it lies with the confidence asked for."""

    mean: float
    low: float
    high: float


def band(values: ArrayLike, confidence: float) -> Band:
    """The mean of shares of many users, with a normal band within 0 and 1.

    Examples
    --------
    >>> [round(end, 4) for end in band([0.4, 0.6] * 50, 0.95)]
    [0.5, 0.4803, 0.5197]
    """
    from scipy.special import ndtri

    shares = np.asarray(values, dtype=np.float64)
    mean = float(shares.mean())
    spread = float(shares.std(ddof=1)) / math.sqrt(shares.size) if shares.size > 1 else 0.0
    half = float(ndtri((1 + confidence) / 2)) * spread
    return Band(mean, max(0.0, mean - half), min(1.0, mean + half))


def share(hits: int, games: int, confidence: float) -> Band:
    """A share of games won, with its Clopper–Pearson interval.

    Examples
    --------
    >>> share(10, 10, 0.95)
    Band(mean=1.0, low=0.6915028921812392, high=1.0)
    """
    alpha = (1 - confidence) / 2
    low, high = (float(limit(hits, games, alpha=alpha)) for limit in (rate_at_least, rate_at_most))
    return Band(hits / games, low, high)


def epsilon_lower_bound(
    true_positives: int,
    runs_present: int,
    false_positives: int,
    runs_absent: int,
    *,
    delta: float = 0.0,
    confidence: float = 0.95,
) -> float:
    """The smallest epsilon that the score of a game leaves possible.

    Parameters
    ----------
    true_positives, runs_present
        How often the attacker succeeded in how many independent runs with the target.
    false_positives, runs_absent
        The same without the target.
    delta
        The delta that goes with the claimed epsilon.
    confidence
        How sure the bound is to be below the true epsilon.

    Notes
    -----
    With (ε, δ)-differential privacy TPR ≤ e^ε·FPR + δ and 1 − FPR ≤ e^ε·(1 − TPR) + δ. Both rates are replaced by the
    ends of their intervals, each wrong with probability (1 − confidence)/2; the two inequalities use the same pair of
    intervals, so they need no further correction. The rule of the attacker has to be fixed before the runs. A bound
    above the claim refutes the claim; a bound below it proves nothing, the more so as ``epsilon_ceiling`` is the most
    that this number of runs can show.

    Examples
    --------
    >>> round(epsilon_lower_bound(256, 300, 76, 300), 2)
    1.29
    """
    lowest, highest = _rates(true_positives, runs_present, false_positives, runs_absent, confidence, delta)
    bounds = [0.0]
    if lowest > delta and highest > 0:
        bounds.append(math.log((lowest - delta) / highest))
    if 1 - highest > delta and lowest < 1:
        bounds.append(math.log((1 - highest - delta) / (1 - lowest)))
    return max(bounds)


def epsilon_ceiling(
    runs_present: int, runs_absent: int | None = None, *, delta: float = 0.0, confidence: float = 0.95
) -> float:
    """The bound of a perfect attacker: more than this cannot be shown with this number of runs.

    Examples
    --------
    >>> [round(epsilon_ceiling(n), 2) for n in (100, 1000)]
    [3.28, 5.6]
    """
    absent = runs_present if runs_absent is None else runs_absent
    return epsilon_lower_bound(runs_present, runs_present, 0, absent, delta=delta, confidence=confidence)


def mu_lower_bound(
    true_positives: int, runs_present: int, false_positives: int, runs_absent: int, *, confidence: float = 0.95
) -> float:
    """The smallest μ of Gaussian differential privacy that the score leaves possible."""
    from scipy.stats import norm

    lowest, highest = _rates(true_positives, runs_present, false_positives, runs_absent, confidence)
    if lowest <= 0 or highest >= 1:
        return 0.0
    return max(0.0, float(norm.ppf(lowest) - norm.ppf(highest)))


def rho_lower_bound(
    true_positives: int,
    runs_present: int,
    false_positives: int,
    runs_absent: int,
    *,
    delta: float = 0.0,
    confidence: float = 0.95,
) -> float:
    """The smallest ρ of (δ-approximate) zero-concentrated differential privacy that the score leaves possible.

    Notes
    -----
    With ρ-zCDP the Rényi divergence of order α between the outputs is at most ρα for every α > 1, in both directions.
    What an attacker decides is post-processing, so the divergence between its two decisions, which are coins of known
    bias up to their intervals, is at most that, too. With δ the outputs are those of a ρ-zCDP pair but for events of
    probability δ; the rates are moved by as much as these can explain.

    Examples
    --------
    >>> round(rho_lower_bound(900, 1000, 100, 1000), 2)
    1.51
    >>> rho_lower_bound(500, 1000, 500, 1000)
    0.0
    """
    lowest, highest = _rates(true_positives, runs_present, false_positives, runs_absent, confidence, delta)
    present, absent = max(0.0, (lowest - delta) / (1 - delta)), min(1.0, highest / (1 - delta))
    if present <= absent:
        return 0.0
    orders = 1 + np.geomspace(1e-6, 1e3, ORDERS)
    return max(
        float(np.max(_coin_divergence(first, second, orders) / orders))
        for first, second in ((present, absent), (1 - absent, 1 - present))
    )


def _coin_divergence(first: float, second: float, orders: Any) -> Any:
    """Rényi divergences of a coin of bias ``first`` from one of bias ``second``, both strictly between 0 and 1."""
    heads = orders * math.log(first) + (1 - orders) * math.log(second)
    tails = orders * math.log1p(-first) + (1 - orders) * math.log1p(-second)
    return np.logaddexp(heads, tails) / (orders - 1)


def one_run_lower_bound(
    correct: int, guesses: int, canaries: int, *, delta: float = 0.0, confidence: float = 0.95
) -> float:
    """The smallest epsilon that guesses about many canaries in one fit leave possible.

    Parameters
    ----------
    correct, guesses
        How many guesses were right, of how many. The attacker may abstain for the other canaries.
    canaries
        How many were put in or left out by independent fair coins.

    Notes
    -----
    Under ε the number of correct guesses is stochastically at most binomial with success e^ε/(1 + e^ε); δ adds at most
    2mδ·max over i of P[v − i ≤ B < v]/i to the probability of v correct guesses about m canaries (the main theorem of
    Steinke, Nasr and Jagielski).

    Examples
    --------
    >>> round(one_run_lower_bound(95, 100, 1000), 2)
    2.17
    >>> one_run_lower_bound(50, 100, 1000)
    0.0
    """
    if not 0 <= correct <= guesses <= canaries or guesses < 1:
        raise UsageError(f"{correct} right of {guesses} guesses about {canaries} canaries are not possible.")
    if not 0 < confidence < 1 or not 0 <= delta < 1:
        raise UsageError("confidence must be between 0 and 1, and delta at least 0 and below 1.")
    alpha = 1 - confidence
    low, high = 0.0, 1.0
    if _one_run_chance(correct, guesses, canaries, 0.0, delta) >= alpha:
        return 0.0
    while _one_run_chance(correct, guesses, canaries, high, delta) < alpha:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        refuted = _one_run_chance(correct, guesses, canaries, middle, delta) < alpha
        low, high = (middle, high) if refuted else (low, middle)
    return low


def _one_run_chance(correct: int, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """An upper bound on the probability of at least ``correct`` correct guesses under (ε, δ)."""
    from scipy.stats import binom

    success = 1 / (1 + math.exp(-epsilon))
    chance = float(binom.sf(correct - 1, guesses, success))
    if delta and correct:
        below = np.cumsum(binom.pmf(np.arange(correct - 1, -1, -1), guesses, success))
        chance += 2 * canaries * delta * float(np.max(below / np.arange(1, correct + 1)))
    return min(1.0, chance)


def _rates(
    hits: int, runs: int, false_hits: int, runs_absent: int, confidence: float, delta: float = 0.0
) -> tuple[float, float]:
    """TPR is at least the first and FPR at most the second, together with the confidence asked for."""
    if not 0 <= delta < 1:
        raise UsageError(f"delta = {delta} must be at least 0 and below 1.")
    for count, total in ((hits, runs), (false_hits, runs_absent)):
        if total < 1 or not 0 <= count <= total:
            raise UsageError(f"{count} successes in {total} runs are not possible.")
    if not 0 < confidence < 1:
        raise UsageError(f"confidence = {confidence} must be between 0 and 1.")
    alpha = (1 - confidence) / 2
    return float(rate_at_least(hits, runs, alpha=alpha)), float(rate_at_most(false_hits, runs_absent, alpha=alpha))
