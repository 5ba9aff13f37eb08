"""The published chain: its list of sets, its laws, its runs."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.errors import PrivacyError, UsageError
from discreet.privacy.guarantees import Standing
from discreet.subsets import (
    BirthDeathChain,
    inclusion_probabilities,
    relative_entropy,
    total_variation,
)
from discreet.subsets import chain as chains
from discreet.subsets.chain import all_states, swap, window_states

ROW = np.array([2.0, 5.0, 3.5, 1.0, 4.0, 3.0])


def matrix(chain: BirthDeathChain, states) -> np.ndarray:
    up, down = chain.moves(states)
    return np.diag(1 - up - down) + np.diag(up[:-1], 1) + np.diag(down[1:], -1)


# The list of sets


def test_windows_as_the_text_has_them() -> None:
    """Two of the best can be left out, three come in; then the three after these."""
    assert [swap(j, 2, 3) for j in range(9)] == [
        (1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (1, 4), (1, 5), (1, 6),
    ]  # fmt: skip


def test_sets_of_the_windows() -> None:
    states = window_states(ROW, 2, 2, 2)
    # Best first: 1, 4 | 2, 5 | 0, 3.
    assert list(states.sets()) == [(1, 4), (1, 2), (1, 5), (2, 4), (4, 5), (0, 1), (1, 3), (0, 4), (3, 4)]
    assert states.totals.tolist() == [ROW[list(s)].sum() for s in states.sets()]
    assert len(window_states(ROW, 2, 2, 3)) == 1 + 2 * 3
    assert len(window_states(ROW, 5, 2, 3)) == 1


@pytest.mark.parametrize(("left", "right"), [(1, 1), (2, 3), (4, 9), (3, 1)])
def test_windows_hold_every_exchange_once(left: int, right: int) -> None:
    row = np.random.default_rng(1).random(40)
    states = window_states(row, 4, left, right)
    best = set(np.argsort(-row)[:4].tolist())
    assert len(states) == 1 + 36 // right * right * left
    assert len(set(states.sets())) == len(states)
    assert all(len(best & set(s)) == 3 for s in list(states.sets())[1:])


def test_all_sets_best_first() -> None:
    states = all_states(ROW, 3)
    assert len(set(states.sets())) == math.comb(6, 3)
    assert np.all(np.diff(states.totals) <= 0)
    with pytest.raises(UsageError, match="too many"):
        all_states(np.zeros(200), 10)


# Laws


@pytest.mark.parametrize("windows", [(2, 2), (None, None)])
@pytest.mark.parametrize("epsilon", ["1/2", 3])
def test_the_chain_tends_to_phi_to_the_epsilon(windows, epsilon) -> None:
    """Equation 32, not 28: the closed form is where the matrix leaves the law as it is."""
    chain = BirthDeathChain(2, epsilon=epsilon, left=windows[0], right=windows[1])
    states = chain.states(ROW)
    limit = chain.limit(states)
    assert limit @ matrix(chain, states) == pytest.approx(limit, abs=1e-15)
    weights = np.exp(float(Fraction(epsilon)) / 5 * states.totals)
    assert limit == pytest.approx(weights / weights.sum(), abs=1e-15)
    half = chain.limit(states, exponent=0.5)
    assert total_variation(limit, half) > 0.02


@pytest.mark.parametrize("steps", [0, 1, 3, 40, 1000])
def test_laws_after_some_steps(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Step by step, by powers of the matrix, and from the spectrum."""
    chain = BirthDeathChain(2, epsilon=2, left=2, right=2)
    states = chain.states(ROW)
    powers = np.linalg.matrix_power(matrix(chain, states), steps)[0]
    law = chain.law_after(states, steps)
    assert law == pytest.approx(powers, abs=1e-13)
    assert np.count_nonzero(law) == min(steps + 1, len(states))
    monkeypatch.setattr(chains, "DIRECT_WORK", -1)
    assert chain.law_after(states, steps) == pytest.approx(powers, abs=1e-12)


def test_runs_follow_the_law(fixed_bits) -> None:
    chain = BirthDeathChain(2, epsilon=2, left=2, right=2, steps=30)
    states = chain.states(ROW)
    index = {s: i for i, s in enumerate(states.sets())}
    ends = np.zeros(len(states))
    for _ in range(3_000):
        ends[index[tuple(chain.choose(ROW, allow_refuted=True).tolist())]] += 1
    law = chain.law_after(states, 30)
    often = law * 3_000 >= 5
    observed, expected = np.append(ends[often], ends[~often].sum()), np.append(law[often], law[~often].sum())
    assert chisquare(observed[expected > 0], expected[expected > 0] / expected.sum() * 3_000).pvalue > 1e-4


def test_a_long_run_is_where_the_limit_says() -> None:
    chain = BirthDeathChain(2, epsilon=2, left=2, right=2)
    states = chain.states(ROW)
    visits = chain.occupation(states, steps=1_500_000, source=np.random.default_rng(1).random)
    assert visits.sum() == 1_500_000
    assert total_variation(visits / visits.sum(), chain.limit(states)) < 0.02


def test_a_tiny_time_step_never_leaves_the_first_set() -> None:
    """10⁻⁸ at 100,000 steps: a thousandth of a move."""
    chain = BirthDeathChain(2, epsilon=100, left=2, right=2, time_step=1e-8)
    states = chain.states(ROW)
    assert chain.law_after(states, 100_000)[0] > 0.998
    assert chain.occupation(states, source=np.random.default_rng(1).random)[0] == 100_000


def test_a_time_step_that_is_too_long() -> None:
    with pytest.raises(UsageError, match="time_step"):
        BirthDeathChain(2, epsilon=100, left=2, right=2).moves(window_states(ROW, 2, 2, 2))


def test_runs_can_go_on_beyond_equation_36() -> None:
    """Where leaving is more than certain, the chain leaves at once: here between the two best sets and back."""
    row = np.array([5.0, 5.0, 4.0, 1.0])
    chain = BirthDeathChain(2, epsilon=2_000, left=2, right=1, strict=False)
    visits = chain.occupation(chain.states(row), steps=10_000, source=np.random.default_rng(1).random)
    assert visits[0] > 9_990
    mild = BirthDeathChain(2, epsilon=2, left=2, right=2, strict=False)
    states = mild.states(ROW)
    for ours, theirs in zip(mild._run_moves(states), mild.moves(states), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-12)


def test_it_is_refuted_and_says_so() -> None:
    chain = BirthDeathChain(2, left=2, right=2)
    assert chain.guarantee().standing is Standing.REFUTED
    assert "test_subsets.py" in chain.guarantee().basis
    with pytest.raises(PrivacyError, match="refuted"):
        chain.choose(ROW)


def laws_of(**settings: Any) -> np.ndarray:
    chain = BirthDeathChain(**{"k": 2, "left": 2, "right": 2, **settings})
    return chain.law_after(chain.states(ROW), 3)


def test_wrong_settings() -> None:
    for wrong in ({"k": 0}, {"k": 9}, {"left": 3}, {"right": 0}, {"epsilon": 0}, {"top_rating": 0}, {"time_step": 0}):
        with pytest.raises(UsageError):
            laws_of(**wrong)
    with pytest.raises(UsageError, match="every item"):
        BirthDeathChain(2).states(np.array([1.0, np.nan, 2.0]))
    with pytest.raises(UsageError, match="at least 0, got -1"):
        BirthDeathChain(2, left=1, right=1).law_after(window_states(ROW, 2, 1, 1), -1)


# Measures


def test_entropies() -> None:
    exact, other = np.array([0.5, 0.25, 0.25, 0.0]), np.array([0.25, 0.25, 0.25, 0.25])
    assert relative_entropy(exact, other) == pytest.approx(0.5 * math.log(2))
    assert relative_entropy(other, exact) == math.inf
    assert total_variation(exact, other) == 0.25


@pytest.mark.parametrize("k", [1, 2, 5, 6])
def test_inclusion_by_enumeration(k: int) -> None:
    rows = np.random.default_rng(2).normal(0, 2, (3, 6))
    found = inclusion_probabilities(rows, k)
    sets = list(itertools.combinations(range(6), k))
    for row, chances in zip(rows, found, strict=True):
        weights = np.array([math.exp(row[list(s)].sum()) for s in sets])
        by_hand = [sum(w for s, w in zip(sets, weights, strict=True) if j in s) / weights.sum() for j in range(6)]
        assert chances == pytest.approx(by_hand, rel=1e-9)


def test_inclusion_with_far_exponents() -> None:
    found = inclusion_probabilities(np.array([[0.0, 5_000.0, -5_000.0, 4_000.0]]), 2)[0]
    assert found == pytest.approx([0, 1, 0, 1], abs=1e-12)
    with pytest.raises(UsageError):
        inclusion_probabilities(np.zeros((1, 3)), 4)
