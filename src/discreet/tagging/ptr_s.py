"""PTR-S: a table of assignments of invented people, drawn from noisy sums about the real ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.data.tags import TagAssignments
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.numbers import Rational, as_positive, as_probability
from discreet.privacy.units import Unit
from discreet.tagging.gram_topics import topics_of_gram
from discreet.tagging.synthetic_posts import SyntheticWorld
from discreet.tagging.tag_budget import TagBudget
from discreet.tagging.tag_release import ASSIGNMENTS, Parts, TagMethod, TagPlan
from discreet.tagging.tag_sums import popularity, tag_gram
from discreet.tagging.topic_sums import TagTopics, resource_topics, size_counts, type_counts

__all__ = ["PTRS"]

SHARES = {name: Fraction(share) for name, share in (
    ("popularity", "1/10"), ("gram", "2/5"), ("resources", "2/5"), ("sizes", "1/20"), ("types", "1/20"),
)}  # fmt: skip
"""How the budget is split; public and fixed."""

MOST_USERS = 10**6
"""No more people are invented than this, whatever the noisy number says."""


@dataclass(frozen=True)
class PTRS(TagMethod):
    """Synthetic triples: who reads them learns (ε, δ)-little about any real person, whatever is done with them.

    Parameters
    ----------
    epsilon, delta
        The budget. With δ = 0 the noise is Laplace's, and more of it.
    head
        How many of the most popular tags topics are made of; the others are one topic more.
    topics
        The most topics.
    users
        How many people to invent; None for the noisy number of users.

    Privacy
    -------
    Unit: one user, present or absent. Released with noise, one after the other: (1) the popularity of tags, every user
    of length 1; (2) the Gram matrix of the ``head`` most popular tags, every user of length 1; (4) resources by topic,
    every user of length 1; (5) numbers of users by size and by main topic, one vote each. (3) Topics and (6) the
    triples are functions of these, of public values and of fresh random bits. μ-GDP with Σ μₖ² = μ², which keeps
    (ε, δ); with δ = 0 lengths are in L1 and the noise is discrete Laplace, ε = Σ εₖ (``docs/proofs/tagging.md``,
    Theorem 8).

    Both lists are public. Where they are not, ``discover_tags`` and ``discover_resources`` find them, and their cost is
    added (step 0).

    Notes
    -----
    Real people and their posts do not occur, only invented ones, whose names have a random part so that nobody bears
    one of them. At a few thousand users and ε near 1 the noise leaves a handful of topics and the resources that very
    many tag. To recommend tags ``PTRJ`` is better by far; this is for those who need a table.

    Examples
    --------
    >>> import discreet as dc
    >>> data = dc.synthetic.tags(users=300, resources=40, seed=7).cleaned()
    >>> data = data.with_vocabulary("observed").with_resources("observed")
    >>> release = PTRS.of(epsilon=2, delta="1e-6", users=50).release(data)
    >>> synthetic = dc.TagAssignments(release.table("assignments"))
    >>> synthetic.n_users
    50
    """

    name: ClassVar[str] = "ptr-s"
    kind: ClassVar[str] = ASSIGNMENTS

    epsilon: Fraction
    delta: Fraction
    head: int = 100
    topics: int = 30
    users: int | None = None

    @classmethod
    def of(
        cls, *, epsilon: Rational, delta: Rational, head: int = 100, topics: int = 30, users: int | None = None
    ) -> PTRS:
        return cls(as_positive(epsilon, "epsilon"), as_probability(delta), head, topics, users)

    @property
    def _budget(self) -> TagBudget:
        return TagBudget(self.epsilon, self.delta)

    def _require(self, data: TagAssignments) -> None:
        for name in ("head", "topics", "users"):
            value = getattr(self, name)
            if value is None and name == "users":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_USERS:
                raise UsageError(f"{name} = {value!r} must be a whole number from 1 to {MOST_USERS:,}.")
        super()._require(data)
        if not data.n_tags or not data.n_resources:
            raise UsageError("a public list of tags or of resources is empty.", remedy="Give lists with entries.")

    def _plan(self, public: TagAssignments) -> TagPlan:
        budget = self._budget
        blank = TagTopics.of(np.ones((0, 1)), np.empty(0, dtype=np.int64), public.n_tags)
        first, by_topic = (
            popularity(public, budget.order, resources=False),
            resource_topics(public, blank, budget.order),
        )
        gram = tag_gram(public, np.arange(min(self.head, public.n_tags)), budget.order)
        sums = {"popularity": first, "resources": by_topic, "sizes": size_counts(public)}
        expected: dict[str, Any] = {}
        for name, some in sums.items():
            mechanism = budget.additive(SHARES[name])
            mechanism.check(some)
            expected[f"{name}_noise_sd"] = mechanism.standard_deviation(some)
        budget.gram(SHARES["gram"]).check(gram)
        expected["gram_noise_sd"] = budget.gram_noise(SHARES["gram"], gram)
        return TagPlan(
            loss=budget.loss,
            unit=Unit("user"),
            basis="synthetic assignments, docs/proofs/tagging.md, Theorem 8",
            subject="assignments of invented people",
            caps=(*first.caps, *gram.caps, *by_topic.caps),
            not_covered=("the public lists of tags and resources", "facts about people at large"),
            expected=expected,
        )

    def _make(self, data: TagAssignments) -> Parts:
        budget = self._budget
        tags = self._noisy("popularity", popularity(data, budget.order, resources=False))
        head = np.sort(np.argsort(-tags, kind="stable")[: self.head])
        gram = tag_gram(data, head, budget.order)
        (matrix,) = budget.gram(SHARES["gram"]).release(gram)
        found = topics_of_gram(matrix, budget.gram_noise(SHARES["gram"], gram), most_topics=self.topics)
        topics = TagTopics.of(found.topic_given_tag, head, data.n_tags)

        by_topic = resource_topics(data, topics, budget.order)
        noise = budget.additive(SHARES["resources"]).standard_deviation(by_topic)
        resources = shrunk(self._noisy("resources", by_topic), noise)
        counts = size_counts(data)
        sizes = self._noisy("sizes", counts)
        types = self._noisy("types", type_counts(data, topics))

        words = np.tile(np.maximum(tags, 0.0), (topics.n_topics, 1))
        words[-1, head] = 0.0
        words[:-1] = 0.0
        words[:-1, head] = found.tag_given_topic
        classes = above_noise(sizes, budget.additive(SHARES["sizes"]).standard_deviation(counts))
        world = SyntheticWorld(types=types, sizes=classes, resources=resources, tags=words)
        many = self.users if self.users is not None else int(np.clip(np.rint(sizes.sum()), 1, MOST_USERS))
        return {"assignments": world.draw(many, data.resources, data.tags)}

    def _noisy(self, name: str, sums: BoundedSums) -> NDArray[np.float64]:
        return self._budget.additive(SHARES[name]).release(sums).astype(np.float64) * float(sums.step)


def above_noise(sizes: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """Classes of sizes that two deviations of noise do not explain; where there is none, that of 16 to 31 triples.

    Noise on the last classes would invent people with thousands of triples.

    Examples
    --------
    >>> above_noise(np.array([3.0, -1.0, 40.0]), 2.0).tolist()
    [0.0, 0.0, 40.0]
    """
    kept = np.where(sizes > 2 * noise, sizes, 0.0)
    if not kept.any():
        kept[min(4, kept.size - 1)] = 1.0
    return kept


def shrunk(rows: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """Rows drawn towards zero by how much of their length is noise (James and Stein), negative entries left out.

    Of rows that are nothing but noise half would stay; those within four deviations of its squared length go.

    Examples
    --------
    >>> shrunk(np.array([[30.0, 0.0], [1.0, -1.0]]), 1.0).round(2).tolist()
    [[29.93, 0.0], [0.0, 0.0]]
    """
    width = rows.shape[1]
    squared = (rows**2).sum(axis=1, keepdims=True) / noise**2
    factor = np.where(squared > width + 4 * math.sqrt(2 * width), 1 - width / np.maximum(squared, 1.0), 0.0)
    return np.maximum(rows * factor, 0.0)
