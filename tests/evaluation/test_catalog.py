from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.data import Interactions
from discreet.errors import EvaluationError
from discreet.evaluation.catalog import catalog_coverage, evaluate_catalog, gini, popularity_percentiles

counts = st.lists(st.integers(0, 50), min_size=1, max_size=20).filter(any)

TRAINED_ON = Interactions([(user, "tea") for user in range(6)] + [(0, "rum"), (1, "rum"), (2, "gin")])


def test_gini_by_hand() -> None:
    assert gini([1, 1, 1]) == 0.0
    assert gini([0, 0, 0, 0, 7]) == pytest.approx(4 / 5)
    assert gini([1, 3]) == pytest.approx(0.25)  # half the mean difference 2·2/4, over the mean 2


@settings(deadline=None)
@given(counts)
def test_gini_is_half_the_relative_mean_difference(amounts: list[int]) -> None:
    values = np.array(amounts, dtype=float)
    mean_difference = np.abs(values[:, None] - values[None]).mean()
    assert gini(amounts) == pytest.approx(mean_difference / (2 * values.mean()), abs=1e-12)
    assert 0 <= gini(amounts) <= (len(amounts) - 1) / len(amounts) + 1e-12


@settings(deadline=None)
@given(counts, st.integers(1, 9))
def test_gini_knows_neither_order_nor_unit(amounts: list[int], factor: int) -> None:
    assert gini(amounts[::-1]) == pytest.approx(gini(amounts))
    assert gini([factor * amount for amount in amounts]) == pytest.approx(gini(amounts))


@settings(deadline=None)
@given(counts)
def test_an_item_more_that_is_never_shown_is_less_even_and_less_covered(amounts: list[int]) -> None:
    assert gini([*amounts, 0]) > gini(amounts)
    assert catalog_coverage([*amounts, 0]) < catalog_coverage(amounts)


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=20))
def test_percentiles_agree_with_scipy_ranks(popularity: list[int]) -> None:
    from scipy.stats import rankdata

    values = np.array(popularity)
    expected = np.zeros(values.size)
    used = values > 0
    expected[used] = rankdata(values[used]) / max(1, used.sum())
    assert popularity_percentiles(popularity) == pytest.approx(expected)


def test_evaluate_by_hand() -> None:
    """Popularity: gin 1, rum 2, tea 6; percentiles 1/3, 2/3, 1."""
    table = pl.DataFrame(
        {"user_id": ["a", "a", "b", "c"], "item_id": ["rum", "tea", "tea", "tea"], "rank": [2, 1, 1, 2]}
    )
    scores = evaluate_catalog(table, trained_on=TRAINED_ON, k=[1, 2])
    assert scores["catalog_coverage@1"] == pytest.approx(1 / 3)
    assert scores["catalog_coverage@2"] == pytest.approx(2 / 3)
    assert scores["gini@1"] == gini([0, 0, 2])
    assert scores["gini@2"] == gini([0, 1, 3])
    assert scores["popularity@1"] == 6
    assert scores["popularity@2"] == pytest.approx((4 + 6 + 6) / 3)
    assert scores["popularity_percentile@2"] == pytest.approx((5 / 6 + 1 + 1) / 3)
    assert scores.per_user is not None
    assert scores.per_user["popularity@1"].to_list() == [6, 6, None]  # c has nothing at place 1
    assert dict(scores.counts) == {"items": 3, "lists": 3, "empty": 0}


def test_matrix_and_table_agree() -> None:
    codes = np.array([[2, 1], [2, -1], [-1, -1]])
    table = {"user_id": [0, 0, 1], "item_id": ["tea", "rum", "tea"], "rank": [1, 2, 1]}
    by_codes = evaluate_catalog(codes, trained_on=TRAINED_ON, k=2)
    by_array = evaluate_catalog(codes, trained_on=[1, 2, 6], k=2)
    assert by_codes.values == by_array.values == evaluate_catalog(table, trained_on=TRAINED_ON, k=2).values
    assert by_codes.counts["empty"] == 1


def test_ids_of_any_kind() -> None:
    table = {"user_id": [("a", 1)], "item_id": ["tea"], "rank": [1]}
    scores = evaluate_catalog(table, trained_on=TRAINED_ON, k=1)
    assert scores.per_user is not None
    assert scores.per_user["user_id"].to_list() == [("a", 1)]


@pytest.mark.parametrize(
    ("recommended", "trained_on", "k", "message"),
    [
        (np.array([[-1]]), [1], 1, "nothing is recommended in the first 1 places"),
        (np.array([[0]]), [1], [1, 1], "each list length once"),
        (np.array([[0]]), [], 1, "there are no counts"),
        (np.array([[0]]), [-1], 1, "not one count per item"),
        ({"user_id": ["a"], "item_id": ["tea"], "rank": [1]}, [1, 2, 3], 1, "names users and items by id"),
        ({"user_id": ["a"], "item_id": ["ale"], "rank": [1]}, TRAINED_ON, 1, "1 recommendations are of items"),
        ({"user_id": [], "item_id": [], "rank": []}, TRAINED_ON, 1, "there are no recommendations"),
    ],
)
def test_refuses(recommended: object, trained_on: object, k: object, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        evaluate_catalog(recommended, trained_on=trained_on, k=k)  # type: ignore[arg-type]


def test_gini_of_nothing_is_refused() -> None:
    with pytest.raises(EvaluationError, match="nothing is recommended"):
        gini([0, 0])
