"""Sensitivities of one pair: against brute force, at the edges, and as smooth bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.neighbors.sensitivity import (
    exact_sensitivity,
    lemma_sensitivity,
    pair_cosine,
    published_smooth_bound,
    smooth_bound,
)

stars = st.integers(1, 5)
ratings = st.lists(st.tuples(stars, stars), min_size=2, max_size=12)


def without(pairs: list[tuple[int, int]], place: int) -> list[tuple[int, int]]:
    return pairs[:place] + pairs[place + 1 :]


def columns(pairs) -> tuple[list[float], list[float]]:
    return [a for a, _ in pairs], [b for _, b in pairs]


@given(ratings)
def test_exact_is_the_largest_change_when_one_leaves(pairs) -> None:
    here = pair_cosine(*columns(pairs))
    changes = [abs(here - pair_cosine(*columns(without(pairs, x)))) for x in range(len(pairs))]
    assert exact_sensitivity(*columns(pairs)) == pytest.approx(max(changes), abs=1e-12)


@given(ratings)
def test_the_terms_of_the_proof_bound_the_change(pairs) -> None:
    first, second = columns(pairs)
    assert exact_sensitivity(first, second) <= lemma_sensitivity(first, second) + 1e-12
    assert lemma_sensitivity(first, second, form="printed") <= lemma_sensitivity(first, second) + 1e-12


@given(ratings)
def test_the_printed_second_term_is_never_the_larger_one(pairs) -> None:
    first, second = (np.array(column, dtype=float) for column in columns(pairs))
    rest = [
        np.delete(first, x) @ np.delete(first, x) * (np.delete(second, x) @ np.delete(second, x))
        for x in range(first.size)
    ]
    largest = (first * second / np.sqrt(rest)).max()
    assert lemma_sensitivity(first, second, form="printed") == pytest.approx(largest)


@pytest.mark.parametrize("sensitivity", [lemma_sensitivity, exact_sensitivity])
def test_one_co_rater_and_none(sensitivity) -> None:
    assert sensitivity([3], [5]) == 1.0
    assert sensitivity([-0.5], [0.0]) == 1.0
    assert sensitivity([], []) == 0.0


def test_pearson_deviations_of_either_sign() -> None:
    """Nothing but zeros is left without the one who differs from the mean: the lemma's 1, the true |s|."""
    first, second = [0.0, 2.0], [0.0, -1.0]
    assert pair_cosine(first, second) == -1.0
    assert lemma_sensitivity(first, second) == 1.0
    assert exact_sensitivity(first, second) == 1.0
    assert lemma_sensitivity([0.0, 0.0], [1.0, 2.0]) == 1.0
    assert exact_sensitivity([0.0, 0.0], [1.0, 2.0]) == 0.0


def test_two_co_raters_can_go_far_beyond_the_range() -> None:
    assert lemma_sensitivity([5, 1], [5, 1]) == 25.0


@given(ratings, st.tuples(stars, stars), st.floats(0.05, 2.0))
def test_the_smooth_bound_is_smooth_and_a_bound(pairs, newcomer, beta: float) -> None:
    here = smooth_bound(*columns(pairs), beta=beta, highest=5)
    there = smooth_bound(*columns([*pairs, newcomer]), beta=beta, highest=5)
    assert abs(math.log(here / there)) <= beta + 1e-9
    moved = abs(pair_cosine(*columns(pairs)) - pair_cosine(*columns([*pairs, newcomer])))
    assert max(exact_sensitivity(*columns(pairs)), moved) <= here + 1e-12


def test_the_published_bound_is_below_what_it_bounds() -> None:
    assert published_smooth_bound(0.4, beta=0.5) == pytest.approx(0.4 * math.exp(-0.5))


@pytest.mark.parametrize(("first", "second"), [([1, 2], [1]), ([[1]], [[1]]), ([math.nan], [1])])
def test_what_is_not_a_pair_is_refused(first, second) -> None:
    with pytest.raises(UsageError, match="not a pair"):
        lemma_sensitivity(first, second)


@pytest.mark.parametrize("options", [{"beta": 0, "highest": 5}, {"beta": 1, "highest": 1}, {"beta": 1, "highest": 0}])
def test_a_smooth_bound_needs_its_caps(options) -> None:
    with pytest.raises(UsageError, match="smooth bound"):
        smooth_bound([2, 3], [2, 3], **options)
