"""The Markov chain of the topic model: the topic of each triple, and sweeps that draw new ones.

Triples are cut into shards by resource and by tag, both ways alike: a sweep of S shards has S rounds, and in a round S
blocks, of which no two share a resource or a tag. All they share is how many triples each topic has, which blocks read
as it was when the round began (one shard: as it is). Blocks of a round may therefore run one after another or at once,
with the same result.

References
----------
T. L. Griffiths, M. Steyvers: Finding scientific topics. PNAS 101 (2004): the sampler.
H.-F. Yu, C.-J. Hsieh, H. Yun, S. V. N. Vishwanathan, I. S. Dhillon: A scalable asynchronous distributed algorithm for
topic modeling. WWW 2015: one side at a time, with the sum over all topics kept.
F. Yan, N. Xu, Y. Qi: Parallel inference for latent Dirichlet allocation on graphics processing units. NIPS 2009: the
blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from discreet.common.arrays import Codes, Integers
from discreet.common.splitmix import GOLDEN, splitmix, splitmix_uniforms
from discreet.data.tags import TagAssignments

__all__ = ["TopicChain", "shards_for"]

TRIPLES_A_SHARD = 50_000
MOST_SHARDS = 16
_ALL_BITS = (1 << 64) - 1


def shards_for(triples: int) -> int:
    """The number of shards for this number of triples: a power of two, and 1 where a sweep is short."""
    shards = 1
    while 2 * shards * TRIPLES_A_SHARD <= triples and shards < MOST_SHARDS:
        shards *= 2
    return shards


class TopicChain:
    """Topics of all triples, and the counts that follow from them; the settings are those of ``TopicModel``.

    Resources are documents, and each triple is one occurrence of its tag. Random numbers are a function of the seed,
    the number of the sweep and the block: nothing else is remembered. ``assignments`` are the topic of each triple, in
    the order of the data, that ``sweeps`` led to; None for random ones.
    """

    def __init__(
        self,
        data: TagAssignments,
        *,
        topics: int,
        alpha: float,
        beta: float,
        shards: int,
        seed: int,
        assignments: Codes | None = None,
        sweeps: int = 0,
    ) -> None:
        self.topics, self.alpha, self.beta, self.shards, self.seed = topics, alpha, beta, shards, seed
        self.sweeps = sweeps
        self._cut(data)
        if assignments is None:
            assignments = (splitmix_uniforms(len(data), int(_stream(seed, 0, 0))) * topics).astype(np.int32)
        self._topic = assignments[self._order].astype(np.uint32)
        self.topic_counts = np.bincount(self._topic, minlength=topics)
        self._count_resources(data.n_resources)
        self._list_topics(data.n_tags)

    def _cut(self, data: TagAssignments) -> None:
        """Put the triples in the order of the blocks, and in a block resource by resource.

        Resources and tags are numbered shard by shard here: what one block writes lies together, and two threads never
        write to the same line of memory for long.
        """
        lengths, uses = (
            np.bincount(data.resource, minlength=data.n_resources),
            np.bincount(data.tag, minlength=data.n_tags),
        )
        resource_shard, tag_shard = _dealt(lengths, self.shards), _dealt(uses, self.shards)
        self._resource_rank, self._tag_rank = _ranked(resource_shard), _ranked(tag_shard)
        self._lengths, self._uses = np.empty_like(lengths), np.empty_like(uses)
        self._lengths[self._resource_rank], self._uses[self._tag_rank] = lengths, uses
        block = resource_shard[data.resource] * self.shards + tag_shard[data.tag]
        self._order = np.lexsort((data.tag, data.resource, block))
        block = block[self._order]
        self._resource = self._resource_rank[data.resource[self._order]].astype(np.uint32)
        self._tag = self._tag_rank[data.tag[self._order]].astype(np.uint32)
        begins = np.ones(len(data), dtype=bool)
        begins[1:] = (block[1:] != block[:-1]) | (self._resource[1:] != self._resource[:-1])
        first = np.flatnonzero(begins)
        self._resources, self._starts = self._resource[first], np.append(first, len(data))
        self._blocks = np.searchsorted(block[first], np.arange(self.shards**2 + 1))

    def _count_resources(self, n_resources: int) -> None:
        """How many triples of each resource have each topic, with columns up to a multiple of the lanes."""
        from discreet.tagging.topics.kernels import LANES

        width = -(-self.topics // LANES) * LANES
        counts = np.bincount(self._resource.astype(np.int64) * width + self._topic, minlength=n_resources * width)
        self._resource_counts = counts.astype(np.int32).reshape(n_resources, width)

    def _list_topics(self, n_tags: int) -> None:
        """The topics of each tag, rising, and how many of its triples each has; with room for all it can have."""
        self._list_starts = np.append(0, np.cumsum(np.minimum(self._uses, self.topics)))
        cells, counts = np.unique(self._tag.astype(np.int64) * self.topics + self._topic, return_counts=True)
        tag, topic = np.divmod(cells, self.topics)
        self._list_sizes = np.bincount(tag, minlength=n_tags)
        place = np.arange(cells.size) + (self._list_starts[:-1] - np.cumsum(self._list_sizes) + self._list_sizes)[tag]
        self._list_kinds = np.zeros(int(self._list_starts[-1]), dtype=np.uint32)
        self._list_counts = np.zeros(int(self._list_starts[-1]), dtype=np.int32)
        self._list_kinds[place], self._list_counts[place] = topic, counts

    # State

    @property
    def settings(self) -> str:
        """The settings that decide how the chain continues."""
        return f"topics={self.topics}, alpha={self.alpha!r}, beta={self.beta!r}, shards={self.shards}, seed={self.seed}"

    @property
    def assignments(self) -> Codes:
        """Topic of each triple, in the order of the data."""
        topic = np.empty(self._topic.size, dtype=np.int32)
        topic[self._order] = self._topic
        return topic

    @property
    def resource_counts(self) -> Codes:
        """How many triples of each resource have each topic: resources × topics."""
        return self._resource_counts[self._resource_rank, : self.topics]

    @property
    def tag_counts(self) -> Codes:
        """How many triples with each tag have each topic: tags × topics."""
        cells = self._tag.astype(np.int64) * self.topics + self._topic
        counts = np.bincount(cells, minlength=self._uses.size * self.topics)
        return counts.astype(np.int32).reshape(-1, self.topics)[self._tag_rank]

    def log_likelihood(self) -> float:
        """Logarithm of the joint probability of all tags and topics, with the two distributions integrated out."""
        from scipy.special import gammaln

        def rising(counts: Codes, prior: float) -> float:
            """Σ ln Γ(n + prior)/Γ(prior), looked up."""
            logs = gammaln(np.arange(int(counts.max(initial=0)) + 1) + prior) - gammaln(prior)
            return float(logs[counts].sum())

        mass, length = self.beta * self._uses.size, self.alpha * self.topics
        total = rising(self._list_counts, self.beta) + rising(self._resource_counts, self.alpha)
        total -= float(np.sum(gammaln(self.topic_counts + mass) - gammaln(mass)))
        return total - float(np.sum(gammaln(self._lengths + length) - gammaln(length)))

    # Sweeps

    def run(self, sweeps: int, *, threads: int, after: Callable[[int], bool] = lambda _: False) -> None:
        """Sweep this number of times, or until ``after(sweeps since the beginning)`` is true."""
        try:
            with _pool(min(threads, self.shards)) as each:
                for _ in range(sweeps):
                    self._sweep(each)
                    if after(self.sweeps):
                        return
        finally:
            # After an interrupted round blocks are complete, and totals match them.
            self.topic_counts = np.bincount(self._topic, minlength=self.topics)

    def _sweep(self, each: Callable[[Callable[[int], Any], Iterable[int]], Iterable[Any]]) -> None:
        """A new topic for every triple."""
        for turn in range(self.shards):
            blocks = [shard * self.shards + (shard + turn) % self.shards for shard in range(self.shards)]
            before = self.topic_counts
            found = list(each(lambda block, start=before: self._run_block(block, start.copy()), blocks))
            self.topic_counts = before + sum(counts - before for counts in found)
        self.sweeps += 1

    def _run_block(self, block: int, topic_counts: Integers) -> Integers:
        """Draw the topics of a block; how many triples each topic has then, as the block sees it."""
        from discreet.tagging.topics.kernels import sweep_block

        first, last = self._blocks[block], self._blocks[block + 1]
        sweep_block(
            self._resources[first:last],
            self._starts[first : last + 1],
            self._tag,
            self._topic,
            self._resource_counts,
            topic_counts,
            self._list_starts,
            self._list_sizes,
            self._list_kinds,
            self._list_counts,
            self.topics,
            self.alpha,
            self.beta,
            _stream(self.seed, self.sweeps + 1, block),
        )
        return topic_counts


@contextmanager
def _pool(workers: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """A map over tasks, by threads where there is more than one: compiled blocks release the interpreter."""
    if workers == 1:
        yield map
        return
    with ThreadPoolExecutor(workers) as pool:
        yield pool.map


def _dealt(sizes: Integers, shards: int) -> Integers:
    """A shard for each, of about equal sizes together: the largest first, to and fro."""
    shard = np.empty(sizes.size, dtype=np.int64)
    turn = np.arange(sizes.size) % (2 * shards)
    shard[np.argsort(-sizes, kind="stable")] = np.minimum(turn, 2 * shards - 1 - turn)
    return shard


def _ranked(shard: Integers) -> Integers:
    """A number for each, shard by shard."""
    rank = np.empty_like(shard)
    rank[np.argsort(shard, kind="stable")] = np.arange(shard.size)
    return rank


def _stream(*numbers: int) -> np.uint64:
    """Where the random numbers of a block begin: scattered by the finalizer of SplitMix64 for each number."""
    word = 0
    for number in numbers:
        word = int(splitmix(np.array([(word + number + GOLDEN) & _ALL_BITS], dtype=np.uint64))[0])
    return np.uint64(word)
