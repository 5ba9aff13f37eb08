"""Steps of a series in the ledger: entries without a loss of their own, which no copy of a series can write twice."""

from __future__ import annotations

import json
from abc import abstractmethod
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sqlalchemy.engine import Connection

from discreet.data.periods import Window
from discreet.errors import LedgerError, PrivacyError, Remedy
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.ledger import tables
from discreet.privacy.ledger.accounts import Account, Price
from discreet.privacy.ledger.families import account_of, name_of
from discreet.privacy.ledger.store import Store
from discreet.privacy.losses import GaussianLoss

__all__ = ["SeriesSteps"]

NOTHING = GaussianLoss(Fraction(0))
"""What a step costs beyond the charge of its series."""


class SeriesSteps:
    """What a ledger does for series."""

    _store: Store
    who: str

    @abstractmethod
    def _now(self) -> str: ...

    @abstractmethod
    def _require(self, connection: Connection, data: Any) -> Account: ...

    def require_account_for_series(self, data: Any, window: Window | None) -> None:
        """Refuse an account per period for a series without a window of its own.

        The first records may have a window. Later ones would be of periods that were not charged.
        """
        if window is not None or not self._store.is_there():
            return  # without a ledger the charge itself says so
        with self._store.read() as connection:
            account = self._require(connection, data)
        if account.unit.period is not None:
            raise PrivacyError(
                f"the account {account.name!r} is kept for {account.unit}, and the series has no declared window: a "
                "series is charged once, for every period that its window meets.",
                remedy=Remedy(
                    'Give the series the days that all its steps are about: Series(…, window="2026").',
                    cli="Give the days that all steps are about: discreet series open … --window 2026.",
                ),
            )

    def require_people_of_series(self, data: Any, charge: int) -> None:
        """Refuse data of another account than the one that the series was charged to."""
        with self._store.read() as connection:
            charged, known = tables.entry(connection, charge)[1], account_of(connection, data)
        if known is not None and known.id != charged:
            raise LedgerError(
                f"{name_of(data)} belongs to the account {known.name!r}, and the series was charged to another one.",
                remedy="Give every step the records of the people that the series was opened for.",
            )

    def record_step(self, charge: int, series: str, number: int, release: str, *, missed: bool = False) -> None:
        """Record that a series releases a step; it costs nothing beyond the charge of the whole series.

        To be called when the step is on the disk and before anybody sees it. Whoever comes second with another release
        of the same step, such as a copy of the series, is refused.

        Parameters
        ----------
        charge
            The number of the entry by which the whole series was charged.
        series, number, release
            The id of the series, the number of the step, and the id of its release.
        missed
            Whether the step was left out when its time came, and made up for with nobody entering.
        """
        with self._store.write() as connection:
            entry, account = tables.entry(connection, charge)
            if entry.parameters.get("series") != series:
                raise LedgerError(f"entry {charge} of {self._store.where} is not the charge of this series.")
            self._store.lock(connection, account)
            known = tables.series_steps(connection, series).get(number)
            if known == release:
                return
            if known is not None:
                raise LedgerError(
                    f"step {number} of this series was released already, as {known[:12]}.",
                    remedy="Continue with the folder that released it; this one is a copy.",
                )
            step = tables.add_spend(
                connection,
                account,
                price=Price(NOTHING, NOTHING),
                counted=True,
                mechanism=tables.step_of(series),
                parameters=json.dumps({"step": number, "charge": charge, **({"missed": True} if missed else {})}),
                guarantee=replace(entry.guarantee, loss=NOTHING, per_period=""),
                reserved_at=self._now(),
                who=self.who,
            )
            tables.settle(connection, step, release, self._now())
            tables.note_saved(connection, step, self._now())

    def series_steps(self, series: str) -> dict[int, str]:
        """The steps of a series that were recorded: the id of the release of each."""
        if not self._store.is_there():
            return {}
        with self._store.read() as connection:
            return tables.series_steps(connection, series)

    def series_guarantee(self, charge: int) -> Guarantee:
        """What was promised by the charge of a series, with what it comes to for one period."""
        with self._store.read() as connection:
            return tables.entry(connection, charge)[0].guarantee

    def series_charge(self, series: str) -> int | None:
        """The number of the entry by which a series was charged; None where it was not."""
        if not self._store.is_there():
            return None
        with self._store.read() as connection:
            return tables.series_charge(connection, series)
