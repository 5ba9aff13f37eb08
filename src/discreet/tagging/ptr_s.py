"""PTR-S: a table of assignments of synthetic people, drawn from noisy sums about the real ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import polars as pl

from discreet.common.arguments import require_whole
from discreet.common.arrays import Floats, Integers
from discreet.data.ids import IdMap
from discreet.data.tags import TagAssignments
from discreet.errors import UsageError
from discreet.privacy import entropy
from discreet.privacy.method import Plan, Round, Rounds
from discreet.privacy.numbers import Rational
from discreet.tagging.sums import (
    SIZES,
    best,
    popularity,
    resource_topics,
    size_counts,
    tag_gram,
    topic_steps,
    type_counts,
)
from discreet.tagging.tag_method import ASSIGNMENTS, TagMethod
from discreet.tagging.topics.gram_topics import topics_of_gram

__all__ = [
    "PTRS",
    "synthetic_posts",
]

SHARES = {name: Fraction(share) for name, share in (
    ("popularity", "1/10"), ("gram", "2/5"), ("resources", "2/5"), ("sizes", "1/20"), ("types", "1/20"),
)}  # fmt: skip
"""How the budget is divided; public and fixed."""

MOST_USERS = 10**6
"""No more people are made than this, whatever the noisy number says."""

TAGS_A_POST = 2.5
"""How many tags a post has on average: a public assumption."""

OWN_TOPIC, ANY_TOPIC = 3.0, 0.3
"""Weights of a person's main topic and of all others in that person's distribution over topics."""


@dataclass(frozen=True)
class PTRS(TagMethod):
    """Synthetic triples, which say (ε, δ)-little about any real person, whatever is done with them.

    Parameters
    ----------
    epsilon, delta
        The budget. With δ = 0 the noise is Laplace noise, which is larger.
    head
        How many of the most popular tags topics are made of; all others are one more topic.
    topics
        The most topics.
    users
        How many synthetic people; None for the noisy number of users.

    Privacy
    -------
    Unit: one user, present or absent. Released with noise, one after the other: (1) the popularity of tags, every user
    of length 1; (2) the Gram matrix of the ``head`` most popular tags, every user of length 1; (4) resources by topic,
    every user of length 1; (5) numbers of users by size and by main topic, one vote each. (3) Topics and (6) the
    triples are functions of these, of public values and of fresh random bits. μ-GDP with Σ μₖ² = μ², which gives
    (ε, δ); with δ = 0 lengths are in L1 and the noise is discrete Laplace, ε = Σ εₖ (``docs/proofs/tagging.md``,
    Theorem 8).

    Both lists are public. Where they are not, ``discover_tags`` and ``discover_resources`` find them, and their cost is
    added (step 0).

    Notes
    -----
    Real people and their posts do not occur. The names of the synthetic people have a random part, so that nobody has
    one of them. With a few thousand users and ε near 1 the noise leaves a few topics and the resources that very many
    tag. For recommendations ``PTRJ`` is simpler and as good; this is for those who need a table.

    Examples
    --------
    >>> import discreet as dc
    >>> data = dc.synthetic.tags(users=300, resources=40, seed=7).cleaned()
    >>> data = data.with_vocabulary("observed").with_resources("observed")
    >>> release = PTRS(epsilon=2, delta="1e-6", users=50).release(data)
    >>> synthetic = dc.TagAssignments(release.table("assignments"))
    >>> synthetic.n_users
    50
    """

    name: ClassVar[str] = "ptr-s"
    kind: ClassVar[str] = ASSIGNMENTS

    epsilon: Rational
    delta: Rational = 0
    head: int = 100
    topics: int = 30
    users: int | None = None

    def __post_init__(self) -> None:
        self._set_exact()
        require_whole(self.head, "head", most=MOST_USERS)
        require_whole(self.topics, "topics", most=MOST_USERS)
        if self.users is not None:
            require_whole(self.users, "users", most=MOST_USERS)

    @property
    def _shares(self) -> dict[str, Fraction]:
        return SHARES

    def _plan(self, public: TagAssignments) -> Plan:
        if not public.n_tags or not public.n_resources:
            raise UsageError("a public list of tags or of resources is empty.", remedy="Give lists with entries.")
        norm = self._norm
        no_topics = topic_steps(np.ones((0, 1)), np.empty(0, dtype=np.int64), public.n_tags)
        sums = {
            "popularity": popularity(public, norm),
            "gram": tag_gram(public, np.arange(min(self.head, public.n_tags)), norm),
            "resources": resource_topics(public, no_topics, norm),
            "sizes": size_counts(public),
            "types": type_counts(public, no_topics),
        }
        return self._noisy_plan(
            public,
            sums,
            "synthetic assignments, docs/proofs/tagging.md, Theorem 8",
            "assignments of synthetic people",
            ("the public lists of tags and resources",),
        )

    def _rounds(self, plan: Plan) -> Rounds:
        public: TagAssignments = plan.public
        norm, noise = self._norm, plan.expected

        def noisy(name: str, statistics: Any) -> Any:
            answer = yield Round(statistics, self._noise(name), noise=(f"{name}_noise_sd",))
            return answer.astype(np.float64) * float(statistics(public).step)

        tags = yield from noisy("popularity", lambda data: popularity(data, norm))
        head = best(tags, self.head)
        gram = Round(lambda data: tag_gram(data, head, norm), self._noise("gram"), noise=("gram_noise_sd",))
        (matrix,) = yield gram
        found = topics_of_gram(matrix, noise["gram_noise_sd"], most_topics=self.topics)
        topics = topic_steps(found.topic_given_tag, head, public.n_tags)
        by_topic = yield from noisy("resources", lambda data: resource_topics(data, topics, norm))
        sizes = yield from noisy("sizes", size_counts)
        types = yield from noisy("types", lambda data: type_counts(data, topics))

        words = np.tile(np.maximum(tags, 0.0), (topics.shape[1], 1))
        words[-1, head] = 0.0
        words[:-1] = 0.0
        words[:-1, head] = found.tag_given_topic
        many = self.users if self.users is not None else int(np.clip(np.rint(sizes.sum()), 1, MOST_USERS))
        assignments = synthetic_posts(
            many,
            types=types,
            sizes=above_noise(sizes, noise["sizes_noise_sd"]),
            resources=shrunk(by_topic, noise["resources_noise_sd"]),
            tags=words,
            resource_ids=public.resources,
            tag_ids=public.tags,
        )
        return {"assignments": assignments}


def above_noise(sizes: Floats, noise: float) -> Floats:
    """Classes of sizes above two standard deviations of the noise; where there is none, that of 16 to 31 triples.

    Noise on the last classes would make people with thousands of triples.

    Examples
    --------
    >>> above_noise(np.array([3.0, -1.0, 40.0]), 2.0).tolist()
    [0.0, 0.0, 40.0]
    """
    kept = np.where(sizes > 2 * noise, sizes, 0.0)
    if not kept.any():
        kept[min(4, kept.size - 1)] = 1.0
    return kept


def shrunk(rows: Floats, noise: float) -> Floats:
    """Rows shrunk towards zero by how much of their length is noise (James and Stein), without negative entries.

    Half of the rows of noise alone would stay; those within four deviations of its squared length are set to 0.

    Examples
    --------
    >>> shrunk(np.array([[30.0, 0.0], [1.0, -1.0]]), 1.0).round(2).tolist()
    [[29.93, 0.0], [0.0, 0.0]]
    """
    width = rows.shape[1]
    squared = (rows**2).sum(axis=1, keepdims=True) / noise**2
    factor = np.where(squared > width + 4 * math.sqrt(2 * width), 1 - width / np.maximum(squared, 1.0), 0.0)
    return np.maximum(rows * factor, 0.0)


def synthetic_posts(
    n_users: int, *, types: Floats, sizes: Floats, resources: Floats, tags: Floats, resource_ids: IdMap, tag_ids: IdMap
) -> pl.DataFrame:
    """Triples of ``n_users`` synthetic people: user_id, resource_id, tag. Post-processing, which costs nothing.

    Parameters
    ----------
    types
        Weights of topics as the main interest of a person.
    sizes
        Weights of the numbers of triples 1, 2–3, 4–7 …
    resources, tags
        Weights of resources × topics, and of topics × tags.
    """
    people = np.zeros(n_users, dtype=np.int64)
    main, size = _drawn(_laws(types[None]), people), _drawn(_laws(sizes[None]), people)
    low = 2 ** np.minimum(size, SIZES - 1)
    triples = low + (low * entropy.public_uniforms(n_users)).astype(np.int64)
    posts = np.maximum(1, np.rint(triples / TAGS_A_POST)).astype(np.int64)
    user = np.repeat(np.arange(n_users), posts)
    topic = _drawn(_interests(types, main), user)
    resource = _drawn(_laws(resources.T), topic)
    many = _poisson(TAGS_A_POST - 1, user.size) + 1
    user, resource, topic = np.repeat(user, many), np.repeat(resource, many), np.repeat(topic, many)
    # Half of the tags follow what led to the resource, half what the resource is about altogether.
    about = _drawn(_laws(resources), resource)
    topic = np.where(entropy.public_uniforms(topic.size) < 0.5, topic, about)
    tag = _drawn(_laws(tags), topic)
    rows = np.unique(np.stack([user, resource, tag], axis=1), axis=0)
    # A fresh random number, so that no real person has the name of a synthetic one.
    batch = f"{int(entropy.public_words(1)[0]):016x}"
    names = pl.Series([f"synthetic-{batch}-{number + 1}" for number in range(n_users)], dtype=pl.String)
    ids = {"resource_id": resource_ids.take(rows[:, 1]), "tag": tag_ids.take(rows[:, 2])}
    return pl.DataFrame({"user_id": names.gather(rows[:, 0]), **ids})


def _interests(types: Floats, main: Integers) -> Floats:
    """For each person a law over topics, Dirichlet about the main interest; rows are cumulative."""
    from scipy.special import gammaincinv

    weights = ANY_TOPIC * types.size * np.tile(_shares(types), (main.size, 1))
    weights[np.arange(main.size), main] += OWN_TOPIC
    uniform = entropy.public_uniforms(weights.size).reshape(weights.shape)
    return _laws(gammaincinv(np.maximum(weights, 1e-3), uniform))


def _shares(weights: Floats) -> Floats:
    """Rows that sum to one, or a row; uniform where nothing is left of the sums."""
    positive = np.maximum(weights, 0.0)
    total = positive.sum(axis=-1, keepdims=True)
    return np.where(total > 0, positive / np.where(total > 0, total, 1.0), 1 / weights.shape[-1])


def _laws(weights: Floats) -> Floats:
    """Cumulative laws, one a row."""
    return np.cumsum(_shares(weights), axis=1)


def _drawn(laws: Floats, row: Integers) -> Integers:
    """One draw for each entry of ``row``, from the law of that row."""
    # All laws one after the other, each shifted by its number, are one long increasing list.
    shifted = (np.minimum(laws, 1.0) + np.arange(laws.shape[0])[:, None]).ravel()
    place = np.searchsorted(shifted, row + entropy.public_uniforms(row.size), side="right") - row * laws.shape[1]
    return np.clip(place, 0, laws.shape[1] - 1)


def _poisson(mean: float, n: int) -> Integers:
    """Poisson numbers by their distribution function."""
    from scipy.special import pdtr

    return np.searchsorted(pdtr(np.arange(40), mean), entropy.public_uniforms(n), side="right").astype(np.int64)
