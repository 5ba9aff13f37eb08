"""Study: TwinSearch against the full computation and against a hash, Figures 6.2 to 6.5 of Lu's thesis as ratios.

An attack by k equal sybils makes k newcomers with the same ratings. The thesis finds the list of the second in that of
the first by a few probes (Algorithm 4) and says that this costs 1/125 of computing it. Times of another machine cannot
be compared with ours; what is compared are ratios within one run.

References
----------
Z. Lu: Privacy preserving neighbourhood-based collaborative filtering recommendation algorithms. MPhil thesis, The
University of Adelaide 2015, chapter 6.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.neighbors.twin_lists import Cosine, SimilarityLists
from discreet.studies.study import Measurements, Settings, Steps, Study
from discreet.studies.twins_timing import KINDS, METHODS, Axis, ListTimes, largest_bins, measure, sets_in_vain

__all__ = ["CLAIM", "TwinsStudy", "measurements"]

CLAIM = 125
"""The factor that the thesis names, and one over its bound on the share of Set_0."""

FIGURES: dict[Axis, str] = {"user": "6.2", "item": "6.4"}
"""The figure of each axis; 6.3 and 6.5 are the same on other data."""

SIMILARITIES: dict[Cosine, str] = {"cosine": "co-rated", "cosine_full": "full cosine"}

Case = tuple[Axis, str, str]
"""Axis, similarity and kind of newcomer."""


class TwinsStudy(Study):
    """Times of the similarity lists of equal newcomers, as ratios to the full computation.

    Of many users, or items, a part is drawn: whole lists take 12·rows² bytes.
    """

    name = "twins"

    def measure(self, data: Interactions, settings: Settings, *, seed: int, steps: Steps) -> Measurements:
        if len(data) == 0:
            raise UsageError("there are no records, so nobody has a similarity list.")
        sides: dict[Axis, Interactions] = {axis: side_of(data, axis, most=settings.rows, seed=seed) for axis in FIGURES}
        steps.expect(len(sides) * len(SIMILARITIES) * len(KINDS))
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
                    times[axis, name, kind] = measure(lists, make, n_targets=n, **newcomers)
                    steps.done(f"{axis}s, {name}, {kind}")
        setting = {
            "data": data.name or repr(data),
            "users": sides["user"].n_users,
            "items": sides["item"].n_users,
            "seed": seed,
            "newcomers": settings.newcomers,
            "trials": settings.trials,
        }
        return measurements(setting, times, pl.DataFrame(sets), pl.DataFrame(bins))


def side_of(data: Interactions, axis: Axis, *, most: int, seed: int) -> Interactions:
    """The records with users, or items, as rows; those without any record are no rows."""
    row, column = (data.user, data.item) if axis == "user" else (data.item, data.user)
    columns: dict[str, Any] = {"user_id": row, "item_id": column}
    if data.rating is not None:
        columns["rating"] = data.rating
    records = Interactions(columns, duplicates="keep" if data.may_repeat else "error")
    return records.sample_users(most, seed=seed) if records.n_users > most else records


def measurements(
    setting: dict[str, Any], times: dict[Case, dict[str, ListTimes]], sets: pl.DataFrame, bins: pl.DataFrame
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
                    "figure": FIGURES[axis].replace(".", "-"),
                    "panel": f"{similarity}, {kind}",
                    "method": method,
                    "equal newcomers": count,
                    "times as fast": full.all_lists(count) / here.all_lists(count),
                }
                for count in range(1, newcomers + 1)
            ]
    tables = {"speed": pl.DataFrame(speed), "curves": pl.DataFrame(curves), "sets": sets, "bins": bins}
    return Measurements(setting, tables, labels={"newcomers": newcomers})
