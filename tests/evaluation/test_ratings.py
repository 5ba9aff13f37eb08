from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn import metrics as sk

from discreet.data import Interactions
from discreet.errors import EvaluationError
from discreet.evaluation import Scores, evaluate_ratings

ratings = st.integers(1, 5).map(float)


@st.composite
def rated(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = draw(st.integers(1, 30))
    numbers = hnp.arrays(float, n, elements=st.floats(-10, 10))
    return (
        draw(numbers),
        draw(hnp.arrays(float, n, elements=ratings)),
        draw(hnp.arrays(int, n, elements=st.integers(0, 4))),
    )


@pytest.fixture
def held_out() -> Interactions:
    return Interactions(
        [("ann", "tea", 4), ("ann", "rum", 2), ("ann", "gin", 1), ("bob", "tea", 5), ("eve", "rum", 3)], scale="1:5"
    )


def scores_of(predicted: Any, actual: Any, user: Any = None, *, missing: Any = "error") -> Scores:
    """Measure arrays: each rating is one of another item."""
    owner = np.zeros(len(actual), dtype=int) if user is None else np.asarray(user)
    held_out = Interactions({"user_id": owner, "item_id": np.arange(len(actual)), "rating": np.asarray(actual, float)})
    given = np.asarray(predicted)
    if given.shape == owner.shape:
        given = given[np.argsort(owner, kind="stable")]  # records are sorted by user
    return evaluate_ratings(given, held_out=held_out, missing=missing)


def test_by_hand() -> None:
    scores = scores_of([4.0, 2.0, 5.0], [3.0, 4.0, 5.0], ["a", "a", "b"])
    assert scores["mae"] == 1.0
    assert scores["rmse"] == pytest.approx(math.sqrt(5 / 3))
    assert scores["mae_by_user"] == (1.5 + 0) / 2
    assert scores["rmse_by_user"] == pytest.approx(math.sqrt(2.5) / 2)


@settings(deadline=None)
@given(rated())
def test_agrees_with_scikit_learn(case: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    predicted, actual, user = case
    scores = scores_of(predicted, actual, user)
    assert scores["mae"] == pytest.approx(sk.mean_absolute_error(actual, predicted))
    assert scores["rmse"] == pytest.approx(sk.root_mean_squared_error(actual, predicted))
    by_user = [sk.mean_absolute_error(actual[user == u], predicted[user == u]) for u in np.unique(user)]
    assert scores["mae_by_user"] == pytest.approx(np.mean(by_user))
    by_user = [sk.root_mean_squared_error(actual[user == u], predicted[user == u]) for u in np.unique(user)]
    assert scores["rmse_by_user"] == pytest.approx(np.mean(by_user))


@settings(deadline=None)
@given(rated())
def test_order_does_not_matter_and_mae_is_at_most_rmse(case: tuple[np.ndarray, ...]) -> None:
    predicted, actual, _ = case
    order = np.random.default_rng(predicted.size).permutation(predicted.size)
    scores = scores_of(predicted, actual)
    assert scores_of(predicted[order], actual[order])["mae"] == pytest.approx(scores["mae"])
    assert 0 <= scores["mae"] <= scores["rmse"] + 1e-12


def test_missing_answers_are_refused_or_skipped() -> None:
    predicted, actual = [4.0, float("nan"), 5.0], [3.0, 1.0, 5.0]
    with pytest.raises(EvaluationError, match=r"1 of 3 predictions are missing.*position 1.*missing='skip'"):
        scores_of(predicted, actual)
    assert scores_of(predicted, actual, missing="skip")["mae"] == 0.5
    scores = scores_of(predicted, actual, [1, 2, 1], missing="skip")
    assert scores["mae_by_user"] == 0.5
    assert scores["coverage"] == pytest.approx(2 / 3)


def test_nulls_of_a_series_are_missing() -> None:
    held_out = Interactions([("ann", "rum", 1), ("ann", "tea", 2)])
    assert evaluate_ratings(pl.Series([None, 2.0]), held_out=held_out, missing="skip")["coverage"] == 0.5


@pytest.mark.parametrize(
    ("predicted", "actual", "message"),
    [
        ([], [], "there are no predictions"),
        ([1, 2], [1], r"predictions have shape \(2,\), the actual ratings \(1,\)"),
        ([1, math.inf], [1, 2], "not finite; the first is inf at position 1"),
        (["x"], [1], "are not all numbers"),
        (3, [3], "a single value"),
        ([math.nan], [1], "all predictions are missing"),
    ],
)
def test_refuses(predicted: object, actual: object, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        scores_of(predicted, actual, missing="skip")


def test_refuses_an_unknown_rule_for_missing_answers() -> None:
    with pytest.raises(EvaluationError, match=r"missing must be one of .*'drop'"):
        scores_of([1], [1], missing="drop")


def test_table_and_array_agree(held_out: Interactions) -> None:
    predicted = np.array([3.5, 2.0, 1.0, 5.0, 1.0])
    table = held_out.to_frame().select("user_id", "item_id").with_columns(score=pl.Series(predicted))
    by_array = evaluate_ratings(predicted, held_out=held_out)
    by_table = evaluate_ratings(table.sample(fraction=1, shuffle=True, seed=3), held_out=held_out)
    by_pandas = evaluate_ratings(table.to_pandas(), held_out=held_out)
    assert by_array.to_dict() == by_table.to_dict() == by_pandas.to_dict()


def test_table_with_holes_and_surplus(held_out: Interactions) -> None:
    table = pl.DataFrame(
        {
            "user_id": ["ann", "ann", "bob", "bob", "zoe"],
            "item_id": ["tea", "rum", "tea", "gin", "tea"],
            "score": [4.0, None, 4.0, 2.0, 1.0],
        }
    )
    with pytest.raises(EvaluationError, match="3 of 5 predictions are missing"):
        evaluate_ratings(table, held_out=held_out)
    scores = evaluate_ratings(table, held_out=held_out, missing="skip")
    assert scores["mae"] == 0.5
    assert scores["coverage"] == 0.4
    assert dict(scores.counts) == {
        "predictions": 2,
        "unanswered": 3,
        "surplus": 2,
        "users": 2,
        "users_unanswered": 1,
    }
    assert scores.per_user is not None
    assert scores.per_user.rows() == [("ann", 0.0, 0.0), ("bob", 1.0, 1.0), ("eve", None, None)]


def test_repeated_records_share_a_prediction() -> None:
    visits = Interactions([("ann", "tea", 4), ("ann", "tea", 2)], duplicates="keep")
    scores = evaluate_ratings({"user_id": ["ann"], "item_id": ["tea"], "score": [3.0]}, held_out=visits)
    assert scores["mae"] == 1.0
    assert scores.counts["surplus"] == 0


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"user_id": ["ann"], "item_id": ["tea"]}, "no column 'score'"),
        ({"user_id": ["ann"], "item_id": ["tea"], "score": ["4"]}, "holds String values"),
        ({"user": ["ann"], "item_id": ["tea"], "score": [1.0]}, "no column 'user_id'"),
        ({"user_id": [1], "item_id": ["tea"], "score": [1.0]}, r"numbers \(1\).*text \('ann'\)"),
        ({"user_id": ["ann"] * 2, "item_id": ["tea"] * 2, "score": [1.0, 2.0]}, "'ann' has more than one .* 'tea'"),
        ({"user_id": [], "item_id": [], "score": []}, "there are no predictions"),
    ],
)
def test_refuses_tables(held_out: Interactions, table: dict[str, list[object]], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        evaluate_ratings(table, held_out=held_out)


def test_refuses_records_without_ratings() -> None:
    with pytest.raises(EvaluationError, match="have no ratings"):
        evaluate_ratings(np.array([1.0]), held_out=Interactions([("ann", "tea")]))
