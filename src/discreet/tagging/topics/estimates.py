"""What a topic model has learned: the distributions that its counts stand for, and how good they are."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.common.arguments import require_whole
from discreet.data.ids import Codes, IdMap
from discreet.data.tags import TagAssignments
from discreet.errors import DataError, UsageError
from discreet.tagging.topics import quality
from discreet.tagging.topics.chain import TopicChain

__all__ = ["TopicEstimates"]

Floats = NDArray[np.float64]
Counts = NDArray[np.int32]


class TopicEstimates:
    """Everything that follows from the state of a chain; ``TopicModel`` explains the attributes."""

    tags_: IdMap
    resources_: IdMap
    log_likelihood_: Floats
    converged_: bool
    _chain: TopicChain
    _documents: tuple[Codes, Codes]

    @property
    def _fitted(self) -> TopicChain:
        chain = self.__dict__.get("_chain")
        if chain is None:
            raise UsageError("this topic model is not fitted.", remedy="Call fit(data) first.")
        return chain

    def _forget(self) -> None:
        """Drop what was computed from an earlier state of the chain."""
        for name, value in vars(TopicEstimates).items():
            if isinstance(value, cached_property):
                self.__dict__.pop(name, None)

    @property
    def sweeps_(self) -> int:
        return self._fitted.sweeps

    @cached_property
    def assignments_(self) -> Codes:
        return self._fitted.assignments

    @cached_property
    def tag_counts_(self) -> Counts:
        return self._fitted.tag_counts

    @cached_property
    def resource_counts_(self) -> Counts:
        return self._fitted.resource_counts

    @property
    def topic_counts_(self) -> NDArray[np.int64]:
        return self._fitted.topic_counts

    @cached_property
    def topic_words_(self) -> Floats:
        raised = self.tag_counts_.T + self._fitted.beta
        return raised / raised.sum(axis=1, keepdims=True)

    @cached_property
    def resource_topics_(self) -> Floats:
        raised = self.resource_counts_ + self._fitted.alpha
        return raised / raised.sum(axis=1, keepdims=True)

    @cached_property
    def tag_topics_(self) -> Floats:
        # Pr(t | z) Pr(z) with Pr(z) ∝ Σ C + |T| beta: the denominator of the one is the numerator of the other.
        raised = self.tag_counts_ + self._fitted.beta
        return raised / raised.sum(axis=1, keepdims=True)

    def words_of(self, topic: int, n: int = 10) -> pl.DataFrame:
        """The most probable tags of a topic, most probable first: tag, probability."""
        topics = self._fitted.topics
        if isinstance(topic, bool) or not isinstance(topic, int | np.integer) or not 0 <= topic < topics:
            raise UsageError(f"there is no topic {topic!r}.", remedy=f"Topics are 0 to {topics - 1}.")
        require_whole(n, "n", least=1)
        best = np.argsort(-self.topic_words_[topic], kind="stable")[:n]
        return pl.DataFrame({"tag": self.tags_.take(best), "probability": self.topic_words_[topic, best]})

    def perplexity(self, held_out: TagAssignments) -> float:
        """How many equally likely tags the model leaves to choose from, on average, for triples it has not seen.

        A resource that the model has not seen has all topics alike. A tag that it has not seen has no probability and
        is an error: split data that have a vocabulary.
        """
        topics = self._fitted.topics
        if len(held_out) == 0:
            raise DataError("there are no triples to judge the topics by.")
        tag = self.tags_.encode(held_out.tags.series, unknown="mark")[held_out.tag]
        if tag.min() < 0:
            culprit = held_out.tags.decode([held_out.tag[int(np.argmin(tag))]])[0]
            raise DataError(
                f"the model has never seen the tag {culprit!r}.",
                value=culprit,
                remedy='Give the data a vocabulary before they are split: with_vocabulary("observed").',
            )
        resource = self.resources_.encode(held_out.resources.series, unknown="mark")[held_out.resource]
        strangers = np.full((1, topics), 1 / topics)
        # The code −1 takes the last row.
        return quality.perplexity(np.vstack([self.resource_topics_, strangers]), self.topic_words_, resource, tag)

    def coherence(self, n: int = 10) -> float:
        """Whether the n most probable tags of a topic occur together: their mean NPMI over all topics, −1 to 1.

        See ``quality.coherence``; resources that the model has learned from are what is judged by.
        """
        _ = self._fitted
        require_whole(n, "n", least=2)
        return float(quality.coherence(self.topic_words_, *self._documents, n=n).mean())
