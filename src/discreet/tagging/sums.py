"""Sums about tags in whole numbers, with what one user, one assignment or one tag can change.

The weights of a user depend on that user's triples and on public or released values alone, and are rounded down. So
sums of disjoint groups of users add up to the sums of all of them, exactly (``docs/proofs/tagging.md``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.common.arrays import AnyIntegers, Codes, Floats, Integers
from discreet.data.tags import TagAssignments
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.gram import BoundedGram
from discreet.privacy.units import Unit

__all__ = [
    "ASSIGNMENT",
    "BITS",
    "CELLS_AT_ONCE",
    "SIZES",
    "TAG_VALUE",
    "USER",
    "LinkTable",
    "Order",
    "best",
    "bounded",
    "holdings",
    "length_weights",
    "popularity",
    "resource_counts",
    "resource_topics",
    "size_counts",
    "tag_counts",
    "tag_gram",
    "topic_steps",
    "type_counts",
    "unit_counts",
]

BITS = 20
"""Weights are whole numbers of 2^−20."""

CELLS_AT_ONCE = 2**22
"""Cells of the table that are worked on at a time."""

Order = Literal[1, 2]
"""The norm that bounds the contribution of one user: 2 for normal noise, 1 for Laplace noise."""

USER, ASSIGNMENT, TAG_VALUE = Unit("user"), Unit("record"), Unit("record", "value")
"""One user; one triple; the value of one tag, which may be any other: one count falls by 1 and another rises by 1."""

TOPIC_STEPS = 64
"""Probabilities of topics are whole numbers of 1/64."""

MOST_IN_A_POST = 2**20
"""More of one topic does not count in one post: 16,384 tags."""

FINER_BITS = 10

SIZES = 13
"""Users are counted by the number of their triples: 1, 2–3, 4–7 … and from 2¹² on."""


def bounded(values: Integers, *, order: int, caps: tuple[str, ...], size: int | None = None) -> BoundedSums:
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
        unit=USER,
        caps=caps,
    )


def unit_counts(values: AnyIntegers, unit: Unit) -> BoundedSums:
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


def length_weights(sums: Integers, order: int, share: Fraction = Fraction(1), bits: int = BITS) -> Integers:
    """For each user the weight of one unit, where a user has s units (squared ones with order 2), rounded down.

    With order 2 that is ⌊2^b·√(share/s)⌋, so that s·w² ≤ share·4^b; with order 1 ⌊2^b·share/s⌋, so that s·w ≤
    share·2^b. Parts have a length of at most 2^b together if their shares add up to 1.

    Examples
    --------
    >>> length_weights(np.array([1, 4, 4000]), 2) / 2**20
    array([1.        , 0.5       , 0.01581097])
    >>> length_weights(np.array([1, 4]), 1) / 2**20
    array([1.  , 0.25])
    """
    distinct, inverse = np.unique(sums, return_inverse=True)
    each = [share * 2 ** (order * bits) / max(int(s), 1) for s in distinct]
    return np.array([math.isqrt(int(x)) if order == 2 else int(x) for x in each], dtype=np.int64)[inverse]


def holdings(user: Codes, key: Codes, n_keys: int) -> tuple[Integers, Integers]:
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


def tag_gram(data: TagAssignments, head: Integers, order: int) -> BoundedGram:
    """Σ_u w_u·x xᵀ, x the tags of the head that user u uses: which tags go together, each user of length at most 1.

    With n such tags the matrix of a user has n² entries w. w = ⌊2^b/n⌋ bounds the Frobenius norm by 2^b, and ⌊2^b/n²⌋
    the sum of all entries.
    """
    from scipy.sparse import csr_array

    place = _places(head, data.n_tags)
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
        unit=USER,
        caps=("each user's pairs of tags were scaled to a length of 1",),
    )


@dataclass(frozen=True, eq=False)
class LinkTable:
    """Which sums a table of links consists of: rows for public or released resources, a column for each tag.

    ``order`` is the norm that bounds the triples of one user, which then have a length of at most 1 together. None
    counts every triple in full, for guarantees about one assignment.
    """

    resources: Integers
    n_tags: int
    order: int | None

    @property
    def bounds(self) -> BoundedSums:
        """The bounds of the whole table, without values."""
        nothing = np.empty(0, dtype=np.int64)
        if self.order is None:
            return unit_counts(nothing, ASSIGNMENT)
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
        row = _places(self.resources, data.n_resources)[data.resource]
        weight = np.ones(data.tag.size, dtype=np.int64)
        if self.order is not None:
            # A user's weight follows from all of the table, whichever rows are summed here.
            weight = length_weights(np.bincount(data.user[row >= 0], minlength=data.n_users), self.order)[data.user]
        here = (row >= first) & (row < last)
        cell = (row[here] - first) * self.n_tags + data.tag[here]
        sums = np.bincount(cell, weights=weight[here], minlength=(last - first) * self.n_tags)
        return replace(self.bounds, values=sums.astype(np.int64))


def best(values: NDArray[np.number], many: int) -> Integers:
    """Codes of the ``many`` largest released values, in the order of the codes."""
    return np.sort(np.argsort(-values, kind="stable")[:many])


def tag_counts(data: TagAssignments) -> BoundedSums:
    """How often each tag is given."""
    return unit_counts(np.bincount(data.tag, minlength=data.n_tags), TAG_VALUE)


def resource_counts(data: TagAssignments, resources: Integers, head: Integers) -> BoundedSums:
    """How often each tag of the head is given to each of these resources, resources × head in one row.

    Which resources have a row is public; the head was released.
    """
    row, column = _places(resources, data.n_resources)[data.resource], _places(head, data.n_tags)[data.tag]
    counted = (row >= 0) & (column >= 0)
    cell = row[counted] * head.size + column[counted]
    return unit_counts(np.bincount(cell, minlength=resources.size * head.size), TAG_VALUE)


def topic_steps(topic_given_tag: Floats, head: Integers, n_tags: int) -> Integers:
    """How much each tag is about each topic, tags × topics, in whole numbers of 1/64 that add up to 64 at most.

    A function of released values. All tags outside of the head make up the last topic.
    """
    n_topics = topic_given_tag.shape[1]
    steps = np.zeros((n_tags, n_topics + 1), dtype=np.int64)
    steps[:, n_topics] = TOPIC_STEPS
    steps[head] = 0
    steps[head, :n_topics] = np.floor(topic_given_tag * TOPIC_STEPS).astype(np.int64)
    return steps


def resource_topics(data: TagAssignments, topics: Integers, order: int) -> BoundedSums:
    """For each resource how much of what users gave it is about each topic; a user has length 1 at most.

    A post adds the topics of its tags, y. With s = Σ ‖y‖² over a user's posts every entry is multiplied by 2^b/√s, with
    s = Σ ‖y‖₁ by 2^b/s, in whole numbers and rounded down: the length is 2^b at most.
    """
    posts = data.posts
    post = np.repeat(np.arange(len(posts)), np.diff(posts.starts))
    y = _by_column(post, topics[data.tag], len(posts))
    # With Σ y ≤ 64·2³¹ over all triples that a table holds, Σ y² stays below 2⁵⁷: no sum can overflow.
    y = np.minimum(y, MOST_IN_A_POST)
    weight = length_weights(_by_user(posts.user, (y**order).sum(axis=1), data.n_users), order, bits=BITS + FINER_BITS)
    values = _by_column(posts.resource, (weight[posts.user][:, None] * y) >> FINER_BITS, data.n_resources)
    return bounded(values, order=order, caps=("each user's resources by topic were scaled to a length of 1",))


def size_counts(data: TagAssignments) -> BoundedSums:
    """Numbers of users by how many triples they have, in powers of two."""
    triples = np.diff(data.user_starts)
    bins = np.array([min(int(n).bit_length() - 1, SIZES - 1) for n in triples[triples > 0]], dtype=np.int64)
    return unit_counts(np.bincount(bins, minlength=SIZES), USER)


def type_counts(data: TagAssignments, topics: Integers) -> BoundedSums:
    """Numbers of users by the topic that most of their triples are about; of equals the first."""
    about = _by_column(data.user, topics[data.tag], data.n_users)
    return unit_counts(np.bincount(about.argmax(axis=1), minlength=topics.shape[1]), USER)


def _places(codes: Integers, size: int) -> Integers:
    """The place of each of ``size`` codes in a list of some of them; −1 for one that is not in it."""
    place = np.full(size, -1, dtype=np.int64)
    place[codes] = np.arange(codes.size)
    return place


def _by_column(group: AnyIntegers, values: Integers, n_groups: int) -> Integers:
    """Sums of whole numbers by group, column by column; below 2⁵³ they are exact."""
    columns = [np.bincount(group, weights=column, minlength=n_groups) for column in values.T]
    return np.stack(columns, axis=1).astype(np.int64)


def _by_user(user: Codes, values: Integers, n_users: int) -> Integers:
    """Sums of whole numbers by user, exact in 64 bits: posts stand sorted by user."""
    running = np.concatenate([[0], np.cumsum(values)])
    return np.diff(running[np.searchsorted(user, np.arange(n_users + 1))])
