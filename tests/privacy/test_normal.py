"""Rounded normal noise: its bounds, its sampler, its mechanisms."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import erfc, ndtri

from discreet.errors import PrivacyError, UsageError
from discreet.privacy import entropy, rounded_gaussian
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.gram import BoundedGram
from discreet.privacy.losses import mu_for, rho_for
from discreet.privacy.mechanisms import NormalMechanism
from discreet.privacy.units import Unit
from discreet.testing.laws import fits_law


@pytest.mark.parametrize("x", [Fraction(1, 1000), Fraction(1, 2), Fraction(3), Fraction(17, 2), Fraction(12)])
def test_tails_are_enclosed(x: Fraction) -> None:
    low, high = rounded_gaussian.twice_tail(x, 30)
    assert low < high < low + Fraction(1, 10**28)
    assert float(low) == pytest.approx(erfc(float(x) / math.sqrt(2)), rel=1e-12)


def test_bounds_tighten() -> None:
    wide, tight = rounded_gaussian.twice_tail(Fraction(2), 12), rounded_gaussian.twice_tail(Fraction(2), 40)
    assert wide[0] <= tight[0] < tight[1] <= wide[1]


def test_what_floats_cannot_decide_is_decided_alike() -> None:
    """The exact path, asked about values that floats know for sure."""
    words = np.random.default_rng(3).integers(2**40, 2**64, 40, dtype=np.uint64)
    deviation = Fraction(1000)
    for word in words.tolist():
        seen = -ndtri(word * 2.0**-65) * 1000
        if abs(seen - math.floor(seen) - 0.5) > 1e-6:
            for start in (max(0, round(seen) - 3), round(seen)):
                assert rounded_gaussian._settled(word, deviation, start) == round(seen)


@pytest.mark.parametrize("deviation", [Fraction(1, 3), Fraction(3, 2), Fraction(40)])
@pytest.mark.usefixtures("fixed_bits")
def test_the_law_is_two_sided(deviation: Fraction) -> None:
    samples = rounded_gaussian.rounded_gaussian(60_000, deviation)

    def law(scale: float) -> float:
        sums = BoundedSums(
            samples[:1], Fraction(1), Fraction(1), (deviation * Fraction(scale)) ** 2, Fraction(1), True, Unit(), ()
        )
        return fits_law(samples, NormalMechanism(Fraction(1)).log_pmf(sums))

    assert law(1.0) > 1e-3
    assert law(1.1) < 1e-6
    assert law(0.9) < 1e-6


def test_a_source_that_repeats_itself_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entropy, "random_bytes", lambda n: np.zeros(n, dtype=np.uint8))
    with pytest.raises(PrivacyError, match="repeats itself"):
        rounded_gaussian.rounded_gaussian(1, Fraction(1000))


def test_deviations_that_cannot_be_drawn() -> None:
    for deviation in (Fraction(1, 65), Fraction(2**49)):
        with pytest.raises(UsageError):
            rounded_gaussian.rounded_gaussian(1, deviation)


def test_the_scale_follows_from_the_bound_and_is_rounded_up() -> None:
    fine = 2**20
    sums = BoundedSums(
        fine * np.array([3, 4]),
        Fraction(1, fine),
        Fraction(8 * fine),
        Fraction(25 * fine**2),
        Fraction(5 * fine),
        False,
        Unit(),
        (),
    )
    mechanism = NormalMechanism.of(epsilon=1, delta="1e-6")
    mu = float(mu_for(1, "1e-6"))
    assert mechanism.standard_deviation(sums) == pytest.approx(5 / mu, rel=1e-6)
    assert mechanism.parameter(sums) ** 2 * mechanism.mu_squared >= sums.l2_sensitivity_squared
    assert mechanism.interval(sums, 0.95) == pytest.approx(1.96 * 5 / mu, rel=1e-3)
    assert mechanism.loss.epsilon_at(Fraction(1, 10**6)) <= 1


def test_it_needs_less_noise_than_concentrated_privacy() -> None:
    assert 1.05 < float(mu_for(1, "1e-6")) / math.sqrt(2 * rho_for(1, "1e-6")) < 1.10


@pytest.mark.usefixtures("fixed_bits")
def test_a_matrix_comes_back_symmetric_with_less_noise_off_its_diagonal() -> None:
    matrix = np.triu(np.full((60, 60), 7, dtype=np.int64))
    gram = BoundedGram((matrix,), Fraction(1, 2), Fraction(400), Unit(), ())
    released = NormalMechanism(Fraction(1, 4)).release(gram)[0]
    assert np.array_equal(released, released.T)
    noise = released - 3.5
    assert noise[np.triu_indices(60, 1)].std() == pytest.approx(20 / math.sqrt(2), rel=0.1)
    assert noise.diagonal().std() == pytest.approx(20, rel=0.35)


def test_the_budget_of_a_matrix_is_checked_before(fixed_bits: Callable[[int], None]) -> None:
    gram = BoundedGram((np.zeros((2, 2), dtype=np.int64),), Fraction(1), Fraction(2**120), Unit(), ())
    with pytest.raises(UsageError):
        NormalMechanism(Fraction(1, 2**20)).check(gram)


def test_an_exchanged_contribution_takes_twice_the_noise() -> None:
    matrices = (np.zeros((2, 2), dtype=np.int64),)
    mechanism = NormalMechanism(Fraction(1, 4))
    added = BoundedGram(matrices, Fraction(1), Fraction(10_000), Unit("user"), ())
    replaced = BoundedGram(matrices, Fraction(1), Fraction(10_000), Unit("user", "replace"), ())
    assert mechanism.standard_deviation(replaced) == pytest.approx(2 * mechanism.standard_deviation(added))
