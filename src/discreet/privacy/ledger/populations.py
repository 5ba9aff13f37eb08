"""Whose data: the accounts of a ledger, which data are attached to them, and which account a charge goes to."""

from __future__ import annotations

from copy import copy
from typing import Self

from sqlalchemy.engine import Connection

from discreet.errors import DiscreetError, LedgerError, UsageError
from discreet.privacy.ledger import tables
from discreet.privacy.ledger.accounts import Account
from discreet.privacy.ledger.families import (
    Dataset,
    account_of,
    cannot_tell,
    is_known_by_scan,
    known_as,
    name_of,
    not_comparable,
    without_account,
)
from discreet.privacy.ledger.store import Store

__all__ = ["Populations"]


class Populations:
    """What a ledger knows about who data are about."""

    population: str | None
    _store: Store

    def _now(self) -> str:
        raise NotImplementedError("a ledger tells the time")

    def datasets(self) -> tuple[Account, ...]:
        """All accounts, in the order in which they were opened."""
        if not self._store.is_there():
            return ()
        with self._store.read() as connection:
            return tables.all_accounts(connection)

    def about(self, population: str | None) -> Self:
        """The same ledger for data about one population: what it charges is charged to the account of that name.

        Data that are not attached yet are attached by the charge, in one step; a refused charge attaches nothing. Data
        of another account are refused.

        Examples
        --------
        >>> import discreet as dc, tempfile
        >>> films = dc.synthetic.films(users=20, items=9, seed=7)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ledger = dc.Ledger(f"{folder}/budget.db")
        ...     account = ledger.open(population="viewers", epsilon=2)
        ...     release = dc.counting.ItemCounts(epsilon=1, cap=5).release(films, ledger=ledger.about("viewers"))
        ...     ledger.statement(films).account.name
        'viewers'
        """
        if population is not None and not population.strip():
            raise UsageError("the name of a population must not be empty.")
        known = copy(self)
        known.population = population
        return known

    def attach(self, data: Dataset | str, population: Dataset | str) -> Account:
        """Charge further data about the same people, such as tomorrow's file, to the account of their population.

        Parameters
        ----------
        data
            The dataset, or its fingerprint.
        population
            The name of the population, or data that belong to it already.
        """
        if not self._store.is_there():
            raise self._unknown(population)
        with self._store.write() as connection:
            self._store.lock(connection, None)
            target, existing = account_of(connection, population), account_of(connection, data)
            if target is None:
                raise self._unknown(population)
            if existing and existing.id != target.id:
                raise LedgerError(
                    f"these data have an account of their own: {existing}.",
                    remedy="What was charged there cannot be moved.",
                )
            return tables.add_fingerprints(connection, target.id, known_as(data), self._now())

    def link(self, data: Dataset | str, account: Dataset | str) -> Account:
        """The same as ``attach``, under the name that version 0.1 had for it."""
        return self.attach(data, account)

    # Which account is charged

    def _require_ledger(self, data: Dataset | str) -> None:
        if not self._store.is_there():
            raise self._unknown(self.population or data)

    def _require(self, connection: Connection, data: Dataset | str) -> Account:
        """The account of the data, or that of the named population."""
        account = account_of(connection, data)
        if self.population is not None:
            named = tables.account_named(connection, self.population)
            if named is None:
                raise self._unknown(self.population)
            if account is not None and account.id != named.id:
                raise LedgerError(
                    f"{name_of(data)} belongs to the account {account.name!r}, and {named.name!r} was to be charged.",
                    remedy=f"Leave the population out, or give {account.name!r}.",
                )
            return named
        if account is None:
            raise self._unknown(data, tables.all_accounts(connection))
        return account

    def _attach_charged(self, connection: Connection, account: Account, data: Dataset | str) -> None:
        """Attach the data of a charge to the population that was named for it.

        Data that were known by a scan of theirs are attached as they are in memory, so that their parts are known.
        """
        if isinstance(data, str):
            return
        if self.population is not None:
            self._require(connection, data)  # somebody may have attached them elsewhere by now
        elif not is_known_by_scan(data, account):
            return
        tables.add_fingerprints(connection, account.id, known_as(data), self._now())

    def _unknown(self, data: Dataset | str, accounts: tuple[Account, ...] = ()) -> DiscreetError:
        if unclear := not_comparable(data, accounts):
            return cannot_tell(data, unclear)
        return without_account(data, self._store.where, accounts)
