"""Semantic loss, by hand and against scipy."""

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from discreet.data.tags import TagAssignments
from discreet.errors import EvaluationError, UsageError
from discreet.evaluation.tags import js_divergence, release_semantic_loss, semantic_loss

TRIPLES = [("ann", "blue", "a"), ("ann", "kind", "b"), ("ann", "kind", "c"), ("bob", "blue", "a")]
TOPICS = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
HALF = float(js_divergence([TOPICS[0]], [TOPICS[2]])[0])


@pytest.fixture
def data():
    return TagAssignments(TRIPLES)


def test_divergence_is_that_of_scipy():
    generator = np.random.default_rng(5)
    first, second = generator.dirichlet(np.full(7, 0.2), (2, 50))
    first[0] = np.eye(7)[3]
    expected = [jensenshannon(one, other, base=2) ** 2 for one, other in zip(first, second, strict=True)]
    assert js_divergence(first, second) == pytest.approx(expected, abs=1e-12)
    assert js_divergence(first, first) == pytest.approx(np.zeros(50), abs=1e-12)


def test_the_formula(data):
    # ann: a → a, b → a (distance 1), c → a; bob: a is gone.
    found = semantic_loss(data, np.array([0, 0, 0, -1]), topics=TOPICS)
    assert found.of_users("semantic_loss") == pytest.approx([(0 + 1 + HALF) / 3, 1.0])
    assert found["semantic_loss"] == pytest.approx(((1 + HALF) / 3 + 1) / 2)
    assert semantic_loss(data, data.tag, topics=TOPICS)["semantic_loss"] == 0


def test_suppression_loses_what_it_takes():
    data = TagAssignments([(user, post, post % 3) for user in range(4) for post in range(10)])
    gone = np.where(np.arange(len(data)) % 5 == 0, -1, data.tag)
    assert semantic_loss(data, gone, topics=np.eye(3))["semantic_loss"] == pytest.approx(0.2)


def test_the_largest_distance_is_one_or_what_is_given(data):
    new = np.array([2, 1, 2, -1])
    strict = semantic_loss(data, new, topics=TOPICS, largest=0.5)
    assert strict.of_users("semantic_loss") == pytest.approx([HALF / 0.5 / 3, 1.0])


def test_released_tags_are_paired_as_well_as_can_be(data):
    released = TagAssignments([("ann", "x", "b"), ("ann", "y", "c"), ("ann", "z", "c"), ("eve", "x", "a")])
    found = release_semantic_loss(data, released, topics=TOPICS)
    # ann: b and c stay, a takes the other c; bob has nothing.
    assert found.of_users("semantic_loss") == pytest.approx([HALF / 3, 1.0])
    assert release_semantic_loss(data, data, topics=TOPICS)["semantic_loss"] == 0


def test_pairs_never_lose_more_than_the_true_ones():
    generator = np.random.default_rng(2)
    data = TagAssignments(
        [(int(u), i, int(t)) for i, (u, t) in enumerate(zip(*generator.integers(0, 6, (2, 90)), strict=True))]
    )
    topics = generator.dirichlet(np.full(4, 0.3), data.n_tags)
    new = generator.integers(0, data.n_tags, len(data))
    table = {
        "user_id": data.users.take(data.user),
        "resource_id": data.resources.take(data.resource),
        "tag": data.tags.take(new),
    }
    least = release_semantic_loss(data, TagAssignments(table), topics=topics).of_users("semantic_loss")
    true = semantic_loss(data, new, topics=topics).of_users("semantic_loss")
    assert (least <= true + 1e-9).all()
    assert (least < true - 1e-6).any()


def test_new_words_are_nobodys_partners(data):
    released = TagAssignments([("ann", "x", "unheard-of"), ("bob", "blue", "a")])
    found = release_semantic_loss(data, released, topics=TOPICS)
    assert found.of_users("semantic_loss") == pytest.approx([1.0, 0.0])


def test_what_is_refused(data):
    for topics, words in (
        (TOPICS[:2], "one row"),
        (TOPICS * 2, "no probability"),
        ([[1.5, -0.5], [0, 1], [1, 0]], "no probability"),
    ):
        with pytest.raises(EvaluationError, match=words):
            semantic_loss(data, data.tag, topics=topics)
    for new, words in (
        ([0, 1], "do not belong"),
        ([0.0] * 4, "do not belong"),
        ([0, 0, 0, 3], "outside"),
        ([0, 0, 0, -2], "outside"),
    ):
        with pytest.raises(EvaluationError, match=words):
            semantic_loss(data, new, topics=TOPICS)
    with pytest.raises(EvaluationError, match="largest"):
        semantic_loss(data, data.tag, topics=TOPICS, largest=0)
    with pytest.raises(UsageError, match="TagAssignments"):
        release_semantic_loss(data, TRIPLES, topics=TOPICS)  # type: ignore[arg-type]
