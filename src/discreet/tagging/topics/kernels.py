"""Compiled steps of the topic model: one block of a Gibbs sweep."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.common.arrays import Codes, Floats, Integers

__all__ = ["LANES", "sweep_block"]

LANES = 16
"""Topics are summed in this many lanes: topic k belongs to lane k mod 16. Weights of a resource are added up lane by
lane, which a processor does at once, and a topic is found by its lane first, in a few steps instead of one a topic."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def _uniform(place: np.uint64) -> float:
    """A number in [0, 1) for each place of a stream: splitmix64."""
    word = (place ^ (place >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    return np.float64(word >> np.uint64(11)) * 2.0**-53


@njit(cache=True, nogil=True)
def _weigh(counts: Codes, inverse: Floats, alpha: float, weights: Floats, lanes: Floats) -> float:
    """Set weights[k] = (counts[k] + alpha) · inverse[k] and the sum of each lane; the sum of all."""
    lanes[:] = 0.0
    for row in range(0, counts.size, LANES):
        for lane in range(LANES):
            weight = (counts[row + lane] + alpha) * inverse[row + lane]
            weights[row + lane] = weight
            lanes[lane] += weight
    return lanes.sum()


@njit(cache=True, nogil=True)
def _topic_at(height: float, weights: Floats, lanes: Floats, topics: int) -> int:
    """The topic at this height of the weights, stacked lane by lane."""
    lane = 0
    last = min(LANES, topics) - 1
    while lane < last and height >= lanes[lane]:
        height -= lanes[lane]
        lane += 1
    topic = lane
    while topic + LANES < topics and height >= weights[topic]:
        height -= weights[topic]
        topic += LANES
    return topic


@njit(cache=True, nogil=True)
def _move(kinds: NDArray[np.uint32], many: Codes, size: int, place: int, new: np.uint32) -> int:
    """Move one triple of a tag from the topic at ``place`` of its list to another; how long the list is now."""
    many[place] -= 1
    if many[place] == 0:
        size -= 1
        for later in range(place, size):
            kinds[later], many[later] = kinds[later + 1], many[later + 1]
        many[size] = 0
    place = 0
    while place < size and kinds[place] < new:
        place += 1
    if place < size and kinds[place] == new:
        many[place] += 1
        return size
    for later in range(size, place, -1):
        kinds[later], many[later] = kinds[later - 1], many[later - 1]
    kinds[place], many[place] = new, 1
    return size + 1


@njit(cache=True, nogil=True)
def sweep_block(
    resources: NDArray[np.uint32],
    starts: Integers,
    tag: NDArray[np.uint32],
    topic: NDArray[np.uint32],
    resource_counts: Codes,
    topic_counts: Integers,
    list_starts: Integers,
    list_sizes: Integers,
    list_topics: NDArray[np.uint32],
    list_counts: Codes,
    topics: int,
    alpha: float,
    beta: float,
    stream: np.uint64,
) -> None:
    """Draw a new topic for each triple of a block, one after the other, from its law given all other topics.

    The law of topic k for a triple of resource r with tag t, itself left out of the counts, is

        (n_tk + beta) · w_k,   w_k = (n_rk + alpha) / (n_k + V beta).

    Triples come resource by resource (the i-th from ``starts[i]`` to ``starts[i + 1]``), so that w stands ready and
    only two of its numbers change with each. What is left is the sum over the topics that the tag occurs in, which are
    few, and beta times the sum of w, which is kept.

    ``topic``, the counts (those of resources with columns up to a multiple of the lanes) and the list of each tag (its
    topics, rising, and n_tk beside them) are rewritten. Codes and topics have no sign: an index that could be negative
    costs a comparison each time.
    """
    mass = beta * list_sizes.size
    inverse = np.zeros(resource_counts.shape[1])
    for k in range(topics):
        inverse[k] = 1.0 / (topic_counts[k] + mass)
    weights, lanes, sums = np.empty(inverse.size), np.empty(LANES), np.empty(topics)
    in_lane = np.uint32(LANES - 1)
    for at in range(resources.size):
        counts = resource_counts[resources[at]]
        whole = _weigh(counts, inverse, alpha, weights, lanes)
        for triple in range(starts[at], starts[at + 1]):
            old, t = topic[triple], tag[triple]
            size = int(list_sizes[t])
            kinds = list_topics[list_starts[t] : list_starts[t + 1]]
            many = list_counts[list_starts[t] : list_starts[t + 1]]

            # Without this triple.
            before = inverse[old], weights[old], lanes[old & in_lane], whole
            counts[old] -= 1
            topic_counts[old] -= 1
            inverse[old] = 1.0 / (topic_counts[old] + mass)
            weights[old] = (counts[old] + alpha) * inverse[old]
            lanes[old & in_lane] += weights[old] - before[1]
            whole += weights[old] - before[1]

            among, place = 0.0, 0
            for i in range(size):
                kind = kinds[i]
                own = kind == old
                place = i if own else place
                among += (many[i] - own) * weights[kind]
                sums[i] = among
            stream += GOLDEN
            height = _uniform(stream) * (among + beta * whole)
            if height < among:
                i = 0
                while sums[i] <= height:
                    i += 1
                new = kinds[i]
            else:
                new = np.uint32(_topic_at((height - among) / beta, weights, lanes, topics))

            counts[new] += 1
            topic_counts[new] += 1
            if new == old:
                # Put back as it was, and not by adding: sums would drift.
                inverse[old], weights[old], lanes[old & in_lane], whole = before
                continue
            topic[triple] = new
            inverse[new] = 1.0 / (topic_counts[new] + mass)
            weight = (counts[new] + alpha) * inverse[new]
            lanes[new & in_lane] += weight - weights[new]
            whole += weight - weights[new]
            weights[new] = weight
            list_sizes[t] = _move(kinds, many, size, place, new)
