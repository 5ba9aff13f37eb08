"""Expected counts: closer to the truth than the noisy ones, in the same order, and never below zero."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from discreet.counting import ItemCounts, TopItems
from discreet.counting.cells import Cells
from discreet.counting.estimation import expected_counts, expected_edges, expected_items
from discreet.errors import ReleaseError


@pytest.fixture
def popularity() -> np.ndarray:
    """True counts with a heavy tail."""
    return np.exp(np.random.default_rng(3).normal(4, 1.5, 2000)).round()


@pytest.mark.parametrize("law", ["normal", "laplace"])
def test_the_error_is_much_smaller(popularity: np.ndarray, law: str) -> None:
    rng = np.random.default_rng(4)
    noise = rng.normal(0, 150, 2000) if law == "normal" else rng.laplace(0, 150 / np.sqrt(2), 2000)
    noisy = popularity + noise
    found = expected_items(noisy, deviation=150)
    small = popularity < 300
    assert np.square(found - popularity).mean() < 0.5 * 150**2
    assert (
        np.square(found - popularity)[small].mean() < 0.5 * np.square(np.maximum(noisy, 0) - popularity)[small].mean()
    )


def test_the_order_stays_and_nothing_is_negative(popularity: np.ndarray) -> None:
    noisy = popularity + np.random.default_rng(5).normal(0, 150, 2000)
    found = expected_items(noisy, deviation=150)
    assert (found >= 0).all()
    assert (np.diff(found[np.argsort(noisy)]) >= -1e-9).all()


def test_next_to_no_noise_leaves_counts_as_they_are() -> None:
    true = np.array([0.0, 5.0, 80.0, 1000.0])
    assert expected_items(true, deviation=0.0).tolist() == true.tolist()
    assert np.allclose(expected_items(true, deviation=1e-3), true, atol=1e-3)


def test_counts_of_nobody_are_nothing() -> None:
    assert (expected_items(np.array([-3.0, -5.0]), deviation=2) < 0.5).all()
    assert expected_items(np.array([-1e6, 1e6]), deviation=2).round(1).tolist() == [0, 1e6]
    assert expected_items(np.array([]), deviation=2).size == 0
    assert expected_edges(np.zeros((2, 3)), items=np.zeros(2), deviation=1).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_edges_without_signs_of_a_difference_become_shares() -> None:
    rng = np.random.default_rng(6)
    items = np.full(400, 700.0)
    share = np.array([0.5, 0.3, 0.2])
    noisy = items[:, None] * share + rng.normal(0, 100, (400, 3))
    found = expected_edges(noisy, items=items, deviation=100)
    assert np.square(found - items[:, None] * share).mean() < 0.05 * 100**2


def test_edges_that_differ_stay_different() -> None:
    rng = np.random.default_rng(7)
    items = np.full(400, 7000.0)
    share = rng.dirichlet([2, 2, 2], 400)
    true = items[:, None] * share
    noisy = true + rng.normal(0, 50, true.shape)
    found = expected_edges(noisy, items=items, deviation=50)
    assert np.square(found - true).mean() < 1.05 * 50**2


def test_the_expected_counts_of_a_release(fixed_bits: None) -> None:
    films = dc.synthetic.films(users=400, items=60, seed=3)
    cells = Cells.of(films, ["weekday"])
    release = ItemCounts(epsilon=1, delta="1e-6", cap=20).release(films, contexts=["weekday"])
    items, edges = expected_counts(release)
    assert edges is not None
    true = cells.totals("edges").reshape(60, 7)
    noisy = release.table("edges")["count"].to_numpy().reshape(60, 7)
    assert items.shape == (60,)
    assert np.square(edges - true).mean() < 0.5 * np.square(noisy - true).mean()


def test_a_list_has_no_expected_counts() -> None:
    films = dc.synthetic.films(users=50, items=20, seed=3)
    with pytest.raises(ReleaseError, match="item counts"):
        expected_counts(TopItems(k=3, epsilon=1).release(films))
