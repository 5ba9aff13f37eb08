"""How many users touched each item in each context: the scores that lists are chosen by."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.counting.cells import Cells
from discreet.data.interactions import Interactions
from discreet.privacy.bounding import BoundedSums, cap_records
from discreet.privacy.numbers import sqrt_up
from discreet.privacy.units import Unit
from discreet.privacy.weighing import GRID_BITS

__all__ = ["by_user_once", "held_to_one_place", "place_scores", "scores_of", "winner_sums"]


def by_user_once(cells: Cells) -> Cells:
    """One record for each user, item and place."""
    if not cells.may_repeat:
        return cells
    key = cells.user.astype(np.int64) * cells.size("edges") + cells.cell("edges")
    # Without contexts the records stand in this order already.
    order = np.argsort(key, kind="stable") if cells.contexts else np.arange(key.size)
    first = np.ones(key.size, dtype=bool)
    first[1:] = np.diff(key[order]) != 0
    keep = np.zeros(key.size, dtype=bool)
    keep[order[first]] = True
    return cells.keep(keep)


def held_to_one_place(data: Interactions, cells: Cells) -> Cells:
    """The records of each user in one place: that of a record drawn at random, for each user alone.

    A user whose drawn record has none of the public values is left out.
    """
    drawn = Cells.of(cap_records(data, 1).records, cells.contexts)
    place = np.full(cells.n_users, -1, dtype=np.int32)
    place[drawn.user] = drawn.place
    return cells.keep(cells.place == place[cells.user])


def place_scores(once: Cells) -> BoundedSums:
    """The number of users of every item in every place, items × places. One user moves each by at most 1.

    Parameters
    ----------
    once
        Records that hold each user, item and place once.
    """
    size = once.size("edges")
    return BoundedSums(
        values=once.totals("edges").reshape(once.n_items, once.n_places),
        step=Fraction(1),
        l1=Fraction(size),
        l2_squared=Fraction(size),
        linf=Fraction(1),
        nonnegative=True,
        unit=Unit("user"),
        caps=(),
    )


def scores_of(scores: BoundedSums, place: int) -> BoundedSums:
    """The scores of one place."""
    values = np.ascontiguousarray(scores.values[:, place])
    return replace(scores, values=values, l1=Fraction(values.size), l2_squared=Fraction(values.size))


def winner_sums(once: Cells, winners: NDArray[np.int64], *, most: int, cap: int | None, norm: int) -> BoundedSums:
    """How many users each winner has; the weight of one user in all of them is at most the cap.

    Parameters
    ----------
    once
        Records that hold each user, item and place once.
    winners
        Codes of items, one row a place.
    most
        The most winners that one user can be counted for.
    cap
        The most that one user weighs: the sum of the weights (norm 1), or of their squares (norm 2).
    """
    limit = most if cap is None else min(cap, most)
    bits = 0 if limit == most else GRID_BITS
    index = np.full(once.size("edges"), -1, dtype=np.int64)
    cells = winners * once.n_places + np.arange(once.n_places)[:, None]
    index[cells.ravel()] = np.arange(winners.size)
    found = index[once.cell("edges")]
    user, found = once.user[found >= 0], found[found >= 0]
    held = np.bincount(user, minlength=once.n_users)
    # Weights for every number of winners that somebody may hold, rounded down to the grid.
    if norm == 1:
        weights = [min(2**bits, limit * 2**bits // t) for t in range(1, most + 1)]
    else:
        weights = [min(2**bits, math.isqrt(limit * 4**bits // t)) for t in range(1, most + 1)]
    weight = np.array([0, *weights], dtype=np.int64)[held]
    values = np.bincount(found, weights=weight[user], minlength=winners.size)
    return BoundedSums(
        values=values.astype(np.int64),
        step=Fraction(1, 2**bits),
        l1=Fraction(limit * 2**bits) if norm == 1 else sqrt_up(Fraction(most * limit * 4**bits)),
        l2_squared=Fraction(limit * 4**bits),
        linf=Fraction(2**bits),
        nonnegative=True,
        unit=Unit("user"),
        caps=(),
    )
