"""What goes first, how much goes, and that nothing is guaranteed."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Literal

import numpy as np
import pytest

import discreet as dc
from discreet.errors import UsageError
from discreet.tagging import TagSuppression
from discreet.tagging.tag_suppression import tag_clusters

COOKING, MUSIC = ("bread", "soup", "pasta"), ("jazz", "piano", "opera")
Rule = Literal["least", "entropy"]


@pytest.fixture(scope="module")
def two_subjects() -> dc.TagAssignments:
    """Ann cooks: 12 triples of cooking, 3 of music; Bob plays: 6 of music, 4 of cooking; Cy has 2 of music."""
    return dc.TagAssignments(
        [("ann", f"c{page}", tag) for page in range(4) for tag in COOKING]
        + [("ann", "m0", tag) for tag in MUSIC]
        + [("bob", f"m{page}", tag) for page in range(2) for tag in MUSIC]
        + [("bob", f"c{page}", tag) for page in range(2) for tag in COOKING[:2]]
        + [("cy", "m0", tag) for tag in MUSIC[:2]]
    )


def subjects(data: dc.TagAssignments) -> dict[str, tuple[int, int]]:
    """Triples of cooking and of music that each user has."""
    counts = Counter((user, tag in COOKING) for user, _, tag in data.to_frame().iter_rows())
    return {user: (counts[user, True], counts[user, False]) for user in data.users.ids()}


# Clusters


def test_tags_on_the_same_resources_are_together(two_subjects: dc.TagAssignments) -> None:
    cluster = dict(zip(two_subjects.tags.ids(), tag_clusters(two_subjects, 2).tolist(), strict=True))
    assert len({cluster[tag] for tag in COOKING}) == len({cluster[tag] for tag in MUSIC}) == 1
    assert cluster["bread"] != cluster["jazz"]


def test_clusters_are_no_more_than_tags_and_leave_out_the_unused(two_subjects: dc.TagAssignments) -> None:
    data = two_subjects.with_vocabulary([*COOKING, *MUSIC, "unused"])
    found = tag_clusters(data, 100)
    assert found[data.tags.code("unused")] == -1
    used = np.delete(found, data.tags.code("unused"))
    assert 0 <= used.min() <= used.max() < 6
    assert set(tag_clusters(data, 1)) == {0, -1}


def test_clusters_come_to_rest_at_the_nearest_center() -> None:
    """Lloyd's condition: no tag is nearer to the center of another cluster."""
    data = dc.synthetic.tags(users=60, resources=80, vocabulary=90, seed=7).cleaned()
    found = tag_clusters(data, 6)
    vectors = np.zeros((data.n_tags, data.n_resources))
    np.add.at(vectors, (data.tag, data.resource), 1)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    centers = np.array([vectors[found == cluster].sum(axis=0) for cluster in range(6)])
    centers /= np.linalg.norm(centers, axis=1, keepdims=True)
    likeness = vectors @ centers.T
    own = likeness[np.arange(data.n_tags), found]
    assert np.all(likeness.max(axis=1) - own < 1e-12)


# Suppression


@pytest.mark.parametrize(
    ("rule", "sigma", "left"),
    [
        # Ann loses 3 of 15, Bob 2 of 10, Cy 0.4 of 2: the clusters with least go first.
        ("least", 0.8, {"ann": (12, 0), "bob": (2, 6), "cy": (0, 2)}),
        # 6 of 15, 4 of 10, 0.8 of 2.
        ("least", 0.6, {"ann": (9, 0), "bob": (0, 6), "cy": (0, 1)}),
        # The highest columns are leveled.
        ("entropy", 0.8, {"ann": (9, 3), "bob": (4, 4), "cy": (0, 2)}),
        ("entropy", "2/5", {"ann": (3, 3), "bob": (2, 2), "cy": (0, 1)}),
    ],
)
def test_what_is_left_of_each_subject(
    two_subjects: dc.TagAssignments, rule: Rule, sigma: float | str, left: dict[str, tuple[int, int]]
) -> None:
    assert subjects(TagSuppression(sigma=sigma, clusters=2, rule=rule).suppress(two_subjects)) == left


@pytest.mark.parametrize("sigma", [0, Fraction(1, 3), 0.5, 0.8, 1])
@pytest.mark.parametrize("rule", ["least", "entropy"])
def test_every_user_keeps_the_same_share_of_true_triples(rule: Rule, sigma: float) -> None:
    data = dc.synthetic.tags(users=60, resources=80, vocabulary=90, seed=7)
    left = TagSuppression(sigma=sigma, clusters=8, rule=rule).suppress(data)
    assert set(left.to_frame().rows()) <= set(data.to_frame().rows())
    had, has = Counter(data.to_frame()["user_id"]), Counter(left.to_frame()["user_id"])
    for user, n in had.items():
        assert has[user] == n - int((1 - Fraction(sigma).limit_denominator(1000)) * n + Fraction(1, 2))
    assert TagSuppression(sigma=sigma, clusters=8, rule=rule).suppress(data).fingerprint == left.fingerprint


def test_no_way_to_leave_out_as_many_has_more_entropy(two_subjects: dc.TagAssignments) -> None:
    def entropy(counts: tuple[int, ...]) -> float:
        law = np.array(counts) / sum(counts)
        return float(-(law[law > 0] * np.log(law[law > 0])).sum())

    had = subjects(two_subjects)
    for sigma in (0.3, 0.5, 0.7, 0.9):
        left = subjects(TagSuppression(sigma=sigma, clusters=2, rule="entropy").suppress(two_subjects))
        for user, kept in left.items():
            ways = product(*(range(n + 1) for n in had[user]))
            assert entropy(kept) == pytest.approx(max(entropy(way) for way in ways if sum(way) == sum(kept)))


def test_in_a_cluster_rare_tags_go_first() -> None:
    triples = [("ann", page, "tea") for page in "abcd"] + [("ann", page, "cup") for page in "abc"]
    triples += [("ann", "a", "milk"), ("ann", "b", "mug"), ("bob", "b", "mug")]
    left = TagSuppression(sigma="8/9", clusters=1).suppress(dc.TagAssignments(triples))
    assert "milk" not in left.tags
    assert "mug" in left.tags


def test_nothing_is_guaranteed_and_the_part_is_charged_to_the_whole(two_subjects: dc.TagAssignments) -> None:
    assert TagSuppression.guarantee is None
    left = TagSuppression(clusters=2).suppress(two_subjects)
    assert left.lineage[0].lstrip("~") == two_subjects.fingerprint


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"sigma": 1.1}, "sigma = 1.1"),
        ({"sigma": -0.1}, "sigma = -0.1"),
        ({"sigma": "much"}, "sigma = 'much'"),
        ({"clusters": 0}, "clusters must be .* got 0"),
        ({"rule": "most"}, "got 'most'"),
    ],
)
def test_settings_are_checked(two_subjects: dc.TagAssignments, wrong: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        TagSuppression(**wrong).suppress(two_subjects)  # type: ignore[arg-type]


def test_of_nothing_nothing_is_left(two_subjects: dc.TagAssignments) -> None:
    empty = two_subjects.filter(np.zeros(len(two_subjects), dtype=bool))
    assert len(TagSuppression().suppress(empty)) == 0
