"""What a guarantee says about the two datasets of a game, and what it leaves to somebody who guesses a secret."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, Literal

from discreet.errors import PrivacyError, Remedy, UsageError
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Approximate, Concentrated, GaussianLoss, Loss, Pure, add
from discreet.privacy.numbers import Rational, as_fraction, as_positive, as_probability
from discreet.privacy.units import Unit

__all__ = [
    "Claim",
    "ClaimLike",
    "Measure",
    "Secret",
    "as_guarantee",
    "claim_about",
    "limit_of",
    "success_limit",
    "together",
]

Measure = Literal["ε", "μ", "ρ"]
ClaimLike = Guarantee | Loss | Rational | tuple[Rational, Rational]
"""What a caller may say about a model: a guarantee, a loss, epsilon, or epsilon and delta."""

Secret = Literal["rating", "record"]
"""What is guessed: the value of a rating that is known to exist, or whether a record exists."""

USUAL_DELTA = Fraction(1, 10**6)
DELTAS = tuple(10.0**-power for power in range(1, 13))
"""Where a loss holds at every delta, each of these gives a limit; the smallest counts."""


@dataclass(frozen=True)
class Claim:
    """A claim about one pair of datasets: the loss, and the delta at which its epsilon is stated."""

    loss: Loss
    delta: Fraction

    @property
    def epsilon(self) -> float:
        return float(self.loss.epsilon_at(self.delta))

    @property
    def measure(self) -> Measure:
        """The number in which the loss is exact: what is proved about it is compared with the claim."""
        if isinstance(self.loss, GaussianLoss):
            return "μ"
        return "ρ" if isinstance(self.loss, Concentrated) else "ε"

    @property
    def value(self) -> float:
        if isinstance(self.loss, GaussianLoss):
            return self.loss.mu
        return float(self.loss.rho) if isinstance(self.loss, Concentrated) else self.epsilon

    @property
    def slack(self) -> float:
        """The δ inside the measure itself: of (ε, δ), or of approximate zCDP."""
        return float(self.loss.delta) if isinstance(self.loss, Pure | Approximate | Concentrated) else 0.0

    def as_epsilon(self) -> Claim:
        """The same claim as (ε, δ)."""
        if self.measure == "ε":
            return self
        return Claim(Approximate(self.loss.epsilon_at(self.delta), self.delta), self.delta)

    def __str__(self) -> str:
        at = f" at δ = {float(self.delta):g}" if self.delta else ""
        stated = f"ε = {self.epsilon:.4g}{at}"
        return stated if self.measure == "ε" else f"{self.measure} = {self.value:.4g} ({stated})"


def as_guarantee(claim: ClaimLike | None, unit: Unit | str | None = None) -> Guarantee | None:
    """What the caller says that a model promises: a guarantee, a loss, epsilon, or both: (1, "1e-6"), "1, 1e-6".

    Examples
    --------
    >>> print(as_guarantee((1, "1e-6"), "record").unit)
    one record, present or absent
    >>> as_guarantee("1").loss
    Pure(epsilon=Fraction(1, 1))
    """
    if claim is None or isinstance(claim, Guarantee):
        if unit is not None:
            said = "a guarantee names its own unit" if claim is not None else "there is no claim"
            raise UsageError(
                f"unit = {str(unit)!r} has no effect: {said}.",
                remedy=Remedy("Give claim= a number, or no unit.", cli="Give --claim a number, or leave --unit out."),
            )
        return claim
    loss = claim if isinstance(claim, Loss) else _loss(claim)
    basis = "claimed by whoever audits"
    return Guarantee(loss, Unit.of(unit or "user"), Standing.AS_PUBLISHED, basis, "what the model shows")


def _loss(claim: Any) -> Loss:
    given = claim.split(",") if isinstance(claim, str) else claim
    numbers = list(given) if isinstance(given, tuple | list) else [given]
    if not 1 <= len(numbers) <= 2:
        raise UsageError(f"claim = {claim!r} is not understood.", remedy="Give epsilon, or epsilon and delta.")
    epsilon = as_positive(numbers[0], "claim")
    if len(numbers) == 1:
        return Pure(epsilon)
    delta = as_probability(numbers[1], "delta of the claim")
    return Approximate(epsilon, delta) if delta else Pure(epsilon)


def claim_about(
    guarantee: Guarantee | None, unit: Unit, *, records: int, delta: Any = None, fits: int = 1
) -> Claim | None:
    """What a guarantee says about datasets that differ in this unit, and in so many records; None for nothing.

    ``delta`` is the one that the model was given, for losses that have one epsilon for each. An attacker who sees
    ``fits`` releases of the same records is held to their losses together.

    Examples
    --------
    >>> from discreet.privacy.guarantees import Standing
    >>> promise = Guarantee(Pure(Fraction(1)), Unit("record"), Standing.PROVED, "a theorem", "a number")
    >>> print(claim_about(promise, Unit("user"), records=3))
    ε = 3
    """
    if guarantee is None:
        return None
    steps = _steps(guarantee.unit, unit, records)
    if steps is None:
        return None
    try:
        loss = together(guarantee.loss.for_group(steps) if steps > 1 else guarantee.loss, fits)
        claim = Claim(loss, _delta(loss, delta))
        _ = claim.epsilon
    except PrivacyError:
        return None
    return claim


def together(loss: Loss, fits: int) -> Loss:
    """The loss of so many releases of the same records, each of which may depend on the earlier ones.

    Examples
    --------
    >>> print(together(Pure(Fraction(1)), 3))
    ε = 3
    """
    return reduce(add, [loss] * fits)


def _steps(promised: Unit, played: Unit, records: int) -> int | None:
    """How many neighboring steps of the guarantee lead from the one dataset to the other."""
    if promised == played:
        return 1
    if "score" in (promised.what, played.what):
        return None
    if promised.what == "group" or played.what == "group":
        return _steps_of_groups(promised, played, records)
    if promised.relation == "add-remove":
        exchanged = 2 if played.relation != "add-remove" else 1
        if promised.what == played.what:
            return exchanged
        # A user is as many records as it has; a record of a user takes the user out and puts another one in.
        return records * exchanged if promised.what == "record" else 2
    replaced = promised.relation == "replace" and promised.what in ("record", "user")
    return 1 if replaced and played.relation == "value" else None


def _steps_of_groups(promised: Unit, played: Unit, records: int) -> int | None:
    """A group that is replaced is one step of a promise about groups as large, and a step a row of one about rows."""
    if "user" in (promised.what, played.what) or promised.relation != "replace" or played.relation == "add-remove":
        return None
    if promised.what == "group" and (played.what == "record" or played.size <= promised.size):
        return 1
    return records


def _delta(loss: Loss, given: Any) -> Fraction:
    if isinstance(loss, Pure | Approximate):
        return loss.delta
    chance = USUAL_DELTA if given is None else as_probability(given)
    return chance if chance > 0 else USUAL_DELTA


# What a guarantee leaves to every attacker who guesses one of V equally likely values


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
