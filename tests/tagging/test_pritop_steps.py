"""The three steps of PriTop, one at a time, on lists and tables that can be checked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from tests.refutations.pritop_laws import list_law, size_law

from discreet.tagging.pritop.rewriting import (
    RevisedLists,
    closeness,
    expected_insertions,
    members_of,
    noisy_sizes,
    replace,
    revise,
    sparse_rows,
)
from discreet.tagging.pritop.topics import Profiles, TopicCounts, pair_topics
from discreet.testing import fits_law

# Step 1


def test_without_noise_a_pair_has_the_topic_of_the_model() -> None:
    counts = TopicCounts(np.array([[9.0, 1], [5, 5]]), np.array([[8.0, 0], [0, 8]]), alpha=0.1, beta=0.01)
    resource, tag = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    none = np.zeros((4, 2))
    law = counts.noisy_topic_law(resource, tag, none, none)
    direct = counts.tag_given_topic[tag] * (counts.resources[resource] + 0.1)
    np.testing.assert_allclose(law, direct / direct.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(pair_topics(counts, resource, tag, scale=0.0), [0, 1, 0, 1])


def test_topics_can_be_drawn_by_their_probabilities(fixed_bits) -> None:
    counts = TopicCounts(np.array([[30.0, 10], [10, 30]]), np.array([[20.0, 20]]), alpha=0.1, beta=0.01)
    many = np.zeros(20_000, dtype=np.int64)
    none = np.zeros((1, 2))
    drawn = pair_topics(counts, many, many, scale=0.0, assignment="drawn")
    assert drawn.mean() == pytest.approx(counts.noisy_topic_law(many[:1], many[:1], none, none)[0, 1], abs=0.016)


def test_noise_that_makes_counts_negative_leaves_the_prior() -> None:
    counts = TopicCounts(np.array([[1.0, 1]]), np.array([[1.0, 1]]), alpha=0.5, beta=0.25)
    eta = np.array([[-100.0, 100.0]])
    one = np.zeros(1, dtype=np.int64)
    law = counts.noisy_topic_law(one, one, eta, np.zeros((1, 2)))
    assert (law > 0).all()
    # β over (1 + 100 + β) against (1 + 100 + β) over β
    assert law[0, 0] / law[0, 1] == pytest.approx((0.25 / 101.25) ** 2)


def test_profiles_list_tags_once_or_for_each_resource() -> None:
    user, resource = np.zeros(4, dtype=np.int64), np.array([0, 1, 2, 0])
    tag, topic = np.array([5, 5, 5, 6]), np.array([0, 0, 1, 0])
    merged = Profiles.of(user, resource, tag, topic, n_users=2, n_topics=2)
    np.testing.assert_array_equal(merged.weights(), [[2, 1], [0, 0]])
    assert merged.link[merged.link_starts[0] : merged.link_starts[1]].tolist() == [0, 1]
    single = Profiles.of(user, resource, tag, topic, n_users=2, n_topics=2, merged=False)
    np.testing.assert_array_equal(single.weights(), [[3, 1], [0, 0]])
    assert single.starts(1).tolist() == [3, 4, 4]


# Step 2


def revised(own: list[int], size: int, *, ranking: list[int] | None = None) -> RevisedLists:
    probability = np.array([0.4, 0.3, 0.2, 0.1])
    order = np.arange(4) if ranking is None else np.array(ranking)
    return revise(
        np.array([0, 0, len(own)]),
        np.array(own, dtype=np.int64),
        np.array([0, size]),
        probability=probability,
        ranking=order,
    )


@pytest.mark.parametrize(
    ("own", "size", "tags", "origins"),
    [
        ([1, 3], 2, [1, 3], [0, 1]),
        ([1, 3], 3, [1, 3, 0], [0, 1, -1]),  # the most probable that is not there
        ([1, 3], 9, [1, 3, 0, 2], [0, 1, -1, -1]),  # until there are no more
        ([1, 3, 2], 1, [1], [0]),  # the least probable go first
        ([3, 1, 2], 2, [1, 2], [1, 2]),
        ([1, 3], 0, [], []),
        ([], 2, [0, 1], [-1, -1]),
        ([1, 1, 3], 2, [1, 1], [0, 1]),
    ],
)
def test_lists_get_the_most_and_lose_the_least_probable(own, size, tags, origins) -> None:
    found = revised(own, size)
    assert found.starts.tolist() == [0, 0, len(tags)]
    assert found.tag.tolist() == tags
    assert found.origin.tolist() == origins


def test_only_members_are_added() -> None:
    assert revised([1], 4, ranking=[2]).tag.tolist() == [1, 2]


def test_sizes_follow_their_law(fixed_bits) -> None:
    sizes = noisy_sizes(np.full((40_000, 1), 3), np.array([[4.0]]))[:, 0]
    law = size_law(3, 4.0, 400)
    with np.errstate(divide="ignore"):
        log_law = np.log(law)

    def log_pmf(values):
        return np.where((values >= 0) & (values < law.size), log_law[np.clip(values, 0, law.size - 1)], -np.inf)

    assert fits_law(sizes, log_pmf) > 1e-6
    assert (noisy_sizes(np.full((5, 2), 3), np.array([[0.0]])) == 3).all()


def test_expected_insertions_are_those_of_the_law() -> None:
    law = size_law(0, 4.0, 2000)
    assert expected_insertions(4.0) == pytest.approx(float((np.arange(2001) * law).sum()), abs=1e-9)


# Step 3


def test_closeness_is_one_less_the_divergence() -> None:
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(5, 0.3), size=8)
    topics[0, :3] = 0
    topics[0] /= topics[0].sum()
    found = closeness(topics)
    with np.errstate(divide="ignore", invalid="ignore"):
        for i, p in enumerate(topics):
            for j, q in enumerate(topics):
                m = (p + q) / 2
                divergence = np.nansum(p * np.log2(p / m)) / 2 + np.nansum(q * np.log2(q / m)) / 2
                assert found[i, j] == pytest.approx(1 - divergence, abs=1e-12)


@pytest.mark.parametrize("own_list", [False, True])
@pytest.mark.parametrize("epsilon", [1.0, 12.0])
def test_replacements_follow_their_law(fixed_bits, own_list: bool, epsilon: float) -> None:
    """Two entries and three candidates, or the entries themselves."""
    topics = np.array([[1.0, 0.0], [0.5, 0.5], [0.1, 0.9]])
    users = 20_000
    entries, candidates = np.array([0, 2]), np.array([0, 2] if own_list else [0, 1, 2])
    lists = RevisedLists(np.arange(0, 2 * users + 1, 2), np.tile(entries, users), np.zeros(2 * users, dtype=np.int64))
    chosen = replace(
        lists, sparse_rows(topics), n_topics=2, epsilon=epsilon, candidates=None if own_list else candidates
    ).reshape(users, 2)
    law = list_law(closeness(topics)[np.ix_(entries, candidates)], epsilon)
    assert sum(law.values()) == pytest.approx(1)
    for outcome, chance in law.items():
        found = (chosen == candidates[list(outcome)]).all(axis=1).mean()
        assert found == pytest.approx(chance, abs=5 * np.sqrt(chance * (1 - chance) / users) + 1e-12)


def test_a_list_that_is_longer_than_its_topic_ends_there() -> None:
    lists = RevisedLists(np.array([0, 3]), np.array([0, 1, 2]), np.zeros(3, dtype=np.int64))
    chosen = replace(lists, sparse_rows(np.eye(3)), n_topics=3, epsilon=1.0, candidates=np.array([0, 2]))
    assert sorted(chosen[:2]) == [0, 2]
    assert chosen[2] == -1


def test_members_of_topics() -> None:
    counts = TopicCounts(np.array([[3.0, 1], [0, 2], [0, 0]]), np.array([[3.0, 3]]), alpha=0.1, beta=0.01)
    assert [some.tolist() for some in members_of(counts, "assigned")] == [[0], [0, 1]]
    assert [some.tolist() for some in members_of(counts, "likeliest")] == [[0], [1]]
