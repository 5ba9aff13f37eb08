"""An assumed popularity of items, and the expected error and precision of noisy counts of it.

All of this is for estimates before anything is spent; no release depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from discreet.common.arrays import Floats
from discreet.counting.cells import Cells, Level
from discreet.errors import UsageError

__all__ = [
    "Expectation",
    "Law",
    "NoisyPopularity",
    "Profile",
    "expected_by_popularity",
    "expected_groups",
    "expected_leaning",
    "expected_precision",
    "expected_sample",
    "expected_smooth",
    "expected_within",
    "level_where",
    "survival",
]

Law = Literal["laplace", "gaussian", "gumbel"]

GOLDEN = (math.sqrt(5) - 1) / 2
TURNS = 16


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

    def counts(self, n_items: int) -> Floats:
        """Users of each item, the most popular first."""
        return self.users * self.of_one_user(n_items)

    def of_level(self, cells: Cells, level: Level) -> Floats:
        """The assumed counts of items, or of items in one of the contexts, which are equally frequent."""
        return self.counts(cells.n_items) / (cells.n_places if level == "edges" else 1)

    def of_one_user(self, n_items: int) -> Floats:
        """How likely one user touches each item; they add up to the items that a user touches."""
        shape = np.arange(1, n_items + 1, dtype=np.float64) ** -self.exponent

        def touched(level: float) -> Floats:
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
    """

    counted: Floats
    chance: Floats | float = 1.0
    otherwise: Floats | float = 0.0
    variance: Floats | float = 0.0

    def error(self, truth: Floats, noise: float) -> float:
        """Mean squared error over all items, noise of this standard deviation included."""
        bias = self.chance * np.square(self.counted - truth) + (1 - self.chance) * np.square(self.otherwise - truth)
        return float((bias + self.variance + noise**2).mean()) if truth.size else 0.0

    def precision(self, k: int, law: Law, noise: float) -> float:
        """Share of the k most popular items that is expected among the k largest noisy counts."""
        deviation = np.sqrt(noise**2 + self.variance)
        above = survival(law, deviation)

        def passing(level: float) -> Floats:
            others = above(np.asarray(level - self.otherwise))
            return self.chance * above(level - self.counted) + (1 - self.chance) * others

        return expected_precision(passing, k, self.counted.size)


def expected_precision(passing: Callable[[float], Floats], k: int, n_items: int) -> float:
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


def survival(law: Law, deviation: Floats | float) -> Callable[[Floats], Floats]:
    """Pr[noise > x] for noise of this standard deviation; without noise, a step."""
    scale = np.maximum(deviation, np.finfo(float).tiny)
    if law == "gumbel":
        return lambda x: -np.expm1(-np.exp(np.clip(-x / (scale * math.sqrt(6) / math.pi), -700, 700)))
    if law == "gaussian":
        from scipy.special import ndtr

        return lambda x: ndtr(np.clip(-x / scale, -40, 40))

    def laplace(x: Floats) -> Floats:
        tail = np.exp(-np.minimum(np.abs(x) / (scale / math.sqrt(2)), 700)) / 2
        return np.where(x > 0, tail, 1 - tail)

    return laplace


# What each way of bounding leaves of an assumed popularity: the part of an expected error that is not noise


@dataclass(frozen=True)
class NoisyPopularity:
    """A first release of popularity, which the counts depend on.

    Parameters
    ----------
    cap
        The most that a user weighs in it; the squared length where the noise is normal.
    noise
        Its standard deviation.
    """

    cap: int
    noise: float
    law: Law = "laplace"

    def counts(self, truth: Floats, per_user: float) -> Floats:
        """What it shows of each item without noise."""
        return truth * _kept(per_user, self.cap, 2 if self.law == "gaussian" else 1)

    def positive(self, counts: Floats) -> Floats:
        """What it shows on average where negative counts are taken for 0."""
        if self.law == "gaussian":
            from scipy.special import ndtr

            scaled = counts / self.noise
            return counts * ndtr(scaled) + self.noise * np.exp(-np.square(scaled) / 2) / math.sqrt(math.tau)
        scale = self.noise / math.sqrt(2)
        return counts + scale / 2 * np.exp(-counts / scale)


@dataclass(frozen=True)
class GroupedExpectation(Expectation):
    """Counts that are equal within groups, so that the last places of a list are drawn at random.

    Parameters
    ----------
    averages
        What the counts of each item are in several turns: turns × items × counts of an item.
    """

    averages: Floats = field(default_factory=lambda: np.zeros((1, 0, 1)))

    def precision(self, k: int, law: Law, noise: float) -> float:
        """As for every expectation; noise on averages is small beside the differences of groups, and left out."""
        if k >= self.counted.size:
            return 1.0
        last = -np.sort(-self.averages, axis=1)[:, k - 1 : k]
        above, level = self.averages > last, self.averages == last
        places = (k - above.sum(axis=1)) / level.sum(axis=1)
        return round(float((above[:, :k].sum(axis=1) + places * level[:, :k].sum(axis=1)).mean()) / k, 6)


def expected_within(cells: Cells, level: Level, profile: Profile, cap: float | None, norm: int = 1) -> Expectation:
    """Every record weighs min(1, cap/records), or the root of that (norm 2); in full without a cap."""
    per_user = float(profile.of_one_user(cells.n_items).sum())
    return Expectation(profile.of_level(cells, level) * (1.0 if cap is None else _kept(per_user, cap, norm)))


def expected_sample(cells: Cells, level: Level, profile: Profile, cap: int) -> Expectation:
    """The mean of weighing; but each record is counted or not."""
    counted = expected_within(cells, level, profile, cap).counted
    left_out = 1 - _kept(float(profile.of_one_user(cells.n_items).sum()), cap)
    return Expectation(counted, variance=counted * left_out)


def expected_by_popularity(
    cells: Cells, level: Level, profile: Profile, cap: int, popularity: NoisyPopularity
) -> Expectation:
    """The ``cap`` records of each user whose items have the largest noisy popularity are counted.

    An item counts in full if its noisy popularity is above the level where a user's cap is used up, which is the same
    for all users. Where all positive popularity does not use it up, a part of the others is drawn.
    """
    truth, touched = profile.of_level(cells, level), profile.of_one_user(cells.n_items)
    if touched.sum() <= cap:
        return Expectation(truth)
    shown = popularity.counts(profile.counts(cells.n_items), float(touched.sum()))
    above = survival(popularity.law, popularity.noise)
    positive = above(-shown)
    if touched @ positive < cap:
        share = (cap - touched @ positive) / (touched @ (1 - positive))
        return Expectation(truth, chance=positive, otherwise=share * truth)
    return Expectation(truth, chance=above(level_where(lambda t: float(touched @ above(t - shown)), cap) - shown))


def expected_leaning(
    cells: Cells, level: Level, profile: Profile, cap: int, gamma: float, popularity: NoisyPopularity
) -> Expectation:
    """Weights min(1, τ·popularity^γ) that use up a user's cap, by what the noisy popularity shows on average."""
    truth, touched = profile.of_level(cells, level), profile.of_one_user(cells.n_items)
    if touched.sum() <= cap:
        return Expectation(truth)
    shown = popularity.positive(popularity.counts(profile.counts(cells.n_items), float(touched.sum()))) + 1
    score, power = gamma * np.log(shown), 2 if popularity.law == "gaussian" else 1

    def weight(level: float) -> Floats:
        return np.exp(np.clip(score - level, -700, 0))

    return Expectation(truth * weight(level_where(lambda t: float(touched @ weight(t) ** power), cap)))


def expected_smooth(counted: Floats, kept: int) -> Expectation:
    """A list of which ``kept`` of all dimensions are left, its level among them.

    For a catalog whose order has nothing to do with popularity: the same share of what each count differs from the
    mean stays, and a mixture of all others is added.
    """
    mean, share = float(counted.mean()), (kept - 1) / max(counted.size - 1, 1)
    return Expectation(mean + share * (counted - mean), variance=share * (1 - share) * float(counted.var()))


def expected_groups(counted: Floats, shown: Floats, noise: float, width: int, repeats: int) -> Expectation:
    """Averages of groups that were made in the order of noisy counts.

    The noise is spread evenly over its Laplace law instead of drawn: multiples of the golden ratio, a few times over.

    Parameters
    ----------
    counted, shown
        Counts of each item, and the counts that the order is made by, without noise.
    repeats
        How many counts of the list each item has.
    """
    values, seen = np.repeat(counted, repeats), np.repeat(shown, repeats)
    group = np.arange(values.size) // width
    averages = np.empty((TURNS, values.size))
    for turn in range(TURNS):
        even = ((np.arange(values.size) + 0.5) * GOLDEN + turn / TURNS) % 1 - 0.5
        laplace = -np.sign(even) * np.log1p(-2 * np.abs(even)) * noise / math.sqrt(2)
        order = np.argsort(-(seen + laplace))
        averages[turn, order] = (np.bincount(group, weights=values[order]) / np.bincount(group))[group]
    by_item = averages.reshape(TURNS, -1, repeats)
    return GroupedExpectation(by_item.mean(axis=(0, 2)), variance=by_item.var(axis=(0, 2)), averages=by_item)


def _kept(per_user: float, cap: float, norm: int = 1) -> float:
    """What is left of each record of a user with so many."""
    return min(1.0, cap / max(per_user, 1e-12)) ** (1 / norm)
