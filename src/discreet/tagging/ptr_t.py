"""PTR-T: every post stays, and its tags are replaced.

References
----------
T. Zhu, G. Li, W. Zhou, P. Xiong, C. Yuan: Privacy-preserving topic model for tagging recommender systems. Knowl. Inf.
Syst. 2016 (the idea to replace tags; its guarantee does not hold).
B. Ghazi, N. Golowich, R. Kumar, P. Manurangsi, C. Zhang: Deep learning with label differential privacy. NeurIPS 2021
(the unit: all but one value is public).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import polars as pl

from discreet.common.arguments import require_whole
from discreet.common.arrays import Codes, Integers
from discreet.data.ids import IdMap
from discreet.data.tags import TagAssignments
from discreet.errors import UsageError
from discreet.privacy import entropy
from discreet.privacy.budget import as_share
from discreet.privacy.method import Plan, Round, Rounds
from discreet.privacy.numbers import Rational, as_positive
from discreet.privacy.units import Unit
from discreet.tagging.sums import TAG_VALUE, resource_counts, tag_counts, unit_counts
from discreet.tagging.tag_method import ASSIGNMENTS, PublicList, TagMethod, id_columns

__all__ = ["PTRT", "PublicPosts", "ResourceLists", "fill_posts", "resource_lists"]

MOST_CELLS = 2**28

NO_COUNTS = unit_counts(np.empty(0, dtype=np.int64), TAG_VALUE)
"""The bounds of all counts here, without values."""


@dataclass(frozen=True)
class PTRT(TagMethod):
    """Triples in which all posts are real and tags need not be: who tagged what is public, the tags are protected.

    The tags of resources with many posts are counted, with noise. Tags with a noisy count above a threshold are given
    to the resource's posts, as often as counted; other places stay empty.

    Parameters
    ----------
    epsilon, delta
        The budget. With δ = 0 the noise is Laplace noise.
    popularity_share
        Share of the budget for how often each tag is given at all, which finds the head.
    head
        How many of the most frequent tags are counted for each resource.
    most_tags
        The most tags that a resource's posts are given.
    false_tags
        How many tags of a resource are expected to be noise alone: this sets the thresholds.

    Privacy
    -------
    Unit: the value of one tag: all triples but one tag, which may be any other. Who tagged what, and with how many
    tags, is public. One tag exchanged takes 1 from one count and adds 1 to another: L2 sensitivity √2, L1 sensitivity
    2, for the counts of tags and for those of resources × tags. Noise √2/μₖ each, Σ μₖ² = μ²; with δ = 0 discrete
    Laplace noise of scale 2/εₖ. Proofs: ``docs/proofs/tag_channels.md``, Theorems 3 and 5.

    Notes
    -----
    A post in which the same tag comes up twice shows it once; that is a function of what was drawn.

    ``recommender`` reads the noisy counts themselves, in the tables "links" and "tags". On the synthetic listeners of
    seed 7 (``docs/tagging.md``: one's own tags alone find 0.42 of a post's tags among ten, FolkRank on the true triples
    0.60) that finds 0.49 at ε = 1 and 0.53 at ε = 2.5; FolkRank on the released triples 0.47 and 0.52.

    Examples
    --------
    >>> import discreet as dc
    >>> data = dc.synthetic.tags(users=300, resources=40, seed=7).with_vocabulary("observed")
    >>> release = PTRT(epsilon=2, delta="1e-6").release(data)
    >>> release.table("assignments").columns
    ['user_id', 'resource_id', 'tag']
    """

    name: ClassVar[str] = "ptr-t"
    kind: ClassVar[str] = ASSIGNMENTS
    posts_are_public: ClassVar[bool] = True

    epsilon: Rational
    delta: Rational = 0
    popularity_share: Rational = "1/50"
    head: int = 300
    most_tags: int = 8
    false_tags: Rational = "1/2"

    def __post_init__(self) -> None:
        self._set_exact("popularity_share")
        as_share(self.popularity_share, "popularity_share")
        object.__setattr__(self, "false_tags", as_positive(self.false_tags, "false_tags"))
        require_whole(self.head, "head")
        require_whole(self.most_tags, "most_tags")

    @property
    def _lists(self) -> tuple[PublicList, ...]:
        # Which resources occur follows from the posts, which are public.
        return ("tags",)

    def _public(self, data: TagAssignments) -> PublicPosts:
        super()._public(data)
        return PublicPosts.of(data)

    @property
    def _unit(self) -> Unit:
        return TAG_VALUE

    @property
    def _shares(self) -> dict[str, Fraction]:
        first = Fraction(self.popularity_share)
        return {"popularity": first, "link": 1 - first}

    def _least_counts(self, size: int) -> Integers:
        """From which count on a tag is given to a resource: for the most frequent tag, for the second, and so on.

        The k-th tag of the head exceeds its threshold by noise alone with probability f/k, and all of them together as
        often as ``false_tags`` says: a frequent tag is more likely, and needs less evidence. Public. Resources with
        fewer posts than the last of these counts are left out: there noise would be more than what they have.
        """
        rank = np.arange(1, size + 1)
        chance = np.minimum(float(as_positive(self.false_tags)) / (1 / rank).sum() / rank, 0.5)
        return np.array([self._threshold("link", NO_COUNTS, p) for p in chance], dtype=np.int64).clip(1)

    def _plan(self, public: PublicPosts) -> Plan:
        least = self._least_counts(min(self.head, len(public.tags)))
        rows = public.with_posts(least.max(initial=1)).size
        if rows * least.size > MOST_CELLS:
            raise UsageError(f"{rows:,} resources × {self.head:,} tags are too many counts.", remedy="Lower head.")
        return self._noisy_plan(
            public,
            dict.fromkeys(self._shares, NO_COUNTS),
            "replaced tags, docs/proofs/tag_channels.md, Theorem 5",
            f"{public.n_posts:,} posts with replaced tags",
            (
                "that you tagged this resource, and with how many tags: it hides which tag you chose, not that you "
                "tagged it",
                "what several tags of one person tell together: k tags cost k times as much",
                "the public list of tags",
            ),
            link_thresholds=[int(least[0]), int(least[-1])] if least.size else [],
            resources_with_tags=rows,
        )

    def _prepare(self, data: TagAssignments, plan: Plan) -> TagAssignments:
        # Some of the users may have tagged some of the resources: codes become those of all resources.
        return data if data.resources_are_public else data.with_resources(plan.public.resources.series)

    def _rounds(self, plan: Plan) -> Rounds:
        public: PublicPosts = plan.public
        popular = yield Round(tag_counts, self._noise("popularity"))
        head = np.argsort(-popular, kind="stable")[: self.head]
        least = self._least_counts(head.size)
        rows = public.with_posts(least.max(initial=1))
        counts = yield Round(lambda data: resource_counts(data, rows, head), self._noise("link"))
        lists = resource_lists(
            counts.reshape(rows.size, head.size), rows, head, least=least, most=self.most_tags, posts=public.posts
        )
        place, tag = fill_posts(public, lists)
        given = id_columns(public, user=public.user[place], resource=public.resource[place], tag=tag)
        links = id_columns(public, resource=lists.resource, tag=lists.tag)
        return {
            "assignments": pl.DataFrame(given).unique().sort("user_id", "resource_id", "tag"),
            "links": pl.DataFrame({**links, "count": lists.count.astype(np.float64)}),
            "tags": pl.DataFrame({**id_columns(public, tag=None), "count": popular.astype(np.float64)}),
        }


@dataclass(frozen=True, eq=False)
class PublicPosts:
    """What is public where posts are: the ids, by whom and to what each tag was given (not which tag), and how
    many posts each resource has.
    """

    users: IdMap
    resources: IdMap
    tags: IdMap
    user: Codes
    resource: Codes
    posts: Integers

    @classmethod
    def of(cls, data: TagAssignments) -> PublicPosts:
        """The public part of these triples."""
        posts = np.bincount(data.posts.resource, minlength=data.n_resources)
        return cls(data.users, data.resources, data.tags, data.user, data.resource, posts)

    @property
    def n_posts(self) -> int:
        return int(self.posts.sum())

    def with_posts(self, least: int) -> Integers:
        """Codes of the resources that have at least this number of posts."""
        return np.flatnonzero(self.posts >= least)


@dataclass(frozen=True, eq=False)
class ResourceLists:
    """The tags that each resource is given, and in how many posts; sorted by resource, then by count, largest first."""

    resource: Integers
    tag: Integers
    count: Integers


def resource_lists(
    counts: Integers, rows: Integers, head: Integers, *, least: Integers, most: int, posts: Integers
) -> ResourceLists:
    """From noisy counts of resources × head those that are large enough, for each resource the ``most`` largest.

    ``least`` says from which count on each tag of the head is listed. How many posts each resource has is public: no
    tag can be in more of them.
    """
    listed = np.where(counts >= least, counts, 0)
    best = np.argsort(-listed, axis=1, kind="stable")[:, :most]
    value = np.take_along_axis(listed, best, axis=1)
    row, place = np.nonzero(value > 0)
    resource = rows[row]
    return ResourceLists(resource, head[best[row, place]], np.minimum(value[row, place], posts[resource]))


def fill_posts(public: PublicPosts, lists: ResourceLists) -> tuple[Integers, Integers]:
    """Tags for the places of public posts: places that are given a tag, and the tag of each.

    A place of a resource with n places takes a tag of its list with probability count/n (all of them scaled down where
    they add up to more than 1), and otherwise none.
    """
    n_resources = public.posts.size
    places = np.bincount(public.resource, minlength=n_resources)
    total = np.bincount(lists.resource, weights=lists.count, minlength=n_resources)
    chance = lists.count / np.maximum(np.maximum(total, places), 1)[lists.resource]
    # All lists one after the other on one line, each resource from its own whole number on.
    running = np.cumsum(chance)
    starts = np.searchsorted(lists.resource, np.arange(n_resources + 1))
    before = np.append(0.0, running)[starts[:-1]]
    line = lists.resource + np.minimum(running - before[lists.resource], 1.0)
    found = np.searchsorted(line, public.resource + entropy.public_uniforms(public.resource.size), side="right")
    place = np.flatnonzero(found < starts[public.resource + 1])
    return place, lists.tag[found[place]]
