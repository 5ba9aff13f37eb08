"""Charge first, draw later: the one gate between a promise and the noise that keeps it."""

from __future__ import annotations

import os
import threading
import warnings
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import discreet
from discreet.data.fingerprints import WITHOUT_MISSING
from discreet.errors import DiscreetWarning, LedgerError, PrivacyError, Remedy
from discreet.privacy.guarantees import Guarantee, Standing, guarantee_of_released
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from discreet.privacy.ledger import Dataset, Ledger, Spend
    from discreet.privacy.release import Release

__all__ = [
    "Charge",
    "charged",
    "in_sandbox",
    "kept_release",
    "note_saved",
    "require_allowed",
    "require_covered_as_read",
    "require_working_polars",
    "sandbox",
    "unsaved",
    "within_window",
]

_CHARGES: deque[Spend] = deque(maxlen=1000)  # the latest charges of this process
_WORKING_SECONDS = 10  # how long polars may take to sort three numbers
_working_in = discreet.first_process  # the process in which polars is known to work
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
    """Reserve the budget durably, then let the block run; without a ledger standing and unit are checked.

    A release that was not charged keeps its guarantee, but the caller has to know what several of them add up to.
    Nothing is charged for records that were released themselves: what is made of them has their guarantee.
    """
    require_working_polars()
    if (covered := guarantee_of_released(data)) is not None:
        require_allowed(guarantee, allow_refuted=allow_refuted)
        yield _Unbooked(covered)
        return
    guarantee = within_window(data, guarantee)
    if ledger is not None and in_sandbox():
        raise PrivacyError(
            "inside a sandbox no ledger can be charged: what is made there cannot leave it.",
            remedy="Fit outside of the sandbox, or without a ledger.",
        )
    if ledger is None:
        require_allowed(guarantee, allow_refuted=allow_refuted)
        # What is made in a sandbox is measured and thrown away; what is refuted promises nothing.
        if guarantee.standing is not Standing.REFUTED and not in_sandbox():
            require_covered_as_read(data, guarantee.unit)
        yield _Unbooked(guarantee)
        return
    with ledger.charge(
        data, guarantee, mechanism=mechanism, parameters=parameters, allow_refuted=allow_refuted
    ) as spend:
        # A ledger of somebody else may hand out charges that only settle.
        if hasattr(spend, "note_saved"):
            _CHARGES.append(spend)
        yield spend


def within_window(data: object, guarantee: Guarantee) -> Guarantee:
    """The guarantee of a release from data with a declared window, which names the window."""
    window = getattr(data, "window", None)
    if window is None:
        return guarantee
    return replace(guarantee, caps=(*guarantee.caps, f"records outside of {window} were left out"))


def kept_release(
    ledger: Ledger | None, data: Dataset, guarantee: Guarantee, *, mechanism: str, parameters: Mapping[str, Any]
) -> Release | None:
    """The release that an earlier run under the key of the ledger has saved; nothing is charged for it."""
    if getattr(ledger, "key", None) is None:
        return None
    from discreet.privacy.release import Release

    entry = ledger.kept(data, guarantee, mechanism=mechanism, parameters=parameters)  # type: ignore[union-attr]
    return None if entry is None or entry.saved_in is None else Release.load(entry.saved_in)


def note_saved(release_id: str, place: str) -> None:
    """Record in the ledger that a release was saved, if this process has charged for it."""
    for spend in tuple(_CHARGES):
        if spend.release == release_id and not spend.saved:
            try:
                spend.note_saved(place)
            except LedgerError as error:  # the release is safe, which matters more than the record of it
                warnings.warn(
                    f"the release was saved, but not recorded as saved: {error}", DiscreetWarning, stacklevel=3
                )


def unsaved() -> tuple[Spend, ...]:
    """The charges of this process for which no release was saved."""
    return tuple(spend for spend in _CHARGES if not spend.saved)


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
            remedy=Remedy(
                "Use its proved counterpart; for experiments on data that are nobody's secret, allow_refuted=True.",
                cli="Use its proved counterpart; for experiments on data that are nobody's secret, --allow-refuted.",
            ),
        )


def require_covered_as_read(data: Dataset, unit: Unit) -> None:
    """Refuse a promise for a unit that the way in which the records were read does not keep apart."""
    if unit.covers(data.lineage, as_read=True):
        return
    if unit.covers([entry for entry in data.lineage if entry != WITHOUT_MISSING], as_read=True):
        raise PrivacyError(
            f"rows with missing values were left out of {data.name or 'this dataset'} while it was read: whether a "
            f"record is there follows from its values, and the promise is about {unit}.",
            remedy=Remedy(
                "Protect users or records, present or absent (unit='user', unit='record'), or fill in the values and "
                "read the data with missing='error'.",
                cli="Protect users or records, present or absent (--unit user, --unit record), or fill in the values "
                "and leave --missing drop out.",
            ),
        )
    raise PrivacyError(
        f"{data.name or 'this dataset'} was cut while it was read (one record of each user and item, or a limited "
        f"number of records of each user): one record more can push another one out, and the promise is about {unit}.",
        remedy=Remedy(
            "Protect whole users (unit='user'), or read the data with duplicates='error' or duplicates='keep'.",
            cli="Protect whole users with --unit user, or give --duplicates error or --duplicates keep.",
        ),
    )


def require_working_polars() -> None:
    """Refuse to go on in a fork in which polars would wait forever for threads that are not in the fork.

    In a process that was not forked this costs nothing. In a fork polars is tried once, on three numbers, in a thread
    of its own. A parent that has only imported polars leaves it usable.
    """
    global _working_in
    if os.getpid() == _working_in:
        return
    trial = threading.Thread(target=_sort, daemon=True)
    trial.start()
    trial.join(_WORKING_SECONDS)
    if trial.is_alive():
        raise PrivacyError(
            "this process was forked from one that had used polars already, and polars does not work in it; nothing "
            "was charged.",
            remedy='Start it with multiprocessing.get_context("spawn"), or fork before data are read.',
        )
    _working_in = os.getpid()


def _sort() -> None:
    import polars as pl

    # Both ways in which polars works: on its threads, and through the engine of lazy queries.
    pl.DataFrame({"number": [3, 1, 2]}).sort("number").lazy().select(pl.col("number") + 1).collect()


@dataclass(frozen=True)
class _Unbooked:
    guarantee: Guarantee

    def settle(self, release_id: str | None = None) -> None:
        """Nothing was reserved, so there is nothing to settle."""
