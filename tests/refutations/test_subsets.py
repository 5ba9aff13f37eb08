"""The birth-death chain for top-k sets is not private: not on its list of sets, and not after finite time."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from discreet.privacy.guarantees import Standing
from discreet.subsets import BirthDeathChain, relative_entropy, total_variation
from discreet.subsets.chain import printed_swap, swap
from discreet.testing import max_log_ratio, smallest_delta

Row = tuple[float, ...]


def chain(k: int, size: int, **settings) -> BirthDeathChain:
    """Windows that hold every exchange of one item: the most that the list of the paper can have."""
    return BirthDeathChain(k, epsilon=1, top_rating=5, left=k, right=size - k, **settings)


def law(row: Row, k: int = 2) -> dict[tuple[int, ...], float]:
    return chain(k, len(row)).law(np.array(row))


# The support


def test_one_entry_makes_the_impossible_likely() -> None:
    first, second = law((5, 4, 3, 2)), law((1, 4, 3, 2))
    everything = set(itertools.combinations(range(4), 2))
    assert everything - set(first) == {(2, 3)}
    assert everything - set(second) == {(0, 3)}
    assert second[2, 3] == pytest.approx(0.181, abs=5e-4)
    assert max_log_ratio(first, second) == math.inf


@pytest.mark.parametrize("epsilon", ["1/100", 1, 100])
def test_no_epsilon_helps(epsilon) -> None:
    rows = np.array([(5.0, 4, 3, 2), (1.0, 4, 3, 2)])
    first, second = (BirthDeathChain(2, epsilon=epsilon, left=2, right=2).law(row) for row in rows)
    assert max_log_ratio(first, second) == math.inf
    assert smallest_delta(first, second, 50.0) == pytest.approx(second[2, 3], rel=1e-6)


def test_most_of_the_mass_is_impossible_for_fifty_items() -> None:
    """Ratings from 5 down to 1; the top one falls to 1: 351 of 401 sets could not have come out before."""
    row = np.linspace(5, 1, 50)
    neighbor = row.copy()
    neighbor[0] = 1
    first, second = (chain(10, 50).law(r) for r in (row, neighbor))
    impossible = set(second) - set(first)
    assert (len(second), len(impossible)) == (401, 351)
    assert sum(second[s] for s in impossible) == pytest.approx(0.873, abs=5e-4)
    for allowed in (1.0, 10.0):
        assert smallest_delta(first, second, allowed) >= 0.873 - 5e-4


def test_the_published_windows_are_no_better() -> None:
    """N₁ = 2, N₂ = 3: what leaves the top ten and comes back is another item, and the sets have little in common."""
    row = np.linspace(5, 1, 55)
    neighbor = row.copy()
    neighbor[0] = 1
    first, second = (BirthDeathChain(10).law(r) for r in (row, neighbor))
    assert max_log_ratio(first, second) == math.inf
    assert smallest_delta(first, second, 1.0) > 0.9


# Finite time


@pytest.mark.parametrize(
    ("steps", "loss", "delta"),
    [(5, math.inf, 0.98), (9, 19.6, 0.94), (50, 5.98, 0.52), (200, 1.58, 0.10), (1000, 0.476, 0), (10**6, 0.461, 0)],
)
def test_losses_after_finite_time_on_the_list_of_all_sets(steps: int, loss: float, delta: float) -> None:
    """Even on the list of all sets: n steps from the true top-k reach n sets."""
    everything = BirthDeathChain(2, epsilon=1, left=None, right=None, time_step=1 / 20)
    laws = []
    for row in ((5, 4, 3, 2, 1), (1, 4, 3, 2, 1)):
        states = everything.states(np.array(row, dtype=np.float64))
        laws.append(dict(zip(states.sets(), everything.law_after(states, steps).tolist(), strict=True)))
    assert max_log_ratio(laws[0], laws[1]) == pytest.approx(loss, rel=5e-3)
    assert smallest_delta(laws[0], laws[1], 1.0) == pytest.approx(delta, abs=5e-3)


def test_relative_entropy_is_no_account_of_what_is_missing() -> None:
    """ "ε + Δε from a gap in KL": the gap is infinite while sets are missing, in a list of some thousand for long."""
    row = np.random.default_rng(1).uniform(1, 5, 300)
    published = BirthDeathChain(10)
    states = published.states(row)
    early = published.law_after(states, 400)
    assert relative_entropy(published.limit(states), early) == math.inf
    later = published.law_after(states, 20_000)
    assert total_variation(published.limit(states), later) > 0.5


# The law itself


def test_the_chain_has_twice_the_epsilon_of_equation_28() -> None:
    """φ^ε to the last digits; φ^(ε/2) would be 0.039 away for a single set."""
    everything = BirthDeathChain(2, epsilon=1, left=None, right=None)
    states = everything.states(np.array([5.0, 4, 3, 2, 1]))
    after = everything.law_after(states, 10**6)
    assert np.abs(after - everything.limit(states)).max() < 1e-12
    assert np.abs(after - everything.limit(states, exponent=0.5)).max() == pytest.approx(0.039, abs=5e-4)


def test_the_ideal_law_keeps_epsilon_for_one_entry() -> None:
    """What is right about the claim: over all sets, and in the limit, one entry costs at most ε·range/U_r."""
    everything = BirthDeathChain(2, epsilon=1, left=None, right=None)
    for row in itertools.product((1.0, 3.0, 5.0), repeat=4):
        for entry, value in itertools.product(range(4), (1.0, 5.0)):
            neighbor = np.array(row)
            neighbor[entry] = value
            assert max_log_ratio(everything.law(np.array(row)), everything.law(neighbor)) <= 4 / 5 + 1e-9


# The printed indices


def test_printed_indices_repeat_themselves_and_leave_the_windows() -> None:
    printed = [printed_swap(j, 2, 3) for j in range(1, 19)]
    meant = [swap(j, 2, 3) for j in range(18)]
    assert len(set(printed)) == 12
    assert max(Counter(printed).values()) == 2
    assert max(out for out, _ in printed) == 3  # outside of a window of two
    assert len(set(meant)) == 18
    assert {out for out, _ in meant} == {1, 2}


def test_the_guarantee_is_refuted() -> None:
    guarantee = BirthDeathChain().guarantee()
    assert guarantee.standing is Standing.REFUTED
    assert "test_subsets.py" in guarantee.basis
