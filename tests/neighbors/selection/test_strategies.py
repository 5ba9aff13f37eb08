"""What every strategy keeps: laws that sum to 1, samplers that follow them, many lists as one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from discreet.errors import UsageError
from discreet.neighbors.selection import (
    PNCF,
    PPNS,
    AssuredPPNS,
    CandidateLists,
    Candidates,
    NaiveExponential,
    Nearest,
    Probabilistic,
    SelectionStrategy,
    Uniform,
)

# Epsilons are large, so that a sampler that ignored the weights would be found out.
STRATEGIES = [
    Nearest(3),
    Uniform(3),
    Probabilistic(3),
    Probabilistic(3, beta=2),
    Probabilistic(3, floor=0.3),
    NaiveExponential(3, epsilon=30),
    NaiveExponential(3, epsilon=10, rs="lemma"),
    NaiveExponential(3, epsilon=30, rs="max"),
    PNCF(3, epsilon=10),
    PNCF(3, epsilon=30, rs=1.0, w=0.2),
    PNCF(3, epsilon=30, rs=1.0, w=0.2, c0="each"),
    PNCF(3, epsilon=10, rs="exact", rs_cap=0.5),
    PNCF(3, epsilon=10, beta=2),
    PPNS(3, epsilon=30, beta=2),
    PPNS(3, epsilon=30, beta=2, against="beta-knn", rs=1.0),
    AssuredPPNS(3, accuracy=0.8),
    AssuredPPNS(3, p=0.5),
    AssuredPPNS(3, p=0.4, epsilon=30),
]
# Ties at rank 3, one similarity of 0 and one below.
FILMS = Candidates(
    np.array([0.9, 0.4, 0.7, -0.2, 0.7, 0.0, 0.5, 0.3]), np.array([0.2, 0.6, 0.4, 1.0, 0.3, 0.5, 0.9, 0.2])
)


def named(strategy: SelectionStrategy) -> str:
    return str(strategy)


def sets(chosen: np.ndarray) -> Counter:
    return Counter(tuple(sorted(place for place in row if place >= 0)) for row in chosen.tolist())


@pytest.mark.parametrize("strategy", STRATEGIES, ids=named)
def test_laws_sum_to_one_over_sorted_sets(strategy: SelectionStrategy) -> None:
    law = strategy.law(FILMS)
    assert sum(law.values()) == pytest.approx(1.0, abs=1e-12)
    assert all(p > 0 for p in law.values())
    for chosen in law:
        assert list(chosen) == sorted(set(chosen))
        assert len(chosen) == 3


@pytest.mark.parametrize("strategy", STRATEGIES, ids=named)
def test_the_sampler_follows_the_law(strategy: SelectionStrategy, fixed_bits) -> None:
    law = strategy.law(FILMS)
    runs = 6000
    drawn = sets(strategy.choose_many(CandidateLists.of([FILMS] * runs)))
    assert set(drawn) <= set(law)
    likely = [chosen for chosen, p in law.items() if p * runs >= 5]
    expected = [law[chosen] * runs for chosen in likely]
    observed = [drawn[chosen] for chosen in likely]
    rest = runs - sum(expected)
    if rest > 1:
        expected, observed = [*expected, rest], [*observed, runs - sum(observed)]
    if len(expected) > 1:
        assert chisquare(observed, np.array(expected) * sum(observed) / sum(expected)).pvalue > 1e-3


def test_a_wrong_law_is_found_out(fixed_bits) -> None:
    """Weights a fifth off do not pass the same test."""
    law = NaiveExponential(3, epsilon=36).law(FILMS)
    drawn = sets(NaiveExponential(3, epsilon=30).choose_many(CandidateLists.of([FILMS] * 6000)))
    likely = [chosen for chosen, p in law.items() if p * 6000 >= 5]
    observed, expected = np.array([drawn[c] for c in likely]), np.array([law[c] for c in likely])
    assert chisquare(observed, expected * observed.sum() / expected.sum()).pvalue < 1e-3


@pytest.mark.parametrize("strategy", STRATEGIES, ids=named)
def test_single_draws_are_possible_sets(strategy: SelectionStrategy, fixed_bits) -> None:
    law = strategy.law(FILMS)
    for _ in range(20):
        assert tuple(sorted(strategy.choose(FILMS).tolist())) in law


@pytest.mark.parametrize("strategy", STRATEGIES, ids=named)
@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_short_lists_are_taken_whole(strategy: SelectionStrategy, size: int) -> None:
    short = Candidates(np.array([0.8, 0.5, 0.5][:size]), np.ones(size))
    assert strategy.law(short) == {tuple(range(size)): pytest.approx(1.0)}
    assert sorted(strategy.choose(short).tolist()) == list(range(size))
    assert strategy.inclusion(short) == pytest.approx(np.ones(size))
    assert strategy.inclusion(short, exact=False) == pytest.approx(np.ones(size))
    assert strategy.reach(short) == size


@pytest.mark.parametrize("strategy", STRATEGIES, ids=named)
def test_equals_have_equal_chances(strategy: SelectionStrategy) -> None:
    tied = Candidates(np.full(7, 0.6), np.full(7, 0.5))
    assert strategy.inclusion(tied, exact=True) == pytest.approx(np.full(7, 3 / 7))
    assert strategy.inclusion(tied, exact=False) == pytest.approx(np.full(7, 3 / 7))


@pytest.mark.parametrize("strategy", STRATEGIES, ids=named)
def test_the_approximation_is_close_to_the_law(strategy: SelectionStrategy) -> None:
    exact, approximate = strategy.inclusion(FILMS, exact=True), strategy.inclusion(FILMS, exact=False)
    assert exact.sum() == pytest.approx(3.0)
    assert approximate.sum() == pytest.approx(3.0)
    assert np.abs(exact - approximate).max() < 0.09
    assert np.all((approximate > 0) >= (exact > 0))


@pytest.mark.parametrize("strategy", STRATEGIES, ids=named)
def test_many_lists_of_many_lengths(strategy: SelectionStrategy, fixed_bits) -> None:
    sizes = [5, 0, 12, 3, 1, 12, 7]
    rng = np.random.default_rng(2)
    lists = CandidateLists.of([Candidates(rng.uniform(0.1, 1, n), rng.uniform(0.1, 1, n)) for n in sizes])
    chosen = strategy.choose_many(lists)
    assert chosen.shape == (7, 3)
    for row, size in zip(chosen, sizes, strict=True):
        taken = row[row >= 0].tolist()
        assert len(taken) == min(size, 3)
        assert len(set(taken)) == len(taken)
        assert all(place < size for place in taken)
        assert row.tolist() == taken + [-1] * (3 - len(taken))
    weights = strategy.weights_many(lists, chosen)
    assert np.all(weights[chosen < 0] == 0)
    assert np.all(weights[chosen >= 0] != 0)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=named)
def test_weights_are_similarities_with_the_stated_noise(strategy: SelectionStrategy, fixed_bits) -> None:
    scale = strategy.noise_scale(FILMS)
    draws = np.stack([strategy.weights(FILMS, range(8)) for _ in range(400)])
    assert np.abs(draws - FILMS.similarity).mean(axis=0) == pytest.approx(scale, rel=0.2)


@settings(max_examples=25)
@given(st.lists(st.sampled_from([0.1, 0.2, 0.5, 0.9]), min_size=1, max_size=6), st.integers(1, 3))
def test_laws_of_any_small_list(similarity: list[float], k: int) -> None:
    films = Candidates(np.array(similarity), np.linspace(0.1, 1, len(similarity)))
    strategies = [Nearest(k), Probabilistic(k, beta=1), PNCF(k, epsilon=5), PPNS(k, epsilon=5, beta=2)]
    for strategy in (*strategies, AssuredPPNS(k, accuracy=0.9), AssuredPPNS(k, p=0.3)):
        law = strategy.law(films)
        assert sum(law.values()) == pytest.approx(1.0)
        assert all(len(chosen) == min(k, len(films)) for chosen in law)


def test_long_lists_are_approximated_and_their_law_is_refused() -> None:
    films = Candidates(np.linspace(0.1, 1, 300), np.ones(300))
    for strategy in STRATEGIES:
        assert strategy.inclusion(films).sum() == pytest.approx(3.0)
    with pytest.raises(UsageError, match="shorter list"):
        Uniform(10).law(films)
    with pytest.raises(UsageError, match="shorter list"):
        Uniform(10).inclusion(films, exact=True)


@pytest.mark.parametrize("k", [0, -1, 2.5, True])
def test_k_must_be_a_whole_number(k) -> None:
    with pytest.raises(UsageError, match="whole number"):
        Uniform(k)


def test_sensitivity_is_asked_for_by_name() -> None:
    assert [s.sensitivity_form for s in (Nearest(1), NaiveExponential(1, epsilon=1), PNCF(1, epsilon=1))] == [
        None,
        None,
        "lemma",
    ]
    assert PPNS(1, epsilon=1, beta=1, rs="exact").sensitivity_form == "exact"
    assert PNCF(1, epsilon=1, rs="max").sensitivity_form == "lemma"
    with pytest.raises(UsageError, match="sensitivity of every pair"):
        PNCF(1, epsilon=1).law(Candidates(np.array([0.5, 0.4])))


def test_the_baselines_state_no_guarantee() -> None:
    assert [s.guarantee() for s in (Nearest(1), Uniform(1), Probabilistic(1), AssuredPPNS(1, accuracy=1))] == [None] * 4
