from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.evaluation.significance import hodges_lehmann, walsh_average


def all_averages(values: np.ndarray) -> np.ndarray:
    i, j = np.triu_indices(values.size)
    return np.sort((values[i] + values[j]) / 2)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.one_of(st.integers(-4, 4).map(float), st.floats(-1e6, 1e6)), min_size=1, max_size=12))
def test_every_rank(values: list[float]) -> None:
    ordered = np.sort(values)
    averages = all_averages(ordered)
    close = pytest.approx(averages, rel=0, abs=8 * np.spacing(np.abs(ordered).max()))
    assert [walsh_average(ordered, rank) for rank in range(1, averages.size + 1)] == close


@settings(deadline=None)
@given(st.lists(st.integers(-20, 20).map(float), min_size=2, max_size=15))
def test_estimate_is_the_median_of_the_averages(values: list[float]) -> None:
    estimate, low, high = hodges_lehmann(np.array(values), confidence=0.9)
    assert estimate == np.median(all_averages(np.array(values)))
    assert low <= estimate <= high


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.95])
def test_exact_coverage_over_all_signs(confidence: float) -> None:
    """Under symmetry all signs are equally likely, so the coverage is a count: enough, and not needlessly much."""
    sizes = np.array([1.0, 2.3, 3.1, 4.7, 5.9, 7.2, 8.8, 9.6])
    held = 0
    for signs in itertools.product([-1, 1], repeat=sizes.size):
        _, low, high = hodges_lehmann(sizes * signs, confidence=confidence)
        held += low <= 0 <= high
    share = held / 2**sizes.size
    assert confidence <= share < confidence + 0.08


def test_normal_and_exact_ends_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.evaluation import significance

    values = np.random.default_rng(4).normal(size=50)
    exact = hodges_lehmann(values, confidence=0.95)
    monkeypatch.setattr(significance, "EXACT_UP_TO", 10)
    assert hodges_lehmann(values, confidence=0.95) == pytest.approx(exact, abs=0.01)


def test_five_billion_averages() -> None:
    values = np.random.default_rng(5).normal(loc=0.25, size=100_000)
    estimate, low, high = hodges_lehmann(values, confidence=0.95)
    assert low < estimate < high
    assert estimate == pytest.approx(0.25, abs=0.02)
    assert high - low == pytest.approx(
        2 * 1.96 * np.sqrt(np.pi / 3 / 100_000), rel=0.05
    )  # efficiency 3/π at the normal


def test_mostly_zeros_give_zero_itself() -> None:
    values = np.zeros(1_000)
    values[:200] = np.linspace(-1, 1.5, 200)
    assert hodges_lehmann(values, confidence=0.95) == (0.0, 0.0, 0.0)
