"""Any function that scores all items for some users, behind the interface of the attacks."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from discreet.attacks import audit
from discreet.errors import DataError, UsageError
from discreet.models.foreign.libraries import ScoreModel


@pytest.fixture
def data() -> dc.Interactions:
    rows = [("ann", "a", 5), ("ann", "b", 3), ("bob", "b", 4), ("bob", "c", 2), ("cy", "b", 5)]
    return dc.Interactions(rows, items=["a", "b", "c", "d"], scale="1:5")


def popular(data: dc.Interactions):
    return lambda users: np.tile(data.records_per_item.astype(float), (users.size, 1))


def test_what_was_not_touched_is_recommended_in_order(data) -> None:
    told = ScoreModel(popular).fit(data).recommend(["bob", "ann"], n=3)
    assert told["user_id"].to_list() == ["bob", "bob", "ann", "ann"]
    assert told["item_id"].to_list() == ["a", "d", "c", "d"]
    assert told["score"].to_list() == [1, 0, 1, 0]
    assert told["rank"].to_list() == [1, 2, 1, 2]


def test_scores_of_pairs_come_in_the_order_asked_for(data) -> None:
    def own(data: dc.Interactions):
        return lambda users: [[10 * int(user) + item for item in range(4)] for user in users]

    told = ScoreModel(own).fit(data).predict([("cy", "d"), ("ann", "a"), ("cy", "b")])
    assert told["score"].to_list() == [23, 0, 21]


def test_rows_may_come_in_one_vector(data) -> None:
    flat = ScoreModel(lambda data: lambda users: popular(data)(users).ravel()).fit(data)
    assert flat.recommend(["ann"]).equals(ScoreModel(popular).fit(data).recommend(["ann"]))


def test_what_has_no_score_is_not_recommended(data) -> None:
    def gaps(data: dc.Interactions):
        return lambda users: np.tile([1.0, np.nan, -np.inf, 2.0], (users.size, 1))

    model = ScoreModel(gaps).fit(data)
    assert model.recommend(["cy"])["item_id"].to_list() == ["d", "a"]
    assert model.predict([("cy", "b"), ("cy", "c"), ("cy", "d")])["score"].to_list() == [None, None, 2.0]


def test_scores_of_the_wrong_shape_are_refused(data) -> None:
    model = ScoreModel(lambda data: lambda users: np.zeros((users.size, 3))).fit(data)
    with pytest.raises(DataError, match="3 scores came for 1 users and 4 items"):
        model.recommend(["ann"])


def test_it_must_be_fitted_first() -> None:
    with pytest.raises(UsageError, match="not been fitted"):
        ScoreModel(popular).recommend(["ann"])


def test_it_can_be_audited(data) -> None:
    report = audit(ScoreModel(popular), data, attacks="canary-predictions", runs=10, processes=1)
    assert report["canary-predictions"].verdict == "no claim"
    assert report["canary-predictions"].proved.epsilon > 2
