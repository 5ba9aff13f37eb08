"""Datasets of interactions for games: small ones that are made up, and variants of the caller's records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from discreet.attacks.games.game import USER, Dataset, NeighboringData
from discreet.attacks.games.observing import OBSERVER
from discreet.common.arrays import Codes
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.privacy.units import Unit

__all__ = ["Record", "added", "background", "background_records", "crafted", "drawn_user", "with_users"]

Record = tuple[str, str, int]

# Made up


def crafted(records: Iterable[Record], *, items: int, repeats: bool = False) -> Interactions:
    """Records over the items i0, i1 …, all of which are in the public catalog."""
    catalog = [f"i{item}" for item in range(items)]
    duplicates = "keep" if repeats else "error"
    return Interactions(list(records), items=catalog, scale="1:5", duplicates=duplicates, name="a small dataset")


def added(
    others: Sequence[Record], secret: Sequence[Record], *, items: int, unit: Unit = USER, repeats: bool = False
) -> NeighboringData:
    """Neighboring datasets: the records of others, and the same with some records more."""
    without, with_ = (crafted(part, items=items, repeats=repeats) for part in (others, [*others, *secret]))
    return NeighboringData(without, with_, unit, records=len(secret))


def background_records(*, items: int, users: int = 6) -> list[Record]:
    """Two tastes over all items but the last two, and an observer who shares the first of them.

    Everybody but the observer touches about a third of the items, by a rule without chance.
    """
    common = max(1, items - 2)
    rows = [
        (f"u{user}", f"i{item}", 5 if (user - item) % 2 == 0 else 2)
        for user in range(users)
        for item in range(common)
        if (user + 2 * item) % 3 == 0 or item == user % common
    ]
    return [*rows, *((OBSERVER, f"i{item}", 5 if item % 2 == 0 else 2) for item in range(max(1, items // 3)))]


def background() -> Interactions:
    """A small dataset without a secret.

    Examples
    --------
    >>> background()
    Interactions('a small dataset': 98 records, 25 users, 12 items, ratings 1:5:1)
    """
    return crafted(background_records(items=12, users=24), items=12)


# Variants of the caller's records


def drawn_user(data: Interactions, draw: np.random.Generator, *, least: int, most: int | None = None) -> int:
    """The code of a user with at least ``least`` records, and at most ``most``."""
    counts = data.records_per_user
    able = np.flatnonzero((counts >= least) & (counts <= (counts.max(initial=0) if most is None else most)))
    if able.size == 0:
        upper = "" if most is None else f" and at most {most}"
        raise UsageError(f"no user has at least {least} records{upper}.")
    return int(draw.choice(able))


def with_users(
    data: Interactions,
    user: Any,
    item: Any,
    rating: Any | None,
    *,
    without: int | None = None,
    number: Callable[[Any], Any] | None = None,
) -> Interactions:
    """The records with those of further users, and without one of the users, if told.

    Users have numbers in place of ids: their codes, and the new ones come last; or what ``number`` makes of these.
    Times and contexts are left out.
    """
    kept = slice(None) if without is None else data.user != without
    users = np.concatenate([data.user[kept].astype(np.int64), user])
    columns: dict[str, Any] = {
        "user_id": users if number is None else number(users),
        "item_id": data.items.take(np.concatenate([data.item[kept], item])),
    }
    if data.rating is not None and rating is not None:
        columns["rating"] = np.concatenate([data.rating[kept].astype(np.float64), rating])
    return Interactions(
        pl.DataFrame(columns),
        items=data.items,
        scale=data.scale,
        duplicates="keep" if data.may_repeat else "error",
        name=data.name,
    )


def public_catalog(data: Interactions) -> Interactions:
    """The records with a list of items that is the same with the secret and without."""
    return data if data.catalog_is_public else data.with_catalog("observed")


def without_one(
    data: Interactions, draw: np.random.Generator, *, least: int, most: int
) -> tuple[Interactions, Interactions, Codes, int]:
    """The records without a user who was drawn, the same with the user, and the user's items and number of records.

    A user has at most half of the items: a profile of most of them says nothing about anybody.
    """
    user = drawn_user(data, draw, least=least, most=min(most, data.n_items // 2))
    public = public_catalog(data)
    others = public.user != user
    return public.filter(others, independent=True), public, np.unique(public.item[~others]), int((~others).sum())


def require_records(data: Any) -> None:
    """Refuse what is no dataset, and datasets without records."""
    if not isinstance(data, Dataset) or len(data) == 0:
        raise UsageError("an audit needs records of the kind that the model is made for.")
