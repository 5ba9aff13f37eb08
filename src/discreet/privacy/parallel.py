"""What is promised about releases of several datasets together: the weakest of them, or all of them added up.

``docs/proofs/combining.md`` has the theorems.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce

from discreet.errors import PrivacyError, UsageError
from discreet.privacy.accounting import basic, stated_delta
from discreet.privacy.losses import Approximate, Concentrated, GaussianLoss, Loss, Pure, add

__all__ = ["composed", "follows", "weakest"]

USUAL_DELTA = Fraction(1, 10**6)
"""Where losses that no other one covers are stated as (ε, δ), unless a larger delta was declared."""


def weakest(losses: Sequence[Loss], delta: Fraction = USUAL_DELTA) -> Loss:
    """The least loss that each of these stays within: what parallel composition promises.

    Parameters
    ----------
    losses
        At least one.
    delta
        Where the curves of (ε, δ) cross, so that none of the losses covers all others, the result is the largest of
        their epsilons at this delta.

    Examples
    --------
    >>> print(weakest([Pure(Fraction(1)), Pure(Fraction(2)), Pure(Fraction(1, 2))]))
    ε = 2
    >>> print(weakest([Pure(Fraction(1)), GaussianLoss(Fraction(1, 100))]))
    ε = 1, δ = 1e-6
    """
    if not losses:
        raise UsageError("at least one loss is required.")
    for one in losses:
        if all(follows(one, other) for other in losses):
            return one
    if all(isinstance(one, Concentrated) for one in losses):
        parts = [one for one in losses if isinstance(one, Concentrated)]
        return Concentrated(max(one.rho for one in parts), max(one.delta for one in parts))
    # zCDP but for an event of probability δ' says nothing at δ' itself.
    stated = [one.delta * (2 if isinstance(one, Concentrated) else 1) for one in losses if hasattr(one, "delta")]  # type: ignore[attr-defined]
    at = max(delta, *stated)
    return Approximate(max(one.epsilon_at(at) for one in losses), at)


def follows(weak: Loss, strong: Loss) -> bool:
    """Whether every mechanism that keeps the second loss keeps the first one: its curve of (ε, δ) is nowhere above.

    Examples
    --------
    >>> follows(GaussianLoss(Fraction(4)), Pure(Fraction(1))), follows(GaussianLoss(Fraction(1)), Pure(Fraction(1)))
    (True, False)
    """
    if isinstance(strong, Approximate) and strong.delta == 0:
        strong = Pure(strong.epsilon)
    match weak, strong:
        case Pure(), Pure():
            return strong.epsilon <= weak.epsilon
        case GaussianLoss(), GaussianLoss():
            return strong.mu_squared <= weak.mu_squared
        case GaussianLoss(), Pure():
            return _mu_of_pure(strong.epsilon) <= weak.mu
        case Concentrated(), Concentrated() | Pure() | GaussianLoss():
            known = strong.concentrated()
            return known is not None and known.rho <= weak.rho and known.delta <= weak.delta
        case Approximate(), _:
            try:
                return strong.epsilon_at(weak.delta) <= weak.epsilon
            except PrivacyError:
                return False
    return False


def _mu_of_pure(epsilon: Fraction) -> float:
    """The least μ for which ε-differential privacy gives μ-GDP, rounded up: 2·Φ⁻¹(e^ε/(1 + e^ε))."""
    from scipy.special import ndtri

    # 1/(1 + e^ε) keeps its digits where ε is large.
    return float(-2 * ndtri(1 / (1 + math.exp(min(float(epsilon), 700.0))))) * (1 + 1e-12)


def composed(losses: Sequence[Loss], delta: Fraction = USUAL_DELTA) -> Loss:
    """All losses added up; as (ε, δ) where they have no common kind.

    Examples
    --------
    >>> print(composed([Pure(Fraction(1)), Pure(Fraction(2))]))
    ε = 3
    """
    try:
        return reduce(add, losses)
    except PrivacyError:
        return basic(losses, delta + stated_delta(losses))
