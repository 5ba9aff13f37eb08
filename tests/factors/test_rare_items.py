"""Items outside the head: they speak, and are spoken for, through their public features."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.factors import EASE, PrivateRecommender
from discreet.factors.rare_items import SAID, RareItems
from discreet.models.quick_lists import QuickLists

HEAD = np.array([0, 1, 2, 3], dtype=np.int32)
FEATURES = np.eye(2)[[0, 0, 1, 1, 0, 1, 1]]
"""Two kinds of items; four are the head, the last has both features."""


@pytest.fixture(scope="module")
def rare() -> RareItems:
    features = FEATURES.copy()
    features[6, 0] = 1
    same = np.equal.outer(HEAD // 2, HEAD // 2)
    tastes = np.where(same, 1.0, -1.0)
    popular = np.array([9.0, 8, 7, 6, 3, 2, 1])
    return RareItems.of(tastes, HEAD, features, np.ones(7), popular / 10, popular)


def test_what_has_a_feature_says_what_items_with_it_say(rare: RareItems) -> None:
    assert rare.codes.tolist() == [4, 5, 6]
    assert rare.said == pytest.approx(np.array([[1.0, 1, -1, -1], [-1, -1, 1, 1]]), rel=0.05)
    # About the rare item of the first kind, and the more popular it is, the more.
    about = np.array([9.0, 8, -7, -6]) @ rare.shown
    assert about[0] > 0 > about[1]
    assert about[0] / -about[1] == pytest.approx(3 / 2, rel=0.05)


def test_features_that_no_item_of_the_head_has_say_nothing() -> None:
    features = np.concatenate([np.zeros((4, 2)), FEATURES[4:]])
    rare = RareItems.of(np.ones((4, 4)), HEAD, features, np.ones(7), np.ones(7), np.arange(7.0))
    assert not rare.said.any()
    assert not rare.shown.any()


def test_rare_items_speak_through_their_features(rare: RareItems) -> None:
    codes, rows = np.array([1, 6, 4], dtype=np.int32), np.array([1, -1, -1])
    starts, found, strengths = rare.spoken(np.array([0, 1, 1, 3]), codes, rows, np.array([1.0, 1.0, 2.0]))
    assert starts.tolist() == [0, 1, 1, 4]
    assert found.tolist() == [1, 4, 5, 4]
    assert strengths == pytest.approx([1, SAID, SAID, 2 * SAID])


@pytest.fixture(scope="module")
def shop() -> dc.Interactions:
    """Two kinds of people, who buy of their own kind nine times out of ten; late items are rare."""
    rng = np.random.default_rng(5)
    chance = (np.arange(60) + 2.0) ** -0.7
    rows = []
    for user in range(1_500):
        liked = chance * np.where(np.arange(60) % 2 == user % 2, 0.9, 0.1)
        rows += [(user, int(item)) for item in rng.choice(60, 8, replace=False, p=liked / liked.sum())]
    return dc.Interactions(
        rows, items=pl.DataFrame({"item_id": range(60), "kind": ["even", "odd"] * 30}), duplicates="last"
    )


def test_a_rare_item_is_shown_to_those_it_is_for(shop: dc.Interactions) -> None:
    model = PrivateRecommender(epsilon=20, head=12, features="kind").fit(shop)
    shown = model.recommend(history=[int(code) for code in model.head_ if code % 2 == 0][:4], n=20)["item_id"]
    rare = shown.filter(~shown.is_in(model.head_.tolist()))
    assert (rare.head(6) % 2 == 0).all()
    # Items of the other kind stand below: there are fewer of them than half.
    assert (shown % 2 == 0).sum() > 14


def test_what_is_rare_says_something_beside_what_is_not(shop: dc.Interactions) -> None:
    model = PrivateRecommender(epsilon=20, head=12, features="kind").fit(shop)
    one = int(model.head_[0])
    rare = [code for code in range(40, 60) if code not in model.head_]
    even = [code for code in rare if code % 2 == 0]
    odd = [code for code in rare if code % 2 == 1]
    kinds = [(model.recommend(history=[one, *some], n=5)["item_id"] % 2).sum() for some in (even, odd)]
    assert kinds[0] < kinds[1]


def test_who_likes_nothing_of_the_head_sees_what_is_popular(shop: dc.Interactions) -> None:
    model = PrivateRecommender(epsilon=20, head=12, features="kind").fit(shop)
    rare = next(code for code in range(59, 0, -1) if code not in model.head_)
    best = model.recommend(history=[rare], n=10)["item_id"].to_list()
    assert best == [int(code) for code in np.argsort(-model.popularity_, kind="stable") if code != rare][:10]


def test_a_history_without_ratings_is_one_of_likes() -> None:
    films = dc.synthetic.films(users=600, items=80, seed=7)
    for model in (PrivateRecommender(epsilon=20).fit(films), EASE().fit(films)):
        plain = model.recommend(history=["film-3", "film-8"], n=8)
        assert plain.equals(model.recommend(history={"film-3": 4, "film-8": 4}, n=8))
        assert not plain.equals(model.recommend(history={"film-3": 1, "film-8": 1}, n=8))
        lists = QuickLists(model)
        assert lists.recommend(["film-3", "film-8"], n=8).items == plain["item_id"].to_list()
        assert lists.recommend(["film-3", "film-8", "?"], n=8).items == plain["item_id"].to_list()
        assert lists.recommend_many([["film-8", "film-3"]], n=8)[0].items == plain["item_id"].to_list()


def test_a_higher_rating_says_more() -> None:
    films = dc.synthetic.films(users=600, items=80, seed=7)
    model = PrivateRecommender(epsilon=20).fit(films)
    film = model.items_.ids()[int(model.head_[0])]
    scores = [model.recommend(history={film: rating}, n=5) for rating in (4, 5)]
    assert scores[1]["item_id"].to_list() == scores[0]["item_id"].to_list()
    assert scores[1]["score"].to_numpy() == pytest.approx(4 / 3 * scores[0]["score"].to_numpy())
