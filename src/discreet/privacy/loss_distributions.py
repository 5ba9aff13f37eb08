"""Privacy loss distributions of many pure and Gaussian steps, by the dp-accounting library.

The numbers that library works on are floating-point, so what goes in is rounded towards the larger loss on an exact
grid, and what comes out is asked for at a delta a little below the one that was allowed.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any

from discreet.privacy.losses import GaussianLoss
from discreet.privacy.numbers import round_up

__all__ = ["epsilon_of_product"]

_MOST_BUCKETS = 2**16  # of the grid: evaluation walks over it in plain Python
_GAUSSIAN_BUCKETS = 2**15  # connect-the-dots is right to 1e-6 of delta with so many
_MOST_KINDS = 64  # different epsilons that are convolved one by one

# Convolution by FFT moves delta by about 2e-17 a step (measured against exact sums: 2e-13 after 10,000 steps). Fifty
# times that, and a floor for the convolutions between kinds, is kept aside.
_ERROR_A_STEP = Fraction(1, 10**15)
_ERROR_ALWAYS = Fraction(1, 10**12)
_ERROR_OF_DISCRETE_GAUSSIAN = Fraction(1, 10**6)  # relative


def epsilon_of_product(steps: Counter[Fraction], mu_squared: Fraction, delta: Fraction) -> Fraction | None:
    """The epsilon at delta of so many ε-private steps and one Gaussian, rounded up; None where it is not resolved.

    Parameters
    ----------
    steps
        How many steps there are of each epsilon.
    mu_squared
        μ² of all Gaussian steps together (their pairs of normal distributions multiply to one such pair).
    delta
        The failure probability, above 0.

    Examples
    --------
    >>> float(epsilon_of_product(Counter({Fraction(1): 1}), Fraction(0), Fraction(1, 10**6)))  # doctest: +ELLIPSIS
    0.99999...
    """
    steps = Counter({epsilon: count for epsilon, count in steps.items() if epsilon and count})
    if not steps:
        return GaussianLoss(mu_squared).epsilon_at(delta) if mu_squared else Fraction(0)
    resolved = delta * (1 - _ERROR_OF_DISCRETE_GAUSSIAN) - _ERROR_ALWAYS - _ERROR_A_STEP * sum(steps.values())
    if resolved < delta / 2:
        return None
    try:
        distribution = _product(tuple(sorted(steps.items())), mu_squared)
        epsilon = distribution.get_epsilon_for_delta(float(resolved))
    except OverflowError:  # losses beyond e^±700: nobody is protected there, and the basic sum says so
        return None
    return round_up(epsilon * (1 + 1e-9) + 1e-12) if math.isfinite(epsilon) else None


@lru_cache(maxsize=8)
def _product(steps: tuple[tuple[Fraction, int], ...], mu_squared: Fraction) -> Any:
    from dp_accounting.pld import privacy_loss_distribution

    grid = _grid(steps, mu_squared)
    kinds: Counter[int] = Counter()
    for epsilon, count in steps:
        kinds[math.ceil(epsilon / grid)] += count
    parts = [_randomized_response(kind * grid, kind, grid).self_compose(count) for kind, count in kinds.items()]
    if mu_squared:
        deviation = 1 / (math.sqrt(mu_squared) * (1 + 1e-12))
        parts.append(
            privacy_loss_distribution.from_gaussian_mechanism(
                deviation, value_discretization_interval=float(grid), pessimistic_estimate=True
            )
        )
    return reduce(lambda first, second: first.compose(second), parts)


def _randomized_response(epsilon: Fraction, place: int, grid: Fraction) -> Any:
    """The worst pair of an ε-private step, whose loss is +ε or −ε, both on the grid."""
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    odds = math.exp(-float(epsilon))
    return PrivacyLossDistribution.create_from_rounded_probability(
        {place: 1 / (1 + odds), -place: odds / (1 + odds)}, 0.0, float(grid)
    )


def _grid(steps: tuple[tuple[Fraction, int], ...], mu_squared: Fraction) -> Fraction:
    """The spacing of the losses: a common divisor of all epsilons where that is not too fine.

    It is halved or doubled from there, so that a coarser grid contains no point that a finer one lacks and rounding
    up on it never gives less.
    """
    grid = reduce(_common_divisor, (epsilon for epsilon, _ in steps))
    width = _width(steps, mu_squared)
    if mu_squared:
        spread = _width((), mu_squared)
        while float(grid) > spread / _GAUSSIAN_BUCKETS:
            grid /= 2
    while width / float(grid) > _MOST_BUCKETS or len({math.ceil(epsilon / grid) for epsilon, _ in steps}) > _MOST_KINDS:
        grid *= 2
    return grid


def _width(steps: tuple[tuple[Fraction, int], ...], mu_squared: Fraction) -> float:
    """About how far losses reach before they become rarer than 1e-15: nine deviations from the mean."""
    mean = float(mu_squared) / 2 + sum(n * float(e) * math.tanh(float(e) / 2) for e, n in steps)
    deviation = math.sqrt(float(mu_squared) + sum(n * float(e) ** 2 for e, n in steps))
    if mu_squared:
        return mean + 9 * deviation
    return min(mean + 9 * deviation, sum(n * float(e) for e, n in steps))


def _common_divisor(first: Fraction, second: Fraction) -> Fraction:
    return Fraction(
        math.gcd(first.numerator * second.denominator, second.numerator * first.denominator),
        first.denominator * second.denominator,
    )
