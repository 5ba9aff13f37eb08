"""`study pncf`: Zhu's private neighbor collaborative filtering, Table 3.1 and what stands behind it.

References
----------
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014, chapter 3.
T. Zhu, Y. Ren, W. Zhou, J. Rong, P. Xiong: An effective privacy preserving algorithm for neighborhood-based
collaborative filtering. Future Generation Computer Systems 36 (2014).
"""

from __future__ import annotations

import numpy as np

from discreet.data.interactions import Interactions
from discreet.errors import DataError, UsageError
from discreet.studies.pncf.findings import findings
from discreet.studies.pncf.grid import DELTA, DRAWS, PRIVATE
from discreet.studies.pncf.measuring import Measured, Plan, measure
from discreet.studies.pncf.tables import charts, tables
from discreet.studies.published import published
from discreet.studies.report import Progress, StudyReport

__all__ = ["run"]

MOST = 8_000
"""More users or items than this are not taken: the similarities of all pairs are kept in memory."""


def run(data: Interactions, *, seed: int = 0, quick: bool = False, progress: Progress | None = None) -> StudyReport:
    """Errors of non-private, published and proved neighbors under All-But-One, beside the published ones.

    Parameters
    ----------
    data
        Ratings on a public scale, one of each item by each user. Of more than 8,000 users or items a part is taken.
    seed
        Draws the splits. The models draw their noise from the operating system, so errors differ a little from run to
        run; ``sd`` says how much.
    quick
        One split, two values of k, two of epsilon.
    progress
        Called with the share that is done and what is being done.

    Notes
    -----
    Neighbors are chosen among those with a rating to offer, ratings count as distances from means, similarities are
    those over co-ratings without shrinkage, RS is that of each pair, and noise has the scale 2·RS/ε: the reading that
    the published numbers agree with best. A held-out rating of an item that nobody else has rated is left out.
    """
    _check(data)
    taken = _taken(data, seed=seed)
    plan = Plan.of(taken, seed=seed, quick=quick)
    measured = measure(taken, plan, progress=progress)
    return StudyReport(
        name="pncf",
        title="Private neighbor collaborative filtering, measured again",
        source=published("pncf")["source"],
        setting=_setting(data, taken, plan, measured),
        tables=tables(measured),
        charts=charts(measured),
        findings=findings(measured),
    )


def _check(data: Interactions) -> None:
    if data.rating is None:
        raise UsageError("this study is about errors of predicted ratings, and these records have none.")
    if data.scale is None:
        raise UsageError("ratings need a public scale.", remedy='Declare it: Interactions(…, scale="1:5").')
    if data.may_repeat:
        raise UsageError(
            "a prediction needs one rating of each item by each user; these records may repeat.",
            remedy="Choose duplicates='last' or call without_repeats().",
        )
    if not (data.records_per_user > 1).any():
        raise DataError("nobody has rated two items, so nothing can be held out.")


def _taken(data: Interactions, *, seed: int) -> Interactions:
    """The records that the study runs on: not more users and items than fit, and all items in the catalog."""
    if data.n_users > MOST:
        data = data.sample_users(MOST, seed=seed)
    if data.n_items > MOST:
        popular = np.argsort(-data.records_per_item, kind="stable")[:MOST]
        data = data.filter(np.isin(data.item, popular))
    # A study releases nothing, so it may take the items that occur for known.
    return data.with_catalog("observed")


def _setting(data: Interactions, taken: Interactions, plan: Plan, measured: Measured) -> dict[str, object]:
    part = "" if len(taken) == len(data) else f", a part of {len(data):,}"
    return {
        "data": data.name or "unnamed",
        "ratings": f"{len(taken):,}{part}; {taken.n_users:,} users, {taken.n_items:,} items",
        "protocol": "All-But-One: one rating of each user is held out, at random",
        "splits": len(plan.seeds),
        "seeds of the splits": list(plan.seeds),
        "held-out ratings": measured.asked,
        "left out (items that nobody else rated)": measured.unanswerable,
        "neighbors": "among those with a rating to offer; mean-centered; clipped to the scale; no minimum overlap",
        "epsilon": plan.epsilon,
        "choices without noise": f"drawn {DRAWS} times in each split",
        PRIVATE: f"epsilon {plan.epsilon}, delta {DELTA} for all ratings of one user; same row in every table",
    }
