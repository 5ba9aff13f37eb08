from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import rel_entr
from scipy.stats import entropy
from sklearn.metrics import mean_squared_error

from discreet.errors import EvaluationError
from discreet.evaluation.counts import (
    count_mse,
    evaluate_counts,
    kl_original_to_released,
    kl_released_to_original,
    top_k_precision,
)


@st.composite
def pairs(draw: st.DrawFn, low: int = -3, high: int = 6, longest: int = 8) -> tuple[list[int], list[int]]:
    n = draw(st.integers(1, longest))
    side = st.lists(st.integers(low, high), min_size=n, max_size=n)
    return draw(side), draw(side)


def test_divergence_by_hand_with_the_floor() -> None:
    """Released [4, −2, 6] → [4, 0.01, 6]; original [0, 5, 5] → [0.01, 5, 5]; both sum to 10.01."""
    released = [4 / 10.01, 0.01 / 10.01, 6 / 10.01]
    original = [0.01 / 10.01, 5 / 10.01, 5 / 10.01]
    expected = sum(r * math.log(r / o) for r, o in zip(released, original, strict=True))
    assert kl_released_to_original([4, -2, 6], original=[0, 5, 5]) == pytest.approx(expected)
    expected = sum(o * math.log(o / r) for r, o in zip(released, original, strict=True))
    assert kl_original_to_released([4, -2, 6], original=[0, 5, 5]) == pytest.approx(expected)


@settings(deadline=None)
@given(pairs())
def test_divergence_agrees_with_scipy_and_the_directions_mirror_each_other(case: tuple[list[int], list[int]]) -> None:
    released, original = case
    floored = [np.where(np.array(side) > 0, side, 0.01) for side in case]
    value = kl_released_to_original(released, original=original)
    assert value == pytest.approx(entropy(floored[0], floored[1]), abs=1e-12)
    p, q = (side / side.sum() for side in floored)
    assert value == pytest.approx(rel_entr(p, q).sum(), abs=1e-12)
    assert value == kl_original_to_released(original, original=released)
    assert value >= 0


@settings(deadline=None)
@given(pairs(low=1), st.integers(2, 9))
def test_divergence_knows_no_unit(case: tuple[list[int], list[int]], factor: int) -> None:
    released, original = case
    scaled = [factor * count for count in released]
    assert kl_released_to_original(scaled, original=original) == pytest.approx(
        kl_released_to_original(released, original=original), abs=1e-12
    )


def test_the_floor_is_an_argument() -> None:
    assert kl_released_to_original([0, 1], original=[1, 1], floor=1) == 0
    with pytest.raises(EvaluationError, match="floor must be a positive number, got 0"):
        kl_released_to_original([0, 1], original=[1, 1], floor=0)


@settings(deadline=None)
@given(pairs())
def test_mse_agrees_with_scikit_learn(case: tuple[list[int], list[int]]) -> None:
    assert count_mse(case[0], original=case[1]) == pytest.approx(mean_squared_error(case[1], case[0]))


def test_mse_of_large_integers_does_not_overflow() -> None:
    huge = np.array([2**40, 0])
    assert count_mse(huge, original=-huge) == pytest.approx(2.0**81)


def tops(counts: list[int], k: int) -> list[set[int]]:
    """Every set of k largest that breaking ties one way or another can give; each as often as it comes."""
    orders = itertools.permutations(range(len(counts)))
    return [set(sorted(order, key=lambda item: -counts[item])[:k]) for order in orders]


@settings(deadline=None)
@given(pairs(longest=4, high=0), st.data())
def test_expected_precision_is_the_mean_over_all_ways_to_break_ties(
    case: tuple[list[int], list[int]], data: st.DataObject
) -> None:
    released, original = case
    k = data.draw(st.integers(1, len(released)))
    overlaps = [len(a & b) / k for a in tops(released, k) for b in tops(original, k)]
    assert top_k_precision(released, original=original, k=k) == pytest.approx(np.mean(overlaps))


@settings(deadline=None)
@given(st.data())
def test_without_ties_it_is_the_overlap(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 8))
    released, original = data.draw(st.permutations(range(n))), data.draw(st.permutations(range(n)))
    k = data.draw(st.integers(1, n))
    truth = len(set(np.argsort(released)[n - k :]) & set(np.argsort(original)[n - k :])) / k
    assert top_k_precision(released, original=original, k=k) == pytest.approx(truth)


@settings(deadline=None)
@given(pairs(), st.data())
def test_precision_bounds_and_order(case: tuple[list[int], list[int]], data: st.DataObject) -> None:
    released, original = case
    k = data.draw(st.integers(1, len(released)))
    value = top_k_precision(released, original=original, k=k)
    assert 0 <= value <= 1 + 1e-12
    assert top_k_precision(released[::-1], original=original[::-1], k=k) == pytest.approx(value)
    assert top_k_precision(released, original=original, k=len(released)) == pytest.approx(1)


def test_groups_are_averaged() -> None:
    released = [[9, 1, 0], [0, 1, 9]]
    original = [[5, 2, 1], [5, 2, 1]]
    assert top_k_precision(released, original=original, k=1) == 0.5
    scores = evaluate_counts(released, original=original, k=1)
    assert scores["mse"] == count_mse(np.ravel(released), original=np.ravel(original))
    assert scores["top_1_precision"] == 0.5
    assert scores.counts["counts"] == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"released": [1, 2], "k": 1}, r"released counts have shape \(2,\), the original counts \(3,\)"),
        ({"released": [1, 2, float("nan")], "k": 1}, "released counts are not finite"),
        ({"k": 4}, "no 4 largest among counts of shape"),
        ({"k": 0}, "k=0"),
    ],
)
def test_refuses(options: dict[str, object], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        top_k_precision(**{"released": [1, 2, 3], "original": [1, 2, 3], **options})  # type: ignore[arg-type]


def test_refuses_nothing() -> None:
    with pytest.raises(EvaluationError, match="there are no released counts"):
        count_mse([], original=[])
