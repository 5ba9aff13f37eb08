"""What a score proves: known values, the ceiling, and a control that must not be refuted."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.attacks.engine.bounds import (
    epsilon_ceiling,
    epsilon_lower_bound,
    mu_lower_bound,
    rate_at_least,
    rate_at_most,
)
from discreet.errors import UsageError


def test_partitioned_selection_is_refuted_by_one_query() -> None:
    assert epsilon_lower_bound(256, 300, 76, 300) == pytest.approx(1.29, abs=0.005)


@pytest.mark.parametrize(("runs", "most"), [(100, 3.28), (1_000, 5.60), (10_000, 7.90), (100_000, 10.21)])
def test_so_many_runs_can_show_so_much(runs: int, most: float) -> None:
    assert epsilon_ceiling(runs) == pytest.approx(most, abs=0.005)


@pytest.mark.parametrize(
    ("present", "absent", "bound"),
    [
        (0.8187, 0.00708, 4.7),  # PNCF: Laplace noise whose scale follows the data
        (0.9966, 0.0034, 5.6),  # Slope One, the threshold crossed
        (0.9854, 0.0146, 4.2),  # cosine of purchases
        (0.81, 0.0, 10.0),  # PPNS, two ranks exchanged
        (0.5, 0.1839, 0.98),  # control: Laplace noise at its right scale, epsilon = 1
    ],
)
def test_known_games(present: float, absent: float, bound: float) -> None:
    runs = 100_000
    found = epsilon_lower_bound(round(present * runs), runs, round(absent * runs), runs)
    assert found == pytest.approx(bound, abs=0.05)


def test_a_control_is_seldom_refuted() -> None:
    """Randomized response at exactly epsilon = 1: the bound is above 1 in at most 5 % of the audits."""
    draw = np.random.default_rng(3)
    truth = math.e / (1 + math.e)
    hits, false_hits = draw.binomial(500, truth, 300), draw.binomial(500, 1 - truth, 300)
    bounds = [epsilon_lower_bound(int(h), 500, int(f), 500) for h, f in zip(hits, false_hits, strict=True)]
    assert np.mean(np.array(bounds) > 1) <= 0.05
    assert np.mean(bounds) > 0.6


def test_delta_weakens_the_bound() -> None:
    assert epsilon_lower_bound(90, 100, 5, 100, delta=0.1) < epsilon_lower_bound(90, 100, 5, 100)


def test_the_second_inequality_counts_too() -> None:
    """An attacker who is almost always right about absence proves as much as one who is about presence."""
    assert epsilon_lower_bound(500, 500, 250, 500) == pytest.approx(epsilon_lower_bound(250, 500, 0, 500))


def test_no_difference_proves_nothing() -> None:
    assert epsilon_lower_bound(30, 100, 30, 100) == 0
    assert mu_lower_bound(30, 100, 30, 100) == 0
    assert mu_lower_bound(0, 100, 100, 100) == 0


def test_gaussian_bound() -> None:
    """Two standard normals one apart, cut in the middle: 1.96 standard errors of both rates below mu = 1."""
    rate, runs = 0.69146, 100_000
    density = math.exp(-(0.5**2) / 2) / math.sqrt(2 * math.pi)
    expected = 1 - 2 * 1.96 * math.sqrt(rate * (1 - rate) / runs) / density
    found = mu_lower_bound(round(rate * runs), runs, round((1 - rate) * runs), runs)
    assert found == pytest.approx(expected, abs=0.001)


def test_intervals_hold_the_rate() -> None:
    assert rate_at_least(0, 10, alpha=0.025) == 0
    assert rate_at_most(10, 10, alpha=0.025) == 1
    assert rate_at_least(50, 100, alpha=0.025) == pytest.approx(0.3983, abs=1e-4)
    assert rate_at_most(50, 100, alpha=0.025) == pytest.approx(0.6017, abs=1e-4)


@pytest.mark.parametrize("counts", [(5, 4, 0, 4), (-1, 4, 0, 4), (0, 0, 0, 4), (0, 4, 5, 4)])
def test_impossible_counts(counts: tuple[int, int, int, int]) -> None:
    with pytest.raises(UsageError, match="not possible"):
        epsilon_lower_bound(*counts)


def test_impossible_settings() -> None:
    with pytest.raises(UsageError, match="confidence"):
        epsilon_lower_bound(1, 2, 1, 2, confidence=1)
    with pytest.raises(UsageError, match="delta"):
        epsilon_lower_bound(1, 2, 1, 2, delta=1)
