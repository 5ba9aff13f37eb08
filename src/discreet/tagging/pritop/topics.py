"""Step 1 of PriTop: noise on the counts of a topic model, and each user's tags sorted into topics.

Everything is a function of two tables of counts, as Gibbs sampling leaves them: C^TK, how often a tag was assigned to a
topic, and C^RK, how often a tag of a resource was.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.common.arrays import Integers, Matrix
from discreet.privacy.published_draws import laplace, uniforms

__all__ = ["Profiles", "TopicCounts", "count_noise", "pair_topics"]

CELLS_AT_ONCE = 2**20
"""Noise is drawn for this number of pairs × topics at a time."""


@dataclass(frozen=True, eq=False)
class TopicCounts:
    """What a topic model counts, with its priors: C^TK, tags × topics, and C^RK, resources × topics.

    The Dirichlet priors are alpha of topics in a resource, and beta of tags in a topic.

    Examples
    --------
    >>> counts = TopicCounts(np.array([[3.0, 1.0], [0.0, 4.0]]), np.array([[3.0, 5.0]]), alpha=0.1, beta=0.5)
    >>> counts.tag_given_topic
    array([[0.875, 0.25 ],
           [0.125, 0.75 ]])
    >>> counts.topic_given_tag
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """

    tags: Matrix
    resources: Matrix
    alpha: float
    beta: float

    @property
    def n_topics(self) -> int:
        return int(self.tags.shape[1])

    @property
    def tag_given_topic(self) -> Matrix:
        """Pr(t|z), equation 4.3.3."""
        return (self.tags + self.beta) / (self.tags.sum(axis=0) + self.tags.shape[0] * self.beta)

    @property
    def topic_given_tag(self) -> Matrix:
        """Pr(z|t): the share of each topic in the assignments of a tag; uniform for a tag that has none."""
        total = self.tags.sum(axis=1, keepdims=True)
        return np.where(total > 0, self.tags / np.where(total > 0, total, 1.0), 1 / self.n_topics)

    def noisy_fractions(self, resource: Integers, tag: Integers, eta_1: Matrix, eta_2: Matrix) -> tuple[Matrix, ...]:
        """Numerator and denominator of tags, then of resources, in equation 4.3.5: pairs × topics.

        What noise adds above it takes away below.
        """
        n_tags, n_topics = self.tags.shape
        return (
            self.tags[tag] + eta_1 + self.beta,
            self.tags.sum(axis=0) - eta_1 + n_tags * self.beta,
            self.resources[resource] + eta_2 + self.alpha,
            self.resources.sum(axis=1)[resource, None] - eta_2 + n_topics * self.alpha,
        )

    def noisy_topic_law(self, resource: Integers, tag: Integers, eta_1: Matrix, eta_2: Matrix) -> Matrix:
        """Pr^(z|t,r) of equation 4.3.5; rows sum to one.

        Noise can turn a count negative, of which the paper says nothing: such a count is taken for 0, so that the prior
        alone is left.
        """
        n_tags, n_topics = self.tags.shape
        priors = (self.beta, n_tags * self.beta, self.alpha, n_topics * self.alpha)
        fractions = self.noisy_fractions(resource, tag, eta_1, eta_2)
        above_1, below_1, above_2, below_2 = (np.maximum(f, p) for f, p in zip(fractions, priors, strict=True))
        law = (above_1 / below_1) * (above_2 / below_2)
        return law / law.sum(axis=1, keepdims=True)

    def with_noise(self, eta_1: Matrix, eta_2: Matrix) -> TopicCounts:
        """The model of noisy counts; negative ones are taken for 0."""
        return TopicCounts(
            np.maximum(self.tags + eta_1, 0), np.maximum(self.resources + eta_2, 0), self.alpha, self.beta
        )


def count_noise(
    counts: TopicCounts, resource: Integers, tag: Integers, *, scale: float, tables: tuple[Matrix, Matrix] | None = None
) -> tuple[Matrix, Matrix]:
    """η₁ and η₂ of each pair of a resource and a tag: looked up in tables that were drawn once, or fresh ones."""
    if tables is not None:
        return tables[0][tag], tables[1][resource]
    shape = (tag.size, counts.n_topics)
    return laplace(np.full(shape, scale)), laplace(np.full(shape, scale))


def pair_topics(
    counts: TopicCounts,
    resource: Integers,
    tag: Integers,
    *,
    scale: float,
    assignment: str = "likeliest",
    tables: tuple[Matrix, Matrix] | None = None,
) -> Integers:
    """The topic of each pair of a resource and a tag, by Pr^(z|t,r)."""
    topic = np.empty(tag.size, dtype=np.int64)
    step = max(1, CELLS_AT_ONCE // counts.n_topics)
    for start in range(0, tag.size, step):
        some = slice(start, start + step)
        noise = count_noise(counts, resource[some], tag[some], scale=scale, tables=tables)
        law = counts.noisy_topic_law(resource[some], tag[some], *noise)
        if assignment == "likeliest":
            topic[some] = law.argmax(axis=1)
        else:
            passed = np.cumsum(law, axis=1) < uniforms((law.shape[0], 1))
            topic[some] = np.minimum(passed.sum(axis=1), counts.n_topics - 1)
    return topic


@dataclass(frozen=True, eq=False)
class Profiles:
    """Topic-based profiles: T_z(u) of every user and topic, with the resources that each tag stands on.

    Entries are sorted by topic, user and tag. The resources of entry ``e`` are those from ``link[link_starts[e]]`` to
    before ``link[link_starts[e + 1]]``.
    """

    topic: Integers
    user: Integers
    tag: Integers
    link_starts: Integers
    link: Integers
    n_users: int
    n_topics: int

    @classmethod
    def of(
        cls,
        user: Integers,
        resource: Integers,
        tag: Integers,
        topic: Integers,
        *,
        n_users: int,
        n_topics: int,
        merged: bool = True,
    ) -> Profiles:
        """Sort triples with their topics into profiles.

        If merged, a tag that a user gave to several resources is one entry of a topic; otherwise one for each of them.
        """
        order = np.lexsort((resource, tag, user, topic))
        topic, user, tag = topic[order], user[order], tag[order]
        begins = np.ones(order.size, dtype=bool)
        if merged:
            begins[1:] = (np.diff(topic) != 0) | (np.diff(user) != 0) | (np.diff(tag) != 0)
        first = np.flatnonzero(begins)
        return cls(
            topic=topic[first],
            user=user[first],
            tag=tag[first],
            link_starts=np.append(first, order.size),
            link=resource[order].astype(np.int64),
            n_users=n_users,
            n_topics=n_topics,
        )

    def weights(self) -> Integers:
        """W_z(u): how many entries each user (row) has in each topic (column)."""
        cells = np.bincount(self.user * self.n_topics + self.topic, minlength=self.n_users * self.n_topics)
        return cells.reshape(self.n_users, self.n_topics)

    def starts(self, topic: int) -> Integers:
        """Where the entries of each user in one topic begin, and where the last ones end."""
        low, high = np.searchsorted(self.topic, [topic, topic + 1])
        return low + np.searchsorted(self.user[low:high], np.arange(self.n_users + 1))
