"""PNCF to the letter: truncation, C0, options."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.neighbors.selection import PNCF, Candidates, NaiveExponential

RS = np.array([0.2, 0.4, 0.3, 0.6, 0.5, 0.1])
FILMS = Candidates(np.array([0.9, 0.8, 0.5, 0.2, -0.1, -0.3]), RS)


def test_the_width_of_the_theorem() -> None:
    """min(s_k, 4k·RS/ε·ln(k(n − k)/ρ)), with the largest RS and n candidates."""
    width = 4 * 2 * 0.6 / 100 * math.log(2 * 4 / 0.5)
    assert PNCF(2, epsilon=100).threshold(FILMS) == pytest.approx(0.8 - width)
    assert PNCF(2, epsilon=1).threshold(FILMS) == 0.0
    assert PNCF(2, epsilon=100, rs_cap=0.1).threshold(FILMS) == pytest.approx(0.8 - width / 6)
    assert PNCF(2, epsilon=100, rho=0.1).threshold(FILMS) < PNCF(2, epsilon=100).threshold(FILMS)
    assert PNCF(2, epsilon=1, w=0.3).threshold(FILMS) == pytest.approx(0.5)
    assert PNCF(1, epsilon=1, beta=3).threshold(FILMS) == 0.5


def test_c0_is_who_is_below_and_weighs_as_much_as_one() -> None:
    """Threshold 0 at epsilon 1: the two negative ones share the weight exp(0) = 1."""
    law = PNCF(1, epsilon=1).law(FILMS)
    weights = np.exp(FILMS.similarity[:4] / (4 * RS[:4]))
    assert [law[(place,)] for place in range(4)] == pytest.approx(weights / (weights.sum() + 1))
    assert law[(4,)] == law[(5,)] == pytest.approx(0.5 / (weights.sum() + 1))
    each = PNCF(1, epsilon=1, c0="each").law(FILMS)
    assert each[(4,)] == each[(5,)] == pytest.approx(1 / (weights.sum() + 2))


def test_c0_keeps_its_weight_from_round_to_round() -> None:
    films = Candidates(np.array([1.0, 0.0, 0.0, 0.0]))
    law = PNCF(2, epsilon=8, rs=1.0, w=0.0).law(films)
    # s_2 = 0: nobody is below.
    assert law == pytest.approx(NaiveExponential(2, epsilon=8).law(films))
    law = PNCF(1, epsilon=4, rs=1.0, w=0.5).law(films)
    best = math.exp(1) / (math.exp(1) + math.exp(0.5))
    assert law[(0,)] == pytest.approx(best)
    assert law[(2,)] == pytest.approx((1 - best) / 3)


def test_without_truncation_it_is_the_naive_mechanism() -> None:
    films = Candidates(np.array([0.9, 0.5, 0.4, 0.2]), np.array([0.2, 0.4, 0.3, 0.6]))
    assert PNCF(2, epsilon=1).law(films) == pytest.approx(NaiveExponential(2, epsilon=1, rs="lemma").law(films))


def test_a_cut_leaves_nobody_below() -> None:
    law = PNCF(2, epsilon=1, beta=2).law(FILMS)
    assert {place for chosen in law for place in chosen} == {0, 1, 2, 3}
    assert PNCF(2, epsilon=1, beta=2).reach(FILMS) == 4
    assert PNCF(2, epsilon=1).reach(FILMS) == 6


def test_a_pool_in_a_long_list() -> None:
    """Threshold 0: 200 negative candidates weigh as much as one of the others."""
    films = Candidates(np.concatenate([np.linspace(0.1, 0.9, 100), np.full(200, -0.5)]), np.ones(300))
    chances = PNCF(10, epsilon=1).inclusion(films)
    assert chances.sum() == pytest.approx(10)
    assert chances[100:].sum() == pytest.approx(10 / 101, rel=0.1)


def test_a_width_is_given_in_one_way() -> None:
    with pytest.raises(UsageError, match="either by w or by beta"):
        PNCF(5, epsilon=1, w=0.1, beta=2)
