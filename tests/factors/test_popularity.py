"""Popularity: counts of likes, the same for everybody."""

from __future__ import annotations

import pytest

from discreet import Interactions
from discreet.errors import DataError
from discreet.factors import Popularity
from discreet.testing.models import RecommenderConformance


class TestPopularity(RecommenderConformance):
    def make_model(self) -> Popularity:
        return Popularity()


ROWS = [
    ("ann", "tea", 5),
    ("bob", "tea", 4),
    ("ann", "rum", 4),
    ("bob", "rum", 1),
    ("eve", "rum", 2),
    ("eve", "gin", 3),
]


def test_likes_are_counted_and_nothing_else() -> None:
    model = Popularity().fit(Interactions(ROWS, scale="1:5"))
    assert dict(zip(model.items_.ids(), model.counts_.tolist(), strict=True)) == {"tea": 2, "rum": 1, "gin": 0}
    assert model.recommend(history=["gin"], n=2)["item_id"].to_list() == ["tea", "rum"]
    assert model.guarantee is None


def test_the_threshold_is_the_callers() -> None:
    model = Popularity(positive=2).fit(Interactions(ROWS, scale="1:5"))
    assert dict(zip(model.items_.ids(), model.counts_.tolist(), strict=True)) == {"tea": 2, "rum": 2, "gin": 1}


def test_without_ratings_every_record_is_a_like_and_repeats_count_once() -> None:
    visits = Interactions([("ann", "tea"), ("ann", "tea"), ("bob", "rum")], duplicates="keep")
    assert sorted(Popularity().fit(visits).counts_.tolist()) == [1, 1]


def test_somebody_must_like_something() -> None:
    with pytest.raises(DataError, match="nobody likes anything"):
        Popularity(positive=5).fit(Interactions([("ann", "tea", 1)], scale="1:5"))
