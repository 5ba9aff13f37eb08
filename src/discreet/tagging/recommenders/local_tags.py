"""Recommendations from released sums and from the tags of the person who asks, which stay on that person's side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.common.arrays import AnyFloats, Codes
from discreet.data.ids import IdMap
from discreet.data.tags import TagAssignments
from discreet.errors import ReleaseError, UsageError
from discreet.privacy.release import Release
from discreet.tagging.recommenders.base import OwnTriples, TagRecommender, beside_own_triples
from discreet.tagging.recommenders.folk_rank import FolkRank
from discreet.tagging.tag_method import ASSIGNMENTS, STATISTICS
from discreet.tagging.topics.gram_topics import topics_of_gram

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["LocalTags", "recommender"]


@dataclass(frozen=True)
class _Weights:
    """How much each part counts. Fixed beforehand: weights that were tuned on secret data would be a release."""

    own: float = 1.0
    links: float = 0.6
    similar: float = 0.15
    popular: float = 0.3


class LocalTags(TagRecommender):
    """Tags by the person's own tags, the tags of the resource, tags that go with the person's own, and popularity.

    Parameters
    ----------
    release
        A release with sums about tags, which ``PTRJ`` makes, and ``PTRT`` beside its triples.

    Attributes
    ----------
    users_
        Empty: a release of sums knows nobody.
    resources_, tags_ : IdMap
        The resources with links, and the public vocabulary.

    Privacy
    -------
    Everything is a function of the release, and of the triples of the person who asks, which are given with the
    question and not kept. What all others see does not depend on these, so the guarantee of the release holds against
    all others together (``docs/proofs/tagging.md``, Theorem 7).

    Notes
    -----
    score(t) = own(t) + 0.6·links(r, t) + 0.15·Σ_s own(s)·similar(s, t) + 0.3·popular(t), each part a distribution over
    tags: the share of t among one's own triples, among the released links of the resource, among the tags that share
    the topics of s by the released matrix, and among all tags by popularity. A resource without links, and a person
    without tags, do without that part. The weights were chosen on synthetic data and are constants.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.tagging import PTRJ
    >>> data = dc.synthetic.tags(users=300, resources=40, seed=7).cleaned()
    >>> data = data.with_vocabulary("observed").with_resources("observed")
    >>> model = LocalTags(PTRJ(epsilon=2, delta="1e-6").release(data))
    >>> mine = dc.TagAssignments([("ann", "page-1", "sourdough"), ("ann", "page-2", "sourdough")])
    >>> model.recommend([("ann", "page-3")], n=1, own=mine)["tag"].to_list()
    ['sourdough']
    >>> model.guarantee.joint
    True
    """

    name: ClassVar[str] = "local-tags"
    weights: ClassVar[_Weights] = _Weights()

    def __init__(self, release: Release) -> None:
        if not isinstance(release, Release) or not (release.kind == STATISTICS or "links" in release.parts):
            kind = release.kind if isinstance(release, Release) else type(release).__name__
            raise ReleaseError(f"{kind!r} is no release of sums about tags.", remedy="Make one with PTRJ.")
        popular = release.table("tags")
        self.users_ = IdMap([], what="user")
        self.tags_ = IdMap(popular["tag"], what="tag")
        counts = np.zeros(len(self.tags_))
        counts[self.tags_.encode(popular["tag"])] = np.maximum(popular["count"].to_numpy(), 0.0)
        self.popularity_ = counts / max(float(counts.sum()), 1e-300)
        self.resources_, self.links_ = self._linked(release)
        self.similar_: csr_array | None = self._similar(release)
        self.guarantee_ = beside_own_triples(release.guarantee)

    def fit(self, data: TagAssignments) -> LocalTags:
        """Refused: this model is made from a release, not from triples."""
        raise UsageError("this model reads a release and no triples.", remedy="Use recommender(PTRJ(…).release(data)).")

    def _fit(self, data: TagAssignments) -> None:
        raise AssertionError("fit refuses")

    def _linked(self, release: Release) -> tuple[IdMap, csr_array]:
        """Shares of tags among the links of each resource that has any."""
        from scipy.sparse import csr_array

        if "links" not in release.parts:
            return IdMap([], what="resource"), csr_array((0, len(self.tags_)))
        links = release.table("links")
        resources = IdMap(links["resource_id"], what="resource")
        row, tag = resources.encode(links["resource_id"]), self.tags_.encode(links["tag"])
        count = np.maximum(links["count"].to_numpy().astype(np.float64), 0.0)
        total = np.bincount(row, weights=count, minlength=len(resources))
        share = count / np.maximum(total[row], 1e-300)
        return resources, csr_array((share, (row, tag)), shape=(len(resources), len(self.tags_)))

    def _similar(self, release: Release) -> csr_array | None:
        """For each tag of the head a distribution over the others that share its topics."""
        if "gram" not in release.parts:
            return None
        from scipy.sparse import coo_array

        head = self.tags_.encode(release.table("head")["tag"])
        topics = topics_of_gram(release.array("gram"), float(release.parameters["gram_noise_sd"]))
        near = (topics.topic_given_tag * topics.known[:, None]) @ topics.tag_given_topic
        np.fill_diagonal(near, 0.0)
        near /= np.maximum(near.sum(axis=1, keepdims=True), 1e-300)
        row, column = np.nonzero(near)
        size = len(self.tags_)
        return coo_array((near[row, column], (head[row], head[column])), shape=(size, size)).tocsr()

    def _score(self, users: Codes, resources: Codes, own: OwnTriples | None = None) -> AnyFloats:
        known = len(self.tags_)
        scores = np.zeros((users.size, known if own is None else own.n_tags))
        scores[:, :known] += self.weights.popular * self.popularity_
        linked = np.flatnonzero((resources >= 0) & (resources < len(self.resources_)))
        scores[linked, :known] += self.weights.links * self.links_[resources[linked]].toarray()
        if own is not None:
            mine = _shares(own, users.size)
            scores += self.weights.own * mine.toarray()
            if self.similar_ is not None:
                scores[:, :known] += self.weights.similar * (mine[:, :known] @ self.similar_).toarray()
        return scores


def _shares(own: OwnTriples, n_queries: int) -> csr_array:
    """The share of each tag among the triples of the person who asks, for each query."""
    from scipy.sparse import csr_array

    each = 1 / np.maximum(np.diff(own.starts), 1)
    return csr_array((each[own.query], (own.query, own.tag)), shape=(n_queries, own.n_tags))


def recommender(release: Release) -> TagRecommender:
    """A recommender of tags that uses the release and the triples of the person who asks.

    Parameters
    ----------
    release
        Released sums are read by ``LocalTags``, also if the release has triples as well; triples alone are ranked by
        ``FolkRank``.

    Privacy
    -------
    Post-processing of the release. What ``recommend(own=…)`` is given stays with the person who asks.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.tagging import PTRJ
    >>> tags = dc.synthetic.tags(users=60, resources=40, seed=7)
    >>> tags = tags.with_vocabulary("observed").with_resources("observed")
    >>> release = PTRJ(epsilon=1, delta=1e-6).release(tags)
    >>> recommender(release).recommend([("somebody", "page-1")], n=3).columns
    ['user_id', 'resource_id', 'tag', 'score', 'rank']
    """
    kind = release.kind if isinstance(release, Release) else type(release).__name__
    if kind == STATISTICS or (kind == ASSIGNMENTS and "links" in release.parts):
        return LocalTags(release)
    if kind == ASSIGNMENTS:
        return FolkRank().fit_release(release)
    raise ReleaseError(f"{kind!r} is no tagging release.", remedy="Make one: discreet tags release TAGS --out FOLDER.")
