"""PTR-L: a short noisy profile of each user, with resources that no one need have tagged.

References
----------
S. Kasiviswanathan, H. Lee, K. Nissim, S. Raskhodnikova, A. Smith: What can we learn privately? SIAM J. Comput. 2011.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.tags import TagAssignments
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.gram import BoundedGram, LaplaceGramMechanism
from discreet.privacy.losses import Pure
from discreet.privacy.mechanisms import LaplaceMechanism
from discreet.privacy.numbers import Rational, as_fraction, as_positive
from discreet.privacy.units import Unit
from discreet.tagging.channel import Channel
from discreet.tagging.exact_draws import uniform_below
from discreet.tagging.gram_topics import topics_of_gram
from discreet.tagging.resource_tags import channel_topics
from discreet.tagging.tag_release import ASSIGNMENTS, Parts, TagMethod, TagPlan
from discreet.tagging.tag_sums import bounded, holdings, length_weights, popularity, tag_gram

__all__ = ["PTRL"]

REPLACED = Unit("user", "replace")
MOST_SLOTS = 100
KEY_RANGE = 2**62

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class PTRL(TagMethod):
    """A few tags of each user, each sent through a channel, beside resources drawn from a private model.

    Each user picks ``slots`` of the own tags (with fewer tags, some slots are empty) and sends each slot, empty or not,
    through the channel. A tag that comes out is given a resource of its topic, drawn by released counts and never by
    what the user tagged.

    Parameters
    ----------
    epsilon
        The whole budget, pure.
    slots
        How many tags of a user are sent.
    channel_share, popularity_share, gram_share
        Shares of ε for the channel, for how many users use each tag, and for which tags go together (topics); the rest
        is for how often resources are tagged with each topic.
    tag_share
        How much of a slot's budget tells tags of one topic from each other.
    head
        Of how many of the most popular tags topics are learned.
    topics
        The most topics.

    Privacy
    -------
    Unit: one user, everything they tagged replaced by anything else; that they take part is public. Slots: s uses of a
    channel of ε_u/s each, whatever tags were picked. Model: each sum of a user has an L1 norm of 1 at most, exchanged
    2, with discrete Laplace noise. Everything together is ε, pure. Proof: ``docs/proofs/tag_channels.md``, Theorem 8.

    Notes
    -----
    With K topics and a budget of a for the topic a slot keeps it with probability e^a/(e^a + K): 0.17 for a = 3 and 100
    topics. Few slots and few topics are better than many. Where no profile of each user is needed, PTR-J and
    PTR-S give more for the same ε.

    Examples
    --------
    >>> import discreet as dc
    >>> data = dc.synthetic.tags(users=300, resources=40, seed=7)
    >>> data = data.with_vocabulary("observed").with_resources("observed")
    >>> release = PTRL.of(epsilon=6, slots=2).release(data)
    >>> release.table("assignments").columns
    ['user_id', 'resource_id', 'tag']
    """

    name: ClassVar[str] = "ptr-l"
    kind: ClassVar[str] = ASSIGNMENTS
    takes_all: ClassVar[bool] = True

    epsilon: Fraction
    slots: int = 1
    channel_share: Fraction = Fraction(1, 2)
    popularity_share: Fraction = Fraction(1, 10)
    gram_share: Fraction = Fraction(1, 5)
    tag_share: Fraction = Fraction(1, 2)
    head: int = 100
    topics: int = 10

    @classmethod
    def of(
        cls,
        *,
        epsilon: Rational,
        slots: int = 1,
        channel_share: Rational = "1/2",
        popularity_share: Rational = "1/10",
        gram_share: Rational = "1/5",
        tag_share: Rational = "1/2",
        head: int = 100,
        topics: int = 10,
    ) -> PTRL:
        """The method with plain numbers."""
        return cls(
            as_positive(epsilon, "epsilon"),
            slots,
            as_fraction(channel_share, "channel_share"),
            as_fraction(popularity_share, "popularity_share"),
            as_fraction(gram_share, "gram_share"),
            as_fraction(tag_share, "tag_share"),
            head,
            topics,
        )

    # Before the charge

    def _require(self, data: TagAssignments) -> None:
        super()._require(data)
        for name, most in (("slots", MOST_SLOTS), ("head", 10_000), ("topics", 10_000)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
                raise UsageError(f"{name} = {value!r} must be a whole number from 1 to {most:,}.")
        if not 0 <= self.tag_share <= 1:
            raise UsageError(f"tag_share = {self.tag_share} must be from 0 to 1.")
        if min(self._shares) <= 0:
            raise UsageError(
                "channel_share, popularity_share and gram_share are above 0 and add up to less than 1.",
                remedy="What they leave is spent on resources.",
            )

    @property
    def _shares(self) -> tuple[Fraction, Fraction, Fraction, Fraction]:
        """Of the channel, of popularity, of the Gram matrix and of resources."""
        given = (self.channel_share, self.popularity_share, self.gram_share)
        return (*given, 1 - sum(given, start=Fraction(0)))

    @property
    def _mechanisms(self) -> tuple[LaplaceMechanism, LaplaceGramMechanism, LaplaceMechanism]:
        _, first, gram, rest = (self.epsilon * share for share in self._shares)
        return LaplaceMechanism(first), LaplaceGramMechanism(gram), LaplaceMechanism(rest)

    def _channel(self, topic_of: Whole, weights: Whole) -> Channel:
        each = self.epsilon * self.channel_share / self.slots
        return Channel.within(each, topic_of, tag_share=self.tag_share, weights=weights)

    def _plan(self, public: TagAssignments) -> TagPlan:
        first, gram, rest = self._mechanisms
        if not public.n_tags or not public.n_resources:
            raise UsageError("there are no tags or no resources on the public lists.")
        first.check(_popularity(public))
        gram.check(_gram(public, np.arange(1)))
        rest.check(_topic_resources(public, np.zeros(public.n_tags, dtype=np.int64), 1))
        channel = self._channel(np.zeros(public.n_tags, dtype=np.int64), np.ones(public.n_tags, dtype=np.int64))
        expected: dict[str, Any] = {
            "popularity_noise_sd": first.standard_deviation(_popularity(public)),
            "slot_epsilon": float(channel.loss.epsilon),
        }
        return TagPlan(
            loss=Pure(self.epsilon),
            unit=REPLACED,
            basis="noisy profiles, docs/proofs/tag_channels.md, Theorem 8",
            subject=f"{self.slots} noisy tags of each user",
            caps=(
                f"{self.slots} tags of each user were picked at random",
                "each user's tags and triples were weighed down to 1 in all",
            ),
            not_covered=(
                "that you take part: it hides what you tagged and with what, not that you are among the users",
                "the public lists of tags and resources",
                "facts about people at large",
            ),
            expected=expected,
        )

    # After it

    def _make(self, data: TagAssignments) -> Parts:
        first, noise, rest = self._mechanisms
        sums = _popularity(data)
        popular = first.release(sums)
        head = np.sort(np.argsort(-popular, kind="stable")[: self.head])
        gram = _gram(data, head)
        (matrix,) = noise.release(gram)
        # Told is the deviation off the diagonal; topics want √2 of it, and do not look at the diagonal itself.
        topics = topics_of_gram(matrix, np.sqrt(2) * noise.standard_deviation(gram), most_topics=self.topics)
        topic_of = channel_topics(topics, head, data.n_tags)
        n_topics = topics.n_topics + 1
        by_topic = _topic_resources(data, topic_of, n_topics)
        resources = _weights_of(rest.release(by_topic), by_topic, rest).reshape(n_topics, data.n_resources)
        channel = self._channel(topic_of, _weights_of(popular, sums, first))
        user, said = np.repeat(np.arange(data.n_users), self.slots), channel.draw(_slots(data, self.slots))
        told = said < data.n_tags
        resource = _drawn_resources(topic_of[said[told]], resources)
        assignments = pl.DataFrame(
            {
                "user_id": data.users.take(user[told]),
                "resource_id": data.resources.take(resource),
                "tag": data.tags.take(said[told]),
            }
        )
        return {"assignments": assignments.unique().sort("user_id", "resource_id", "tag")}


def _popularity(data: TagAssignments) -> BoundedSums:
    return replace(popularity(data, 1, resources=False), unit=REPLACED)


def _gram(data: TagAssignments, head: Whole) -> BoundedGram:
    return replace(tag_gram(data, head, 1), unit=REPLACED)


def _topic_resources(data: TagAssignments, topic_of: Whole, n_topics: int) -> BoundedSums:
    """How often each resource is tagged with each topic, topics × resources; one user's triples weigh 1 in all."""
    weight = length_weights(np.diff(data.user_starts), 1)[data.user]
    cell = topic_of[data.tag] * data.n_resources + data.resource
    sums = np.bincount(cell, weights=weight, minlength=n_topics * data.n_resources).astype(np.int64)
    return replace(bounded(sums, order=1, caps=()), unit=REPLACED)


def _weights_of(noisy: Whole, sums: BoundedSums, mechanism: LaplaceMechanism) -> Whole:
    """Released sums as whole weights from 1: in tenths of a deviation of the noise, less two deviations of it."""
    deviation = mechanism.standard_deviation(sums) / float(sums.step)
    return np.maximum(np.floor(10 * (noisy / deviation - 2)), 1).astype(np.int64)


def _slots(data: TagAssignments, slots: int) -> Whole:
    """For each user so many of the own tags, at random and each once, then nothing; users one after the other."""
    user, tag = holdings(data.user, data.tag, data.n_tags)
    order = np.lexsort((uniform_below(np.full(user.size, KEY_RANGE)), user))
    user, tag = user[order], tag[order]
    place = np.arange(user.size) - np.searchsorted(user, user)
    chosen = place < slots
    picked = np.full((data.n_users, slots), data.n_tags, dtype=np.int64)
    picked[user[chosen], place[chosen]] = tag[chosen]
    return picked.reshape(-1)


def _drawn_resources(topics: Whole, weights: Whole) -> Whole:
    """A resource for each topic, with probability proportional to its weight."""
    running = np.append(0, np.cumsum(weights.reshape(-1)))
    starts = np.arange(weights.shape[0] + 1) * weights.shape[1]
    first, last = running[starts[topics]], running[starts[topics + 1]]
    place = np.searchsorted(running, first + uniform_below(last - first), side="right") - 1
    return place % weights.shape[1]
