"""PriTop: tags replaced by others of the same topic, as published and refuted.

References
----------
T. Zhu, G. Li, W. Zhou, P. Xiong, C. Yuan: Deferentially private tagging recommendation based on topic model.
PAKDD 2014.
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014, chapter 4.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

import numpy as np

from discreet.common.arguments import require_choice, require_positive, require_whole
from discreet.common.arrays import Integers, Matrix
from discreet.data.tags import TagAssignments
from discreet.errors import UsageError
from discreet.privacy.guarantees import Standing
from discreet.privacy.losses import Pure
from discreet.privacy.method import Parts, Plan
from discreet.privacy.numbers import Rational, as_positive
from discreet.privacy.published_draws import laplace, uniforms
from discreet.privacy.units import Unit
from discreet.tagging.pritop.rewriting import (
    Rewriting,
    expected_insertions,
    members_of,
    noisy_sizes,
    replace,
    revise,
    sparse_rows,
)
from discreet.tagging.pritop.topics import Profiles, TopicCounts, pair_topics
from discreet.tagging.tag_method import ASSIGNMENTS, PublicList, TagMethod, require_plain

__all__ = ["PriTop", "options_of"]

MOST_EPSILON = 4096
"""Up to here the smallest weight of a candidate, e^(−ε/8), is a number."""

MOST_TOPICS = 10_000

BASIS = (
    "the tags to choose from are those that occur: a tag that one person alone uses comes out with chance 0.50 if it "
    "is in the data, and never if it is not; likewise the link of a user and a resource (0.56 at ε = 1), and the row "
    "of every user; the assignments of Gibbs sampling depend on the data, a loss of 3.76 where 0.5 was claimed for the "
    "topics; replacing the 20 tags of a user costs 10 in the weights and 1.25 in the selection, where 0.25 was claimed "
    "for each (tests/refutations/test_pritop.py)"
)


@dataclass(frozen=True)
class PriTop(TagMethod):
    """Private topic-based tagging release: noisy topics, noisy topic weights, and every tag replaced. **Refuted.**

    A topic model of the resources is fitted by Gibbs sampling. Its counts get noise of scale 2/ε, and by the noisy
    probabilities every tag of a user is assigned to a topic (step 1, ε/2). The number of tags that a user has in each
    topic gets noise of scale 4/ε: the most probable tags of the topic are added, or the user's least probable ones
    deleted (step 2, ε/4). Each tag is then replaced by one of its topic, drawn without replacement with probability
    proportional to exp(ε·q/8), where q is 1 − the Jensen-Shannon divergence (base 2) of the topics of the two tags
    (step 3, ε/4). What comes out is a table of triples.

    Parameters
    ----------
    epsilon
        The budget, at most 4096.
    topics
        K; the thesis settles for 100.
    alpha, beta, iterations
        Of the topic model, as in ``TopicModel``. The paper does not tell its own.
    noise_on
        Noise on the counts is fresh for each "pair" of a resource and a tag, as in the loops of Algorithm 4, or drawn
        once for each "count", as the text can be read.
    assignment
        A pair of a resource and a tag belongs to its "likeliest" topic, or to one that is "drawn" by the probabilities.
    profile
        What a profile lists, and a weight counts: a user's distinct "tags", a replaced tag taking all its resources
        along, or "assignments", where a tag is listed once for each resource.
    weight_scale
        Noise on a weight: 4/ε by "equation" 4.3.6, or 4/(|T(u)|·ε) as the "proof" of section 4.4.1 writes.
    noisy_topics
        Weights with noise: of "all" K topics, or of a user's "own" ones alone.
    model
        Pr(t|z) and Pr(z|t) in steps 2 and 3, where no noise is mentioned: "exact", or of the "noisy" counts, which
        takes ``noise_on="count"``.
    members
        The tags of a topic: those with at least one occurrence "assigned" to it, or those with this as their
        "likeliest" topic. Others are never added.
    candidates
        Tags to choose from: all of the "topic" (equation 4.3.12 and Algorithm 5), or those of the user's "profile" in
        the topic (the sentence before), in which case nothing but their order changes.
    links
        A new tag stands on the resources of the one it replaces ("kept"), or on as many drawn from the topic ("drawn").
    inserted_links
        A tag that was added stands on one of the user's "own" resources, on one "drawn" from the topic, or on "none",
        in which case it is not in the output.

    Privacy
    -------
    Claimed: ε for one triple, present or absent. Refuted, for every ε and every reading: the guarantee says why. The
    proved counterparts are ``PTRJ``, ``PTRS`` and ``PTRT``.

    Notes
    -----
    Where the paper is silent, an option says what it could mean; the first value of each is the default. Beyond them: a
    count that noise makes negative is taken for 0; Pr(z|t) is the share of a topic in the assignments of a tag;
    weights are rounded; a list ends where its topic has no more tags; a tag that is listed is not added again.

    With K = 100 and ε = 1 noise adds 200 tags to the profile of every user, whatever it was.

    Examples
    --------
    >>> from discreet.data import TagAssignments
    >>> tags = TagAssignments([("ann", "tea.org", "tea"), ("ann", "rum.com", "rum"), ("bob", "tea.org", "cup")])
    >>> pritop = PriTop(epsilon=1, topics=2, iterations=10)
    >>> pritop.plan(tags).guarantee.standing.name
    'REFUTED'
    >>> release = pritop.release(tags, allow_refuted=True)
    >>> release.table("assignments").columns
    ['user_id', 'resource_id', 'tag']
    """

    name: ClassVar[str] = "pritop"
    kind: ClassVar[str] = ASSIGNMENTS
    reads = "records"

    epsilon: Rational
    topics: int = 100
    alpha: float = 0.1
    beta: float = 0.01
    iterations: int = 500
    noise_on: Literal["pair", "count"] = "pair"
    assignment: Literal["likeliest", "drawn"] = "likeliest"
    profile: Literal["tags", "assignments"] = "tags"
    weight_scale: Literal["equation", "proof"] = "equation"
    noisy_topics: Literal["all", "own"] = "all"
    model: Literal["exact", "noisy"] = "exact"
    members: Literal["assigned", "likeliest"] = "assigned"
    candidates: Literal["topic", "profile"] = "topic"
    links: Literal["kept", "drawn"] = "kept"
    inserted_links: Literal["own", "drawn", "none"] = "own"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_positive(self.epsilon, "epsilon"))
        if as_positive(self.epsilon) > MOST_EPSILON:
            raise UsageError(f"epsilon must be above 0 and at most {MOST_EPSILON}, got {self.epsilon}.")
        require_whole(self.topics, "topics", most=MOST_TOPICS)
        require_whole(self.iterations, "iterations")
        require_positive(self.alpha, "alpha")
        require_positive(self.beta, "beta")
        for name, allowed in options_of(type(self)).items():
            require_choice(getattr(self, name), name, allowed)
        if self.model == "noisy" and self.noise_on == "pair":
            raise UsageError(
                "there is no noisy model where noise is fresh for every pair.",
                remedy='Choose noise_on="count" with model="noisy".',
            )

    # Budgets

    @property
    def count_scale(self) -> float:
        """Of the noise on the counts of the topic model: 2/ε."""
        return float(2 / as_positive(self.epsilon))

    def weight_scales(self, tags: Integers) -> Matrix:
        """Of the noise on the topic weights of users with these numbers of tags: 4/ε, or 4/(|T(u)|·ε)."""
        scale = float(4 / as_positive(self.epsilon))
        if self.weight_scale == "equation":
            return np.full(tags.shape, scale)
        return scale / np.maximum(tags, 1)

    # The release

    @property
    def _lists(self) -> tuple[PublicList, ...]:
        # As published: which tags and resources occur is read from the triples.
        return ()

    def _public(self, data: TagAssignments) -> TagAssignments:
        public = super()._public(data)
        for ids in (data.users, data.resources, data.tags):
            require_plain(ids, self.name)
        return public

    def _plan(self, public: TagAssignments) -> Plan:
        expected: dict[str, Any] = {"count_noise_scale": self.count_scale}
        if self.weight_scale == "equation":
            scale = float(4 / as_positive(self.epsilon))
            expected["weight_noise_scale"] = scale
            if self.noisy_topics == "all":
                expected["inserted_tags_per_user"] = self.topics * expected_insertions(scale)
        return Plan(
            loss=Pure(as_positive(self.epsilon)),
            basis=BASIS,
            subject="a table of who tagged what, with replaced tags",
            unit=Unit("record"),
            not_covered=(
                "which tags and resources occur",
                "who tagged which resource",
                "whether a person is in the data",
            ),
            expected=expected,
            standing=Standing.REFUTED,
        )

    def _draw(self, data: TagAssignments, plan: Plan) -> Parts:
        return {"assignments": self.rewriting(data, self.fitted_counts(data)).to_frame(data)}

    def fitted_counts(self, data: TagAssignments) -> TopicCounts:
        """The counts of a topic model of the raw triples, without noise: **not** for publication."""
        from discreet.tagging.topics.model import TopicModel

        if not len(data):
            nothing = np.zeros((0, self.topics))
            return TopicCounts(nothing, nothing, self.alpha, self.beta)
        model = TopicModel(
            topics=self.topics,
            alpha=self.alpha,
            beta=self.beta,
            iterations=self.iterations,
            seed=int(uniforms((1,))[0] * 2**52),  # the chain is as random as the noise
        ).fit(data)
        return TopicCounts(
            model.tag_counts_.astype(np.float64), model.resource_counts_.astype(np.float64), self.alpha, self.beta
        )

    def rewriting(self, data: TagAssignments, counts: TopicCounts) -> Rewriting:
        """Everything after the topic model: the new triples and what they replace. **Not** for publication as it is."""
        tables = None
        if self.noise_on == "count":
            tables = (
                laplace(np.full(counts.tags.shape, self.count_scale)),
                laplace(np.full(counts.resources.shape, self.count_scale)),
            )
        profiles = self.profiles(data, counts, tables)
        weights = profiles.weights()
        sizes = noisy_sizes(weights, self.weight_scales(weights.sum(axis=1))[:, None])
        if self.noisy_topics == "own":
            sizes[weights == 0] = 0
        public = counts.with_noise(*tables) if tables is not None and self.model == "noisy" else counts
        probability, rows = public.tag_given_topic, sparse_rows(public.topic_given_tag)
        parts = []
        for topic, members in enumerate(members_of(counts, self.members)):
            likely = np.ascontiguousarray(probability[:, topic])
            ranking = members[np.argsort(-likely[members], kind="stable")]
            lists = revise(profiles.starts(topic), profiles.tag, sizes[:, topic], probability=likely, ranking=ranking)
            chosen = replace(
                lists,
                rows,
                n_topics=self.topics,
                epsilon=float(self.epsilon),
                candidates=members if self.candidates == "topic" else None,
            )
            parts.append(
                Rewriting.of_topic(
                    lists,
                    chosen,
                    profiles,
                    data.posts,
                    topic,
                    resource_weights=counts.resources[:, topic],
                    links=self.links,
                    inserted=self.inserted_links,
                )
            )
        return Rewriting.together(parts)

    def profiles(
        self, data: TagAssignments, counts: TopicCounts, tables: tuple[Matrix, Matrix] | None = None
    ) -> Profiles:
        """Topic-based profiles, by the noisy probabilities of each pair of a resource and a tag."""
        pair = data.resource.astype(np.int64) * data.n_tags + data.tag
        distinct, which = np.unique(pair, return_inverse=True)
        resource, tag = np.divmod(distinct, max(1, data.n_tags))
        topic = pair_topics(counts, resource, tag, scale=self.count_scale, assignment=self.assignment, tables=tables)[
            which
        ]
        return Profiles.of(
            data.user.astype(np.int64),
            data.resource.astype(np.int64),
            data.tag.astype(np.int64),
            topic,
            n_users=data.n_users,
            n_topics=self.topics,
            merged=self.profile == "tags",
        )


def options_of(kind: type[PriTop]) -> dict[str, tuple[str, ...]]:
    """What the paper leaves open: the values that each option can take, the default first."""
    hints = get_type_hints(kind)
    return {one.name: get_args(hints[one.name]) for one in fields(kind) if get_origin(hints[one.name]) is Literal}
