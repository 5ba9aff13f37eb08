"""The samplers follow their stated laws, and a scale that is wrong by a tenth is noticed."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.privacy import entropy, noise
from discreet.privacy.noise import discrete_gaussian, discrete_laplace
from discreet.privacy.numbers import Real, exp_minus
from discreet.testing import fits_law

LAPLACE_SCALES = [Fraction(1, 7), Fraction(1, 2), Fraction(1), Fraction(10, 3), Fraction(64), Fraction(12345, 7)]
VARIANCES = [Fraction(1, 20), Fraction(1, 2), Fraction(1), Fraction(10), Fraction(3000), Fraction(10**7, 3)]


def laplace_law(scale: float):
    return lambda x: math.log(math.tanh(1 / (2 * scale))) - np.abs(x) / scale


def gaussian_law(variance: float):
    reach = np.arange(-math.ceil(40 * math.sqrt(variance)) - 2, math.ceil(40 * math.sqrt(variance)) + 3)
    total = np.exp(-(reach.astype(float) ** 2) / (2 * variance)).sum()
    return lambda x: -(x.astype(float) ** 2) / (2 * variance) - math.log(total)


@pytest.mark.parametrize("scale", LAPLACE_SCALES)
def test_laplace_follows_its_law(scale: Fraction, fixed_bits) -> None:
    samples = discrete_laplace(200_000, scale)
    assert fits_law(samples, laplace_law(float(scale))) > 1e-4


@pytest.mark.parametrize("scale", LAPLACE_SCALES[1:])
@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_laplace_of_another_scale_is_noticed(scale: Fraction, factor: float, fixed_bits) -> None:
    samples = discrete_laplace(200_000, scale * Fraction(factor).limit_denominator(10))
    assert fits_law(samples, laplace_law(float(scale))) < 1e-9


@pytest.mark.parametrize("variance", VARIANCES)
def test_gaussian_follows_its_law(variance: Fraction, fixed_bits) -> None:
    samples = discrete_gaussian(200_000, variance)
    assert fits_law(samples, gaussian_law(float(variance))) > 1e-4


@pytest.mark.parametrize("variance", VARIANCES[1:])
@pytest.mark.parametrize("factor", [Fraction(81, 100), Fraction(121, 100)])
def test_gaussian_of_another_scale_is_noticed(variance: Fraction, factor: Fraction, fixed_bits) -> None:
    samples = discrete_gaussian(200_000, variance * factor)
    assert fits_law(samples, gaussian_law(float(variance))) < 1e-9


def test_the_system_entropy_gives_the_same_law() -> None:
    assert fits_law(discrete_laplace(100_000, Fraction(5)), laplace_law(5)) > 1e-9
    assert fits_law(discrete_gaussian(100_000, Fraction(25)), gaussian_law(25)) > 1e-9


@pytest.mark.parametrize("scale", LAPLACE_SCALES)
def test_digit_thresholds_are_the_real_numbers(scale: Fraction) -> None:
    """Every threshold agrees with an independent computation at 60 digits, so the whole law does."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(60):
        ratio = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
        zero, beyond, *digits = noise._laplace_thresholds(scale)
        expected = [(1 - ratio) / (1 + ratio), ratio ** (2 ** len(digits))]
        expected += [ratio ** (2**i) / (1 + ratio ** (2**i)) for i in range(len(digits))]
        for threshold, truth in zip([zero, beyond, *digits], expected, strict=True):
            assert threshold.scaled_floor(128) == int(mpmath.floor(truth * mpmath.mpf(2) ** 128))


def test_digits_and_the_chance_beyond_them_make_up_the_geometric_law() -> None:
    """Σ over digit patterns is the law of G itself: checked for every value below 2^6, exactly in rationals."""
    ratio = Fraction(3, 5)
    digits = 6
    ones = [ratio ** (2**i) / (1 + ratio ** (2**i)) for i in range(digits)]
    beyond = ratio ** (2**digits)
    for value in range(2**digits):
        product = Fraction(1)
        for i, one in enumerate(ones):
            product *= one if value >> i & 1 else 1 - one
        assert product * (1 - beyond) == (1 - ratio) * ratio**value


def test_values_beyond_the_last_digit_are_drawn(monkeypatch: pytest.MonkeyPatch, fixed_bits) -> None:
    """The tail that a chance below 2^−64 leads to is there: a threshold of one half makes it visible."""
    real = noise._laplace_thresholds(Fraction(1))
    half = Real(lambda precision: (Fraction(1, 2), Fraction(1, 2)))
    monkeypatch.setattr(noise, "_laplace_thresholds", lambda scale: (real[0], half, *real[2:]))
    sizes = np.abs(discrete_laplace(4000, Fraction(1))) >> (len(real) - 2)
    nonzero = sizes[sizes > 0]
    assert 0.2 < nonzero.size / sizes.size < 0.5
    assert nonzero.max() > 4


def test_a_tie_is_settled_by_the_next_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    """A uniform number that begins like the threshold is compared further, and every byte is used once."""
    threshold = Real(lambda precision: exp_minus(Fraction(1), precision))
    asked: list[int] = []

    def stream(n: int) -> np.ndarray:
        asked.append(n)
        place = len(asked) - 1
        byte = threshold.byte(place) if place < 3 else threshold.byte(place) - 1
        return np.full(n, byte, dtype=np.uint8)

    monkeypatch.setattr(entropy, "random_bytes", stream)
    assert noise._below_rows(5, (threshold,)).all()
    assert asked == [5, 5, 5, 5]


def test_close_calls_of_the_gaussian_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """A word just below or just above the real acceptance probability is told apart by integers, not floats."""
    variance, scale, y = Fraction(10), 4, 7
    exponent = (y - variance / scale) ** 2 / (2 * variance)
    edge = Real(lambda precision: exp_minus(exponent, precision)).scaled_floor(64)
    for word, accepted in [(edge - 1, True), (edge + 1, False)]:
        monkeypatch.setattr(entropy, "random_words", lambda n, word=word: np.full(n, word, dtype=np.uint64))
        assert noise._accept_gaussian(np.array([y]), variance, scale)[0] == accepted


@pytest.mark.parametrize("shape", [0, 5, (3, 4), (2, 0), ()])
def test_any_shape(shape) -> None:
    assert discrete_laplace(shape, Fraction(2)).shape == np.empty(shape).shape
    assert discrete_gaussian(shape, Fraction(2)).shape == np.empty(shape).shape


def test_no_two_draws_share_bits() -> None:
    first, second = discrete_laplace(64, Fraction(2**40)), discrete_laplace(64, Fraction(2**40))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), Fraction(2**49)])
def test_impossible_scales_are_refused(scale: Fraction) -> None:
    with pytest.raises(UsageError):
        discrete_laplace(1, scale)
    with pytest.raises(UsageError):
        discrete_gaussian(1, scale if scale <= 0 else scale**2)
