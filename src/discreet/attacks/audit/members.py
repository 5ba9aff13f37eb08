"""Is this user among the data? A random member of the caller's records, of whom an observer knows half."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from discreet.attacks.audit.game import Features, Game, View, Worlds
from discreet.attacks.audit.observing import recommended
from discreet.attacks.audit.targets import Fitted, Target
from discreet.data.interactions import Interactions
from discreet.errors import UsageError

__all__ = ["Member"]


@dataclass(frozen=True, kw_only=True)
class Member(Game):
    """A user drawn from the records, present or absent; an observer has every other of its items and asks for a list.

    Parameters
    ----------
    fewest
        Records that a user must have to be drawn.
    length
        How long the list is.
    """

    name: str = "member"
    view: View = "recommendations"
    crafted: bool = False
    effort: int = 1
    fewest: int = 8
    length: int = 50

    def obstacle(self, target: Target, data: Interactions) -> str | None:
        promise = target.guarantee
        if promise is not None and promise.unit.what != "user":
            return f"the promise is about {promise.unit}"
        return super().obstacle(target, data)

    def worlds(self, target: Target, data: Interactions, draw: np.random.Generator) -> Worlds:
        able = np.flatnonzero(data.records_per_user >= self.fewest)
        if able.size == 0:
            raise UsageError(f"nobody has {self.fewest} records.")
        member = int(draw.choice(able))
        begin, end = data.user_starts[member : member + 2]
        order = begin + draw.permutation(end - begin)
        known, hidden = order[::2], order[1::2]
        without, with_ = (_world(data, member, known, present=present) for present in (False, True))
        return Worlds(without, with_, records=int(end - begin), secret=(data.n_users, data.item[hidden]))

    def observe(self, fitted: Fitted, worlds: Worlds) -> Features:
        observer, hidden = worlds.secret
        items = fitted.data.items
        told = recommended(fitted.model, observer, items, n=min(self.length, len(items)))
        places, scores = told[: len(items)], told[len(items) :]
        known = scores[hidden][~np.isnan(scores[hidden])]
        return np.array([(places[hidden] > 0).mean(), places[hidden].sum(), known.mean() if known.size else np.nan])


def _world(data: Interactions, member: int, known: Any, *, present: bool) -> Interactions:
    """The records with an observer who has the known ones of the member, and with or without the member.

    Users have numbers in place of ids, in the same order; the observer comes last. Times and contexts are left out.
    """
    kept = slice(None) if present else data.user != member
    observer = np.full(known.size, data.n_users)
    columns: dict[str, Any] = {
        "user_id": np.concatenate([data.user[kept].astype(np.int64), observer]),
        "item_id": data.items.take(np.concatenate([data.item[kept], data.item[known]])),
    }
    if data.rating is not None:
        columns["rating"] = np.concatenate([data.rating[kept], data.rating[known]]).astype(np.float64)
    return Interactions(
        pl.DataFrame(columns),
        items=data.items.series,
        scale=data.scale,
        duplicates="keep" if data.may_repeat else "error",
        name=data.name,
    )
