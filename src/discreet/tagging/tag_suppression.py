"""Tag suppression: publish what people tagged, without a share of each person's tags.

References
----------
J. Parra-Arnau, A. Perego, E. Ferrari, J. Forné, D. Rebollo-Monedero: Privacy-preserving enhanced collaborative tagging.
IEEE Transactions on Knowledge and Data Engineering 26 (2014).
J. Parra-Arnau, D. Rebollo-Monedero, J. Forné, J. L. Muñoz, O. Esparza: Optimal tag suppression for privacy protection
in the semantic Web. Data & Knowledge Engineering 81–82 (2012).
T. Zhu: Differential privacy and its applications. PhD thesis, Deakin University 2014, sections 4.2 and 4.5: as a
baseline of PriTop.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
import polars as pl

from discreet.common.arguments import require_choice, require_whole
from discreet.common.arrays import AnyIntegers, Codes, Integers
from discreet.data.tags import TagAssignments
from discreet.errors import UsageError
from discreet.privacy.method import Reads
from discreet.privacy.numbers import Rational, as_fraction
from discreet.tagging.recommenders.folk_rank import FolkRank

__all__ = ["SuppressedTags", "TagSuppression", "tag_clusters"]

Rule = Literal["least", "entropy"]

ROUNDS = 50
"""The most rounds of Lloyd's algorithm; it usually converges in a third of them."""


@dataclass
class TagSuppression:
    """Leave out a share of each user's triples, chosen by clusters of tags.

    Parameters
    ----------
    sigma
        The eliminate parameter: the share of each user's triples that is published. At 0.8 a fifth of them goes, and
        the semantic loss is 0.2.
    clusters
        How many clusters tags are put into: a user's profile is a histogram over them.
    rule
        Whose triples go first. ``"least"``: those of the clusters that the user has fewest triples in. ``"entropy"``:
        those of the clusters that the user has most triples in, so that what is left is as even as it can be.

    Privacy
    -------
    None. What is published is true; nothing is known about what it tells of the rest. There is no guarantee, nothing is
    charged, and the result is no release: it is a baseline to compare with.

    Notes
    -----
    The thesis says little of it; this is how it is read here.

    - *sigma* is what is kept. Section 4.5.3 has 0.8 and 0.6 for suppression rates of 0.2 and 0.4, and 4.5.2 a semantic
      loss of 0.2 at 0.8. (The 0.2 of the t-tests there must be the rate.)
    - *What is counted* are triples: a profile is a histogram of uses, and a tag that is used twice weighs two. A
      user with n of them loses (1 − sigma)·n, rounded to the nearest whole number, halves up.
    - *Which go*: "the less represented ones", says section 4.2, which is the rule ``"least"``. The authors themselves
      ask for the remaining profile of the greatest entropy; the answer to that is to level the highest columns, which
      is the rule ``"entropy"``.
    - *In a cluster* the tags go first that the user has used least; of those, the tags that everybody has used least.
      Nothing is drawn, so the same data give the same result.
    - *Clusters* are those of Lloyd's algorithm on the resources that tags stand on, by cosine. The thesis names neither
      the method nor a number.

    Examples
    --------
    >>> triples = [("ann", page, tag) for page in "abcd" for tag in ("tea", "cup")]
    >>> triples += [("ann", "e", "rum"), ("ann", "f", "rum")]
    >>> kept = TagSuppression(sigma=0.8, clusters=2).suppress(TagAssignments(triples))
    >>> sorted(kept.tags.ids())
    ['cup', 'tea']
    >>> even = TagSuppression(sigma=0.8, clusters=2, rule="entropy").suppress(TagAssignments(triples))
    >>> even.to_frame()["tag"].value_counts().sort("tag").rows()
    [('cup', 2), ('rum', 2), ('tea', 4)]
    """

    name: ClassVar[str] = "tag-suppression"
    reads: ClassVar[Reads] = "records"
    guarantee: ClassVar[None] = None

    sigma: Rational = Fraction(4, 5)
    clusters: int = 50
    rule: Rule = "least"

    def __post_init__(self) -> None:
        if not 0 <= as_fraction(self.sigma, "sigma") <= 1:
            raise UsageError(f"sigma = {self.sigma} must be from 0 to 1.", remedy="It is the share that is kept.")
        require_whole(self.clusters, "clusters", least=1)
        require_choice(self.rule, "rule", get_args(Rule))

    def suppress(self, data: TagAssignments) -> TagAssignments:
        """The triples that are left. They are a part of the data, and no more private than any part."""
        rate = 1 - as_fraction(self.sigma, "sigma")
        cluster = tag_clusters(data, self.clusters)[data.tag]
        order = _order_of_removal(data, cluster, self.rule)
        counts = np.diff(data.user_starts)
        # (1 − sigma)·n, to the nearest whole number.
        removed = (2 * rate.numerator * counts + rate.denominator) // (2 * rate.denominator)
        rank = np.empty(len(data), dtype=np.int64)
        rank[order] = np.arange(len(data)) - np.repeat(data.user_starts[:-1], counts)
        return data.filter(rank >= removed[data.user])


@dataclass
class SuppressedTags(TagSuppression):
    """FolkRank on the triples that a suppression of tags has left; the settings are those of ``TagSuppression``."""

    def fit(self, data: TagAssignments) -> Self:
        """Suppress, then learn from what is left."""
        self.model_ = FolkRank().fit(self.suppress(data))
        return self

    def recommend(self, queries: Iterable[tuple[Any, Any]], n: int = 10) -> pl.DataFrame:
        """The best tags for each user who is about to tag a resource."""
        return self.model_.recommend(queries, n=n)


def _order_of_removal(data: TagAssignments, cluster: Integers, rule: Rule) -> Integers:
    """All triples, user by user, those that go first in front."""
    in_cluster = _sizes(data.user, cluster)
    own, everybody = _sizes(data.user, data.tag), np.bincount(data.tag, minlength=data.n_tags)[data.tag]
    if rule == "least":
        together = np.bincount(cluster)[cluster]
        return np.lexsort((data.resource, data.tag, everybody, own, cluster, together, in_cluster, data.user))
    # How high the column of its cluster stands when it is the turn of a triple: the highest columns go first.
    order = np.lexsort((data.resource, data.tag, everybody, own, cluster, data.user))
    begins = np.ones(order.size, dtype=bool)
    begins[1:] = (np.diff(data.user[order]) != 0) | (np.diff(cluster[order]) != 0)
    first = np.flatnonzero(begins)
    height = np.empty(order.size, dtype=np.int64)
    height[order] = in_cluster[order] - (
        np.arange(order.size) - np.repeat(first, np.diff(np.append(first, order.size)))
    )
    return np.lexsort((cluster, -height, data.user))


def _sizes(user: Codes, group: AnyIntegers) -> Integers:
    """For each triple, how many triples of the same user are of the same group."""
    _, place, counts = np.unique(
        user.astype(np.int64) * (int(group.max(initial=0)) + 1) + group, return_inverse=True, return_counts=True
    )
    return counts[place]


def tag_clusters(data: TagAssignments, clusters: int) -> Integers:
    """The cluster of each tag, from 0; −1 for a tag that nobody has used.

    A tag is the vector of how many users gave it to each resource; tags are alike by the cosine of their vectors.
    Nothing is random: the first center is the tag that is used most, and each further one the tag with the largest
    product of uses and distance from its nearest center (I. S. Dhillon, D. S. Modha: Concept decompositions for large
    sparse text data using clustering. Machine Learning 42, 2001: Lloyd's algorithm with cosines).

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


def _spread(vectors: Any, uses: Integers, n: int) -> Integers:
    """Rows to begin with: used much, and far from one another."""
    chosen, nearest = np.zeros(n, dtype=np.int64), np.zeros(uses.size)
    for place in range(n):
        chosen[place] = np.argmax(uses * (1 - nearest))
        likeness = (vectors @ vectors[[chosen[place]]].T).toarray()[:, 0]
        nearest = np.maximum(nearest, likeness)
        nearest[chosen[place]] = 1.0
    return chosen
