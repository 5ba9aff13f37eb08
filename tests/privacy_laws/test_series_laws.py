"""Continual release: the sensitivity of whole streams, exactly, and the law of all steps together, output by output."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from unittest import mock

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.gram import BoundedGram
from discreet.privacy.losses import delta_of_mu
from discreet.privacy.mechanisms import NormalMechanism
from discreet.privacy.series import Factorization, SeriesNoise
from discreet.privacy.units import Unit
from discreet.testing.laws import smallest_delta


def sums(values: list[int], squared: int) -> BoundedSums:
    bound = Fraction(squared)
    return BoundedSums(np.array(values, dtype=np.int64), Fraction(1), bound, bound, bound, True, Unit(), ())


def streams(steps: int, items: int, cap: int) -> Iterator[np.ndarray]:
    """Every stream of one person's counts whose total has a squared length of at most ``cap``."""
    for flat in product(range(int(cap**0.5) + 1), repeat=steps * items):
        stream = np.array(flat, dtype=np.int64).reshape(steps, items)
        if (stream.sum(axis=0) ** 2).sum() <= cap:
            yield stream


def encoded(factorization: Factorization, stream: np.ndarray, cap: int) -> list[np.ndarray]:
    """What one person adds to each step, in grid steps."""
    released = []
    for t in range(len(stream)):
        total = factorization.encoded((t - s, sums(list(stream[s]), cap)) for s in range(t + 1))
        assert isinstance(total, BoundedSums)
        released.append(total.values)
    return released


@pytest.mark.parametrize(("steps", "items", "cap"), [(1, 2, 4), (2, 2, 4), (3, 2, 2), (4, 1, 9), (5, 1, 4)])
def test_no_stream_is_longer_than_the_bound(steps: int, items: int, cap: int) -> None:
    factorization = Factorization(steps)
    bound = factorization.encoded([(0, sums([0] * items, cap))])
    assert isinstance(bound, BoundedSums)
    lengths = [sum(int((y**2).sum()) for y in encoded(factorization, one, cap)) for one in streams(steps, items, cap)]
    assert max(lengths) == bound.l2_squared  # somebody who comes on the first step has all of it
    assert bound.l2_squared == cap * factorization.norm_squared


def test_vectors_of_both_signs_that_come_on_one_step() -> None:
    factorization = Factorization(4)
    for vector in product((-3, -1, 0, 2, 4), repeat=2):
        squared = sum(x * x for x in vector)
        for arrival in range(4):
            stream = np.zeros((4, 2), dtype=np.int64)
            stream[arrival] = vector
            length = sum(int((y**2).sum()) for y in encoded(factorization, stream, squared))
            assert length <= squared * factorization.norm_squared
            assert (length == squared * factorization.norm_squared) == (arrival == 0 or squared == 0)


def test_matrices_have_the_same_bound() -> None:
    factorization, matrix = Factorization(3), np.array([[2, 1], [1, 2]], dtype=np.int64)
    gram = BoundedGram((matrix,), Fraction(1), Fraction(10), Unit(), ())
    released = [factorization.encoded([(age, gram)]) for age in range(3)]
    assert all(isinstance(one, BoundedGram) for one in released)
    length = sum(int((one.matrices[0] ** 2).sum()) for one in released)  # type: ignore[union-attr]
    assert length == released[0].frobenius_squared == 10 * factorization.norm_squared  # type: ignore[union-attr]


def joint_law(factorization: Factorization, mu_squared: Fraction, stream: np.ndarray, reach: int) -> dict:
    """The law of two steps of one count, over a square of outputs."""
    noise, means = NormalMechanism(mu_squared), encoded(factorization, stream, 1)
    law = noise.log_pmf(factorization.encoded([(0, sums([0], 1))]))  # type: ignore[arg-type]
    outputs = np.arange(-reach, reach + 1)
    first, second = (np.exp(law(outputs - int(mean[0]))) for mean in means)
    return dict(enumerate(np.outer(first, second).ravel()))


NEIGHBORS = [np.array(stream) for stream in ([[1], [0]], [[0], [1]], [[0], [0]])]


@pytest.mark.parametrize("mu", [Fraction(1), Fraction(5, 2)])
def test_all_steps_together_keep_the_whole_curve(mu: Fraction) -> None:
    factorization = Factorization(2, bits=4)
    reach = int(9 * factorization.norm_squared**0.5 / mu) + 32
    absent = joint_law(factorization, mu**2, NEIGHBORS[2], reach)
    for present in NEIGHBORS:
        for epsilon in (0.0, float(mu) / 2, float(mu), 2 * float(mu)):
            law = joint_law(factorization, mu**2, present, reach)
            assert smallest_delta(law, absent, epsilon) <= delta_of_mu(mu, Fraction(epsilon)) * (1 + 1e-9) + 1e-12


def test_noise_for_one_step_alone_is_caught() -> None:
    factorization, mu = Factorization(2, bits=4), Fraction(1)
    with mock.patch.object(Factorization, "norm_squared", factorization.coefficients[0] ** 2):
        weak = Factorization(2, bits=4)
        reach = int(9 * weak.coefficients[0] / mu) + 32
        present, absent = (joint_law(weak, mu**2, NEIGHBORS[place], reach) for place in (0, 2))
    assert smallest_delta(present, absent, 1.0) > 1.1 * delta_of_mu(mu, mu)


# Post-processing, and what is public


@pytest.mark.parametrize("steps", [1, 2, 7, 52])
def test_totals_are_exact_without_noise(steps: int) -> None:
    factorization, rng = Factorization(steps), np.random.default_rng(7)
    stream = rng.integers(0, 100, size=(steps, 3))
    released = [y / 2**factorization.bits for y in encoded(factorization, stream, 1)]
    for t in range(steps):
        total = factorization.decoded([y] for y in reversed(released[: t + 1]))[0]
        assert np.allclose(total, stream[: t + 1].sum(axis=0), rtol=0, atol=1e-9)


def test_noise_is_that_of_the_factorization() -> None:
    # The published figures, and what rounding the coefficients costs.
    assert round(Factorization(52).noise_factor(51), 2) == 2.32
    assert round(Factorization(365).noise_factor(364), 2) == 2.94
    exact = np.cumprod([1.0, *((2 * k - 1) / (2 * k) for k in range(1, 365))])
    assert Factorization(365).noise_factor(364) <= (exact @ exact) * (1 + 1e-5)


def test_the_noise_of_the_totals_is_as_stated() -> None:
    factorization, mu_squared = Factorization(4), Fraction(1)
    noise = SeriesNoise(factorization, mu_squared)
    empty = sums([0] * 20000, 1)
    released = [noise.release([(0, empty)]) for _ in range(4)]
    for t in (0, 3):
        total = factorization.decoded(reversed(released[: t + 1]))[0]
        stated = factorization.noise_factor(t)  # times the noise of a single release, which is 1
        assert abs(total.std() / stated - 1) < 0.05  # ten standard errors


def test_coefficients_get_coarser_where_sums_are_large_and_never_overflow() -> None:
    large = sums([0], 2**46)
    assert Factorization.for_people(365, sums([0], 1), 1000).bits == 12
    coarse = Factorization.for_people(365, large, 2)
    assert 4 <= coarse.bits < 12
    assert int(large.linf) * 2 * sum(coarse.coefficients) < 2**62
    with pytest.raises(UsageError, match="64 bits"):
        Factorization.for_people(365, large, 10**9)


@pytest.mark.parametrize("steps", [0, -1, 4001, 2.0, True])
def test_impossible_steps(steps: object) -> None:
    with pytest.raises(UsageError, match="steps"):
        Factorization(steps)  # type: ignore[arg-type]
