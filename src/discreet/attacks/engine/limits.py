"""What a guarantee leaves to every attacker who guesses one of V equally likely values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from discreet.errors import PrivacyError, UsageError
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Approximate, GaussianLoss, Loss, Pure
from discreet.privacy.numbers import as_fraction

__all__ = ["Secret", "limit_of", "success_limit"]

Secret = Literal["rating", "record"]
"""What is guessed: the value of a rating that is known to exist, or whether a record exists."""

DELTAS = tuple(10.0**-power for power in range(1, 13))
"""Where a loss holds at every delta, each of these gives a limit; the smallest counts."""


def success_limit(loss: Loss, values: int, *, absent: bool = False) -> float:
    """The largest share of right guesses about a secret that is uniform on ``values`` values.

    Parameters
    ----------
    loss
        What a change of the secret from one value to another can lose; with ``absent``, from a value to none.
    values
        How many values there are, V.
    absent
        Whether one step takes the secret away, so that it takes two to exchange it.

    Notes
    -----
    Let s be the share of right guesses and q = (1 − s)/(V − 1) the mean probability of a wrong value. With (ε, δ) every
    P(guess v | v) ≤ e^ε·P(guess v | w) + δ; summed over all pairs, s ≤ (e^ε + (V − 1)δ)/(e^ε + V − 1). With μ-GDP
    every P(guess v | v) ≤ Φ(Φ⁻¹(P(guess v | w)) + μ), which is concave, so s ≤ Φ(Φ⁻¹(q) + μ): the largest s that
    satisfies it.

    Where one step takes the secret away, the same holds with the loss of two steps. And in the dataset without the
    secret the guesses are right in 1/V on average, whatever they are, so that s ≤ e^ε/V + δ, or s ≤ Φ(Φ⁻¹(1/V) + μ),
    with the loss of one. The smaller limit counts.

    Examples
    --------
    >>> from fractions import Fraction
    >>> [round(success_limit(Pure(Fraction(e)), 5), 3) for e in ("1/2", 1, 2)]
    [0.292, 0.405, 0.649]
    >>> [round(success_limit(GaussianLoss(Fraction(1, 4)), 5, absent=absent), 3) for absent in (False, True)]
    [0.324, 0.366]
    """
    if values < 2:
        raise UsageError(f"a secret with {values} possible values is none.")
    if not absent:
        return _least(loss, values, _pairwise, _pairwise_gaussian)
    once = _least(loss, values, _from_absent, _from_absent_gaussian)
    try:
        return min(once, _least(loss.for_group(2), values, _pairwise, _pairwise_gaussian))
    except PrivacyError:
        # Some losses have no bound for two steps.
        return once


def limit_of(guarantee: Guarantee | None, *, secret: Secret, values: int) -> float | None:
    """What a proved guarantee leaves to an attacker who sees all that it covers; None where nothing is proved.

    Notes
    -----
    Where users are present or absent, another rating or another record takes two steps: out with the one history, in
    with the other. Where records are, another value takes two and another record one.
    """
    if guarantee is None or guarantee.standing is not Standing.PROVED:
        return None
    unit = guarantee.unit
    if unit.what == "score" or (unit.relation == "value" and secret == "record"):
        return None
    one_step = unit.relation != "add-remove" or (unit.what == "record" and secret == "record")
    return success_limit(guarantee.loss, values, absent=not one_step)


def _least(
    loss: Loss,
    values: int,
    approximate: Callable[[float, float, int], float],
    gaussian: Callable[[float, int], float],
) -> float:
    """The limit in the sense that the loss is stated in; of many (ε, δ), the smallest."""
    if isinstance(loss, GaussianLoss):
        return gaussian(loss.mu, values)
    if isinstance(loss, Pure | Approximate):
        return approximate(float(loss.epsilon), float(loss.delta), values)
    limits = [1.0]
    for delta in DELTAS:
        try:
            epsilon = float(loss.epsilon_at(as_fraction(delta, "delta")))
        except PrivacyError:
            # It is known for larger deltas only.
            continue
        limits.append(approximate(epsilon, delta, values))
    return min(limits)


def _pairwise(epsilon: float, delta: float, values: int) -> float:
    # Divided by e^ε, which may be too large for a float.
    small = math.exp(-epsilon)
    return min(1.0, (1 + (values - 1) * delta * small) / (1 + (values - 1) * small))


def _pairwise_gaussian(mu: float, values: int) -> float:
    from scipy.special import ndtr, ndtri

    low, high = 1 / values, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        allowed = ndtr(ndtri((1 - middle) / (values - 1)) + mu) >= middle
        low, high = (middle, high) if allowed else (low, middle)
    return high


def _from_absent(epsilon: float, delta: float, values: int) -> float:
    return 1.0 if epsilon >= math.log(values) else min(1.0, math.exp(epsilon) / values + delta)


def _from_absent_gaussian(mu: float, values: int) -> float:
    from scipy.special import ndtr, ndtri

    return float(ndtr(ndtri(1 / values) + mu))
