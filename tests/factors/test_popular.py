"""How popular items are, as far as noise lets it be told."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.factors.popular import Spread, share_needed


def long_tail(items: int, seed: int = 1) -> np.ndarray:
    return 400 * (np.arange(items) + 5.0) ** -0.9 * np.random.default_rng(seed).uniform(0.8, 1.2, items)


def test_what_is_expected_is_nearer_to_the_truth_than_what_was_released() -> None:
    true = long_tail(20_000)
    noisy = true + 10 * np.random.default_rng(2).standard_normal(true.size)
    expected = Spread.of(noisy, 10).expected
    assert ((expected - true) ** 2).mean() < 0.1 * ((noisy - true) ** 2).mean()
    assert (expected >= 0).all()


def test_the_largest_of_many_noises_is_not_popular() -> None:
    """Of 20,000 items that nobody likes the largest noise is four deviations high."""
    noisy = 10 * np.random.default_rng(3).standard_normal(20_000)
    assert noisy.max() > 35
    assert Spread.of(noisy, 10).expected.max() < 5


def test_the_order_stays() -> None:
    noisy = long_tail(3_000) + 5 * np.random.default_rng(4).standard_normal(3_000)
    expected = Spread.of(noisy, 5).expected
    steps = np.diff(expected[np.argsort(noisy, kind="stable")])
    assert steps.min() > -0.05 * 5


def test_without_noise_everything_is_as_it_looks() -> None:
    noisy = long_tail(500)
    assert np.allclose(Spread.of(noisy, 1e-6).expected, noisy)


@pytest.mark.parametrize("noise", [1.0, 5.0, 20.0])
def test_the_popularity_of_a_list_is_foretold(noise: float) -> None:
    rng, true = np.random.default_rng(5), long_tail(5_000)
    spread = Spread(true, np.ones(true.size), true)
    lists = [true[np.argsort(-(true + noise * rng.standard_normal(true.size)))[:40]].sum() for _ in range(40)]
    assert spread.on_list(noise, 40) == pytest.approx(np.mean(lists), rel=0.02)


def test_longer_catalogs_need_a_larger_share() -> None:
    """Forty items are popular, the others are not: the more of them, the larger the largest of their noises."""
    shares = np.array([0.1, 0.2, 0.3, 0.5, 0.9])

    def needed(others: int, noise: float) -> float | None:
        spread = Spread(np.array([40.0, 0.0]), np.array([40.0, others]), np.zeros(0))
        return share_needed(spread, noise, shares)

    found = [needed(others, 4.0) or 1.0 for others in (40, 2_000, 100_000)]
    assert found == sorted(found)
    assert found[0] < found[-1]
    assert needed(40, 1e-3) == 0.1
    assert needed(100_000, 200.0) is None


def test_nothing_released_is_nothing_popular() -> None:
    spread = Spread.of(np.zeros(0), 1.0)
    assert spread.expected.size == 0
