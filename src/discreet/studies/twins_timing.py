"""Equal newcomers and what their similarity lists cost: measured by the study of TwinSearch and by its benchmark.

Every method builds the lists of users with the same ratings, one after the other, each of them added before the next
one comes. Times are CPU times of building one list; what it costs to put the newcomer into everybody else's list is
left out, as in the thesis. "full" compares the newcomer with every row, as the thesis does. "full, by column" is a full
computation, too, which only looks at those who have rated the same items; it is what the hash falls back on, unless
"rows" says otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.neighbors.twin_lists import Profile, SimilarityLists
from discreet.neighbors.twins import FullComputation, HashedTwins, ListBuilder, TwinSearch

__all__ = [
    "KINDS",
    "KNOWN",
    "METHODS",
    "Axis",
    "ListTimes",
    "changed",
    "largest_bins",
    "measure",
    "sets_in_vain",
    "sybil",
]

KNOWN = 8
"""Ratings that a sybil copies."""

BIN = 0.01
"""Width of the sub-lists that the bound is derived from."""

PROBES = (1, 3, 10)

METHODS: dict[str, Callable[[], ListBuilder]] = {
    "full": lambda: FullComputation(visit="rows"),
    "full, by column": FullComputation,
    **{f"TwinSearch c={probes}": partial(TwinSearch, probes) for probes in PROBES},
    "hash, rows": lambda: HashedTwins(otherwise=FullComputation(visit="rows")),
    "hash": HashedTwins,
}

Axis = Literal["user", "item"]
NewProfile = Callable[[Profile, np.random.Generator], Profile]


def sybil(whole: Profile, generator: np.random.Generator) -> Profile:
    """A few ratings of somebody: what the kNN attack knows."""
    chosen = generator.choice(whole.columns.size, min(KNOWN, whole.columns.size), replace=False)
    return Profile.of(whole.columns[chosen], whole.ratings[chosen])


def changed(whole: Profile, generator: np.random.Generator) -> Profile:
    """All ratings of somebody, one of them changed, so that the first newcomer has no duplicate yet."""
    ratings = whole.ratings.copy()
    place = generator.integers(ratings.size)
    ratings[place] += 1.0 if ratings[place] < 3.0 else -1.0
    return Profile(whole.columns, ratings)


KINDS: dict[str, NewProfile] = {f"{KNOWN} ratings of another": sybil, "all of another, one changed": changed}


@dataclass
class ListTimes:
    """CPU seconds of one method, over all trials: for the first of the equal newcomers, and for the others."""

    first: list[float] = field(default_factory=list)
    later: list[float] = field(default_factory=list)

    def all_lists(self, newcomers: int) -> float:
        """Seconds for the lists of a number of equal newcomers, from medians: a busy machine changes means."""
        return float(np.median(self.first) + (newcomers - 1) * self.later_lists)

    @property
    def later_lists(self) -> float:
        """Seconds for one list once there is an equal one."""
        return float(np.median(self.later))


def sets_in_vain(
    lists: SimilarityLists, make: NewProfile, *, n_targets: int, newcomers: int, seed: int
) -> list[dict[str, float]]:
    """Sizes of the sets that TwinSearch compares with newcomers who have no duplicate, by the number of its probes.

    Parameters
    ----------
    lists
        The lists of those who are there.
    make
        What a newcomer has, given somebody who is there.
    n_targets
        Newcomers copy one of the first rows, of this number.
    newcomers
        How many newcomers the mean is over.
    seed
        Draws whom they copy.
    """
    generator = np.random.default_rng(seed)
    found = []
    for probes in PROBES:
        search = TwinSearch(probes)
        sets = [search.candidates(lists, _new(lists, make, n_targets, generator)) for _ in range(newcomers)]
        common = [each.common.size for each in sets]
        found.append(
            {
                "probes": probes,
                "mean Set_i": float(np.mean([np.mean(each.sizes) for each in sets])),
                "mean Set_0": float(np.mean(common)),
                "largest Set_0": max(common),
            }
        )
    return found


def measure(
    lists: SimilarityLists, make: NewProfile, *, n_targets: int, newcomers: int, trials: int, seed: int
) -> dict[str, ListTimes]:
    """Let every method build the lists of equal newcomers.

    Parameters
    ----------
    lists
        The lists of those who are there; the newcomers stay in them.
    make
        What a newcomer has, given somebody who is there.
    n_targets
        Newcomers copy one of the first rows, of this number.
    newcomers, trials
        How many equal ones come, and how often.
    seed
        Draws whom they copy.
    """
    generator = np.random.default_rng(seed)
    measured = {name: ListTimes() for name in METHODS}
    for _ in range(trials):
        for name, builder in METHODS.items():
            _come(lists, builder(), _new(lists, make, n_targets, generator), newcomers, measured[name])
    return measured


def _new(lists: SimilarityLists, make: NewProfile, n_targets: int, generator: np.random.Generator) -> Profile:
    return make(lists.profile(int(generator.integers(n_targets))), generator)


def _come(lists: SimilarityLists, builder: ListBuilder, profile: Profile, newcomers: int, into: ListTimes) -> None:
    """Equal newcomers come one after the other; every list is checked against the full computation."""
    builder.build(lists, lists.profile(0))  # compiles, shuffles the deck, fills the dictionary
    for number in range(newcomers):
        begin = time.process_time()
        built = builder.build(lists, profile)
        (into.later if number else into.first).append(time.process_time() - begin)
        right = FullComputation().build(lists, profile)
        if not np.array_equal(built.codes, right.codes) or not np.array_equal(built.values, right.values):
            raise AssertionError(f"{builder.name} built a wrong list")
        if number and built.twin is None and not isinstance(builder, FullComputation):
            raise AssertionError(f"{builder.name} missed a twin")
        lists.append(profile, built)


def largest_bins(lists: SimilarityLists) -> NDArray[np.float64]:
    """Of each list, the share of users in its fullest bin of width 0.01."""
    shares = np.empty(lists.n_rows)
    bins = round(1 / BIN)
    for row in range(lists.n_rows):
        _, values = lists.list_of(row)
        found = np.minimum((np.clip(values, 0, 1) * bins).astype(np.int64), bins - 1)
        shares[row] = np.bincount(found).max() / values.size
    return shares
