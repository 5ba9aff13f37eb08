"""The table of `discreet ledger plan`: what releases at each cadence cost, before anything is spent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import OverLimitError, UsageError

if TYPE_CHECKING:
    from discreet.common.arrays import Floats
    from discreet.privacy.cadence import Cadence
    from discreet.privacy.ledger import Account, Statement

__all__ = ["HEAD", "plan_of", "rows_of"]

HEAD = ("cadence", "releases", "epsilon each", "noise each", "noise series", "recall each", "recall series")

NOTES = (
    "noise: standard deviation, in units of one release that spends everything; of a series, in its last step.",
    "recall: the share of the recall without privacy that PrivateRecommender is expected to keep, the mean of all "
    "nights: what as many people and as much noise left of it on MovieLens 1M. People come evenly; a model is in use "
    "until the next one; a series settles when enough people have come. Not in it: new items, tastes that change, and "
    "that a person enters a series with fewer records.",
)

EQUAL = 0.01
"""Expected recalls that differ by less are taken as equal: the curve is no better than that."""


def plan_of(
    ledger: str | None,
    population: str | None,
    nights: int,
    epsilon: str | None,
    delta: str | None,
    users: int | None,
    history: int,
) -> dict[str, Any]:
    """The budget, a row for each cadence, and which one is recommended; from the account of a population if given."""
    from discreet.privacy.cadence import cadences

    statement = _statement(ledger, population)
    account: Account | None = None if statement is None else statement.account
    if epsilon is None and statement is None:
        raise UsageError(
            "no budget was given.", remedy="Give --epsilon, or --population and --ledger to take what is left."
        )
    if history > (users or 0):
        raise UsageError("--history is a part of --users.", remedy="Give --users, all people that there will be.")
    left = None if statement is None else statement.left
    total = epsilon if epsilon is not None else str(left.epsilon if left else 0)
    at = delta if delta is not None else ("1e-6" if account is None else str(account.limit.delta))
    if epsilon is None and left is not None and not left.epsilon:
        raise OverLimitError(f"{population} has nothing left to plan with.", remedy="See: discreet ledger statement.")
    rows = [_row(one, total, at, users, history) for one in cadences(nights, total, at)]
    return {
        "population": population,
        "nights": nights,
        "epsilon": total,
        "delta": at,
        "users": users,
        "history": history,
        "limit": None if account is None else account.terms,
        "left": None if account is None or left is None else account.text_of_left(left),
        "cadences": rows,
        "recommended": _recommended(rows),
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


def _row(one: Cadence, epsilon: str, delta: str, users: int | None, history: int) -> dict[str, Any]:
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
    row["recall each"] = _mean(one, epsilon, delta, users, history, lambda _: np.full(one.steps, one.noise_each))
    row["recall series"] = None
    if one.noise_series is not None:
        row["recall series"] = _mean(one, epsilon, delta, users, history, lambda mu: _noises(one, mu, users, history))
    return row


def _mean(one: Cadence, epsilon: str, delta: str, users: int, history: int, noises: Callable[[float], Floats]) -> float:
    """The expected share of the recall without privacy, the mean over all releases, each in use until the next."""
    from discreet.factors.tastes import expected_share
    from discreet.privacy.losses import mu_for

    mu = float(mu_for(epsilon, delta))
    people = history + (users - history) * np.arange(one.steps) / one.steps
    return round(float(np.mean([expected_share(strength) for strength in people * mu / noises(mu)])), 2)


def _noises(one: Cadence, mu: float, users: int, history: int) -> Floats:
    """The noise of every step of a series; without end before the one that settles."""
    from discreet.privacy.series import Factorization
    from discreet.series.settling import first_with

    # Who is there from the beginning comes before all steps.
    settle = first_with(one.steps, mu, users, history)
    lengths = Factorization(one.steps - settle)
    later = np.sqrt(np.cumsum(lengths.decoding**2)) * lengths.noise_factor(0)
    return np.concatenate([np.full(settle, np.inf), later])


def _recommended(rows: list[dict[str, Any]]) -> str:
    """One line: the cadence and the way with the best expected recall; of equal ones the most frequent."""
    if "recall each" not in rows[0]:
        first = rows[0]
        if first["noise series"] is None:
            return "without a delta, or for so many steps, there is no series: take as few releases as you can do with."
        return (
            f"a series, at any cadence: {first['cadence']} it has {first['noise series']} times the noise of one "
            f"release, against {first['noise each']} if each pays for itself. Which cadence: give --users."
        )
    ways = [
        (row[f"recall {kind}"], row["cadence"], kind)
        for row in rows
        for kind in ("series", "each")
        if row[f"recall {kind}"] is not None and not (kind == "series" and row["releases"] == 1)
    ]
    best = max(recall for recall, _, _ in ways)
    chosen = next(way for way in ways if way[0] > best - 1.5 * EQUAL)
    other = max((way for way in ways if way[2] != chosen[2]), key=lambda way: way[0], default=None)
    told = f"{_named(chosen)}: expected to keep {chosen[0]} of the recall without privacy, the mean of all nights"
    if other is None:
        return f"{told}."
    return f"{told}; the best {'series' if other[2] == 'series' else 'without a series'}, {_named(other)}, {other[0]}."


def _named(way: tuple[float, str, str]) -> str:
    _, cadence, kind = way
    if kind == "series":
        return f"a {cadence} series"
    return "a single release" if cadence == "once" else f"{cadence} releases that each pay for themselves"
