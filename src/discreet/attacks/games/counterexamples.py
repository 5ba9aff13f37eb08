"""Datasets on which published proofs break: scales from the records, ranks that change places, one record too many.

References
----------
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014.
Z. Lu: Privacy preserving neighbourhood-based collaborative filtering recommendation algorithms. MPhil thesis, The
University of Adelaide 2015.
Y. Park, A. Acharya: Differentially private recommendation systems: practical implementation and interpretation. Project
report, University of Texas at Austin, 2011.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.attacks.games.datasets import Record, added, crafted
from discreet.attacks.games.game import RECORD, VALUE, Features, NeighboringData, View
from discreet.attacks.games.observing import OBSERVER, predicted, similarity
from discreet.data.interactions import Interactions
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from discreet.attacks.engine.targets import Fitted, Target

__all__ = ["all_neighbors", "first_buyer", "local_sensitivity", "one_entry", "one_rater_more", "swapped_ranks"]

WIDEST = 40
"""Of more neighbors than this, only this many are made up."""
STEPS = 1_000
ROW_LISTS = "row lists"
"""The name of the method that draws items from the row of the observer."""


def local_sensitivity(target: Target) -> NeighboringData:
    """One user who gives the largest ratings there are to two items: noise with a scale from the records grows at once.

    All others gave 1 to both of two items, but for one who gave 2. The similarity of the items is 1 with the canary and
    without; only the variance of the published weight changes (Zhu, equation 3.4.1).
    """
    # A constant item has no correlation with anything, so one user differs.
    others: list[Record] = [(f"u{user}", item, 1) for user in range(100) for item in ("i0", "i1")]
    others += [(OBSERVER, "i0", 2), (OBSERVER, "i1", 2)]
    return added(others, [("zz-canary", "i0", 5), ("zz-canary", "i1", 5)], items=2)


def nearest_of_first(view: View, fitted: Fitted, pair: NeighboringData) -> Features:
    """The item that is most similar to the first one."""
    return similarity(fitted.model, ["i0"], fitted.data.items, n=1)


def all_neighbors(target: Target) -> NeighboringData:
    """Two users rate an item and its k neighbors in opposite ways; then one comes who likes all of them.

    Every correlation of the item goes from −1 to nearly 1 by that one user. Noise of a scale that hides the move of one
    weight spends k times as much on k of them (Zhu, equation 3.4.1 against Algorithm 1).
    """
    items = 1 + min(WIDEST, target.setting("k"))
    others: list[Record] = [
        (user, f"i{item}", rating if item else 3 - rating)
        for user, rating in (("u0", 2), ("u1", 1))
        for item in range(items)
    ]
    return added(others, [("zz-fond", f"i{item}", 5) for item in range(items)], items=items)


def similar_to_first(view: View, fitted: Fitted, pair: NeighboringData) -> Features:
    """All weights move together, so their sum tells more than any rule that has to learn it."""
    told = similarity(fitted.model, ["i0"], fitted.data.items, n=fitted.data.n_items)
    return np.append(told, np.nansum(told[told.size // 2 :]))


def swapped_ranks(target: Target) -> NeighboringData:
    """One rating of one user changes, and the neighbors of ranks k and k + 1 change places.

    Where all but one of the neighbors are among the k nearest, the one of rank k + 1 cannot come together with another
    one from behind; after the change it nearly always does (Lu, equation 5.6).
    """
    k, groups = target.setting("k"), max(2, target.setting("beta") + 1)
    items = 1 + k * groups
    before, after = (crafted(_ranked(k, items, swapped=swapped), items=items) for swapped in (False, True))
    return NeighboringData(before, after, unit=VALUE, secret=k)


def comes_with_one_behind(view: View, fitted: Fitted, pair: NeighboringData) -> Features:
    """Whether the neighbor of rank k + 1 comes with one from behind. Weights, never protected, are not looked at."""
    k, n = pair.secret, fitted.data.n_items
    listed = similarity(fitted.model, ["i0"], fitted.data.items, n=n)[:n]
    place = dict(zip(fitted.data.items.ids(), listed, strict=True))
    behind = any(place[f"i{rank}"] for rank in range(k + 2, n))
    return np.array([float(behind and place[f"i{k + 1}"] > 0)])


def _ranked(k: int, items: int, *, swapped: bool) -> list[Record]:
    """Ratings of i0 and of the others in the order of their similarity to it.

    Half of 24 users like i0 and half do not. Items of the first group agree with all of them but one, those behind
    disagree with four; the two at the border disagree with two, one of them by a star more.
    """
    rows: list[Record] = []
    for user in range(24):
        likes = user % 2 == 0
        for item in range(items):
            wrong = 0 if item == 0 else 1 if item < k else 2 if item <= k + 1 else 4
            rating = 5 if likes != (user < wrong) else 1
            if user == 10 and item == k:
                rating = 4
            if user == 10 and item == k + 1:
                rating = 5 if swapped else 3
            rows.append((f"u{user}", f"i{item}", rating))
    return rows


def one_rater_more(target: Target) -> NeighboringData:
    """One rating takes an item over the least number of common raters with all other items at once.

    Exactly as many as are too few have rated an item, all with the highest rating, and the others with the lowest. The
    differences count as nothing until one more of them rates the item (against Park and Acharya's Theorem 3.1).
    """
    rated, raters = max(2, target.setting("least_ratings", 2)), target.setting("minimum_overlap")
    people = [OBSERVER, *(f"u{rater}" for rater in range(raters + 1))]
    others: list[Record] = [(user, f"i{item}", 1) for user in people for item in range(1, rated + 1)]
    others += [(f"u{rater}", "i0", 5) for rater in range(raters)]
    return added(others, [(f"u{raters}", "i0", 5)], items=rated + 1, unit=RECORD)


def first_buyer(target: Target) -> NeighboringData:
    """Two users have bought the same items; one of them buys an item that nobody had.

    By that one purchase the estimate for the other one goes from 0 to 1/√2, however many items they share (against
    Park and Acharya's Theorem 3.2).
    """
    items = [f"i{item}" for item in range(target.setting("least_ratings") + 1)]
    shared = [(user, item) for user in (OBSERVER, "zz-buyer") for item in items[1:]]
    without, with_ = (
        Interactions(rows, items=items, name="a small dataset") for rows in (shared, [*shared, ("zz-buyer", items[0])])
    )
    return NeighboringData(without, with_, unit=RECORD)


def first_prediction(view: View, fitted: Fitted, pair: NeighboringData) -> Features:
    """What the observer is told about the first item."""
    return predicted(fitted.model, OBSERVER, ["i0"])


def one_entry(target: Target) -> NeighboringData:
    """Scores that fall evenly from the best to the worst; in the other dataset the best one is the worst.

    Only sets that have nearly all of the true best can come out of a list that is made around them. The best item of
    one row is behind all others in its neighbor (against Park and Acharya, section 4).
    """
    falling = np.rint(STEPS * np.linspace(5, 1, 5 * (target.setting("k") + 1))) / STEPS
    items = [f"i{place:03}" for place in range(falling.size)]
    rows = [
        [(OBSERVER, item, float(rating)) for item, rating in zip(items, ratings, strict=True)]
        for ratings in (falling, np.append(1.0, falling[1:]))
    ]
    one, other = (Interactions(row, items=items, scale=f"1:5:1/{STEPS}", name="a small dataset") for row in rows)
    return NeighboringData(one, other, unit=Unit("score", "value"))


def drawn_items(view: View, fitted: Fitted, pair: NeighboringData) -> Features:
    """The set that was drawn."""
    return fitted.released.array("drawn")


def no_row(target: Target, view: View) -> str | None:
    """``one_entry`` is for the one method that draws items from a row."""
    return None if target.name == ROW_LISTS else "nothing is drawn from the row of one person"
