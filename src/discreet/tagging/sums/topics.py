"""Sums over users about released topics: resources by topic, users by size and by topic; ``docs/proofs/tagging.md``."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.data.tags import TagAssignments
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.units import Unit
from discreet.tagging.sums.users import BITS, bounded, unit_counts

__all__ = ["SIZES", "TagTopics", "resource_topics", "size_counts", "type_counts"]

TOPIC_STEPS = 64
"""Probabilities of topics are whole numbers of 1/64."""

MOST_IN_A_POST = 2**20
"""More of one topic does not count in one post: 16,384 tags."""

FINER_BITS = 10

SIZES = 13
"""Users are counted by the number of their triples: 1, 2–3, 4–7 … and from 2¹² on."""


@dataclass(frozen=True, eq=False)
class TagTopics:
    """How much each tag of the vocabulary is about each topic, in whole numbers of 1/64 that add up to 64 at most.

    A function of released values. All tags outside of the head make up the last topic.
    """

    steps: NDArray[np.int64]

    @classmethod
    def of(cls, topic_given_tag: NDArray[np.float64], head: NDArray[np.int64], n_tags: int) -> TagTopics:
        n_topics = topic_given_tag.shape[1]
        steps = np.zeros((n_tags, n_topics + 1), dtype=np.int64)
        steps[:, n_topics] = TOPIC_STEPS
        steps[head] = 0
        steps[head, :n_topics] = np.floor(topic_given_tag * TOPIC_STEPS).astype(np.int64)
        return cls(steps)

    @property
    def n_topics(self) -> int:
        return self.steps.shape[1]


def resource_topics(data: TagAssignments, topics: TagTopics, order: int) -> BoundedSums:
    """For each resource how much of what users gave it is about each topic; a user has length 1 at most.

    A post adds the topics of its tags, y. With s = Σ ‖y‖² over a user's posts every entry is multiplied by 2^b/√s, with
    s = Σ ‖y‖₁ by 2^b/s, in whole numbers and rounded down: the length is 2^b at most.
    """
    posts = data.posts
    sizes = np.diff(posts.starts)
    post = np.repeat(np.arange(len(posts)), sizes)
    y = np.stack(
        [
            np.bincount(post, weights=topics.steps[data.tag, z], minlength=len(posts)).astype(np.int64)
            for z in range(topics.n_topics)
        ],
        axis=1,
    )
    # With Σ y ≤ 64·2³¹ over all triples that a table holds, Σ y² stays below 2⁵⁷: no sum can overflow.
    y = np.minimum(y, MOST_IN_A_POST)
    weight = _lengths(_by_user(posts.user, (y**order).sum(axis=1), data.n_users), order)
    values = np.stack(
        [
            np.bincount(
                posts.resource, weights=(weight[posts.user] * y[:, z]) >> FINER_BITS, minlength=data.n_resources
            )
            for z in range(topics.n_topics)
        ],
        axis=1,
    ).astype(np.int64)
    return bounded(values, order=order, caps=("each user's resources by topic were scaled to a length of 1",))


def size_counts(data: TagAssignments) -> BoundedSums:
    """Numbers of users by how many triples they have, in powers of two."""
    triples = np.diff(data.user_starts)
    bins = np.array([min(int(n).bit_length() - 1, SIZES - 1) for n in triples[triples > 0]], dtype=np.int64)
    return unit_counts(np.bincount(bins, minlength=SIZES), Unit("user"))


def type_counts(data: TagAssignments, topics: TagTopics) -> BoundedSums:
    """Numbers of users by the topic that most of their triples are about; of equals the first."""
    about = np.stack(
        [
            np.bincount(data.user, weights=topics.steps[data.tag, z], minlength=data.n_users).astype(np.int64)
            for z in range(topics.n_topics)
        ],
        axis=1,
    )
    return unit_counts(np.bincount(about.argmax(axis=1), minlength=topics.n_topics), Unit("user"))


def _by_user(user: NDArray[np.int32], values: NDArray[np.int64], n_users: int) -> NDArray[np.int64]:
    """Sums of whole numbers by user, exact in 64 bits: posts stand sorted by user."""
    running = np.concatenate([[0], np.cumsum(values)])
    return np.diff(running[np.searchsorted(user, np.arange(n_users + 1))])


def _lengths(sums: NDArray[np.int64], order: int) -> NDArray[np.int64]:
    """⌊√(4^c/s)⌋ or ⌊2^c/s⌋ for each user, c = b + 10: ten bits more than are kept."""
    distinct, inverse = np.unique(sums, return_inverse=True)
    each, bits = [max(int(s), 1) for s in distinct], BITS + FINER_BITS
    found = [math.isqrt(4**bits // s) if order == 2 else 2**bits // s for s in each]
    return np.array(found, dtype=np.int64)[inverse]
