"""Accounts of a ledger: limits, units, and what a promise costs. Plain values, no database."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import Any

from discreet.data.periods import Period, Window, period_at, require_per
from discreet.errors import PrivacyError, Remedy, UsageError
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Loss, Pure
from discreet.privacy.numbers import stated
from discreet.privacy.units import Unit

__all__ = ["Account", "Amount", "Price", "account_unit"]

_VIEW_WORDS = {
    "basic": "the basic sum",
    "concentrated": "the sum in zCDP",
    "gaussian": "the sum in GDP",
    "pld": "the tight sum (PLD)",
}


@dataclass(frozen=True)
class Amount:
    """So much epsilon and so much delta."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __str__(self) -> str:
        return stated("ε", self.epsilon) + (f", {stated('δ', self.delta)}" if self.delta else "")

    def __sub__(self, other: Amount) -> Amount:
        """The difference, nowhere below zero."""
        zero = Fraction(0)
        return Amount(max(self.epsilon - other.epsilon, zero), max(self.delta - other.delta, zero))

    def within(self, limit: Amount) -> bool:
        return self.epsilon <= limit.epsilon and self.delta <= limit.delta

    def to_json(self) -> dict[str, str]:
        return {"epsilon": str(self.epsilon), "delta": str(self.delta)}


@dataclass(frozen=True)
class Price:
    """What one release costs an account.

    Attributes
    ----------
    loss
        For the unit of the account; in an account per period, what each of the periods is charged.
    whole
        For a user's whole history: what the lifetime total is charged.
    periods
        The periods that are charged; empty in an account without periods.
    """

    loss: Loss
    whole: Loss
    periods: tuple[Period, ...] = ()


def account_unit(given: Unit | str, per: str | None = None) -> Unit:
    """The unit of an account; scores have none, since they are not what people's records say."""
    unit = Unit.of(given)
    if per is not None:
        if unit.period not in (None, per):
            raise UsageError(f"the unit is per {unit.period}, and the account per {per}.")
        unit = replace(unit, period=require_per(per))
    if unit.what == "score":
        raise UsageError(
            "a ledger keeps no account of scores: a promise about a score says nothing about the records behind it.",
            remedy='Open the account for "user" or "record".',
        )
    return unit


def _within(unit: Unit, promised: Unit) -> bool:
    """Whether a promise covers groups of at most so many records, where the groups of the data are no larger."""
    return unit.what == promised.what == "group" and promised.relation == unit.relation and unit.size <= promised.size


@dataclass(frozen=True)
class Account:
    """What may be lost about the people of one population, fixed when the account was opened.

    Attributes
    ----------
    id, name
        Its number in the ledger, and the name of the population.
    limit
        The most that all releases together may lose; in an account per period, about each period.
    unit
        Whose secret one step is.
    view
        The view of the losses that the limit is on: "basic", "concentrated" or "pld".
    fingerprints
        The datasets that are charged here.
    opened, who
        When and by whom.
    time_zone
        Where the days of its periods begin; None in an account without periods.
    lifetime
        The most that may be lost about all periods together; None where it is not limited.
    marks
        How else the fingerprints are known (``families``).
    """

    id: int
    name: str
    limit: Amount
    unit: Unit
    view: str
    fingerprints: tuple[str, ...]
    opened: str
    who: str
    time_zone: str | None = None
    lifetime: Amount | None = None
    marks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}: at most {self.terms}, for {self.unit}"

    @property
    def terms(self) -> str:
        """The limit in words."""
        per = f" per {self.unit.period} ({self.time_zone})" if self.unit.period else ""
        lifetime = "" if self.lifetime is None else f", lifetime {self.lifetime}"
        return f"{self.limit} on {_VIEW_WORDS[self.view]}{per}{lifetime}"

    def period_of(self, moment: datetime) -> Period | None:
        """The period of the account that a moment lies in; None in an account without periods."""
        if self.unit.period is None:
            return None
        return period_at(moment.timestamp(), self.unit.period, self.time_zone or "UTC")

    def price_of(self, guarantee: Guarantee, window: Window | None = None) -> Price:
        """What a promise is charged (``docs/proofs/periods.md``).

        In an account per period, data within one period cost that period what the promise costs a user. Data over
        several periods cost each of them two steps: a history without one period's records is another history.

        Parameters
        ----------
        window
            The declared window of the data; accounts per period need it.
        """
        whole = self.loss_of(guarantee)
        if self.unit.period is None:
            return Price(whole, whole)
        if window is None:
            raise PrivacyError(
                f"the account {self.name!r} is kept per {self.unit.period}, and the data have no declared window of "
                "time; data without times cannot be charged to it.",
                remedy=Remedy(
                    'Read them with a window: read(…, window="2026-11", time_zone="UTC"). Data without times belong to '
                    "no period: charge them to an account without periods, in a ledger of its own.",
                    cli="Declare the days that the data are about: --window 2026-11 --time-zone UTC. Data without "
                    "times belong to no period: charge them to an account without periods, in a ledger of its own.",
                ),
            )
        periods = window.periods(self.unit.period, self.time_zone)
        return Price(whole if len(periods) == 1 else whole.for_group(2), whole, periods)

    def loss_of(self, guarantee: Guarantee) -> Loss:
        """What a promise is charged: its loss for the unit of the account, whatever the period.

        A refuted promise is charged nothing, as no charge would cover it.
        """
        if guarantee.standing is Standing.REFUTED:
            return Pure(Fraction(0))
        unit, ways = replace(self.unit, period=None), [guarantee]
        # Those of fewer steps come first.
        for convert in (Guarantee.for_replacement, Guarantee.for_records, Guarantee.for_replacement):
            for known in tuple(ways):
                with suppress(PrivacyError):
                    ways.append(convert(known))
        for way in ways:
            if way.unit == unit or _within(unit, way.unit):
                return way.loss
            if unit.what == "group" and way.unit == Unit("record", unit.relation):
                # A group that changes is so many records that change.
                return way.for_group(self.unit.size).loss
        if guarantee.unit == Unit("record") and self.unit.what == "user":
            remedy = Remedy(
                "Hold each user to a number of records and convert the promise: guarantee.for_users(bounded).",
                cli="Choose a method or --unit that protects whole users.",
            )
        elif guarantee.unit.what == "score":
            remedy = (
                "Nothing about records follows from it. Protect whole rows (protects='row'), or leave the ledger out."
            )
        else:
            remedy = Remedy(
                "Convert the promise to that unit first, or keep another account for its own: "
                f'Ledger(…).open(data, epsilon=…, unit="{guarantee.unit.code}").',
                cli=f"Keep an account for that unit in another ledger: discreet ledger open DATA --epsilon … --unit "
                f"{guarantee.unit.code} --ledger ….",
            )
        raise PrivacyError(
            f"the promise is for {guarantee.unit}; the account {self.name!r} is kept for {self.unit}.", remedy=remedy
        )

    def text_of_left(self, left: Amount) -> str:
        """What is left, rounded down, so that asking for it never asks for too much."""
        text = stated("ε", left.epsilon, down=True)
        return f"{text}, {stated('δ', left.delta, down=True)}" if self.limit.delta else text

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "limit": self.limit.to_json(),
            "unit": self.unit.code,
            "view": self.view,
            "opened": self.opened,
            "who": self.who,
            "time_zone": self.time_zone,
            "lifetime": None if self.lifetime is None else self.lifetime.to_json(),
        }
