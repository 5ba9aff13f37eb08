"""Counts of replaced tags and rounds of topics: all small neighbors, and broken versions that must fail."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from discreet.data.tags import TagAssignments
from discreet.tagging.sums import resource_counts, tag_counts
from discreet.tagging.topics.private_topics import UserTags, expected_assignments, topic_sums

# Sums over posts


def neighbors_by_tag():
    """Two posts over five tags; in one of them one tag is exchanged."""
    tags = range(5)
    for size in (1, 2, 3):
        for post in itertools.combinations(tags, size):
            for old, new in itertools.product(post, set(tags) - set(post)):
                yield dataset(post), dataset(tuple(sorted({*post, new} - {old})))


@cache
def dataset(post: tuple[int, ...]) -> TagAssignments:
    triples = [("ann", "r1", tag) for tag in post] + [("bob", "r1", 0), ("bob", "r2", 3)]
    return TagAssignments(triples).with_vocabulary(list(range(5))).with_resources(["r1", "r2"])


@pytest.mark.parametrize("head", [[0, 1, 2, 3, 4], [0, 2], [4]])
def test_counts_over_posts_move_by_no_more_than_the_root_of_two(head: list[int]) -> None:
    largest = {"tags": 0, "resources": 0}
    for one, other in neighbors_by_tag():
        codes = np.array(head)
        pairs = {
            "tags": (tag_counts(one), tag_counts(other)),
            "resources": tuple(resource_counts(data, np.array([0]), codes) for data in (one, other)),
        }
        for name, (a, b) in pairs.items():
            moved = int(((a.values - b.values) ** 2).sum())
            assert moved <= a.l2_sensitivity_squared == 2
            assert np.abs(a.values - b.values).sum() <= a.l1_sensitivity == 2
            largest[name] = max(largest[name], moved)
    assert largest["tags"] == 2
    if len(head) == 5:
        assert largest["resources"] == 2


# Rounds of topics


@pytest.mark.parametrize("order", [1, 2])
def test_whatever_the_shares_one_user_adds_no_more_than_length_one(order: int) -> None:
    rng = np.random.default_rng(7)
    bob = [("bob", "r", 1)]
    for n in (1, 2, 3, 7, 40):
        ann = [("ann", "r", int(tag)) for tag in range(n)]
        data = TagAssignments(ann + bob).with_vocabulary(list(range(40)))
        without_ann = TagAssignments(bob).with_vocabulary(list(range(40)))
        users, alone = UserTags.of(data, order), UserTags.of(without_ann, order)
        for shares in (rng.dirichlet(np.ones(4), n + 1).T, rng.normal(size=(4, n + 1)) * 3, np.ones((4, n + 1))):
            with_ann, without = topic_sums(users, shares), topic_sums(alone, shares[:, -1:])
            moved = sum(abs(int(x)) ** order for x in with_ann.values - without.values)
            assert moved <= (with_ann.l2_sensitivity_squared if order == 2 else with_ann.l1_sensitivity)


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
