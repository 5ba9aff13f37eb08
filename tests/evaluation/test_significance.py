from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse, stats

from discreet.errors import EvaluationError
from discreet.evaluation import (
    Scores,
    bootstrap_interval,
    compare,
    evaluate_ranking,
    paired_t_test,
    wilcoxon_test,
)
from discreet.evaluation.significance import PairedTest

# Student's sleep data (Biometrika 1908): hours gained with each of two drugs.
SLEEP = (
    [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
    [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
)
# Hamilton's depression scale before and after (Hollander, Wolfe & Chicken, examples 3.1, 3.3 and 3.4).
HAMILTON = (
    [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30],
    [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29],
)

# From 14 on: below, SciPy tries all signs where there are ties, which takes a tenth of a second each time.
differences = hnp.arrays(float, st.integers(14, 30), elements=st.integers(-40, 40).map(lambda x: x / 8))


def test_t_test_of_a_published_example() -> None:
    """t = −4.0621, p = 0.002833, interval −2.4598858 … −0.7001142: the figures in every textbook that uses it."""
    result = paired_t_test(SLEEP[0], against=SLEEP[1])
    assert result.difference == pytest.approx(-1.58)
    assert (result.low, result.high) == pytest.approx((-2.4598858, -0.7001142), abs=1e-7)
    assert result.statistic == pytest.approx(-4.0621, abs=5e-5)
    assert result.p_value == pytest.approx(0.002833, abs=5e-7)
    assert result.n == 10


@settings(deadline=None)
@given(differences, st.sampled_from([0.8, 0.95, 0.99]))
def test_t_test_agrees_with_scipy(values: np.ndarray, confidence: float) -> None:
    if np.all(values == values[0]):
        return  # SciPy gives NaN there; the next test says what we give
    ours, theirs = values + 3, np.full(values.size, 3.0)
    result, expected = paired_t_test(ours, against=theirs, confidence=confidence), stats.ttest_rel(ours, theirs)
    interval = expected.confidence_interval(confidence)
    assert (result.statistic, result.p_value) == pytest.approx((expected.statistic, expected.pvalue), abs=1e-12)
    assert (result.low, result.high) == pytest.approx((interval.low, interval.high))


def test_differences_without_spread() -> None:
    same, better = paired_t_test([1, 2, 3], against=[1, 2, 3]), paired_t_test([2, 3, 4], against=[1, 2, 3])
    assert (same.p_value, same.statistic, same.low, same.high) == (1, 0, 0, 0)
    assert (better.p_value, better.statistic, better.low, better.high) == (0, np.inf, 1, 1)
    equal = wilcoxon_test([1, 2, 3], against=[1, 2, 3])
    assert (equal.p_value, equal.statistic, equal.difference, equal.low, equal.high) == (1, 0, 0, 0, 0)


def test_wilcoxon_of_a_published_example() -> None:
    result = wilcoxon_test(HAMILTON[0], against=HAMILTON[1])
    assert result.p_value == pytest.approx(0.0390625)
    assert result.statistic == 5  # of 45: the other side has 40
    assert result.difference == pytest.approx(0.46)
    assert (result.low, result.high) == pytest.approx((0.010, 0.786))


@settings(deadline=None)
@given(differences)
def test_wilcoxon_agrees_with_scipy(values: np.ndarray) -> None:
    if not values.any():
        return
    for zeros in ("wilcox", "pratt", "zsplit"):
        result = wilcoxon_test(values, against=np.zeros(values.size), zeros=zeros)
        expected: Any = stats.wilcoxon(values, zero_method=zeros)
        assert (result.statistic, result.p_value) == pytest.approx((expected.statistic, expected.pvalue))
        assert result.n_zero == (values == 0).sum()


@settings(deadline=None)
@given(st.lists(st.integers(-500, 500).filter(bool), min_size=6, max_size=20, unique_by=abs))
def test_interval_holds_zero_just_when_the_test_does_not_reject(values: list[int]) -> None:
    result = wilcoxon_test(np.array(values, dtype=float), against=np.zeros(len(values)), confidence=0.9)
    assert (result.low <= 0 <= result.high) == (result.p_value > 0.1 + 1e-12)


@settings(deadline=None)
@given(differences)
def test_swapping_the_sides_changes_the_sign(values: np.ndarray) -> None:
    nothing = np.zeros(values.size)
    for test in (paired_t_test, wilcoxon_test):
        forth, back = test(values, against=nothing), test(nothing, against=values)
        assert (forth.difference, forth.low, forth.high) == pytest.approx((-back.difference, -back.high, -back.low))
        assert forth.p_value == pytest.approx(back.p_value)


def test_bootstrap_is_seeded_and_close_to_the_t_interval() -> None:
    values = np.random.default_rng(0).normal(loc=2, size=400)
    interval = bootstrap_interval(values, seed=1)
    assert interval == bootstrap_interval(values, seed=1)
    assert interval != bootstrap_interval(values, seed=2)
    student = paired_t_test(values, against=np.zeros(400))
    assert interval.estimate == pytest.approx(student.difference)
    assert (interval.low, interval.high) == pytest.approx((student.low, student.high), abs=0.02)


def test_bootstrap_covers_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    held = sum(
        (interval := bootstrap_interval(rng.exponential(size=60), seed=seed, confidence=0.9, resamples=400)).low
        <= 1
        <= interval.high
        for seed in range(300)
    )
    assert 0.82 < held / 300 < 0.95


def test_bootstrap_of_another_statistic_and_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.evaluation import significance

    values = np.arange(101.0)
    interval = bootstrap_interval(values, seed=1, statistic=np.median, resamples=501)
    assert interval.estimate == 50
    assert interval.low < 50 < interval.high
    monkeypatch.setattr(significance, "DRAWS_AT_ONCE", 1_000)
    assert bootstrap_interval(values, seed=1, statistic=np.median, resamples=501) == interval


def test_results_print_in_one_line() -> None:
    for result in (
        paired_t_test(SLEEP[0], against=SLEEP[1]),
        wilcoxon_test(SLEEP[0], against=SLEEP[1]),
        bootstrap_interval(SLEEP[0], seed=1),
    ):
        text = str(result)
        assert "\n" not in text
        assert "0.95" in text
        assert "n = 10" in text


def test_compare_pairs_users() -> None:
    held_out = sparse.csr_array(np.eye(4))
    ours = evaluate_ranking(np.array([[0, 1], [1, 0], [2, 0], [0, 3]]), held_out=held_out, k=2)
    theirs = evaluate_ranking(np.array([[0, 1], [0, 1], [0, 1], [1, 3]]), held_out=held_out, k=2)
    by_hand = paired_t_test([1, 1, 1, 0.5], against=[1, 0.5, 0, 0.5])
    assert compare(ours, against=theirs, metric="mrr@2") == by_hand
    assert isinstance(compare(ours, against=theirs, metric="mrr@2", test="wilcoxon"), PairedTest)


def test_compare_leaves_out_users_without_a_value() -> None:
    ours = Scores({}, {}, pl.DataFrame({"user_id": [1, 2, 3], "mae": [1.0, None, 3.0]}))
    theirs = Scores({}, {}, pl.DataFrame({"user_id": [1, 2, 3], "mae": [2.0, 2.0, 2.0]}))
    assert compare(ours, against=theirs, metric="mae").n == 2


def test_compare_refuses_other_users_and_unknown_metrics() -> None:
    ours = Scores({}, {}, pl.DataFrame({"user_id": [1, 2], "mae": [1.0, 2.0]}))
    others = Scores({}, {}, pl.DataFrame({"user_id": [1, 3], "mae": [1.0, 2.0]}))
    with pytest.raises(EvaluationError, match="not of the same users"):
        compare(ours, against=others, metric="mae")
    with pytest.raises(EvaluationError, match=r"no metric 'rmse' here\. There are mae"):
        compare(ours, against=ours, metric="rmse")
    with pytest.raises(EvaluationError, match=r"test must be one of .*'sign'"):
        compare(ours, against=ours, metric="mae", test="sign")  # type: ignore[arg-type]


@pytest.mark.parametrize("test", [paired_t_test, wilcoxon_test])
@pytest.mark.parametrize(
    ("ours", "theirs", "confidence", "message"),
    [
        ([], [], 0.95, "there are no values"),
        ([1], [1], 0.95, "not enough for a paired test"),
        ([1, 2], [1, 2, 3], 0.95, r"shape \(2,\)"),
        ([1, np.nan], [1, 2], 0.95, "not finite"),
        ([[1, 2]], [[1, 3]], 0.95, r"shape \(1, 2\)"),
        ([1, 2], [1, 3], 95, "confidence=95"),
        ([1, 2], [1, 3], "high", "confidence='high'"),
    ],
)
def test_refuses(test: object, ours: object, theirs: object, confidence: object, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        test(ours, against=theirs, confidence=confidence)  # type: ignore[operator]


def test_bootstrap_refuses() -> None:
    with pytest.raises(EvaluationError, match="cannot be resampled"):
        bootstrap_interval([1.0], seed=1)
    with pytest.raises(EvaluationError, match="resamples=0"):
        bootstrap_interval([1.0, 2.0], seed=1, resamples=0)
    with pytest.raises(EvaluationError, match=r"zeros must be one of .*'drop'"):
        wilcoxon_test([1, 2], against=[2, 1], zeros="drop")  # type: ignore[arg-type]
