"""Topics of tags, released: users are documents, and what one user can change is bounded before noise is added.

References
----------
J. Foulds, J. Geumlek, M. Welling, K. Chaudhuri: On the theory and practice of privacy-preserving Bayesian data
analysis. UAI 2016 (noisy sufficient statistics for Gibbs sampling).
M. Park, J. Foulds, K. Chaudhuri, M. Welling: Variational Bayes in private settings. J. Artif. Intell. Res. 2020.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.tags import TagAssignments
from discreet.errors import ReleaseError, UsageError
from discreet.privacy.losses import GaussianLoss, mu_for
from discreet.privacy.normal import NormalGramMechanism, NormalMechanism
from discreet.privacy.numbers import Rational, as_fraction, as_positive, as_probability
from discreet.privacy.release import Release
from discreet.privacy.units import Unit
from discreet.tagging.gram_topics import MOST_TOPICS, Topics, topics_of_gram
from discreet.tagging.tag_release import Parts, TagMethod, TagPlan, require_vocabulary
from discreet.tagging.tag_sums import popularity, tag_gram
from discreet.tagging.topic_steps import (
    UserTags,
    blind_assignments,
    expected_assignments,
    sampled_assignments,
    topic_sums,
)

__all__ = ["PrivateTopics", "Topics", "topics_of_gram", "topics_of_release"]

Method = Literal["gram", "expected", "gibbs"]

FLATTENING = 0.01
"""β: added to every released count of tag and topic."""


@dataclass(frozen=True)
class PrivateTopics(TagMethod):
    """A topic model of tags, of which one user changes little.

    Parameters
    ----------
    epsilon, delta
        The budget; δ is above 0.
    method
        ``"gram"``: one noisy matrix of the tags that users have in common, factored afterwards (the default: it spends
        once, and on less noise). ``"expected"``: expected assignments of each user's tags to topics, released anew in
        each round. ``"gibbs"``: the same with assignments that each user draws.
    topics
        How many topics; with "gram" at most so many.
    iterations
        Rounds of "expected" and "gibbs".
    head
        Of how many of the most popular tags "gram" makes its matrix.
    popularity_share
        Share of μ² that "gram" spends to find them.
    alpha
        Prior weight of a topic of a user.

    Privacy
    -------
    Unit: one user, present or absent. With "expected" and "gibbs" a user's tags, each once, have length 1, and so has
    what the user adds to the table of tags × topics, however the tags are assigned: each of I releases with noise of
    deviation √I/μ, which is μ-GDP together. Within a round a user's assignments depend on that user's tags, on what the
    user drew before and on released tables, on nothing else; before the first release they depend on the tags
    alone. Proofs: ``docs/proofs/tag_channels.md``, Theorem 7. Not covered: the public list of tags.

    Notes
    -----
    Documents are users, not resources: a resource's document would mix the tags of many users, so that one tag more
    moves the assignments of others. Released is the last table of the chain with Pr(t | z); the promise covers all.

    Examples
    --------
    >>> import discreet as dc
    >>> data = dc.synthetic.tags(users=300, resources=40, seed=7).cleaned().with_vocabulary("observed")
    >>> release = PrivateTopics.of(epsilon=8, delta="1e-6", method="expected", topics=4).release(data)
    >>> topics_of_release(release).n_topics
    4
    """

    name: ClassVar[str] = "private-topics"
    kind: ClassVar[str] = "tag-topics"

    epsilon: Fraction
    delta: Fraction
    method: Method = "gram"
    topics: int = MOST_TOPICS
    iterations: int = 10
    head: int = 300
    popularity_share: Fraction = Fraction(1, 10)
    alpha: Fraction = Fraction(1, 2)

    @classmethod
    def of(
        cls,
        *,
        epsilon: Rational,
        delta: Rational,
        method: Method = "gram",
        topics: int = MOST_TOPICS,
        iterations: int = 10,
        head: int = 300,
        popularity_share: Rational = "1/10",
        alpha: Rational = "1/2",
    ) -> PrivateTopics:
        """The method with plain numbers."""
        return cls(
            as_positive(epsilon, "epsilon"),
            as_probability(delta),
            method,
            topics,
            iterations,
            head,
            as_fraction(popularity_share, "popularity_share"),
            as_positive(alpha, "alpha"),
        )

    def _require(self, data: TagAssignments) -> None:
        if self.method not in get_args(Method):
            raise UsageError(f"method={self.method!r}?", remedy=f"Choose one of {', '.join(get_args(Method))}.")
        for name in ("topics", "iterations", "head"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10_000:
                raise UsageError(f"{name} = {value!r} must be a whole number from 1 to 10,000.")
        if not 0 < self.popularity_share < 1:
            raise UsageError(f"popularity_share = {self.popularity_share} must be between 0 and 1.")
        require_vocabulary(data, self.name)

    @property
    def _mu_squared(self) -> Fraction:
        return mu_for(self.epsilon, self.delta) ** 2

    @property
    def _step(self) -> NormalMechanism:
        """The noise of one round."""
        return NormalMechanism(self._mu_squared / self.iterations)

    def _plan(self, public: TagAssignments) -> TagPlan:
        gram = self.method == "gram"
        if gram:
            first, second = self._gram_mechanisms()
            sums, matrix = popularity(public, 2, resources=False), tag_gram(public, np.arange(1), 2)
            first.check(sums)
            second.check(matrix)
            caps = (*sums.caps, *matrix.caps)
            noise = {"popularity": first.standard_deviation(sums), "gram": second.standard_deviation(matrix)}
        else:
            table = topic_sums(UserTags.of(public), np.zeros((self.topics, 0)))
            self._step.check(table)
            caps, noise = table.caps, {"table": self._step.standard_deviation(table)}
        how = "tags that go together" if gram else f"tags and topics in {self.iterations} rounds"
        return TagPlan(
            loss=GaussianLoss(self._mu_squared),
            unit=Unit("user"),
            basis=f"private topics, docs/proofs/tag_channels.md, Theorem {6 if gram else 7}",
            subject=f"topics of {public.n_tags:,} tags from noisy counts of {how}",
            caps=caps,
            not_covered=("the public list of tags", "facts about people at large"),
            expected={f"{name}_noise_sd": value for name, value in noise.items()},
        )

    def _gram_mechanisms(self) -> tuple[NormalMechanism, NormalGramMechanism]:
        whole = self._mu_squared
        return NormalMechanism(whole * self.popularity_share), NormalGramMechanism(whole * (1 - self.popularity_share))

    def _make(self, data: TagAssignments) -> Parts:
        topics, head = self._of_gram(data) if self.method == "gram" else self._of_rounds(data)
        parts: dict[str, Any] = {"topics": topics.tag_given_topic, "shares": topics.share}
        return {**parts, "tags": pl.DataFrame({"tag": data.tags.take(head)})}

    def _of_gram(self, data: TagAssignments) -> tuple[Topics, NDArray[np.int64]]:
        first, second = self._gram_mechanisms()
        popular = first.release(popularity(data, 2, resources=False))
        head = np.sort(np.argsort(-popular, kind="stable")[: self.head])
        gram = tag_gram(data, head, 2)
        (matrix,) = second.release(gram)
        return topics_of_gram(matrix, second.standard_deviation(gram), most_topics=self.topics), head

    def _of_rounds(self, data: TagAssignments) -> tuple[Topics, NDArray[np.int64]]:
        """Each round: every user's assignments given the table released last, their sum with noise, the next table."""
        users = UserTags.of(data)
        assign = expected_assignments if self.method == "expected" else sampled_assignments
        # Before anything is released topics are drawn blindly: a start that looked at the data would not be paid for.
        share, table = blind_assignments(users, self.topics), None
        for _ in range(self.iterations):
            if table is not None:
                share = assign(users, share, table, float(self.alpha))
            sums = topic_sums(users, share)
            noisy = self._step.release(sums).reshape(self.topics, -1) * float(sums.step)
            table = np.maximum(noisy, 0) + FLATTENING
        assert table is not None
        return Topics.of_weights(table.T), np.arange(data.n_tags)


def topics_of_release(release: Release) -> Topics:
    """The topic model of a release of ``PrivateTopics``; its tags are those of the part "tags", in that order."""
    if release.kind != PrivateTopics.kind:
        raise ReleaseError(f"a release of kind {release.kind!r} holds no topics.")
    return Topics.of_weights(release.array("topics").T * release.array("shares"))
