"""Tags in groups that are used on the same resources.

References
----------
I. S. Dhillon, D. S. Modha: Concept decompositions for large sparse text data using clustering. Machine Learning 42
(2001): Lloyd's algorithm with cosines.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data.tags import TagAssignments

__all__ = ["tag_clusters"]

ROUNDS = 50
"""The most rounds of Lloyd's algorithm; it usually converges in a third of them."""


def tag_clusters(data: TagAssignments, clusters: int) -> NDArray[np.int64]:
    """The cluster of each tag, from 0; −1 for a tag that nobody has used.

    A tag is the vector of how many users gave it to each resource; tags are alike by the cosine of their vectors.
    Nothing is random: the first center is the tag that is used most, and each further one the tag with the largest
    product of uses and distance from its nearest center.

    Parameters
    ----------
    clusters
        How many there are, if there are as many tags.

    Examples
    --------
    >>> tags = TagAssignments([("u", "a", "tea"), ("u", "a", "cup"), ("v", "a", "cup"), ("u", "b", "rum")])
    >>> dict(zip(tags.tags.ids(), tag_clusters(tags, 2).tolist()))
    {'cup': 0, 'rum': 1, 'tea': 0}
    """
    from scipy.sparse import csr_array

    uses = np.bincount(data.tag, minlength=data.n_tags)
    seen = np.flatnonzero(uses)
    found = np.full(data.n_tags, -1)
    if seen.size == 0:
        return found
    row = np.searchsorted(seen, data.tag)
    vectors: Any = csr_array((np.ones(len(data)), (row, data.resource)), shape=(seen.size, data.n_resources))
    lengths = np.sqrt(vectors.multiply(vectors).sum(axis=1))
    vectors.data /= np.repeat(lengths, np.diff(vectors.indptr))
    centers = vectors[_spread(vectors, uses[seen], min(clusters, seen.size))].toarray()

    nearest = np.full(seen.size, -1)
    for _ in range(ROUNDS):
        before, nearest = nearest, np.argmax(vectors @ centers.T, axis=1)
        if np.array_equal(before, nearest):
            break
        members: Any = csr_array(
            (np.ones(seen.size), (nearest, np.arange(seen.size))), shape=(centers.shape[0], seen.size)
        )
        sums = (members @ vectors).toarray()
        length = np.linalg.norm(sums, axis=1, keepdims=True)
        # A cluster that has lost its last member keeps its center.
        centers = np.where(length > 0, sums / np.where(length > 0, length, 1), centers)
    found[seen] = nearest
    return found


def _spread(vectors: Any, uses: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Rows to begin with: used much, and far from one another."""
    chosen, nearest = np.zeros(n, dtype=np.int64), np.zeros(uses.size)
    for place in range(n):
        chosen[place] = np.argmax(uses * (1 - nearest))
        likeness = (vectors @ vectors[[chosen[place]]].T).toarray()[:, 0]
        nearest = np.maximum(nearest, likeness)
        nearest[chosen[place]] = 1.0
    return chosen
