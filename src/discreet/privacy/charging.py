"""Charge first, draw later: the one gate between a promise and the noise that keeps it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from discreet.errors import PrivacyError
from discreet.privacy.guarantees import Guarantee, Standing

if TYPE_CHECKING:
    from discreet.privacy.ledger import Dataset, Ledger

__all__ = ["Charge", "charged", "in_sandbox", "require_allowed", "sandbox"]

_SANDBOX: ContextVar[bool] = ContextVar("discreet_sandbox", default=False)


class Charge(Protocol):
    """What a mechanism is handed inside ``charged``: it settles with the id of what it released."""

    def settle(self, release_id: str | None = None) -> None: ...


@contextmanager
def charged(
    ledger: Ledger | None,
    data: Dataset,
    guarantee: Guarantee,
    *,
    mechanism: str,
    parameters: Mapping[str, Any],
    allow_refuted: bool = False,
) -> Iterator[Charge]:
    """Reserve the budget durably, then let the block run; without a ledger only the standing is checked.

    A release that was not booked keeps its guarantee, but what several of them add up to is the caller's to know.
    """
    if ledger is not None and in_sandbox():
        raise PrivacyError(
            "inside a sandbox there is no book to charge: what is made there cannot leave it.",
            remedy="Fit outside of the sandbox, or without a ledger.",
        )
    if ledger is None:
        require_allowed(guarantee, allow_refuted=allow_refuted)
        yield _Unbooked()
        return
    with ledger.charge(
        data, guarantee, mechanism=mechanism, parameters=parameters, allow_refuted=allow_refuted
    ) as spend:
        yield spend


@contextmanager
def sandbox() -> Iterator[None]:
    """A place to fit models for an audit: no ledger can be charged in it, and no release made in it can be saved.

    Examples
    --------
    >>> with sandbox():
    ...     in_sandbox()
    True
    >>> in_sandbox()
    False
    """
    token = _SANDBOX.set(True)
    try:
        yield
    finally:
        _SANDBOX.reset(token)


def in_sandbox() -> bool:
    """Whether the code that asks runs inside a sandbox."""
    return _SANDBOX.get()


def require_allowed(guarantee: Guarantee, *, allow_refuted: bool) -> None:
    """Refuse a mechanism whose promise is known to be false, unless the caller says so in as many words."""
    if guarantee.standing is Standing.REFUTED and not allow_refuted:
        raise PrivacyError(
            f"the promise of this mechanism is refuted: {guarantee.basis}.",
            remedy="Use its proved counterpart; for experiments on data that are nobody's secret, allow_refuted=True.",
        )


class _Unbooked:
    def settle(self, release_id: str | None = None) -> None:
        """Nothing was reserved, so there is nothing to settle."""
