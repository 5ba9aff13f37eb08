"""Spends and statements of a ledger: each charge, what all come to, and what is left. Plain values, no database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from discreet.privacy.accounting import View, totals
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.ledger.accounts import Account, Amount, Balance
from discreet.privacy.losses import Approximate, Loss
from discreet.privacy.numbers import stated

if TYPE_CHECKING:
    from discreet.privacy.ledger.ledger import Ledger

__all__ = ["Entry", "Spend", "Statement"]


class Spend:
    """A charge that stands. Leaving its block without an exception settles it.

    Attributes
    ----------
    id
        Number of the entry in the ledger.
    account
        The account that was charged.
    loss
        What was charged.
    settled, saved
        Whether the run was recorded as done, and its release as saved.
    release
        The id of what came out.
    """

    def __init__(self, ledger: Ledger, account: Account, number: int, loss: Loss) -> None:
        self.id = number
        self.account = account
        self.loss = loss
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

    def note_saved(self) -> None:
        """Record that what came out is in a file."""
        if not self.saved:
            self.saved = True
            self._ledger.note_saved(self)

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
        What was charged, for the unit of the account.
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

    @property
    def counted(self) -> bool:
        """Whether it is part of the sums: a refuted promise is not."""
        return self.guarantee.standing is not Standing.REFUTED

    @property
    def outcome(self) -> str:
        """What became of the charge, in words."""
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
            self.outcome,
            (self.release or "-")[:12],
            self.who,
        )


@dataclass(frozen=True)
class Statement:
    """Everything that an account has lost, and what is left.

    Attributes
    ----------
    account
        The account, with its limit.
    spent, reserved, left
        In the view of the account: settled; on top of that reserved and never settled; what the limit leaves.
    views
        The total of everything charged in every view, at the delta of the account.
    entries
        The spends that count, in the order in which they were reserved.
    refuted
        Spends whose promise is refuted. They are in no sum: no number bounds what they lost.
    """

    account: Account
    spent: Amount
    reserved: Amount
    left: Amount
    views: Mapping[View, Approximate]
    entries: tuple[Entry, ...]
    refuted: tuple[Entry, ...] = ()

    @classmethod
    def of(cls, account: Account, entries: Iterable[Entry]) -> Statement:
        """The statement over these entries, which are all of the account."""
        every = tuple(entries)
        counted = tuple(entry for entry in every if entry.counted)
        balance = Balance(account, settled=_counts(counted, "settled"), unsettled=_counts(counted, "reserved"))
        return cls(
            account=account,
            spent=balance.spent,
            reserved=balance.reserved,
            left=balance.left,
            views=totals(balance.losses, account.limit.delta),
            entries=counted,
            refuted=tuple(entry for entry in every if not entry.counted),
        )

    @property
    def every(self) -> tuple[Entry, ...]:
        """All entries, those that count first."""
        return self.entries + self.refuted

    def __str__(self) -> str:
        unsettled = sum(entry.state == "reserved" for entry in self.entries)
        note = f" ({unsettled} never settled, still counted)" if unsettled else ""
        lines = [
            f"{self.account.name}: {self.account.unit}",
            f"  limit     {self.account.terms}",
            f"  spent     {self.spent}",
            f"  reserved  {self.reserved}{note}",
            f"  left      {self.account.text_of_left(self.left)}",
            f"  together  {self._together()}",
        ]
        if unsaved := [str(entry.id) for entry in self.entries if entry.outcome != "settled"]:
            entries = "entry" if len(unsaved) == 1 else "entries"
            lines.append(f"  unsaved   {entries} {', '.join(unsaved)}: charged, and no saved release is known")
        if self.entries:
            lines += ["", *_table(self.entries)]
        if self.refuted:
            lines += ["", self._warning(), *_table(self.refuted)]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        return {
            "account": self.account.to_json(),
            "spent": self.spent.to_json(),
            "reserved": self.reserved.to_json(),
            "left": self.left.to_json(),
            "views": {
                name: {"epsilon": str(total.epsilon), "delta": str(total.delta)} for name, total in self.views.items()
            },
            "entries": [entry.to_json() for entry in self.entries],
            "refuted": [entry.to_json() for entry in self.refuted],
        }

    def _together(self) -> str:
        basic, tight = self.views["basic"].epsilon, self.views["pld"].epsilon
        text = f"basic sum {stated('ε', basic)} | tight (PLD) {stated('ε', tight)}"
        return f"{text}, at {stated('δ', self.account.limit.delta)}" if self.account.limit.delta else text

    def _warning(self) -> str:
        releases = "release" if len(self.refuted) == 1 else "releases"
        return (
            f"The promise of this ledger does not cover {len(self.refuted)} {releases} whose claim is refuted;"
            " no sum here bounds what was lost by:"
        )


def _counts(entries: Iterable[Entry], state: str) -> tuple[tuple[Loss, int], ...]:
    return tuple(Counter(entry.loss for entry in entries if entry.state == state).items())


def _table(entries: Iterable[Entry]) -> list[str]:
    head = ("#", "reserved at", "mechanism", "loss", "state", "release", "who")
    rows = [head, *(entry._cells() for entry in entries)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
