"""Gram releases: the stated length holds for every tiny history, and the noise is the one that it asks for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from discreet.data import Interactions
from discreet.models.item_gram import item_gram
from discreet.models.item_statistics import ItemStatistics, item_statistics_sums
from discreet.privacy import draws
from discreet.privacy.gram import BoundedGram
from discreet.privacy.mechanisms import GaussianMechanism
from discreet.privacy.units import Unit

ITEMS = list("abc")


def histories() -> list[dict[str, int]]:
    """Every history over three items with ratings at the ends or the middle of the scale."""
    return [
        dict(zip(chosen, ratings, strict=True))
        for size in (1, 2, 3)
        for chosen in itertools.combinations(ITEMS, size)
        for ratings in itertools.product((1, 3, 5), repeat=size)
    ]


def dataset(*people: dict[str, int]) -> Interactions:
    rows = [(f"u{n}", item, rating) for n, person in enumerate(people) for item, rating in person.items()]
    return Interactions(rows, items=ITEMS, scale="1:5")


def first_of(data: Interactions) -> Iterator[ItemStatistics]:
    """What the first release would tell if there were no noise, and something far from it."""
    sums = item_statistics_sums(data, unit=Unit("user"), norm=2)
    for shift in (0.0, 3.0, -3.0):
        noisy = sums.values.astype(np.float64) * float(sums.step) + shift
        yield ItemStatistics.read(noisy, unit=Unit("user"), ends=(1.0, 5.0), noise=0.5)


def gram_of(data: Interactions, first: ItemStatistics) -> BoundedGram:
    return item_gram(data, first, np.arange(3, dtype=np.int32), unit=Unit("user"), norm=2)


def test_one_history_keeps_within_the_bounds_of_both_releases() -> None:
    longest_first, longest_gram = 0.0, 0.0
    for history in histories():
        data = dataset(history)
        sums = item_statistics_sums(data, unit=Unit("user"), norm=2)
        squared = sum(int(x) ** 2 for x in sums.values)
        assert squared <= sums.l2_squared
        longest_first = max(longest_first, squared / float(sums.l2_squared))
        for first in first_of(data):
            bounded = gram_of(data, first)
            length = sum(
                2 * (np.triu(m, 1).astype(object) ** 2).sum() + (m.diagonal().astype(object) ** 2).sum()
                for m in bounded.matrices
            )
            assert length <= bounded.frobenius_squared
            longest_gram = max(longest_gram, float(length) / float(bounded.frobenius_squared))
    assert longest_first > 0.95
    assert longest_gram > 0.5


def test_co_counts_attain_their_half_of_the_bound() -> None:
    data = dataset(dict.fromkeys(ITEMS, 3))
    bounded = gram_of(data, next(first_of(data)))
    counts = bounded.matrices[1]
    length = 2 * int((np.triu(counts, 1) ** 2).sum()) + int((counts.diagonal() ** 2).sum())
    assert length > 0.999 * float(bounded.frobenius_squared) / 2


def test_a_user_more_adds_that_users_matrix_and_nothing_else() -> None:
    """Given what was released first, contributions are per user: sums of everybody's own matrices."""
    people = [{"a": 5, "b": 1}, {"b": 3, "c": 5}, {"a": 1, "b": 5, "c": 3}]
    first = next(first_of(dataset(*people)))
    together = gram_of(dataset(*people), first).matrices
    alone = [gram_of(dataset(person), first).matrices for person in people]
    for which in range(2):
        np.testing.assert_array_equal(together[which], sum(m[which] for m in alone))


def gaussian_divergence(shift: int, variance: float, order: float) -> float:
    """Rényi divergence of two discrete Gaussians, enumerated."""
    reach = np.arange(
        -math.ceil(14 * math.sqrt(variance)) - abs(shift), math.ceil(14 * math.sqrt(variance)) + abs(shift) + 1
    )
    p = -(reach.astype(float) ** 2) / (2 * variance)
    q = -((reach - shift).astype(float) ** 2) / (2 * variance)
    p, q = p - np.log(np.exp(p).sum()), q - np.log(np.exp(q).sum())
    return float(np.log(np.exp(order * p + (1 - order) * q).sum()) / (order - 1))


@pytest.mark.parametrize("order", [1.5, 2.0, 8.0])
@pytest.mark.parametrize(("factor", "holds"), [(Fraction(1), True), (Fraction(81, 100), False)])
def test_symmetric_noise_keeps_rho_and_a_tenth_less_does_not(order: float, factor: Fraction, holds: bool) -> None:
    """All symmetric 2 × 2 contributions of squared length 4: the exact divergence is at most αρ, and attains it."""
    rho = Fraction(1, 8)
    worst = 0.0
    mechanism = GaussianMechanism(rho)
    for a, b, c in itertools.product(range(-2, 3), repeat=3):
        if a * a + c * c + 2 * b * b > 4:
            continue
        gram = BoundedGram((np.zeros((2, 2), dtype=np.int64),), Fraction(1), Fraction(4), Unit(), ())
        v = float(mechanism.parameter(gram, off_diagonal=True) * factor)
        on = float(mechanism.parameter(gram) * factor)
        spent = [gaussian_divergence(b, v, order), *(gaussian_divergence(x, on, order) for x in (a, c))]
        worst = max(worst, sum(spent))
    assert (worst <= float(rho) * order + 1e-9) == holds
    assert worst >= 0.99 * float(rho) * order


def test_the_release_draws_the_stated_variances_over_the_whole_triangle(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, Fraction]] = []

    def draw(n: int, variance: Fraction) -> np.ndarray:
        asked.append((n, variance))
        return np.zeros(n, dtype=np.int64)

    monkeypatch.setitem(draws.SAMPLERS, "gaussian", draw)
    matrix = np.triu(np.arange(16, dtype=np.int64).reshape(4, 4))
    gram = BoundedGram((matrix,), Fraction(1, 4), Fraction(8), Unit(), ())
    (noisy,) = GaussianMechanism(Fraction(1, 2)).release(gram)
    assert asked == [((6,), Fraction(4)), ((4,), Fraction(8))]
    np.testing.assert_array_equal(noisy, (matrix + np.triu(matrix, 1).T) / 4)


def test_replacement_asks_for_four_times_the_variance() -> None:
    matrix = np.zeros((2, 2), dtype=np.int64)
    mechanism = GaussianMechanism(Fraction(1))
    here = mechanism.parameter(BoundedGram((matrix,), Fraction(1), Fraction(4), Unit(), ()))
    there = mechanism.parameter(BoundedGram((matrix,), Fraction(1), Fraction(4), Unit("user", "replace"), ()))
    assert there == 4 * here
