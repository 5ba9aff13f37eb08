"""What is drawn is what is stated: mechanisms are run, not only their formulas read.

Each test would fail if a mechanism drew no noise, noise of another scale, or fewer random bits than it says.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.data import Interactions
from discreet.privacy import entropy
from discreet.privacy.bounding import BoundedSums, cap_items
from discreet.privacy.discovery import StabilitySelection
from discreet.privacy.mechanisms import AdditiveMechanism, GaussianMechanism, LaplaceMechanism, NormalMechanism
from discreet.privacy.selection import ExponentialMechanism, PermuteAndFlip, noisy_order
from discreet.privacy.threshold import AboveThreshold, ThresholdSession
from discreet.privacy.units import Unit
from discreet.testing import additive_log_ratio, additive_renyi, fits_law, max_log_ratio

RELATIONS = ["add-remove", "replace"]


def laplace_law(scale: float):
    return lambda x: math.log(math.tanh(1 / (2 * scale))) - np.abs(x) / scale


def sums(values=(0,), *, l1=3, l2=5, linf=1, nonnegative=True, relation="add-remove", step=Fraction(1)) -> BoundedSums:
    unit = Unit.of("record/value" if relation == "value" else f"user/{relation}")
    array = np.array(values, dtype=np.int64)
    return BoundedSums(array, step, Fraction(l1), Fraction(l2), Fraction(linf), nonnegative, unit, ())


@pytest.mark.parametrize("relation", [*RELATIONS, "value"])
@pytest.mark.parametrize("mechanism", [LaplaceMechanism(Fraction(1, 3)), GaussianMechanism(Fraction(1, 50))])
def test_releases_follow_their_law(mechanism: AdditiveMechanism, relation: str, fixed_bits) -> None:
    many = sums(np.full(100_000, 7), relation=relation)
    noise = mechanism.release(many) - 7
    assert fits_law(noise, mechanism.log_pmf(many)) > 1e-4
    for factor in (Fraction(9, 10), Fraction(11, 10)):
        wrong = (
            LaplaceMechanism(mechanism.epsilon * factor)
            if isinstance(mechanism, LaplaceMechanism)
            else GaussianMechanism(mechanism.rho * factor**2)  # type: ignore[attr-defined]
        )
        assert fits_law(noise, wrong.log_pmf(many)) < 1e-6


@pytest.mark.parametrize(
    "mechanism",
    [LaplaceMechanism(Fraction(1, 3)), GaussianMechanism(Fraction(1, 50)), NormalMechanism(Fraction(1, 25))],
)
def test_sums_of_zero_get_the_same_noise(mechanism: AdditiveMechanism, fixed_bits) -> None:
    none = sums(np.zeros(20_000))
    assert fits_law(mechanism.release(none), mechanism.log_pmf(none)) > 1e-4


@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize("relation", ["replace", "value"])
def test_an_exchanged_contribution_is_covered(relation: str, nonnegative: bool) -> None:
    """All pairs of contributions of L1 norm at most 2 over two sums: one goes, the other comes."""
    reach = range(3) if nonnegative else range(-2, 3)
    contributions = [(a, b) for a in reach for b in reach if abs(a) + abs(b) <= 2]
    bounds = {"l1": 2, "l2": 4, "linf": 2, "nonnegative": nonnegative, "relation": relation}
    worst: dict[str, float] = defaultdict(float)
    for one in contributions:
        for other in contributions:
            a, b = sums(np.add((5, 5), one), **bounds), sums(np.add((5, 5), other), **bounds)
            worst["laplace"] = max(worst["laplace"], additive_log_ratio(LaplaceMechanism(Fraction(1)), a, b))
            worst["gaussian"] = max(worst["gaussian"], additive_renyi(GaussianMechanism(Fraction(1, 8)), a, b, 2.0))
            for kind in (ExponentialMechanism, PermuteAndFlip):
                loss = max_log_ratio(kind(Fraction(1)).law(a), kind(Fraction(1)).law(b))
                worst[kind.__name__] = max(worst[kind.__name__], loss)
    assert worst["laplace"] <= 1 + 1e-9
    assert worst["laplace"] >= 0.95
    assert worst["gaussian"] <= 0.25 + 1e-9
    assert worst["gaussian"] >= 0.2
    for kind in ("ExponentialMechanism", "PermuteAndFlip"):
        assert worst[kind] <= 1 + 1e-9
        assert worst[kind] >= 0.2


def test_discovery_draws_the_stated_noise(fixed_bits) -> None:
    """Items of 40 users each pass as often as the law of the noise says, with two items a user."""
    selection = StabilitySelection.of(epsilon=1, delta="1e-3")
    threshold, scale = selection.threshold(2), float(selection.parameter(2))
    held = threshold + 1
    rows = [((pair, n), f"i{2 * pair + side}") for pair in range(2000) for n in range(held) for side in (0, 1)]
    bounded = cap_items(Interactions(rows), 2)
    codes, noisy = selection.release(bounded)
    ratio = math.exp(-1 / scale)
    expected = 1 - ratio**2 / (1 + ratio)  # Pr[X ≥ −1]
    assert codes.size / 4000 == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / 4000))
    assert noisy is not None
    kept = noisy - held
    observed = np.array([(kept == x).sum() for x in range(-1, 9)])
    law = np.array([math.tanh(1 / (2 * scale)) * ratio ** abs(x) for x in range(-1, 9)])
    assert chisquare(observed, law / law.sum() * observed.sum()).pvalue > 1e-4
    assert chisquare(observed, (law**2) / (law**2).sum() * observed.sum()).pvalue < 1e-6


@pytest.mark.parametrize("value", [9, 10, 12])
def test_sessions_pass_as_often_as_their_noise_says(value: int, fixed_bits) -> None:
    mechanism = AboveThreshold(Fraction(10), 2, Fraction(1), Fraction(1))
    like = sums((0,))
    runs = 6000
    passed = sum(ThresholdSession(mechanism, like).first_pass(sums((value,))) == 0 for _ in range(runs))
    first, second = float(mechanism.threshold_scale(like)), float(mechanism.test_scale(like))
    reach = np.arange(-200, 201)
    p, q = np.exp(-np.abs(reach) / first), np.exp(-np.abs(reach) / second)
    p, q = p / p.sum(), q / q.sum()
    tail = np.concatenate([np.cumsum(q[::-1])[::-1], [0.0]])
    expected = float((p * tail[np.clip(10 + reach - value + 200, 0, 401)]).sum())
    assert passed / runs == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / runs))


def test_selection_uses_all_its_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words that differ in their last bit alone can change the winner: none of the 64 is thrown away."""
    base = np.full(2, 2**63 + 5, dtype=np.uint64)
    winners = set()
    for lead in (0, 1):
        words = base.copy()
        words[lead] -= np.uint64(1)  # smaller V, smaller E, larger Gumbel key
        later = iter([words])
        monkeypatch.setattr(
            entropy, "random_words", lambda n, later=later: next(later, np.full(n, 2**62, dtype=np.uint64))
        )
        winners.add(int(noisy_order(np.zeros(2, dtype=np.int64), Fraction(1), noise="gumbel", most=1)[0]))
    assert winners == {0, 1}


def test_sessions_opened_one_sided_take_one_sided_sums_only() -> None:
    from discreet.errors import PrivacyError

    stream = ThresholdSession(AboveThreshold.of(1, threshold=10, most=2), sums((0,), linf=2))
    with pytest.raises(PrivacyError, match="more ways"):
        stream.first_pass(sums((5,), nonnegative=False))
    with pytest.raises(PrivacyError, match="another unit"):
        stream.first_pass(replace(sums((5,)), unit=Unit("record")))
