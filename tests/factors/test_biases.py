"""Biases: level, item and person add up."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import Interactions
from discreet.errors import UsageError
from discreet.factors import Biases
from discreet.testing.models import RecommenderConformance, two_tastes


class TestBiases(RecommenderConformance):
    worst_error = 1.8  # nothing is additive in a dataset of two tastes

    def make_model(self) -> Biases:
        return Biases()


def additive_dataset() -> tuple[Interactions, np.ndarray]:
    """Ratings that are exactly level + item + person."""
    truth = 3 + 0.1 * np.arange(-5, 5)[:, None] + 0.05 * np.arange(-6, 6)[None, :]
    rows = [
        (user, item, truth[user, item]) for user in range(10) for item in range(12) if (user * 5 + item * 3) % 4 != 0
    ]
    return Interactions(rows), truth


def test_what_adds_up_is_found() -> None:
    data, truth = additive_dataset()
    model = Biases(item_ridge=1e-6, user_ridge=1e-6, passes=50).fit(data)
    pairs = [(user, item) for user in range(10) for item in range(12)]
    np.testing.assert_allclose(model.predict(pairs)["score"].to_numpy(), truth.ravel(), atol=1e-3)


def test_a_second_pass_takes_out_who_rates_what() -> None:
    data, truth = additive_dataset()
    errors = [
        np.abs(
            Biases(item_ridge=0.1, user_ridge=0.1, passes=passes)
            .fit(data)
            .predict([(user, item) for user in range(10) for item in range(12)])["score"]
            .to_numpy()
            - truth.ravel()
        ).mean()
        for passes in (1, 2, 3)
    ]
    assert errors[1] < errors[0]
    assert errors[2] < errors[1]


def test_a_single_rating_is_drawn_towards_the_level() -> None:
    data = Interactions([("ann", "tea", 5), ("bob", "rum", 1)], scale="1:5")
    model = Biases(item_ridge=1, user_ridge=1, passes=1).fit(data)
    # Level 3; tea is 2 above it with one rating and one rating's worth of ridge; so is what is left of ann.
    assert model.offsets_[model.items_.code("tea")] == pytest.approx(1.0)
    assert model.predict([("ann", "tea")])["score"].item() == pytest.approx(4.5)
    assert model.predict(["tea"], history={})["score"].item() == pytest.approx(4.0)


def test_ratings_are_needed() -> None:
    with pytest.raises(UsageError, match="need ratings"):
        Biases().fit(Interactions([("ann", "tea")]))
    with pytest.raises(UsageError, match="passes"):
        Biases(passes=0).fit(two_tastes())
