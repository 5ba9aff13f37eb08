"""Sums about tags over users, in whole numbers, with what one user can change (``docs/proofs/tagging.md``).

The weights of a user depend on that user's triples and on public or released values alone, and are rounded down. So
sums of disjoint groups of users add up to the sums of all of them, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.data.ids import Codes
from discreet.data.tags import TagAssignments
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.gram import BoundedGram
from discreet.privacy.units import Unit

__all__ = [
    "BITS",
    "LinkTable",
    "Order",
    "best",
    "bounded",
    "holdings",
    "length_weights",
    "popularity",
    "tag_gram",
    "unit_counts",
]

BITS = 20
"""Weights are whole numbers of 2^−20."""

CELLS_AT_ONCE = 2**22
"""Cells of the table that are worked on at a time."""

Order = Literal[1, 2]
"""The norm that bounds the contribution of one user: 2 for normal noise, 1 for Laplace noise."""


def bounded(values: NDArray[np.int64], *, order: int, caps: tuple[str, ...], size: int | None = None) -> BoundedSums:
    """Sums of contributions without negative entries; that of a user has an L1 or L2 norm of at most 1.

    ``values`` may be a part of the ``size`` sums that the bounds are about.
    """
    many = values.size if size is None else size
    return BoundedSums(
        values=values,
        step=Fraction(1, 2**BITS),
        # The other norm follows: ‖x‖₂ ≤ ‖x‖₁, and ‖x‖₁ ≤ √m·‖x‖₂ over m sums.
        l1=Fraction(2**BITS if order == 1 else 2**BITS * (math.isqrt(many) + 1)),
        l2_squared=Fraction(4**BITS),
        linf=Fraction(2**BITS),
        nonnegative=True,
        unit=Unit("user"),
        caps=caps,
    )


def unit_counts(values: NDArray[np.integer], unit: Unit) -> BoundedSums:
    """Counts in which one unit (a user, an assignment, a tag) counts once, in one place, or not at all."""
    return BoundedSums(
        values=values.astype(np.int64),
        step=Fraction(1),
        l1=Fraction(1),
        l2_squared=Fraction(1),
        linf=Fraction(1),
        nonnegative=True,
        unit=unit,
        caps=(),
    )


def length_weights(counts: NDArray[np.int64], order: int, share: Fraction = Fraction(1)) -> NDArray[np.int64]:
    """For each user the weight of one of n equal entries that together make up a share of length 1, rounded down.

    With order 2 that is ⌊2^b·√(share/n)⌋, so that n·w² ≤ share·4^b; with order 1 ⌊2^b·share/n⌋, so that n·w ≤
    share·2^b. Parts have a length of at most 2^b together if their shares add up to 1.

    Examples
    --------
    >>> length_weights(np.array([1, 4, 4000]), 2) / 2**20
    array([1.        , 0.5       , 0.01581097])
    >>> length_weights(np.array([1, 4]), 1) / 2**20
    array([1.  , 0.25])
    """
    distinct, inverse = np.unique(counts, return_inverse=True)
    each = [max(int(n), 1) for n in distinct]
    if order == 2:
        weights = [math.isqrt(math.floor(share * 4**BITS / n)) for n in each]
    else:
        weights = [math.floor(share * 2**BITS / n) for n in each]
    return np.array(weights, dtype=np.int64)[inverse]


def holdings(user: Codes, key: Codes, n_keys: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Who holds which key, each pair once, sorted: users and keys."""
    pairs = np.sort(user.astype(np.int64) * max(n_keys, 1) + key)
    pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])] if pairs.size else pairs
    return np.divmod(pairs, max(n_keys, 1))


def popularity(data: TagAssignments, order: int, *, resources: bool = False) -> BoundedSums:
    """How many users use each tag and, if asked for, tag each resource: one vector, each user of length at most 1.

    With both, the tags of a user and the user's resources make up half of the squared length (of the sum) each.
    """
    share = Fraction(1, 2) if resources else Fraction(1)
    columns = [(data.tag, data.n_tags), (data.resource, data.n_resources)][: 2 if resources else 1]
    sums = []
    for key, n_keys in columns:
        user, held = holdings(data.user, key, n_keys)
        weight = length_weights(np.bincount(user, minlength=data.n_users), order, share)
        sums.append(np.bincount(held, weights=weight[user], minlength=n_keys).astype(np.int64))
    return bounded(
        np.concatenate(sums),
        order=order,
        caps=("each user's tags and resources were scaled to a length of 1",),
    )


def tag_gram(data: TagAssignments, head: NDArray[np.int64], order: int) -> BoundedGram:
    """Σ_u w_u·x xᵀ, x the tags of the head that user u uses: which tags go together, each user of length at most 1.

    With n such tags the matrix of a user has n² entries w. w = ⌊2^b/n⌋ bounds the Frobenius norm by 2^b, and ⌊2^b/n²⌋
    the sum of all entries.
    """
    from scipy.sparse import csr_array

    place = np.full(data.n_tags, -1, dtype=np.int64)
    place[head] = np.arange(head.size)
    known = place[data.tag] >= 0
    user, tag = holdings(data.user[known], place[data.tag[known]].astype(np.int32), head.size)
    weights = [2**BITS // n ** (3 - order) for n in range(1, head.size + 1)]
    count = np.bincount(user, minlength=data.n_users)
    weight = np.array([0, *weights], dtype=np.int64)[count]
    ones = csr_array((np.ones(user.size, dtype=np.int64), (user, tag)), shape=(data.n_users, head.size))
    weighted = csr_array((weight[user], (user, tag)), shape=ones.shape)
    return BoundedGram.weighted(
        (np.asarray((ones.T @ weighted).todense(), dtype=np.int64).reshape(head.size, head.size),),
        weights,
        largest=1,
        step=Fraction(1, 2**BITS),
        unit=Unit("user"),
        caps=("each user's pairs of tags were scaled to a length of 1",),
    )


@dataclass(frozen=True, eq=False)
class LinkTable:
    """Which sums a table of links consists of.

    Parameters
    ----------
    resources
        Codes of the resources that have a row; public or released.
    n_tags
        How many columns there are.
    order
        The norm that bounds the triples of one user, which then have a length of at most 1 together. None to count
        every triple in full, for guarantees about one assignment.
    """

    resources: NDArray[np.int64]
    n_tags: int
    order: int | None

    @property
    def bounds(self) -> BoundedSums:
        """The bounds of the whole table, without values."""
        nothing = np.empty(0, dtype=np.int64)
        if self.order is None:
            return unit_counts(nothing, Unit("record"))
        return bounded(
            nothing,
            order=self.order,
            caps=("each user's tags of frequent resources were scaled to a length of 1",),
            size=self.resources.size * self.n_tags,
        )

    def blocks(self) -> Iterator[tuple[int, int]]:
        """First and last row (exclusive) of the parts that the table is worked on in."""
        rows_at_once = max(1, CELLS_AT_ONCE // max(self.n_tags, 1))
        for first in range(0, self.resources.size, rows_at_once):
            yield first, min(first + rows_at_once, self.resources.size)

    def sums(self, data: TagAssignments, first: int, last: int) -> BoundedSums:
        """The cells of some rows, one row after the other."""
        place = np.full(data.n_resources, -1, dtype=np.int64)
        place[self.resources] = np.arange(self.resources.size)
        row = place[data.resource]
        weight = np.ones(len(data), dtype=np.int64)
        if self.order is not None:
            # A user's weight follows from all of the table, whichever rows are summed here.
            weight = length_weights(np.bincount(data.user[row >= 0], minlength=data.n_users), self.order)[data.user]
        here = (row >= first) & (row < last)
        cell = (row[here] - first) * self.n_tags + data.tag[here]
        sums = np.bincount(cell, weights=weight[here], minlength=(last - first) * self.n_tags)
        return replace(self.bounds, values=sums.astype(np.int64))


def best(values: NDArray[np.number], many: int) -> NDArray[np.int64]:
    """Codes of the ``many`` largest released values, in the order of the codes."""
    return np.sort(np.argsort(-values, kind="stable")[:many])
