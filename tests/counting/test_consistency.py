"""Counts of items that equal the sums of their edges, and counts that are not negative."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from discreet.counting.finishing import consistent, nonnegative

numbers = st.floats(-1e3, 1e3)


def least_squares(item: float, edges: np.ndarray, item_variance: float, edge_variance: float) -> np.ndarray:
    """Edges that fit all measurements best, by the normal equations."""
    design = np.vstack([np.ones(edges.size), np.eye(edges.size)])
    weight = np.array([1 / item_variance] + [1 / edge_variance] * edges.size)
    return np.linalg.solve(design.T @ (design * weight[:, None]), design.T @ (weight * np.append(item, edges)))


@given(numbers, arrays.arrays(np.float64, st.integers(1, 6), elements=numbers), st.floats(0.1, 50), st.floats(0.1, 50))
def test_consistency_is_least_squares(
    item: float, edges: np.ndarray, item_variance: float, edge_variance: float
) -> None:
    items, fused = consistent(
        np.array([item]), edges[None, :], item_variance=item_variance, edge_variance=edge_variance
    )
    np.testing.assert_allclose(fused[0], least_squares(item, edges, item_variance, edge_variance), atol=1e-6)
    assert items[0] == pytest.approx(fused[0].sum(), abs=1e-6)


def test_consistency_has_less_error_than_either() -> None:
    rng = np.random.default_rng(4)
    truth = rng.uniform(0, 100, (20_000, 7))
    items = truth.sum(axis=1) + rng.normal(0, 3, 20_000)
    edges = truth + rng.normal(0, 2, truth.shape)
    fused_items, fused = consistent(items, edges, item_variance=9, edge_variance=4)
    assert np.var(fused_items - truth.sum(axis=1)) == pytest.approx(1 / (1 / 9 + 1 / 28), rel=0.05)
    assert np.mean((fused - truth) ** 2) < np.mean((edges - truth) ** 2)
    np.testing.assert_allclose(fused.sum(axis=1), fused_items)


def test_consistent_counts_stay_as_they_are() -> None:
    items, edges = consistent(np.array([6.0]), np.array([[1.0, 2.0, 3.0]]), item_variance=5, edge_variance=1)
    assert items.tolist() == [6]
    assert edges.tolist() == [[1, 2, 3]]


@given(arrays.arrays(np.float64, st.integers(1, 8), elements=numbers), st.floats(0.1, 100))
def test_projection_onto_counts_with_a_total(counts: np.ndarray, total: float) -> None:
    nearest = nonnegative(counts, total)
    assert (nearest >= 0).all()
    assert nearest.sum() == pytest.approx(total, abs=1e-6)
    # Nearest: what is positive moved by one number, what is zero would have had to move by more.
    moved = (counts - nearest)[nearest > 1e-9]
    assert np.ptp(moved) < 1e-6
    assert (counts[nearest <= 1e-9] <= moved.max() + 1e-6).all()


def test_without_a_total_negative_counts_become_zero() -> None:
    assert nonnegative(np.array([[2.0, -3.0]])).tolist() == [[2.0, 0.0]]
    assert nonnegative(np.array([2.0, 3.0]), total=0).tolist() == [0, 0]
