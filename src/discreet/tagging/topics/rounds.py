"""Rounds of a topic model with users as documents: each user's assignments given released tables, and bounded sums.

A user's numbers depend on that user's tags and random words and on what was released. They do not depend on other users
even in their last digits: records of a user are added up one after the other, and all else works on single numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.data.tags import TagAssignments
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.choosing import Key, id_words, keyed_words
from discreet.tagging.sums.users import bounded, holdings, length_weights

__all__ = [
    "UserTags",
    "assignments_after",
    "blind_assignments",
    "expected_assignments",
    "sampled_assignments",
    "topic_sums",
]

INNER_ROUNDS = 4
"""How often a user's mixture of topics and the topics of the user's tags are fitted to each other in a round."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class UserTags:
    """Which tags each user uses, each once, and what one of them weighs.

    Attributes
    ----------
    user, tag
        Codes, sorted by user, then tag.
    weight
        Grid steps: those of one user have a length of at most 2^bits, in the norm ``order``.
    people
        A word for each user that follows from the id alone.
    """

    user: NDArray[np.int64]
    tag: NDArray[np.int64]
    weight: NDArray[np.int64]
    n_users: int
    n_tags: int
    people: NDArray[np.uint64]
    order: int

    @classmethod
    def of(cls, data: TagAssignments, order: int = 2) -> UserTags:
        """The tags of all users of these triples."""
        user, tag = holdings(data.user, data.tag, data.n_tags)
        weight = length_weights(np.bincount(user, minlength=data.n_users), order)
        return cls(user, tag, weight[user], data.n_users, data.n_tags, id_words(data.users), order)

    def words(self, key: Key) -> NDArray[np.uint64]:
        """A random word for each of a user's tags, by its place among them; no other user changes it."""
        place = np.arange(self.user.size) - np.searchsorted(self.user, self.user)
        return keyed_words(key, [self.people[self.user], place.astype(np.uint64)])

    def mixtures(self, share: Floats) -> Floats:
        """How much of each topic each user has: topics × users."""
        return np.array(
            [np.bincount(self.user, weights=row, minlength=self.n_users) for row in share], dtype=np.float64
        )


def assignments_after(
    users: UserTags, tables: Sequence[Floats], keys: Sequence[Key], n_topics: int, alpha: float, *, drawn: bool
) -> Floats:
    """Each user's assignments after these released tables, topics × records.

    They are computed again from the first table on: they are a function of the user's records, of the keys and of what
    was released, whichever part of the users they are computed for.

    Parameters
    ----------
    keys
        One for the start, and one for each table.
    drawn
        Whether assignments are drawn; otherwise they are expected ones.
    """
    share = blind_assignments(users, n_topics, keys[0])
    for table, key in zip(tables, keys[1:], strict=True):
        if drawn:
            share = sampled_assignments(users, share, table, alpha, key)
        else:
            share = expected_assignments(users, share, table, alpha)
    return share


def blind_assignments(users: UserTags, n_topics: int, key: Key) -> Floats:
    """A random topic for each user's tag, whatever the tag is: topics × records, 0 or 1."""
    return _one_topic((users.words(key) % np.uint64(n_topics)).astype(np.int64), n_topics)


def expected_assignments(users: UserTags, share: Floats, table: Floats, alpha: float) -> Floats:
    """Pr(z | t, u) for each user's tag, by a few rounds between a user's mixture and the topics of the user's tags.

    Parameters
    ----------
    share
        The user's assignments of the last round, topics × records.
    table
        Released: positive weights, topics × tags.
    alpha
        Prior weight of a topic of a user.
    """
    given_topic = (table / table.sum(axis=1, keepdims=True))[:, users.tag]
    for _ in range(INNER_ROUNDS):
        share = _normalized(given_topic * (users.mixtures(share)[:, users.user] - share + alpha))
    return share


def sampled_assignments(users: UserTags, share: Floats, table: Floats, alpha: float, key: Key) -> Floats:
    """A topic for each user's tag, drawn given the user's other tags as they were assigned before."""
    given_topic = (table / table.sum(axis=1, keepdims=True))[:, users.tag]
    chances = _normalized(given_topic * (users.mixtures(share)[:, users.user] - share + alpha))
    drawn = (users.words(key) >> np.uint64(11)) * 2.0**-53
    below = np.zeros(users.tag.size, dtype=np.int64)
    running = np.zeros(users.tag.size)
    for row in chances[:-1]:
        running += row
        below += drawn >= running
    return _one_topic(below, chances.shape[0])


def topic_sums(users: UserTags, share: Floats) -> BoundedSums:
    """The weights of all users' tags shared out to topics, topics × tags in one row, each user of length 1 at most.

    The parts of one weight are whole numbers that add up to no more than the weight, whatever the shares. So do their
    squares to no more than its square (``docs/proofs/tag_channels.md``, Theorem 7).
    """
    left = users.weight.copy()
    sums = np.empty((share.shape[0], users.n_tags), dtype=np.int64)
    for topic, row in enumerate(share):
        part = np.minimum(np.floor(np.clip(row, 0, 1) * users.weight).astype(np.int64), left)
        left -= part
        # Sums of fewer than 2³³ steps of at most 2²⁰ are exact in floating point.
        sums[topic] = np.bincount(users.tag, weights=part, minlength=users.n_tags).astype(np.int64)
    return bounded(sums.reshape(-1), order=users.order, caps=("each user's tags were scaled to a length of 1",))


def _normalized(weights: Floats) -> Floats:
    """Columns that sum to one, topic added to topic in order."""
    total = np.zeros(weights.shape[1])
    for row in weights:
        total += row
    return weights / np.where(total > 0, total, 1)


def _one_topic(topic: NDArray[np.int64], n_topics: int) -> Floats:
    return (topic == np.arange(n_topics)[:, None]).astype(np.float64)
