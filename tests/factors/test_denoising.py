"""Tastes out of a noisy matrix, and how far they are trusted."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.factors.denoising import (
    _eigenvalue_bound,
    _public_normals,
    _regression,
    cleaned_spectrum,
    read_tastes,
)
from discreet.models.item_likeness import shrunk_spectrum


def noise_of(size: int, deviation: float, seed: int) -> np.ndarray:
    """Symmetric normal noise, of this deviation on the diagonal and 1/√2 of it elsewhere."""
    full = np.random.default_rng(seed).standard_normal((size, size)) * deviation / np.sqrt(2)
    upper = np.triu(full, 1)
    return upper + upper.T + np.diag(full.diagonal() * np.sqrt(2))


def test_of_noise_alone_next_to_nothing_is_left() -> None:
    noisy = noise_of(300, 1.0, seed=1)
    values, _ = cleaned_spectrum(noisy, 1.0)
    assert (values**2).sum() < 0.05 * (np.linalg.eigvalsh(noisy) ** 2).sum()


def test_far_above_the_noise_values_are_those_of_single_directions() -> None:
    direction = np.full(300, 300**-0.5)
    noisy = 80 * np.outer(direction, direction) + noise_of(300, 1.0, seed=2)
    found, known = cleaned_spectrum(noisy, 1.0)[0][-1], shrunk_spectrum(noisy, 1.0)[0][-1]
    assert found == pytest.approx(known, rel=0.01)


def test_many_weak_directions_are_read_better_than_by_their_edge() -> None:
    """None of them stands above the noise by itself."""
    rng = np.random.default_rng(3)
    base = np.linalg.qr(rng.standard_normal((400, 400)))[0]
    true = (base * np.linspace(0, 24, 400)) @ base.T
    noisy = true + noise_of(400, 1.0, seed=4)
    values, vectors = cleaned_spectrum(noisy, 1.0)
    error = np.linalg.norm((vectors * values) @ vectors.T - true)
    edge_values, edge_vectors = shrunk_spectrum(noisy, 1.0)
    assert error < 0.8 * np.linalg.norm((edge_vectors * edge_values) @ edge_vectors.T - true)


def people(taste: float, seed: int, users: int = 4_000, items: int = 80) -> np.ndarray:
    """Who has what: by popularity, and more of one half of the items than of the other."""
    rng = np.random.default_rng(seed)
    popularity = (np.arange(items) + 5.0) ** -0.8
    likes = np.where(rng.integers(0, 2, (users, 1)) == np.arange(items) % 2, 1 + taste, 1 - taste)
    return (rng.random((users, items)) < np.clip(popularity / popularity.sum() * 12 * likes, 0, 0.9)).astype(float)


def gram(records: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    popular = (records / np.sqrt(np.maximum(records.sum(axis=1, keepdims=True), 1))).sum(axis=0)
    direction = popular / np.linalg.norm(popular)
    tastes = records - np.outer(records @ direction, direction)
    tastes /= np.maximum(np.linalg.norm(tastes, axis=1, keepdims=True), 1e-9)
    return tastes.T @ tastes, direction, popular


@pytest.mark.parametrize("noise", [0.3, 3.0, 30.0])
@pytest.mark.parametrize("featured", [False, True])
def test_where_there_is_no_taste_none_is_found(noise: float, featured: bool) -> None:
    degrees = []
    for seed in range(4):
        matrix, direction, popular = gram(people(0.0, seed))
        features = np.eye(4)[np.arange(80) % 4] if featured else None
        read = read_tastes(matrix + noise_of(80, noise, 100 + seed), noise, 4_000, direction, features, popular)
        degrees.append(read.degree)
    assert np.mean(degrees) < 0.2


def test_where_there_is_taste_it_is_trusted_until_the_noise_hides_it() -> None:
    matrix, direction, popular = gram(people(0.6, seed=1))
    read = [
        read_tastes(matrix + noise_of(80, noise, 5), noise, 4_000, direction, None, popular)
        for noise in (1.0, 8.0, 300.0)
    ]
    assert read[0].degree > 0.8
    assert read[1].degree > 0.5
    assert read[2].degree < 0.3
    # What belongs to one half speaks for that half.
    same = np.equal.outer(np.arange(80) % 2, np.arange(80) % 2)
    assert read[0].weights[same & ~np.eye(80, dtype=bool)].mean() > 0.005 > 0 > read[0].weights[~same].mean()


def test_a_larger_head_is_judged_by_its_most_popular_items(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.factors import denoising

    monkeypatch.setattr(denoising, "MOST_JUDGED", 40)
    matrix, direction, popular = gram(people(0.6, seed=1))
    read = read_tastes(matrix + noise_of(80, 1.0, 5), 1.0, 4_000, direction, None, popular)
    assert read.degree > 0.8
    assert read.weights.shape == (80, 80)


def test_a_pair_that_goes_together_for_a_reason_of_its_own_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A film and its sequel: one entry far above the noise, which no direction of many items stands for."""
    records = people(0.6, seed=1)
    both = np.random.default_rng(2).random(4_000) < 0.05
    records[both, 40] = records[both, 61] = 1
    matrix, direction, popular = gram(records)
    noisy = matrix + noise_of(80, 1.5, 5)
    found = read_tastes(noisy, 1.5, 4_000, direction, None, popular).weights[40, 61]
    monkeypatch.setattr("discreet.factors.denoising.PAIRS_ABOVE", 1e9)
    assert found > 1.2 * read_tastes(noisy, 1.5, 4_000, direction, None, popular).weights[40, 61] > 0


@pytest.mark.parametrize("size", [2, 40])
def test_pairs_take_no_more_away_than_the_ridge_adds(size: int) -> None:
    """Strong pairs have eigenvalues far below 0, too; what is inverted stays positive, and weights stay small."""
    matrix = np.zeros((size, size))
    matrix[0, 1] = matrix[1, 0] = 1e4
    weights = _regression(matrix, 1.0, np.full(size, size**-0.5), None)
    assert np.isfinite(weights).all()
    assert np.abs(weights).max() < 10


@pytest.mark.parametrize("seed", range(5))
def test_no_eigenvalue_is_beyond_its_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = np.maximum(rng.standard_normal((30, 30)) - 1.5, 0) * 10.0 ** rng.integers(-200, 200)
    matrix += matrix.T
    largest = np.abs(np.linalg.eigvalsh(matrix)).max()
    assert largest * (1 - 1e-9) <= _eigenvalue_bound(matrix) <= 3 * largest


def test_numbers_that_look_normal_do_and_are_the_same_every_time() -> None:
    normals = _public_normals(400)
    assert np.array_equal(normals, normals.T)
    assert np.array_equal(normals, _public_normals(400))
    apart = normals[np.triu_indices(400, 1)]
    assert apart.mean() == pytest.approx(0, abs=0.02)
    assert apart.std() == pytest.approx(1, abs=0.02)
    assert normals.diagonal().std() == pytest.approx(np.sqrt(2), rel=0.15)
    assert (apart**4).mean() == pytest.approx(3, abs=0.15)


def test_a_matrix_of_one_item_says_nothing() -> None:
    read = read_tastes(np.array([[3.0]]), 1.0, 5.0, np.array([1.0]), None, np.array([3.0]))
    assert read.degree == 0
    assert read.weights.tolist() == [[0.0]]
