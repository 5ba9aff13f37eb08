"""What all recommenders of tags share: ids in, ids out, and whose triples are read for whom."""

from dataclasses import replace
from fractions import Fraction

import polars as pl
import pytest

from discreet.data.tags import TagAssignments
from discreet.errors import DataError, ReleaseError, UsageError
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Pure
from discreet.privacy.release import Release
from discreet.privacy.units import Unit
from discreet.tagging import PTRJ, PTRS, FolkRank, recommender
from discreet.tagging.recommenders.baselines import CoOccurringTags, OwnTags, PopularTags, ResourceTags
from discreet.tagging.recommenders.local_tags import LocalTags

TRIPLES = [
    ("ann", "blue", "jazz"),
    ("ann", "kind", "jazz"),
    ("bob", "blue", "cool"),
    ("bob", "hits", "pop"),
    ("eve", "hits", "pop"),
]
GUARANTEE = Guarantee(Pure(Fraction(1)), Unit(), Standing.PROVED, "a theorem", "triples", not_covered=("lists",))
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
        with pytest.raises(UsageError, match="n must be"):
            model.recommend([("ann", "blue")], n=n)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="own="):
        model.recommend([("ann", "blue")], own=TRIPLES)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="no triples"):
        model.fit(TagAssignments([]))


@pytest.mark.parametrize("model", MODELS, ids=names)
def test_ids_of_another_type_are_nobody_elses_business(model, data):
    """They are written in the type of the model, or left out: neither the answer of another nor its type changes."""
    mine = [("ann", "kind", "mine"), ("ann", "hits", "pop")]
    model.fit(data)
    queries = [("ann", "kind"), ("bob", 5)]
    alone = model.recommend(queries, n=9, own=TagAssignments(mine)).filter(pl.col("user_id") == "ann")
    for odd in ([("bob", 5, 666)], [("bob", 5, 2.5)], [("bob", ("den",), "secret")], [("bob", 5, ("x",))]):
        answer = model.recommend(queries, n=9, own=TagAssignments(mine + odd))
        assert answer["tag"].dtype == pl.String
        assert answer.filter(pl.col("user_id") == "ann").drop("resource_id").equals(alone.drop("resource_id"))


def test_own_numbers_are_found_where_the_model_has_text():
    model = OwnTags().fit(TagAssignments([("ann", "1", "10"), ("ann", "2", "20")]))
    own = TagAssignments([(7, 1, 10), (7, 3, 30), (7, 2, 30)])
    assert model.recommend([(7, 3)], own=own)["tag"].to_list() == ["30", "10"]
    numbers = OwnTags().fit(TagAssignments([(1, 1, 10), (1, 2, 20)]))
    own = TagAssignments([("7", "1", "10"), ("7", "1", "x")])
    assert numbers.recommend([("7", "1")], own=own)["tag"].to_list() == [10]


def test_a_release_lends_its_guarantee(data):
    public = data.with_vocabulary("observed").with_resources("observed")
    sums = PTRJ(epsilon=1, delta="1e-6").release(public)
    assert isinstance(recommender(sums), LocalTags)
    triples = replace(sums, kind="tag-assignments", parts={"assignments": data.to_frame()}, id="")
    model = recommender(triples)
    assert isinstance(model, FolkRank)
    # Its lists read the triples of the person who asks: the guarantee is one against all others.
    assert model.guarantee == replace(
        sums.guarantee,
        joint=True,
        not_covered=(*sums.guarantee.not_covered, "what a person sees in their own recommendations"),
    )
    assert model.guarantee == recommender(sums).guarantee
    assert model.recommend([("ann", "hits")]).equals(FolkRank().fit(data).recommend([("ann", "hits")]))


def test_other_releases_are_refused():
    with pytest.raises(ReleaseError, match="no tagging release"):
        recommender("folder")  # type: ignore[arg-type]
    with pytest.raises(ReleaseError, match="no release of triples"):
        FolkRank().fit_release("folder")  # type: ignore[arg-type]


def released(triples: pl.DataFrame) -> Release:
    return Release("tag-assignments", GUARANTEE, "ptr-s", {}, {"assignments": triples})


def test_an_interrupted_fit_leaves_no_guarantee(data, monkeypatch):
    model = FolkRank().fit_release(released(data.to_frame()))
    assert model.guarantee is not None

    def interrupted(self, data):
        raise KeyboardInterrupt

    monkeypatch.setattr(FolkRank, "_fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(data)
    assert model.guarantee is None


@pytest.mark.parametrize("model", MODELS, ids=names)
def test_a_release_without_triples(model, data):
    """What noise left nothing of is no error: the answer is what the person who asks brings along, or nothing."""
    nothing = released(data.to_frame().clear())
    model.fit_release(nothing)
    assert model.recommend([("ann", "blue")]).height == 0
    own = TagAssignments([("ann", "kind", "mine"), ("ann", "blue", "mine"), ("ann", "blue", "also"), ("bob", "a", "b")])
    answer = model.recommend([("ann", "blue"), ("eve", "blue")], own=own)
    assert set(answer["tag"]) <= {"mine", "also"}
    assert set(answer["user_id"]) <= {"ann"}
    if isinstance(model, FolkRank | OwnTags):
        assert answer["tag"][0] == "mine"
    assert isinstance(recommender(nothing), FolkRank)
    assert recommender(nothing).guarantee == model.guarantee


def test_a_release_of_invented_people_knows_nobody():
    data = TagAssignments([(f"synthetic-{i}", f"r{i % 4}", f"t{i % 3}") for i in range(1, 60)])
    data = data.with_vocabulary("observed").with_resources("observed")
    model = recommender(PTRS(epsilon=8, delta="1e-6", users=50).release(data))
    assert len(model.users_) > 0
    assert not set(data.users.ids()) & set(model.users_.ids())
