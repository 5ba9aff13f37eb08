"""The rounded normal mechanism keeps its whole curve of (ε, δ), output by output; a tenth less noise does not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.privacy.bounding import BoundedSums
from discreet.privacy.losses import delta_of_mu
from discreet.privacy.mechanisms import NormalMechanism
from discreet.privacy.units import Unit
from discreet.testing.laws import smallest_delta


def sums(value: int, bound: int) -> BoundedSums:
    squared = Fraction(bound**2)
    return BoundedSums(
        np.array([value], dtype=np.int64), Fraction(1), Fraction(bound), squared, Fraction(bound), False, Unit(), ()
    )


def curve(mechanism: NormalMechanism, bound: int, epsilon: float) -> float:
    """The least δ of two neighbors that are as far apart as the bound lets them be."""
    reach = int(14 * mechanism.standard_deviation(sums(0, bound))) + bound
    outputs = np.arange(-reach, reach + 1)
    law = mechanism.log_pmf(sums(0, bound))
    first, second = np.exp(law(outputs)), np.exp(law(outputs - bound))
    return smallest_delta(dict(enumerate(first)), dict(enumerate(second)), epsilon)


@pytest.mark.parametrize("mu", [Fraction(1, 4), Fraction(1), Fraction(5, 2)])
@pytest.mark.parametrize("bound", [1, 3, 50])
def test_every_point_of_the_curve(mu: Fraction, bound: int) -> None:
    mechanism = NormalMechanism(mu**2)
    tight = []
    for epsilon in (0.0, float(mu) / 4, float(mu), 2 * float(mu)):
        allowed = delta_of_mu(mu, Fraction(epsilon))
        found = curve(mechanism, bound, epsilon)
        assert found <= allowed * (1 + 1e-9) + 1e-15
        tight.append(found / allowed)
    if bound == 50:
        assert min(tight) > 0.9


@pytest.mark.parametrize("mu", [Fraction(1, 4), Fraction(1)])
def test_a_tenth_less_noise_is_caught(mu: Fraction) -> None:
    weaker = NormalMechanism((mu * Fraction(10, 9)) ** 2)
    assert curve(weaker, 50, float(mu)) > 1.1 * delta_of_mu(mu, mu)
