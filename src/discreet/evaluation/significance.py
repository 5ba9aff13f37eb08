"""Is the difference real? Paired tests of two systems on the same users, and intervals around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import EvaluationError
from discreet.evaluation.checks import as_numbers, check_choice, check_confidence, check_number, check_same_shape
from discreet.evaluation.scores import Scores
from discreet.evaluation.walsh import hodges_lehmann

__all__ = [
    "BootstrapInterval",
    "PairedTTest",
    "WilcoxonTest",
    "bootstrap_interval",
    "compare",
    "paired_t_test",
    "wilcoxon_test",
]

ZeroMethod = Literal["wilcox", "pratt", "zsplit"]

DRAWS_AT_ONCE = 5_000_000  # 100,000 users × 2,000 resamples at once would take 3 GB


@dataclass(frozen=True)
class PairedTTest:
    """Student's paired t-test, two-sided.

    Attributes
    ----------
    difference : float
        Mean of ours − theirs.
    low, high : float
        The t interval around it.
    statistic, p_value : float
    n : int
        Number of pairs.
    """

    difference: float
    low: float
    high: float
    confidence: float
    statistic: float
    p_value: float
    n: int

    def __str__(self) -> str:
        return (
            f"mean difference {self.difference:+.4g} [{self.low:+.4g}, {self.high:+.4g}] at {self.confidence:g}; "
            f"t = {self.statistic:.3f}, p = {self.p_value:.3g}, n = {self.n:,}"
        )


@dataclass(frozen=True)
class WilcoxonTest:
    """Wilcoxon's signed-rank test, two-sided, with the estimate of Hodges and Lehmann.

    Attributes
    ----------
    difference : float
        Median of the means of all pairs of differences (each with itself too): the pseudomedian of ours − theirs.
    low, high : float
        The interval around it that belongs to the test.
    statistic : float
        The smaller of the two rank sums.
    p_value : float
    n, n_zero : int
        Number of pairs, and in how many of them there is no difference.
    """

    difference: float
    low: float
    high: float
    confidence: float
    statistic: float
    p_value: float
    n: int
    n_zero: int

    def __str__(self) -> str:
        return (
            f"pseudomedian difference {self.difference:+.4g} [{self.low:+.4g}, {self.high:+.4g}] at "
            f"{self.confidence:g}; W = {self.statistic:g}, p = {self.p_value:.3g}, n = {self.n:,} "
            f"({self.n_zero:,} equal)"
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


def paired_t_test(ours: Any, *, against: Any, confidence: float = 0.95) -> PairedTTest:
    """Student's t-test of the differences ours − theirs, with the interval of their mean.

    Where all differences are equal there is no spread to measure against: p is 1 if they are zero and 0 if not, and
    the interval is that one value.

    Parameters
    ----------
    ours, against
        One value a user (a fold, a run) of two systems, in the same order.

    Examples
    --------
    >>> print(paired_t_test([0.5, 0.7, 0.6, 0.9], against=[0.4, 0.6, 0.6, 0.7]))
    mean difference +0.1 [-0.02992, +0.2299] at 0.95; t = 2.449, p = 0.0917, n = 4
    """
    from scipy.stats import t as student

    check_confidence(confidence)
    differences = _differences(ours, against)
    n, mean = differences.size, float(differences.mean())
    # Asked of the differences themselves: the computed spread of equal ones can be a rounding error away from 0.
    if np.all(differences == differences[0]):
        mean = float(differences[0])
        statistic = 0.0 if mean == 0 else float(np.copysign(np.inf, mean))
        return PairedTTest(mean, mean, mean, confidence, statistic, float(mean == 0), n)
    error = float(differences.std(ddof=1) / np.sqrt(n))
    statistic = mean / error
    margin = float(student.ppf((1 + confidence) / 2, n - 1)) * error
    p_value = float(2 * student.sf(abs(statistic), n - 1))
    return PairedTTest(mean, mean - margin, mean + margin, confidence, statistic, p_value, n)


def wilcoxon_test(ours: Any, *, against: Any, confidence: float = 0.95, zeros: ZeroMethod = "wilcox") -> WilcoxonTest:
    """Wilcoxon's signed-rank test of the differences ours − theirs.

    Parameters
    ----------
    ours, against
        One value a user of two systems, in the same order.
    zeros
        What the test does with equal pairs: ``"wilcox"`` leaves them out, ``"pratt"`` ranks them and then leaves them
        out, ``"zsplit"`` gives half of their ranks to each side.

    Notes
    -----
    Statistic and p-value are those of ``scipy.stats.wilcoxon`` with ``method="auto"``: exact up to 50 differences (up
    to 13 where there are ties or zeros), normal with a correction for ties beyond.

    The interval runs between two of the ordered pair means, chosen by the exact law of the rank sum up to 50 pairs
    and by its normal approximation beyond; with ties it is conservative. Estimate and interval are over **all**
    differences: to leave out the users for whom both systems are the same would overstate the difference. With many
    such users the test can see a difference while the interval still holds 0.

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
    check_choice(zeros, ("wilcox", "pratt", "zsplit"), what="zeros")
    differences = _differences(ours, against)
    n_zero = int((differences == 0).sum())
    statistic, p_value = 0.0, 1.0
    if n_zero < differences.size:
        result: Any = wilcoxon(differences, zero_method=zeros)
        statistic, p_value = float(result.statistic), float(result.pvalue)
    estimate, low, high = hodges_lehmann(differences, confidence=confidence)
    return WilcoxonTest(estimate, low, high, confidence, statistic, p_value, differences.size, n_zero)


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
        One value a user; for two systems on the same users, their differences.
    statistic
        Any function with an ``axis`` that it reduces: ``numpy.mean``, ``numpy.median`` …

    Examples
    --------
    >>> interval = bootstrap_interval([0.1, 0.4, 0.3, 0.8, 0.5, 0.6], seed=7)
    >>> interval.low < interval.estimate < interval.high
    True
    """
    check_confidence(confidence)
    check_number(resamples, name="resamples", what="a number of resamples")
    sample = as_numbers(values, what="values")
    if sample.ndim != 1 or sample.size < 2:
        raise EvaluationError(
            f"values of shape {sample.shape} cannot be resampled.", remedy="Give a list of at least two values."
        )
    rng = np.random.default_rng(seed)
    batch = max(1, DRAWS_AT_ONCE // sample.size)
    results = [
        np.asarray(
            statistic(sample[rng.integers(sample.size, size=(min(batch, resamples - done), sample.size))], axis=1)
        )
        for done in range(0, resamples, batch)
    ]
    low, high = np.quantile(np.concatenate(results), [(1 - confidence) / 2, (1 + confidence) / 2])
    return BootstrapInterval(
        float(statistic(sample, axis=0)), float(low), float(high), confidence, resamples, seed, sample.size
    )


def compare(
    ours: Scores,
    *,
    against: Scores,
    metric: str,
    test: Literal["t-test", "wilcoxon"] = "t-test",
    confidence: float = 0.95,
) -> PairedTTest | WilcoxonTest:
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
    check_choice(test, ("t-test", "wilcoxon"), what="test")
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


def _differences(ours: Any, against: Any) -> NDArray[np.float64]:
    first, second = as_numbers(ours, what="values"), as_numbers(against, what="values to compare with")
    check_same_shape(first, second, what=("values", "values to compare with"))
    if first.ndim != 1 or first.size < 2:
        raise EvaluationError(
            f"values of shape {first.shape} are not enough for a paired test.", remedy="Give at least two pairs."
        )
    return first - second
