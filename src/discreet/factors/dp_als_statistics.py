"""What private alternating least squares decides, and releases in each round: normal equations in whole numbers.

Each user enters with a row of factors of squared length at most S² and with weights of items of squared length at most
W², both in whole numbers, so that every bound below holds exactly whatever floating point did before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numba import njit, prange

from discreet.common.arrays import Codes, Floats, Integers, places_of
from discreet.data.interactions import Interactions
from discreet.factors.kernels import fit_to_grid
from discreet.factors.statistics import USER, NoisyPopularity, head_records
from discreet.privacy.bounding import BoundedSums, cap_records
from discreet.privacy.gram import BoundedGram

if TYPE_CHECKING:
    from discreet.factors.dp_als import DPALS

__all__ = [
    "ROW_SIDE",
    "WEIGHT_SIDE",
    "FactorPlan",
    "Shares",
    "equations",
    "head_shares",
    "whole_rows",
    "whole_weights",
]

ROW_SIDE, WEIGHT_SIDE = 2**8, 2**8
"""S and W. Finer grids would tell nothing more beside the noise, and exact noise on fine grids takes its time."""

# Tuned on MovieLens 1M (one split), like all defaults of this model.
HEAD, LEAST_HEAD = 8.0, 60
FACTORS, LEAST_FACTORS, MOST_FACTORS = 0.45, 4, 64


@dataclass(frozen=True)
class FactorPlan:
    """What private alternating least squares decides from its first release.

    Attributes
    ----------
    popularity
        Of all items.
    head, known, weights, totals
        The items that get factors; how popular each certainly looks; how it weighs among the items of one person; what
        it weighs in all, expected from its popularity.
    factors
        How many.
    """

    popularity: Floats
    head: Codes
    known: Floats
    weights: Floats
    totals: Floats
    factors: int

    @classmethod
    def of(cls, first: NoisyPopularity, mu: float, model: DPALS) -> FactorPlan:
        strength = math.sqrt(first.users * mu)
        head = first.most_popular(model.head or max(LEAST_HEAD, round(HEAD * strength)))
        known = first.known[head]
        weights = known ** -(0.0 if model.cap else model.weight_exponent)
        # Among n items of one person one weighs about w/√(n·mean w²), and Σ 1/√n over its people is the popularity.
        totals = known * weights / math.sqrt(np.average(weights**2, weights=known))
        factors = model.factors or min(MOST_FACTORS, max(LEAST_FACTORS, round(FACTORS * strength)))
        return cls(first.items, head, known, weights, totals, factors)


@dataclass(frozen=True)
class Shares:
    """Who contributes to which item, and how much: a user's weights have a squared length of at most W².

    Attributes
    ----------
    starts, items
        Items of user u are ``items[starts[u]:starts[u + 1]]``, as places in the head.
    weights
        In steps of 1/W.
    """

    starts: Integers
    items: Integers
    weights: Integers


def head_shares(data: Interactions, head: Codes, weights: Floats, cap: int | None) -> tuple[Shares, Shares]:
    """What everybody contributes to the items of the head, and everything of the head that they have.

    Parameters
    ----------
    data
        Records with a public catalog, one of each user and item.
    head
        Codes of items; public.
    weights
        How items of the head weigh among those of one user; public.
    cap
        At most so many items of each user, drawn at random, all with the weight 1/√cap; None for all, by weight.
    """
    starts, places, known = head_records(data, head)
    everything = Shares(starts, places, whole_weights(starts, places, weights, WEIGHT_SIDE))
    if cap is None:
        return everything, everything
    chosen = cap_records(data.filter(known, independent=True), cap).records
    # Users who have nothing of the head keep their place.
    counts = np.zeros(data.n_users, dtype=np.int64)
    counts[data.users.encode(chosen.users.series)] = chosen.records_per_user
    place = places_of(head, data.n_items)
    items = place[
        chosen.item if chosen.n_items == data.n_items else data.items.encode(chosen.items.series)[chosen.item]
    ]
    equal = np.full(items.size, math.isqrt(WEIGHT_SIDE**2 // cap), dtype=np.int64)
    return Shares(np.concatenate([[0], np.cumsum(counts)]), items, equal), everything


@njit(parallel=True, cache=True)
def whole_weights(starts: Integers, items: Integers, raw: Floats, side: int) -> Integers:
    """Each user's weights of items as whole numbers of squared length at most side², as near to it as may be."""
    weights = np.zeros(items.size, dtype=np.int64)
    for user in prange(starts.size - 1):
        row = raw[items[starts[user] : starts[user + 1]]]
        fit_to_grid(row, side / np.sqrt(max(np.sum(row**2), 1e-300)), side)
        weights[starts[user] : starts[user + 1]] = row.astype(np.int64)
    return weights


@njit(parallel=True, cache=True)
def whole_rows(rows: Floats, longest: float, side: int) -> Integers:
    """Each row shortened to length ``longest`` at most, in steps of longest/side: squared length at most side²."""
    whole = np.zeros(rows.shape, dtype=np.int64)
    for user in prange(rows.shape[0]):
        row = rows[user].copy()
        norm = np.sqrt(np.sum(row**2))
        if norm < np.inf:
            fit_to_grid(row, side / max(norm, longest), side)
            whole[user] = row.astype(np.int64)
    return whole


def equations(
    shares: Shares, rows: Integers, n_items: int, longest: Fraction
) -> tuple[BoundedGram, BoundedSums, BoundedGram]:
    r"""Left sides Σ_u w u uᵀ and right sides Σ_u w u of every item, and Σ_u u uᵀ over everybody.

    One user's contribution has squared length Σᵢ wᵢ²·‖u‖⁴ ≤ W²S⁴ on the left, Σᵢ wᵢ²·‖u‖² ≤ W²S² on the right, and
    ‖u‖⁴ ≤ S⁴ in the sum over everybody.

    Parameters
    ----------
    longest
        What a row of length S is worth.
    """
    left, right = _item_sums(*_by_item(shares, n_items), rows)
    step = longest / ROW_SIDE
    caps = ("each user's factors and weights of items were clipped in length",)
    everybody = rows.astype(np.int64).T @ rows
    lefts = BoundedGram(
        matrices=tuple(left),
        step=step**2 / WEIGHT_SIDE,
        frobenius_squared=Fraction(WEIGHT_SIDE**2 * ROW_SIDE**4),
        unit=USER,
        caps=caps,
    )
    rights = BoundedSums(
        values=right.ravel(),
        step=step / WEIGHT_SIDE,
        l1=Fraction(WEIGHT_SIDE * ROW_SIDE * (math.isqrt(right.size) + 1)),
        l2_squared=Fraction(WEIGHT_SIDE**2 * ROW_SIDE**2),
        linf=Fraction(WEIGHT_SIDE * ROW_SIDE),
        nonnegative=False,
        unit=USER,
        caps=caps,
    )
    whole = BoundedGram(
        matrices=(everybody,), step=step**2, frobenius_squared=Fraction(ROW_SIDE**4), unit=USER, caps=caps
    )
    return lefts, rights, whole


def _by_item(shares: Shares, n_items: int) -> tuple[Integers, Integers, Integers]:
    """The same contributions item by item: starts, users, weights."""
    order = np.argsort(shares.items, kind="stable")
    user = np.repeat(np.arange(shares.starts.size - 1), np.diff(shares.starts))
    starts = np.zeros(n_items + 1, dtype=np.int64)
    np.cumsum(np.bincount(shares.items, minlength=n_items), out=starts[1:])
    return starts, user[order], shares.weights[order]


@njit(parallel=True, cache=True)
def _item_sums(starts: Integers, users: Integers, weights: Integers, rows: Integers) -> tuple[Integers, Integers]:
    """Σ w u uᵀ and Σ w u for each item, in whole numbers."""
    width = rows.shape[1]
    left = np.zeros((starts.size - 1, width, width), dtype=np.int64)
    right = np.zeros((starts.size - 1, width), dtype=np.int64)
    for item in prange(starts.size - 1):
        for place in range(starts[item], starts[item + 1]):
            row, weight = rows[users[place]], weights[place]
            for a in range(width):
                scaled = weight * row[a]
                right[item, a] += scaled
                for b in range(width):
                    left[item, a, b] += scaled * row[b]
    return left, right
