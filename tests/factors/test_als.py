"""ALS: rows are solved exactly, sweeps lower the objective, tastes are told apart."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.factors import ALS
from discreet.factors.als import fixed_normals
from discreet.factors.kernels import all_scores, ridge_rows
from discreet.testing.models import RecommenderConformance, two_tastes


class TestALS(RecommenderConformance):
    def make_model(self) -> ALS:
        return ALS(factors=4, iterations=5)


def test_rows_are_solved() -> None:
    factors = fixed_normals(20, 5)
    gram = 0.1 * factors.T @ factors
    starts, columns = np.array([0, 3, 3, 9]), np.array([1, 4, 7, 0, 2, 3, 8, 11, 19], dtype=np.int32)
    penalty = np.array([0.5, 1.0, 2.0])
    solved = ridge_rows(starts, columns, factors, gram, penalty, np.zeros((3, 5)), 10)
    for row in range(3):
        mine = factors[columns[starts[row] : starts[row + 1]]]
        left = gram + mine.T @ mine + penalty[row] * np.eye(5)
        np.testing.assert_allclose(solved[row], np.linalg.solve(left, mine.sum(axis=0)), atol=1e-9)
    assert (solved[1] == 0).all()


def test_scores_are_products() -> None:
    people, items = fixed_normals(7, 3), fixed_normals(4, 3)
    np.testing.assert_allclose(all_scores(people, np.ascontiguousarray(items.T)), people @ items.T)


def test_the_numbers_that_a_search_begins_with_look_normal() -> None:
    numbers = fixed_normals(400, 50)
    assert abs(numbers.mean()) < 0.03
    assert abs(numbers.std() - 1) < 0.02
    assert np.abs(np.corrcoef(numbers.T) - np.eye(50)).max() < 0.25
    assert (numbers == fixed_normals(400, 50)).all()


def objective(model: ALS, likes: np.ndarray) -> float:
    """The loss of the docstring, at the people's best factors."""
    from scipy.sparse import csr_array

    people, items = model._people(csr_array(likes)), model.item_factors_
    products = people @ items.T
    alpha, ridge = model.unobserved_weight, model.regularization
    loss = ((1 - products)[likes > 0] ** 2).sum() + alpha * (products**2).sum()
    loss += ridge * ((likes.sum(1) + alpha * len(items)) * (people**2).sum(1)).sum()
    return loss + ridge * ((likes.sum(0) + alpha * len(people)) * (items**2).sum(1)).sum()


def test_sweeps_lower_the_objective() -> None:
    data = two_tastes()
    likes = (data.csr.toarray() >= 4).astype(float)
    likes = likes[likes.sum(axis=1) > 0]
    losses = []
    for iterations in (1, 2, 4, 8, 16):
        model = ALS(factors=3, iterations=iterations).fit(data)
        model.threshold_ = None
        losses.append(objective(model, likes))
    assert all(after <= before + 1e-9 for before, after in pairwise(losses))
    assert losses[-1] < 0.7 * losses[0]


def test_tastes_are_told_apart() -> None:
    model = ALS(factors=4).fit(two_tastes(users=60))
    best = model.recommend(history={"i0": 5, "i4": 5, "i8": 5}, n=4)["item_id"].to_list()
    assert all(int(item[1:]) % 2 == 0 for item in best)
    alike = model.similar_items("i3", n=4)["similar_id"].to_list()
    assert all(int(item[1:]) % 2 == 1 for item in alike)


@pytest.mark.parametrize(
    "wrong", [{"factors": 0}, {"iterations": 1.5}, {"unobserved_weight": 0}, {"regularization": -1}]
)
def test_settings_make_sense(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        ALS(**wrong).fit(two_tastes())  # type: ignore[arg-type]
