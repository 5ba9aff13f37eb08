"""Simple recommenders of tags, by hand."""

import numpy as np
import pytest

from discreet.data.tags import TagAssignments
from discreet.errors import UsageError
from discreet.tagging.recommenders.baselines import CoOccurringTags, OwnTags, PopularTags, ResourceTags

TRIPLES = [
    ("ann", "blue", "jazz"),
    ("ann", "blue", "old"),
    ("ann", "kind", "jazz"),
    ("bob", "blue", "jazz"),
    ("bob", "hits", "pop"),
    ("eve", "hits", "pop"),
    ("eve", "hits", "loud"),
    ("joe", "hits", "pop"),
    ("joe", "kind", "pop"),
]


@pytest.fixture
def data():
    return TagAssignments(TRIPLES)


def answer(model, user, resource, own=None):
    table = model.recommend([(user, resource)], n=10, own=own)
    return dict(zip(table["tag"], table["score"], strict=True))


def test_popular_tags_are_counted(data):
    expected = {"pop": 4, "jazz": 3, "loud": 1, "old": 1}
    assert answer(PopularTags().fit(data), "ann", "blue") == expected
    assert answer(PopularTags().fit(data), "nobody", "nothing") == expected


def test_tags_of_the_resource(data):
    found = answer(ResourceTags().fit(data), "eve", "kind")
    assert {tag: int(score) for tag, score in found.items()} == {"pop": 1, "jazz": 1, "loud": 0, "old": 0}
    assert list(found)[:2] == ["pop", "jazz"]
    assert list(answer(ResourceTags().fit(data), "eve", "nothing"))[:2] == ["pop", "jazz"]


def test_own_tags(data):
    found = answer(OwnTags().fit(data), "ann", "hits")
    assert {tag: int(score) for tag, score in found.items()} == {"jazz": 2, "old": 1}
    assert answer(OwnTags().fit(data), "nobody", "hits") == {}
    popular = answer(OwnTags(ties="popular").fit(data), "ann", "hits")
    assert list(popular) == ["jazz", "old", "pop", "loud"]


def test_own_triples_replace_what_was_learned_about_their_owner(data):
    own = TagAssignments(
        [("ann", "isle", "sea"), ("ann", "cave", "sea"), ("ann", "cave", "pop"), ("bob", "hits", "zoo")]
    )
    model = OwnTags().fit(data)
    found = answer(model, "ann", "hits", own)
    assert {tag: int(score) for tag, score in found.items()} == {"sea": 2, "pop": 1}
    assert set(answer(model, "eve", "hits", own)) == {"pop", "loud"}


def test_arbitrary_ties_follow_neither_the_names_nor_the_popularity_of_tags():
    # Every user has the same hundred tags once: a fair order puts each of them in the first ten as often.
    n_users, n_tags = 400, 100
    triples = {
        "user_id": np.repeat(np.arange(n_users), n_tags),
        "resource_id": np.tile(np.arange(n_tags), n_users),
        "tag": np.tile(np.arange(n_tags), n_users),
    }
    model = OwnTags().fit(TagAssignments(triples))
    table = model.recommend([(user, 0) for user in range(n_users)], n=10)
    shown = np.bincount(table["tag"].to_numpy(), minlength=n_tags)
    expected = n_users / 10
    # 100 tags whose counts deviate by 6: χ² with 99 degrees stays below 200 but for one case in 10⁸.
    assert ((shown - expected) ** 2 / (expected * 0.9)).sum() < 200
    assert table.equals(model.recommend([(user, 0) for user in range(n_users)], n=10))


def test_tags_beside_tags(data):
    # Posts: ann-blue {jazz, old}, ann-kind {jazz}, bob-blue {jazz}, bob-hits {pop}, eve-hits {pop, loud},
    # joe-hits {pop}, joe-kind {pop}.
    model = CoOccurringTags().fit(data)
    beside = model.beside_.toarray()
    jazz, loud, old, pop = range(4)
    assert beside[jazz, old] == pytest.approx(1 / 3)
    assert beside[old, jazz] == 1
    assert beside[pop, loud] == pytest.approx(1 / 4)
    assert np.diag(beside) == pytest.approx(np.ones(4))
    # Resource blue votes 2/3 jazz and 1/3 old; eve votes 1/2 pop and 1/2 loud.
    found = answer(model, "eve", "blue")
    assert found["jazz"] == pytest.approx(2 / 3 + 1 / 3)
    assert found["old"] == pytest.approx(2 / 3 / 3 + 1 / 3)
    assert found["pop"] == pytest.approx(1 / 2 + 1 / 2)
    assert found["loud"] == pytest.approx(1 / 2 / 4 + 1 / 2)


def test_own_words_that_nobody_else_knows_stand_beside_themselves(data):
    own = TagAssignments([("eve", "hits", "pop"), ("eve", "cave", "mine")])
    found = answer(CoOccurringTags().fit(data), "eve", "nothing", own)
    assert found["mine"] == pytest.approx(1 / 2)
    assert found["pop"] == pytest.approx(1 / 2)
    assert found["loud"] == pytest.approx(1 / 8)


def test_public_tags_that_nobody_gave(data):
    listed = data.with_vocabulary(["jazz", "loud", "old", "pop", "quiet"])
    assert answer(PopularTags().fit(listed), "ann", "blue")["quiet"] == 0
    assert answer(CoOccurringTags().fit(listed), "ann", "blue")["quiet"] == 0


def test_ties_that_cannot_be():
    with pytest.raises(UsageError, match="ties"):
        OwnTags(ties="seldom")  # type: ignore[arg-type]
