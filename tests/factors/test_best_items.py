"""Lists made without scoring the whole catalog are those made with it."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest
from scipy.sparse import csr_array

import discreet as dc
from discreet.factors import PrivateRecommender
from discreet.models.recommender import Recommender

N_ITEMS = 80


@pytest.fixture(scope="module")
def films() -> dc.Interactions:
    return dc.synthetic.films(users=500, items=N_ITEMS, records=9000, seed=3)


@pytest.fixture(scope="module")
def tastes(films: dc.Interactions) -> PrivateRecommender:
    model = PrivateRecommender(epsilon=20, head=30).fit(films)
    assert model.ranking_ == "tastes"
    return model


@pytest.fixture(scope="module")
def popularity(films: dc.Interactions) -> PrivateRecommender:
    model = PrivateRecommender(epsilon="1/10").fit(films)
    assert model.ranking_ == "popularity"
    return model


@pytest.fixture(scope="module")
def features(films: dc.Interactions) -> PrivateRecommender:
    model = PrivateRecommender(epsilon=20, head=10, features=("genres", "year")).fit(films)
    assert model._rare is not None
    assert model._votes.shape[1] == 40  # the head, and three times as many
    return model


def histories(model: PrivateRecommender) -> csr_array:
    """People with few and many ratings; one with nothing, one who has seen all of the head, one with all but two."""
    rng = np.random.default_rng(8)
    rows = [rng.choice(N_ITEMS, rng.integers(1, 40), replace=False) for _ in range(60)]
    rows += [np.zeros(0, dtype=np.int64), model.head_.astype(np.int64), np.arange(2, N_ITEMS)]
    indices = np.concatenate([np.sort(row) for row in rows])
    starts = np.concatenate([[0], np.cumsum([row.size for row in rows])])
    return csr_array((rng.integers(1, 6, indices.size).astype(float), indices, starts), shape=(len(rows), N_ITEMS))


@pytest.mark.parametrize("kind", ["tastes", "popularity", "features"])
@pytest.mark.parametrize("n", [1, 10, 50, 200])
@pytest.mark.parametrize("exclude_seen", [True, False])
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_the_best_are_those_of_all_scores(
    kind: str, n: int, exclude_seen: bool, share: float, request: pytest.FixtureRequest
) -> None:
    model: PrivateRecommender = request.getfixturevalue(kind)
    rows = histories(model)
    allowed = np.random.default_rng(1).random(N_ITEMS) < share
    codes, scores = model._top(rows, n, allowed=allowed, exclude_seen=exclude_seen)
    plain_codes, plain_scores = Recommender._top(model, rows, n, allowed=allowed, exclude_seen=exclude_seen)
    assert np.array_equal(scores, plain_scores)
    there = np.isfinite(scores)
    assert np.array_equal(codes[there], plain_codes[there])
    assert there.any()
    for row in range(3):  # one history by itself has the same list
        one = slice(rows.indptr[row], rows.indptr[row + 1])
        order = np.argsort(rows.indices[one])
        best, values = model._top_of_one(
            rows.indices[one][order].astype(np.int32),
            rows.data[one][order].astype(np.float64),
            min(n, N_ITEMS),
            allowed=allowed,
            exclude_seen=exclude_seen,
        )
        assert np.array_equal(best, codes[row])
        assert np.array_equal(values, scores[row])


def test_equal_scores_stand_in_the_order_of_the_items(tastes: PrivateRecommender) -> None:
    other = copy(tastes)
    other._votes = np.ones_like(tastes._votes)
    rows = csr_array(([4.0], [int(tastes.head_[4])], [0, 1]), shape=(1, N_ITEMS))
    codes, scores = other._top(rows, 10, allowed=np.ones(N_ITEMS, dtype=bool), exclude_seen=True)
    assert codes[0].tolist() == [int(code) for code in tastes.head_ if code != tastes.head_[4]][:10]
    assert set(scores[0]) == {1.0}


def test_unsorted_histories_are_not_shown_what_they_hold(tastes: PrivateRecommender) -> None:
    seen = [int(code) for code in tastes.head_[::-1]]
    rows = csr_array((np.full(len(seen), 5.0), seen, [0, len(seen)]), shape=(1, N_ITEMS))
    codes, _ = tastes._top(rows, N_ITEMS, allowed=np.ones(N_ITEMS, dtype=bool), exclude_seen=True)
    assert sorted(codes[0][codes[0] >= 0]) == sorted(set(range(N_ITEMS)) - set(seen))


def test_a_rating_of_nothing_has_been_seen_too() -> None:
    rows = [(user, item, float((user + item) % 6)) for user in range(40) for item in range(12) if (user * item) % 3]
    data = dc.Interactions(rows, scale="0:5", items=list(range(12)))
    model = dc.factors.Popularity().fit(data)
    assert 3 not in model.recommend(history={3: 0.0, 4: 5.0}, n=12)["item_id"].to_list()
