"""A channel that a tag is sent through once: a topic by randomized response, then a tag of that topic.

What comes out is drawn exactly: coins with certified thresholds and whole numbers, no law in floating point
(``docs/proofs/tag_channels.md``, Theorems 1 and 2).

References
----------
S. Warner: Randomized response. J. Am. Stat. Assoc. 1965.
F. McSherry, K. Talwar: Mechanism design via differential privacy. FOCS 2007.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.privacy.losses import Pure
from discreet.privacy.noise import below
from discreet.privacy.numbers import Rational, as_fraction, as_positive, plain
from discreet.tagging.channel_tables import ChannelTables, check_blocks
from discreet.tagging.exact_draws import decay, kept_chance, uniform_below
from discreet.tagging.gram_topics import GRID

__all__ = ["Channel"]

MOST_TAG_BUDGET = 10
"""Within a topic a proposal is taken with probability e^(−b/2) at least: beyond this it would take long."""
MOST_TOPIC_BUDGET = 100
MOST_WEIGHT = 2**40

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Channel:
    """Q: from a tag (or from nothing) to a tag (or nothing), with full support.

    The topic of the tag is kept with probability e^a/(e^a + K − 1), K the number of topics, and is one of the others
    otherwise, all alike. Then a tag t' of that topic is drawn with probability proportional to w(t')·exp(b·q(t, t')/2)
    if the topic is that of t, and to w(t') if not. Nothing (⊥) has a topic of its own.

    Parameters
    ----------
    topic_of
        The topic of each tag, from 0: public, or released before.
    topic_budget, tag_budget
        a and b, rationals from 0.
    weights
        w, a whole number from 1 for each tag, public or released before; None for 1 throughout.
    quality
        For each topic a square array of whole numbers from 0 to ``grid``, its tags in the order of their codes, that
        says q·grid; None for 1 for the tag itself and 0 for all others.
    nothing
        Whether ⊥ is among what comes in and goes out; its code is the number of tags.

    Attributes
    ----------
    n_topics : int
        K, that of ⊥ included.
    loss : Pure
        max(b, a + b/2), which is at most a + b.

    Privacy
    -------
    Unit: one tag that goes through once, replaced by any other. Two tags of one topic have the same law of topics and
    differ by b within theirs; two of different topics differ by a in the topic and by b/2 within it. Proof:
    ``docs/proofs/tag_channels.md``, Theorem 1. Not covered: how often the channel was used.

    Examples
    --------
    >>> channel = Channel.of([0, 0, 1, 1], topic_budget="0.4", tag_budget="0.3")
    >>> print(channel.loss)
    ε = 0.55
    >>> channel.law().shape, bool(np.allclose(channel.law().sum(axis=1), 1))
    ((5, 5), True)
    >>> channel.draw(np.array([0, 3, 4])).shape
    (3,)
    """

    topic_of: Whole
    topic_budget: Fraction
    tag_budget: Fraction
    weights: Whole
    quality: tuple[NDArray[np.uint8] | None, ...]
    grid: int = GRID
    nothing: bool = True

    theorem: ClassVar[str] = "topic and tag channel, docs/proofs/tag_channels.md, Theorem 1"

    @classmethod
    def of(
        cls,
        topic_of: Sequence[int] | Whole,
        *,
        topic_budget: Rational,
        tag_budget: Rational = 0,
        weights: Sequence[int] | Whole | None = None,
        quality: Sequence[NDArray[np.integer] | None] | None = None,
        grid: int = GRID,
        nothing: bool = True,
    ) -> Channel:
        """Read the settings, check them, and drop topics without a tag (``quality`` has no entries for those)."""
        given = np.asarray(topic_of)
        if given.ndim != 1 or given.size == 0 or not np.issubdtype(given.dtype, np.integer):
            raise UsageError("topic_of holds a whole number for each tag, and there is at least one tag.")
        names, topics = np.unique(given, return_inverse=True)
        weigh = np.ones(given.size, dtype=np.int64) if weights is None else np.asarray(weights)
        if weigh.shape != given.shape or not np.issubdtype(weigh.dtype, np.integer) or weigh.min() < 1:
            raise UsageError("weights are whole numbers from 1, one for each tag.")
        if int(weigh.max()) > MOST_WEIGHT:
            raise UsageError(f"a weight of {int(weigh.max()):,} is too large to be drawn by.")
        blocks = (None,) * names.size if quality is None else tuple(quality)
        check_blocks(blocks, np.bincount(topics), grid)
        return cls(
            topic_of=topics.astype(np.int64),
            topic_budget=_budget(topic_budget, "topic_budget", MOST_TOPIC_BUDGET),
            tag_budget=_budget(tag_budget, "tag_budget", MOST_TAG_BUDGET),
            weights=weigh.astype(np.int64),
            quality=tuple(None if block is None else block.astype(np.uint8) for block in blocks),
            grid=grid,
            nothing=nothing,
        )

    @classmethod
    def within(
        cls,
        epsilon: Rational,
        topic_of: Sequence[int] | Whole,
        *,
        tag_share: Rational = "1/2",
        weights: Sequence[int] | Whole | None = None,
        quality: Sequence[NDArray[np.integer] | None] | None = None,
        grid: int = GRID,
        nothing: bool = True,
    ) -> Channel:
        """The channel that spends ε: b = share·ε within topics (10 at most), and a = ε − b/2 for the topic."""
        whole, share = as_positive(epsilon, "epsilon"), as_fraction(tag_share, "tag_share")
        if not 0 <= share <= 1:
            raise UsageError(f"tag_share = {plain(share)} must be from 0 to 1.")
        b = min(whole * share, Fraction(MOST_TAG_BUDGET))
        return cls.of(
            topic_of,
            topic_budget=whole - b / 2,
            tag_budget=b,
            weights=weights,
            quality=quality,
            grid=grid,
            nothing=nothing,
        )

    @property
    def n_tags(self) -> int:
        return int(self.topic_of.size)

    @property
    def n_topics(self) -> int:
        return len(self.quality) + int(self.nothing)

    @property
    def loss(self) -> Pure:
        return Pure(max(self.tag_budget, self.topic_budget + self.tag_budget / 2))

    @property
    def kept(self) -> float:
        """How likely the topic is kept."""
        return float(1 / (1 + (self.n_topics - 1) * np.exp(-float(self.topic_budget))))

    # Drawing

    def draw(self, tags: NDArray[np.integer]) -> Whole:
        """What comes out for each of these tags; each entry is an independent use of the channel.

        Parameters
        ----------
        tags
            Codes; the number of tags stands for ⊥ where there is one.
        """
        given = np.asarray(tags, dtype=np.int64)
        if given.size and not 0 <= given.min() <= given.max() < self._tables.topics.size:
            raise UsageError(f"codes of tags are from 0 to {self._tables.topics.size - 1}.")
        true = self._tables.topics[given]
        said = self._said_topics(true)
        drawn = self._tables.draw(said)
        # Within the right topic proposals are turned down until one is as good as its coin asks for.
        doubtful = np.flatnonzero(said == true)
        while doubtful.size:
            level = self._tables.levels(given[doubtful], drawn[doubtful])
            doubtful = doubtful[~self._accepted(level)]
            drawn[doubtful] = self._tables.draw(said[doubtful])
        return drawn

    def _said_topics(self, true: Whole) -> Whole:
        others = self.n_topics - 1
        if others == 0:
            return true.copy()
        keep = below(true.size, kept_chance(self.topic_budget, others))
        # One of the other topics: a step of 1 to K − 1 around the circle, all alike.
        step = 1 + uniform_below(np.full(int((~keep).sum()), others))
        said = true.copy()
        said[~keep] = (said[~keep] + step) % self.n_topics
        return said

    def _accepted(self, levels: Whole) -> NDArray[np.bool_]:
        """Coins of probability exp(−b·level/(2·grid))."""
        accepted = np.ones(levels.size, dtype=bool)
        for level in np.unique(levels[levels > 0]) if self.tag_budget else ():
            here = np.flatnonzero(levels == level)
            accepted[here] = below(here.size, decay(self.tag_budget * int(level) / (2 * self.grid)))
        return accepted

    # The law

    def law(self) -> NDArray[np.float64]:
        """Pr[out | in] for all tags and ⊥, one row for each input; for short vocabularies."""
        size = self._tables.topics.size
        base = self._tables.weights.astype(np.float64)
        said = np.full((self.n_topics, self.n_topics), (1 - self.kept) / max(self.n_topics - 1, 1))
        np.fill_diagonal(said, self.kept)
        law = np.empty((size, size))
        for tag in range(size):
            same = np.flatnonzero(self._tables.topics == self._tables.topics[tag])
            score = base.copy()
            short = self._tables.levels(np.full(same.size, tag), same)
            score[same] *= np.exp(-float(self.tag_budget) * short / (2 * self.grid))
            within = score / np.bincount(self._tables.topics, weights=score)[self._tables.topics]
            law[tag] = said[self._tables.topics[tag], self._tables.topics] * within
        return law

    @cached_property
    def _tables(self) -> ChannelTables:
        if not self.nothing:
            return ChannelTables.of(self.topic_of, self.weights, self.quality, self.grid)
        topics, weights = np.append(self.topic_of, len(self.quality)), np.append(self.weights, 1)
        return ChannelTables.of(topics, weights, (*self.quality, None), self.grid)


def _budget(given: Rational, name: str, most: int) -> Fraction:
    number = as_fraction(given, name)
    if not 0 <= number <= most:
        raise UsageError(f"{name} = {plain(number)} must be from 0 to {most}.")
    return number
