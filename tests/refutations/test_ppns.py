"""PPNS is not differentially private for any epsilon, and its beta is no cost to an attacker."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.neighbors.selection import PPNS, Candidates
from discreet.privacy.guarantees import Standing
from discreet.testing import max_log_ratio, smallest_delta


def swapped(k: int, partitions: int) -> tuple[Candidates, Candidates]:
    """Two lists of nearly equal similarities in which ranks k and k + 1 change places."""
    similarity = np.linspace(0.5, 0.4999, k * partitions)
    after = similarity.copy()
    after[[k - 1, k]] = similarity[[k, k - 1]]
    rs = np.ones(similarity.size)
    return Candidates(similarity, rs), Candidates(after, rs)


@pytest.fixture
def one_star(dataset) -> tuple[Candidates, Candidates]:
    """The target rated two items (5, 4); candidate 3 changes one of its ratings from 3 to 2."""
    others = [[(5, 1), (4, 1)], [(5, 1), (4, 2)], [(5, 1), (4, 3)]]
    return dataset(*others, [(5, 3), (4, 5)]), dataset(*others, [(5, 2), (4, 5)])


def test_one_star_of_one_rating_makes_the_impossible_likely(one_star) -> None:
    before, after = one_star
    assert before.similarity == pytest.approx([0.9939, 0.9080, 0.8396, 0.9374], abs=5e-5)
    assert after.similarity[3] == pytest.approx(0.8700, abs=5e-5)
    strategy = PPNS(2, epsilon=1, beta=2, rs=1.0)
    first, second = strategy.law(before), strategy.law(after)
    # Partitions {0, 3}, {1, 2} and {0, 1}, {3, 2}.
    assert set(first) == {(0, 1), (0, 2), (1, 3), (2, 3)}
    assert set(second) == {(0, 3), (0, 2), (1, 3), (1, 2)}
    assert second[(0, 3)] == pytest.approx(0.252, abs=5e-4)


@pytest.mark.parametrize("rs", [1.0, "lemma", "max"])
@pytest.mark.parametrize("epsilon", [0.01, 1, 100])
def test_neither_epsilon_nor_the_sensitivity_helps(one_star, epsilon: float, rs) -> None:
    before, after = one_star
    strategy = PPNS(2, epsilon=epsilon, beta=2, rs=rs)
    assert max_log_ratio(strategy.law(before), strategy.law(after)) == math.inf


@pytest.mark.parametrize("allowed", [0.01, 1, 100])
def test_half_of_the_mass_is_impossible_in_the_other_dataset(one_star, allowed: float) -> None:
    before, after = one_star
    for rs in (1.0, "lemma"):
        strategy = PPNS(2, epsilon=1, beta=2, rs=rs)
        delta = smallest_delta(strategy.law(before), strategy.law(after), allowed)
        assert delta == pytest.approx(0.50, abs=0.01)


@pytest.mark.parametrize("k", [2, 3, 10, 50])
def test_the_general_delta(k: int) -> None:
    """(1 − 1/k)² + 1/k²: 0.82 for k = 10, 0.96 for k = 50."""
    before, after = swapped(k, 2)
    strategy = PPNS(k, epsilon=1, beta=2)
    delta = smallest_delta(strategy.law(before), strategy.law(after), 1.0)
    assert delta == pytest.approx((1 - 1 / k) ** 2 + 1 / k**2, abs=1e-3)


def test_the_audits_event() -> None:
    """k = 10: the old number 11 together with another one of partition 2, 0.81 against 0."""
    before, after = swapped(10, 2)
    strategy = PPNS(10, epsilon=1, beta=2)

    def event(chosen: tuple[int, ...]) -> bool:
        return 10 in chosen and any(place > 10 for place in chosen)

    chances = [sum(p for chosen, p in strategy.law(c).items() if event(chosen)) for c in (before, after)]
    assert chances[0] == 0
    assert chances[1] == pytest.approx(0.81, abs=1e-3)


@pytest.mark.parametrize("beta", [3, 4])
def test_a_partition_further_down_gives_it_away_at_once(beta: int) -> None:
    """Partition 2 is never drawn from: whether number k + 1 is among the neighbors decides."""
    before, after = swapped(3, beta)
    strategy = PPNS(3, epsilon=1, beta=beta)
    assert smallest_delta(strategy.law(before), strategy.law(after), 1.0) == pytest.approx(0.666, abs=1e-3)


def test_the_scheme_against_more_sybils_is_the_same() -> None:
    """Equation 5.11 goes one partition further down, which changes nothing."""
    before, after = swapped(3, 3)
    strategy = PPNS(3, epsilon=1, beta=2, against="beta-knn")
    assert max_log_ratio(strategy.law(before), strategy.law(after)) == math.inf
    assert smallest_delta(strategy.law(before), strategy.law(after), 1.0) == pytest.approx(0.666, abs=1e-3)


@pytest.mark.parametrize("beta", [2, 4, 8])
@pytest.mark.parametrize("against", ["knn", "beta-knn"])
def test_beta_is_no_cost_to_an_attacker(beta: int, against) -> None:
    """The target before k − 1 sybils, one star off: it stays among the neighbors with probability (k − 1)/k or more."""
    k = 10
    honest = np.linspace(0.9, 0.2, 10 * k)
    similarity = np.concatenate([[1.0], np.full(k - 1, 0.99), honest])
    strategy = PPNS(k, epsilon=1, beta=beta, against=against)
    target = strategy.inclusion(Candidates(similarity, np.ones(similarity.size)), exact=True)[0]
    assert target >= (k - 1) / k


def test_beta_1_is_plain_knn() -> None:
    films = Candidates(np.array([0.2, 0.9, 0.5, 0.8]), np.ones(4))
    assert PPNS(2, epsilon=1, beta=1).law(films) == {(1, 3): 1.0}


def test_the_guarantee_is_refuted() -> None:
    guarantee = PPNS(10, epsilon=1, beta=4).guarantee()
    assert guarantee.standing is Standing.REFUTED
    assert "test_ppns.py" in guarantee.basis
