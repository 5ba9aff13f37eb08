"""PTR-T: every post keeps its place, and its tags are replaced.

References
----------
T. Zhu, G. Li, W. Zhou, P. Xiong, C. Yuan: Privacy-preserving topic model for tagging recommender systems. Knowl. Inf.
Syst. 2016 (the idea to replace tags within topics; its promise does not hold).
B. Ghazi, N. Golowich, R. Kumar, P. Manurangsi, C. Zhang: Deep learning with label differential privacy. NeurIPS 2021
(the unit: all but one value is public).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.tags import TagAssignments
from discreet.errors import UsageError
from discreet.privacy.losses import Approximate, GaussianLoss, Loss, mu_for
from discreet.privacy.normal import NormalGramMechanism, NormalMechanism
from discreet.privacy.numbers import Rational, as_fraction, as_positive, as_probability
from discreet.privacy.units import Unit
from discreet.tagging.channel import Channel
from discreet.tagging.gram_topics import likeness_blocks, topics_of_gram
from discreet.tagging.post_sums import post_gram, resource_counts, tag_counts
from discreet.tagging.resource_tags import ResourceLists, channel_topics, fill_posts
from discreet.tagging.tag_release import ASSIGNMENTS, Parts, TagMethod, TagPlan, require_vocabulary

__all__ = ["PTRT"]

MOST_CELLS = 2**28


@dataclass(frozen=True)
class PTRT(TagMethod):
    """Triples in which all posts are real and no tag need be: who tagged what is public, the tags are protected.

    The tags of resources with many posts are counted, with noise. Tags whose noisy count stands out are given to the
    resource's posts, as often as counted; the other places stay empty or, if a channel is paid for, take what the
    channel makes of their own tag.

    Parameters
    ----------
    epsilon, delta
        The budget; δ is above 0.
    channel_share
        Share of ε for the channel that every tag is sent through once. 0 for no channel.
    popularity_share
        Share of the rest (of μ²) for how often each tag is given at all, which finds the head.
    gram_share
        Share of μ² for which tags stand together in posts: the topics of the channel. Without a channel it goes to
        resources.
    tag_share
        How much of the channel's budget tells tags of one topic from each other.
    head
        How many of the most frequent tags are counted for each resource.
    most_tags
        The most tags that a resource's posts are given.
    false_tags
        So many tags of a resource are expected to be noise alone: that sets the counts from which on tags are believed.
    topics
        The most topics of the channel.

    Privacy
    -------
    Unit: the value of one tag: all triples but for one tag, which may be any other. Who tagged what, and with how many
    tags, is public. One tag exchanged takes 1 from one count and adds 1 to another: L2 sensitivity √2 for the counts of
    tags and for those of resources × tags; √2 for the Gram matrix of posts of length 1. Noise √2/μₖ each, Σμₖ² = μ².
    The channel adds its ε: each tag passes it once. Proofs: ``docs/proofs/tag_channels.md``, Theorems 3 to 5.

    Notes
    -----
    A post in which the same tag comes up twice shows it once; that is a function of what was drawn.

    The shares were chosen on the built-in listeners of seed 7 (``docs/tagging.md``: one's own tags alone find 0.42 of a
    post's tags among ten, FolkRank on the true triples 0.60). FolkRank on the release and the own posts of the person
    who asks finds 0.47 at ε = 1 and 0.52 at ε = 2.5; ``LocalTags``, which reads the noisy counts themselves in the
    tables "links" and "tags", 0.49 and 0.53.

    If half of ε goes to the channel, FolkRank finds 0.23 and 0.25, and at ε = 20 it finds 0.48 with a channel and 0.55
    without. A channel that hides a tag puts more false tags at a resource than true ones, and a recommender that starts
    from the resource follows them. So its share is 0 unless told.

    Examples
    --------
    >>> import discreet as dc
    >>> data = dc.synthetic.tags(users=300, resources=40, seed=7).with_vocabulary("observed")
    >>> release = PTRT.of(epsilon=2, delta="1e-6").release(data)
    >>> release.table("assignments").columns
    ['user_id', 'resource_id', 'tag']
    """

    name: ClassVar[str] = "ptr-t"
    kind: ClassVar[str] = ASSIGNMENTS
    takes_all: ClassVar[bool] = True

    epsilon: Fraction
    delta: Fraction
    channel_share: Fraction = Fraction(0)
    popularity_share: Fraction = Fraction(1, 50)
    gram_share: Fraction = Fraction(1, 5)
    tag_share: Fraction = Fraction(1, 2)
    head: int = 300
    most_tags: int = 8
    false_tags: Fraction = Fraction(1, 2)
    topics: int = 20

    @classmethod
    def of(
        cls,
        *,
        epsilon: Rational,
        delta: Rational,
        channel_share: Rational = 0,
        popularity_share: Rational = "1/50",
        gram_share: Rational = "1/5",
        tag_share: Rational = "1/2",
        head: int = 300,
        most_tags: int = 8,
        false_tags: Rational = "1/2",
        topics: int = 20,
    ) -> PTRT:
        """The method with plain numbers."""
        return cls(
            as_positive(epsilon, "epsilon"),
            as_probability(delta),
            as_fraction(channel_share, "channel_share"),
            as_fraction(popularity_share, "popularity_share"),
            as_fraction(gram_share, "gram_share"),
            as_fraction(tag_share, "tag_share"),
            head,
            most_tags,
            as_positive(false_tags, "false_tags"),
            topics,
        )

    # Before the charge

    def _require(self, data: TagAssignments) -> None:
        # Resources need no list of their own: which posts there are is public under this unit.
        require_vocabulary(data, self.name)
        for name in ("head", "most_tags", "topics"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise UsageError(f"{name} = {value!r} must be a whole number from 1.")
        if not 0 <= self.channel_share < 1 or not 0 <= self.tag_share <= 1:
            raise UsageError("channel_share is from 0 to less than 1, and tag_share from 0 to 1.")
        if self.popularity_share <= 0 or self.gram_share <= 0 or self.popularity_share + self.gram_share >= 1:
            raise UsageError("popularity_share and gram_share are above 0 and add up to less than 1.")

    def _public(self, data: TagAssignments) -> TagAssignments:
        """The posts are public here, with how many tags they have; a plan reads ``posts`` and nothing about tags."""
        return data

    @property
    def _channel_epsilon(self) -> Fraction:
        return self.epsilon * self.channel_share

    @property
    def _mu_squared(self) -> Fraction:
        return mu_for(self.epsilon - self._channel_epsilon, self.delta) ** 2

    @property
    def _loss(self) -> Loss:
        return Approximate(self.epsilon, self.delta) if self.channel_share else GaussianLoss(self._mu_squared)

    @property
    def _mechanisms(self) -> tuple[NormalMechanism, NormalMechanism, NormalGramMechanism | None]:
        """For the counts of tags, for those of resources × tags, and for the Gram matrix if there is a channel."""
        whole = self._mu_squared
        gram = self.gram_share if self.channel_share else Fraction(0)
        return (
            NormalMechanism(whole * self.popularity_share),
            NormalMechanism(whole * (1 - self.popularity_share - gram)),
            NormalGramMechanism(whole * gram) if gram else None,
        )

    def _least_counts(self, table: NormalMechanism, size: int) -> NDArray[np.int64]:
        """The count from which on a tag is believed of a resource, for the most frequent tag, the next one and so on.

        The k-th tag of the head passes by noise alone with probability f/k, and all of them together so often as was
        asked for: a frequent tag is the likelier one, and needs less evidence. Public. Resources with fewer posts than
        the last of these counts are not looked at: what noise says of them would outweigh what they have.
        """
        deviation = table.standard_deviation(tag_counts(None))
        rank = np.arange(1, size + 1)
        chance = np.minimum(float(self.false_tags) / (1 / rank).sum() / rank, 0.5)
        return np.array([math.ceil(-NormalDist().inv_cdf(p) * deviation) for p in chance], dtype=np.int64).clip(1)

    def _plan(self, public: TagAssignments) -> TagPlan:
        first, table, gram = self._mechanisms
        for mechanism in (first, table):
            mechanism.check(tag_counts(None))
        if gram is not None:
            gram.check(post_gram(None, np.arange(1)))
            Channel.within(self._channel_epsilon, [0], tag_share=self.tag_share, nothing=False)
        posts = np.bincount(public.posts.resource, minlength=public.n_resources)
        least = self._least_counts(table, min(self.head, public.n_tags))
        rows = int((posts >= least.max(initial=1)).sum())
        if rows * min(self.head, public.n_tags) > MOST_CELLS:
            raise UsageError(f"{rows:,} resources × {self.head:,} tags are too many counts.", remedy="Lower head.")
        expected: dict[str, Any] = {
            "popularity_noise_sd": first.standard_deviation(tag_counts(None)),
            "link_noise_sd": table.standard_deviation(tag_counts(None)),
            "link_thresholds": [int(least[0]), int(least[-1])] if least.size else [],
            "resources_with_tags": rows,
            "channel_epsilon": float(self._channel_epsilon),
        }
        return TagPlan(
            loss=self._loss,
            unit=Unit("record", "value"),
            basis="replaced tags, docs/proofs/tag_channels.md, Theorem 5",
            subject=f"{len(public.posts):,} posts with replaced tags",
            not_covered=(
                "that you tagged this resource, and with how many tags: it hides which tag you chose, not that you "
                "tagged it",
                "what several tags of one person tell together: k tags cost k times as much",
                "the public list of tags",
                "facts about people at large",
            ),
            expected=expected,
        )

    # After it

    def _make(self, data: TagAssignments) -> Parts:
        first, table, gram = self._mechanisms
        popular = first.release(tag_counts(data))
        head = np.argsort(-popular, kind="stable")[: self.head]
        least = self._least_counts(table, head.size)
        posts = np.bincount(data.posts.resource, minlength=data.n_resources)
        rows = np.flatnonzero(posts >= least.max(initial=1))
        counts = table.release(resource_counts(data, rows, head)).reshape(rows.size, head.size)
        lists = ResourceLists.of(counts, rows, head, least=least, most=self.most_tags, posts=posts)
        said = None if gram is None else self._through_channel(data, head, popular, gram)
        place, tag = fill_posts(data, lists, said)
        return {
            "assignments": pl.DataFrame(
                {
                    "user_id": data.users.take(data.user[place]),
                    "resource_id": data.resources.take(data.resource[place]),
                    "tag": data.tags.take(tag),
                }
            )
            .unique()
            .sort("user_id", "resource_id", "tag"),
            "links": pl.DataFrame(
                {
                    "resource_id": data.resources.take(lists.resource),
                    "tag": data.tags.take(lists.tag),
                    "count": lists.count.astype(np.float64),
                }
            ),
            "tags": pl.DataFrame({"tag": data.tags.series, "count": popular.astype(np.float64)}),
        }

    def _through_channel(
        self, data: TagAssignments, head: NDArray[np.int64], popular: NDArray[np.int64], mechanism: NormalGramMechanism
    ) -> NDArray[np.int64]:
        """What the channel makes of each triple's tag; its topics and weights come from what was released."""
        gram = post_gram(data, head)
        (matrix,) = mechanism.release(gram)
        topics = topics_of_gram(matrix, mechanism.standard_deviation(gram), most_topics=self.topics)
        topic_of = channel_topics(topics, head, data.n_tags)
        profiles = np.zeros((data.n_tags, topics.n_topics))
        profiles[head] = topics.topic_given_tag
        channel = Channel.within(
            self._channel_epsilon,
            topic_of,
            tag_share=self.tag_share,
            weights=np.maximum(popular, 1),
            quality=likeness_blocks(topic_of, profiles),
            nothing=False,
        )
        return channel.draw(data.tag)
