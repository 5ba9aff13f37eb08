"""When a limit will be used up, if everything goes on as lately."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

from discreet.board.words import counted, day, days, moment
from discreet.errors import PrivacyError
from discreet.privacy.ledger.balances import Balance
from discreet.privacy.ledger.statements import Entry
from discreet.privacy.losses import Approximate, Concentrated, GaussianLoss, Loss, Pure

__all__ = ["METHOD", "RECENT", "Forecast", "forecast_of"]

RECENT = timedelta(days=90)
"""What is called lately."""

SHORTEST = timedelta(days=7)
"""From this time on charges have a rate."""

LONGEST = 36_525
"""Days that a forecast looks ahead: a hundred years."""

METHOD = (
    f"The forecast repeats what was charged in the last {RECENT.days} days (or since the first charge, if that is "
    f"later, and at least {SHORTEST.days} days): the same kinds of releases at the same rate, added up as the ledger "
    "adds them. Series are left out of the rate, since all their steps are paid for when they open. It is an "
    "extrapolation, not a promise."
)


@dataclass(frozen=True)
class Forecast:
    """How long a budget lasts.

    Attributes
    ----------
    releases, over
        How many charges the rate is taken from, and over how many days; no charges where there is no rate.
    why_not
        Why there is none.
    runs_out
        The first day on which nothing more of the kind fits; None where that is beyond a hundred years, or where
        there is no rate.
    ends
        The last day of the period, in an account per period.
    share_at_end
        How much of the limit will be used by then.
    """

    releases: int
    over: float
    runs_out: datetime | None = None
    ends: datetime | None = None
    share_at_end: float | None = None
    why_not: str = ""

    @property
    def lasts(self) -> bool:
        """Whether the budget lasts: to the end of its period, or longer than anybody can foresee."""
        return self.runs_out is None or (self.ends is not None and self.runs_out > self.ends)

    def __str__(self) -> str:
        if not self.releases:
            return f"No forecast: {self.why_not}."
        rate = f"{counted(self.releases, 'release')} in the last {days(self.over)}"
        if self.ends is not None and self.lasts:
            return (
                f"At this rate ({rate}) about {self.share_at_end:.0%} is used when the period ends, {day(self.ends)}."
            )
        if self.runs_out is None:
            return f"At this rate ({rate}) it lasts longer than a hundred years."
        early = f", {days((self.ends - self.runs_out).days)} before the period ends" if self.ends else ""
        return f"At this rate ({rate}) it is used up on {day(self.runs_out)}{early}."

    def to_json(self) -> dict[str, Any]:
        return {
            "releases": self.releases,
            "days": self.over,
            "runs_out": self.runs_out and self.runs_out.date().isoformat(),
            "lasts": self.lasts,
            "share_at_end": self.share_at_end,
            "words": str(self),
        }


def forecast_of(balance: Balance, charges: Sequence[Entry], now: datetime) -> Forecast | None:
    """When a limit will be used up; None where there is no limit.

    Parameters
    ----------
    balance
        What is charged to the limit.
    charges
        The charges that it consists of, series left out.
    """
    if balance.limit is None:
        return None
    ends = None if balance.period is None else _end_of(balance.period.last, now)
    recent = [entry for entry in charges if now - moment(entry.reserved_at) <= RECENT]
    if not recent:
        return Forecast(0, 0.0, ends=ends, why_not=f"nothing was charged in the last {RECENT.days} days")
    first = moment(min(entry.reserved_at for entry in charges))
    over = min(RECENT, now - first)
    if over < SHORTEST:
        return Forecast(0, 0.0, ends=ends, why_not="the first charge is less than a week old")
    losses = Counter((entry.whole or entry.loss) if balance.lifetime else entry.loss for entry in recent)

    def after(number: int) -> Balance:
        """The balance in so many days."""
        part = Fraction(number * 86_400, int(over.total_seconds()))
        more = tuple((_paced(loss, part * count), 1) for loss, count in losses.items()) if number else ()
        return replace(balance, unsettled=(*balance.unsettled, *more))

    low, high = 0, LONGEST
    if _fits(after(LONGEST)):
        low = LONGEST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _fits(after(middle)) else (low, middle)
    runs_out = None if low == LONGEST else now + timedelta(days=high)
    at_end = None
    if ends is not None and (runs_out is None or runs_out > ends):
        at_end = float(after(max(0, (ends - now).days)).share)
    return Forecast(len(recent), over.total_seconds() / 86_400, runs_out, ends, at_end)


def _end_of(last: Any, now: datetime) -> datetime:
    return datetime(last.year, last.month, last.day, 23, 59, tzinfo=now.tzinfo)


def _fits(balance: Balance) -> bool:
    assert balance.limit is not None
    try:
        return balance.total.within(balance.limit)
    except PrivacyError:  # deltas of 1 or more
        return False


def _paced(loss: Loss, part: Fraction) -> Loss:
    """So many times a loss; the number need not be whole."""
    match loss:
        case Pure():
            return Pure(loss.epsilon * part)
        case Approximate():
            return Approximate(loss.epsilon * part, min(Fraction(1, 2), loss.delta * part))
        case Concentrated():
            return Concentrated(loss.rho * part, min(Fraction(1, 2), loss.delta * part))
        case GaussianLoss():
            return GaussianLoss(loss.mu_squared * part)
    return loss
