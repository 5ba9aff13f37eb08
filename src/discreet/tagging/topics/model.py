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
from numpy.typing import NDArray

from discreet.common.arguments import require_positive, require_whole
from discreet.common.threads import available_threads
from discreet.data.ids import Codes
from discreet.data.tags import TagAssignments
from discreet.errors import DataError, UsageError
from discreet.tagging.topics.chain import TopicChain, shards_for
from discreet.tagging.topics.estimates import TopicEstimates

__all__ = ["TopicModel"]

Progress = Callable[[float, str], None]


@dataclass(eq=False)
class TopicModel(TopicEstimates):
    r"""Topics behind tags: a resource is a mixture of topics, and a topic a distribution over tags.

    A resource's document is all its triples: a tag counts once for each user who gave it. Each triple has a topic; a
    sweep draws the topic of every triple anew, given those of all others:

    .. math:: \Pr(z \mid t, r, \text{rest}) \propto \frac{C_{tz} + \beta}{\sum_s C_{sz} + |T| \beta} (C_{rz} + \alpha)

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
        :math:`\sum_s C_{sz}`, each of which is one number of thousands; results are as good. None for one below
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
        chain = self._fitted
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
        self._forget()

    def _run(
        self, iterations: int, threads: int | None, progress: Progress | None, *, until: Callable[[], bool]
    ) -> Self:
        """Sweep, and keep the trace."""
        chain = self._fitted
        begun = chain.sweeps

        def after(sweeps: int) -> bool:
            if progress is not None:
                progress((sweeps - begun) / iterations, f"sweep {sweeps}")
            if sweeps % self.trace_every:
                return False
            self.log_likelihood_ = np.append(self.log_likelihood_, chain.log_likelihood())
            self.converged_ = self._at_rest()
            return until()

        self._forget()
        chain.run(iterations, threads=available_threads(threads), after=after)
        return self

    def _at_rest(self) -> bool:
        """Whether the last two windows of the trace have about the same mean."""
        if self.tolerance is None or self.log_likelihood_.size < 2 * self.window:
            return False
        before, now = self.log_likelihood_[-2 * self.window :].reshape(2, -1).mean(axis=1)
        return bool(abs(now - before) <= self.tolerance * abs(before))
