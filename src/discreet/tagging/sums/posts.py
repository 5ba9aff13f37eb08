"""Counts of tags where posts are public: what one tag that is exchanged for another can change.

``docs/proofs/tag_channels.md``, Theorem 3, has the bound.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.data.tags import TagAssignments
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.units import Unit
from discreet.tagging.sums.users import unit_counts

__all__ = ["TAG_VALUE", "resource_counts", "tag_counts"]

TAG_VALUE = Unit("record", "value")
"""One tag may be any other: one count falls by 1 and another one rises by 1."""


def tag_counts(data: TagAssignments) -> BoundedSums:
    """How often each tag is given."""
    return unit_counts(np.bincount(data.tag, minlength=data.n_tags), TAG_VALUE)


def resource_counts(data: TagAssignments, resources: NDArray[np.int64], head: NDArray[np.int64]) -> BoundedSums:
    """How often each tag of the head is given to each of these resources, resources × head in one row.

    Which resources have a row is public; the head was released.
    """
    row = np.full(data.n_resources, -1, dtype=np.int64)
    row[resources] = np.arange(resources.size)
    column = np.full(data.n_tags, -1, dtype=np.int64)
    column[head] = np.arange(head.size)
    cell = row[data.resource] * head.size + column[data.tag]
    counted = (row[data.resource] >= 0) & (column[data.tag] >= 0)
    return unit_counts(np.bincount(cell[counted], minlength=resources.size * head.size), TAG_VALUE)
