"""Sums over the tags of posts where posts are public: what one tag that is exchanged for another can change.

``docs/proofs/tag_channels.md`` proves each bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.data.tags import TagAssignments
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.gram import BoundedGram
from discreet.privacy.units import Unit

__all__ = ["StepGram", "post_gram", "resource_counts", "tag_counts"]

BITS = 20
TAG_VALUE = Unit("record", "value")


@dataclass(frozen=True)
class StepGram(BoundedGram):
    """A Gram matrix of which ``frobenius_squared`` bounds what one neighboring step changes, out and in together.

    Contributions that are nowhere negative have a non-negative product, so the squared length of their difference
    is at most the sum of theirs: twice that of one, where the triangle inequality alone would give four times.
    """

    @property
    def exchanged(self) -> bool:
        """False: the bound is that of the whole step already."""
        return False


def tag_counts(data: TagAssignments | None) -> BoundedSums:
    """How often each tag is given; None for the bounds alone."""
    none = np.empty(0, dtype=np.int64)
    return _counts(none if data is None else np.bincount(data.tag, minlength=data.n_tags))


def resource_counts(data: TagAssignments, resources: NDArray[np.int64], head: NDArray[np.int64]) -> BoundedSums:
    """How often each tag of the head is given to each of these resources, resources × head in one row.

    Which resources have a row is public, the head was released.
    """
    row = np.full(data.n_resources, -1, dtype=np.int64)
    row[resources] = np.arange(resources.size)
    column = np.full(data.n_tags, -1, dtype=np.int64)
    column[head] = np.arange(head.size)
    cell = row[data.resource] * head.size + column[data.tag]
    counted = (row[data.resource] >= 0) & (column[data.tag] >= 0)
    return _counts(np.bincount(cell[counted], minlength=resources.size * head.size))


def _counts(values: NDArray[np.integer]) -> BoundedSums:
    """Counts of tags: a tag is counted once or not at all, so one exchanged moves two counts by 1 at most."""
    return BoundedSums(
        values=values.astype(np.int64),
        step=Fraction(1),
        l1=Fraction(1),
        l2_squared=Fraction(1),
        linf=Fraction(1),
        nonnegative=True,
        unit=TAG_VALUE,
        caps=(),
    )


def post_gram(data: TagAssignments | None, head: NDArray[np.int64]) -> StepGram:
    """Σ_p w_p·x xᵀ over posts, x the tags of the head in post p, w = ⌊2^b/n⌋ for n of them; None for the bounds alone.

    The matrix of a post has n² entries w, so its squared Frobenius norm is at most 4^b.
    """
    matrix = np.zeros((head.size, head.size), dtype=np.int64)
    if data is not None:
        from scipy.sparse import csr_array

        place = np.full(data.n_tags, -1, dtype=np.int64)
        place[head] = np.arange(head.size)
        post = np.repeat(np.arange(len(data.posts)), np.diff(data.posts.starts))
        known = place[data.tag] >= 0
        many = np.bincount(post[known], minlength=len(data.posts))
        weight = 2**BITS // np.maximum(many, 1)
        cells = (post[known], place[data.tag[known]])
        shape = (len(data.posts), head.size)
        ones = csr_array((np.ones(cells[0].size, dtype=np.int64), cells), shape=shape)
        weighed = csr_array((weight[post[known]], cells), shape=shape)
        matrix += np.asarray((ones.T @ weighed).todense(), dtype=np.int64)
    return StepGram(
        matrices=(matrix,),
        step=Fraction(1, 2**BITS),
        frobenius_squared=Fraction(2 * 4**BITS),
        unit=TAG_VALUE,
        caps=(),
    )
