"""Bounds from one run and on ρ: true where the truth is known, and sharp."""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np
import pytest
from scipy.stats import binom, norm

from discreet.attacks import audit
from discreet.attacks.engine.bounds import one_run_lower_bound, rho_lower_bound
from discreet.attacks.games.given import OneRun
from discreet.errors import UsageError
from discreet.neighbors import KNN, PrivateItemKNN


@pytest.mark.parametrize("guesses", [10, 100, 1000])
def test_randomized_response_is_hardly_ever_refuted(guesses: int) -> None:
    """Each coin is told rightly with e/(1 + e), which is ε = 1: the chance of a bound above 1, worked out exactly."""
    first = bisect_left(range(guesses + 1), True, key=lambda v: one_run_lower_bound(v, guesses, guesses) > 1)
    wrong = binom.sf(first - 1, guesses, math.e / (1 + math.e))
    assert wrong <= 0.05
    assert guesses < 100 or wrong > 0.01  # and it is not far below: the bound is sharp


def test_delta_costs_something() -> None:
    exact = one_run_lower_bound(95, 100, 1000)
    assert one_run_lower_bound(95, 100, 1000, delta=1e-5) < exact
    assert one_run_lower_bound(95, 100, 1000, delta=1e-12) == pytest.approx(exact, abs=1e-4)


def test_impossible_counts_are_refused() -> None:
    for correct, guesses, canaries in ((5, 4, 10), (1, 11, 10), (0, 0, 5)):
        with pytest.raises(UsageError):
            one_run_lower_bound(correct, guesses, canaries)


@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
def test_rho_of_gaussian_noise(mu: float) -> None:
    """At every threshold the bound is below μ²/2, and at the best one above half of it."""
    runs, found = 10**9, []
    for threshold in np.linspace(-1, mu + 1, 21):
        hits, false = (round(runs * float(norm.sf(threshold, loc))) for loc in (mu, 0))
        found.append(rho_lower_bound(hits, runs, false, runs))
    assert 0.5 * mu**2 / 2 < max(found) < mu**2 / 2


def test_rho_with_delta_is_less() -> None:
    assert rho_lower_bound(900, 1000, 100, 1000, delta=0.1) < rho_lower_bound(900, 1000, 100, 1000)


def test_a_model_without_noise_is_caught_in_one_fit(films) -> None:
    score = audit(KNN(k=5, similarity="cosine_full"), films, attacks=[OneRun(size=2)], runs=2)["one-run"]
    assert score.proved.epsilon > 0.3
    assert "one fit with 22 canaries" in score.how


def test_a_private_model_is_not(films, fixed_bits) -> None:
    score = audit(PrivateItemKNN(epsilon=1), films, attacks=[OneRun(size=2)], runs=2)["one-run"]
    assert score.verdict in ("consistent", "inconclusive")
    assert score.claim is not None
    assert score.claim.measure == "ε"


def test_short_catalogs_are_an_obstacle(films) -> None:
    with pytest.raises(UsageError, match="45 items are too few"):
        audit(KNN(k=5), films, attacks=[OneRun(size=5)], runs=2)
