"""What a promise says about the two worlds of a game, and by which number it is measured."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from discreet.errors import PrivacyError
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.losses import Approximate, Concentrated, GaussianLoss, Loss, Pure
from discreet.privacy.numbers import as_probability
from discreet.privacy.units import Unit

__all__ = ["Claim", "Measure", "claim_about"]

Measure = Literal["ε", "μ", "ρ"]

USUAL_DELTA = Fraction(1, 10**6)


@dataclass(frozen=True)
class Claim:
    """A claim about one pair of worlds.

    Parameters
    ----------
    loss
        What the worlds may differ by.
    delta
        At which delta the epsilon of it is stated.
    """

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
        return (
            self
            if self.measure == "ε"
            else Claim(Approximate(self.loss.epsilon_at(self.delta), self.delta), self.delta)
        )

    def __str__(self) -> str:
        at = f" at δ = {float(self.delta):g}" if self.delta else ""
        stated = f"ε = {self.epsilon:.4g}{at}"
        return stated if self.measure == "ε" else f"{self.measure} = {self.value:.4g} ({stated})"


def claim_about(guarantee: Guarantee | None, unit: Unit, *, records: int, delta: Any = None) -> Claim | None:
    """What a promise says about worlds that differ in this unit; None where it says nothing.

    Parameters
    ----------
    guarantee
        The promise.
    unit, records
        What the worlds differ in, and in how many records.
    delta
        The delta that the model was given, for losses that have one epsilon for each.

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
        loss = guarantee.loss.for_group(steps) if steps > 1 else guarantee.loss
        claim = Claim(loss, _delta(loss, delta))
        _ = claim.epsilon
    except PrivacyError:
        return None
    return claim


def _steps(promised: Unit, played: Unit, records: int) -> int | None:
    """How many neighboring steps of the promise lead from the one world to the other."""
    if promised == played:
        return 1
    if promised.what == "group" or played.what == "group":
        return _steps_of_groups(promised, played, records)
    if promised.relation == "add-remove":
        exchanged = 2 if played.relation != "add-remove" else 1
        if promised.what == played.what:
            return exchanged
        # A user is as many records as it has; a record of a user takes the user out and puts another one in.
        return records * exchanged if promised.what == "record" else 2
    if played.relation == "value" and (promised.relation, promised.what) in (
        ("replace", "record"),
        ("replace", "user"),
    ):
        return 1
    return None


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
