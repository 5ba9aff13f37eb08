"""An assumed popularity of items, and the expected error and precision of noisy counts of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError

__all__ = ["Expectation", "Law", "Profile", "expected_precision", "level_where", "survival"]

Numbers = NDArray[np.float64]
Law = Literal["laplace", "gaussian", "gumbel"]


@dataclass(frozen=True)
class Profile:
    """An assumed popularity of items, which estimates are for: they may not read the records.

    Everybody touches the item at place r with probability 1 − exp(−λ·r^(−exponent)), one item whatever the others, with
    the λ for which that makes as many items as are assumed. Contexts are equally frequent and change nothing about what
    is popular.

    Parameters
    ----------
    users
        How many people.
    records
        Items that each of them touches on average, once each; at most half of the catalog.
    exponent
        How steeply popularity falls (Zipf); 0 where all items are alike.

    Examples
    --------
    >>> Profile(users=100, records=1, exponent=1).counts(3).round(1).tolist()
    [50.0, 29.3, 20.6]
    """

    users: int = 10_000
    records: int = 30
    exponent: float = 1.0

    def __post_init__(self) -> None:
        if self.users < 1 or self.records < 1 or not 0 <= self.exponent <= 10:
            raise UsageError(
                "a profile needs users and records from 1 and an exponent from 0 to 10, "
                f"got users={self.users}, records={self.records}, exponent={self.exponent}."
            )

    def counts(self, n_items: int) -> Numbers:
        """Users of each item, the most popular first."""
        return self.users * self.of_one_user(n_items)

    def of_one_user(self, n_items: int) -> Numbers:
        """How likely one user touches each item; they add up to the items that a user touches."""
        shape = np.arange(1, n_items + 1, dtype=np.float64) ** -self.exponent

        def touched(level: float) -> Numbers:
            return -np.expm1(-np.exp(np.clip(-level, -700, 700)) * shape)

        return touched(level_where(lambda x: float(touched(x).sum()), min(self.records, n_items / 2)))

    def __str__(self) -> str:
        return (
            f"{self.users:,} people who touch {self.records} items each, popularity falling as rank^−{self.exponent:g}"
        )


@dataclass(frozen=True)
class Expectation:
    """What is expected to be counted of each item, the most popular first, before there is noise on it.

    Parameters
    ----------
    counted
        The expected count.
    chance
        Where a noisy popularity decides how much of an item is counted: how likely it is ``counted``.
    otherwise
        What is counted of it if not.
    variance
        The variance of the count that is not noise.
    deviation
        Standard deviations of the noise, where they are not the same for all items.
    """

    counted: Numbers
    chance: Numbers | float = 1.0
    otherwise: Numbers | float = 0.0
    variance: Numbers | float = 0.0
    deviation: Numbers | None = None

    def error(self, truth: Numbers, noise: float) -> float:
        """Mean squared error over all items, noise of this standard deviation included."""
        deviation = noise if self.deviation is None else self.deviation
        bias = self.chance * np.square(self.counted - truth) + (1 - self.chance) * np.square(self.otherwise - truth)
        return float((bias + self.variance + np.square(deviation)).mean()) if truth.size else 0.0

    def precision(self, k: int, law: Law, noise: float) -> float:
        """Share of the k most popular items that is expected among the k largest noisy counts."""
        deviation = np.sqrt(np.square(noise if self.deviation is None else self.deviation) + self.variance)
        above = survival(law, deviation)

        def passing(level: float) -> Numbers:
            others = above(np.asarray(level - self.otherwise))
            return self.chance * above(level - self.counted) + (1 - self.chance) * others

        return expected_precision(passing, k, self.counted.size)


def expected_precision(passing: Callable[[float], Numbers], k: int, n_items: int) -> float:
    """Share of the first k items that are expected among the k largest noisy counts; without chance.

    The level t above which k noisy counts lie on average solves Σ Pr[countᵢ > t] = k. Of the first k items Σ_{i≤k}
    Pr[countᵢ > t] pass it. What is left out is the spread of the k-th noisy count about t, which is small where many
    items compete for the last places.

    Parameters
    ----------
    passing
        For a level, the chance of each item's noisy count to be above it; items in order of their true counts.

    Examples
    --------
    >>> truth = np.array([100.0, 90.0, 1.0, 0.0])
    >>> expected_precision(lambda level: survival("laplace", 1.0)(level - truth), 2, 4)
    1.0
    >>> round(expected_precision(lambda level: survival("laplace", 1.0)(level - np.zeros(10)), 2, 10), 3)
    0.2
    """
    if k >= n_items:
        return 1.0
    level = level_where(lambda t: float(passing(t).sum()), k)
    return round(min(1.0, float(passing(level)[:k].sum()) / k), 6)


def level_where(falling: Callable[[float], float], target: float) -> float:
    """Where a falling function comes down to the target, which lies between its limits.

    Examples
    --------
    >>> round(level_where(lambda x: 100 - x, 30), 6)
    70.0
    """
    low, high = -1.0, 1.0
    while falling(low) < target and low > -1e300:
        low *= 2
    while falling(high) > target and high < 1e300:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if falling(middle) > target else (low, middle)
    return (low + high) / 2


def survival(law: Law, deviation: Numbers | float) -> Callable[[Numbers], Numbers]:
    """Pr[noise > x] for noise of this standard deviation; without noise, a step."""
    scale = np.maximum(deviation, np.finfo(float).tiny)
    if law == "gumbel":
        return lambda x: -np.expm1(-np.exp(np.clip(-x / (scale * math.sqrt(6) / math.pi), -700, 700)))
    if law == "gaussian":
        from scipy.special import ndtr

        return lambda x: ndtr(np.clip(-x / scale, -40, 40))

    def laplace(x: Numbers) -> Numbers:
        tail = np.exp(-np.minimum(np.abs(x) / (scale / math.sqrt(2)), 700)) / 2
        return np.where(x > 0, tail, 1 - tail)

    return laplace
