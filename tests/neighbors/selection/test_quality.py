"""Lu's measures: alpha and beta."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.neighbors.selection import (
    PNCF,
    PPNS,
    Candidates,
    NaiveExponential,
    Nearest,
    Probabilistic,
    Uniform,
    alpha,
    beta,
)

FILMS = Candidates(np.linspace(0.95, 0.05, 12), np.ones(12))


def test_alpha_of_known_choices() -> None:
    assert alpha(Nearest(3), FILMS) == pytest.approx(FILMS.similarity[:3].sum())
    assert alpha(Uniform(3), FILMS) == pytest.approx(3 * FILMS.similarity.mean())


def test_alpha_is_the_mean_over_the_law() -> None:
    strategy = Probabilistic(3)
    mean = sum(p * FILMS.similarity[list(chosen)].sum() for chosen, p in strategy.law(FILMS).items())
    assert alpha(strategy, FILMS, exact=True) == pytest.approx(mean)
    assert alpha(strategy, FILMS, exact=False) == pytest.approx(mean, rel=0.01)


def test_alpha_of_what_was_drawn(fixed_bits) -> None:
    long = Candidates(np.linspace(0.95, 0.05, 300))
    strategy = Probabilistic(20)
    drawn = [long.similarity[strategy.choose(long)].sum() for _ in range(300)]
    assert alpha(strategy, long) == pytest.approx(np.mean(drawn), rel=0.02)


def test_the_order_of_the_thesis() -> None:
    """kNN before PPNS before nPNS before the mechanisms that are all but uniform."""
    values = [
        alpha(strategy, FILMS)
        for strategy in (Nearest(3), PPNS(3, epsilon=1, beta=2), Probabilistic(3), NaiveExponential(3, epsilon=1))
    ]
    assert values == sorted(values, reverse=True)
    assert values[-1] == pytest.approx(alpha(Uniform(3), FILMS), rel=0.02)


@pytest.mark.parametrize(
    ("strategy", "partitions"),
    [
        (Nearest(3), 1),
        (PPNS(3, epsilon=1, beta=1), 1),
        (PPNS(3, epsilon=1, beta=3), 3),
        (PPNS(3, epsilon=1, beta=3, against="beta-knn"), 4),
        (Probabilistic(3), 4),
        (Probabilistic(3, beta=2), 2),
        (PNCF(3, epsilon=1), 4),
        (PNCF(3, epsilon=1, beta=2), 2),
        (Uniform(5), 3),
    ],
    ids=str,
)
def test_beta_counts_partitions(strategy, partitions: int) -> None:
    assert beta(strategy, FILMS) == partitions
