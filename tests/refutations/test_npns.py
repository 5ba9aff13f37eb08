"""nPNS protects by chance, not by a guarantee: no epsilon was claimed, and none holds."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet.neighbors.selection import Candidates, Probabilistic
from discreet.testing import max_log_ratio, smallest_delta


def law(strategy: Probabilistic, *similarity: float) -> dict[tuple[int, ...], float]:
    return strategy.law(Candidates(np.array(similarity)))


def test_a_first_common_item_makes_the_impossible_likely(dataset) -> None:
    """Candidate 3 adds one rating and has a co-rated cosine of 1: from probability 0 to 0.345."""
    assert dataset([], [(3, 4)]).similarity.tolist() == [0.0, 1.0]
    strategy = Probabilistic(1)
    first, second = law(strategy, 1.0, 0.9, 0.0), law(strategy, 1.0, 0.9, 1.0)
    assert (2,) not in first
    assert second[(2,)] == pytest.approx(0.345, abs=5e-4)
    assert max_log_ratio(first, second) == math.inf
    assert smallest_delta(first, second, 1.0) == pytest.approx(0.345, abs=5e-4)


def test_two_neighbors_make_it_worse() -> None:
    strategy = Probabilistic(2)
    first, second = law(strategy, 1.0, 0.9, 0.8, 0.0), law(strategy, 1.0, 0.9, 0.8, 1.0)
    assert smallest_delta(first, second, 1.0) == pytest.approx(0.53, abs=5e-3)


def test_restricting_the_list_adds_the_defect_of_partitions() -> None:
    """Among the beta·k most similar only: whoever leaves that circle becomes impossible, at any similarity."""
    strategy = Probabilistic(1, beta=2)
    first, second = law(strategy, 0.9, 0.8, 0.79), law(strategy, 0.9, 0.78, 0.79)
    assert max_log_ratio(first, second) == math.inf


@pytest.mark.parametrize("tau", [0.1, 0.5])
@pytest.mark.parametrize("k", [1, 2])
def test_what_holds_with_a_floor(k: int, tau: float) -> None:
    """Weights of at least tau: a change of one candidate's similarity costs at most k·ln(1/tau)."""
    strategy = Probabilistic(k, floor=tau)
    grid = [0.0, 0.3, 0.7, 1.0]
    losses = [
        max_log_ratio(law(strategy, a, *rest), law(strategy, b, *rest))
        for rest in itertools.product(grid, repeat=3)
        for a, b in itertools.combinations(grid, 2)
    ]
    assert 0.3 * math.log(1 / tau) < max(losses) <= k * math.log(1 / tau) + 1e-12


def test_the_floor_is_no_use_at_the_published_sizes() -> None:
    assert 10 * math.log(1 / 0.1) == pytest.approx(23, abs=0.1)


def test_no_guarantee_is_stated() -> None:
    assert Probabilistic(10).guarantee() is None
