"""Topics of tagged resources: latent Dirichlet allocation by collapsed Gibbs sampling.

References
----------
D. M. Blei, A. Y. Ng, M. I. Jordan: Latent Dirichlet allocation. Journal of Machine Learning Research 3 (2003).
T. L. Griffiths, M. Steyvers: Finding scientific topics. PNAS 101 (2004).
T. Zhu: Differential privacy and its applications. PhD thesis, Deakin University 2014, section 4.3.2: resources as
documents, tags as words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.common.arguments import require_positive, require_whole
from discreet.common.arrays import AnyIntegers, Codes, Floats
from discreet.common.threads import available_threads
from discreet.data.tags import TagAssignments
from discreet.errors import DataError, UsageError
from discreet.tagging.topics.chain import TopicChain, shards_for

__all__ = ["TopicModel", "coherence", "perplexity"]

Progress = Callable[[float, str], None]

Counts = Codes

_LEARNED = {
    *("topic_words_", "resource_topics_", "tag_topics_", "tag_counts_", "resource_counts_", "topic_counts_"),
    *("assignments_", "log_likelihood_", "sweeps_", "converged_", "tags_", "resources_", "_chain", "_documents"),
}
"""What ``fit`` sets."""

CHUNK = 1 << 15


@dataclass(eq=False)
class TopicModel:
    """Topics behind tags: a resource is a mixture of topics, and a topic a distribution over tags.

    A resource's document is all its triples: a tag counts once for each user who gave it. Each triple has a topic; a
    sweep draws the topic of every triple anew, given those of all others:

        Pr(z | t, r, rest) ∝ (C_tz + β) / (Σ_s C_sz + |T|·β) · (C_rz + α)

    Parameters
    ----------
    topics
        K: how many.
    alpha, beta
        Of the Dirichlet priors: how many triples of each topic a resource is thought to have, and of each tag a topic,
        before anything is seen. The thesis names none. Griffiths and Steyvers, on whom it is based, take 50/K and
        0.1 for long documents; most resources have few tags, and smaller values are better for them.
    iterations
        Sweeps at most.
    tolerance
        Stop when the log-likelihood, averaged over a window, differs by no more than this share from that of the
        window before; None for all the sweeps.
    window
        How many entries of the trace a window has.
    trace_every
        How many sweeps there are from one entry of the trace to the next.
    shards
        How many parts the triples are cut into, by resource and by tag: blocks of them can run at once. One shard is
        the Gibbs sampler itself. With more, a block does not see what others do at the same moment to the totals
        Σ_s C_sz, each of which is one number of thousands; results are as good. None for one below
        100,000 triples and more above. The result depends on the shards, and never on the number of threads.
    seed
        The same seed gives the same topics.

    Attributes
    ----------
    topic_words_ : float array, topics × tags
        Pr(t | z), rows sum to 1.
    resource_topics_ : float array, resources × topics
        Pr(z | r), rows sum to 1.
    tag_topics_ : float array, tags × topics
        Pr(z | t), rows sum to 1: by Bayes' rule, with the share of the triples that each topic has.
    tag_counts_, resource_counts_, topic_counts_ : integer arrays
        C: how many triples of each tag (tags × topics), of each resource (resources × topics) and of all have a topic.
    assignments_ : int32 array
        Topic of each triple, in the order of the data.
    log_likelihood_ : float array
        The trace: logarithm of the joint probability of tags and topics, after every ``trace_every`` sweeps.
    sweeps_ : int
        How many there were.
    converged_ : bool
        Whether the trace converged, by ``tolerance`` and ``window``.
    tags_, resources_ : IdMap
        What the codes stand for.

    Privacy
    -------
    None: the topics are a function of everybody's triples, and a resource's topics of whoever tagged it.

    Notes
    -----
    Topics are estimated from the state of the chain after its last sweep. Topics have no order, and those of two seeds
    do not correspond. Counts of all resources are kept for all topics: resources × topics × 4 bytes.

    Examples
    --------
    >>> import discreet as dc
    >>> tags = dc.synthetic.tags(users=60, resources=50, vocabulary=60, seed=7).cleaned()
    >>> model = TopicModel(topics=12, iterations=40).fit(tags)
    >>> model.topic_words_.shape == (12, tags.n_tags), model.sweeps_
    (True, 40)
    >>> model.more(10).sweeps_
    50
    >>> model.words_of(0, 3).columns
    ['tag', 'probability']
    """

    topics: int = 100
    alpha: float = 0.1
    beta: float = 0.01
    iterations: int = 500
    tolerance: float | None = 5e-4
    window: int = 5
    trace_every: int = 10
    shards: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("topics", "iterations", "window", "trace_every"):
            require_whole(getattr(self, name), name, least=1)
        if self.shards is not None:
            require_whole(self.shards, "shards", least=1)
        for name in ("alpha", "beta"):
            require_positive(getattr(self, name), name)
        if self.tolerance is not None:
            require_positive(self.tolerance, "tolerance")
        require_whole(self.seed, "seed", least=0)

    # Learning

    def fit(self, data: TagAssignments, *, threads: int | None = None, progress: Progress | None = None) -> Self:
        """Run the chain from its beginning until the trace converges, or for ``iterations`` sweeps.

        Parameters
        ----------
        threads
            How many; None for as many as numba may use.
        progress
            Called after each sweep with the share of ``iterations`` that is done, and what is being done.
        """
        self._start(data, self._chain_of(data))
        return self._run(self.iterations, threads, progress, until=self._at_rest)

    def more(self, iterations: int, *, threads: int | None = None, progress: Progress | None = None) -> Self:
        """Continue the chain for this number of sweeps, whether it has converged or not."""
        require_whole(iterations, "iterations", least=1)
        return self._run(iterations, threads, progress, until=lambda: False)

    def state(self) -> dict[str, NDArray[Any]]:
        """The state of the chain as plain arrays, for ``numpy.savez`` and ``resume``."""
        chain: TopicChain = self._chain
        return {
            "assignments": chain.assignments,
            "sweeps": np.array(chain.sweeps),
            "log_likelihood": self.log_likelihood_,
            "settings": np.array(chain.settings),
        }

    def resume(self, data: TagAssignments, state: Mapping[str, NDArray[Any]]) -> Self:
        """Take over the state of another run on the same data with the same settings; ``more`` continues it.

        The result is the same as if that run had continued, to the last bit.
        """
        if missing := {"assignments", "sweeps", "log_likelihood", "settings"} - set(state):
            raise DataError(f"the state lacks {', '.join(sorted(missing))}.", remedy="Give what state() gave.")
        topic = np.asarray(state["assignments"])
        if topic.shape != (len(data),) or topic.dtype.kind not in "iu":
            raise DataError(f"the state is not one of {data!r}.", remedy="Give the data that it was made from.")
        begun = self._chain_of(data, topic.astype(np.int32), int(state["sweeps"]))
        if str(state["settings"]) != begun.settings:
            raise UsageError(
                f"the state was made with {state['settings']}, and this model has {begun.settings}.",
                remedy="Make the model with the settings of the one that the state came from.",
            )
        self._start(data, begun)
        self.log_likelihood_ = np.array(state["log_likelihood"], dtype=np.float64)
        self.converged_ = self._at_rest()
        return self

    def _chain_of(self, data: TagAssignments, assignments: Codes | None = None, sweeps: int = 0) -> TopicChain:
        """A chain at the given state, or at its beginning."""
        if len(data) == 0:
            raise DataError("there are no triples to learn topics from.")
        if assignments is not None and not 0 <= int(assignments.min()) <= int(assignments.max()) < self.topics:
            raise DataError("the state has other topics than the model.", value=int(assignments.max()))
        return TopicChain(
            data,
            topics=self.topics,
            alpha=self.alpha,
            beta=self.beta,
            shards=shards_for(len(data)) if self.shards is None else self.shards,
            seed=self.seed,
            assignments=assignments,
            sweeps=sweeps,
        )

    def _start(self, data: TagAssignments, chain: TopicChain) -> None:
        """Take a chain over, with an empty trace."""
        self.tags_, self.resources_ = data.tags, data.resources
        self._documents, self._chain = (data.resource, data.tag), chain
        self.log_likelihood_, self.converged_ = np.empty(0), False
        self._estimate()

    def _run(
        self, iterations: int, threads: int | None, progress: Progress | None, *, until: Callable[[], bool]
    ) -> Self:
        """Sweep, and keep the trace."""
        chain: TopicChain = self._chain
        begun = chain.sweeps

        def after(sweeps: int) -> bool:
            if progress is not None:
                progress((sweeps - begun) / iterations, f"sweep {sweeps}")
            if sweeps % self.trace_every:
                return False
            self.log_likelihood_ = np.append(self.log_likelihood_, chain.log_likelihood())
            self.converged_ = self._at_rest()
            return until()

        try:
            chain.run(iterations, threads=available_threads(threads), after=after)
        finally:
            self._estimate()
        return self

    def _at_rest(self) -> bool:
        """Whether the last two windows of the trace have about the same mean."""
        if self.tolerance is None or self.log_likelihood_.size < 2 * self.window:
            return False
        before, now = self.log_likelihood_[-2 * self.window :].reshape(2, -1).mean(axis=1)
        return bool(abs(now - before) <= self.tolerance * abs(before))

    # What was learned

    def _estimate(self) -> None:
        """Set what follows from the state of the chain."""
        chain: TopicChain = self._chain
        self.sweeps_, self.assignments_, self.topic_counts_ = chain.sweeps, chain.assignments, chain.topic_counts
        self.tag_counts_, self.resource_counts_ = chain.tag_counts, chain.resource_counts
        self.topic_words_ = _shares(self.tag_counts_.T + self.beta)
        self.resource_topics_ = _shares(self.resource_counts_ + self.alpha)
        # Pr(t | z) Pr(z) with Pr(z) ∝ Σ C + |T| beta: the denominator of the one is the numerator of the other.
        self.tag_topics_ = _shares(self.tag_counts_ + self.beta)

    def __getattr__(self, name: str) -> Any:
        if name in _LEARNED:
            raise UsageError("this topic model is not fitted.", remedy="Call fit(data) first.")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def words_of(self, topic: int, n: int = 10) -> pl.DataFrame:
        """The most probable tags of a topic, most probable first: tag, probability."""
        topics = self._chain.topics
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
        topics = self._chain.topics
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
        return perplexity(np.vstack([self.resource_topics_, strangers]), self.topic_words_, resource, tag)

    def coherence(self, n: int = 10) -> float:
        """Whether the n most probable tags of a topic occur together: their mean NPMI over all topics, −1 to 1.

        Judged by the resources that the model has learned from.
        """
        require_whole(n, "n", least=2)
        return float(coherence(self.topic_words_, *self._documents, n=n).mean())


def _shares(weights: NDArray[Any]) -> Floats:
    """Rows that sum to one."""
    return weights / weights.sum(axis=1, keepdims=True)


def perplexity(resource_topics: Floats, topic_tags: Floats, resource: AnyIntegers, tag: AnyIntegers) -> float:
    """The reciprocal of the geometric mean probability of these triples: how many equally likely tags are left.

        exp( −1/n · Σ_{(r, t)} ln Σ_z Pr(z | r)·Pr(t | z) )

    Parameters
    ----------
    resource_topics, topic_tags
        Pr(z | r), resources × topics, and Pr(t | z), topics × tags.
    resource, tag
        Codes of each triple.
    """
    columns = np.ascontiguousarray(topic_tags.T)
    total = 0.0
    for begin in range(0, tag.size, CHUNK):
        some = slice(begin, begin + CHUNK)
        total += float(np.log(np.einsum("ij,ij->i", resource_topics[resource[some]], columns[tag[some]])).sum())
    return float(np.exp(-total / tag.size))


def coherence(topic_tags: Floats, resource: AnyIntegers, tag: AnyIntegers, *, n: int = 10) -> Floats:
    """Of each topic, the mean normalized pointwise mutual information (NPMI) of pairs of its n most probable tags.

        ln( p(s, t) / (p(s)·p(t)) ) / −ln p(s, t)

    with p the share of the resources that have the tag, or both tags: 1 for tags that are always together, 0 for
    independent ones, −1 for those that never meet.

    Parameters
    ----------
    topic_tags
        Pr(t | z), topics × tags.
    resource, tag
        Codes of the triples to judge by; repeats count once.

    References
    ----------
    G. Bouma: Normalized (pointwise) mutual information in collocation extraction. GSCL 2009.
    """
    from scipy.sparse import csr_array

    top = np.argsort(-topic_tags, axis=1, kind="stable")[:, :n]
    listed, column = np.unique(top, return_inverse=True)
    column = column.reshape(top.shape)
    place = np.full(topic_tags.shape[1], -1)
    place[listed] = np.arange(listed.size)
    kept = place[tag] >= 0
    rows, n_resources = np.unique(resource[kept], return_inverse=True)[1], np.unique(resource).size
    occurs = csr_array((np.ones(rows.size), (rows, place[tag[kept]])), shape=(n_resources, listed.size))
    occurs.data[:] = 1.0  # repeats were added up
    together = (occurs.T @ occurs).toarray() / n_resources
    alone = np.diag(together)
    first, second = np.triu_indices(top.shape[1], k=1)
    pairs = together[column[:, first], column[:, second]]
    expected = alone[column[:, first]] * alone[column[:, second]]
    with np.errstate(divide="ignore", invalid="ignore"):
        information = np.log(pairs / expected) / -np.log(pairs)
    information = np.where(pairs == 0, -1.0, np.where(pairs == 1, 1.0, information))
    return information.mean(axis=1)
