"""Study: a private top-10 by a birth-death chain, Figures 4(a) and 4(b) of Park and Acharya.

The figures themselves are not in the copy at hand; they are run again from the text. Beside the chain stand the law it
tends to on its own list of sets, in closed form, and the exponential mechanism over *all* sets, which it is said to
approximate. No promise of the chain holds (``tests/refutations/test_subsets.py``); this is about what it does.

References
----------
Y. Park, A. Acharya: Differentially private recommendation systems: practical implementation and interpretation. 2011,
section 4.
"""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import polars as pl

from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.studies.published import published
from discreet.studies.report import Chart, Progress, StudyReport
from discreet.studies.subsets_claims import Found, claims_table, paragraphs
from discreet.studies.subsets_figures import (
    ALL,
    ALL_HALF,
    CHAIN,
    QUICK,
    RESTRICTED,
    K,
    Plan,
    Row,
    accuracy,
    apart,
    completed_rows,
    convergence,
    half_way,
    impossible_mass,
    laws_of_one_user,
    ties,
)

__all__ = ["run"]


def run(data: Interactions, *, seed: int = 0, quick: bool = False, progress: Progress | None = None) -> StudyReport:
    """Run Figure 4 again.

    Parameters
    ----------
    data
        Ratings on a declared scale, one of each item by each user.
    seed
        Draws the users and the moves of the chains.
    quick
        Few users and short chains, to see that it runs.
    progress
        Called with the share that is done and what was done.

    Privacy
    -------
    None: the report is about the records themselves.

    Notes
    -----
    Rows are completed by Slope One with φ_m = 10, predictions moved into the scale; what a person has rated is not
    recommended. Accuracy is the share of the true top ten in what is drawn.
    """
    _check(data)
    assert data.scale is not None
    plan = QUICK if quick else Plan()
    rows = completed_rows(data, plan.users, seed=seed)
    found = _measured(rows, plan, low=float(data.scale.low), top=float(data.scale.high), seed=seed, progress=progress)
    return StudyReport(
        name="subsets",
        title="A private top ten by a chain, and exactly",
        source=published("subsets")["source"],
        setting={
            "data": data.name or repr(data),
            "users": len(rows),
            "items": data.n_items,
            "items left to a user": round(float(np.mean([row.size for row in rows]))),
            "mean gap between ranks 10 and 11": round(float(np.mean([row[K - 1] - row[K] for row in rows])), 4),
            "users with equal ranks 10 and 11": found.ties[0],
            "seed": seed,
            **{name: value for name, value in asdict(plan).items() if name != "users"},
        },
        tables={
            "Claims of the text": claims_table(found),
            "Figure 4(a): share of the true top ten": found.accuracy,
            "Figure 4(b): distance from the limit by iterations": found.convergence,
            "The set that is read after n steps, one user, ε = 1": found.after,
        },
        charts=tuple(_charts(found)),
        findings=tuple(paragraphs(found, plan)),
    )


def _check(data: Interactions) -> None:
    if data.rating is None or data.scale is None or data.scale.high <= 0:
        raise UsageError(
            "this study needs ratings on a declared scale.", remedy='Declare it: Interactions(…, scale="1:5").'
        )
    if data.may_repeat:
        raise UsageError(
            "this study needs one rating of each item by each user; these records may repeat.",
            remedy="Choose duplicates='last' or call without_repeats().",
        )


def _measured(rows: list[Row], plan: Plan, *, low: float, top: float, seed: int, progress: Progress | None) -> Found:
    lengths = len(plan.lengths) * len(plan.converging) + len(plan.long_lengths) * (len(plan.converging) - 1)
    parts = len(plan.epsilons) + lengths + 2
    done = 0

    def report(what: str) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(min(1.0, done / parts), what)

    by_epsilon = accuracy(rows, top, plan, seed=seed, report=report)
    by_length = convergence(rows, top, plan, seed=seed, report=report)
    after = laws_of_one_user(rows[0], top, (*plan.lengths, *plan.long_lengths))
    report("laws after n steps")
    found = Found(
        by_epsilon,
        by_length,
        after,
        half_way(rows, top),
        impossible_mass(rows, low, top),
        apart(rows, top),
        ties(rows, top, plan.epsilons[-1]),
    )
    report("what one entry gives away")
    return found


def _charts(found: Found) -> list[Chart]:
    lines = [CHAIN, RESTRICTED, ALL_HALF, ALL]
    by_law = found.accuracy.unpivot(lines, index="ε", variable_name="law", value_name="share of the true top ten")
    distances = found.convergence.with_columns(pl.format("ε = {}", pl.col("ε").cast(pl.Int64)).alias("chain"))
    seen = distances.filter(pl.col("KL, top sets").is_finite())
    return [
        Chart(
            "figure-4a", "Figure 4(a): accuracy", by_law, x="ε", y="share of the true top ten", series="law", log_x=True
        ),
        Chart(
            "figure-4b", "Figure 4(b): divergence over the top sets", seen, x="iterations", y="KL, top sets",
            series="chain", log_x=True,
        ),
        Chart(
            "figure-4b-all-sets", "The same chains, over all sets", distances, x="iterations", y="total variation",
            series="chain", log_x=True,
        ),
    ]  # fmt: skip
