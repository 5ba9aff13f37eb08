"""Steps 2 and 3 of PriTop: noisy topic weights, lists of tags that follow from them, new tags, new triples."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
import polars as pl

from discreet.common.arrays import Integers, Matrix, Vector
from discreet.data.tags import Posts, TagAssignments
from discreet.privacy.published_draws import laplace, uniforms
from discreet.tagging.pritop.topics import Profiles, TopicCounts
from discreet.tagging.tag_method import id_columns

__all__ = [
    "RevisedLists",
    "Rewriting",
    "SparseRows",
    "closeness",
    "expected_insertions",
    "members_of",
    "noisy_sizes",
    "replace",
    "revise",
    "sparse_rows",
]

SparseRows = tuple[Integers, Integers, Vector, Vector]
"""Starts, columns, values v and v·log₂ v of the cells above 0."""

CACHED_CELLS = 2**25
"""Weights are kept for this number of pairs of tags at a time."""


@dataclass(frozen=True, eq=False)
class RevisedLists:
    """The lists T~_z(u) of all users in one topic; that of user ``u`` goes from ``starts[u]`` to ``starts[u + 1]``.

    What was kept stands in the order of the profile, then comes what was added, most probable first. The origin says
    which entry of the profile a tag was; −1 for a tag that was added.
    """

    starts: Integers
    tag: Integers
    origin: Integers


def noisy_sizes(weights: Integers, scales: Matrix) -> Integers:
    """How long each list shall be: the weight with Laplace noise, equation 4.3.6, rounded; at least 0."""
    noisy = weights + laplace(np.broadcast_to(scales, weights.shape))
    return np.maximum(np.floor(noisy + 0.5), 0).astype(np.int64)


def expected_insertions(scale: float) -> float:
    """How many tags noise adds to a list on average.

    Examples
    --------
    >>> round(expected_insertions(4.0), 3)
    1.995
    """
    # Σ_{n ≥ 1} Pr[noise ≥ n − 1/2], each e^−(n − 1/2)/scale / 2: a geometric series.
    return math.exp(-0.5 / scale) / (2 * -math.expm1(-1 / scale))


def revise(
    starts: Integers, tags: Integers, sizes: Integers, *, probability: Vector, ranking: Integers
) -> RevisedLists:
    """Lengthen or shorten the list of every user in one topic, equations 4.3.7 and 4.3.8.

    The entries of user ``u`` are ``tags[starts[u]:starts[u + 1]]``. By Pr(t|z) in this topic, ``probability``, the
    least probable go first. What can be added is in ``ranking``, most probable first: a list gets what it does not
    have yet, and ends early where nothing is left to add.
    """
    from discreet.tagging.pritop.kernels import revised_lists

    low, high = int(starts[0]), int(starts[-1])
    user = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    order = np.lexsort((-probability[tags[low:high]], user))  # equally probable ones in the order of the list
    rank = np.empty(high - low, dtype=np.int64)
    rank[order] = np.arange(high - low) - (starts[:-1] - low)[user]
    return RevisedLists(*revised_lists(starts, tags, rank, sizes, ranking, probability.size))


def sparse_rows(table: Matrix) -> SparseRows:
    """The cells above 0, row by row."""
    row, column = np.nonzero(table > 0)
    starts = np.searchsorted(row, np.arange(table.shape[0] + 1))
    value = np.ascontiguousarray(table[row, column])
    return starts.astype(np.int64), column.astype(np.int64), value, value * np.log2(value)


def closeness(topic_given_tag: Matrix) -> Matrix:
    """q of each pair of tags: 1 − JS of their topics, with logarithms of base 2 (equations 4.3.9 to 4.3.11).

    Examples
    --------
    >>> closeness(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])).round(4)
    array([[1.    , 0.    , 0.6887],
           [0.    , 1.    , 0.6887],
           [0.6887, 0.6887, 1.    ]])
    """
    from discreet.tagging.pritop.kernels import weight_matrix

    n_tags, n_topics = topic_given_tag.shape
    return 1 + np.log(weight_matrix(np.arange(n_tags), *sparse_rows(topic_given_tag), n_topics, 1.0))


def members_of(counts: TopicCounts, members: str) -> list[Integers]:
    """The tags of each topic: "assigned" to it at least once, or those with this as their "likeliest" topic."""
    if members == "assigned":
        return [np.flatnonzero(column > 0) for column in counts.tags.T]
    home = np.where(counts.tags.sum(axis=1) > 0, counts.tags.argmax(axis=1), -1)
    return [np.flatnonzero(home == topic) for topic in range(counts.n_topics)]


def replace(
    lists: RevisedLists, rows: SparseRows, *, n_topics: int, epsilon: float, candidates: Integers | None
) -> Integers:
    """What every tag of the lists is replaced by; −1 where no candidate is left.

    ``rows`` has Pr(z|t) of every tag. Candidates are the tags to choose from; None for those of the list itself,
    user by user.
    """
    from discreet.tagging.pritop.kernels import replaced

    among = np.unique(lists.tag) if candidates is None else candidates
    slots = max(1, min(CACHED_CELLS // max(1, among.size), rows[0].size))
    chance = uniforms((lists.tag.size,))
    return replaced(lists.starts, lists.tag, among, candidates is None, *rows, n_topics, epsilon / 8, chance, slots)


@dataclass(frozen=True, eq=False)
class Rewriting:
    """Codes of triples after the rewriting (some may be equal), the topic of the list that a tag comes from, and which
    tag was replaced (−1 where the tag was added).
    """

    user: Integers
    resource: Integers
    tag: Integers
    topic: Integers
    old: Integers

    def __len__(self) -> int:
        return int(self.user.size)

    @classmethod
    def of_topic(
        cls,
        lists: RevisedLists,
        chosen: Integers,
        profiles: Profiles,
        posts: Posts,
        topic: int,
        *,
        resource_weights: Vector,
        links: str,
        inserted: str,
    ) -> Rewriting:
        """The triples of one topic.

        Parameters
        ----------
        lists, chosen
            The lists of all users, and what their tags are replaced by (−1 for nothing).
        resource_weights
            How often the tags of each resource were assigned to this topic; resources are drawn by it.
        links, inserted
            As in ``PriTop``.
        """
        owner = np.repeat(np.arange(lists.starts.size - 1), np.diff(lists.starts))
        added = np.flatnonzero((lists.origin < 0) & (chosen >= 0))
        kept = np.flatnonzero((lists.origin >= 0) & (chosen >= 0))
        entry, resource = _links_of(profiles, lists.origin[kept])
        kept = kept[entry]
        if links == "drawn":
            resource = _drawn(resource_weights, kept.size)
        if inserted == "own":
            theirs = _of_user(posts, owner[added])
        elif inserted == "drawn":
            theirs = _drawn(resource_weights, added.size)
        else:
            added, theirs = added[:0], np.empty(0, dtype=np.int64)
        place = np.concatenate([kept, added])
        return cls(
            user=owner[place],
            resource=np.concatenate([resource, theirs]),
            tag=chosen[place],
            topic=np.full(place.size, topic),
            old=np.where(lists.origin[place] >= 0, lists.tag[place], -1),
        )

    @classmethod
    def together(cls, parts: list[Rewriting]) -> Rewriting:
        """Several topics in one."""
        return cls(*(np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(cls)))

    def to_frame(self, data: TagAssignments) -> pl.DataFrame:
        """The distinct triples with the ids of ``data``: user_id, resource_id, tag."""
        codes = np.unique(np.stack([self.user, self.resource, self.tag], axis=1), axis=0)
        return pl.DataFrame(id_columns(data, user=codes[:, 0], resource=codes[:, 1], tag=codes[:, 2]))


def _links_of(profiles: Profiles, entries: Integers) -> tuple[Integers, Integers]:
    """Every link of some entries: which of the entries it belongs to, and its resource."""
    first = profiles.link_starts[entries]
    sizes = profiles.link_starts[entries + 1] - first
    entry = np.repeat(np.arange(entries.size), sizes)
    rank = np.arange(entry.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return entry, profiles.link[first[entry] + rank]


def _of_user(posts: Posts, users: Integers) -> Integers:
    """A resource of each of these users, all of the user's being equally likely."""
    first = np.searchsorted(posts.user, users, side="left")
    last = np.searchsorted(posts.user, users, side="right")
    place = first + np.floor(uniforms((users.size,)) * (last - first)).astype(np.int64)
    return posts.resource[place].astype(np.int64)


def _drawn(weights: Vector, size: int) -> Integers:
    """This number of resources, with probability proportional to their weights; uniform where all weights are 0."""
    passed = np.cumsum(weights if weights.any() else np.ones(weights.size))
    place = np.searchsorted(passed, uniforms((size,)) * passed[-1], side="right")
    return np.minimum(place, weights.size - 1).astype(np.int64)
