"""PNCF is not differentially private: every error with its counterexample, from the exact laws of the strategies.

The target is an item i; candidates are items; a dataset lists, for each candidate, the co-ratings (r_i, r_candidate).
Claimed at epsilon 1: 0.5 for the choice and 0.5 for the weights.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import PrivacyError
from discreet.neighbors.selection import PNCF, Candidates, NaiveExponential, Uniform
from discreet.neighbors.sensitivity import (
    exact_sensitivity,
    lemma_sensitivity,
    pair_cosine,
    published_smooth_bound,
    smooth_bound,
)
from discreet.privacy.charging import require_allowed
from discreet.privacy.guarantees import Standing
from discreet.testing import max_log_ratio, smallest_delta

CLAIMED = 0.5
OPTIONS = [{"c0": "single"}, {"c0": "each"}, {"w": 0.0}, {"w": 1.0}]


# Error 1: RS depends on the records.


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_one_user_more_makes_the_impossible_likely(dataset, options) -> None:
    """All similarities are 1 in both datasets, so that truncation does nothing whatever its width."""
    before = dataset([(1, 1)] * 100, [(3, 3)])
    after = dataset([(1, 1)] * 100 + [(5, 5)], [(3, 3)])
    strategy = PNCF(1, epsilon=1, **options)
    first, second = strategy.law(before), strategy.law(after)
    assert first[(1,)] == pytest.approx(2.29e-11, rel=1e-2)
    assert second[(1,)] == pytest.approx(0.3208, abs=5e-5)
    assert max_log_ratio(first, second) == pytest.approx(23.36, abs=5e-3)


def test_the_loss_has_no_bound(dataset) -> None:
    """It grows with the number of users, by about 0.24 each."""
    losses = []
    for users in (100, 200, 400):
        before, after = dataset([(1, 1)] * users, [(3, 3)]), dataset([(1, 1)] * users + [(5, 5)], [(3, 3)])
        strategy = PNCF(1, epsilon=1)
        losses.append(max_log_ratio(strategy.law(before), strategy.law(after)))
    assert losses[2] > 2 * losses[1] > 4 * losses[0]
    assert (losses[2] - losses[1]) / 200 == pytest.approx(0.24, abs=5e-3)


def test_replacing_a_user_is_no_better(dataset) -> None:
    before = dataset([(1, 1)] * 100, [(3, 3)])
    after = dataset([(1, 1)] * 99 + [(5, 5)], [(3, 3)])
    strategy = PNCF(1, epsilon=1)
    assert max_log_ratio(strategy.law(before), strategy.law(after)) == pytest.approx(23.37, abs=5e-3)


def test_one_sensitivity_for_the_whole_list_is_no_better(dataset) -> None:
    crossed = [(1, 5)] * 100 + [(5, 1)] * 100
    before = dataset([(1, 1)] * 200, crossed)
    after = dataset([(1, 1)] * 200 + [(5, 5)], crossed)
    for strategy in (PNCF(1, epsilon=1, rs="max", w=1.0), NaiveExponential(1, epsilon=1, rs="max")):
        assert max_log_ratio(strategy.law(before), strategy.law(after)) == pytest.approx(29.1, abs=0.05)


def test_the_factor_of_lemma_2_makes_it_worse(dataset) -> None:
    def smoothed(first, second) -> float:
        return published_smooth_bound(lemma_sensitivity(first, second), beta=1.0)

    before = dataset([(1, 1)] * 100, [(3, 3)], sensitivity=smoothed)
    after = dataset([(1, 1)] * 100 + [(5, 5)], [(3, 3)], sensitivity=smoothed)
    strategy = PNCF(1, epsilon=1)
    assert max_log_ratio(strategy.law(before), strategy.law(after)) == pytest.approx(64.4, abs=0.05)


def test_the_naive_mechanism_with_pair_sensitivities_falls_with_it(dataset) -> None:
    before, after = dataset([(1, 1)] * 100, [(3, 3)]), dataset([(1, 1)] * 100 + [(5, 5)], [(3, 3)])
    strategy = NaiveExponential(1, epsilon=1, rs="lemma")
    assert max_log_ratio(strategy.law(before), strategy.law(after)) == pytest.approx(23.36, abs=5e-3)


# Error 2: the noise on the weights has a scale that depends on the records.


def tail(candidates: Candidates, strategy: NaiveExponential, place: int, beyond: float) -> float:
    """Logarithm of the chance that the noise on a weight passes a distance, both sides together."""
    return -beyond / float(strategy.noise_scale(candidates)[place])


def test_noise_of_two_scales_tells_the_datasets_apart(dataset) -> None:
    before, after = dataset([(1, 1)] * 100), dataset([(1, 1)] * 100 + [(5, 5)])
    strategy = PNCF(1, epsilon=1)
    assert before.similarity == after.similarity == [1.0]
    assert strategy.noise_scale(before) == pytest.approx([2 / 99])
    assert strategy.noise_scale(after) == pytest.approx([0.5])
    assert tail(after, strategy, 0, 1.0) - tail(before, strategy, 0, 1.0) == pytest.approx(47.5, abs=1e-9)
    # Farther out the ratio grows without bound: no epsilon is large enough.
    assert tail(after, strategy, 0, 100.0) - tail(before, strategy, 0, 100.0) > 4700
    # The audit's rule, |out − 1| > 0.1.
    assert math.exp(tail(after, strategy, 0, 0.1)) == pytest.approx(0.8187, abs=5e-5)
    assert math.exp(tail(before, strategy, 0, 0.1)) == pytest.approx(0.00708, abs=5e-6)


def test_drawn_weights_show_it(dataset, fixed_bits) -> None:
    before, after = dataset([(1, 1)] * 100), dataset([(1, 1)] * 100 + [(5, 5)])
    strategy = PNCF(1, epsilon=1)
    far = [np.mean([abs(strategy.weights(w, [0])[0] - 1) > 0.1 for _ in range(400)]) for w in (before, after)]
    assert far[0] < 0.03
    assert 0.75 < far[1] < 0.88


def test_with_the_sensitivity_of_the_definition_there_is_no_noise_at_all(dataset) -> None:
    """Proportional co-ratings have RS 0: the weight is certainly 1 in one dataset and almost never in the other."""
    strategy = PNCF(1, epsilon=1, rs="exact")
    before = dataset([(1, 1)] * 100, sensitivity=exact_sensitivity)
    after = dataset([(1, 1)] * 100 + [(1, 5)], sensitivity=exact_sensitivity)
    assert strategy.noise_scale(before) == [0.0]
    assert [strategy.weights(before, [0])[0] for _ in range(20)] == [1.0] * 20
    assert strategy.noise_scale(after) > 0
    assert not any(strategy.weights(after, [0])[0] == 1.0 for _ in range(20))


# Errors 3 and 4: two lemmas that are false.


@pytest.mark.parametrize(
    ("pairs", "change", "lemma"),
    [([(2, 2)] * 10 + [(5, 1)], 0.12831, 0.12500), ([(2, 2)] * 59 + [(1, 5)], 0.03100, 0.02119)],
)
def test_lemma_1_is_wrong_even_about_people_who_leave(pairs, change: float, lemma: float) -> None:
    first, second = zip(*pairs, strict=True)
    assert exact_sensitivity(first, second) == pytest.approx(change, abs=5e-6)
    assert lemma_sensitivity(first, second, form="printed") == pytest.approx(lemma, abs=5e-6)
    # The two terms of its proof do bound the change; the printed second term is never the larger one.
    assert lemma_sensitivity(first, second) >= change


def test_lemma_1_falls_short_by_up_to_three_fifths() -> None:
    first, second = [2] * 100_000 + [5], [2] * 100_000 + [1]
    ratio = exact_sensitivity(first, second) / lemma_sensitivity(first, second, form="printed")
    assert ratio == pytest.approx(1.6, abs=1e-3)


def test_lemma_1_ignores_people_who_come() -> None:
    """Nobody can leave with effect, somebody can come with effect."""
    first, second = [1] * 10, [1] * 10
    change = abs(pair_cosine([*first, 1], [*second, 5]) - pair_cosine(first, second))
    assert change > lemma_sensitivity(first, second)


@pytest.mark.parametrize("beta", [0.1, 1.0, 3.0])
def test_lemma_2_is_neither_smooth_nor_a_bound(beta: float) -> None:
    few, many = ([1.0] * 100, [1.0] * 100), ([1.0] * 100 + [5.0], [1.0] * 100 + [5.0])
    bounds = [published_smooth_bound(lemma_sensitivity(*pair), beta=beta) for pair in (few, many)]
    crossed = ([2.0] * 10 + [5.0], [2.0] * 10 + [1.0])
    assert published_smooth_bound(exact_sensitivity(*crossed), beta=beta) < exact_sensitivity(*crossed)
    assert bounds[1] > math.exp(beta) * bounds[0]
    # A bound that is smooth keeps both guarantees on the same pairs.
    true = [smooth_bound(*pair, beta=beta, highest=5) for pair in (few, many)]
    assert true[1] <= math.exp(beta) * true[0]
    assert true[0] <= math.exp(beta) * true[1]
    assert true[0] >= exact_sensitivity(*few)
    assert true[1] >= exact_sensitivity(*many)


# Error 5: two scales, of which the smaller is too small by the factor k.


@pytest.mark.parametrize("k", [1, 10, 50])
def test_the_scale_without_k_costs_k_times_as_much(dataset, k: int) -> None:
    """One user who rated the target and all its neighbors moves all k similarities by the global sensitivity."""
    before, after = dataset(*[[]] * k), dataset(*[[(5, 5)]] * k)
    moved = np.abs(after.similarity - before.similarity)
    assert moved.tolist() == [1.0] * k
    small = NaiveExponential(k, epsilon=1, rs=1.0, laplace="2")
    assert (moved / small.noise_scale(before)).sum() == pytest.approx(k * CLAIMED)
    large = NaiveExponential(k, epsilon=1, rs=1.0, laplace="2k")
    assert (moved / large.noise_scale(before)).sum() == pytest.approx(CLAIMED)


# Error 6: C0 as a single candidate.


def test_a_candidate_that_falls_into_c0_is_lost(dataset) -> None:
    lonely = [[]] * 999
    before, after = dataset([(3, 3)], [(1, 2)], *lonely), dataset([(3, 3)], [(1, 2), (5, 1)], *lonely)
    assert after.similarity[1] == pytest.approx(0.6139, abs=5e-5)
    strategy = PNCF(1, epsilon=1, rs=1.0, w=0.3, c0="single")
    first, second = strategy.law(before), strategy.law(after)
    assert first[(1,)] == pytest.approx(0.3416, abs=5e-5)
    assert second[(1,)] == pytest.approx(4.81e-4, abs=5e-7)
    assert max_log_ratio(first, second) == pytest.approx(6.56, abs=0.01)
    each = PNCF(1, epsilon=1, rs=1.0, w=0.3, c0="each")
    assert max_log_ratio(each.law(before), each.law(after)) <= CLAIMED


# Error 7: neighbors who are users bring their ratings along as they are.


def test_the_prediction_from_one_neighbor_is_that_neighbors_rating(dataset, fixed_bits) -> None:
    strategy = PNCF(1, epsilon=1)
    users = dataset([(4, 4), (2, 3)])
    for rating in (1.0, 4.0):
        for _ in range(20):
            weight = strategy.weights(users, strategy.choose(users))
            assert abs(float((weight * rating).sum() / np.abs(weight).sum())) == rating


def test_neighbors_of_one_mind_give_themselves_away(dataset, fixed_bits) -> None:
    """All neighbors gave 5: so does the prediction, whatever the noise, as long as it leaves the weights positive."""
    strategy = PNCF(3, epsilon=1, rs="exact")
    users = dataset(*[[(4, 4), (2, 3), (5, 5), (3, 3)]] * 5, sensitivity=exact_sensitivity)
    exact = 0
    for _ in range(100):
        weights = strategy.weights(users, strategy.choose(users))
        if np.all(weights > 0):
            exact += 1
            assert float((weights * 5).sum() / np.abs(weights).sum()) == pytest.approx(5.0, abs=1e-12)
    assert exact > 50


# Error 8: the claim is about one target.


def test_every_target_costs_anew(dataset) -> None:
    before, after = dataset([(1, 1)] * 100, [(3, 3)]), dataset([(1, 1)] * 100 + [(5, 5)], [(3, 3)])
    strategy = PNCF(1, epsilon=1)
    first, second = strategy.law(before), strategy.law(after)
    one = max_log_ratio(first, second)
    both = [{(a, b): law[a] * law[b] for a in law for b in law} for law in (first, second)]
    assert max_log_ratio(*both) == pytest.approx(2 * one)


# What is not an error.


def constant_datasets(size: int) -> list[Candidates]:
    return [Candidates(np.array(s)) for s in itertools.product([0.0, 0.25, 0.5, 0.75, 1.0], repeat=size)]


@pytest.mark.parametrize("w", [None, 0.25, 0.5])
@pytest.mark.parametrize("k", [1, 2])
def test_truncation_is_harmless_once_the_sensitivity_is_a_constant(k: int, w: float | None) -> None:
    """All neighbors in sup norm over a grid: every similarity may move by 1/4, and 1/4 is the stated sensitivity."""
    epsilon = Fraction(4)
    strategy = PNCF(k, epsilon=epsilon, rs=0.25, w=w, c0="each")
    laws = [(c.similarity, strategy.law(c)) for c in constant_datasets(3)]
    losses = [max_log_ratio(p, q) for (s, p), (t, q) in itertools.combinations(laws, 2) if np.abs(s - t).max() <= 0.25]
    assert 0.3 * float(epsilon) / 2 < max(losses) <= float(epsilon) / 2 + 1e-9


def test_lus_objection_is_to_the_cut_not_to_algorithm_2() -> None:
    """Algorithm 2 leaves a positive weight to whoever is below; with a cut the chance goes from 0 to above 0."""
    before = Candidates(np.array([0.9, 0.8, 0.5, 0.4]))
    after = Candidates(np.array([0.9, 0.8, 0.4, 0.5]))
    cut = PNCF(1, epsilon=1, rs=1.0, beta=3)
    assert max_log_ratio(cut.law(before), cut.law(after)) == math.inf
    assert smallest_delta(cut.law(before), cut.law(after), 1.0) == pytest.approx(1 / 3, abs=0.02)
    printed = PNCF(1, epsilon=1, rs=1.0, w=0.3, c0="each")
    assert min(printed.law(before).values()) > 0
    assert max_log_ratio(printed.law(before), printed.law(after)) <= CLAIMED


# What the mechanism does at the published settings.


def test_at_epsilon_1_the_choice_is_uniform() -> None:
    """With k = 40 the exponents differ by at most 1/160, whatever the similarities."""
    naive = NaiveExponential(40, epsilon=1, rs=1.0)
    extremes = Candidates(np.array([1.0] * 21 + [0.0] * 21))
    assert float(np.ptp(naive.log_weights(extremes))) == 1 / 160
    assert max_log_ratio(naive.law(extremes), Uniform(40).law(extremes)) < 0.03
    long = Candidates(np.linspace(0, 1, 400))
    chances = naive.inclusion(long)
    assert np.abs(chances / (40 / 400) - 1).max() < 1 / 160


def test_at_epsilon_1_truncation_never_acts() -> None:
    """The theorem's width is far beyond every similarity: the threshold is 0."""
    rng = np.random.default_rng(5)
    films = Candidates(rng.uniform(0.2, 1.0, 300), rng.uniform(0.02, 1.0, 300))
    assert PNCF(40, epsilon=1).threshold(films) == 0.0
    assert PNCF(40, epsilon=20_000).threshold(films) > 0.5


# The guarantee says so.


def test_the_guarantee_is_refuted_and_names_the_counterexamples() -> None:
    guarantee = PNCF(40, epsilon=1).guarantee()
    assert guarantee.standing is Standing.REFUTED
    assert "23.36" in guarantee.basis
    assert "6.56" in guarantee.basis
    assert "ε = 1" in str(guarantee)
    with pytest.raises(PrivacyError, match="refuted"):
        require_allowed(guarantee, allow_refuted=False)


@pytest.mark.parametrize(
    ("strategy", "standing"),
    [
        (NaiveExponential(40, epsilon=1), Standing.REFUTED),
        (NaiveExponential(40, epsilon=1, rs="lemma", laplace="2k"), Standing.REFUTED),
        (NaiveExponential(40, epsilon=1, laplace=None), Standing.REFUTED),
        (NaiveExponential(40, epsilon=1, laplace="2k"), Standing.AS_PUBLISHED),
        (PNCF(40, epsilon=1, rs=1.0, laplace="2k"), Standing.REFUTED),
        (PNCF(40, epsilon=1, rs=1.0, laplace="2k", beta=4), Standing.REFUTED),
        (PNCF(40, epsilon=1, rs=1.0, laplace="2k", c0="each"), Standing.AS_PUBLISHED),
    ],
)
def test_standing_follows_the_options(strategy: NaiveExponential, standing: Standing) -> None:
    assert strategy.guarantee().standing is standing
