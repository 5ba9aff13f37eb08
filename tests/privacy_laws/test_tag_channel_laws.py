"""Channels, replaced tags, noisy profiles, rounds of topics: all small neighbors, and twins that must fail."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from discreet.data.tags import TagAssignments
from discreet.tagging import Channel
from discreet.tagging.post_sums import post_gram, resource_counts, tag_counts
from discreet.tagging.ptr_l import _gram, _popularity, _topic_resources
from discreet.tagging.topic_steps import UserTags, expected_assignments, topic_sums
from discreet.testing import max_log_ratio

TOPICS = [0, 0, 0, 1, 1, 1, 2, 2, 2]


def worst(channel: Channel) -> float:
    law = channel.law()
    return max(max_log_ratio(a, b) for a, b in itertools.combinations(law, 2))


# The channel


def channels(topic_budget: str, tag_budget: str):
    rng = np.random.default_rng(5)
    yield Channel.of(TOPICS, topic_budget=topic_budget, tag_budget=tag_budget)
    for _ in range(30):
        quality = [rng.choice([0, 16], (3, 3)) if rng.random() < 0.5 else rng.integers(0, 17, (3, 3)) for _ in range(3)]
        yield Channel.of(
            TOPICS, topic_budget=topic_budget, tag_budget=tag_budget, weights=rng.integers(1, 20, 9), quality=quality
        )


def test_nine_tags_in_three_topics_keep_their_promise() -> None:
    losses = [worst(channel) for channel in channels("0.4", "0.3")]
    assert max(losses) <= 0.55 <= 0.7
    assert max(losses) >= 0.5


@pytest.mark.parametrize(("a", "b"), [("0.2", "1.5"), ("1", "0"), ("0", "0.7"), ("2", "4")])
def test_other_budgets_do_too(a: str, b: str) -> None:
    for channel in channels(a, b):
        assert worst(channel) <= float(channel.loss.epsilon) + 1e-9


def test_the_bound_is_tight_with_many_tags() -> None:
    """Within a topic b, between topics a + b/2: both are approached, so a tenth more of either is caught."""
    many = 400
    likes = np.zeros((many, many), dtype=int)
    likes[0, 0], likes[1, 1:] = 16, 16  # the first tag is like itself alone, the second like all but the first
    within = Channel.of([0] * many, topic_budget=0, tag_budget=1, quality=[likes], nothing=False).law()
    assert 0.99 < max_log_ratio(within[0], within[1]) <= 1 + 1e-9
    between = Channel.of([0] * many + [1], topic_budget=1, tag_budget=1, nothing=False)
    law = between.law()
    assert 1.49 < max_log_ratio(law[0], law[-1]) <= 1.5 + 1e-9
    louder = Channel.of([0] * many + [1], topic_budget="1.1", tag_budget="1.1", nothing=False).law()
    assert max_log_ratio(louder[0], louder[-1]) > 1.5


def test_a_channel_that_counts_its_topics_wrong_is_caught() -> None:
    """Randomized response that keeps its topic as often as if there were one topic less loses more than a."""
    channel = Channel.of([0, 1, 2], topic_budget=1, nothing=False)
    keep = math.e / (math.e + channel.n_topics - 2)
    broken = np.full((3, 3), (1 - keep) / 2)
    np.fill_diagonal(broken, keep)
    assert worst(channel) <= 1 + 1e-9
    assert max_log_ratio(broken[0], broken[1]) > 1.2


# A post of PTR-T: a set of places, of which one tag is exchanged


def multiset_law(channel: Channel, tags: Sequence[int]) -> dict[tuple[int, ...], float]:
    law, found = channel.law(), defaultdict(float)
    for said in itertools.product(range(channel.law().shape[0]), repeat=len(tags)):
        found[tuple(sorted(said))] += math.prod(law[tag, out] for tag, out in zip(tags, said, strict=True))
    return dict(found)


def test_one_tag_of_a_post_exchanged_costs_one_use_of_the_channel() -> None:
    channel = Channel.of([0, 0, 1, 1], topic_budget="0.5", tag_budget="0.6", nothing=False)
    posts = [set(post) for post in itertools.combinations(range(4), 2)]
    losses = [
        max_log_ratio(multiset_law(channel, sorted(one)), multiset_law(channel, sorted(other)))
        for one, other in itertools.combinations(posts, 2)
        if len(one & other) == 1
    ]
    assert max(losses) <= float(channel.loss.epsilon) + 1e-9
    far = max_log_ratio(multiset_law(channel, [0, 1]), multiset_law(channel, [2, 3]))
    assert far > float(channel.loss.epsilon)  # two tags are two steps


# Sums over posts


def neighbors_by_tag():
    """Two posts over five tags; in one of them one tag is exchanged."""
    tags = range(5)
    for size in (1, 2, 3):
        for post in itertools.combinations(tags, size):
            for old, new in itertools.product(post, set(tags) - set(post)):
                yield world(post), world(tuple(sorted({*post, new} - {old})))


@cache
def world(post: tuple[int, ...]) -> TagAssignments:
    triples = [("ann", "r1", tag) for tag in post] + [("bob", "r1", 0), ("bob", "r2", 3)]
    return TagAssignments(triples).with_vocabulary(list(range(5))).with_resources(["r1", "r2"])


@pytest.mark.parametrize("head", [[0, 1, 2, 3, 4], [0, 2], [4]])
def test_sums_over_posts_move_by_no_more_than_the_root_of_two(head: list[int]) -> None:
    largest: dict[str, float] = {"tags": 0, "resources": 0, "gram": 0}
    for one, other in neighbors_by_tag():
        codes = np.array(head)
        pairs = {
            "tags": (tag_counts(one), tag_counts(other)),
            "resources": tuple(resource_counts(data, np.array([0]), codes) for data in (one, other)),
        }
        for name, (a, b) in pairs.items():
            moved = int(((a.values - b.values) ** 2).sum())
            assert moved <= a.l2_sensitivity_squared == 2
            largest[name] = max(largest[name], moved)
        a, b = post_gram(one, codes), post_gram(other, codes)
        moved = int(((a.matrices[0] - b.matrices[0]).astype(object) ** 2).sum())
        assert not a.exchanged
        assert moved <= a.frobenius_squared
        largest["gram"] = max(largest["gram"], moved / 4**20)
    assert largest["tags"] == 2
    if len(head) == 5:
        assert largest["resources"] == 2
        assert largest["gram"] == pytest.approx(2, abs=1e-4)


def test_a_gram_matrix_of_posts_without_weights_is_caught() -> None:
    """Posts of three tags, counted in full: one exchanged tag moves ten entries by one."""
    one, other = np.array([1, 1, 1, 0]), np.array([1, 1, 0, 1])
    assert ((np.outer(one, one) - np.outer(other, other)) ** 2).sum() == 10 > 2


def test_the_gram_matrix_of_posts_has_the_stated_change() -> None:
    """√(2 − 2((j−1)/j)²) for posts of j tags, all of them in the head."""
    for j in (1, 2, 4):
        a = post_gram(world(tuple(range(j))), np.arange(5)).matrices[0]
        b = post_gram(world((*range(j - 1), 4)), np.arange(5)).matrices[0]
        moved = float(((a - b).astype(float) ** 2).sum()) / 4**20
        assert moved == pytest.approx(2 - 2 * ((j - 1) / j) ** 2, rel=1e-4)


# Users replaced: PTR-L


def profiles():
    cells = list(itertools.product(["r1", "r2"], range(3)))
    for size in (1, 2, 3, 6):
        yield from itertools.combinations(cells, size)


def with_user(triples) -> TagAssignments:
    everybody = [("ann", resource, tag) for resource, tag in triples] + [("bob", "r1", 0), ("bob", "r2", 2)]
    return TagAssignments(everybody).with_vocabulary(list(range(3))).with_resources(["r1", "r2"])


def test_replaced_users_move_the_model_of_noisy_profiles_by_no_more_than_told() -> None:
    topic_of = np.array([0, 0, 1])
    worlds = [with_user(triples) for triples in profiles()]
    sums = {
        "popularity": [_popularity(data) for data in worlds],
        "resources": [_topic_resources(data, topic_of, 2) for data in worlds],
    }
    for name, all_sums in sums.items():
        moved = [np.abs(a.values - b.values).sum() for a, b in itertools.combinations(all_sums, 2)]
        assert max(moved) <= all_sums[0].l1_sensitivity, name
        assert max(moved) >= 0.99 * float(all_sums[0].l1_sensitivity), name
    grams = [_gram(data, np.arange(3)) for data in worlds]
    assert grams[0].exchanged
    moved = [np.abs(a.matrices[0] - b.matrices[0]).sum() for a, b in itertools.combinations(grams, 2)]
    assert grams[0].l1 is not None
    assert 0.99 * 2 * float(grams[0].l1) <= max(moved) <= 2 * grams[0].l1


def profile_law(channel: Channel, tags: Sequence[int], slots: int) -> dict[tuple[int, ...], float]:
    """Outputs of a user's slots in any order: an average over the picks, padded with nothing."""
    picks = list(itertools.combinations(tags, min(slots, len(tags))))
    found = defaultdict(float)
    for pick in picks:
        for outputs, probability in multiset_law(channel, [*pick, *[channel.n_tags] * (slots - len(pick))]).items():
            found[outputs] += probability / len(picks)
    return dict(found)


def test_noisy_profiles_of_all_users_keep_the_budget_of_the_user() -> None:
    whole, slots = 1.2, 2
    users = [tags for size in (1, 2, 3) for tags in itertools.combinations(range(4), size)]
    channel = Channel.within("0.6", [0, 0, 1, 1], tag_share="1/2")
    laws = [profile_law(channel, tags, slots) for tags in users]
    losses = [max_log_ratio(a, b) for a, b in itertools.combinations(laws, 2)]
    assert 0.6 < max(losses) <= whole + 1e-9


def test_slots_that_each_take_the_whole_budget_are_caught() -> None:
    channel = Channel.within("1.2", [0, 0, 1, 1], tag_share="1/2")
    assert max_log_ratio(profile_law(channel, [0, 1], 2), profile_law(channel, [2], 2)) > 1.2


def test_a_profile_without_padding_shows_how_many_tags_there_are() -> None:
    channel = Channel.of([0, 0, 1, 1], topic_budget="0.5")
    assert max_log_ratio(multiset_law(channel, [0]), multiset_law(channel, [0, 1])) == math.inf


# Rounds of topics


def test_whatever_the_shares_one_user_adds_no_more_than_length_one() -> None:
    rng = np.random.default_rng(7)
    bob = [("bob", "r", 1)]
    for n in (1, 2, 3, 7, 40):
        ann = [("ann", "r", int(tag)) for tag in range(n)]
        data = TagAssignments(ann + bob).with_vocabulary(list(range(40)))
        users, alone = UserTags.of(data), UserTags.of(TagAssignments(bob).with_vocabulary(list(range(40))))
        for shares in (rng.dirichlet(np.ones(4), n + 1).T, rng.normal(size=(4, n + 1)) * 3, np.ones((4, n + 1))):
            with_ann, without = topic_sums(users, shares), topic_sums(alone, shares[:, -1:])
            moved = sum(int(x) ** 2 for x in with_ann.values - without.values)
            assert moved <= with_ann.l2_sensitivity_squared


def test_shares_that_are_not_held_to_their_weight_are_caught() -> None:
    """Four topics that each take the whole of every tag: length 2 in place of 1."""
    users = UserTags.of(TagAssignments([("ann", "r", tag) for tag in range(4)]).with_vocabulary(list(range(4))))
    taken = np.ones((4, 1)) * users.weight
    assert (taken**2).sum() > topic_sums(users, np.ones((4, 4))).l2_sensitivity_squared


def test_what_one_user_makes_of_a_table_depends_on_nobody_else() -> None:
    rng = np.random.default_rng(11)
    crowd = [(f"u{u:02}", "r", int(tag)) for u in range(30) for tag in rng.choice(25, rng.integers(1, 12), False)]
    table = rng.random((5, 25)) + 0.01
    everybody = TagAssignments(crowd).with_vocabulary(list(range(25)))
    users = UserTags.of(everybody)
    start = rng.dirichlet(np.ones(5), users.tag.size).T
    shares = expected_assignments(users, start, table, 0.5)
    for name in (0, 17, 29):
        mine = users.user == name
        alone = everybody.filter(everybody.user == name)
        again = expected_assignments(UserTags.of(alone), start[:, mine], table, 0.5)
        assert np.array_equal(again, shares[:, mine])
