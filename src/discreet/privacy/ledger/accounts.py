"""Accounts of a ledger: limits, what was charged, and whether a request fits. Plain values, no database."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import BudgetError, PrivacyError, Remedy, UsageError
from discreet.privacy.accounting import VIEWS, stated_delta
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Loss, Pure
from discreet.privacy.numbers import stated
from discreet.privacy.units import Unit

__all__ = ["Account", "Amount", "Balance", "Estimate", "account_unit"]

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


def account_unit(given: Unit | str) -> Unit:
    """The unit of an account; scores have none, since they are not what people's records say."""
    unit = Unit.of(given)
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
    """What may be lost about the people of one dataset, fixed when the account was opened.

    Attributes
    ----------
    id, name
        Its number in the ledger, and its name.
    limit
        The most that all releases together may lose.
    unit
        Whose secret one step is.
    view
        The view of the losses that the limit is on: "basic", "concentrated" or "pld".
    fingerprints
        The datasets that are charged here.
    opened, who
        When and by whom.
    """

    id: int
    name: str
    limit: Amount
    unit: Unit
    view: str
    fingerprints: tuple[str, ...]
    opened: str
    who: str

    def __str__(self) -> str:
        return f"{self.name}: at most {self.terms}, for {self.unit}"

    @property
    def terms(self) -> str:
        """The limit in words."""
        return f"{self.limit} on {_VIEW_WORDS[self.view]}"

    def loss_of(self, guarantee: Guarantee) -> Loss:
        """What a promise is charged: its loss for the unit of the account.

        A refuted promise is charged nothing, as no charge would cover it.
        """
        if guarantee.standing is Standing.REFUTED:
            return Pure(Fraction(0))
        ways = [guarantee]
        # Those of fewer steps come first.
        for convert in (Guarantee.for_replacement, Guarantee.for_records, Guarantee.for_replacement):
            for known in tuple(ways):
                with suppress(PrivacyError):
                    ways.append(convert(known))
        for way in ways:
            if way.unit == self.unit or _within(self.unit, way.unit):
                return way.loss
            if self.unit.what == "group" and way.unit == Unit("record", self.unit.relation):
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
        }


@dataclass(frozen=True)
class Balance:
    """What an account is charged, as losses with their counts.

    Attributes
    ----------
    settled, unsettled
        The charges of runs that are done, and of runs that are not or never will be.
    """

    account: Account
    settled: tuple[tuple[Loss, int], ...]
    unsettled: tuple[tuple[Loss, int], ...]

    @property
    def losses(self) -> tuple[tuple[Loss, int], ...]:
        return self.settled + self.unsettled

    @property
    def spent(self) -> Amount:
        return self._total(self.settled)

    @property
    def reserved(self) -> Amount:
        """What the unsettled ones add to the settled."""
        return self._total(self.losses) - self.spent

    @property
    def left(self) -> Amount:
        return self.account.limit - self._total(self.losses)

    def after(self, loss: Loss) -> Amount | None:
        """The total with one more loss; None where it would not be finite."""
        try:
            return self._total((*self.losses, (loss, 1)))
        except PrivacyError:
            return None

    def estimate(self, loss: Loss) -> Estimate:
        return Estimate(self.account, loss, self.spent, self.reserved, self.left, self.after(loss))

    def require(self, loss: Loss) -> None:
        """Refuse a loss that does not fit."""
        after = self.after(loss)
        if after is None or not after.within(self.account.limit):
            raise self.estimate(loss).refusal()

    def _total(self, losses: tuple[tuple[Loss, int], ...]) -> Amount:
        """In the view of the account. Where deltas alone pass the limit, epsilon is stated at their sum."""
        delta = stated_delta(losses)
        at = max(delta, self.account.limit.delta)
        if at >= 1:
            raise PrivacyError("a delta of 1 allows everything.")
        return Amount(VIEWS[self.account.view](losses, at).epsilon, delta)


@dataclass(frozen=True)
class Estimate:
    """Whether a request fits an account, found out without spending anything.

    Attributes
    ----------
    account
        The account that would be charged.
    requested
        The loss that would be charged, for the unit of the account.
    spent, reserved
        What is charged already: settled, and on top of that reserved and not settled.
    left
        What the limit leaves. In a view other than "basic" losses add up to less than their sum, so that a
        request a little above this may still fit.
    after
        The total with the request; None where it would have no finite epsilon at the delta of the account.
    """

    account: Account
    requested: Loss
    spent: Amount
    reserved: Amount
    left: Amount
    after: Amount | None

    @property
    def fits(self) -> bool:
        return self.after is not None and self.after.within(self.account.limit)

    @property
    def shortfall(self) -> Amount | None:
        """By how much the total with the request would pass the limit; None where it would not be finite."""
        return None if self.after is None else self.after - self.account.limit

    def __str__(self) -> str:
        verdict = "fits" if self.fits else f"does not fit: {self._excess()}"
        return (
            f"{self.account.name}: requested {self.requested}; left {self.account.text_of_left(self.left)} "
            f"of {self.account.terms}; it {verdict}."
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "account": self.account.name,
            "requested": self.requested.to_json(),
            "spent": self.spent.to_json(),
            "reserved": self.reserved.to_json(),
            "left": self.left.to_json(),
            "shortfall": None if self.shortfall is None else self.shortfall.to_json(),
            "fits": self.fits,
        }

    def refusal(self) -> BudgetError:
        """The error for a request that does not fit."""
        if self.shortfall is None:
            remedy = "Nothing was spent; ask for a mechanism with a pure epsilon, or for less delta."
        else:
            remedy = "Nothing was spent; a smaller request may still fit."
        return BudgetError(str(self), remedy=remedy)

    def _excess(self) -> str:
        short = self.shortfall
        if short is None:
            return "no finite epsilon is known at the delta that would be left"
        parts = {"ε": short.epsilon, "δ": short.delta}
        return f"the shortfall is {', '.join(stated(symbol, part) for symbol, part in parts.items() if part)}"
