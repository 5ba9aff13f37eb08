"""What is asked of a ledger: the terms of a new account, and the price of a release from dated data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from discreet.data.periods import Window, period_at
from discreet.errors import PrivacyError, UsageError
from discreet.privacy.accounting import VIEWS
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.ledger.accounts import Account, Amount, Price, account_unit
from discreet.privacy.ledger.families import Dataset
from discreet.privacy.numbers import Rational, as_positive, as_probability
from discreet.privacy.units import Unit

__all__ = ["Lifetime", "Terms", "as_json", "price_of", "said_population"]

Lifetime = Rational | tuple[Rational, Rational]
"""An epsilon, or an epsilon and a delta."""

UNDATED = "what the table of users says, which has no times, in any period"
"""What an account per period does not cover where data have a secret table of users."""


@dataclass(frozen=True)
class Terms:
    """What an account is opened with, checked."""

    limit: Amount
    unit: Unit
    view: str
    time_zone: str | None
    lifetime: Amount | None

    @classmethod
    def of(
        cls,
        *,
        epsilon: Rational,
        delta: Rational,
        unit: Unit | str,
        view: str,
        per: str | None,
        time_zone: str | None,
        lifetime: Lifetime | None,
    ) -> Terms:
        limit = Amount(as_positive(epsilon, "epsilon"), as_probability(delta))
        whose = account_unit(unit, per)
        if view not in VIEWS:
            raise UsageError(f"there is no view {view!r}.", remedy=f"Views are {', '.join(VIEWS)}.")
        if view != "basic" and not limit.delta:
            raise UsageError(f"a limit on the view {view!r} needs a delta above 0.", remedy="Write for example 1e-6.")
        if whose.period is None:
            if time_zone is not None or lifetime is not None:
                raise UsageError(
                    "time_zone and lifetime are for accounts per period: without periods the limit is for life.",
                    remedy='Give per="year", or leave them out.',
                )
            return cls(limit, whose, view, None, None)
        zone = time_zone or "UTC"
        period_at(0, whose.period, zone)  # the zone must be known
        return cls(limit, whose, view, zone, _lifetime(lifetime, limit))


def _lifetime(given: Lifetime | None, limit: Amount) -> Amount | None:
    if given is None:
        return None
    epsilon, delta = given if isinstance(given, tuple) else (given, limit.delta)
    amount = Amount(as_positive(epsilon, "lifetime"), as_probability(delta))
    if not limit.within(amount):
        raise UsageError(f"the lifetime limit ({amount}) is below that of one period ({limit}).")
    return amount


def said_population(data: Dataset | str | None, population: str | None, name: str | None) -> str | None:
    """What the caller calls the people; None where nothing was said. Text in the place of data is a name as well."""
    if population is not None and name is not None and population != name:
        raise UsageError("population= and name= are the same thing, and differ here.", remedy="Leave name= out.")
    said = population if population is not None else name
    if said is None and isinstance(data, str):
        return data
    if said is None and data is None:
        raise UsageError("an account without data needs a name.", remedy='Give population="customers".')
    if said is not None and not said.strip():
        raise UsageError("the name of a population must not be empty.")
    return said


def price_of(
    account: Account, data: Dataset | str, guarantee: Guarantee, window: Window | None
) -> tuple[Price, Guarantee]:
    """What a release costs an account, and its guarantee with what it comes to for one period.

    Parameters
    ----------
    window
        All days that the release is about, where they are more than those of the data: a series of releases that goes
        on. For data that are given by name, their declared window.
    """
    if account.unit.period is None:
        return account.price_of(guarantee), guarantee
    price = account.price_of(guarantee, _window(data, window))
    if guarantee.standing is Standing.REFUTED:
        return price, guarantee
    if _has_undated_users(data):
        guarantee = replace(guarantee, not_covered=(*guarantee.not_covered, UNDATED))
    many = len(price.periods) > 1
    which = f"each of {price.periods[0]} to {price.periods[-1]}" if many else str(price.periods[0])
    words = f"{price.loss} for one user's records of {which} ({account.time_zone}), present or absent"
    return price, replace(guarantee, per_period=words)


def _window(data: Dataset | str, window: Window | None) -> Window | None:
    """The window that is charged. Data that were not held to a window have none, whatever is said about them."""
    if isinstance(data, str):
        return window
    declared: Window | None = getattr(data, "window", None)
    if declared is None or window is None:
        return declared
    if not window.covers(declared):
        raise PrivacyError(
            f"the data are about {declared}, and only {window} would be charged.",
            remedy="Give a window that contains that of the data.",
        )
    return window


def _has_undated_users(data: Dataset | str) -> bool:
    """Whether the data have a table of users with a secret column; that is public, whoever is in it."""
    known = getattr(data, "public", data)  # of records in parts
    table = getattr(known, "user_table", None)
    return table is not None and bool(set(table.columns) - set(getattr(known, "public_user_columns", ())))


def as_json(parameters: Mapping[str, Any] | None) -> str:
    """Parameters as text; rationals and the like are written the way they print."""
    try:
        return json.dumps(dict(parameters or {}), default=str, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(f"these parameters cannot be written down: {error}.") from error
