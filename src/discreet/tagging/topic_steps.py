"""One round of a topic model with users as documents: what each user makes of released tables, and its bounded sum.

A user's numbers depend on that user's tags and tape and on what was released, not even in their last digits on who else
is in the data: records of a user are added up one after the other, and all else works on single numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.data.tags import TagAssignments
from discreet.privacy.bounding import BoundedSums
from discreet.tagging.exact_draws import uniform_below
from discreet.tagging.tag_sums import bounded, holdings, length_weights

__all__ = ["UserTags", "blind_assignments", "expected_assignments", "sampled_assignments", "topic_sums"]

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
        Grid steps: those of one user have a squared length of at most 4^bits.
    """

    user: NDArray[np.int64]
    tag: NDArray[np.int64]
    weight: NDArray[np.int64]
    n_users: int
    n_tags: int

    @classmethod
    def of(cls, data: TagAssignments) -> UserTags:
        user, tag = holdings(data.user, data.tag, data.n_tags)
        weight = length_weights(np.bincount(user, minlength=data.n_users), 2)
        return cls(user, tag, weight[user], data.n_users, data.n_tags)

    def mixtures(self, share: Floats) -> Floats:
        """How much of each topic each user has: topics × users."""
        return np.array(
            [np.bincount(self.user, weights=row, minlength=self.n_users) for row in share], dtype=np.float64
        )


def blind_assignments(users: UserTags, n_topics: int) -> Floats:
    """A topic for each user's tag, drawn by that user without a look at anything: topics × records, 0 or 1."""
    return _one_topic(uniform_below(np.full(users.tag.size, n_topics)), n_topics)


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


def sampled_assignments(users: UserTags, share: Floats, table: Floats, alpha: float) -> Floats:
    """A topic for each user's tag, drawn given the user's other tags as they were assigned before."""
    given_topic = (table / table.sum(axis=1, keepdims=True))[:, users.tag]
    chances = _normalized(given_topic * (users.mixtures(share)[:, users.user] - share + alpha))
    drawn = uniform_below(np.full(users.tag.size, 2**53)) * 2.0**-53
    below = np.zeros(users.tag.size, dtype=np.int64)
    running = np.zeros(users.tag.size)
    for row in chances[:-1]:
        running += row
        below += drawn >= running
    return _one_topic(below, chances.shape[0])


def topic_sums(users: UserTags, share: Floats) -> BoundedSums:
    """The weights of all users' tags shared out to topics, topics × tags in one row, each user of length 1 at most.

    The parts of one weight are whole numbers that add up to no more than the weight, whatever the shares: so their
    squares add up to no more than its square (``docs/proofs/tag_channels.md``, Theorem 7).
    """
    left = users.weight.copy()
    sums = np.empty((share.shape[0], users.n_tags), dtype=np.int64)
    for topic, row in enumerate(share):
        part = np.minimum(np.floor(np.clip(row, 0, 1) * users.weight).astype(np.int64), left)
        left -= part
        # Sums of fewer than 2³³ steps of at most 2²⁰ are exact in floating point.
        sums[topic] = np.bincount(users.tag, weights=part, minlength=users.n_tags).astype(np.int64)
    return bounded(sums.reshape(-1), order=2, caps=("each user's tags were scaled to a length of 1",))


def _normalized(weights: Floats) -> Floats:
    """Columns that sum to one, topic added to topic in order."""
    total = np.zeros(weights.shape[1])
    for row in weights:
        total += row
    return weights / np.where(total > 0, total, 1)


def _one_topic(topic: NDArray[np.int64], n_topics: int) -> Floats:
    return (topic == np.arange(n_topics)[:, None]).astype(np.float64)
