"""What each way of bounding would leave of an assumed popularity: the part of an estimate that is not noise.

Every assumed user touches items independently, with the chances of the profile. All of this is for expectations before
anything is spent; no release depends on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from discreet.counting.cells import Cells, Level
from discreet.counting.profiles import Law, Numbers, Outlook, Profile, level_where, survival

__all__ = [
    "Look",
    "clipped_outlook",
    "grouped_outlook",
    "leaning_outlook",
    "parted_outlook",
    "picked_outlook",
    "sampled_outlook",
    "smoothed_outlook",
    "true_counts",
    "weighed_outlook",
]

GOLDEN = (math.sqrt(5) - 1) / 2
ROUNDS = 16


@dataclass(frozen=True)
class Look:
    """A first look at popularity: what one user weighs in it, and its noise.

    Parameters
    ----------
    first
        The most that a user weighs; the squared length where the noise is Gaussian.
    noise
        Its standard deviation.
    """

    first: int
    noise: float
    law: Law = "laplace"

    def counts(self, truth: Numbers, per_user: float) -> Numbers:
        """What it shows of each item without noise."""
        return truth * (_within_l2 if self.law == "gaussian" else _within_l1)(per_user, self.first)

    def positive(self, counts: Numbers) -> Numbers:
        """What it shows on average where negative counts are taken for 0."""
        if self.law == "gaussian":
            from scipy.special import ndtr

            scaled = counts / self.noise
            return counts * ndtr(scaled) + self.noise * np.exp(-np.square(scaled) / 2) / math.sqrt(math.tau)
        scale = self.noise / math.sqrt(2)
        return counts + scale / 2 * np.exp(-counts / scale)


@dataclass(frozen=True)
class GroupedOutlook(Outlook):
    """An outlook on counts that are equal within groups, so that the last places of a list are drawn by lot.

    Parameters
    ----------
    averages
        What the counts of each item are in several turns: turns × items × counts of an item.
    """

    averages: Numbers = field(default_factory=lambda: np.zeros((1, 0, 1)))

    def precision(self, k: int, law: Law, noise: float) -> float:
        """As for every outlook; noise on averages is small beside the differences of groups, and left out."""
        if k >= self.counted.size:
            return 1.0
        last = -np.sort(-self.averages, axis=1)[:, k - 1 : k]
        above, level = self.averages > last, self.averages == last
        places = (k - above.sum(axis=1)) / level.sum(axis=1)
        return round(float((above[:, :k].sum(axis=1) + places * level[:, :k].sum(axis=1)).mean()) / k, 6)


def true_counts(cells: Cells, level: Level, profile: Profile) -> Numbers:
    """The assumed counts of items, or of items in one of the contexts, which are equally frequent."""
    return profile.counts(cells.n_items) / (cells.n_places if level == "edges" else 1)


def weighed_outlook(cells: Cells, level: Level, profile: Profile, cap: int | None) -> Outlook:
    """Every record weighs min(1, cap/records); in full without a cap."""
    per_user = float(profile.of_one_user(cells.n_items).sum())
    return Outlook(true_counts(cells, level, profile) * (1.0 if cap is None else _within_l1(per_user, cap)))


def clipped_outlook(cells: Cells, level: Level, profile: Profile, norm_squared: float) -> Outlook:
    """Every record weighs min(1, √(norm_squared/records))."""
    per_user = float(profile.of_one_user(cells.n_items).sum())
    return Outlook(true_counts(cells, level, profile) * _within_l2(per_user, norm_squared))


def sampled_outlook(cells: Cells, level: Level, profile: Profile, cap: int) -> Outlook:
    """The mean of weighing; but each record is counted or not."""
    counted = weighed_outlook(cells, level, profile, cap).counted
    left_out = 1 - _within_l1(float(profile.of_one_user(cells.n_items).sum()), cap)
    return Outlook(counted, variance=counted * left_out)


def picked_outlook(cells: Cells, level: Level, profile: Profile, cap: int, look: Look) -> Outlook:
    """The ``cap`` records of each user whose items a first look shows most of are counted.

    An item counts in full if the look puts it above the level where a user's allowance is used up, which it does for
    all users alike. Where all that is shown above 0 does not use it up, a part of the others is drawn.
    """
    truth, touched = true_counts(cells, level, profile), profile.of_one_user(cells.n_items)
    if touched.sum() <= cap:
        return Outlook(truth)
    shown = look.counts(profile.counts(cells.n_items), float(touched.sum()))
    above = survival(look.law, look.noise)
    positive = above(-shown)
    if touched @ positive < cap:
        share = (cap - touched @ positive) / (touched @ (1 - positive))
        return Outlook(truth, chance=positive, otherwise=share * truth)
    return Outlook(truth, chance=above(level_where(lambda t: float(touched @ above(t - shown)), cap) - shown))


def leaning_outlook(cells: Cells, level: Level, profile: Profile, cap: int, gamma: float, look: Look) -> Outlook:
    """Weights min(1, τ·popularity^γ) that use up a user's allowance, by what the first look shows on average."""
    truth, touched = true_counts(cells, level, profile), profile.of_one_user(cells.n_items)
    if touched.sum() <= cap:
        return Outlook(truth)
    shown = look.positive(look.counts(profile.counts(cells.n_items), float(touched.sum()))) + 1
    score, power = gamma * np.log(shown), 2 if look.law == "gaussian" else 1

    def weight(level: float) -> Numbers:
        return np.exp(np.clip(score - level, -700, 0))

    return Outlook(truth * weight(level_where(lambda t: float(touched @ weight(t) ** power), cap)))


def parted_outlook(
    cells: Cells, level: Level, profile: Profile, head: int, caps: tuple[int, int], noise: tuple[float, float], law: Law
) -> Outlook:
    """A head and a tail with caps and noise of their own, the head being the most popular items indeed."""
    truth, touched = true_counts(cells, level, profile), profile.of_one_user(cells.n_items)
    within = _within_l2 if law == "gaussian" else _within_l1
    first = np.arange(cells.n_items) < head
    shares = [within(float(touched[part].sum()), cap) for part, cap in zip((first, ~first), caps, strict=True)]
    return Outlook(truth * np.where(first, *shares), deviation=np.where(first, *noise))


def smoothed_outlook(counted: Numbers, kept: int) -> Outlook:
    """A list of which ``kept`` of all dimensions are left, its level among them.

    For a catalog whose order has nothing to do with popularity: the same share of what each count differs from the
    mean stays, and a mixture of all others is added.
    """
    mean, share = float(counted.mean()), (kept - 1) / max(counted.size - 1, 1)
    return Outlook(mean + share * (counted - mean), variance=share * (1 - share) * float(counted.var()))


def grouped_outlook(counted: Numbers, shown: Numbers, noise: float, width: int, repeats: int) -> Outlook:
    """Averages of groups that were made in the order of a noisy first look.

    The look is spread evenly over its Laplace law instead of drawn: multiples of the golden ratio, a few times over.

    Parameters
    ----------
    counted, shown
        Counts of each item, and what the first look shows of it without noise.
    repeats
        How many counts of the list each item has.
    """
    values, looks = np.repeat(counted, repeats), np.repeat(shown, repeats)
    group = np.arange(values.size) // width
    averages = np.empty((ROUNDS, values.size))
    for turn in range(ROUNDS):
        even = ((np.arange(values.size) + 0.5) * GOLDEN + turn / ROUNDS) % 1 - 0.5
        laplace = -np.sign(even) * np.log1p(-2 * np.abs(even)) * noise / math.sqrt(2)
        order = np.argsort(-(looks + laplace))
        averages[turn, order] = (np.bincount(group, weights=values[order]) / np.bincount(group))[group]
    by_item = averages.reshape(ROUNDS, -1, repeats)
    return GroupedOutlook(by_item.mean(axis=(0, 2)), variance=by_item.var(axis=(0, 2)), averages=by_item)


def _within_l1(per_user: float, cap: float) -> float:
    return min(1.0, cap / max(per_user, 1e-12))


def _within_l2(per_user: float, norm_squared: float) -> float:
    return math.sqrt(_within_l1(per_user, norm_squared))
