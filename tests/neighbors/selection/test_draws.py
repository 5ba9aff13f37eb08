"""Draws: their laws, and their edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import gumbel_l, kstest

from discreet.privacy import entropy
from discreet.privacy.published_draws import first_arrivals, laplace, log_exponentials, uniforms


def test_laws(fixed_bits) -> None:
    assert kstest(uniforms((20_000,)), "uniform").pvalue > 0.01
    assert kstest(log_exponentials((20_000,)), gumbel_l.cdf).pvalue > 0.01
    noise = laplace(np.full(20_000, 0.3))
    assert kstest(noise, "laplace", args=(0, 0.3)).pvalue > 0.01
    assert kstest(noise, "laplace", args=(0, 0.33)).pvalue < 0.01


@pytest.mark.parametrize("byte", [0, 255])
def test_the_ends_of_the_line_stay_finite(monkeypatch: pytest.MonkeyPatch, byte: int) -> None:
    monkeypatch.setattr(entropy, "random_bytes", lambda n: np.full(n, byte, dtype=np.uint8))
    assert 0 < uniforms((1,))[0] < 1
    assert np.isfinite(log_exponentials((1,))).all()
    assert np.isfinite(laplace(np.ones(1))).all()


def test_without_scale_there_is_no_noise(fixed_bits) -> None:
    assert laplace(np.zeros(5)).tolist() == [0.0] * 5


def test_first_arrivals_in_order() -> None:
    times = np.array([[0.3, -1.0, 0.1], [np.inf, 2.0, np.inf]])
    assert first_arrivals(times, 2).tolist() == [[1, 2], [1, -1]]
    assert first_arrivals(times, 4).tolist() == [[1, 2, 0, -1], [1, -1, -1, -1]]
    assert first_arrivals(np.zeros((2, 0)), 1).tolist() == [[-1], [-1]]
