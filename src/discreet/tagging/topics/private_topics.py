"""Topics of tags, released: users are documents, and what one user can change is bounded before noise is added.

References
----------
J. Foulds, J. Geumlek, M. Welling, K. Chaudhuri: On the theory and practice of privacy-preserving Bayesian data
analysis. UAI 2016 (noisy sufficient statistics for Gibbs sampling).
M. Park, J. Foulds, K. Chaudhuri, M. Welling: Variational Bayes in private settings. J. Artif. Intell. Res. 2020.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.common.arguments import require_choice, require_whole
from discreet.common.arrays import Floats, Integers
from discreet.data.tags import TagAssignments
from discreet.errors import ReleaseError
from discreet.privacy import entropy
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.budget import as_share
from discreet.privacy.choosing import Key, id_words, keyed_words
from discreet.privacy.method import Plan, Round, Rounds
from discreet.privacy.numbers import Rational, as_positive
from discreet.privacy.release import Release
from discreet.tagging.sums import best, bounded, holdings, length_weights, popularity, tag_gram
from discreet.tagging.tag_method import PublicList, TagMethod, id_columns
from discreet.tagging.topics.gram_topics import MOST_TOPICS, Topics, topics_of_gram

__all__ = [
    "PrivateTopics",
    "UserTags",
    "assignments_after",
    "blind_assignments",
    "expected_assignments",
    "sampled_assignments",
    "topic_sums",
    "topics_of_release",
]

TopicMethod = Literal["gram", "expected", "gibbs"]

FLATTENING = 0.01
"""β: added to every released count of tag and topic."""

Found = Generator[Round, Any, tuple[Topics, Integers]]
"""Rounds that end with topics and the codes of their tags."""

INNER_ROUNDS = 4
"""How often a user's mixture of topics and the topics of the user's tags are fitted to each other in a round."""


@dataclass(frozen=True)
class PrivateTopics(TagMethod):
    """A topic model of tags that one user changes little.

    Parameters
    ----------
    epsilon, delta
        The budget. With δ = 0 the noise is Laplace noise, which is larger.
    method
        ``"gram"``: one noisy matrix of the tags that users have in common, factored afterwards (the default: it spends
        the budget once). ``"expected"``: expected assignments of each user's tags to topics, released anew in each
        round. ``"gibbs"``: the same with assignments that are drawn for each user.
    topics
        How many topics; with "gram" the most.
    iterations
        Rounds of "expected" and "gibbs".
    head
        How many of the most popular tags the matrix of "gram" is about.
    popularity_share
        Share of the budget that "gram" spends to find them.
    alpha
        Prior weight of a topic of a user.

    Privacy
    -------
    Unit: one user, present or absent. With "gram" a user's tags have length 1, and so has the user's matrix. With
    "expected" and "gibbs" a user's tags, each once, have length 1, and so has what the user adds to the table of tags ×
    topics, however the tags are assigned: each of I releases with noise of deviation √I/μ, which is μ-GDP together. In
    a round a user's assignments depend on that user's tags, on what was drawn for the user before and on released
    tables, on nothing else; before the first release they depend on the tags alone. With δ = 0 lengths are in L1, and
    the noise is discrete Laplace. Proofs: ``docs/proofs/tag_channels.md``, Theorems 6 and 7. Not covered: the public
    list of tags.

    Notes
    -----
    Documents are users, not resources: a resource's document would mix the tags of many users, so that one more tag
    would change the assignments of others. The last table is released; the guarantee covers all of them.

    Examples
    --------
    >>> import discreet as dc
    >>> data = dc.synthetic.tags(users=300, resources=40, seed=7).cleaned().with_vocabulary("observed")
    >>> release = PrivateTopics(epsilon=8, delta="1e-6", method="expected", topics=4).release(data)
    >>> topics_of_release(release).n_topics
    4
    """

    name: ClassVar[str] = "private-topics"
    kind: ClassVar[str] = "tag-topics"

    epsilon: Rational
    delta: Rational = 0
    method: TopicMethod = "gram"
    topics: int = MOST_TOPICS
    iterations: int = 10
    head: int = 300
    popularity_share: Rational = "1/10"
    alpha: Rational = "1/2"

    def __post_init__(self) -> None:
        self._set_exact("popularity_share")
        require_choice(self.method, "method", get_args(TopicMethod))
        for name in ("topics", "iterations", "head"):
            require_whole(getattr(self, name), name, most=10_000)
        as_share(self.popularity_share, "popularity_share")
        object.__setattr__(self, "alpha", as_positive(self.alpha, "alpha"))

    @property
    def _lists(self) -> tuple[PublicList, ...]:
        return ("tags",)

    @property
    def _shares(self) -> dict[str, Fraction]:
        if self.method != "gram":
            return {"table": Fraction(1, self.iterations)}
        first = Fraction(self.popularity_share)
        return {"popularity": first, "gram": 1 - first}

    def _plan(self, public: TagAssignments) -> Plan:
        gram = self.method == "gram"
        if gram:
            sums = {"popularity": popularity(public, self._norm), "gram": tag_gram(public, np.arange(1), self._norm)}
        else:
            sums = {"table": topic_sums(UserTags.of(public, self._norm), np.zeros((self.topics, 0)))}
        how = "tags that go together" if gram else f"tags and topics in {self.iterations} rounds"
        return self._noisy_plan(
            public,
            sums,
            f"private topics, docs/proofs/tag_channels.md, Theorem {6 if gram else 7}",
            f"topics of {public.n_tags:,} tags from noisy counts of {how}",
            ("the public list of tags",),
        )

    def _not_combined(self, plan: Plan) -> str:
        words = f"with method={self.method!r} each table follows from random assignments that a round would draw anew"
        return "" if self.method == "gram" else f'{words}; method="gram" can be combined'

    def _rounds(self, plan: Plan) -> Rounds:
        topics, head = yield from self._of_gram(plan) if self.method == "gram" else self._of_tables(plan)
        tags = pl.DataFrame(id_columns(plan.public, tag=head))
        return {"topics": topics.tag_given_topic, "shares": topics.share, "tags": tags}

    def _of_gram(self, plan: Plan) -> Found:
        norm = self._norm
        first = Round(lambda data: popularity(data, norm), self._noise("popularity"), noise=("popularity_noise_sd",))
        head = best((yield first), self.head)
        second = Round(lambda data: tag_gram(data, head, norm), self._noise("gram"), noise=("gram_noise_sd",))
        (matrix,) = yield second
        return topics_of_gram(matrix, plan.expected["gram_noise_sd"], most_topics=self.topics), head

    def _of_tables(self, plan: Plan) -> Found:
        """Each round: every user's assignments given the tables so far, their sum with noise, the next table."""
        norm, alpha = self._norm, float(as_positive(self.alpha))
        step = float(topic_sums(UserTags.of(plan.public, norm), np.zeros((1, 0))).step)
        tables: list[Floats] = []
        keys: list[Key] = []

        def table_sums(data: TagAssignments) -> BoundedSums:
            users, drawn = UserTags.of(data, norm), self.method == "gibbs"
            return topic_sums(users, assignments_after(users, tables, keys, self.topics, alpha, drawn=drawn))

        for _ in range(self.iterations):
            keys.append(entropy.bounding_key())
            noisy = (yield Round(table_sums, self._noise("table"))).reshape(self.topics, -1) * step
            tables.append(np.maximum(noisy, 0) + FLATTENING)
        return Topics.of_weights(tables[-1].T), np.arange(plan.public.n_tags)


def topics_of_release(release: Release) -> Topics:
    """The topic model of a release of ``PrivateTopics``; its tags are those of the part "tags", in that order."""
    if release.kind != PrivateTopics.kind:
        raise ReleaseError(f"a release of kind {release.kind!r} holds no topics.")
    return Topics.of_weights(release.array("topics").T * release.array("shares"))


@dataclass(frozen=True, eq=False)
class UserTags:
    """Which tags each user uses, each once, sorted by user, then tag, and what one of them weighs.

    The weights of one user, in grid steps, have a length of at most 2^bits in the norm ``order``. ``people`` has a word
    for each user that follows from the id alone.
    """

    user: Integers
    tag: Integers
    weight: Integers
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
    """Each user's assignments after these released tables, topics × records: drawn ones or expected ones.

    They are computed again from the first table on: they are a function of the user's records, of the keys (one for the
    start, and one for each table) and of what was released, whichever part of the users they are computed for.
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

    ``share`` has the assignments of the last round, topics × records; the released table positive weights, topics ×
    tags; ``alpha`` is the prior weight of a topic of a user.
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


def _one_topic(topic: Integers, n_topics: int) -> Floats:
    return (topic == np.arange(n_topics)[:, None]).astype(np.float64)
