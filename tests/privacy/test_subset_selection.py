"""Subsets of k: a sampler whose coins are right at every precision."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.errors import PrivacyError
from discreet.privacy import entropy, subset_selection
from discreet.privacy.numbers import exp_minus

FixBits = Callable[[int], None]


def subset_law(values: list[int], rate: Fraction, k: int) -> dict[tuple[int, ...], float]:
    """Probability of each subset by enumeration, its indices ascending."""
    subsets = list(itertools.combinations(range(len(values)), k))
    totals = np.array([math.fsum(float(rate) * (values[j] - max(values)) for j in subset) for subset in subsets])
    weights = np.exp(totals - totals.max())
    return dict(zip(subsets, (weights / weights.sum()).tolist(), strict=True))


def draw_subset(scores: np.ndarray, rate: Fraction, k: int) -> np.ndarray:
    return subset_selection.draw_subsets(scores[None, :], rate, k)[0]


def coin_law(values: list[int], rate: Fraction, k: int, precision: int = 128) -> dict[tuple[int, ...], float]:
    """The law of the sampler's coins: probabilities read from its table and multiplied along every path."""
    order = sorted(range(len(values)), key=lambda j: -values[j])
    gaps = [max(values) - values[j] for j in order]
    table = subset_selection._Tables(gaps, rate, k)._at(precision)
    law: dict[tuple[int, ...], float] = {}

    def go(place: int, left: int, chosen: tuple[int, ...], probability: float) -> None:
        if left == place:
            chosen, left, place = (*chosen, *range(place)), 0, 0
        if left == 0:
            law[tuple(sorted(order[j] for j in chosen))] = probability
            return
        with_it = 1 - Fraction(table[place - 1][left], table[place][left])
        go(place - 1, left - 1, (*chosen, place - 1), probability * float(with_it))
        go(place - 1, left, chosen, probability * float(1 - with_it))

    go(len(values), k, (), 1.0)
    return law


# The law


@pytest.mark.parametrize(
    "values", [[0], [5, 5], [3, 0, 1], [2, 9, 4, 4], [7, 0, 3, 3, 1], [0, 1, 2, 3, 4, 5], [9, 2, 2, 5, 0, 7, 4]]
)
def test_coins_give_the_enumerated_law(values: list[int]) -> None:
    for k, rate in itertools.product(range(1, len(values) + 1), (Fraction(1, 3), Fraction(7, 2))):
        exact = subset_law(values, rate, k)
        coins = coin_law(values, rate, k)
        assert set(exact) == set(coins)
        assert len(exact) == math.comb(len(values), k)
        for subset, probability in exact.items():
            assert coins[subset] == pytest.approx(probability, rel=1e-12)
        by_hand = {s: math.exp(float(rate) * sum(values[j] for j in s)) for s in exact}
        total = sum(by_hand.values())
        assert all(exact[s] == pytest.approx(by_hand[s] / total, rel=1e-12) for s in exact)


def test_the_sampler_follows_its_law(fixed_bits: FixBits) -> None:
    scores, draws = [4, 0, 2, 2, 7, 1, 3], 12_000
    law = subset_law(scores, Fraction(2, 5), 3)
    rows = subset_selection.draw_subsets(np.tile(scores, (draws, 1)), Fraction(2, 5), 3)
    drawn = Counter(map(tuple, rows.tolist()))
    observed = np.array([drawn[subset] for subset in law])
    assert observed.sum() == draws
    assert chisquare(observed, np.array(list(law.values())) * draws).pvalue > 1e-4
    wrong = np.array(list(subset_law(scores, Fraction(11, 25), 3).values()))
    assert chisquare(observed, wrong * draws).pvalue < 1e-6


def test_k_distinct_candidates_in_the_order_of_the_list(fixed_bits: FixBits) -> None:
    rng = np.random.default_rng(5)
    for _ in range(300):
        size = int(rng.integers(1, 40))
        k = int(rng.integers(1, size + 1))
        scores = rng.integers(-50, 50, size)
        chosen = draw_subset(scores, Fraction(int(rng.integers(1, 50)), 30), k)
        assert chosen.size == k
        assert np.all(np.diff(chosen) > 0)
        assert chosen[0] >= 0
        assert chosen[-1] < size


def test_everybody_is_the_only_whole_list() -> None:
    assert draw_subset(np.array([1, 100, -3, 7]), Fraction(1), 4).tolist() == [0, 1, 2, 3]


# Extremes


def test_weights_far_below_the_smallest_float_keep_their_ratios() -> None:
    """Behind one candidate that is e^10000 times likelier the others are as they would be alone."""
    law = coin_law([10_000, 1, 0, 2], Fraction(1), 2)
    rest = subset_law([1, 0, 2], Fraction(1), 1)
    for j in range(3):
        assert law[0, j + 1] == pytest.approx(rest[j,], rel=1e-12)


def test_no_weight_is_ever_zero() -> None:
    tiny = subset_selection.weights([0, 1, 10**4, 2**63], Fraction(1), 128)
    assert all(2**128 <= a < 2**129 for a, _ in tiny)
    assert [b for _, b in tiny[:3]] == [0, 2, math.ceil(10**4 / math.log(2))]


@pytest.mark.parametrize("rate", [Fraction(1, 10**30), Fraction(3, 7), Fraction(10**12)])
def test_far_gaps_and_any_rate_can_be_drawn(rate: Fraction, fixed_bits: FixBits) -> None:
    scores = np.array([2**62, -(2**63), 2**63 - 1, 0, 2**62 + 1], dtype=np.int64)
    chosen = draw_subset(scores, rate, 2)
    assert chosen.size == 2
    if rate > 10**-18:
        assert chosen.tolist() == [2, 4] if rate > 1 else 2 in chosen


@pytest.mark.parametrize("bits", [24, 128, 320])
@pytest.mark.parametrize("rate", [Fraction(1, 10**9), Fraction(2, 3), Fraction(50)])
def test_weights_are_lower_bounds_of_the_stated_width(rate: Fraction, bits: int) -> None:
    gaps = [0, 1, 2, 3, 7, 100, 1023]
    for gap, (a, b) in zip(gaps, subset_selection.weights(gaps, rate, bits), strict=True):
        computed = Fraction(a, 2 ** (bits + b))
        low, high = (Fraction(1), Fraction(1)) if gap == 0 else exp_minus(rate * gap, 120)
        assert computed <= high
        assert low <= computed * (1 + Fraction(2, 2**bits))


@pytest.mark.parametrize("bits", [20, 40])
def test_table_entries_are_lower_bounds_of_the_stated_width(bits: int) -> None:
    """Against a table with 200 binary digits more, for scores with ties, steps and gulfs."""
    gaps, k = [0, 0, 1, 2, 2, 30, 31, 400, 401], 4
    coarse, fine = (
        subset_selection.symmetric_polynomials(subset_selection.weights(gaps, Fraction(1, 3), b), k, b)
        for b in (bits, bits + 200)
    )
    scales = [sum(b for _, b in subset_selection.weights(gaps, Fraction(1, 3), bits)[:q]) for q in range(k + 1)]
    again = [sum(b for _, b in subset_selection.weights(gaps, Fraction(1, 3), bits + 200)[:q]) for q in range(k + 1)]
    assert scales == again
    allowed = 1 + Fraction(2 * (2 * k + len(gaps)), 2**bits)
    for m, q in itertools.product(range(len(gaps) + 1), range(k + 1)):
        if q <= m:
            low, true = Fraction(coarse[m][q], 2**bits), Fraction(fine[m][q], 2 ** (bits + 200))
            assert 1 <= low <= true * (1 + Fraction(1, 2**100)) <= low * allowed


# Lazily drawn bits


@pytest.mark.parametrize(("word", "following", "included"), [(2**63, 5, False), (2**63 - 1, 2**64 - 5, True)])
def test_a_coin_on_the_edge_takes_more_bits(
    word: int, following: int, included: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two equals is in with probability 1/2, and 64 bits that say just above or just below do not say enough."""
    asked: list[int] = []

    def words(n: int) -> np.ndarray:
        asked.append(n)
        return np.full(n, following, dtype=np.uint64)

    monkeypatch.setattr(entropy, "random_words", words)
    coins = subset_selection._Tables([0, 0], Fraction(1), 1)
    assert coins.includes(2, 1, 2**62) is True
    assert coins.includes(2, 1, 2**63 + 2**62) is False
    assert asked == []
    assert coins.includes(2, 1, word) is included
    assert asked == [1]


def test_precision_that_does_not_suffice_changes_nothing(monkeypatch: pytest.MonkeyPatch, fixed_bits: FixBits) -> None:
    """With words of 3 bits nearly every coin is open at first; the law is the same."""
    monkeypatch.setattr(entropy, "WORD", 3)
    monkeypatch.setattr(entropy, "MOST_WORDS", 200)
    whole = entropy.random_words
    monkeypatch.setattr(entropy, "random_words", lambda n: whole(n) >> np.uint64(61))
    scores, draws = [3, 0, 1, 3], 4_000
    law = subset_law(scores, Fraction(1, 2), 2)
    rows = subset_selection.draw_subsets(np.tile(scores, (draws, 1)), Fraction(1, 2), 2)
    drawn = Counter(map(tuple, rows.tolist()))
    assert chisquare([drawn[subset] for subset in law], np.array(list(law.values())) * draws).pvalue > 1e-4


def test_a_broken_entropy_source_chooses_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def words(n: int) -> np.ndarray:
        return np.full(n, 2**63 if n > 1 else 0, dtype=np.uint64)

    monkeypatch.setattr(entropy, "random_words", words)
    with pytest.raises(PrivacyError, match="entropy"):
        draw_subset(np.zeros(2, dtype=np.int64), Fraction(1), 1)


def test_the_better_ones_of_a_large_list_are_likelier(fixed_bits: FixBits) -> None:
    """With weights from 1 to e^11 the mean of the chosen is far above 1/2."""
    scores = np.random.default_rng(1).integers(0, 2**20, 6040)
    assert scores[draw_subset(scores, Fraction(11, 2**20), 50)].mean() > 0.85 * 2**20


# Floating point first


def exact_sets(scores: np.ndarray, words: np.ndarray, rate: Fraction, k: int) -> np.ndarray:
    """The sets that whole numbers give to the same random words."""
    order = np.argsort(~scores, axis=1, kind="stable")
    falling = np.take_along_axis(scores, order, axis=1)
    rows = [
        order[user][subset_selection._exact_places(falling[user], words[user].tolist(), rate, k)]
        for user in range(len(scores))
    ]
    return np.sort(np.array(rows), axis=1)


@pytest.mark.parametrize(
    ("spread", "rate", "k"),
    [(5, Fraction(1, 3), 4), (2**20, Fraction(9, 2**20), 12), (2**62, Fraction(1, 2**58), 3), (40, Fraction(50), 39)],
)
def test_floats_and_whole_numbers_give_the_same_sets(
    spread: int, rate: Fraction, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Same random words, same sets: not in law, but each of them."""
    rng = np.random.default_rng(3)
    scores = rng.integers(-spread, spread, (40, 60))
    words = rng.integers(0, 2**64, scores.shape, dtype=np.uint64)
    monkeypatch.setattr(entropy, "random_words", lambda n: words.ravel()[:n])
    monkeypatch.setattr(subset_selection, "_exact_places", None)  # no coin is open in these draws
    drawn = subset_selection.draw_subsets(scores, rate, k)
    monkeypatch.undo()
    assert np.array_equal(drawn, exact_sets(scores, words, rate, k))


@pytest.mark.parametrize(("size", "k", "rate"), [(400, 8, "1/50"), (60, 30, "3"), (200, 3, "100")])
def test_float_probabilities_are_within_the_margin(size: int, k: int, rate: str) -> None:
    """Against whole numbers of 256 bits; the margin is passed by nobody and not a million times too wide."""
    from discreet.privacy.kernels import _fill

    rng = np.random.default_rng(8)
    scores = np.sort(rng.integers(0, 900, size))[::-1].astype(np.int64)
    table = np.empty((size + 1, k + 1))
    _fill(scores.view(np.uint64), float(Fraction(rate)), k, table)
    exact = subset_selection._Tables([int(scores[0] - s) for s in scores], Fraction(rate), k)._at(256)
    margin, worst = 4 * (size * 2.0**-52 + k * 2.0**-40), 0.0
    for place in range(2, size + 1, 3):
        for left in range(1, min(k, place - 1) + 1):
            chance = 1 - Fraction(exact[place - 1][left], exact[place][left])
            ratio = math.exp(-float(Fraction(rate)) * float(scores[left - 1] - scores[place - 1]))
            computed = ratio * table[place - 1, left - 1] / table[place, left]
            error = abs(Fraction(computed) - chance)
            assert error <= Fraction(3, 4) * Fraction(margin) * Fraction(computed) + Fraction(1, 2**170)
            worst = max(worst, float(error / chance) if chance > Fraction(1, 2**200) else 0.0)
    assert worst > margin * 1e-6


def test_a_row_with_an_open_coin_is_drawn_in_whole_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two equals the second is in with probability 1/2: words next to 2^63 are within the margin, others are not."""
    asked: list[int] = []
    whole = subset_selection._exact_places
    monkeypatch.setattr(subset_selection, "_exact_places", lambda *a: (asked.append(1), whole(*a))[1])
    scores = np.zeros((4, 2), dtype=np.int64)
    near = [2**63 + 2**10, 2**63 - 2**10, 2**62, 2**63 + 2**62]
    words = np.array([[0, word] for word in near], dtype=np.uint64)
    monkeypatch.setattr(entropy, "random_words", lambda n: words.ravel()[:n])
    assert subset_selection.draw_subsets(scores, Fraction(1), 1).ravel().tolist() == [0, 1, 1, 0]
    assert len(asked) == 2


def test_sets_beyond_the_range_of_floats_are_drawn_in_whole_numbers(
    monkeypatch: pytest.MonkeyPatch, fixed_bits: FixBits
) -> None:
    """C(3000, 300) is about 2^1400."""
    asked: list[int] = []
    monkeypatch.setattr(subset_selection, "_exact_places", lambda f, w, rate, k: (asked.append(k), list(range(k)))[1])
    assert subset_selection.draw_subsets(np.zeros((1, 3_000), dtype=np.int64), Fraction(1), 300).shape == (1, 300)
    assert asked == [300]


def test_rows_are_drawn_independently_and_in_parts(monkeypatch: pytest.MonkeyPatch, fixed_bits: FixBits) -> None:
    monkeypatch.setattr(subset_selection, "CELLS_AT_ONCE", 700)
    scores, draws = np.array([4, 0, 2, 2, 7, 1, 3]), 12_000
    law = subset_law(scores.tolist(), Fraction(2, 5), 3)
    rows = subset_selection.draw_subsets(np.tile(scores, (draws, 1)), Fraction(2, 5), 3)
    drawn = Counter(map(tuple, rows.tolist()))
    assert chisquare([drawn[s] for s in law], np.array(list(law.values())) * draws).pvalue > 1e-4
    pairs = Counter((a[0] == 0, b[0] == 0) for a, b in itertools.pairwise(rows.tolist()))
    share = sum(p for s, p in law.items() if s[0] == 0)
    assert pairs[True, True] / draws == pytest.approx(share**2, abs=0.02)
