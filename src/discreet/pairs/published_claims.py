"""What was claimed for noise on outputs, what is true, and what many outputs cost.

Sensitivities here are those of one output f_ij, for people with at least T ratings, a threshold φ_m on common raters
and ratings within a range of Δr. ``docs/proofs/pairs.md`` proves the exact ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import UsageError
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Pure
from discreet.privacy.numbers import round_up, stated
from discreet.privacy.units import Unit

__all__ = [
    "OutputCost",
    "cosine_cost",
    "cosine_promise",
    "exact_cosine_sensitivity",
    "exact_slope_sensitivity",
    "published_cosine_sensitivity",
    "published_slope_sensitivity",
    "slope_cost",
    "slope_promise",
]

PRESENT, VALUE = Unit("record"), Unit("record", "value")


@dataclass(frozen=True)
class OutputCost:
    """What a number of outputs costs.

    Attributes
    ----------
    outputs
        How many.
    claimed
        The ε of the paper, for all of them together: its ε is for one.
    value
        An ε that is kept where only the value of one record is secret; None where records have no values.
    present
        The ε that one record, present or absent, can cost: each output can be moved by its exact sensitivity at once.
    """

    outputs: int
    claimed: Fraction
    value: Fraction | None
    present: Fraction

    def __str__(self) -> str:
        parts = [f"claimed {stated('ε', self.claimed)}"]
        if self.value is not None:
            parts.append(f"at most {stated('ε', self.value)} for {VALUE}")
        parts.append(f"up to {stated('ε', self.present)} for {PRESENT}")
        return f"{self.outputs:,} outputs: {'; '.join(parts)}"


# Slope One


def published_slope_sensitivity(least: int, overlap: int, span: Fraction) -> Fraction:
    """Theorem 3.1: max(Δr/T·(1 + 2/φ_m), Δr/φ_m).

    Examples
    --------
    >>> published_slope_sensitivity(20, 10, Fraction(5))
    Fraction(1, 2)
    """
    return max(span / least * (1 + Fraction(2, overlap)), span / overlap)


def exact_slope_sensitivity(least: int, overlap: int, span: Fraction, unit: Unit) -> Fraction:
    """What one step can really do to one output.

    A record present or absent: max(Δr, 3Δr/(T + 1)). A record of another value: max(Δr/T, Δr/(φ_m + 1)).

    Examples
    --------
    >>> exact_slope_sensitivity(20, 10, Fraction(5), Unit("record"))
    Fraction(5, 1)
    """
    if unit == PRESENT:
        return max(span, 3 * span / (least + 1))
    if unit == VALUE:
        return max(span / least, span / (overlap + 1))
    raise UsageError(f"the sensitivity of an output is not known for {unit}.")


def slope_cost(outputs: int, epsilon: Fraction, least: int, overlap: int, span: Fraction) -> OutputCost:
    """What so many predictions with noise of scale Δf/ε cost."""
    claimed = published_slope_sensitivity(least, overlap, span)
    price = _price(outputs, epsilon, claimed)
    return OutputCost(
        outputs=outputs,
        claimed=outputs * epsilon,
        value=price(exact_slope_sensitivity(least, overlap, span, VALUE)),
        present=price(exact_slope_sensitivity(least, overlap, span, PRESENT)),
    )


def slope_promise(epsilon: Fraction, least: int, overlap: int, span: Fraction) -> Guarantee:
    """The claim of Theorem 3.1, and what breaks it."""
    one = slope_cost(1, epsilon, least, overlap, span)
    found = []
    if one.present > epsilon:
        found.append(
            "one more rating can carry an item over the threshold φ_m with all others at once: at T = 20, φ_m = 10 and "
            "Δr = 5 a prediction moves by 5.0, not 0.5, a loss of 10·ε; with these settings up to "
            f"{stated('ε', one.present)} (tests/refutations/test_slope_one.py)"
        )
    return _refuted(epsilon, [*found, _MANY], "one predicted rating")


# Co-purchases


def published_cosine_sensitivity(least: int) -> Fraction:
    """Theorem 3.2: 2/T."""
    return Fraction(2, least)


def exact_cosine_sensitivity() -> float:
    """1/√2, whatever T."""
    return math.sqrt(0.5)


def cosine_cost(outputs: int, epsilon: Fraction, least: int) -> OutputCost:
    """What so many estimates with noise of scale 2/(T·ε) cost; purchases have no values that could differ."""
    price = _price(outputs, epsilon, published_cosine_sensitivity(least))
    return OutputCost(outputs, outputs * epsilon, None, price(round_up(exact_cosine_sensitivity())))


def cosine_promise(epsilon: Fraction, least: int) -> Guarantee:
    """The claim of Theorem 3.2, and what breaks it."""
    one = cosine_cost(1, epsilon, least)
    found = []
    if one.present > epsilon:
        found.append(
            "another person's purchase of the estimated item itself was forgotten: an estimate goes from 0 to 0.7071 "
            f"for every T, not by 2/T; at T = 20 a loss of 7.07·ε, with these settings {stated('ε', one.present)} "
            "(tests/refutations/test_slope_one.py)"
        )
    return _refuted(epsilon, [*found, _MANY], "one estimated purchase")


_MANY = "every output is a new one and costs as much again, and all are made on one charge"


def _price(outputs: int, epsilon: Fraction, claimed: Fraction) -> Callable[[Fraction], Fraction]:
    """What outputs with noise for the claimed sensitivity cost, by the true one."""
    if isinstance(outputs, bool) or not isinstance(outputs, int) or outputs < 1:
        raise UsageError(f"outputs = {outputs!r} must be a whole number from 1.")
    return lambda true: outputs * epsilon * true / claimed


def _refuted(epsilon: Fraction, errors: list[str], subject: str) -> Guarantee:
    return Guarantee(
        loss=Pure(epsilon),
        unit=PRESENT,
        standing=Standing.REFUTED,
        basis="; ".join(errors),
        subject=subject,
        not_covered=("further outputs, each of which costs as much again",),
    )
