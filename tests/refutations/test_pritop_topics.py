"""Step 1 of PriTop does not keep ε/2: the posterior of Gibbs sampling, enumerated, and the noise on its counts.

References
----------
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014, section 4.3.2 and Algorithm 4.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from discreet.data import TagAssignments
from discreet.tagging.pritop.pritop import PriTop
from discreet.tagging.pritop.topics import TopicCounts, count_noise
from discreet.tagging.topics.chain import TopicChain

Floats = NDArray[np.float64]

TOKENS = [(0, 0, 8), (0, 1, 8), (1, 1, 20), (2, 1, 8), (2, 2, 8)]
"""Resource, tag, and by how many people it was given."""


def log_joint(tags: Floats, resources: Floats, alpha: float, beta: float) -> Floats:
    """Logarithm of the joint probability of tags and topics for stacks of tables C^TK and C^RK, up to a constant."""
    of_tags = gammaln(tags + beta).sum(axis=(-2, -1)) - gammaln(tags.sum(axis=-2) + 3 * beta).sum(axis=-1)
    return of_tags + gammaln(resources + alpha).sum(axis=(-2, -1))


@cache
def posterior(*, with_triple: bool, alpha: float, beta: float) -> tuple[Floats, Floats]:
    """All tables C^TK that Gibbs sampling can end in, and the logarithms of their chances.

    Two topics. Resource 1 has a × 8 and b × 8, resource 2 has b × 20, resource 3 has b × 8 and c × 8; the triple that
    may be there is a on resource 2. Equal tokens of a resource are exchangeable, so a state is how many of each stand
    in topic 0, and stands for as many assignments as there are ways to choose them.
    """
    tokens = [*TOKENS, (1, 0, 1)] if with_triple else TOKENS
    states = np.array(list(itertools.product(*(range(many + 1) for _, _, many in tokens))))
    tags, resources = np.zeros((len(states), 3, 2)), np.zeros((len(states), 3, 2))
    ways = np.zeros(len(states))
    for place, (resource, tag, many) in enumerate(tokens):
        split = np.stack([states[:, place], many - states[:, place]], axis=1)
        tags[:, tag] += split
        resources[:, resource] += split
        ways += gammaln(many + 1) - gammaln(split + 1).sum(axis=1)
    chances = ways + log_joint(tags, resources, alpha, beta)
    return tags, chances - logsumexp(chances)


OUTPUT = np.array([[8.0, 0], [8.0, 28], [0.0, 8]])
"""The published table: a and a few b in topic 0, the other b and c in topic 1."""


def test_the_enumerated_law_is_that_of_the_sampler() -> None:
    """Differences of the logarithms agree, assignment by assignment."""
    triples = [(user, resource, tag) for resource, tag, many in TOKENS for user in range(many)]
    data = TagAssignments(triples)
    rng = np.random.default_rng(1)
    gaps = []
    for _ in range(5):
        topic = rng.integers(0, 2, len(data)).astype(np.int32)
        chain = TopicChain(data, topics=2, alpha=0.1, beta=0.01, shards=1, seed=0, assignments=topic)
        tables = log_joint(chain.tag_counts.astype(float), chain.resource_counts.astype(float), 0.1, 0.01)
        gaps.append(chain.log_likelihood() - tables)
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "beta", "loss"),
    [("1", 0.01, 3.76), ("1/2", 0.01, 3.27), ("1", 0.1, 3.36)],
)
def test_one_triple_reroutes_the_others(epsilon: str, beta: float, loss: float) -> None:
    """The density of the noisy table C^TK at one output, exact over all assignments."""
    method = PriTop(epsilon=Fraction(epsilon), topics=2)
    densities = []
    for with_triple in (False, True):
        tags, chances = posterior(with_triple=with_triple, alpha=0.1, beta=beta)
        densities.append(logsumexp(chances - np.abs(tags - OUTPUT).sum(axis=(1, 2)) / method.count_scale))
    assert densities[0] - densities[1] == pytest.approx(loss, abs=5e-3)
    assert densities[0] - densities[1] > 6 * float(method.epsilon) / 2


def test_why_that_output_becomes_rare() -> None:
    """The chance that b is divided like this between the topics, whichever of them is called 0."""
    chances = []
    for with_triple in (False, True):
        tags, logs = posterior(with_triple=with_triple, alpha=0.1, beta=0.01)
        grouped = [(tags[:, 1:] == table).all(axis=(1, 2)) for table in (OUTPUT[1:], OUTPUT[1:, ::-1])]
        chances.append(float(np.exp(logs[grouped[0] | grouped[1]]).sum()))
    assert chances[0] == pytest.approx(0.144, abs=5e-4)
    assert chances[1] == pytest.approx(0.0043, abs=5e-5)


def test_with_the_topics_fixed_a_triple_is_in_two_tables() -> None:
    """C^TK and C^RK both change by one, both have noise of scale 2/ε: ε together, where ε/2 was claimed."""
    method = PriTop(epsilon=1)
    before = TopicCounts(np.array([[4.0, 1], [2, 3]]), np.array([[5.0, 2], [1, 2]]), alpha=0.1, beta=0.01)
    after = TopicCounts(before.tags + np.diag([1, 0]), before.resources + np.diag([1, 0]), alpha=0.1, beta=0.01)
    moved = np.abs(after.tags - before.tags).sum() + np.abs(after.resources - before.resources).sum()
    assert moved / method.count_scale == pytest.approx(float(method.epsilon))


def test_fresh_noise_for_each_resource_releases_a_count_anew(fixed_bits) -> None:
    """A tag on 50 resources: its counts come out 50 times, at ε/2 each; their mean is as good as exact."""
    method = PriTop(epsilon=1)
    counts = TopicCounts(np.array([[400.0, 100]]), np.full((2000, 2), 5.0), alpha=0.1, beta=0.01)
    resource, tag = np.arange(50), np.zeros(50, dtype=np.int64)
    fresh, _ = count_noise(counts, resource, tag, scale=method.count_scale)
    releases = np.unique(fresh[:, 0]).size
    assert releases / method.count_scale == pytest.approx(50 * float(method.epsilon) / 2)
    once = (np.array([[0.7, -1.2]]), np.zeros((2000, 2)))
    looked_up, _ = count_noise(counts, resource, tag, scale=method.count_scale, tables=once)
    assert np.unique(looked_up[:, 0]).size == 1
    every, _ = count_noise(counts, np.arange(2000), np.zeros(2000, dtype=np.int64), scale=method.count_scale)
    assert np.abs(every.mean(axis=0)).max() < 0.35  # five deviations of the mean


def test_noise_that_is_added_and_taken_away_cancels(fixed_bits) -> None:
    counts = TopicCounts(np.array([[400.0, 100], [30, 60]]), np.array([[430.0, 160]]), alpha=0.1, beta=0.01)
    one = np.zeros(1, dtype=np.int64)
    sums = []
    for _ in range(2):
        noise = count_noise(counts, one, one, scale=PriTop(epsilon=1).count_scale)
        above, below, above_2, below_2 = counts.noisy_fractions(one, one, *noise)
        sums.append(np.concatenate([above + below, above_2 + below_2]))
    np.testing.assert_allclose(sums[0], sums[1], rtol=1e-12)
    np.testing.assert_allclose(sums[0][0] - 3 * counts.beta, counts.tags[0] + counts.tags.sum(axis=0))
