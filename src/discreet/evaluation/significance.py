"""Paired tests of two systems on the same users, and intervals of their difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreet.common.arguments import require_choice
from discreet.common.arrays import Floats
from discreet.errors import EvaluationError
from discreet.evaluation.checks import as_numbers, check_confidence, check_number, check_same_shape
from discreet.evaluation.scores import Scores

__all__ = [
    "BootstrapInterval",
    "PairedTest",
    "bootstrap_interval",
    "compare",
    "hodges_lehmann",
    "paired_t_test",
    "walsh_average",
    "wilcoxon_test",
]

Test = Literal["t-test", "wilcoxon"]
ZeroMethod = Literal["wilcox", "pratt", "zsplit"]

DRAWS_AT_ONCE = 5_000_000  # 100,000 users × 2,000 resamples at once would take 3 GB
EXACT_UP_TO = 50  # beyond, the normal approximation of the rank sum is good to the third digit


@dataclass(frozen=True)
class PairedTest:
    """A paired test of two systems, two-sided.

    Attributes
    ----------
    test : str
        "t-test" (Student's) or "wilcoxon" (Wilcoxon's signed-rank test).
    difference : float
        Of ours − theirs: the mean, or for Wilcoxon's test the pseudomedian of Hodges and Lehmann (the median of the
        means of all pairs of differences, each with itself too).
    low, high : float
        The interval around it that belongs to the test.
    statistic : float
        Student's t, or the smaller of the two rank sums.
    p_value : float
    n, n_zero : int
        Number of pairs, and of pairs without a difference.
    """

    test: Test
    difference: float
    low: float
    high: float
    confidence: float
    statistic: float
    p_value: float
    n: int
    n_zero: int

    def __str__(self) -> str:
        student = self.test == "t-test"
        return (
            f"{'mean' if student else 'pseudomedian'} difference {self.difference:+.4g} "
            f"[{self.low:+.4g}, {self.high:+.4g}] at {self.confidence:g}; "
            f"{f't = {self.statistic:.3f}' if student else f'W = {self.statistic:g}'}, p = {self.p_value:.3g}, "
            f"n = {self.n:,}{'' if student else f' ({self.n_zero:,} equal)'}"
        )


@dataclass(frozen=True)
class BootstrapInterval:
    """A percentile bootstrap interval.

    Attributes
    ----------
    estimate : float
        The statistic of the values as they are.
    low, high : float
        Percentiles of the statistic over the resamples.
    """

    estimate: float
    low: float
    high: float
    confidence: float
    resamples: int
    seed: int
    n: int

    def __str__(self) -> str:
        return (
            f"{self.estimate:.4g} [{self.low:.4g}, {self.high:.4g}] at {self.confidence:g}; "
            f"{self.resamples:,} resamples of n = {self.n:,}, seed {self.seed}"
        )


def paired_t_test(ours: Any, *, against: Any, confidence: float = 0.95) -> PairedTest:
    """Student's t-test of the differences ours − theirs, with the interval of their mean.

    Where all differences are equal there is no spread to measure against: p is 1 if they are zero and 0 if not, and
    the interval is that one value.

    Parameters
    ----------
    ours, against
        One value for each user (fold, run) of two systems, in the same order.

    Examples
    --------
    >>> print(paired_t_test([0.5, 0.7, 0.6, 0.9], against=[0.4, 0.6, 0.6, 0.7]))
    mean difference +0.1 [-0.02992, +0.2299] at 0.95; t = 2.449, p = 0.0917, n = 4
    """
    from scipy.stats import ttest_1samp

    check_confidence(confidence)
    differences = _differences(ours, against)
    n, n_zero, mean = differences.size, int((differences == 0).sum()), float(differences.mean())
    # The computed spread of equal differences can be a rounding error away from 0.
    if np.all(differences == differences[0]):
        mean = float(differences[0])
        statistic = 0.0 if mean == 0 else float(np.copysign(np.inf, mean))
        return PairedTest("t-test", mean, mean, mean, confidence, statistic, float(mean == 0), n, n_zero)
    result: Any = ttest_1samp(differences, 0)
    low, high = map(float, result.confidence_interval(confidence))
    return PairedTest("t-test", mean, low, high, confidence, float(result.statistic), float(result.pvalue), n, n_zero)


def wilcoxon_test(ours: Any, *, against: Any, confidence: float = 0.95, zeros: ZeroMethod = "wilcox") -> PairedTest:
    """Wilcoxon's signed-rank test of the differences ours − theirs.

    Parameters
    ----------
    ours, against
        One value for each user of two systems, in the same order.
    zeros
        What the test does with equal pairs: ``"wilcox"`` leaves them out, ``"pratt"`` ranks them and then leaves them
        out, ``"zsplit"`` gives half of their ranks to each side.

    Notes
    -----
    Statistic and p-value are those of ``scipy.stats.wilcoxon`` with ``method="auto"``: exact up to 50 differences (up
    to 13 where there are ties or zeros), normal with a correction for ties beyond.

    The interval runs between two of the ordered pair means, chosen by the exact law of the rank sum up to 50 pairs
    and by its normal approximation beyond; with ties it is conservative. Estimate and interval are over **all**
    differences: leaving out the users for whom both systems are the same would overstate the difference. With many
    such users the p-value can be small while the interval still includes 0.

    References
    ----------
    M. Hollander, D. Wolfe, E. Chicken. Nonparametric Statistical Methods, 3rd edition, chapter 3. Wiley 2014.

    Examples
    --------
    >>> ours, theirs = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88], [0.88, 0.65, 0.60, 2.05, 1.06, 1.29]
    >>> print(wilcoxon_test(ours, against=theirs))
    pseudomedian difference +0.605 [-0.15, +1.02] at 0.95; W = 1, p = 0.0625, n = 6 (0 equal)
    """
    from scipy.stats import wilcoxon

    check_confidence(confidence)
    require_choice(zeros, "zeros", ("wilcox", "pratt", "zsplit"), error=EvaluationError)
    differences = _differences(ours, against)
    n_zero = int((differences == 0).sum())
    statistic, p_value = 0.0, 1.0
    if n_zero < differences.size:
        result: Any = wilcoxon(differences, zero_method=zeros)
        statistic, p_value = float(result.statistic), float(result.pvalue)
    estimate, low, high = hodges_lehmann(differences, confidence=confidence)
    return PairedTest("wilcoxon", estimate, low, high, confidence, statistic, p_value, differences.size, n_zero)


def bootstrap_interval(
    values: Any,
    *,
    seed: int,
    confidence: float = 0.95,
    resamples: int = 2_000,
    statistic: Callable[..., Any] = np.mean,
) -> BootstrapInterval:
    """Percentile interval of a statistic over resamples of the values. Same seed, same interval.

    Parameters
    ----------
    values
        One value for each user; for two systems on the same users, their differences.
    statistic
        Any function with an ``axis`` that it reduces: ``numpy.mean``, ``numpy.median`` …

    Examples
    --------
    >>> interval = bootstrap_interval([0.1, 0.4, 0.3, 0.8, 0.5, 0.6], seed=7)
    >>> interval.low < interval.estimate < interval.high
    True
    """
    from scipy.stats import bootstrap

    check_confidence(confidence)
    check_number(resamples, name="resamples", what="a number of resamples")
    sample = as_numbers(values, what="values")
    if sample.ndim != 1 or sample.size < 2:
        raise EvaluationError(
            f"values of shape {sample.shape} cannot be resampled.", remedy="Give a list of at least two values."
        )
    result = bootstrap(
        (sample,),
        statistic,
        n_resamples=resamples,
        batch=max(1, DRAWS_AT_ONCE // sample.size),
        confidence_level=confidence,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    estimate = float(statistic(sample, axis=0))
    return BootstrapInterval(estimate, float(result.low), float(result.high), confidence, resamples, seed, sample.size)


def compare(
    ours: Scores,
    *,
    against: Scores,
    metric: str,
    test: Test = "t-test",
    confidence: float = 0.95,
) -> PairedTest:
    """Test two evaluations of the same users against each other, user by user.

    Users for whom either evaluation has no value (no prediction was answered) are left out; ``n`` says how many stay.

    Examples
    --------
    >>> import scipy.sparse
    >>> from discreet.evaluation import evaluate_ranking
    >>> held_out = scipy.sparse.eye_array(3).tocsr()
    >>> ours = evaluate_ranking(np.array([[0, 1], [1, 2], [0, 2]]), held_out=held_out, k=2)
    >>> theirs = evaluate_ranking(np.array([[0, 1], [2, 1], [0, 1]]), held_out=held_out, k=2)
    >>> print(compare(ours, against=theirs, metric="mrr@2"))
    mean difference +0.3333 [-0.3838, +1.05] at 0.95; t = 2.000, p = 0.184, n = 3
    """
    require_choice(test, "test", ("t-test", "wilcoxon"), error=EvaluationError)
    first, second = ours.of_users(metric), against.of_users(metric)
    assert ours.per_user is not None
    assert against.per_user is not None
    if ours.per_user["user_id"].to_list() != against.per_user["user_id"].to_list():
        raise EvaluationError(
            f"the two evaluations are not of the same users ({first.size:,} and {second.size:,}).",
            remedy="Evaluate both systems on the same held-out data.",
        )
    both = ~(np.isnan(first) | np.isnan(second))
    run = paired_t_test if test == "t-test" else wilcoxon_test
    return run(first[both], against=second[both], confidence=confidence)


def _differences(ours: Any, against: Any) -> Floats:
    first, second = as_numbers(ours, what="values"), as_numbers(against, what="values to compare with")
    check_same_shape(first, second, what=("values", "values to compare with"))
    if first.ndim != 1 or first.size < 2:
        raise EvaluationError(
            f"values of shape {first.shape} are not enough for a paired test.", remedy="Give at least two pairs."
        )
    return first - second


# The Hodges-Lehmann estimate and its interval are order statistics of the n(n + 1)/2 Walsh averages (xᵢ + xⱼ)/2, i ≤ j.
# For 100,000 users these are five billion numbers, so they are never stored: a bisection counts how many are below a
# value.


def hodges_lehmann(differences: Floats, *, confidence: float) -> tuple[float, float, float]:
    """Median of the Walsh averages, and the interval between two of them that belongs to the signed-rank test.

    Examples
    --------
    >>> hodges_lehmann(np.array([1.0, 2.0, 4.0, 8.0, 3.0, 9.0]), confidence=0.95)
    (4.5, 1.0, 9.0)
    """
    ordered = np.sort(differences) + 0.0  # −0.0 becomes 0.0
    number = ordered.size * (ordered.size + 1) // 2
    middle = (walsh_average(ordered, (number + 1) // 2) + walsh_average(ordered, number // 2 + 1)) / 2
    outer = _rank_of_the_end(ordered.size, confidence)
    return middle, walsh_average(ordered, outer), walsh_average(ordered, number + 1 - outer)


def walsh_average(ordered: Floats, rank: int) -> float:
    """The Walsh average of the given rank (from 1) of differences in rising order.

    Examples
    --------
    >>> walsh_average(np.array([0.0, 2.0, 6.0]), 4)  # of 0, 1, 2, 3, 4, 6
    3.0
    """
    # Invariant: fewer than `rank` averages are at most low, at least `rank` are at most high.
    low, high = np.nextafter(ordered[0], -np.inf), ordered[-1]
    resolution = np.spacing(np.abs(ordered).max())
    while high - low > 2 * resolution:
        middle = low + (high - low) / 2
        if _number_up_to(ordered, middle) >= rank:
            high = middle
        else:
            low = middle
    return _next_above(ordered, low)


def _number_up_to(ordered: Floats, bound: float) -> int:
    """How many Walsh averages are at most ``bound``."""
    partners = np.searchsorted(ordered, 2 * bound - ordered, side="right")
    return int(np.maximum(partners - np.arange(ordered.size), 0).sum())


def _next_above(ordered: Floats, bound: float) -> float:
    """The smallest Walsh average above ``bound``, exactly."""
    first = np.arange(ordered.size)
    partner = np.maximum(np.searchsorted(ordered, 2 * bound - ordered, side="right"), first)
    exists = partner < ordered.size
    return float((ordered[exists] + ordered[partner[exists]]).min() / 2)


def _rank_of_the_end(n: int, confidence: float) -> int:
    """Which Walsh average, counted from either side, ends the interval: C with P(C ≤ W ≤ M − C) ≥ confidence, or 1.

    With few differences even the outermost averages do not reach the confidence; they are used then.
    """
    tail = (1 - confidence) / 2
    if n <= EXACT_UP_TO:
        # C is the number of values w with P(W ≤ w) ≤ tail: one more than the largest such w.
        below = np.cumsum(_signed_rank_law(n))
        return max(1, int((below <= tail).sum()))
    from scipy.stats import norm

    mean, spread = n * (n + 1) / 4, np.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    return max(1, int(np.floor(mean - norm.ppf(1 - tail) * spread)))


def _signed_rank_law(n: int) -> Floats:
    """P(W = w), w = 0 … n(n + 1)/2: W is the sum of a random subset of 1 … n."""
    law = np.zeros(n * (n + 1) // 2 + 1)
    law[0] = 1.0
    for rank in range(1, n + 1):
        shifted = np.zeros_like(law)
        shifted[rank:] = law[:-rank]
        law = (law + shifted) / 2
    return law
