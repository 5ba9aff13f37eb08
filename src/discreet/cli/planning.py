"""The table of `discreet ledger plan`: what releases at each cadence cost, before anything is spent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import OverLimitError, UsageError

if TYPE_CHECKING:
    from discreet.privacy.cadence import Cadence
    from discreet.privacy.ledger import Account, Statement

__all__ = ["HEAD", "plan_of", "rows_of"]

HEAD = ("cadence", "releases", "epsilon each", "noise each", "noise series", "recall each", "recall series")

NOTES = (
    "noise: standard deviation, in units of one release that spends everything; of a series, in its last step.",
    "recall: the share of the recall without privacy that as much noise left PrivateRecommender on MovieLens 1M. A "
    "person enters a series once, perhaps with fewer records, which this does not count.",
)


def plan_of(
    ledger: str | None, population: str | None, nights: int, epsilon: str | None, delta: str | None, users: int | None
) -> dict[str, Any]:
    """The budget, and a row for each cadence; from the account of a population where there is one."""
    from discreet.privacy.cadence import cadences

    statement = _statement(ledger, population)
    account: Account | None = None if statement is None else statement.account
    if epsilon is None and statement is None:
        raise UsageError(
            "no budget was given.", remedy="Give --epsilon, or --population and --ledger to take what is left."
        )
    left = None if statement is None else statement.left
    total = epsilon if epsilon is not None else str(left.epsilon if left else 0)
    at = delta if delta is not None else ("1e-6" if account is None else str(account.limit.delta))
    if epsilon is None and left is not None and not left.epsilon:
        raise OverLimitError(f"{population} has nothing left to plan with.", remedy="See: discreet ledger statement.")
    found = cadences(nights, total, at)
    return {
        "population": population,
        "nights": nights,
        "epsilon": total,
        "delta": at,
        "users": users,
        "limit": None if account is None else account.terms,
        "left": None if account is None or left is None else account.text_of_left(left),
        "cadences": [_row(one, total, at, users) for one in found],
        "notes": list(NOTES),
    }


def rows_of(plan: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The rows of the table, as many columns as there are numbers for."""
    return [tuple(row.values()) for row in plan["cadences"]]


def _statement(ledger: str | None, population: str | None) -> Statement | None:
    from discreet.privacy import Ledger

    if population is None or ledger is None or ("://" not in ledger and not Path(ledger).exists()):
        return None
    opened = Ledger(ledger)
    known = {account.name for account in opened.datasets()}
    if population not in known:
        raise UsageError(
            f"there is no population {population!r} in {ledger}.",
            remedy=f"It has {', '.join(sorted(known)) or 'none'}.",
        )
    return opened.statement(population)


def _row(one: Cadence, epsilon: str, delta: str, users: int | None) -> dict[str, Any]:
    from discreet.factors.tastes import expected_share
    from discreet.privacy.losses import mu_for
    from discreet.privacy.numbers import as_fraction

    row: dict[str, Any] = {
        "cadence": one.name,
        "releases": one.steps,
        "epsilon each": float(f"{float(one.epsilon_each):.3g}"),
        "noise each": round(one.noise_each, 2),
        "noise series": None if one.noise_series is None else round(one.noise_series, 2),
    }
    if users is None or not as_fraction(delta):
        return row
    strength = users * float(mu_for(epsilon, delta))
    row["recall each"] = round(expected_share(strength / one.noise_each), 2)
    row["recall series"] = None if one.noise_series is None else round(expected_share(strength / one.noise_series), 2)
    return row
