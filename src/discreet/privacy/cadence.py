"""What a year of releases costs in noise: each step paid for by itself, or one series of them at one price."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.common.arguments import require_whole
from discreet.errors import UsageError
from discreet.privacy.losses import GaussianLoss, Pure, mu_for
from discreet.privacy.numbers import Rational, as_positive, as_probability
from discreet.privacy.series import MOST_STEPS, Factorization

__all__ = ["CADENCES", "Cadence", "cadences"]

CADENCES = {"nightly": 1, "weekly": 7, "monthly": Fraction(365, 12), "quarterly": Fraction(365, 4), "once": None}
"""Nights between two steps."""


@dataclass(frozen=True)
class Cadence:
    """So many releases under one budget.

    Attributes
    ----------
    name
        "nightly", "weekly", "monthly", "quarterly" or "once".
    steps
        How many releases there are.
    epsilon_each
        What each may spend if it pays for itself, at the delta of the whole.
    noise_each
        The standard deviation of the noise then, in units of one release that spends everything.
    noise_series
        The same for continual release, in its last step, the noisiest; None without a delta, and for more steps than
        a series can have.
    """

    name: str
    steps: int
    epsilon_each: Fraction
    noise_each: float
    noise_series: float | None


def cadences(nights: int, epsilon: Rational, delta: Rational = 0) -> tuple[Cadence, ...]:
    """How much noise releases at each cadence have under one budget. Nothing is read and nothing is spent.

    Parameters
    ----------
    nights
        How long the budget must last.
    epsilon, delta
        The budget for all of them. With delta 0 every release has Laplace noise and there is no series.

    Examples
    --------
    >>> night = cadences(365, 4, "1e-6")[0]
    >>> print(night.steps, round(night.noise_each, 1), round(night.noise_series, 2))
    365 19.1 2.94
    """
    require_whole(nights, "nights")
    if nights > 100_000:
        raise UsageError(f"nights must be at most 100,000, got {nights}.")
    whole, at = as_positive(epsilon, "epsilon"), as_probability(delta)
    found: dict[int, Cadence] = {}
    for name, every in CADENCES.items():
        steps = 1 if every is None else math.ceil(nights / every)
        each = GaussianLoss(mu_for(whole, at) ** 2 / steps) if at else Pure(whole / steps)
        noise = math.sqrt(steps) if at else float(steps)
        in_series = Factorization(steps).noise_factor(steps - 1) if at and steps <= MOST_STEPS else None
        cadence = Cadence(name, steps, each.epsilon_at(at), noise, in_series)
        found.setdefault(steps, cadence)
    return tuple(found.values())
