"""EASE: every column of its weights is a ridge regression on the other items."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import Interactions
from discreet.errors import UsageError
from discreet.factors import EASE, references
from discreet.testing.models import RecommenderConformance, two_tastes


class TestEASE(RecommenderConformance):
    def make_model(self) -> EASE:
        return EASE()


def test_each_item_is_regressed_on_the_others() -> None:
    data = two_tastes()
    model = EASE(ridge=3.0).fit(data)
    likes = (data.csr.toarray() >= 4).astype(float)
    for item in range(data.n_items):
        others = np.delete(np.arange(data.n_items), item)
        design = likes[:, others]
        expected = np.linalg.solve(design.T @ design + 3.0 * np.eye(others.size), design.T @ likes[:, item])
        np.testing.assert_allclose(model.weights_[others, item], expected, atol=1e-10)
        assert model.weights_[item, item] == 0


def test_scores_are_sums_of_weights_of_liked_items() -> None:
    model = EASE(ridge=3.0).fit(two_tastes())
    best = model.recommend(history={"i0": 5, "i2": 4, "i5": 1}, n=14)
    scores = dict(zip(best["item_id"], best["score"], strict=True))
    code = model.items_.code
    for item, score in scores.items():
        expected = model.weights_[code("i0"), code(item)] + model.weights_[code("i2"), code(item)]
        assert score == pytest.approx(expected)


def test_the_ridge_follows_the_number_of_users() -> None:
    data = two_tastes()
    users = np.unique(data.user[np.asarray(data.rating) >= 4]).size
    np.testing.assert_allclose(EASE().fit(data).weights_, EASE(ridge=4 * users**0.5).fit(data).weights_)


@pytest.mark.parametrize("ridge", [0, -1, float("inf"), float("nan"), "1"])
def test_a_ridge_is_a_number_above_zero(ridge: float) -> None:
    with pytest.raises(UsageError, match="ridge"):
        EASE(ridge=ridge).fit(two_tastes())


def test_a_catalog_can_be_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "MOST_ITEMS", 1)
    with pytest.raises(UsageError, match="too large"):
        EASE().fit(Interactions([("ann", "tea"), ("ann", "rum")]))


def test_large_matrices_are_inverted_in_blocks() -> None:
    from discreet.factors.references import _inverse

    draw = np.random.default_rng(3)
    rows = draw.normal(size=(40, 23))
    gram = rows.T @ rows + np.eye(23)
    np.testing.assert_allclose(_inverse(gram.copy(), at_once=5), np.linalg.inv(gram), atol=1e-10)
