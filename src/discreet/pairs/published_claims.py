"""What was claimed for noise on outputs, what is true, and what many outputs cost.

Sensitivities here are those of one output f_ij, for people with at least T ratings, a threshold φ_m on common raters
and ratings within a range of Δr. ``docs/proofs/pairs.md`` proves the exact ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.common.arguments import require_whole
from discreet.errors import UsageError
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Pure
from discreet.privacy.numbers import round_up, stated
from discreet.privacy.units import Unit

__all__ = [
    "OutputClaim",
    "OutputCost",
    "cosine_claim",
    "exact_cosine_sensitivity",
    "exact_slope_sensitivity",
    "published_cosine_sensitivity",
    "published_slope_sensitivity",
    "slope_claim",
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


@dataclass(frozen=True)
class OutputClaim:
    """The claim of a theorem about one output with noise of scale sensitivity/ε.

    Parameters
    ----------
    epsilon
        What is claimed.
    sensitivity
        Δf as the theorem has it.
    present, value
        How far one record, present or absent, or of another value, can really move an output.
    flaw
        What the proof forgets, before the ε that it costs.
    subject
        What is shown.
    """

    epsilon: Fraction
    sensitivity: Fraction
    present: Fraction
    value: Fraction | None
    flaw: str
    subject: str

    def cost(self, outputs: int) -> OutputCost:
        """What so many outputs cost."""
        require_whole(outputs, "outputs")
        of_one = outputs * self.epsilon / self.sensitivity
        value = None if self.value is None else of_one * self.value
        return OutputCost(outputs, outputs * self.epsilon, value, of_one * self.present)

    def guarantee(self) -> Guarantee:
        """The claim, and what breaks it."""
        found = ["every output is a new one and costs as much again, and all are made on one charge"]
        if self.present > self.sensitivity:
            loss = stated("ε", self.cost(1).present)
            found.insert(0, f"{self.flaw} {loss} (tests/refutations/test_slope_one.py)")
        return Guarantee(
            loss=Pure(self.epsilon),
            unit=PRESENT,
            standing=Standing.REFUTED,
            basis="; ".join(found),
            subject=self.subject,
            not_covered=("further outputs, each of which costs as much again",),
        )


def slope_claim(epsilon: Fraction, least: int, overlap: int, span: Fraction) -> OutputClaim:
    """Theorem 3.1, about Slope One."""
    return OutputClaim(
        epsilon,
        published_slope_sensitivity(least, overlap, span),
        exact_slope_sensitivity(least, overlap, span, PRESENT),
        exact_slope_sensitivity(least, overlap, span, VALUE),
        flaw="one more rating can carry an item over the threshold φ_m with all others at once: at T = 20, φ_m = 10 "
        "and Δr = 5 a prediction moves by 5.0, not 0.5, a loss of 10·ε; with these settings up to",
        subject="one predicted rating",
    )


def cosine_claim(epsilon: Fraction, least: int) -> OutputClaim:
    """Theorem 3.2, about co-purchases, which have no values that could differ."""
    return OutputClaim(
        epsilon,
        published_cosine_sensitivity(least),
        round_up(exact_cosine_sensitivity()),
        None,
        flaw="another person's purchase of the estimated item itself was forgotten: an estimate goes from 0 to 0.7071 "
        "for every T, not by 2/T; at T = 20 a loss of 7.07·ε, with these settings",
        subject="one estimated purchase",
    )


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


def published_cosine_sensitivity(least: int) -> Fraction:
    """Theorem 3.2: 2/T."""
    return Fraction(2, least)


def exact_cosine_sensitivity() -> float:
    """1/√2, whatever T."""
    return math.sqrt(0.5)
