"""Populations: their accounts in the ledger, and what analysts may spend of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from discreet.privacy import Guarantee, Ledger
from discreet.privacy.ledger import Account, Amount, Entry, Statement
from discreet.privacy.ledger.requests import Terms
from discreet.privacy.losses import Approximate, Loss, Pure
from discreet.privacy.numbers import as_fraction
from discreet.service.access import Caller
from discreet.service.jobs import queue_of
from discreet.service.problems import Problem, not_found
from discreet.service.schema import JOBS, POPULATIONS
from discreet.service.store import Store, day_of

__all__ = ["AdaptiveLedger", "Populations", "amount_of"]

VIEW_FOR_ANALYSTS = "basic"


class AdaptiveLedger(Ledger):
    """A ledger whose charges may be chosen after earlier results were seen: a privacy filter.

    Everything is charged as (ε, δ), and the sum of epsilons and of deltas is held to the limit. That bounds the loss
    also where each request depends on all answers before it, which sums in other kinds of accounting need not
    (``docs/ledger.md``, "What the ledger promises").

    Attributes
    ----------
    delta : Fraction
        Where losses without a delta of their own are stated.
    """

    delta: Fraction = Fraction(0)

    def charge(self, data: Any, guarantee: Guarantee, **given: Any) -> Any:
        return super().charge(data, self._stated(guarantee), **given)

    def estimate(self, data: Any, guarantee: Guarantee, **given: Any) -> Any:
        return super().estimate(data, self._stated(guarantee), **given)

    def kept(self, data: Any, guarantee: Guarantee, **given: Any) -> Any:
        return super().kept(data, self._stated(guarantee), **given)

    def _stated(self, guarantee: Guarantee) -> Guarantee:
        return replace(guarantee, loss=stated(guarantee.loss, self.delta))


def stated(loss: Loss, delta: Fraction) -> Loss:
    """A loss as pure or (ε, δ)."""
    return loss if isinstance(loss, Pure | Approximate) else Approximate(loss.epsilon_at(delta), delta)


def amount_of(given: Mapping[str, Any]) -> Amount:
    return Amount(as_fraction(given["epsilon"]), as_fraction(given.get("delta", 0)))


def _left_behind(ledger: Ledger, name: str, terms: Mapping[str, Any]) -> Account | None:
    """The account that was opened just before a crash, if it is the one that is asked for and nothing was charged."""
    found = next((account for account in ledger.datasets() if account.name == name), None)
    if found is None or ledger.statement(name).every:
        return None
    asked = Terms.of(**{"delta": 0, "unit": "user", "view": "basic", "per": None, "time_zone": None, "lifetime": None}
                     | dict(terms))  # fmt: skip
    same = (found.limit, found.unit, found.view, found.time_zone, found.lifetime)
    return found if same == (asked.limit, asked.unit, asked.view, asked.time_zone, asked.lifetime) else None


def _cut(entry: Entry) -> Entry:
    """An entry without times of day and places on the disk.

    When a release was begun, settled and saved tells how long reading and drawing took, which depends on the records.
    """
    times = {name: getattr(entry, name) for name in ("reserved_at", "drawing_at", "settled_at", "saved_at")}
    return replace(entry, saved_in=None, **{name: time and day_of(time) for name, time in times.items()})


class Populations:
    """The populations of tenants."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def open(self, caller: Caller, *, name: str, open_to_analysts: bool = False, **terms: Any) -> Account:
        """Open the account of a population."""
        caller.require("open populations")
        if open_to_analysts and terms.get("view", VIEW_FOR_ANALYSTS) != VIEW_FOR_ANALYSTS:
            raise Problem(
                422,
                "privacy",
                "A population that is open to analysts is limited by the basic sum: they choose after seeing results.",
                remedy='Leave view out, or give "basic".',
            )
        ledger = self.store.ledger(caller.tenant, caller.who)
        with self.store.write(f"populations {caller.tenant}") as connection:
            known = connection.execute(self._rows(caller).where(POPULATIONS.c.name == name)).first()
            account = None if known is not None else _left_behind(ledger, name, terms)
            if account is None:
                account = ledger.open(population=name, **terms)
            connection.execute(
                sql.insert(POPULATIONS).values(
                    tenant=caller.tenant, name=name, open_to_analysts=open_to_analysts, allowances={}
                )
            )
            self.store.log(connection, caller.tenant, caller.who, "open population", name, account.terms)
        return account

    def listed(self, caller: Caller) -> list[dict[str, Any]]:
        """The populations that the caller may know of."""
        caller.require("read populations")
        ledger = self.store.ledger(caller.tenant, caller.who)
        rows = {row.name: row for row in self.store.all(self._rows(caller))}
        return [
            {**account.to_json(), "open_to_analysts": rows[account.name].open_to_analysts}
            for account in ledger.datasets()
            if account.name in rows and self._visible(caller, rows[account.name])
        ]

    def get(self, caller: Caller, name: str) -> Any:
        """The row of a population that the caller may know of."""
        row = self.store.one(self._rows(caller).where(POPULATIONS.c.name == name))
        if row is None or not self._visible(caller, row):
            raise not_found("population", name)
        return row

    def may_know(self, caller: Caller, name: str) -> bool:
        """Whether there is a population that the caller may know of."""
        row = self.store.one(self._rows(caller).where(POPULATIONS.c.name == name))
        return row is not None and self._visible(caller, row)

    def statement(self, caller: Caller, name: str) -> Statement:
        """What was spent about a population, and what is left."""
        self.get(caller, name)
        statement = self.store.ledger(caller.tenant, caller.who).statement(name)
        if caller.is_curator:
            return statement
        return replace(
            statement,
            entries=tuple(map(_cut, statement.entries)),
            refuted=tuple(map(_cut, statement.refuted)),
        )

    def ledger(self, caller: Caller, name: str, *, delta: Any = 0) -> Ledger:
        """The ledger as it is charged for a population: a filter where analysts may choose."""
        row = self.get(caller, name)
        return self.ledger_of(caller.tenant, caller.who, is_open=row.open_to_analysts, delta=delta)

    def ledger_of(self, tenant: str, who: str, *, is_open: bool, delta: Any) -> Ledger:
        if not is_open:
            return self.store.ledger(tenant, who)
        ledger = self.store.ledger(tenant, who, AdaptiveLedger)
        ledger.delta = as_fraction(delta or 0)
        return ledger

    # Allowances

    def allow(self, caller: Caller, name: str, key: str, allowance: Mapping[str, Any] | None) -> None:
        """What one analyst may spend of a population; None takes the allowance away."""
        caller.require("open populations")
        with self.store.write(queue_of(caller.tenant)) as connection:
            row = connection.execute(self._rows(caller).where(POPULATIONS.c.name == name)).first()
            if row is None:
                raise not_found("population", name)
            if not row.open_to_analysts:
                raise Problem(
                    409,
                    "closed",
                    f"The population {name!r} is not open to analysts.",
                    remedy="Open a population with open_to_analysts: true; this cannot be changed later.",
                )
            allowances = {**row.allowances, key: None if allowance is None else amount_of(allowance).to_json()}
            kept = {one: amount for one, amount in allowances.items() if amount is not None}
            where = (POPULATIONS.c.tenant == caller.tenant, POPULATIONS.c.name == name)
            connection.execute(sql.update(POPULATIONS).where(*where).values(allowances=kept))
            outcome = "none" if allowance is None else str(amount_of(allowance))
            self.store.log(connection, caller.tenant, caller.who, "allowance", f"{name}: {key}", outcome)

    def reserve(self, connection: Connection, caller: Caller, name: str, cost: Amount) -> None:
        """Refuse what an analyst's allowance does not hold. The caller of this holds the lock of the queue.

        The sum is over everything that was ever reserved under the key for a job, whether or not the job was charged in
        the end: never less than what the ledger was charged.
        """
        if caller.is_curator:
            return
        row = connection.execute(self._rows(caller).where(POPULATIONS.c.name == name)).first()
        allowed = None if row is None else row.allowances.get(caller.key)
        if row is None or allowed is None or not row.open_to_analysts:
            raise not_found("population", name)
        left = amount_of(allowed) - self.reserved(connection, caller, name)
        if not cost.within(left):
            raise Problem(
                409,
                "allowance",
                f"This costs {cost}, and your allowance has {left} left.",
                remedy="Ask for less, or ask the curator for a larger allowance.",
                left=left.to_json(),
                cost=cost.to_json(),
            )

    def reserved(self, connection: Connection, caller: Caller, name: str) -> Amount:
        """Everything that was reserved under the caller's key."""
        same = (JOBS.c.tenant == caller.tenant, JOBS.c.key == caller.key, JOBS.c.population == name)
        total = Amount(Fraction(0))
        for cost, charges in connection.execute(sql.select(JOBS.c.cost, JOBS.c.charges).where(*same)):
            if cost is not None and charges:
                one = amount_of(cost)
                total = Amount(total.epsilon + charges * one.epsilon, total.delta + charges * one.delta)
        return total

    def allowance(self, caller: Caller, name: str) -> dict[str, Any]:
        """What the caller may spend, and has reserved."""
        row = self.get(caller, name)
        with self.store.read() as connection:
            used = self.reserved(connection, caller, name)
        allowed = amount_of(row.allowances[caller.key])
        return {"allowed": allowed.to_json(), "reserved": used.to_json(), "left": (allowed - used).to_json()}

    def used_by(self, caller: Caller, name: str, key: str) -> dict[str, Any]:
        """What one analyst has reserved, and has left; for curators."""
        caller.require("open populations")
        allowed = amount_of(self.get(caller, name).allowances[key])
        with self.store.read() as connection:
            used = self.reserved(connection, replace(caller, key=key), name)
        return {"reserved": used.to_json(), "left": (allowed - used).to_json()}

    def _rows(self, caller: Caller) -> Any:
        return sql.select(POPULATIONS).where(POPULATIONS.c.tenant == caller.tenant)

    def _visible(self, caller: Caller, row: Any) -> bool:
        return caller.role != "analyst" or (row.open_to_analysts and caller.key in row.allowances)
