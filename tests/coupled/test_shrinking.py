"""Shrinking helps where a model is right, and does no harm where it is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.coupled.consistency import onto_simplex
from discreet.coupled.shrinking import Law, kept_share, shrink_cells, shrink_table

LAWS: list[Law] = ["laplace", "gaussian"]


def with_noise(truth: NDArray[np.float64], deviation: float, law: Law, seed: int) -> NDArray[np.int64]:
    generator = np.random.default_rng([seed, 1])
    draw = generator.laplace if law == "laplace" else generator.normal
    scale = deviation / np.sqrt(2) if law == "laplace" else deviation
    return np.rint(truth + draw(0, scale, truth.size)).astype(np.int64)


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


@pytest.mark.parametrize("law", LAWS)
def test_a_few_crowded_cells_are_found_although_the_model_misses_them(law: Law) -> None:
    truth = np.zeros(3000)
    truth[[7, 70, 700]] = 1800, 900, 300
    noisy = with_noise(truth, 30.0, law, seed=1)
    shrunk = shrink_cells(noisy, np.full(3000, 1.0), 900.0, 3000.0, law=law)
    error = ((shrunk - truth) ** 2).sum()
    assert error < 0.6 * ((onto_simplex(noisy, 3000) - truth) ** 2).sum()
    assert error < 0.01 * (truth**2).sum()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("deviation", [10.0, 200.0])
def test_a_flat_table_stays_flat(law: Law, deviation: float) -> None:
    """On average over tables: one in a hundred has a noise so large that it is believed."""
    ratios = []
    for seed in range(20):
        truth = np.random.default_rng(seed).poisson(2.0, 2000).astype(np.float64)
        even = np.full(2000, truth.sum() / 2000)
        shrunk = shrink_cells(with_noise(truth, deviation, law, seed), even, deviation**2, truth.sum(), law=law)
        ratios.append(((shrunk - truth) ** 2).sum() / ((even - truth) ** 2).sum())
    assert np.mean(ratios) < 1.2
    assert np.median(ratios) < 1.01


@pytest.mark.parametrize("law", LAWS)
def test_all_rows_in_one_cell(law: Law) -> None:
    truth = np.zeros(500)
    truth[3] = 1000
    shrunk = shrink_cells(with_noise(truth, 20.0, law, seed=2), np.full(500, 2.0), 400.0, 1000.0, law=law)
    assert abs(shrunk[3] - 1000) < 100


def test_what_is_found_is_missing_where_the_model_was_followed() -> None:
    model = np.array([300.0, 100.0] * 5 + [100.0])
    noisy = np.append(model[:-1], 1100.0).astype(np.int64)
    shrunk = shrink_cells(noisy, model, 1600.0, model.sum(), law="gaussian")
    assert shrunk[-1] > 900
    assert shrunk.sum() == pytest.approx(model.sum())
    # What is left of the others keeps the proportions of the model.
    assert shrunk[0] / shrunk[1] == pytest.approx(3.0, rel=0.15)


def test_slight_noise_leaves_counts_alone_and_shrinking_is_a_pure_function() -> None:
    noisy = np.array([4, 0, 9, 2])
    assert np.array_equal(shrink_cells(noisy, np.full(4, 3.75), 1e-4, 15.0, law="laplace"), noisy)
    model = np.full(4, 3.75)
    first, second = (shrink_cells(noisy, model, 4.0, 15.0, law="laplace") for _ in range(2))
    assert np.array_equal(first, second)
    assert noisy.tolist() == [4, 0, 9, 2]
    assert (model == 3.75).all()


def test_a_table_of_one_cell() -> None:
    assert shrink_cells(np.array([17]), np.array([12.0]), 9.0, 12.0, law="laplace").tolist() == [12.0]


def test_a_model_with_empty_cells_is_no_trouble() -> None:
    shrunk = shrink_cells(np.array([5, 0, 7]), np.array([12.0, 0.0, 0.0]), 1.0, 12, law="gaussian")
    assert np.isfinite(shrunk).all()
    assert abs(shrunk.sum() - 12) < 1e-9
