"""Guarantees: what was promised, for whom, on what grounds, and what was not."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import reduce
from typing import Any

from discreet.errors import PrivacyError, UsageError
from discreet.privacy.bounding import BoundedInteractions
from discreet.privacy.losses import Approximate, Loss, Pure, add, loss_from_json
from discreet.privacy.numbers import Rational, as_probability, plain
from discreet.privacy.shown import Shown
from discreet.privacy.units import Unit

__all__ = ["Guarantee", "Standing", "guarantee_of_released"]

LONGEST = 160
"""Characters of a guarantee in one line."""

USUAL_DELTA = Fraction(1, 10**6)
"""Where losses without a delta of their own are stated as odds."""


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
class Guarantee(Shown):
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
    per_period
        What the promise comes to for a user's records of one calendar period, in words; empty where no account per
        period was charged.

    Examples
    --------
    >>> from discreet.privacy.losses import Pure
    >>> from fractions import Fraction
    >>> promise = Guarantee(Pure(Fraction(1, 2)), Unit(), Standing.PROVED, "Laplace mechanism", "a noisy total")
    >>> print(promise)
    PROVED: ε = 0.5 for the whole history of one user, present or absent; released: a noisy total
    """

    loss: Loss
    unit: Unit
    standing: Standing
    basis: str
    subject: str
    caps: tuple[str, ...] = ()
    not_covered: tuple[str, ...] = ()
    joint: bool = False
    per_period: str = ""

    def __post_init__(self) -> None:
        if not self.basis:
            raise UsageError("a guarantee needs its theorem, its claim or its counterexample.")

    def __str__(self) -> str:
        opening = {
            Standing.PROVED: f"PROVED: {self.loss}",
            Standing.AS_PUBLISHED: f"AS PUBLISHED, not proved: {self.loss} is claimed",
            Standing.REFUTED: f"REFUTED: {self.loss} was claimed, which does not hold,",
        }[self.standing]
        line = f"{opening} for {self.unit}; released: {self.subject}"
        return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"

    def describe(self) -> str:
        """The guarantee in labelled lines: what was released, who is protected, how strongly, what is not covered.

        Examples
        --------
        >>> from discreet.privacy.losses import Pure
        >>> from fractions import Fraction
        >>> print(Guarantee(Pure(Fraction(1)), Unit(), Standing.PROVED, "Theorem 2", "a noisy total").describe())
        released:    a noisy total
        protected:   the whole history of one user, present or absent
        strength:    ε = 1. Even odds of a guess about it become at most 2.72 to 1.
        not covered: nothing is named
        proved by:   Theorem 2
        """
        protected = str(self.unit) + (f", after {_listed(self.caps)}" if self.caps else "")
        if self.joint:
            protected += "; against all others together, since a person's own results also use that person's records"
        grounds = {Standing.PROVED: "proved by", Standing.AS_PUBLISHED: "claimed by", Standing.REFUTED: "refuted by"}
        lines = {
            "released": self.subject,
            "protected": protected,
            "strength": self._strength(),
            **({"per period": self.per_period} if self.per_period else {}),
            "not covered": _listed(self.not_covered) if self.not_covered else "nothing is named",
            grounds[self.standing]: self.basis,
        }
        return "\n".join(f"{label + ':':<12} {text}" for label, text in lines.items())

    def _strength(self) -> str:
        if self.standing is Standing.REFUTED:
            return f"none. {self.loss} was claimed, which does not hold."
        if self.standing is Standing.AS_PUBLISHED:
            return f"{self.loss} is claimed by the paper and not proved here."
        stated = getattr(self.loss, "delta", Fraction(0)) or USUAL_DELTA
        delta: Fraction = Fraction(0) if isinstance(self.loss, Pure) else stated
        try:
            epsilon = float(self.loss.epsilon_at(delta))
        except PrivacyError:
            return f"{self.loss}."
        odds = f"{math.exp(epsilon):,.3g}" if epsilon < math.log(1e6) else "a million or more"
        but = f", except with probability {plain(delta)}" if delta else ""
        return f"{self.loss}. Even odds of a guess about it become at most {odds} to 1{but}."

    # Composition

    def compose(self, *others: Guarantee) -> Guarantee:
        """The promise about all of them together: losses add, the weakest standing holds."""
        together = (self, *others)
        units = {g.unit for g in together}
        if len(units) > 1:
            raise PrivacyError(
                f"promises for {_listed(sorted(map(str, units)))} do not add up.",
                remedy="Bring them to one unit first: for_users(bounded), for_replacement(), for_group(k).",
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

    # The same mechanism, another unit

    def for_group(self, steps: int) -> Guarantee:
        """The promise for so many neighboring steps at once (group privacy)."""
        if steps < 1:
            raise UsageError(f"steps must be at least 1, got {steps}.")
        group = f"group privacy, {steps} steps"
        return replace(self, loss=self.loss.for_group(steps), basis=f"{self.basis}; {group}") if steps > 1 else self

    def for_users(self, bounded: BoundedInteractions) -> Guarantee:
        """From one record to one user: as many steps as bounding left each user records.

        Parameters
        ----------
        bounded
            What ``cap_records`` or ``cap_items`` made, and what the mechanism was given. A number is not accepted:
            nothing would show that the records were held to it.
        """
        if not isinstance(bounded, BoundedInteractions):
            raise UsageError(
                f"the most records of a user is not known from {bounded!r}: nothing shows that they were held to it.",
                remedy="Give what bounding made and the mechanism was run on: for_users(cap_records(data, 10)).",
            )
        if self.unit.what != "record" or self.unit.relation != "add-remove":
            raise PrivacyError(f"this promise is for {self.unit}, not for one record present or absent.")
        if bounded.records.records_per_user.max(initial=0) > bounded.most_records:
            raise UsageError("a user has more records than this says.", remedy="Take what cap_records made.")
        caps = bounded.caps or (f"each user has at most {bounded.most_records} records",)
        return replace(self.for_group(bounded.most_records), unit=Unit("user"), caps=(*self.caps, *caps))

    def for_records(self) -> Guarantee:
        """From one user, or from one group, to one of its records.

        Where users or groups may be present or absent, a record more or less takes two steps: out with the one history
        or group, in with the other. Where users may only be replaced, a record more or less could make or remove a
        user, which nothing is promised about; what follows is a promise about the value of a record. A group that may
        be replaced has as many records afterwards, so each of them may be replaced.
        """
        if self.unit.what not in ("user", "group"):
            raise PrivacyError(f"this promise is for {self.unit}, not for a user or a group.")
        if self.unit.relation == "add-remove":
            return replace(self.for_group(2), unit=Unit("record"))
        if self.unit.what == "user":
            return replace(self, unit=Unit("record", "value"))
        return replace(self, unit=Unit("record", self.unit.relation))

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
            **({"per_period": self.per_period} if self.per_period else {}),
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
                per_period=data.get("per_period", ""),
            )
        except (KeyError, TypeError) as error:
            raise UsageError(f"this is not a guarantee: {error}.") from error


def _listed(parts: Iterable[str]) -> str:
    *most, last = tuple(parts)
    return f"{', '.join(most)} and {last}" if most else last


def _distinct(parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(parts))


def guarantee_of_released(data: object) -> Guarantee | None:
    """The guarantee of records that were released themselves: what is made of them is post-processing, and keeps it."""
    released = getattr(data, "released", None)
    return None if released is None else Guarantee.from_json(released["guarantee"])
