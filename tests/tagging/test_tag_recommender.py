"""What all recommenders of tags share: ids in, ids out, and whose triples are read for whom."""

from dataclasses import replace

import polars as pl
import pytest

from discreet.data.tags import TagAssignments
from discreet.errors import DataError, ReleaseError, UsageError
from discreet.tagging import (
    PTRJ,
    CoOccurringTags,
    FolkRank,
    LocalTags,
    OwnTags,
    PopularTags,
    ResourceTags,
    recommender,
)

TRIPLES = [
    ("ann", "blue", "jazz"),
    ("ann", "kind", "jazz"),
    ("bob", "blue", "cool"),
    ("bob", "hits", "pop"),
    ("eve", "hits", "pop"),
]
MODELS = [FolkRank(), PopularTags(), ResourceTags(), OwnTags(), OwnTags(ties="popular"), CoOccurringTags()]
names = [type(model).__name__ for model in MODELS]


@pytest.fixture
def data():
    return TagAssignments(TRIPLES)


@pytest.mark.parametrize("model", MODELS, ids=names)
def test_the_shape_of_an_answer(model, data):
    queries = [("eve", "blue"), ("ann", "hits"), ("eve", "blue"), ("nobody", "nothing")]
    answer = model.fit(data).recommend(queries, n=2)
    assert answer.columns == ["user_id", "resource_id", "tag", "score", "rank"]
    asked = list(dict.fromkeys(zip(answer["user_id"], answer["resource_id"], strict=True)))
    assert asked == [query for query in dict.fromkeys(queries) if query in asked]
    for _, part in answer.with_row_index().group_by((pl.col("rank") == 1).cum_sum(), maintain_order=True):
        assert part["rank"].to_list() == list(range(1, part.height + 1))
        assert part["score"].is_sorted(descending=True)
    assert model.guarantee is None


@pytest.mark.parametrize("model", MODELS, ids=names)
def test_many_queries_are_as_many_single_ones(model, data):
    model.fit(data)
    queries = [("eve", "blue"), ("ann", "hits"), ("bob", "kind")]
    own = TagAssignments([("ann", "kind", "mine"), ("ann", "hits", "pop"), ("bob", "hits", "loud")])
    for given in (None, own):
        together = model.recommend(queries, n=9, own=given)
        apart = pl.concat([model.recommend([query], n=9, own=given) for query in queries])
        assert together.drop("score").equals(apart.drop("score"))


@pytest.mark.parametrize("model", MODELS, ids=names)
def test_words_of_others_are_not_shown(model, data):
    own = TagAssignments([("ann", "kind", "mine"), ("bob", "hits", "secret"), ("bob", "den", "secret")])
    answer = model.fit(data).recommend([("ann", "kind"), ("bob", "den")], n=100, own=own)
    shown = {user: set(part["tag"]) for (user,), part in answer.group_by("user_id")}
    assert "secret" not in shown["ann"]
    assert "mine" not in shown["bob"]
    if not isinstance(model, PopularTags):
        assert "mine" in shown["ann"]
        assert "secret" in shown["bob"]


def test_numbers_as_ids():
    data = TagAssignments([(1, 10, 5), (1, 11, 5), (2, 10, 6)])
    answer = PopularTags().fit(data).recommend([(2, 11)], n=1)
    assert answer.drop("score").rows() == [(2, 11, 5, 1)]


def test_nothing_is_asked(data):
    assert PopularTags().fit(data).recommend([]).height == 0


def test_equal_scores_go_by_the_order_of_the_tags(data):
    answer = PopularTags().fit(data).recommend([("ann", "blue")], n=2)
    assert answer["tag"].to_list() == ["jazz", "pop"]


def test_what_is_refused(data):
    model = PopularTags()
    with pytest.raises(UsageError, match="not been fitted"):
        model.recommend([("ann", "blue")])
    with pytest.raises(UsageError, match="TagAssignments"):
        model.fit(TRIPLES)  # type: ignore[arg-type]
    model.fit(data)
    with pytest.raises(UsageError, match="pair"):
        model.recommend(["ann"])  # type: ignore[list-item]
    for n in (0, 2.5, True):
        with pytest.raises(UsageError, match="number of tags"):
            model.recommend([("ann", "blue")], n=n)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="own="):
        model.recommend([("ann", "blue")], own=TRIPLES)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="another type"):
        model.recommend([("ann", "blue")], own=TagAssignments([("ann", "blue", 7)]))


def test_a_release_lends_its_promise(data):
    public = data.with_vocabulary("observed").with_resources("observed")
    sums = PTRJ.of(epsilon=1, delta="1e-6").release(public)
    assert isinstance(recommender(sums), LocalTags)
    triples = replace(sums, kind="tag-assignments", parts={"assignments": data.to_frame()}, id="")
    model = recommender(triples)
    assert isinstance(model, FolkRank)
    assert model.guarantee == sums.guarantee
    assert model.recommend([("ann", "hits")]).equals(FolkRank().fit(data).recommend([("ann", "hits")]))


def test_other_releases_are_refused():
    with pytest.raises(ReleaseError, match="no tagging release"):
        recommender("folder")  # type: ignore[arg-type]
    with pytest.raises(ReleaseError, match="no release of triples"):
        FolkRank().fit_release("folder")  # type: ignore[arg-type]
