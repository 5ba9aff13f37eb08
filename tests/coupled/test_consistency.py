"""Histograms that are possible, trees that add up, rows drawn from a release."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from discreet.coupled import HistogramRelease, random_queries, synthetic_rows
from discreet.coupled.consistency import iterative_proportional_fit, onto_simplex
from discreet.data import CategoricalDomain, IntegerDomain, Table
from discreet.errors import UsageError

COUNTS = arrays(np.float64, st.integers(1, 30), elements=st.floats(-100, 100, allow_subnormal=False))


@given(COUNTS, st.integers(0, 200))
def test_the_projection_is_possible_and_nearest(values: np.ndarray, total: int) -> None:
    nearest = onto_simplex(values, total)
    assert nearest.min() >= 0
    assert nearest.sum() == pytest.approx(total, abs=1e-6)
    # A nearest point of a convex set: no corner of the set lies in the direction of what was cut off.
    corners = total * np.eye(values.size)
    assert ((corners - nearest) @ (values - nearest)).max() <= 1e-6 * (1 + np.abs(values).max() * (total + 100))


def test_the_projection_never_moves_away_from_the_truth() -> None:
    generator = np.random.default_rng(1)
    truth = np.array([5.0, 0, 0, 2, 3])
    for _ in range(200):
        noisy = truth + generator.laplace(0, 4, 5)
        assert np.linalg.norm(onto_simplex(noisy, 10) - truth) <= np.linalg.norm(noisy - truth) + 1e-9


def test_a_projection_of_nonsense_is_refused() -> None:
    for values, total in (([], 1), ([1.0, np.nan], 1), ([1.0], -1)):
        with pytest.raises(UsageError):
            onto_simplex(np.array(values), total)


def test_raking_reaches_both_sums() -> None:
    generator = np.random.default_rng(2)
    table, rows, columns = generator.random((4, 3)) * 10, np.array([1.0, 2, 3, 4]), np.array([5.0, 4, 1])
    scaled = iterative_proportional_fit(table, rows, columns)
    assert np.allclose(scaled.sum(axis=1), rows, atol=1e-4)
    assert np.allclose(scaled.sum(axis=0), columns, atol=1e-9)
    # Odds ratios, the dependence of a table, are left alone.
    before, after = (t[0, 0] * t[1, 1] / (t[0, 1] * t[1, 0]) for t in (table, scaled))
    assert before == pytest.approx(after)


def test_a_row_of_zeros_can_be_iterative_proportional_fit() -> None:
    scaled = iterative_proportional_fit(np.array([[0.0, 0.0], [3.0, 1.0]]), np.array([2.0, 2.0]), np.array([2.0, 2.0]))
    assert np.isfinite(scaled).all()
    assert np.allclose(scaled.sum(axis=0), 2)


def test_synthetic_rows_follow_the_histogram(fixed_bits: object) -> None:
    domains = {"sex": CategoricalDomain(("F", "M")), "age": IntegerDomain(0, 99, bins=(0, 18, 65))}
    histogram = np.array([10.0, 0.0, 30.0, 40.0, 20.0, 0.0])
    drawn = synthetic_rows(histogram, domains, rows=20_000)
    counts = drawn.histogram().ravel()
    assert counts[1] == counts[5] == 0
    # Five standard deviations of the largest binomial.
    assert np.abs(counts / 200 - histogram).max() < 5 * 50 / np.sqrt(20_000)


def test_synthetic_rows_come_from_a_release(fixed_bits: object) -> None:
    table = Table({"a": [0, 1, 1, 2]}, domains={"a": range(3)})
    release = HistogramRelease(epsilon=10).release(table, random_queries(table, 1, seed=1))
    assert len(synthetic_rows(release, table.domains)) == 4
    assert len(synthetic_rows(release, table.domains, rows=0)) == 0


def test_synthetic_rows_of_nonsense_are_refused() -> None:
    for histogram in (np.ones(3), np.array([1.0, -1.0]), np.zeros(2)):
        with pytest.raises(UsageError):
            synthetic_rows(histogram, {"a": range(2)})
    with pytest.raises(UsageError, match="rows"):
        synthetic_rows(np.ones(2), {"a": range(2)}, rows=-1)
