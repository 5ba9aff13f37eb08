from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn import metrics as sk

from discreet.data import Interactions
from discreet.errors import EvaluationError
from discreet.evaluation import evaluate_ratings, mae, mae_by_user, prediction_coverage, rmse, rmse_by_user

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


def test_by_hand() -> None:
    predicted, actual = [4.0, 2.0, 5.0], [3.0, 4.0, 5.0]
    assert mae(predicted, actual=actual) == 1.0
    assert rmse(predicted, actual=actual) == pytest.approx(math.sqrt(5 / 3))
    assert mae_by_user(predicted, actual=actual, user=["a", "a", "b"]) == (1.5 + 0) / 2
    assert rmse_by_user(predicted, actual=actual, user=["a", "a", "b"]) == pytest.approx(math.sqrt(2.5) / 2)


@settings(deadline=None)
@given(rated())
def test_agrees_with_scikit_learn(case: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    predicted, actual, user = case
    assert mae(predicted, actual=actual) == pytest.approx(sk.mean_absolute_error(actual, predicted))
    assert rmse(predicted, actual=actual) == pytest.approx(sk.root_mean_squared_error(actual, predicted))
    by_user = [sk.mean_absolute_error(actual[user == u], predicted[user == u]) for u in np.unique(user)]
    assert mae_by_user(predicted, actual=actual, user=user) == pytest.approx(np.mean(by_user))
    by_user = [sk.root_mean_squared_error(actual[user == u], predicted[user == u]) for u in np.unique(user)]
    assert rmse_by_user(predicted, actual=actual, user=user) == pytest.approx(np.mean(by_user))


@settings(deadline=None)
@given(rated())
def test_order_does_not_matter_and_mae_is_at_most_rmse(case: tuple[np.ndarray, ...]) -> None:
    predicted, actual, _ = case
    order = np.random.default_rng(predicted.size).permutation(predicted.size)
    assert mae(predicted[order], actual=actual[order]) == pytest.approx(mae(predicted, actual=actual))
    assert 0 <= mae(predicted, actual=actual) <= rmse(predicted, actual=actual) + 1e-12


def test_missing_answers_are_refused_or_skipped() -> None:
    predicted, actual = [4.0, float("nan"), 5.0], [3.0, 1.0, 5.0]
    with pytest.raises(EvaluationError, match=r"1 of 3 predictions are missing.*position 1.*missing='skip'"):
        mae(predicted, actual=actual)
    assert mae(predicted, actual=actual, missing="skip") == 0.5
    assert mae_by_user(predicted, actual=actual, user=[1, 2, 1], missing="skip") == 0.5
    assert prediction_coverage(predicted) == pytest.approx(2 / 3)
    assert prediction_coverage(pl.Series([None, 2.0])) == 0.5


@pytest.mark.parametrize(
    ("predicted", "actual", "message"),
    [
        ([], [], "there are no predictions"),
        ([1, 2], [1], r"predictions have shape \(2,\), the actual ratings \(1,\)"),
        ([1, math.inf], [1, 2], "not finite; the first is inf at position 1"),
        ([1, 2], [1, math.nan], "actual ratings are not finite"),
        (["x"], [1], "are not all numbers"),
        (3, 3, "a single value"),
        ([math.nan], [1], "none of the predictions was answered"),
    ],
)
def test_refuses(predicted: object, actual: object, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        rmse(predicted, actual=actual, missing="skip")


def test_refuses_an_unknown_rule_for_missing_answers() -> None:
    with pytest.raises(EvaluationError, match="missing='drop'"):
        mae([1], actual=[1], missing="drop")  # type: ignore[arg-type]


def test_refuses_users_that_do_not_fit() -> None:
    with pytest.raises(EvaluationError, match=r"users \(3,\)"):
        mae_by_user([1, 2], actual=[1, 2], user=[1, 2, 3])


def test_table_and_array_agree(held_out: Interactions) -> None:
    predicted = np.array([3.5, 2.0, 1.0, 5.0, 1.0])
    table = held_out.to_frame().select("user_id", "item_id").with_columns(score=pl.Series(predicted))
    by_array = evaluate_ratings(predicted, held_out=held_out)
    by_table = evaluate_ratings(table.sample(fraction=1, shuffle=True, seed=3), held_out=held_out)
    by_pandas = evaluate_ratings(table.to_pandas(), held_out=held_out)
    assert by_array.to_dict() == by_table.to_dict() == by_pandas.to_dict()
    actual = held_out.rating
    assert by_array["mae"] == mae(predicted, actual=actual)
    assert by_array["rmse"] == rmse(predicted, actual=actual)
    assert by_array["mae_by_user"] == mae_by_user(predicted, actual=actual, user=held_out.user)
    assert by_array["rmse_by_user"] == rmse_by_user(predicted, actual=actual, user=held_out.user)


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
    with pytest.raises(EvaluationError, match="carry no ratings"):
        evaluate_ratings(np.array([1.0]), held_out=Interactions([("ann", "tea")]))
