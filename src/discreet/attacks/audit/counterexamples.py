"""Worlds in which published proofs break: where a scale depends on the records, and where ranks change places."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.attacks.audit.game import Features, Game, View, Worlds
from discreet.attacks.audit.observing import similarity
from discreet.attacks.audit.small_worlds import OBSERVER, Record, crafted
from discreet.attacks.audit.targets import Fitted, Target
from discreet.data.interactions import Interactions
from discreet.privacy.units import Unit

__all__ = ["LocalSensitivity", "SwappedRanks"]


@dataclass(frozen=True, kw_only=True)
class LocalSensitivity(Game):
    """One user whose two ratings are the largest there are: noise with a scale from the records grows at once.

    All others gave 1 to both of two items, but for one who gave 2. The similarity of the items is 1 with the canary and
    without; only how far the published weight scatters changes.

    Parameters
    ----------
    users
        How many gave 1 to both.

    References
    ----------
    T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014, equation 3.4.1.
    """

    name: str = "local-sensitivity"
    view: View = "similar items"
    users: int = 100

    def obstacle(self, target: Target, data: Interactions) -> str | None:
        if target.guarantee is None or target.guarantee.unit.what != "user":
            return "nothing is promised about users"
        return super().obstacle(target, data)

    def worlds(self, target: Target, data: Interactions, draw: np.random.Generator) -> Worlds:
        # A constant item has no correlation with anything, so one user differs.
        others: list[Record] = [(f"u{user}", item, 1) for user in range(self.users) for item in ("i0", "i1")]
        others += [(OBSERVER, "i0", 2), (OBSERVER, "i1", 2)]
        canary: list[Record] = [("zz-canary", "i0", 5), ("zz-canary", "i1", 5)]
        return Worlds(crafted(others, items=2), crafted([*others, *canary], items=2), records=2)

    def observe(self, fitted: Fitted, worlds: Worlds) -> Features:
        return similarity(fitted.model, ["i0"], fitted.data.items, n=1)


@dataclass(frozen=True, kw_only=True)
class SwappedRanks(Game):
    """One rating of one user changes, and the neighbors of ranks k and k + 1 change places.

    Where all but one of the neighbors are among the k nearest, the one of rank k + 1 cannot come together with another
    one from behind; after the change it nearly always does. Weights are not looked at: they were never protected.

    References
    ----------
    Z. Lu: Privacy preserving neighbourhood-based collaborative filtering recommendation algorithms. MPhil thesis, The
    University of Adelaide 2015, equation 5.6.
    """

    name: str = "swapped-ranks"
    view: View = "similar items"

    def obstacle(self, target: Target, data: Interactions) -> str | None:
        if target.guarantee is None or target.guarantee.unit.what != "record":
            return "nothing is promised about single records"
        if not isinstance(target.setting("k"), int) or not isinstance(target.setting("beta"), int):
            return "the model does not choose k neighbors out of beta groups"
        return super().obstacle(target, data)

    def worlds(self, target: Target, data: Interactions, draw: np.random.Generator) -> Worlds:
        k, groups = target.setting("k"), max(2, target.setting("beta") + 1)
        items = 1 + k * groups
        before, after = _ratings(k, items), _ratings(k, items, swapped=True)
        return Worlds(crafted(before, items=items), crafted(after, items=items), unit=Unit("record", "value"), secret=k)

    def observe(self, fitted: Fitted, worlds: Worlds) -> Features:
        k, n = worlds.secret, fitted.data.n_items
        listed = similarity(fitted.model, ["i0"], fitted.data.items, n=n)[:n]
        names = fitted.data.items.ids()
        place = {name: listed[code] for code, name in enumerate(names)}
        behind = any(place[f"i{rank}"] for rank in range(k + 2, n))
        return np.array([float(behind and place[f"i{k + 1}"] > 0)])


def _ratings(k: int, items: int, *, swapped: bool = False) -> list[Record]:
    """Ratings of i0 and of the others in the order of their likeness to it.

    Half of 24 users like i0 and half do not. Items of the first group agree with all of them but one, those behind
    disagree with four; the two at the border disagree with two, one of them by a star more.
    """
    rows: list[Record] = []
    for user in range(24):
        likes = user % 2 == 0
        for item in range(items):
            wrong = 0 if item == 0 else 1 if item < k else 2 if item <= k + 1 else 4
            rating = 5 if likes != (user < wrong) else 1
            if user == 10 and item == k:
                rating = 4
            if user == 10 and item == k + 1:
                rating = 5 if swapped else 3
            rows.append((f"u{user}", f"i{item}", rating))
    return rows
