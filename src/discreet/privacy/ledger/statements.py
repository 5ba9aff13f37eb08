"""Spends and statements of a ledger: each charge, what all come to, and what is left. Plain values, no database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

from discreet.data.periods import Period
from discreet.privacy.accounting import View, stated_delta, totals
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.ledger.accounts import Account, Amount, Price
from discreet.privacy.ledger.balances import Balance, warnings_of
from discreet.privacy.ledger.step_lines import is_step, lines_of_series
from discreet.privacy.losses import Approximate, Concentrated, GaussianLoss, Loss, Pure
from discreet.privacy.numbers import stated
from discreet.privacy.shown import Shown

if TYPE_CHECKING:
    from discreet.privacy.ledger.ledger import Ledger

__all__ = ["Entry", "Spend", "Statement", "balance_of"]


class Spend:
    """A charge that stands. Leaving its block without an exception settles it.

    Attributes
    ----------
    id
        Number of the entry in the ledger.
    account
        The account that was charged.
    loss
        What was charged; in an account per period, to each of its periods.
    guarantee
        What was promised, with what it comes to for one period.
    settled, saved
        Whether the run was recorded as done, and its release as saved.
    release
        The id of what came out.
    """

    def __init__(self, ledger: Ledger, account: Account, number: int, price: Price, guarantee: Guarantee) -> None:
        self.id = number
        self.account = account
        self.loss = price.loss
        self.periods = price.periods
        self.guarantee = guarantee
        self.settled = self.saved = False
        self.release: str | None = None
        self._ledger = ledger

    def __str__(self) -> str:
        return f"entry {self.id} of {self.account.name} ({self.loss})"

    @property
    def place(self) -> str:
        """Where the ledger is kept."""
        return self._ledger.place

    def settle(self, release_id: str | None = None) -> None:
        """Record that the mechanism has run, and the id of what came out."""
        self.release = release_id
        self._ledger.note_settled(self, release_id)
        self.settled = True

    def note_saved(self, place: str | None = None) -> None:
        """Record that what came out is in a file, and where."""
        if not self.saved:
            self.saved = True
            self._ledger.note_saved(self, place)

    def __enter__(self) -> Spend:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and not self.settled:
            self.settle()


@dataclass(frozen=True)
class Entry:
    """One spend as the ledger has it.

    Attributes
    ----------
    id
        Number in the ledger. Entries are ordered by it; clocks may go backwards.
    mechanism, parameters, guarantee
        What was run and what it promised.
    loss
        What was charged, for the unit of the account; in an account per period, to each of ``periods``.
    whole
        What it costs a user's whole history.
    periods
        The periods that were charged; empty in an account without periods.
    key, request
        The key of the run, and a hash of what was asked for under it.
    drawing_at, saved_in
        With a key: when drawing began, and where the release was saved.
    state
        "settled", or "reserved" where the run never said that it was done.
    release
        The id of what came out.
    reserved_at, settled_at, who
        Times in UTC, and who ran it.
    saved_at
        When the release was saved; None where it was not.
    """

    id: int
    mechanism: str
    parameters: Mapping[str, Any]
    guarantee: Guarantee
    loss: Loss
    state: str
    release: str | None
    reserved_at: str
    settled_at: str | None
    who: str
    saved_at: str | None = None
    periods: tuple[Period, ...] = ()
    whole: Loss | None = None
    key: str | None = None
    request: str | None = None
    drawing_at: str | None = None
    saved_in: str | None = None

    @property
    def adds(self) -> str:
        """The number that adds up to the total of its kind: ε, μ² or ρ."""
        match self.loss:
            case Pure() | Approximate():
                return stated("ε", self.loss.epsilon)
            case GaussianLoss():
                return f"μ² = {float(self.loss.mu_squared):.4g}"
            case Concentrated():
                return f"ρ = {float(self.loss.rho):.4g}"
        return "-"

    @property
    def counted(self) -> bool:
        """Whether it is part of the sums: a refuted promise is not."""
        return self.guarantee.standing is not Standing.REFUTED

    @property
    def may_have_drawn(self) -> bool:
        """Whether noise may have been drawn for it: a charge under a key that is not marked "drawing" is free."""
        return self.key is None or self.drawing_at is not None or self.state != "reserved"

    @property
    def outcome(self) -> str:
        """What became of the charge, in words."""
        if not self.may_have_drawn:
            return "reserved, nothing drawn"
        if self.state != "settled":
            return "reserved, never settled"
        if self.release is None:
            return "settled, no release"
        return "settled, not saved" if self.saved_at is None else "settled"

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "mechanism": self.mechanism,
            "parameters": dict(self.parameters),
            "guarantee": self.guarantee.to_json(),
            "loss": self.loss.to_json(),
            "whole": (self.whole or self.loss).to_json(),
            "periods": [str(period) for period in self.periods],
            "key": self.key,
            "saved_in": self.saved_in,
            "counted": self.counted,
            "state": self.state,
            "outcome": self.outcome,
            "release": self.release,
            "reserved_at": self.reserved_at,
            "settled_at": self.settled_at,
            "saved_at": self.saved_at,
            "who": self.who,
        }

    def _cells(self) -> tuple[str, ...]:
        claimed = " (claimed, not proved)" if self.guarantee.standing is Standing.AS_PUBLISHED else ""
        return (
            str(self.id),
            self.reserved_at,
            self.mechanism,
            f"{self.loss}{claimed}",
            self.adds,
            ", ".join(map(str, self.periods)),
            self.outcome,
            (self.release or "-")[:12],
            self.who,
        )


@dataclass(frozen=True)
class Statement(Shown):
    """Everything that an account has lost, and what is left.

    Attributes
    ----------
    account
        The account, with its limit.
    spent, reserved, left
        In the view of the account: settled; on top of that reserved and never settled; what the limit leaves. In an
        account per period, of the period that it is now.
    views
        The total of everything charged in every view, at the delta of the account; in an account per period, for whole
        histories.
    entries
        The spends that count, in the order in which they were reserved.
    refuted
        Spends whose promise is refuted. They are in no sum: no number bounds what they lost.
    period
        The period that it is now; None in an account without periods.
    periods
        The balance of every period that was charged and of the present one, in order.
    lifetime
        The balance over all periods; None in an account without periods.
    """

    account: Account
    spent: Amount
    reserved: Amount
    left: Amount
    views: Mapping[View, Approximate]
    entries: tuple[Entry, ...]
    refuted: tuple[Entry, ...] = ()
    period: Period | None = None
    periods: tuple[Balance, ...] = ()
    lifetime: Balance | None = None

    @classmethod
    def of(cls, account: Account, entries: Iterable[Entry], now: datetime | None = None) -> Statement:
        """The statement over these entries, which are all of the account.

        Parameters
        ----------
        now
            Decides which period of an account per period is the present one.
        """
        every = tuple(entries)
        counted = tuple(entry for entry in every if entry.counted)
        period = account.period_of(now or datetime.now(UTC))
        lifetime, periods = None, ()
        balance = balance_of(account, counted)
        if period is not None:
            known = sorted({period, *(one for entry in counted for one in entry.periods)})
            periods = tuple(balance_of(account, counted, one) for one in known)
            balance = next(one for one in periods if one.period == period)
            lifetime = balance_of(account, counted, lifetime=True)
        every_loss = (lifetime or balance).losses
        return cls(
            account=account,
            spent=balance.spent,
            reserved=balance.reserved,
            left=balance.left,
            views=totals(every_loss, account.limit.delta + (stated_delta(every_loss) if lifetime else 0)),
            entries=counted,
            refuted=tuple(entry for entry in every if not entry.counted),
            period=period,
            periods=periods,
            lifetime=lifetime,
        )

    @property
    def every(self) -> tuple[Entry, ...]:
        """All entries, those that count first."""
        return self.entries + self.refuted

    @property
    def total(self) -> Amount:
        """Everything that was charged, about whole histories."""
        if self.lifetime is not None:
            return self.lifetime.total
        return Amount(self.spent.epsilon + self.reserved.epsilon, self.spent.delta + self.reserved.delta)

    @property
    def warnings(self) -> list[str]:
        """Limits of which three quarters or more are charged."""
        if self.lifetime is None:
            return warnings_of(None, [balance_of(self.account, self.entries)])
        return warnings_of(None, [*(one for one in self.periods if one.period == self.period), self.lifetime])

    def __str__(self) -> str:
        unsettled = sum(entry.state == "reserved" for entry in self.entries)
        note = f" ({unsettled} never settled, still counted)" if unsettled else ""
        lines = [f"{self.account.name}: {self.account.unit}", f"  limit     {self.account.terms}"]
        if self.period is not None:
            following = self.period.next
            lines.append(
                f"  period    {self.period}; the next, {following}, begins on {following.first} "
                f"({self.account.time_zone})"
            )
        lines += [
            f"  spent     {self.spent}",
            f"  reserved  {self.reserved}{note}",
            f"  left      {self.account.text_of_left(self.left)}",
            *([] if self.lifetime is None else [f"  lifetime  {self._lifetime(self.lifetime)}"]),
            f"  together  {self._together()}",
        ]
        if unsaved := [str(entry.id) for entry in self.entries if entry.outcome != "settled"]:
            entries = "entry" if len(unsaved) == 1 else "entries"
            lines.append(f"  unsaved   {entries} {', '.join(unsaved)}: charged, and no saved release is known")
        lines += [f"  warning   {text}" for text in self.warnings]
        if self.periods:
            head = ("period", "spent", "reserved", "left")
            lines += ["", *table([head, *(_cells_of(self.account, one) for one in self.periods)])]
        if charges := [entry for entry in self.entries if not is_step(entry)]:
            lines += ["", *_table(charges)]
            if sum(isinstance(entry.loss, GaussianLoss | Concentrated) for entry in charges) > 1:
                lines += ["", ADDS]
        lines += lines_of_series(self.entries)
        if self.refuted:
            lines += ["", self._warning(), *_table(self.refuted)]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        return {
            "account": self.account.to_json(),
            "spent": self.spent.to_json(),
            "reserved": self.reserved.to_json(),
            "left": self.left.to_json(),
            "period": None if self.period is None else str(self.period),
            "next_period": None if self.period is None else self.period.next.first.isoformat(),
            "periods": [balance.to_json() for balance in self.periods],
            "lifetime": None if self.lifetime is None else self.lifetime.to_json(),
            "warnings": self.warnings,
            "views": {
                name: {"epsilon": str(total.epsilon), "delta": str(total.delta)} for name, total in self.views.items()
            },
            "entries": [entry.to_json() for entry in self.entries],
            "refuted": [entry.to_json() for entry in self.refuted],
        }

    def _lifetime(self, balance: Balance) -> str:
        limit = "not limited" if balance.limit is None else f"of at most {balance.limit}"
        return f"{balance.total}, {limit}: all periods of one user together"

    def _together(self) -> str:
        basic, tight = self.views["basic"], self.views["pld"].epsilon
        text = f"basic sum {stated('ε', basic.epsilon)} | tight (PLD) {stated('ε', tight)}"
        at = self.account.limit.delta if self.lifetime is None else self.views["pld"].delta
        return f"{text}, at {stated('δ', at)}" if at else text

    def _warning(self) -> str:
        releases = "release" if len(self.refuted) == 1 else "releases"
        return (
            f"The promise of this ledger does not cover {len(self.refuted)} {releases} whose claim is refuted;"
            " no sum here bounds what was lost by:"
        )


ADDS = (
    '  The column "adds" adds up, kind by kind. Epsilons of Gaussian noise do not: ε grows about as √(sum of μ²), so\n'
    "  that three entries of ε = 1 come to about √3 and not to 3."
)
"""Why the epsilons of a statement do not add up."""


def balance_of(
    account: Account, entries: Iterable[Entry], period: Period | None = None, *, lifetime: bool = False
) -> Balance:
    """The balance over entries that count: of one period, of whole histories, or of all of them."""
    counts: dict[str, Counter[Loss]] = {"settled": Counter(), "reserved": Counter()}
    for entry in entries:
        if period is None or period in entry.periods:
            counts[entry.state][(entry.whole or entry.loss) if lifetime else entry.loss] += 1
    settled, reserved = (tuple(counts[state].items()) for state in ("settled", "reserved"))
    return Balance(account, settled, reserved, period, lifetime)


def _cells_of(account: Account, balance: Balance) -> tuple[str, ...]:
    return str(balance.period), str(balance.spent), str(balance.reserved), account.text_of_left(balance.left)


def _table(entries: Iterable[Entry]) -> list[str]:
    head = ("#", "reserved at", "mechanism", "loss", "adds", "periods", "state", "release", "who")
    rows = [head, *(entry._cells() for entry in entries)]
    if not any(row[5] for row in rows[1:]):
        rows = [row[:5] + row[6:] for row in rows]
    return table(rows)


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table with columns of equal width, the first row being its head."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
