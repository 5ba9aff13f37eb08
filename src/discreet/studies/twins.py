"""Study: TwinSearch against the full computation and against a hash, Figures 6.2 to 6.5 of Lu's thesis as ratios.

An attack by k equal sybils makes k newcomers with the same ratings. The thesis finds the list of the second in that of
the first by a few probes (Algorithm 4) and says that this costs 1/125 of computing it. Times of another machine cannot
be compared with ours; what is compared are ratios within one run.

Every method builds the lists of equal newcomers one after the other, each of them added before the next one comes.
Times are CPU times of building one list; what it costs to put the newcomer into everybody else's list is left out, as
in the thesis. "full" compares the newcomer with every row, as the thesis does. "full, by column" is a full
computation, too, which only looks at those who have rated the same items; it is what the hash falls back on, unless
"rows" says otherwise.

References
----------
Z. Lu: Privacy preserving neighbourhood-based collaborative filtering recommendation algorithms. MPhil thesis, The
University of Adelaide 2015, chapter 6.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
import polars as pl

from discreet.common.arrays import Floats
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.neighbors.twin_lists import Cosine, Profile, SimilarityLists
from discreet.neighbors.twins import FullComputation, HashedTwins, ListBuilder, TwinSearch
from discreet.studies.study import Measurements, Settings, Steps, Study

__all__ = [
    "CLAIM", "KINDS", "KNOWN", "METHODS", "ListTimes", "TwinsStudy", "changed", "largest_bins", "list_times",
    "measurements", "sets_in_vain", "sybil",
]  # fmt: skip

Axis = Literal["user", "item"]
NewProfile = Callable[[Profile, np.random.Generator], Profile]
"""What a newcomer has, given somebody who is there."""

Case = tuple[Axis, str, str]
"""Axis, similarity and kind of newcomer."""

CLAIM = 125
"""The factor that the thesis names, and one over its bound on the share of Set_0."""

FIGURES: dict[Axis, str] = {"user": "6-2", "item": "6-4"}
"""The figure of each axis; 6.3 and 6.5 are the same on other data."""

SIMILARITIES: dict[Cosine, str] = {"cosine": "co-rated", "cosine_full": "full cosine"}

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


class TwinsStudy(Study):
    """Times of the similarity lists of equal newcomers, as ratios to the full computation.

    Of many users, or items, a part is drawn: whole lists take 12·rows² bytes.
    """

    name = "twins"

    def measure(self, data: Interactions, settings: Settings, *, seed: int, steps: Steps) -> Measurements:
        from discreet.studies.twins_predictions import predictions

        if len(data) == 0:
            raise UsageError("there are no records, so nobody has a similarity list.")
        sides: dict[Axis, Interactions] = {axis: side_of(data, axis, most=settings.rows, seed=seed) for axis in FIGURES}
        steps.expect(len(sides) * len(SIMILARITIES) * len(KINDS) + 1)
        times: dict[Case, dict[str, ListTimes]] = {}
        sets: list[dict[str, Any]] = []
        bins: list[dict[str, Any]] = []
        for axis, records in sides.items():
            for similarity, name in SIMILARITIES.items():
                lists, n = SimilarityLists(records, similarity=similarity), records.n_users
                shares = largest_bins(lists)
                share = {"mean share": float(shares.mean()), "largest share": float(shares.max())}
                bins.append({"axis": axis, "similarity": name, **share, "claimed at most": 1 / CLAIM})
                # All sets before anybody comes: sybils that are there already would be found in them.
                for kind, make in KINDS.items():
                    vain = sets_in_vain(lists, make, n_targets=n, newcomers=settings.sets, seed=seed)
                    of = {"axis": axis, "similarity": name, "new": kind}
                    sets += [of | sizes | {f"1/{CLAIM} of all": n / CLAIM} for sizes in vain]
                for kind, make in KINDS.items():
                    newcomers = {"newcomers": settings.newcomers, "trials": settings.trials, "seed": seed}
                    times[axis, name, kind] = list_times(lists, make, n_targets=n, **newcomers)
                    steps.done(f"{axis}s, {name}, {kind}")
        newcomers = {"newcomers": settings.newcomers, "trials": settings.trials, "seed": seed}
        told = predictions(sides["user"], **newcomers)
        steps.done("predictions for newcomers")
        setting = {"users": sides["user"].n_users, "items": sides["item"].n_users, "newcomers": settings.newcomers}
        return measurements(setting, times, pl.DataFrame(sets), pl.DataFrame(bins), told)


def side_of(data: Interactions, axis: Axis, *, most: int, seed: int) -> Interactions:
    """The records with users, or items, as rows; those without any record are no rows."""
    row, column = (data.user, data.item) if axis == "user" else (data.item, data.user)
    columns: dict[str, Any] = {"user_id": row, "item_id": column}
    if data.rating is not None:
        columns["rating"] = data.rating
    records = Interactions(columns, duplicates="keep" if data.may_repeat else "error")
    return records.sample_users(most, seed=seed) if records.n_users > most else records


def measurements(
    setting: dict[str, Any],
    times: dict[Case, dict[str, ListTimes]],
    sets: pl.DataFrame,
    bins: pl.DataFrame,
    predictions: pl.DataFrame,
) -> Measurements:
    """Ratios of the measured times: how many times as fast as the full computation."""
    newcomers, speed, curves = setting["newcomers"], [], []
    for (axis, similarity, kind), of in times.items():
        full, by_column, case = of["full"], of["full, by column"], {"axis": axis, "similarity": similarity, "new": kind}
        for method in METHODS:
            here = of[method]
            speed.append(
                case
                | {
                    "method": method,
                    "first": full.all_lists(1) / here.all_lists(1),
                    "later": full.later_lists / here.later_lists,
                    "all equal": full.all_lists(newcomers) / here.all_lists(newcomers),
                    "over by column": by_column.all_lists(newcomers) / here.all_lists(newcomers),
                }
            )
            curves += [
                {
                    "axis": axis,
                    "figure": FIGURES[axis],
                    "panel": f"{similarity}, {kind}",
                    "method": method,
                    "equal newcomers": count,
                    "times as fast": full.all_lists(count) / here.all_lists(count),
                }
                for count in range(1, newcomers + 1)
            ]
    tables = {"speed": pl.DataFrame(speed), "curves": pl.DataFrame(curves), "sets": sets, "bins": bins}
    tables["predictions"] = predictions
    return Measurements(setting, tables, labels={"newcomers": newcomers})


# Newcomers


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

# Times


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

    Newcomers copy one of the first ``n_targets`` rows, drawn by the seed; means are over this number of them.
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


def list_times(
    lists: SimilarityLists, make: NewProfile, *, n_targets: int, newcomers: int, trials: int, seed: int
) -> dict[str, ListTimes]:
    """Let every method build the lists of equal newcomers, ``trials`` times; they stay in the lists.

    Newcomers copy one of the first ``n_targets`` rows, drawn by the seed.
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


def largest_bins(lists: SimilarityLists) -> Floats:
    """Of each list, the share of users in its fullest bin of width 0.01."""
    shares = np.empty(lists.n_rows)
    bins = round(1 / BIN)
    for row in range(lists.n_rows):
        _, values = lists.list_of(row)
        found = np.minimum((np.clip(values, 0, 1) * bins).astype(np.int64), bins - 1)
        shares[row] = np.bincount(found).max() / values.size
    return shares
