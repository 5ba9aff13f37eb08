"""Noisy differences: noise alone goes to 0, what stands out stays, and the map between is monotone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.coupled.shrinking import FAR, Kept, Law, expected_differences, noise_height

LAWS: list[Law] = ["laplace", "gaussian"]
SIGMA = 20.0


def noise(law: Law, size: int, seed: int) -> NDArray[np.float64]:
    generator = np.random.default_rng(seed)
    return generator.laplace(0, SIGMA / np.sqrt(2), size) if law == "laplace" else generator.normal(0, SIGMA, size)


def kept(noisy: NDArray[np.float64], law: Law, **given: Any) -> Kept:
    settings = {"deviation": SIGMA, "lowest": -1.0, "highest": 1e5, "cells": noisy.size, "law": law, **given}
    return expected_differences(noisy, **settings)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("size", [1, 2, 50, 5000])
def test_noise_alone_is_taken_away(law: Law, size: int) -> None:
    for seed in range(5):
        found = kept(noise(law, size, seed), law)
        assert np.abs(found.differences).max() < 0.2 * SIGMA
        assert (found.share < 0.1).all()


@pytest.mark.parametrize("law", LAWS)
def test_what_stands_far_out_stays(law: Law) -> None:
    noisy = noise(law, 4000, 1)
    noisy[:3] = 16 * SIGMA, 19 * SIGMA, 22 * SIGMA
    found = kept(noisy, law)
    assert np.abs(found.differences[:3] - noisy[:3]).max() < SIGMA
    assert (found.share[:3] > 0.5).all()
    assert np.abs(found.differences[3:]).mean() < 0.05 * SIGMA


@pytest.mark.parametrize("law", LAWS)
def test_larger_noisy_values_never_lead_to_smaller_expectations(law: Law) -> None:
    generator = np.random.default_rng(2)
    truth = np.where(generator.random(3000) < 0.1, generator.pareto(1.5, 3000) * 40, 0.0)
    noisy = np.clip(truth + noise(law, 3000, 3), -FAR * SIGMA, FAR * SIGMA)
    order = np.argsort(noisy)
    for lowest in (0.0, -30.0):
        found = kept(noisy, law, lowest=lowest)
        assert (np.diff(found.differences[order]) >= -1e-9).all()
        assert found.differences.min() >= lowest - 1e-9
        assert ((found.share >= 0) & (found.share <= 1)).all()


@pytest.mark.parametrize("law", LAWS)
def test_many_small_differences_are_learned_together(law: Law) -> None:
    """No single one stands out, but their law does: the error falls below that of 'nothing' and of 'everything'."""
    generator = np.random.default_rng(4)
    truth = generator.normal(0, SIGMA, 5000)
    noisy = truth + noise(law, 5000, 5)
    error = ((kept(noisy, law, lowest=-1e4).differences - truth) ** 2).mean()
    assert error < 0.6 * SIGMA**2
    # Half of the variance is what the best of all, which knows the true law, leaves of normal noise.
    assert error > 0.3 * SIGMA**2


def test_it_is_a_pure_function_that_leaves_its_input_alone() -> None:
    noisy = noise("laplace", 3000, 6)
    before = noisy.copy()
    first, second = kept(noisy, "laplace"), kept(noisy, "laplace")
    assert np.array_equal(noisy, before)
    assert np.array_equal(first.differences, second.differences)
    order = np.random.default_rng(0).permutation(noisy.size)
    assert np.allclose(kept(noisy[order], "laplace").differences, first.differences[order], atol=1e-9)


def test_scales_do_not_matter() -> None:
    noisy = noise("laplace", 500, 7)
    noisy[0] = 300.0
    one = kept(noisy, "laplace", highest=400.0)
    thousand = kept(1000 * noisy, "laplace", highest=4e5, lowest=-1e3, deviation=1000 * SIGMA)
    assert np.allclose(thousand.differences, 1000 * one.differences, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("law", LAWS)
def test_noise_seldom_reaches_its_height(law: Law) -> None:
    """At most one table in 15 has noise as high; of 4,000 tables that is checked with seven deviations to spare."""
    cells, tables = 100, 4000
    highest = noise(law, cells * tables, 8).reshape(tables, cells).max(axis=1)
    over = (highest > noise_height(SIGMA, cells, law=law)).mean()
    assert 0.001 < over < 1 / 15 + 7 * np.sqrt(1 / 15 / tables)
