"""Topics of tags, released: users are documents, and what one user can change is bounded before noise is added.

References
----------
J. Foulds, J. Geumlek, M. Welling, K. Chaudhuri: On the theory and practice of privacy-preserving Bayesian data
analysis. UAI 2016 (noisy sufficient statistics for Gibbs sampling).
M. Park, J. Foulds, K. Chaudhuri, M. Welling: Variational Bayes in private settings. J. Artif. Intell. Res. 2020.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.common.arguments import require_choice, require_whole
from discreet.data.tags import TagAssignments
from discreet.errors import ReleaseError
from discreet.privacy import entropy
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.budget import Budget, as_share
from discreet.privacy.choosing import Key
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.method import Plan, Round, Rounds
from discreet.privacy.numbers import Rational, as_positive
from discreet.privacy.release import Release
from discreet.tagging.sums.users import best, popularity, tag_gram
from discreet.tagging.tag_method import PublicList, TagMethod, set_numbers
from discreet.tagging.topics.gram_topics import MOST_TOPICS, Topics, topics_of_gram
from discreet.tagging.topics.rounds import UserTags, assignments_after, topic_sums

__all__ = ["PrivateTopics", "topics_of_release"]

TopicMethod = Literal["gram", "expected", "gibbs"]

FLATTENING = 0.01
"""β: added to every released count of tag and topic."""

Found = Generator[Round, Any, tuple[Topics, NDArray[np.int64]]]
"""Rounds that end with topics and the codes of their tags."""


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
        set_numbers(self, "popularity_share", "alpha")
        require_choice(self.method, "method", get_args(TopicMethod))
        for name in ("topics", "iterations", "head"):
            require_whole(getattr(self, name), name, most=10_000)
        as_share(self.popularity_share, "popularity_share")
        as_positive(self.alpha, "alpha")

    @property
    def _lists(self) -> tuple[PublicList, ...]:
        return ("tags",)

    @property
    def _budget(self) -> Budget:
        return Budget(self.epsilon, self.delta)

    @property
    def _round(self) -> AdditiveMechanism:
        """The noise of one round."""
        return self._budget.part(Fraction(1, self.iterations)).for_sums()

    @property
    def _gram_mechanisms(self) -> tuple[AdditiveMechanism, AdditiveMechanism]:
        """For the popularity of tags, and for the matrix of those that go together."""
        first = as_share(self.popularity_share, "popularity_share")
        return self._budget.part(first).for_sums(), self._budget.part(1 - first).for_sums()

    def _plan(self, public: TagAssignments) -> Plan:
        gram = self.method == "gram"
        if gram:
            first, second = self._gram_mechanisms
            sums, matrix = popularity(public, self._budget.norm), tag_gram(public, np.arange(1), self._budget.norm)
            first.check(sums)
            second.check(matrix)
            caps = (*sums.caps, *matrix.caps)
            noise = {"popularity": first.standard_deviation(sums), "gram": second.spectral_deviation(matrix)}
        else:
            table = topic_sums(UserTags.of(public, self._budget.norm), np.zeros((self.topics, 0)))
            self._round.check(table)
            caps, noise = table.caps, {"table": self._round.standard_deviation(table)}
        how = "tags that go together" if gram else f"tags and topics in {self.iterations} rounds"
        return Plan(
            loss=self._budget.loss,
            basis=f"private topics, docs/proofs/tag_channels.md, Theorem {6 if gram else 7}",
            subject=f"topics of {public.n_tags:,} tags from noisy counts of {how}",
            caps=caps,
            not_covered=("the public list of tags", "facts that would be true without this person's data"),
            expected={f"{name}_noise_sd": value for name, value in noise.items()},
            public=public,
        )

    def _rounds(self, plan: Plan) -> Rounds:
        topics, head = yield from self._of_gram(plan) if self.method == "gram" else self._of_tables(plan)
        tags = pl.DataFrame({"tag": plan.public.tags.take(head)})
        return {"topics": topics.tag_given_topic, "shares": topics.share, "tags": tags}

    def _of_gram(self, plan: Plan) -> Found:
        (first, second), norm = self._gram_mechanisms, self._budget.norm
        popular = yield Round(lambda data: popularity(data, norm), first)
        head = best(popular, self.head)
        (matrix,) = yield Round(lambda data: tag_gram(data, head, norm), second)
        return topics_of_gram(matrix, plan.expected["gram_noise_sd"], most_topics=self.topics), head

    def _of_tables(self, plan: Plan) -> Found:
        """Each round: every user's assignments given the tables so far, their sum with noise, the next table."""
        norm, alpha = self._budget.norm, float(as_positive(self.alpha))
        step = float(topic_sums(UserTags.of(plan.public, norm), np.zeros((1, 0))).step)
        tables: list[NDArray[np.float64]] = []
        keys: list[Key] = []

        def table_sums(data: TagAssignments) -> BoundedSums:
            users, drawn = UserTags.of(data, norm), self.method == "gibbs"
            return topic_sums(users, assignments_after(users, tables, keys, self.topics, alpha, drawn=drawn))

        for _ in range(self.iterations):
            keys.append(entropy.bounding_key())
            noisy = (yield Round(table_sums, self._round)).reshape(self.topics, -1) * step
            tables.append(np.maximum(noisy, 0) + FLATTENING)
        return Topics.of_weights(tables[-1].T), np.arange(plan.public.n_tags)


def topics_of_release(release: Release) -> Topics:
    """The topic model of a release of ``PrivateTopics``; its tags are those of the part "tags", in that order."""
    if release.kind != PrivateTopics.kind:
        raise ReleaseError(f"a release of kind {release.kind!r} holds no topics.")
    return Topics.of_weights(release.array("topics").T * release.array("shares"))
