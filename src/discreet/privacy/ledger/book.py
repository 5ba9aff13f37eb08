"""The durable book of what each dataset has spent: estimate, reserve, run, settle."""

from __future__ import annotations

import getpass
import json
import os
import socket
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Protocol

from sqlalchemy.engine import Connection

from discreet.data.fingerprints import covered, origin_of
from discreet.errors import BudgetError, LedgerError, PrivacyError, UsageError
from discreet.privacy import entropy
from discreet.privacy.accounting import VIEWS
from discreet.privacy.charging import require_allowed
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.ledger import tables
from discreet.privacy.ledger.accounts import Account, Amount, Estimate
from discreet.privacy.ledger.statements import Entry, Statement
from discreet.privacy.ledger.store import store_at
from discreet.privacy.numbers import Rational, as_positive, as_probability
from discreet.privacy.units import Unit

__all__ = ["Account", "Amount", "Dataset", "Entry", "Estimate", "Ledger", "Spend", "Statement"]


class Dataset(Protocol):
    """What a ledger wants to know of data: Interactions, TagAssignments and Table all tell it.

    Attributes
    ----------
    fingerprint : str
        Which records these are. (Typed as Any: type checkers do not see the text behind a cached property.)
    lineage
        Fingerprints of what they were cut from, the oldest first.
    name
        What people call them.
    """

    @property
    def fingerprint(self) -> Any: ...

    @property
    def lineage(self) -> tuple[str, ...]: ...

    @property
    def name(self) -> str: ...


class Ledger:
    """The book of what each dataset has spent, in a SQLite file or a PostgreSQL database.

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
    dataset lose if every release is charged, if its guarantee holds, and if the account knows its data: data about
    the same people under another fingerprint must be linked. In an account whose losses are all pure or (ε, δ), the
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
        self._clock = clock

    def __repr__(self) -> str:
        return f"Ledger({self._store.where!r})"

    # Accounts

    def open(
        self,
        data: Dataset | str,
        *,
        epsilon: Rational,
        delta: Rational = 0,
        unit: Unit | str = "user",
        name: str | None = None,
        view: str = "basic",
    ) -> Account:
        """Open the account of a dataset: once, with the limit that will hold for good.

        The account also stands for what the data were cut from, and for whatever is cut from either.

        Parameters
        ----------
        data
            The dataset, or its fingerprint.
        epsilon, delta
            The limit for all releases together.
        unit
            Whose secret: "user", "record", "user/replace", "group:4", …
        name
            A name for people; that of the data by default.
        view
            What the limit is on: "basic" (the sum), "concentrated" or "pld" (tighter totals, so that more fits).
        """
        limit = Amount(as_positive(epsilon, "epsilon"), as_probability(delta))
        _check_view(view, limit)
        account = tables.NewAccount(name or _name_of_account(data), limit, Unit.of(unit), view, self._now(), self.who)
        self._store.create()
        with self._store.write() as connection:
            self._store.lock(connection, None)
            if existing := self._find(connection, data):
                raise LedgerError(
                    f"these data have an account already: {existing}.",
                    remedy="Charge that one: an account is opened once.",
                )
            if existing := self._find(connection, account.name):
                raise LedgerError(
                    f"other data have an account of that name: {existing}.",
                    remedy=f"The same people? ledger.link(data, {account.name!r}). Other people? Give another name=.",
                )
            return tables.add_account(connection, account, _family(data))

    def link(self, data: Dataset | str, account: Dataset | str) -> Account:
        """Charge further data about the same people, such as tomorrow's file, to an account that is open."""
        self._require_book(account)
        with self._store.write() as connection:
            self._store.lock(connection, None)
            target, existing = self._require(connection, account), self._find(connection, data)
            if existing and existing.id != target.id:
                raise LedgerError(
                    f"these data have an account of their own: {existing}.",
                    remedy="What was charged there cannot be moved.",
                )
            return tables.add_fingerprints(connection, target.id, _family(data), self._now())

    def datasets(self) -> tuple[Account, ...]:
        """All accounts, in the order in which they were opened."""
        if not self._store.is_there():
            return ()
        with self._store.read() as connection:
            return tables.all_accounts(connection)

    # Spending

    def estimate(self, data: Dataset | str, guarantee: Guarantee, *, allow_refuted: bool = False) -> Estimate:
        """Whether a request would fit. Nothing is written.

        Parameters
        ----------
        data
            The dataset, its fingerprint, or the name of its account.
        guarantee
            What the mechanism would promise.
        allow_refuted
            Let a refuted promise pass; it is then charged nothing, as no charge would cover it.
        """
        require_allowed(guarantee, allow_refuted=allow_refuted)
        self._require_book(data)
        with self._store.read() as connection:
            account = self._require(connection, data)
            balance = tables.balance(connection, account)
        return balance.estimate(account.loss_of(guarantee))

    def charge(
        self,
        data: Dataset | str,
        guarantee: Guarantee,
        *,
        mechanism: str,
        parameters: Mapping[str, Any] | None = None,
        allow_refuted: bool = False,
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
        """
        require_allowed(guarantee, allow_refuted=allow_refuted)
        self._require_book(data)
        with self._store.read() as connection:
            account = self._require(connection, data)
            _require_covered(connection, data, account, guarantee)
            before = tables.balance(connection, account)
        loss = account.loss_of(guarantee)
        counted = guarantee.standing is not Standing.REFUTED
        spend = tables.NewSpend(
            loss=loss if counted else guarantee.loss,
            counted=counted,
            mechanism=mechanism,
            parameters=_as_json(parameters),
            guarantee=guarantee,
            reserved_at=self._now(),
            who=self.who,
        )
        # Charges are never taken back, so what does not fit now never will, and the lock need not be waited for. It
        # also does the slow part of a tight view (which remembers its results) before others have to wait for us.
        before.require(loss)
        with self._store.write() as connection:
            self._store.lock(connection, account.id)
            tables.balance(connection, account).require(loss)
            return Spend(self, account, tables.add_spend(connection, account.id, spend))

    def statement(self, data: Dataset | str) -> Statement:
        """Everything that was spent, what is left, and what it comes to in each view."""
        self._require_book(data)
        with self._store.read() as connection:
            account = self._require(connection, data)
            entries = tables.entries(connection, account.id)
        return Statement.of(account, entries)

    def account_of_release(self, release_id: str) -> Account | None:
        """The account that a release was charged to, or None if this book does not know it."""
        if not self._store.is_there():
            return None
        with self._store.read() as connection:
            return tables.account_of_release(connection, release_id)

    def _settle(self, spend: Spend, release_id: str | None) -> None:
        with self._store.write() as connection:
            if not tables.settle(connection, spend.id, release_id, self._now()):
                raise LedgerError(f"spend {spend.id} of {spend.account.name} is settled already.")

    # Finding the account

    def _require_book(self, data: Dataset | str) -> None:
        if not self._store.is_there():
            raise self._unknown(data)

    def _require(self, connection: Connection, data: Dataset | str) -> Account:
        account = self._find(connection, data)
        if account is None:
            raise self._unknown(data)
        return account

    def _find(self, connection: Connection, data: Dataset | str) -> Account | None:
        """By the fingerprints of the data and of what they were cut from; by name, if text was given."""
        found = tables.accounts_of(connection, _family(data))
        if not found and isinstance(data, str):
            return tables.account_named(connection, data)
        if len(found) > 1:
            raise LedgerError(
                f"{_name(data)} comes from the data of several accounts: {', '.join(a.name for a in found)}.",
                remedy="One release is charged to one account: release from each of them by itself.",
            )
        return found[0] if found else None

    def _unknown(self, data: Dataset | str) -> BudgetError:
        return BudgetError(
            f"{_name(data)} has no account in {self._store.where}.",
            remedy='Open one with ledger.open(data, epsilon=…, delta=…, unit="user"); if its people have an account'
            " already, ledger.link(data, account).",
        )

    def _now(self) -> str:
        return self._clock().astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


class Spend:
    """A charge that stands. Leaving its block without an exception settles it.

    Attributes
    ----------
    id
        Number of the entry in the book.
    account
        The account that was charged.
    settled
        Whether it was said that the run is done.
    """

    def __init__(self, ledger: Ledger, account: Account, number: int) -> None:
        self.id = number
        self.account = account
        self.settled = False
        self._ledger = ledger

    def settle(self, release_id: str | None = None) -> None:
        """Record that the mechanism has run, and the id of what came out."""
        self._ledger._settle(self, release_id)
        self.settled = True

    def __enter__(self) -> Spend:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and not self.settled:
            self.settle()


def _check_view(view: str, limit: Amount) -> None:
    if view not in VIEWS:
        raise UsageError(f"there is no view {view!r}.", remedy=f"Views are {', '.join(VIEWS)}.")
    if view != "basic" and not limit.delta:
        raise UsageError(f"a limit on the view {view!r} needs a delta above 0.", remedy="Write for example 1e-6.")


def _family(data: Dataset | str) -> tuple[str, ...]:
    """The fingerprint of the data, then those of what they were cut from."""
    if isinstance(data, str):
        return (data,)
    try:
        return (data.fingerprint, *(origin_of(origin) for origin in data.lineage))
    except AttributeError:
        raise UsageError(
            f"a {type(data).__name__} has no fingerprint to be charged under.",
            remedy="Give Interactions, TagAssignments, a Table, a fingerprint, or the name of an account.",
        ) from None


def _require_covered(connection: Connection, data: Dataset | str, account: Account, guarantee: Guarantee) -> None:
    """Refuse a promise about a part that is none about the whole, unless the part has become data of its own."""
    if isinstance(data, str):
        return
    # A cut that happened to leave nothing out is a cut all the same: to let it pass would tell so.
    unchanged = data.fingerprint in map(origin_of, data.lineage)
    if not unchanged and tables.accounts_of(connection, [data.fingerprint]):
        return
    unit = guarantee.unit
    if covered(data.lineage, unit.what, unit.relation):
        return
    if not covered(data.lineage, "user", "add-remove"):
        raise PrivacyError(
            f"{_name(data)} was cut from the data of {account.name!r} by a rule that may look at everybody: one user "
            "more could change all of it, and a promise about the part would be none about the whole.",
            remedy="Cut user by user and say so, data.filter(…, independent=True); or, to treat the part as data of "
            "its own, ledger.link(part, account).",
        )
    if unit.relation == "add-remove":
        raise PrivacyError(
            f"{_name(data)} was cut from the data of {account.name!r} by a rule about all records of a user: one "
            f"record more could change the rest of that user's part, and the promise is about {unit}.",
            remedy='Cut record by record and say so, data.filter(…, independent="record"), or protect whole users.',
        )
    raise PrivacyError(
        f"{_name(data)} has those records of {account.name!r} that a rule picked: with another content one might not "
        f"have been picked, and the promise is about {unit}.",
        remedy="Take the whole; of a table, with the condition in the queries.",
    )


def _name_of_account(data: Dataset | str) -> str:
    """What to call an account that was given no name; never after the fingerprint, which is as secret as the data."""
    named = data if isinstance(data, str) else data.name
    return named or f"dataset-{entropy.random_bytes(4).tobytes().hex()}"


def _name(data: Dataset | str) -> str:
    return data if isinstance(data, str) else (data.name or "this dataset")


def _as_json(parameters: Mapping[str, Any] | None) -> str:
    """Parameters as text; rationals and the like are written the way they print."""
    try:
        return json.dumps(dict(parameters or {}), default=str, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(f"these parameters cannot be written down: {error}.") from error


def _who() -> str:
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a user id without a name
        user = "unknown"
    return f"{user}@{socket.gethostname()}"
