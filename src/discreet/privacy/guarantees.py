"""Guarantees: what was promised, for whom, on what grounds, and what was not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from functools import reduce
from typing import Any

from discreet.errors import PrivacyError, UsageError
from discreet.privacy.losses import Approximate, Loss, add, loss_from_json
from discreet.privacy.numbers import Rational, as_probability
from discreet.privacy.units import Unit

__all__ = ["Guarantee", "Standing"]


class Standing(Enum):
    """How well a guarantee is founded."""

    PROVED = "proved"
    AS_PUBLISHED = "as published"
    REFUTED = "refuted"

    @property
    def rank(self) -> int:
        """0 for the strongest."""
        return list(Standing).index(self)


@dataclass(frozen=True)
class Guarantee:
    """One promise, complete: it can be read alone.

    Parameters
    ----------
    loss
        How much one neighboring step can change.
    unit
        What a neighboring step is.
    standing
        PROVED, AS_PUBLISHED (claimed by a paper, proved by nobody here) or REFUTED.
    basis
        The theorem, the paper's claim, or the counterexample.
    subject
        What was released, as a noun phrase: "noisy counts of 400 items".
    caps
        The limits applied before the mechanism, as phrases.
    not_covered
        What the promise does not extend to, as phrases.
    joint
        Whether each person's own results also use that person's own records; the promise is then about what all
        *others* together see.

    Examples
    --------
    >>> from discreet.privacy.losses import Pure
    >>> from fractions import Fraction
    >>> promise = Guarantee(Pure(Fraction(1, 2)), Unit(), Standing.PROVED, "Laplace mechanism", "a noisy total")
    >>> print(promise)
    PROVED (Laplace mechanism): releasing a noisy total keeps ε = 0.5
    for the whole history of one user, present or absent.
    """

    loss: Loss
    unit: Unit
    standing: Standing
    basis: str
    subject: str
    caps: tuple[str, ...] = ()
    not_covered: tuple[str, ...] = ()
    joint: bool = False

    def __post_init__(self) -> None:
        if not self.basis:
            raise UsageError("a guarantee needs its theorem, its claim or its counterexample.")

    def __str__(self) -> str:
        if self.standing is Standing.REFUTED:
            opening = f"REFUTED ({self.basis}): for {self.subject} {self.loss} was claimed, which does not hold, for"
        elif self.standing is Standing.AS_PUBLISHED:
            opening = f"AS PUBLISHED, not proved ({self.basis}): for {self.subject} {self.loss} is claimed for"
        else:
            opening = f"PROVED ({self.basis}): releasing {self.subject} keeps {self.loss} for"
        parts = [f"{opening} {self.unit}"]
        if self.caps:
            parts.append(f", after {_listed(self.caps)}")
        if self.joint:
            parts.append(", against all others together (a person's own results also use that person's own records)")
        if self.not_covered:
            parts.append(f"; not covered: {_listed(self.not_covered)}")
        return "".join(parts) + "."

    # Composition and comparison

    def compose(self, *others: Guarantee) -> Guarantee:
        """The promise about all of them together: losses add, the weakest standing holds."""
        together = (self, *others)
        units = {g.unit for g in together}
        if len(units) > 1:
            raise PrivacyError(
                f"promises for {_listed(sorted(map(str, units)))} do not add up.",
                remedy="Bring them to one unit first: for_users(cap), for_replacement(), for_group(k).",
            )
        return Guarantee(
            loss=reduce(add, [g.loss for g in together]),
            unit=self.unit,
            standing=max((g.standing for g in together), key=lambda s: s.rank),
            basis="; ".join(_distinct(g.basis for g in together)),
            subject=_listed(_distinct(g.subject for g in together)),
            caps=_distinct(cap for g in together for cap in g.caps),
            not_covered=_distinct(gap for g in together for gap in g.not_covered),
            joint=any(g.joint for g in together),
        )

    def implies(self, other: Guarantee) -> bool:
        """Whether this promise is at least as strong: same unit, no weaker standing, no larger loss."""
        return (
            self.unit == other.unit
            and self.standing.rank <= other.standing.rank
            and (other.joint or not self.joint)
            and self.loss.stays_within(other.loss)
        )

    # The same mechanism, another unit

    def for_group(self, steps: int) -> Guarantee:
        """The promise for so many neighboring steps at once (group privacy)."""
        if steps < 1:
            raise UsageError(f"a group of {steps}?")
        group = f"group privacy, {steps} steps"
        return replace(self, loss=self.loss.for_group(steps), basis=f"{self.basis}; {group}") if steps > 1 else self

    def for_users(self, cap: int) -> Guarantee:
        """From one record to one user of at most ``cap`` records: that many steps."""
        if self.unit.what != "record" or self.unit.relation != "add-remove":
            raise PrivacyError(f"this promise is for {self.unit}, not for one record present or absent.")
        lifted = self.for_group(cap)
        return replace(lifted, unit=Unit("user"), caps=(*self.caps, f"each user was held to {cap} records"))

    def for_records(self) -> Guarantee:
        """From one user to one record of a user.

        Where users may be present or absent, a record more or less takes two steps: out with the one history, in with
        the other. Where users may only be replaced, a record more or less could make or remove a user, which nothing is
        promised about; what follows is a promise about the value of a record.
        """
        if self.unit.what != "user":
            raise PrivacyError(f"this promise is for {self.unit}, not for a user.")
        if self.unit.relation == "replace":
            return replace(self, unit=Unit("record", "value"))
        return replace(self.for_group(2), unit=Unit("record"))

    def for_replacement(self) -> Guarantee:
        """From present-or-absent to replaced: two steps."""
        if self.unit.relation != "add-remove":
            raise PrivacyError(
                f"this promise is for {self.unit}.",
                remedy="Only present-or-absent turns into replaced; the other way there is no bound.",
            )
        return replace(self.for_group(2), unit=Unit(self.unit.what, "replace", self.unit.size))

    def at_delta(self, delta: Rational) -> Guarantee:
        """The same promise stated as (ε, δ)."""
        at = as_probability(delta)
        return replace(self, loss=Approximate(self.loss.epsilon_at(at), at))

    # On paper

    def to_json(self) -> dict[str, Any]:
        return {
            "loss": self.loss.to_json(),
            "unit": self.unit.to_json(),
            "standing": self.standing.name,
            "basis": self.basis,
            "subject": self.subject,
            "caps": list(self.caps),
            "not_covered": list(self.not_covered),
            "joint": self.joint,
            "sentence": str(self),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Guarantee:
        """The inverse of ``to_json``; the sentence is written anew."""
        try:
            return cls(
                loss=loss_from_json(data["loss"]),
                unit=Unit(**data["unit"]),
                standing=Standing[data["standing"]],
                basis=data["basis"],
                subject=data["subject"],
                caps=tuple(data["caps"]),
                not_covered=tuple(data["not_covered"]),
                joint=data["joint"],
            )
        except (KeyError, TypeError) as error:
            raise UsageError(f"this is not a guarantee: {error}.") from error


def _listed(parts: Iterable[str]) -> str:
    *most, last = tuple(parts)
    return f"{', '.join(most)} and {last}" if most else last


def _distinct(parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(parts))
