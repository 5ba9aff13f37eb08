"""A charge that stands, as the one who runs the mechanism holds it."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from discreet.privacy.ledger.accounts import Account
from discreet.privacy.losses import Loss

if TYPE_CHECKING:
    from discreet.privacy.ledger.ledger import Ledger

__all__ = ["Spend"]


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
