"""Sums about tags over users or over single assignments, in whole numbers, with what one of them can change.

``docs/proofs/tagging.md`` proves each bound. Weights of a user depend on that user's triples and on public or released
values alone, and are rounded down.
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
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.units import Unit

__all__ = ["BITS", "Links", "Order", "bounded", "holdings", "length_weights", "noisy_links", "popularity", "tag_gram"]

BITS = 20
"""Weights are whole numbers of 2^−20."""

CELLS_AT_ONCE = 2**22
"""Cells of a table of links that are worked on at a time."""

Order = Literal[1, 2]
"""The norm that one user is held to: 2 for normal noise, 1 for Laplace noise."""


def bounded(values: NDArray[np.int64], *, order: Order, caps: tuple[str, ...], size: int | None = None) -> BoundedSums:
    """Sums of contributions that are nowhere negative; that of a user has an L1 or L2 norm of at most 1.

    ``values`` may be a part of ``size`` sums that the bounds are about.
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


def length_weights(counts: NDArray[np.int64], order: Order, share: Fraction = Fraction(1)) -> NDArray[np.int64]:
    """For each user the weight of one of n equal entries that together make up a share of length 1, rounded down.

    With order 2 that is ⌊2^b·√(share/n)⌋, so that n·w² ≤ share·4^b; with order 1 ⌊2^b·share/n⌋, so that n·w ≤
    share·2^b. Shares of parts that add up to 1 thus keep the whole within 2^b.

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


def popularity(data: TagAssignments, order: Order, *, resources: bool) -> BoundedSums:
    """How many users use each tag and, if asked for, tag each resource: one vector, every user of length 1 at most.

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


def tag_gram(data: TagAssignments, head: NDArray[np.int64], order: Order) -> BoundedGram:
    """Σ_u w_u·x xᵀ, x the tags of the head that user u uses: which tags go together, every user of length 1 at most.

    With n such tags the matrix of a user has n² entries w: w = ⌊2^b/n⌋ keeps the Frobenius norm, ⌊2^b/n²⌋ the sum of
    all entries within 2^b.
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
    weighed = csr_array((weight[user], (user, tag)), shape=ones.shape)
    return BoundedGram.weighted(
        (np.asarray((ones.T @ weighed).todense(), dtype=np.int64).reshape(head.size, head.size),),
        weights,
        largest=1,
        step=Fraction(1, 2**BITS),
        unit=Unit("user"),
        caps=("each user's pairs of tags were scaled to a length of 1",),
    )


@dataclass(frozen=True)
class Links:
    """Weighted entries of a table of resources × tags, with what one unit can change in it.

    Parameters
    ----------
    row
        For each entry the place of its resource among ``resources``; sorted.
    tag, weight
        Its tag, and what it adds, in grid steps.
    resources
        Codes of the resources that have a row, public or released.
    n_tags
        How many columns there are.
    bounds
        Sums of the same bounds, without any values.
    """

    row: NDArray[np.int64]
    tag: Codes
    weight: NDArray[np.int64]
    resources: NDArray[np.int64]
    n_tags: int
    bounds: BoundedSums

    @classmethod
    def of_users(cls, data: TagAssignments, resources: NDArray[np.int64], order: Order) -> Links:
        """Triples with some of the resources; those of one user have length 1 at most together."""
        row, tag, user = cls._entries(data, resources)
        weight = length_weights(np.bincount(user, minlength=data.n_users), order)
        bounds = bounded(
            np.empty(0, dtype=np.int64),
            order=order,
            caps=("each user's tags of frequent resources were scaled to a length of 1",),
            size=resources.size * data.n_tags,
        )
        return cls(row, tag, weight[user], resources, data.n_tags, bounds)

    @classmethod
    def of_assignments(cls, data: TagAssignments) -> Links:
        """All triples with all resources, each counted in full: one adds 1 to one cell."""
        resources = np.arange(data.n_resources)
        row, tag, _ = cls._entries(data, resources)
        return cls(row, tag, np.ones(row.size, dtype=np.int64), resources, data.n_tags, one_assignment(()))

    @staticmethod
    def _entries(data: TagAssignments, resources: NDArray[np.int64]) -> tuple[NDArray[np.int64], Codes, Codes]:
        place = np.full(data.n_resources, -1, dtype=np.int64)
        place[resources] = np.arange(resources.size)
        known = np.flatnonzero(place[data.resource] >= 0)
        row = place[data.resource[known]]
        order = np.argsort(row, kind="stable")
        return row[order], data.tag[known[order]], data.user[known[order]]

    @property
    def n_cells(self) -> int:
        return self.resources.size * self.n_tags

    def blocks(self) -> Iterator[tuple[int, BoundedSums]]:
        """The table, some rows at a time: the first row, and all its cells one row after the other."""
        rows_at_once = max(1, CELLS_AT_ONCE // max(self.n_tags, 1))
        for first in range(0, self.resources.size, rows_at_once):
            last = min(first + rows_at_once, self.resources.size)
            begin, end = np.searchsorted(self.row, (first, last))
            cell = (self.row[begin:end] - first) * self.n_tags + self.tag[begin:end]
            sums = np.bincount(cell, weights=self.weight[begin:end], minlength=(last - first) * self.n_tags)
            yield first, replace(self.bounds, values=sums.astype(np.int64))


def one_assignment(values: NDArray[np.int64] | tuple[()]) -> BoundedSums:
    """Counts of assignments: one of them moves one count by 1."""
    return BoundedSums(
        values=np.array(values, dtype=np.int64),
        step=Fraction(1),
        l1=Fraction(1),
        l2_squared=Fraction(1),
        linf=Fraction(1),
        nonnegative=True,
        unit=Unit("record"),
        caps=(),
    )


def noisy_links(
    links: Links, mechanism: AdditiveMechanism, least: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Every cell of the table with noise, of which those from ``least`` grid steps on are kept.

    All cells get noise, also those that are empty; what is dropped afterwards is dropped by a public rule.

    Returns
    -------
    Codes of resources, codes of tags, noisy values in grid steps. Charge the ledger first.
    """
    resource, tag, value = [], [], []
    for first, sums in links.blocks():
        noisy = mechanism.release(sums)
        kept = np.flatnonzero(noisy >= least)
        resource.append(links.resources[first + kept // links.n_tags])
        tag.append(kept % links.n_tags)
        value.append(noisy[kept])
    if not value:
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing, nothing
    return np.concatenate(resource), np.concatenate(tag), np.concatenate(value)
