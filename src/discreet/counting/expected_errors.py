"""What each way of bounding leaves of an assumed popularity: the part of an expected error that is not noise.

Every assumed user touches items independently, with the probabilities of the profile. All of this is for estimates
before anything is spent; no release depends on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from discreet.counting.cells import Cells, Level
from discreet.counting.profiles import Expectation, Law, Numbers, Profile, level_where, survival

__all__ = [
    "NoisyPopularity",
    "expected_by_popularity",
    "expected_groups",
    "expected_leaning",
    "expected_sample",
    "expected_smooth",
    "expected_within",
    "true_counts",
]

GOLDEN = (math.sqrt(5) - 1) / 2
TURNS = 16


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

    def counts(self, truth: Numbers, per_user: float) -> Numbers:
        """What it shows of each item without noise."""
        return truth * _kept(per_user, self.cap, 2 if self.law == "gaussian" else 1)

    def positive(self, counts: Numbers) -> Numbers:
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

    averages: Numbers = field(default_factory=lambda: np.zeros((1, 0, 1)))

    def precision(self, k: int, law: Law, noise: float) -> float:
        """As for every expectation; noise on averages is small beside the differences of groups, and left out."""
        if k >= self.counted.size:
            return 1.0
        last = -np.sort(-self.averages, axis=1)[:, k - 1 : k]
        above, level = self.averages > last, self.averages == last
        places = (k - above.sum(axis=1)) / level.sum(axis=1)
        return round(float((above[:, :k].sum(axis=1) + places * level[:, :k].sum(axis=1)).mean()) / k, 6)


def true_counts(cells: Cells, level: Level, profile: Profile) -> Numbers:
    """The assumed counts of items, or of items in one of the contexts, which are equally frequent."""
    return profile.counts(cells.n_items) / (cells.n_places if level == "edges" else 1)


def expected_within(cells: Cells, level: Level, profile: Profile, cap: float | None, norm: int = 1) -> Expectation:
    """Every record weighs min(1, cap/records), or the root of that (norm 2); in full without a cap."""
    per_user = float(profile.of_one_user(cells.n_items).sum())
    return Expectation(true_counts(cells, level, profile) * (1.0 if cap is None else _kept(per_user, cap, norm)))


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
    truth, touched = true_counts(cells, level, profile), profile.of_one_user(cells.n_items)
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
    truth, touched = true_counts(cells, level, profile), profile.of_one_user(cells.n_items)
    if touched.sum() <= cap:
        return Expectation(truth)
    shown = popularity.positive(popularity.counts(profile.counts(cells.n_items), float(touched.sum()))) + 1
    score, power = gamma * np.log(shown), 2 if popularity.law == "gaussian" else 1

    def weight(level: float) -> Numbers:
        return np.exp(np.clip(score - level, -700, 0))

    return Expectation(truth * weight(level_where(lambda t: float(touched @ weight(t) ** power), cap)))


def expected_smooth(counted: Numbers, kept: int) -> Expectation:
    """A list of which ``kept`` of all dimensions are left, its level among them.

    For a catalog whose order has nothing to do with popularity: the same share of what each count differs from the
    mean stays, and a mixture of all others is added.
    """
    mean, share = float(counted.mean()), (kept - 1) / max(counted.size - 1, 1)
    return Expectation(mean + share * (counted - mean), variance=share * (1 - share) * float(counted.var()))


def expected_groups(counted: Numbers, shown: Numbers, noise: float, width: int, repeats: int) -> Expectation:
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
