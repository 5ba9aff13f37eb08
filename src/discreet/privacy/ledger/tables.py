"""What is asked of the tables of a ledger, and what is written to them, each with its step in the chain."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from discreet.data.periods import Period
from discreet.errors import LedgerError, UsageError
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.ledger import chain
from discreet.privacy.ledger.accounts import Account, Amount, Price
from discreet.privacy.ledger.balances import Balance
from discreet.privacy.ledger.schema import ACCOUNTS, FINGERPRINTS, SPENDS
from discreet.privacy.ledger.statements import Entry
from discreet.privacy.ledger.step_lines import STEP
from discreet.privacy.losses import Loss, loss_from_json
from discreet.privacy.units import Unit

MARK = re.compile(r"(by-person|in-memory|in-parts|other-kind):[0-9a-f]{64}")
"""An entry beside the fingerprints of an account that says how else one of them is known (``families``)."""

__all__ = [
    "account_named",
    "account_of_release",
    "accounts_of",
    "add_account",
    "add_fingerprints",
    "add_spend",
    "all_accounts",
    "balances",
    "entries",
    "entries_of",
    "entries_under",
    "entry",
    "entry_under",
    "note_drawing",
    "note_saved",
    "series_charge",
    "series_steps",
    "settle",
    "step_of",
]


# Accounts


def all_accounts(connection: Connection) -> tuple[Account, ...]:
    return _accounts(connection, sql.true())


def account_named(connection: Connection, name: str) -> Account | None:
    found = _accounts(connection, ACCOUNTS.c.name == name)
    return found[0] if found else None


def accounts_of(connection: Connection, fingerprints: Sequence[str]) -> tuple[Account, ...]:
    """The accounts that any of these fingerprints is charged to."""
    linked = sql.select(FINGERPRINTS.c.account).where(FINGERPRINTS.c.fingerprint.in_(fingerprints))
    return _accounts(connection, ACCOUNTS.c.id.in_(linked)) if fingerprints else ()


def account_of_release(connection: Connection, release: str) -> Account | None:
    """The account that a release was charged to."""
    charged = sql.select(SPENDS.c.account).where(SPENDS.c.release == release)
    found = _accounts(connection, ACCOUNTS.c.id.in_(charged))
    return found[0] if found else None


def add_account(
    connection: Connection,
    fingerprints: Iterable[str],
    *,
    name: str,
    limit: Amount,
    unit: Unit,
    view: str,
    opened: str,
    who: str,
    time_zone: str | None = None,
    lifetime: Amount | None = None,
) -> Account:
    amounts = {"epsilon": str(limit.epsilon), "delta": str(limit.delta)}
    if lifetime is not None:
        amounts |= {"lifetime_epsilon": str(lifetime.epsilon), "lifetime_delta": str(lifetime.delta)}
    terms = {"unit": unit.code, "view": view, "time_zone": time_zone}
    number = _number(connection, ACCOUNTS.insert().values(**amounts, **terms, name=name, opened=opened, who=who))
    chain.append(connection, "account", number)
    if time_zone is not None:
        chain.append(connection, "terms", number)
    return add_fingerprints(connection, number, fingerprints, opened)


def add_fingerprints(connection: Connection, account: int, fingerprints: Iterable[str], now: str) -> Account:
    """Link those that are not linked yet."""
    for fingerprint in dict.fromkeys(fingerprints):
        if not accounts_of(connection, [fingerprint]):
            connection.execute(FINGERPRINTS.insert().values(fingerprint=fingerprint, account=account, linked=now))
            chain.append(connection, "fingerprint", fingerprint)
    return _accounts(connection, ACCOUNTS.c.id == account)[0]


def _accounts(connection: Connection, condition: sql.ColumnElement[bool]) -> tuple[Account, ...]:
    rows = connection.execute(sql.select(ACCOUNTS).where(condition).order_by(ACCOUNTS.c.id)).all()
    known = _known(connection, condition) if rows else {}
    return tuple(
        Account(
            id=row.id,
            name=row.name,
            limit=Amount(Fraction(row.epsilon), Fraction(row.delta)),
            unit=Unit.of(row.unit),
            view=row.view,
            fingerprints=tuple(one for one in known.get(row.id, ()) if not MARK.fullmatch(one)),
            marks=tuple(one for one in known.get(row.id, ()) if MARK.fullmatch(one)),
            opened=row.opened,
            who=row.who,
            time_zone=row.time_zone,
            lifetime=None
            if row.lifetime_epsilon is None
            else Amount(Fraction(row.lifetime_epsilon), Fraction(row.lifetime_delta)),
        )
        for row in rows
    )


def _known(connection: Connection, condition: sql.ColumnElement[bool]) -> dict[int, list[str]]:
    """The fingerprints of these accounts, and the marks that say how else they are known."""
    chosen = sql.select(ACCOUNTS.c.id).where(condition)
    query = sql.select(FINGERPRINTS.c.account, FINGERPRINTS.c.fingerprint).where(FINGERPRINTS.c.account.in_(chosen))
    found: dict[int, list[str]] = {}
    for account, fingerprint in connection.execute(query.order_by(FINGERPRINTS.c.fingerprint)):
        found.setdefault(account, []).append(fingerprint)
    return found


# Spends


def balances(connection: Connection, account: Account, periods: Sequence[Period] = ()) -> tuple[Balance, ...]:
    """What is charged, equal losses counted together: the account, or each of some of its periods and the lifetime."""
    per_period = account.unit.period is not None
    columns = [SPENDS.c.state, SPENDS.c.loss, *([SPENDS.c.whole_loss, SPENDS.c.periods] if per_period else [])]
    query = (
        sql.select(sql.func.count(), *columns)
        .where(SPENDS.c.account == account.id, SPENDS.c.counted)
        .group_by(*columns)
        .order_by(SPENDS.c.loss)
    )
    rows = [tuple(row) for row in connection.execute(query)]
    if not per_period:
        return (_balance(account, ((state, text, count) for count, state, text in rows)),)
    found = [(state, loss, whole or loss, _periods(codes), count) for count, state, loss, whole, codes in rows]
    return (
        *(
            _balance(account, ((row[0], row[1], row[4]) for row in found if period in row[3]), period=period)
            for period in periods
        ),
        _balance(account, ((row[0], row[2], row[4]) for row in found), lifetime=True),
    )


def _balance(account: Account, rows: Iterable[tuple[str, str, int]], **scope: Any) -> Balance:
    """The balance over states, losses and counts; the same loss may come several times."""
    counts: Counter[tuple[bool, str]] = Counter()
    for state, text, count in rows:
        counts[state == "settled", text] += int(count)
    return Balance(
        account,
        settled=tuple((_loss(text), count) for (settled, text), count in counts.items() if settled),
        unsettled=tuple((_loss(text), count) for (settled, text), count in counts.items() if not settled),
        **scope,
    )


def entries_of(connection: Connection, account: Account, period: Period | None) -> list[int]:
    """Numbers of the entries that count, in one period or in all."""
    query = sql.select(SPENDS.c.id, SPENDS.c.periods).where(SPENDS.c.account == account.id, SPENDS.c.counted)
    rows = connection.execute(query.order_by(SPENDS.c.id)).all()
    return [number for number, codes in rows if period is None or period in _periods(codes)]


@lru_cache(maxsize=4096)
def _periods(text: str | None) -> tuple[Period, ...]:
    try:
        return () if text is None else tuple(map(Period.of, json.loads(text)))
    except (ValueError, TypeError, UsageError) as error:
        raise LedgerError(f"the ledger holds periods that cannot be read: {text!r}.") from error


def add_spend(
    connection: Connection,
    account: int,
    *,
    price: Price,
    counted: bool,
    mechanism: str,
    parameters: str,
    guarantee: Guarantee,
    reserved_at: str,
    who: str,
    key: str | None = None,
    request: str | None = None,
) -> int:
    """Reserve; gives the number of the entry."""
    periods = json.dumps([str(period) for period in price.periods]) if price.periods else None
    statement = SPENDS.insert().values(
        account=account,
        counted=counted,
        state="reserved",
        loss=_as_text(price.loss),
        mechanism=mechanism,
        parameters=parameters,
        guarantee=json.dumps(guarantee.to_json()),
        reserved_at=reserved_at,
        who=who,
        periods=periods,
        whole_loss=_as_text(price.whole) if periods else None,
        key=key,
        request=request,
    )
    number = _number(connection, statement)
    chain.append(connection, "reserved", number)
    if periods is not None:
        chain.append(connection, "periods", number)
    if key is not None:
        chain.append(connection, "key", number)
    return number


def settle(connection: Connection, spend: int, release: str | None, now: str) -> bool:
    """Whether the spend was reserved and now is settled."""
    change = (
        SPENDS.update()
        .where(SPENDS.c.id == spend, SPENDS.c.state == "reserved")
        .values(state="settled", release=release, settled_at=now)
    )
    return _changed(connection, change, "settled", spend)


def note_drawing(connection: Connection, spend: int, now: str) -> bool:
    """Whether drawing had not begun with this charge, and now may."""
    free = SPENDS.c.drawing_at.is_(None) & (SPENDS.c.state == "reserved")
    return _changed(
        connection, SPENDS.update().where(SPENDS.c.id == spend, free).values(drawing_at=now), "drawing", spend
    )


def entry_under(connection: Connection, key: str) -> Entry | None:
    """The latest entry under a key."""
    query = sql.select(SPENDS).where(SPENDS.c.key == key).order_by(SPENDS.c.id.desc()).limit(1)
    row = connection.execute(query).first()
    return None if row is None else _entry(row)


def entries_under(connection: Connection, key: str) -> tuple[Entry, ...]:
    """All entries under a key."""
    rows = connection.execute(sql.select(SPENDS).where(SPENDS.c.key == key).order_by(SPENDS.c.id))
    return tuple(_entry(row) for row in rows)


def note_saved(connection: Connection, spend: int, now: str, place: str | None = None) -> bool:
    """Whether it was not yet recorded that the release of a spend was saved, and now is."""
    change = SPENDS.update().where(SPENDS.c.id == spend, SPENDS.c.saved_at.is_(None))
    changed = _changed(connection, change.values(saved_at=now, saved_in=place), "saved", spend)
    if changed and place is not None:
        chain.append(connection, "place", spend)
    return changed


def _changed(connection: Connection, change: sql.Update, kind: str, spend: int) -> bool:
    if connection.execute(change).rowcount != 1:
        return False
    chain.append(connection, kind, spend)
    return True


def entries(connection: Connection, account: int) -> tuple[Entry, ...]:
    rows = connection.execute(sql.select(SPENDS).where(SPENDS.c.account == account).order_by(SPENDS.c.id))
    return tuple(_entry(row) for row in rows)


def entry(connection: Connection, number: int) -> tuple[Entry, int]:
    """One entry, and the number of its account."""
    row = connection.execute(sql.select(SPENDS).where(SPENDS.c.id == number)).one_or_none()
    if row is None:
        raise LedgerError(f"the ledger has no entry {number}.")
    return _entry(row), row.account


# Steps of a series: entries without a loss of their own, under the name of the series


def step_of(series: str) -> str:
    """What the steps of a series are called in the ledger."""
    return STEP + series


def series_steps(connection: Connection, series: str) -> dict[int, str]:
    """The id of the release of every step that was recorded."""
    query = sql.select(SPENDS.c.parameters, SPENDS.c.release).where(SPENDS.c.mechanism == step_of(series))
    return {json.loads(parameters)["step"]: release for parameters, release in connection.execute(query)}


def series_charge(connection: Connection, series: str) -> int | None:
    """The entry that the whole series was charged by: it was settled with the id of the series."""
    query = sql.select(SPENDS.c.id).where(SPENDS.c.parameters.contains(f'"series": "{series}"', autoescape=True))
    return connection.execute(query.order_by(SPENDS.c.id).limit(1)).scalar()


def _entry(row: Any) -> Entry:
    try:
        return Entry(
            id=row.id,
            mechanism=row.mechanism,
            parameters=json.loads(row.parameters),
            guarantee=Guarantee.from_json(json.loads(row.guarantee)),
            loss=_loss(row.loss),
            state=row.state,
            release=row.release,
            reserved_at=row.reserved_at,
            settled_at=row.settled_at,
            saved_at=row.saved_at,
            who=row.who,
            periods=_periods(row.periods),
            whole=_loss(row.whole_loss or row.loss),
            key=row.key,
            request=row.request,
            drawing_at=row.drawing_at,
            saved_in=row.saved_in,
        )
    except (ValueError, UsageError) as error:
        raise LedgerError(f"entry {row.id} of the ledger cannot be read: {error}.") from error


def _as_text(loss: Loss) -> str:
    return json.dumps(loss.to_json(), sort_keys=True)


@lru_cache(maxsize=4096)
def _loss(text: str) -> Loss:
    try:
        return loss_from_json(json.loads(text))
    except (ValueError, UsageError) as error:
        raise LedgerError(f"the ledger holds a loss that cannot be read: {text!r}.") from error


def _number(connection: Connection, insert: sql.Insert) -> int:
    key = connection.execute(insert).inserted_primary_key
    assert key is not None
    return int(key[0])
