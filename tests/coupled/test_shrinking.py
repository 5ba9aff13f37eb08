"""Shrinking helps where a model is right, and does no harm where it is wrong."""

from __future__ import annotations

import numpy as np

from discreet.coupled.shrinking import kept_share, shrink_cells, shrink_table


def test_noise_alone_is_not_kept_and_signal_is() -> None:
    share = kept_share(np.array([1.0, 1.1, 50.0]), 1.0, 20, law="laplace", caution=0.5)
    assert share[0] == share[1] == 0.0
    assert 0.9 < share[2] < 1.0


def test_caution_falls_with_the_number_of_counts() -> None:
    few, many = (float(kept_share(2.0, 1.0, pooled, law="laplace", caution=1.0)) for pooled in (4, 4000))
    assert few == 0.0
    assert many > 0.45


def test_a_table_without_signal_becomes_what_was_expected() -> None:
    center = np.full(6, 100.0)
    noisy = center + np.array([3.0, -2.0, 1.0, -1.0, 2.0, -3.0])
    assert np.allclose(shrink_table(noisy, center, 100.0, 600, law="laplace"), center)


def test_a_table_full_of_signal_stays_and_gets_its_total() -> None:
    noisy = np.array([500.0, 80.0, 30.0])
    shrunk = shrink_table(noisy, np.full(3, 200.0), 1.0, 600, law="gaussian")
    assert abs(shrunk.sum() - 600) < 1e-9
    assert np.abs(shrunk - (noisy - 10 / 3)).max() < 0.1


def test_shrunk_cells_are_nearer_than_noisy_ones_and_than_a_wrong_model() -> None:
    generator = np.random.default_rng(5)
    model = np.sort(generator.pareto(1.2, 4000) + 0.05)[::-1] * 10
    truth = np.round(model * np.exp(generator.normal(0, 0.7, 4000)))
    model *= truth.sum() / model.sum()
    noisy = np.round(truth + generator.laplace(0, 20, 4000)).astype(np.int64)
    shrunk = shrink_cells(noisy, model, 800.0, truth.sum(), law="laplace")
    error = ((shrunk - truth) ** 2).sum()
    assert shrunk.min() >= 0
    assert abs(shrunk.sum() - truth.sum()) < 1e-3
    assert error < 0.6 * ((model - truth) ** 2).sum()
    assert error < 0.4 * ((noisy - truth) ** 2).sum()


def test_a_model_with_empty_cells_is_no_trouble() -> None:
    shrunk = shrink_cells(np.array([5, 0, 7]), np.array([12.0, 0.0, 0.0]), 1.0, 12, law="gaussian")
    assert np.isfinite(shrunk).all()
    assert abs(shrunk.sum() - 12) < 1e-9
