"""Selection: exact laws over all tiny neighbors, samplers against their laws, refinement against rounding."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.errors import PrivacyError, UsageError
from discreet.privacy import entropy
from discreet.privacy.bounding import BoundedSums, distinct_item_counts
from discreet.privacy.selection import ExponentialMechanism, PermuteAndFlip, TopK, noisy_order
from discreet.privacy.threshold import AboveThreshold, ThresholdSession
from discreet.privacy.units import Unit
from discreet.testing import max_log_ratio, neighboring_datasets, renyi_divergence

EPSILON = Fraction(7, 10)
SINGLES = [ExponentialMechanism, PermuteAndFlip]


def scores(values, *, nonnegative: bool = True, relation="add-remove") -> BoundedSums:
    array = np.array(values, dtype=np.int64)
    n = Fraction(array.size)
    return BoundedSums(array, Fraction(1), n, n, Fraction(1), nonnegative, Unit.of(f"user/{relation}"), ())


def count_pairs():
    for without, with_user in neighboring_datasets("abc", most_users=2, most_records=3):
        yield distinct_item_counts(without), distinct_item_counts(with_user)


def signed_pairs(relation: str):
    """Scores that one step moves by −1, 0 or 1 each, in any direction."""
    for start in itertools.product(range(3), repeat=3):
        for step in itertools.product((-1, 0, 1), repeat=3):
            yield (
                scores(start, nonnegative=False, relation=relation),
                scores(np.add(start, step), nonnegative=False, relation=relation),
            )


@cache
def _law(kind, values: tuple[int, ...], nonnegative: bool) -> np.ndarray:
    return kind(EPSILON).law(scores(values, nonnegative=nonnegative))


def law(kind, sums: BoundedSums, *, nonnegative: bool | None = None) -> np.ndarray:
    """The law of one choice; the same few score vectors come up again and again."""
    return _law(kind, tuple(sums.values.tolist()), sums.nonnegative if nonnegative is None else nonnegative)


@pytest.mark.parametrize("kind", SINGLES)
def test_monotone_scores_keep_epsilon(kind) -> None:
    losses = [max_log_ratio(law(kind, a), law(kind, b)) for a, b in count_pairs()]
    assert max(losses) <= float(EPSILON) + 1e-9
    assert max(losses) >= 0.5 * float(EPSILON)


@pytest.mark.parametrize("kind", SINGLES)
def test_scores_that_move_both_ways_keep_epsilon(kind) -> None:
    losses = [max_log_ratio(law(kind, a), law(kind, b)) for a, b in signed_pairs("add-remove")]
    assert max(losses) <= float(EPSILON) + 1e-9
    assert max(losses) >= 0.5 * float(EPSILON)


@pytest.mark.parametrize("kind", SINGLES)
def test_dropping_the_factor_two_is_caught(kind) -> None:
    """Scores that move both ways, treated as if they only rose: the broken mechanism fails."""
    worst = max(
        max_log_ratio(law(kind, a, nonnegative=True), law(kind, b, nonnegative=True))
        for a, b in signed_pairs("add-remove")
    )
    assert worst > float(EPSILON) * 1.05


def test_the_exponential_mechanism_is_tight_with_many_candidates() -> None:
    """One good candidate against many: the bound is approached, so a rate larger by a tenth would pass it."""
    many = 5000
    low, high = scores([0] * many), scores([1] + [0] * (many - 1))
    mechanism = ExponentialMechanism(EPSILON)
    tight = max_log_ratio(mechanism.law(low), mechanism.law(high))
    assert 0.99 * float(EPSILON) < tight <= float(EPSILON)
    louder = ExponentialMechanism(EPSILON * Fraction(11, 10))
    assert max_log_ratio(louder.law(low), louder.law(high)) > float(EPSILON)


@pytest.mark.parametrize("order", [1.5, 2.0, 8.0])
@pytest.mark.parametrize("kind", SINGLES)
def test_concentrated_bounds(kind, order: float) -> None:
    mechanism = kind(EPSILON)
    rho = float(mechanism.concentrated_loss.rho)
    for a, b in itertools.chain(count_pairs(), signed_pairs("add-remove")):
        assert renyi_divergence(law(kind, a), law(kind, b), order) <= rho * order + 1e-9


@pytest.mark.parametrize("k", [1, 2, 3])
def test_top_k_keeps_its_whole_budget(k: int) -> None:
    mechanism = TopK.for_total(k, EPSILON)
    assert mechanism.loss.epsilon == EPSILON
    losses = [max_log_ratio(mechanism.law(a), mechanism.law(b)) for a, b in count_pairs()]
    assert 0.3 * float(EPSILON) <= max(losses) <= float(EPSILON) + 1e-9
    for order in (1.5, 4.0):
        for a, b in itertools.islice(count_pairs(), 60):
            rho = float(mechanism.concentrated_loss.rho)
            assert renyi_divergence(mechanism.law(a), mechanism.law(b), order) <= rho * order + 1e-9


@pytest.mark.parametrize("k", [1, 2, 3])
def test_top_k_keeps_its_budget_where_scores_move_both_ways(k: int) -> None:
    mechanism = TopK.for_total(k, EPSILON)
    losses = [max_log_ratio(mechanism.law(a), mechanism.law(b)) for a, b in signed_pairs("add-remove")]
    assert 0.3 * float(EPSILON) <= max(losses) <= float(EPSILON) + 1e-9


def test_the_rate_of_top_k_is_tight_with_many_candidates() -> None:
    """One candidate up and a thousand down: the whole budget of the choice, so a larger rate would pass it."""
    low = scores([5] * 2000, nonnegative=False)
    high = scores([6] + [4] * 1999, nonnegative=False)
    tight = max_log_ratio(TopK(1, EPSILON).law(low), TopK(1, EPSILON).law(high))
    assert 0.98 * float(EPSILON) < tight <= float(EPSILON) + 1e-12
    louder = TopK(1, EPSILON * Fraction(11, 10))
    assert max_log_ratio(louder.law(low), louder.law(high)) > float(EPSILON)


def test_top_k_charged_for_one_pick_is_caught() -> None:
    mechanism = TopK(2, EPSILON)
    worst = max(max_log_ratio(mechanism.law(a), mechanism.law(b)) for a, b in count_pairs())
    assert worst > float(EPSILON)


def test_top_k_for_rho_stays_within_rho() -> None:
    mechanism = TopK.for_rho(7, "0.01")
    assert mechanism.concentrated_loss.rho <= Fraction(1, 100)
    assert float(mechanism.concentrated_loss.rho) == pytest.approx(0.01, rel=1e-12)


@pytest.mark.parametrize("kind", SINGLES)
def test_samplers_follow_their_laws(kind, fixed_bits) -> None:
    sums = scores([3, 1, 0, 3, 2])
    law = kind(EPSILON).law(sums)
    assert law.sum() == pytest.approx(1, abs=1e-9)
    drawn = np.bincount([kind(EPSILON).choose(sums) for _ in range(20_000)], minlength=5)
    assert chisquare(drawn, law / law.sum() * drawn.sum()).pvalue > 1e-4
    wrong = kind(EPSILON * Fraction(3, 2)).law(sums)
    assert chisquare(drawn, wrong / wrong.sum() * drawn.sum()).pvalue < 1e-9


def test_top_k_sampler_follows_its_law(fixed_bits) -> None:
    sums = scores([2, 1, 0, 2])
    mechanism = TopK(2, EPSILON)
    law = mechanism.law(sums)
    drawn = Counter(tuple(mechanism.choose(sums)) for _ in range(20_000))
    outcomes = sorted(law)
    expected = np.array([law[o] for o in outcomes])
    assert chisquare([drawn[o] for o in outcomes], expected * 20_000 / expected.sum()).pvalue > 1e-4


def test_permute_and_flip_is_what_its_name_says(fixed_bits) -> None:
    """The law of noisy keys is the law of the procedure: shuffle, flip, first head wins."""
    sums = scores([3, 1, 0, 2])
    heads = np.exp(float(PermuteAndFlip(EPSILON).rate(sums)) * (sums.values - 3))
    law = np.zeros(4)
    for order in itertools.permutations(range(4)):
        left = 1 / 24
        for i in order:
            law[i] += left * heads[i]
            left *= 1 - heads[i]
    assert PermuteAndFlip(EPSILON).law(sums) == pytest.approx(law, abs=1e-12)


def test_equal_first_words_are_told_apart_by_more_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every candidate begins with the same 64 bits; who wins is decided by what follows, and evenly."""
    rng = np.random.default_rng(1)
    for noise in ("gumbel", "exponential"):
        wins = Counter()
        for _ in range(300):
            first = iter([True])

            def words(n: int, first=first) -> np.ndarray:
                if next(first, False):
                    return np.full(n, 2**60 + 12345, dtype=np.uint64)
                return rng.integers(0, 2**64, n, dtype=np.uint64)

            monkeypatch.setattr(entropy, "random_words", words)
            wins[int(noisy_order(np.zeros(3, dtype=np.int64), Fraction(1), noise=noise, most=1)[0])] += 1
        assert min(wins[i] for i in range(3)) > 60


@pytest.mark.parametrize("noise", ["gumbel", "exponential"])
def test_float_bounds_hold_the_exact_key(noise, fixed_bits) -> None:
    """The margins of the fast path are real: the exact bounds lie inside them, for extreme words too."""
    from discreet.privacy.selection import _float_keys, _Key

    words = np.concatenate(
        [entropy.random_words(200), np.array([0, 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1], dtype=np.uint64)]
    )
    values = np.arange(words.size, dtype=np.int64) * 997
    rate = Fraction(1, 3)
    low, high = _float_keys(values, rate, noise, words)
    for i in range(words.size):
        least, most = _Key(i, rate * int(values[i] - values.max()), noise, int(words[i])).bounds()
        assert low[i] <= float(least)
        assert float(most) <= high[i]


def test_a_broken_entropy_source_chooses_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entropy, "random_words", lambda n: np.zeros(n, dtype=np.uint64))
    with pytest.raises(PrivacyError, match="entropy"):
        noisy_order(np.zeros(2, dtype=np.int64), Fraction(1), noise="gumbel", most=1)


def test_nothing_to_choose_from_is_an_error() -> None:
    with pytest.raises(UsageError):
        noisy_order(np.zeros(0, dtype=np.int64), Fraction(1), noise="gumbel", most=1)
    with pytest.raises(UsageError):
        TopK(3, EPSILON).choose(scores([1, 2]))


# Above threshold


def laplace_window(scale: float, reach: int) -> np.ndarray:
    noise = np.arange(-reach, reach + 1)
    return math.tanh(1 / (2 * scale)) * np.exp(-np.abs(noise) / scale)


def session_law(mechanism: AboveThreshold, stream: Sequence[int], like: BoundedSums) -> dict[tuple, float]:
    """Exact law of the replies (None, or True) to a fixed stream of sums, over windows that hold all but 1e-9."""
    reach = 240
    threshold_noise = laplace_window(float(mechanism.threshold_scale(like)), reach)
    tests = laplace_window(float(mechanism.test_scale(like)), reach)
    tail = np.concatenate([np.cumsum(tests[::-1])[::-1], [0.0]])  # Pr[noise ≥ index − reach]
    law: dict[tuple, float] = {}
    thresholds = int(mechanism.threshold) + np.arange(-reach, reach + 1)

    def go(place: int, replies: tuple, weight: np.ndarray, passes: int) -> None:
        if place == len(stream) or passes == mechanism.most:
            law[replies] = law.get(replies, 0.0) + float(weight.sum())
            return
        need = np.clip(thresholds - stream[place] + reach, 0, 2 * reach + 1)
        above = tail[need]
        go(place + 1, (*replies, None), weight * (1 - above), passes)
        go(place + 1, (*replies, True), weight * above, passes + 1)

    go(0, (), threshold_noise, 0)
    return law


def threshold_pairs(nonnegative: bool):
    moves = (0, 1) if nonnegative else (-1, 0, 1)
    for start in itertools.product((0, 2), repeat=3):
        for step in itertools.product(moves, repeat=3):
            yield list(start), list(np.add(start, step))


@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize("most", [1, 2])
def test_sessions_keep_epsilon(nonnegative: bool, most: int) -> None:
    mechanism = AboveThreshold.of(2, threshold=1, most=most)
    assert mechanism.loss.epsilon == 2
    like = scores([0], nonnegative=nonnegative)
    worst = max(
        max_log_ratio(session_law(mechanism, a, like), session_law(mechanism, b, like))
        for a, b in threshold_pairs(nonnegative)
    )
    assert worst <= 2 + 1e-6
    assert worst >= 0.45 * 2


@pytest.mark.parametrize("nonnegative", [True, False])
def test_the_scales_of_a_session_are_those_of_the_theorem(nonnegative: bool) -> None:
    """Δ/ε₁ on the threshold, 2cΔ/ε₂ on tests (cΔ/ε₂ where sums only rise)."""
    mechanism = AboveThreshold(Fraction(1), 3, Fraction(1, 10), Fraction(2, 5))
    like = scores([0], nonnegative=nonnegative)
    assert mechanism.threshold_scale(like) == 10
    assert mechanism.test_scale(like) == Fraction(15, 2) * (1 if nonnegative else 2)


@dataclass(frozen=True)
class ReusedThreshold(AboveThreshold):
    """A broken mechanism: tests with the noise that a single pass would need, though two are allowed."""

    def test_scale(self, sums: BoundedSums) -> Fraction:
        return super().test_scale(sums) / (2 * self.most)


def test_forgetting_the_number_of_passes_is_caught() -> None:
    mechanism = ReusedThreshold.of(2, threshold=1, most=2)
    like = scores([0], nonnegative=False)
    worst = max(
        max_log_ratio(session_law(mechanism, a, like), session_law(mechanism, b, like))
        for a, b in threshold_pairs(False)
    )
    assert worst > 2.1


def test_any_number_of_questions_below_the_threshold_costs_the_threshold_share_alone() -> None:
    mechanism = AboveThreshold.of(1, threshold=1, most=1)
    like = scores([0])
    a, b = session_law(mechanism, [0] * 12, like), session_law(mechanism, [1] * 12, like)
    silent = tuple([None] * 12)
    assert abs(math.log(a[silent] / b[silent])) <= float(mechanism.epsilon_threshold) + 1e-6


def test_a_session_ends_after_its_passes(fixed_bits) -> None:
    mechanism = AboveThreshold.of(50, threshold=10, most=2)
    stream = ThresholdSession(mechanism, scores([0]))
    assert stream.first_pass(scores([-1000])) is None
    assert stream.first_pass(scores([-1000, 1000, 1000])) == 1
    assert stream.first_pass(scores([1000])) == 0
    with pytest.raises(PrivacyError, match="over"):
        stream.first_pass(scores([0]))


def test_a_session_refuses_sums_that_move_further(fixed_bits) -> None:
    stream = ThresholdSession(AboveThreshold.of(1, threshold=10, most=2), scores([0]))
    with pytest.raises(PrivacyError):
        stream.first_pass(replace(scores([5]), linf=Fraction(2)))
    with pytest.raises(PrivacyError):
        stream.first_pass(scores([5], nonnegative=False))
