"""One user who moves all neighbors of an item at once: noise that was meant for one of them is too little."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.attacks.audit.game import Features, Game, View, Worlds
from discreet.attacks.audit.observing import similarity
from discreet.attacks.audit.small_worlds import Record, crafted
from discreet.attacks.audit.targets import Fitted, Target
from discreet.data.interactions import Interactions

__all__ = ["AllNeighbors"]

MOST = 40


@dataclass(frozen=True, kw_only=True)
class AllNeighbors(Game):
    """Two users rate an item and its k neighbors in opposite ways; then one comes who likes all of them.

    Every correlation of the item goes from −1 to nearly 1 by that one user. Noise of a scale that hides the move of one
    weight spends k times as much on k of them.

    References
    ----------
    T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014, equation 3.4.1 against
    Algorithm 1.
    """

    name: str = "all-neighbors"
    view: View = "similar items"

    def obstacle(self, target: Target, data: Interactions) -> str | None:
        if target.guarantee is None or target.guarantee.unit.what != "user":
            return "nothing is promised about users"
        if not isinstance(target.setting("k"), int):
            return "the model does not choose k neighbors"
        return super().obstacle(target, data)

    def worlds(self, target: Target, data: Interactions, draw: np.random.Generator) -> Worlds:
        items = 1 + min(MOST, target.setting("k"))
        neighbors = range(1, items)
        others: list[Record] = [("u0", "i0", 1), *(("u0", f"i{item}", 2) for item in neighbors)]
        others += [("u1", "i0", 2), *(("u1", f"i{item}", 1) for item in neighbors)]
        fond: list[Record] = [("zz-fond", f"i{item}", 5) for item in range(items)]
        return Worlds(crafted(others, items=items), crafted([*others, *fond], items=items), records=items)

    def observe(self, fitted: Fitted, worlds: Worlds) -> Features:
        told = similarity(fitted.model, ["i0"], fitted.data.items, n=fitted.data.n_items)
        # All weights move together, so their sum tells more than any rule that has to learn it.
        return np.append(told, np.nansum(told[told.size // 2 :]))
