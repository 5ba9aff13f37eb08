"""Wallenius' law: the chain against brute force, the integral and scipy; Manly's approximation against both."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import nchypergeom_wallenius

from discreet.errors import UsageError
from discreet.neighbors.selection.wallenius import (
    category_law,
    manly_mean,
    sampling_law,
    set_probability,
    wallenius_mean,
)

WEIGHTS = np.array([3.0, 1.0, 0.5, 2.0, 1.0])


def by_permutations(weights: np.ndarray, k: int) -> dict[tuple[int, ...], float]:
    law: dict[tuple[int, ...], float] = {}
    for order in itertools.permutations(range(weights.size), k):
        probability, left = 1.0, weights.sum()
        for pick in order:
            probability *= weights[pick] / left
            left -= weights[pick]
        chosen = tuple(sorted(order))
        law[chosen] = law.get(chosen, 0.0) + probability
    return law


@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_chain_is_the_sum_over_all_orders(k: int) -> None:
    assert sampling_law(np.log(WEIGHTS), k) == pytest.approx(by_permutations(WEIGHTS, k))


@given(st.lists(st.floats(-300, 300), min_size=2, max_size=7), st.data())
def test_the_integral_agrees_with_the_chain(log_weights, data) -> None:
    k = data.draw(st.integers(1, len(log_weights) - 1))
    law = sampling_law(log_weights, k)
    assert sum(law.values()) == pytest.approx(1.0)
    for chosen, probability in law.items():
        assert set_probability(log_weights, chosen) == pytest.approx(probability, rel=1e-10, abs=1e-280)


def test_long_ways_to_few_sets_go_by_the_integral() -> None:
    """All but one of 40: the chain would pass through 2^40 sets."""
    law = sampling_law(np.log(np.linspace(1, 2, 40)), 39)
    assert len(law) == 40
    assert sum(law.values()) == pytest.approx(1.0, abs=1e-12)
    missing = [law[tuple(np.delete(np.arange(40), out).tolist())] for out in range(40)]
    assert np.all(np.diff(missing) < 0)


@pytest.mark.parametrize(("first", "second", "k", "odds"), [(6, 5, 4, 2.5), (3, 9, 7, 0.3), (8, 8, 8, 10.0)])
def test_two_categories_are_scipys(first: int, second: int, k: int, odds: float) -> None:
    theirs: Any = nchypergeom_wallenius(first + second, first, k, odds)
    law = category_law(np.log([odds, 1.0]), [first, second], k)
    for drawn in range(k + 1):
        ours = law.get((0,) * drawn + (1,) * (k - drawn), 0.0)
        assert ours == pytest.approx(float(theirs.pmf(drawn)), abs=1e-9)
    mean = wallenius_mean(np.log([odds, 1.0]), [first, second], k)[0]
    assert mean == pytest.approx(float(theirs.mean()), abs=1e-8)


def test_categories_are_candidates_of_equal_weight() -> None:
    together = wallenius_mean(np.log([2.0, 1.0]), [2, 3], 3)
    alone = wallenius_mean(np.log([2.0, 2.0, 1.0, 1.0, 1.0]), np.ones(5), 3)
    assert together == pytest.approx([alone[:2].sum(), alone[2:].sum()])


def test_manly_is_exact_for_equal_weights_and_close_otherwise() -> None:
    assert manly_mean(np.zeros(7), np.ones(7), 3) == pytest.approx(np.full(7, 3 / 7))
    exact = wallenius_mean(np.log(WEIGHTS), np.ones(5), 2)
    approximate = manly_mean(np.log(WEIGHTS), np.ones(5), 2)
    assert approximate.sum() == pytest.approx(2)
    assert np.abs(approximate - exact).max() < 0.025
    # The larger the list, the better.
    longer = np.log(np.repeat(WEIGHTS, 3))
    exact = wallenius_mean(np.log(WEIGHTS), np.full(5, 3), 6) / 3
    assert np.abs(manly_mean(longer, np.ones(15), 6).reshape(5, 3)[:, 0] - exact).max() < 0.006


def test_manly_solves_the_printed_equation() -> None:
    counts, weights = np.array([4.0, 2.0, 5.0]), np.array([1.0, 3.0, 0.2])
    means = manly_mean(np.log(weights), counts, 5)
    sides = (1 - means / counts) ** (1 / weights)
    assert sides == pytest.approx(np.full(3, sides[0]))


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.integers(1, 40))
def test_manly_holds_its_sum_whatever_the_weights(log_weights, k: int) -> None:
    means = manly_mean(log_weights, np.ones(len(log_weights)), k)
    assert means.sum() == pytest.approx(min(k, len(log_weights)), abs=1e-6)
    assert np.all((means >= 0) & (means <= 1))


def test_many_problems_at_once() -> None:
    weights = np.random.default_rng(3).normal(size=(4, 6))
    together = manly_mean(weights, np.ones((4, 6)), 2)
    assert together == pytest.approx(np.stack([manly_mean(row, np.ones(6), 2) for row in weights]))


def test_who_has_no_weight_is_never_drawn() -> None:
    never = np.array([0.0, -np.inf, 0.0, -np.inf])
    assert sampling_law(never, 1) == pytest.approx({(0,): 0.5, (2,): 0.5})
    assert sampling_law(never, 3) == {(0, 2): 1.0}
    assert manly_mean(never, np.ones(4), 3).tolist() == [1.0, 0.0, 1.0, 0.0]
    assert sampling_law([], 2) == {(): 1.0}
    assert manly_mean([], [], 2).size == 0


def test_a_pool_stands_as_one_until_it_is_empty() -> None:
    """Weights 1, and a pool of two with weight 1 together: half, then half again."""
    law = sampling_law(np.zeros(3), 2, pool=[1, 2], pool_log_weight=0.0)
    assert law == pytest.approx({(0, 1): 0.375, (0, 2): 0.375, (1, 2): 0.25})
    assert sampling_law(np.zeros(3), 3, pool=[1, 2]) == {(0, 1, 2): 1.0}


def test_laws_that_are_too_long_are_refused() -> None:
    with pytest.raises(UsageError, match="shorter list"):
        sampling_law(np.zeros(100), 10)
    with pytest.raises(UsageError, match="shorter list"):
        category_law(np.zeros(100), np.ones(100), 10)
