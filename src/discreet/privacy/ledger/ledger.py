"""The ledger: a durable record of what people have lost, population by population. Estimate, reserve, run, settle."""

from __future__ import annotations

import getpass
import os
import socket
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy.engine import Connection

from discreet.data.periods import Window
from discreet.errors import BudgetWarning, LedgerError, Remedy
from discreet.privacy.charging import require_allowed
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.ledger import tables
from discreet.privacy.ledger.accounts import Account, Price
from discreet.privacy.ledger.audits import KeptAudits
from discreet.privacy.ledger.balances import Balance, Estimate, refused, warnings_of
from discreet.privacy.ledger.copies import backup
from discreet.privacy.ledger.families import (
    Dataset,
    account_of,
    known_as,
    name_of,
    name_of_account,
    require_covered,
    require_told_apart,
    whose_data,
)
from discreet.privacy.ledger.populations import Populations
from discreet.privacy.ledger.requests import Lifetime, Terms, as_json, price_of, said_population
from discreet.privacy.ledger.retries import KeyedRuns, charged_again, requests_of
from discreet.privacy.ledger.series_steps import SeriesSteps
from discreet.privacy.ledger.statements import Spend, Statement
from discreet.privacy.ledger.store import store_at
from discreet.privacy.numbers import Rational
from discreet.privacy.units import Unit

__all__ = ["Ledger"]


class Ledger(Populations, KeyedRuns, SeriesSteps, KeptAudits):
    """A durable record of what has been lost about each population, in a SQLite file or a PostgreSQL database.

    Parameters
    ----------
    place
        A path, or a URL such as "postgresql://user@host/database". A file is made when the first account is opened.
    who
        Who spends, for the record; user@host by default.
    clock
        Gives the time for the record. Nothing depends on it: entries are ordered by their number.

    Privacy
    -------
    The losses of all releases of an account together, reserved ones included, never pass its limit, whatever threads,
    processes or machines charge it at the same time and wherever they crash. That bounds what the people of the
    population lose if every release is charged, if its guarantee holds, and if the account knows its data: data about
    the same people under another fingerprint must be attached. In an account whose losses are all pure or (ε, δ), the
    default, each amount may depend on earlier results; where kinds of losses are mixed, or the limit is on "pld",
    the amounts must have been planned without looking (``docs/ledger.md`` has the table).

    Examples
    --------
    >>> import tempfile
    >>> from fractions import Fraction
    >>> from discreet.privacy.losses import Pure
    >>> promise = Guarantee(Pure(Fraction(1, 2)), Unit("user"), Standing.PROVED, "Laplace mechanism", "a noisy total")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/budget.db")
    ...     account = ledger.open("films", epsilon=2, delta="1e-6", unit="user")
    ...     with ledger.charge("films", promise, mechanism="total") as spend:
    ...         spend.settle("release-1")
    ...     ledger.statement("films").left.epsilon
    Fraction(3, 2)
    """

    def __init__(
        self,
        place: str | os.PathLike[str],
        *,
        who: str | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._store = store_at(place)
        self.who = who or _who()
        self.key: str | None = None
        self.population: str | None = None
        self._clock = clock

    def __repr__(self) -> str:
        return f"Ledger({self._store.where!r})"

    @property
    def place(self) -> str:
        """The path of the file, or the URL without its password."""
        return self._store.where

    # Accounts

    def open(
        self,
        data: Dataset | str | None = None,
        *,
        population: str | None = None,
        epsilon: Rational,
        delta: Rational = 0,
        unit: Unit | str = "user",
        view: str = "basic",
        per: str | None = None,
        time_zone: str | None = None,
        lifetime: Lifetime | None = None,
        name: str | None = None,
        other_people: bool = False,
    ) -> Account:
        """Open the account of a population: once, with the limit that will hold for good.

        The data are attached to it. The account also stands for what they were cut from, and for whatever is cut from
        either. Further data about the same people are attached with ``attach``.

        Parameters
        ----------
        data
            The first dataset about these people, or its fingerprint. None opens the account without data.
        population
            What the people are called: "customers". In a ledger without accounts the name of the data is taken by
            default. In a ledger that has accounts it must be given: a new name says that these are other people.
        epsilon, delta
            The limit for all releases together.
        unit
            Whose secret: "user", "record", "user/replace", "group:4", …
        view
            What the limit is on: "basic" (the sum), "concentrated" or "pld" (tighter totals, so that more fits).
        per
            "year", "quarter", "month", "week" or "day": the limit is then for a user's records of one such period, and
            every period has its own. Data must be read with a declared ``window``.
        time_zone
            Where the days of these periods begin; UTC by default.
        lifetime
            A limit on all periods together: an epsilon at the delta of the account, or an epsilon and a delta.
        name
            Another word for ``population``, which version 0.1 had.
        other_people
            Declare that these people have no account here, where the ledger cannot tell: it knows some of its data as
            they are in memory alone, or by a scan alone (``docs/larger-than-memory.md``).
        """
        terms = Terms.of(
            epsilon=epsilon, delta=delta, unit=unit, view=view, per=per, time_zone=time_zone, lifetime=lifetime
        )
        named = said_population(data, population, name)
        self._store.create()
        with self._store.write() as connection:
            self._store.lock(connection, None)
            if data is not None and (existing := account_of(connection, data)):
                raise LedgerError(
                    f"these data have an account already: {existing}.",
                    remedy="Charge that one: an account is opened once.",
                )
            accounts = tables.all_accounts(connection)
            if named is None and accounts:
                raise whose_data(name_of(data or ""), accounts)
            require_told_apart(data, accounts, other_people=other_people)
            chosen = named or name_of_account(data or "")
            if existing := account_of(connection, chosen):
                raise LedgerError(
                    f"there is an account of that name: {existing}.",
                    remedy=Remedy(
                        f"For new data about the same people, ledger.attach(data, {chosen!r}); for other people, "
                        "give another population=.",
                        cli=f"For new data about the same people: --same-people-as {chosen}; for other people, give "
                        "another --population.",
                    ),
                )
            return tables.add_account(
                connection,
                () if data is None else known_as(data),
                name=chosen,
                limit=terms.limit,
                unit=terms.unit,
                view=terms.view,
                opened=self._now(),
                who=self.who,
                time_zone=terms.time_zone,
                lifetime=terms.lifetime,
            )

    # Spending

    def estimate(
        self,
        data: Dataset | str,
        guarantee: Guarantee,
        *,
        allow_refuted: bool = False,
        window: Window | None = None,
    ) -> Estimate:
        """Whether a request would fit. Nothing is written.

        In an account per period the answer is about the limit that it does not fit in, or that is nearest to full.

        Parameters
        ----------
        data
            The dataset, its fingerprint, or the name of its account.
        guarantee
            What the mechanism would promise.
        allow_refuted
            Let a refuted promise pass; it is then charged nothing, as no charge would cover it.
        window
            As in ``charge``.
        """
        require_allowed(guarantee, allow_refuted=allow_refuted)
        self._require_ledger(data)
        with self._store.read() as connection:
            account = self._require(connection, data)
            price, _ = price_of(account, data, guarantee, window)
            balances = tables.balances(connection, account, price.periods)
        tightest = max(balances, key=lambda balance: (not balance.fits(balance.cost(price)), balance.share))
        return tightest.estimate(tightest.cost(price))

    def charge(
        self,
        data: Dataset | str,
        guarantee: Guarantee,
        *,
        mechanism: str,
        parameters: Mapping[str, Any] | None = None,
        allow_refuted: bool = False,
        window: Window | None = None,
    ) -> Spend:
        """Reserve what a mechanism will lose; when this returns, the charge is on the disk.

        Use the result in a ``with`` block and run the mechanism inside. The charge is never taken back: after a crash
        or an exception it stays, as reserved and never settled.

        Parameters
        ----------
        data
            The dataset, its fingerprint, or the name of its account.
        guarantee
            What the mechanism promises. A promise for another unit is converted where that can be done.
        mechanism, parameters
            What will be run, for the record.
        allow_refuted
            Let a mechanism run whose promise is refuted. It is recorded apart and is part of no sum.
        window
            In an account per period: all days that the release is about, where they are more than those of the data
            (a series of releases that goes on), or where the data are given by name.

        Warns
        -----
        BudgetWarning
            When three quarters, and nine tenths, of a limit are charged.
        """
        require_allowed(guarantee, allow_refuted=allow_refuted)
        self._require_ledger(data)
        counted, text = guarantee.standing is not Standing.REFUTED, as_json(parameters)
        requests = () if self.key is None else requests_of(data, guarantee, mechanism, text, window)
        with self._store.read() as connection:
            account = self._require(connection, data)
            require_covered(connection, data, account, guarantee)
            price, guarantee = price_of(account, data, guarantee, window)
            # Charges are never taken back, so what does not fit now never will, and the lock need not be waited for. It
            # also does the slow part of a tight view (which remembers its results) before others have to wait for us.
            if self._earlier(connection, requests) is None:
                self._require_room(connection, account, price)
        charged = price if counted else replace(price, loss=guarantee.loss, whole=guarantee.loss)
        with self._store.write() as connection:
            self._store.lock(connection, None if self.key or self.population else account.id)
            self._attach_charged(connection, account, data)
            earlier, told = self._earlier(connection, requests), []
            if earlier is not None and not earlier.may_have_drawn:
                number = earlier.id
            else:
                self._store.lock(connection, account.id)
                before = self._require_room(connection, account, price)
                number = tables.add_spend(
                    connection,
                    account.id,
                    price=charged,
                    counted=counted,
                    mechanism=mechanism,
                    parameters=text,
                    guarantee=guarantee,
                    reserved_at=self._now(),
                    who=self.who,
                    key=self.key,
                    request=requests[0] if requests else None,
                )
                told += warnings_of(before, [balance.with_(price) for balance in before]) if counted else []
                told += [] if earlier is None else [charged_again(earlier, number)]
        for text in told:
            warnings.warn(text, BudgetWarning, stacklevel=2)
        spend = Spend(self, account, number, charged, guarantee)
        if self.key is not None:
            self._begin_drawing(spend)
        return spend

    def _require_room(self, connection: Connection, account: Account, price: Price) -> tuple[Balance, ...]:
        """The balances that a release is charged to; refuses what does not fit in one of them."""
        balances = tables.balances(connection, account, price.periods)
        for balance in balances:
            if not balance.fits(balance.cost(price)):
                raise refused(balance, price, balances, tables.entries_of(connection, account, balance.period))
        return balances

    def statement(self, data: Dataset | str, *, now: datetime | None = None) -> Statement:
        """Everything that was spent, what is left, and what it comes to in each view.

        Parameters
        ----------
        now
            In an account per period: the moment whose period is the present one.
        """
        self._require_ledger(data)
        with self._store.read() as connection:
            account = self._require(connection, data)
            entries = tables.entries(connection, account.id)
        return Statement.of(account, entries, now or self._clock())

    def account_of_release(self, release_id: str) -> Account | None:
        """The account that a release was charged to, or None if this ledger does not know it."""
        if not self._store.is_there():
            return None
        with self._store.read() as connection:
            return tables.account_of_release(connection, release_id)

    def backup(self, file: str | os.PathLike[str]) -> Path:
        """Write a checked copy of the ledger to a file that is not there yet; ``restore_ledger`` brings it back."""
        return backup(self._store, Path(file).expanduser().resolve())

    def note_settled(self, spend: Spend, release_id: str | None) -> None:
        """Record that the mechanism of a spend has run; ``spend.settle`` calls this."""
        with self._store.write() as connection:
            if not tables.settle(connection, spend.id, release_id, self._now()):
                raise LedgerError(f"spend {spend.id} of {spend.account.name} is settled already.")

    def note_saved(self, spend: Spend, place: str | None = None) -> None:
        """Record that the release of a spend is in a file; ``spend.note_saved`` calls this."""
        with self._store.write() as connection:
            tables.note_saved(connection, spend.id, self._now(), place if self.key else None)

    def _now(self) -> str:
        return self._clock().astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _who() -> str:
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a user id without a name
        user = "unknown"
    return f"{user}@{socket.gethostname()}"
