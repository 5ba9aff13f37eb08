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

from dataclasses import dataclass
from typing import Any

import polars as pl

from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.neighbors.twin_lists import Cosine, SimilarityLists
from discreet.studies.published import published
from discreet.studies.report import Chart, Progress, StudyReport
from discreet.studies.twins_claims import FIGURES, claims_table, paragraphs
from discreet.studies.twins_timing import CLAIM, KINDS, Axis, Case, largest_bins, measure, sets_in_vain

__all__ = ["run"]

SIMILARITIES: dict[Cosine, str] = {"cosine": "co-rated", "cosine_full": "full cosine"}


@dataclass(frozen=True)
class Plan:
    """How much is measured.

    Attributes
    ----------
    rows
        Of more users (or items) so many are drawn: whole lists take 12·rows² bytes.
    newcomers
        How many equal ones come: 30 in the thesis.
    trials
        How often.
    sets
        Newcomers over whom the sizes of the sets are averaged.
    """

    rows: int = 6_040
    newcomers: int = 30
    trials: int = 3
    sets: int = 200


QUICK = Plan(rows=300, newcomers=30, trials=1, sets=20)


def run(data: Interactions, *, seed: int = 0, quick: bool = False, progress: Progress | None = None) -> StudyReport:
    """Measure the lists of equal newcomers.

    Parameters
    ----------
    data
        The records. Of more than 6,040 users, or items, so many are drawn.
    seed
        Draws them, and whom the newcomers copy.
    quick
        A few hundred users, one trial.
    progress
        Called with the share that is done and what was done.

    Privacy
    -------
    None: the report is about the records themselves.

    Notes
    -----
    Times are of this machine and this run, so only their ratios are shown.
    """
    if len(data) == 0:
        raise UsageError("there are no records, so nobody has a similarity list.")
    plan = QUICK if quick else Plan()
    sides: dict[Axis, Interactions] = {axis: _side(data, axis, most=plan.rows, seed=seed) for axis in ("user", "item")}
    cases, fullest = _measured(sides, plan, seed=seed, progress=progress)
    return StudyReport(
        name="twins",
        title="Similarity lists of equal newcomers",
        source=published("twins")["source"],
        setting={
            "data": data.name or repr(data),
            "users": sides["user"].n_users,
            "items": sides["item"].n_users,
            "seed": seed,
            "newcomers": plan.newcomers,
            "trials": plan.trials,
        },
        tables={
            "Claims of the text": claims_table(cases, fullest, newcomers=plan.newcomers),
            "Figures 6.2 to 6.5: times as fast as the full computation": _speed_ups(cases, plan),
            "Candidates that TwinSearch compares in vain": _sets(cases),
            "Fullest bin of width 0.01 of a similarity list": fullest,
        },
        charts=tuple(_chart(cases, axis, plan) for axis in sides),
        findings=tuple(paragraphs(cases, fullest, newcomers=plan.newcomers)),
    )


def _measured(
    sides: dict[Axis, Interactions], plan: Plan, *, seed: int, progress: Progress | None
) -> tuple[list[Case], pl.DataFrame]:
    """Times and sets of every case, and the fullest bins of the lists before anybody new came."""
    cases: list[Case] = []
    bins: list[dict[str, Any]] = []
    for axis, records in sides.items():
        for similarity, name in SIMILARITIES.items():
            lists = SimilarityLists(records, similarity=similarity)
            shares = largest_bins(lists)
            bins.append(
                {
                    "axis": axis,
                    "similarity": name,
                    "mean share": float(shares.mean()),
                    "largest share": float(shares.max()),
                    "claimed at most": 1 / CLAIM,
                }
            )
            n = records.n_users
            # All sets before anybody comes: sybils that are there already would be found in them.
            sets = {
                kind: sets_in_vain(lists, make, n_targets=n, newcomers=plan.sets, seed=seed)
                for kind, make in KINDS.items()
            }
            for kind, make in KINDS.items():
                measured = measure(lists, make, n_targets=n, newcomers=plan.newcomers, trials=plan.trials, seed=seed)
                cases.append(Case(axis, name, kind, n, measured, sets[kind]))
                if progress is not None:
                    progress(len(cases) / (len(sides) * len(SIMILARITIES) * len(KINDS)), f"{axis}s, {name}, {kind}")
    return cases, pl.DataFrame(bins)


def _side(data: Interactions, axis: Axis, *, most: int, seed: int) -> Interactions:
    """The records with users, or items, as rows; those without any record are no rows."""
    row, column = (data.user, data.item) if axis == "user" else (data.item, data.user)
    columns: dict[str, Any] = {"user_id": row, "item_id": column}
    if data.rating is not None:
        columns["rating"] = data.rating
    records = Interactions(columns, duplicates="keep" if data.may_repeat else "error")
    return records.sample_users(most, seed=seed) if records.n_users > most else records


# Tables and charts


def _speed_ups(cases: list[Case], plan: Plan) -> pl.DataFrame:
    rows = [
        case.names
        | {
            "method": method,
            "first": case.speed_up(method, 1),
            "later": case.hit(method),
            f"{plan.newcomers} equal": case.speed_up(method, plan.newcomers),
            "over by column": case.speed_up(method, plan.newcomers, over="full, by column"),
        }
        for case in cases
        for method in case.measured
        if method != "full"
    ]
    return pl.DataFrame(rows)


def _sets(cases: list[Case]) -> pl.DataFrame:
    rows = [
        case.names
        | {
            "probes": probes,
            "mean Set_i": sizes.each,
            "mean Set_0": sizes.common,
            "largest Set_0": sizes.largest,
            f"1/{CLAIM} of all": case.rows / CLAIM,
        }
        for case in cases
        for probes, sizes in case.sets.items()
    ]
    return pl.DataFrame(rows)


def _chart(cases: list[Case], axis: Axis, plan: Plan) -> Chart:
    number = FIGURES[axis]
    points = [
        {
            "panel": f"{case.similarity}, {case.kind}",
            "method": method,
            "equal newcomers": count,
            "times as fast": case.speed_up(method, count),
        }
        for case in cases
        if case.axis == axis
        for method in case.measured
        for count in range(1, plan.newcomers + 1)
    ]
    return Chart(
        f"figure-{number.replace('.', '-')}",
        f"Figure {number}: {axis}-based, times as fast as the full computation",
        pl.DataFrame(points),
        x="equal newcomers",
        y="times as fast",
        series="method",
        panel="panel",
        log_y=True,
    )
