"""FolkRank against a slow one that follows the words of the thesis, and against itself with own triples."""

import numpy as np
import polars as pl
import pytest

from discreet.data.tags import TagAssignments
from discreet.errors import UsageError
from discreet.tagging import FolkRank

TRIPLES = [
    ("ann", "blue", "jazz"),
    ("ann", "blue", "old"),
    ("ann", "kind", "jazz"),
    ("bob", "blue", "jazz"),
    ("bob", "hits", "pop"),
    ("bob", "hits", "loud"),
    ("eve", "hits", "pop"),
    ("eve", "rust", "metal"),
    ("eve", "rust", "loud"),
    ("joe", "isle", "sea"),
]


def by_the_book(data, user, resource, *, damping=0.7, iterations=10, preferred=True):
    """Weights of the tags, one step after the other on a dense matrix; λ multiplies A as in equation 4.2.1."""
    n_users, n_resources, n_tags = data.n_users, data.n_resources, data.n_tags
    size = n_users + n_resources + n_tags
    edges = np.zeros((size, size))
    for u, r, t in zip(data.user, data.resource, data.tag, strict=True):
        places = (u, n_users + r, n_users + n_resources + t)
        for one in places:
            for other in places:
                if one != other:
                    edges[one, other] += 1
    moves = edges / edges.sum(axis=0)
    preference = np.ones(size)
    if preferred and user in data.users:
        preference[data.users.code(user)] = 1 + n_users
    if preferred and resource in data.resources:
        preference[n_users + data.resources.code(resource)] = 1 + n_resources
    weights = preference
    for _ in range(iterations):
        weights = damping * moves @ weights + (1 - damping) * preference
    return weights[n_users + n_resources :]


def scores(model, queries, own=None):
    """Tag → score for each query, in the order of the tags."""
    table = model.recommend(queries, n=1_000, own=own)
    n_tags = table.height // len(queries)
    return [
        dict(table[i * n_tags : (i + 1) * n_tags].select("tag", "score").sort("tag").iter_rows())
        for i in range(len(queries))
    ]


@pytest.mark.parametrize("query", [("ann", "hits"), ("eve", "blue"), ("joe", "rust"), ("zoe", "kind"), ("bob", "moon")])
@pytest.mark.parametrize("differential", [True, False])
def test_the_thesis_step_by_step(query, differential):
    data = TagAssignments(TRIPLES)
    expected = by_the_book(data, *query)
    if differential:
        expected = expected - by_the_book(data, *query, preferred=False)
    found = scores(FolkRank(differential=differential).fit(data), [query])[0]
    assert list(found) == data.tags.ids()
    assert list(found.values()) == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_settings_matter_as_they_do_in_the_book():
    data = TagAssignments(TRIPLES)
    for damping, iterations in ((0.3, 10), (0.9, 4), (0.7, 1)):
        model = FolkRank(damping=damping, iterations=iterations, differential=False).fit(data)
        expected = by_the_book(data, "ann", "hits", damping=damping, iterations=iterations)
        assert list(scores(model, [("ann", "hits")])[0].values()) == pytest.approx(expected, rel=1e-5)


def test_weights_settle():
    data = TagAssignments(TRIPLES)
    settled = list(scores(FolkRank(iterations=400).fit(data), [("ann", "hits")])[0].values())
    assert list(scores(FolkRank(iterations=40).fit(data), [("ann", "hits")])[0].values()) == pytest.approx(settled)
    assert list(scores(FolkRank(iterations=2).fit(data), [("ann", "hits")])[0].values()) != pytest.approx(settled)


def test_a_random_dataset_in_batches(monkeypatch):
    from discreet.tagging.recommenders import base, folk_rank

    generator = np.random.default_rng(3)
    columns = [generator.integers(0, n, 400).tolist() for n in (20, 30, 25)]
    data = TagAssignments(list(zip(*columns, strict=True)))
    queries = [
        (int(u), int(r)) for u, r in zip(generator.integers(0, 20, 11), generator.integers(0, 30, 11), strict=True)
    ]
    model = FolkRank().fit(data)
    whole = model.recommend(queries, n=5)
    monkeypatch.setattr(folk_rank, "QUERIES_AT_ONCE", 3)
    monkeypatch.setattr(base, "SCORES_AT_ONCE", 4 * data.n_tags)
    parts = model.recommend(queries, n=5)
    assert parts.drop("score").equals(whole.drop("score"))
    for query, found in zip(queries, scores(model, queries), strict=True):
        expected = by_the_book(data, *query) - by_the_book(data, *query, preferred=False)
        assert list(found.values()) == pytest.approx(expected, rel=1e-4, abs=1e-4)


# The triples of the person who asks

OWN = [
    ("ann", "blue", "jazz"),
    ("ann", "rust", "mine"),
    ("ann", "cave", "loud"),
    ("zoe", "hits", "pop"),
    ("zoe", "hits", "zoo"),
]


@pytest.mark.parametrize("differential", [True, False])
@pytest.mark.parametrize("query", [("ann", "hits"), ("ann", "rust"), ("ann", "cave"), ("zoe", "blue")])
def test_own_triples_stand_in_for_what_was_released_about_their_owner(query, differential):
    released, own = TagAssignments(TRIPLES), TagAssignments(OWN)
    user = query[0]
    together = TagAssignments([t for t in TRIPLES if t[0] != user] + [t for t in OWN if t[0] == user])
    found = scores(FolkRank(differential=differential).fit(released), [query], own)[0]
    assert set(found) == set(released.tags.ids()) | {t for u, _, t in OWN if u == user}
    expected = on_the_joined_graph(together, query, found, released.n_users, released.n_resources, differential)
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-4)


def on_the_joined_graph(data, query, tags, n_users, n_resources, differential):
    """The book's weights on the joined graph, with the preferences of a given number of users and resources."""
    size = data.n_users + data.n_resources + data.n_tags
    edges = np.zeros((size, size))
    for u, r, t in zip(data.user, data.resource, data.tag, strict=True):
        places = (u, data.n_users + r, data.n_users + data.n_resources + t)
        for one in places:
            for other in places:
                edges[one, other] += one != other
    moves = edges / edges.sum(axis=0)
    start = np.zeros(size) if differential else np.ones(size)
    start[data.users.code(query[0])] += n_users
    if query[1] in data.resources:
        start[data.n_users + data.resources.code(query[1])] += n_resources
    weights = start
    for _ in range(10):
        weights = 0.7 * moves @ weights + 0.3 * start
    found = dict(zip(data.tags.ids(), weights[data.n_users + data.n_resources :].tolist(), strict=True))
    # A tag that nobody has left keeps what its own preference returns to it.
    alone = 0.0 if differential else 0.3
    return {tag: found.get(tag, alone) for tag in tags}


def test_own_triples_that_were_released_change_nothing():
    data = TagAssignments(TRIPLES)
    model = FolkRank().fit(data)
    queries = [("ann", "hits"), ("eve", "blue"), ("zoe", "kind")]
    assert model.recommend(queries, own=data).equals(model.recommend(queries))


def test_a_query_reads_the_triples_of_its_own_user_only():
    model = FolkRank().fit(TagAssignments(TRIPLES))
    mine = TagAssignments([t for t in OWN if t[0] == "ann"])
    for resource in ("hits", "cave"):
        both = scores(model, [("ann", resource)], TagAssignments(OWN))[0]
        assert both == scores(model, [("ann", resource)], mine)[0]
        assert "mine" in both
        assert "zoo" not in both


@pytest.mark.parametrize(("damping", "iterations"), [(0.7, 60), (0.1, 12), (0.05, 10)])
def test_what_another_asker_brings_changes_no_digit(damping, iterations):
    """Also where weights settle within the steps: nobody's triples decide how often another's weight is moved."""
    triples = [(f"u{i}", f"r{j}", f"t{(i + j) % 7}") for i in range(12) for j in range(6) if (i * j) % 3 != 1]
    model = FolkRank(damping=damping, iterations=iterations).fit(TagAssignments(triples))
    mine = [("me", f"r{j}", f"t{j}") for j in range(3)]
    generator = np.random.default_rng(1)
    answers = []
    for _ in range(12):
        theirs = [
            ("bob", f"r{generator.integers(0, 8)}", f"t{generator.integers(0, 9)}")
            for _ in range(generator.integers(1, 9))
        ]
        answer = model.recommend([("me", "r1"), ("bob", "r2")], n=20, own=TagAssignments(mine + theirs))
        answers.append(answer.filter(pl.col("user_id") == "me"))
    assert answers[0].height == 7
    assert all(answer.equals(answers[0]) for answer in answers)


def test_nobody_and_nothing_known_is_answered_by_what_is_popular():
    data = TagAssignments(TRIPLES)
    model = FolkRank().fit(data)
    expected = by_the_book(data, None, None, preferred=False)
    assert list(scores(model, [("zoe", "moon")])[0].values()) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("wrong", [{"damping": 1.5}, {"iterations": 0}, {"iterations": True}])
def test_settings_that_cannot_be(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        FolkRank(**wrong)
