"""What an account is charged, and whether a request fits. Plain values, no database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.data.periods import Period
from discreet.errors import OverLimitError, PrivacyError
from discreet.privacy.accounting import VIEWS, LossCount, stated_delta
from discreet.privacy.ledger.accounts import Account, Amount, Price
from discreet.privacy.losses import Approximate, Concentrated, GaussianLoss, Loss, Pure
from discreet.privacy.numbers import stated

__all__ = ["MARKS", "Balance", "Estimate", "refused", "warnings_of"]

MARKS = (Fraction(9, 10), Fraction(3, 4))
"""The shares of a limit at which a ledger warns, the largest first."""

MOST_NAMED = 8
"""Of the entries that a refusal names."""


@dataclass(frozen=True)
class Balance:
    """What an account is charged, as losses with their counts: all of it, one period, or the lifetime.

    Attributes
    ----------
    settled, unsettled
        The charges of runs that are done, and of runs that are not or never will be.
    period
        The period that these are the charges of; None for all.
    lifetime
        Whether these are the losses for whole histories, in an account per period.
    """

    account: Account
    settled: tuple[tuple[Loss, int], ...]
    unsettled: tuple[tuple[Loss, int], ...]
    period: Period | None = None
    lifetime: bool = False

    @property
    def losses(self) -> tuple[tuple[Loss, int], ...]:
        return self.settled + self.unsettled

    @property
    def limit(self) -> Amount | None:
        """None where there is none: a lifetime need not be limited."""
        return self.account.lifetime if self.lifetime else self.account.limit

    @property
    def where(self) -> str:
        """What the limit is about, in words; empty in an account without periods."""
        if self.lifetime:
            return " in all periods together (lifetime)"
        return "" if self.period is None else f" in {self.period}"

    @property
    def total(self) -> Amount:
        return self._total(self.losses)

    @property
    def spent(self) -> Amount:
        return self._total(self.settled)

    @property
    def reserved(self) -> Amount:
        """What the unsettled ones add to the settled."""
        return self.total - self.spent

    @property
    def left(self) -> Amount:
        return self.total if self.limit is None else self.limit - self.total

    @property
    def share(self) -> Fraction:
        """How much of the limit is charged, from 0 to 1; the larger of the shares of epsilon and of stated delta."""
        limit, total = self.limit, self.total
        if limit is None:
            return Fraction(0)
        of_delta = total.delta / limit.delta if limit.delta else Fraction(0)
        return max(total.epsilon / limit.epsilon, of_delta)

    def cost(self, price: Price) -> Loss:
        """What a release costs here."""
        return price.whole if self.lifetime else price.loss

    def with_(self, price: Price) -> Balance:
        """The balance after one more release."""
        return replace(self, unsettled=(*self.unsettled, (self.cost(price), 1)))

    def after(self, loss: Loss) -> Amount | None:
        """The total with one more loss; None where it would not be finite."""
        try:
            return self._total((*self.losses, (loss, 1)))
        except PrivacyError:
            return None

    def fits(self, loss: Loss) -> bool:
        """Whether one more loss stays within the limit."""
        if self.limit is None:
            return True
        after = self.after(loss)
        return after is not None and after.within(self.limit)

    def estimate(self, loss: Loss) -> Estimate:
        return Estimate(
            self.account, loss, self.spent, self.reserved, self.left, self.after(loss), self.limit, self.where
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "period": "lifetime" if self.lifetime else str(self.period),
            "limit": None if self.limit is None else self.limit.to_json(),
            "spent": self.spent.to_json(),
            "reserved": self.reserved.to_json(),
            "left": None if self.limit is None else self.left.to_json(),
            "share": float(self.share),
        }

    def _total(self, losses: Sequence[LossCount]) -> Amount:
        """In the view of the account. Where deltas alone pass the limit, epsilon is stated at their sum."""
        delta = stated_delta(losses)
        # A lifetime without a limit is stated at the delta of a period beside the deltas that are stated already.
        at = delta + self.account.limit.delta if self.limit is None else max(delta, self.limit.delta)
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
    limit
        The limit that is compared with: that of the account or of its lifetime; None where there is none.
    where
        In an account per period: the period, or that it is about the lifetime.
    """

    account: Account
    requested: Loss
    spent: Amount
    reserved: Amount
    left: Amount
    after: Amount | None
    limit: Amount | None
    where: str = ""

    @property
    def fits(self) -> bool:
        return self.limit is None or (self.after is not None and self.after.within(self.limit))

    @property
    def shortfall(self) -> Amount | None:
        """By how much the total with the request would pass the limit; None where it would not be finite."""
        return None if self.after is None or self.limit is None else self.after - self.limit

    def __str__(self) -> str:
        verdict = "fits" if self.fits else f"does not fit: {self._excess()}"
        return (
            f"{self.account.name}: requested {self.requested}{self.where}; left {self.account.text_of_left(self.left)} "
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
            "where": self.where.strip(),
        }

    def _excess(self) -> str:
        short = self.shortfall
        if short is None:
            return "no finite epsilon is known at the delta that would be left"
        parts = {"ε": short.epsilon, "δ": short.delta}
        return f"the shortfall is {', '.join(stated(symbol, part) for symbol, part in parts.items() if part)}"


def refused(balance: Balance, price: Price, balances: Sequence[Balance], entries: Sequence[int]) -> OverLimitError:
    """The error for a request that does not fit: what blocks it, what still fits, when the next period begins.

    Parameters
    ----------
    balance
        The one that it does not fit in.
    balances
        All that it must fit in.
    entries
        The entries that are charged there.
    """
    estimate = balance.estimate(balance.cost(price))
    what = [str(estimate)]
    if len(price.periods) > 1 and not balance.lifetime:
        first, last, zone = price.periods[0], price.periods[-1], balance.account.time_zone
        what.append(f"The days of the data meet {first} to {last} ({zone}), and each of these is charged two steps.")
    if entries:
        named = ", ".join(map(str, entries[-MOST_NAMED:]))
        more = f"the latest of {len(entries)} entries" if len(entries) > MOST_NAMED else "entries"
        what.append(f"Charged{balance.where} for {balance.account.unit}: {more} {named}.")
    remedy = "Nothing was spent; "
    if estimate.shortfall is None:
        remedy += "ask for a mechanism with a pure epsilon, or for less delta."
    else:
        remedy += f"{_still_fits(price, balances)}."
    if balance.period is not None:
        following = balance.period.next
        remedy += f" The next {following.per}, {following}, begins on {following.first} ({balance.account.time_zone})."
    return OverLimitError(" ".join(what), remedy=remedy)


def _still_fits(price: Price, balances: Sequence[Balance]) -> str:
    """The largest request of the same kind that fits everywhere, to a thousandth of the one that was made."""
    low, high = 0, 1024
    while high - low > 1:
        middle = (low + high) // 2
        part = Fraction(middle, 1024)
        smaller = replace(price, loss=_scaled(price.loss, part), whole=_scaled(price.whole, part))
        if all(balance.fits(balance.cost(smaller)) for balance in balances):
            low = middle
        else:
            high = middle
    if low == 0:
        return "no smaller request of this kind fits either"
    return f"a smaller request may still fit: up to {_scaled(price.whole, Fraction(low, 1024))}"


def _scaled(loss: Loss, part: Fraction) -> Loss:
    match loss:
        case Pure():
            return Pure(loss.epsilon * part)
        case Approximate():
            return Approximate(loss.epsilon * part, loss.delta)
        case Concentrated():
            return Concentrated(loss.rho * part, loss.delta)
        case GaussianLoss():
            return GaussianLoss(loss.mu_squared * part)
    return loss


def warnings_of(before: Sequence[Balance] | None, after: Sequence[Balance]) -> list[str]:
    """What to say about limits that are nearly used up: at three quarters and at nine tenths.

    Parameters
    ----------
    before
        The same balances before a charge: what was to say then is not said again. None says everything.
    """
    told = []
    for index, balance in enumerate(after):
        share = balance.share
        mark = next((mark for mark in MARKS if share >= mark), None)
        if mark is None or (before is not None and before[index].share >= mark):
            continue
        text = f"{balance.account.name}: {float(share):.0%} of {balance.limit} is charged{balance.where}."
        if balance.period is not None:
            text += f" The next {balance.period.per} begins on {balance.period.next.first}."
        told.append(text)
    return told
