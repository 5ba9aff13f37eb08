"""One record that moves one prediction by more than a published theorem says it can.

References
----------
Y. Park, A. Acharya: Differentially private recommendation systems: practical implementation and interpretation. Project
report, University of Texas at Austin, 2011 (Theorems 3.1 and 3.2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.attacks.audit.game import Features, Game, View, Worlds
from discreet.attacks.audit.observing import predicted
from discreet.attacks.audit.small_worlds import OBSERVER, Record, crafted
from discreet.attacks.audit.targets import Fitted, Target
from discreet.data.interactions import Interactions
from discreet.privacy.units import Unit

__all__ = ["FirstBuyer", "OneRaterMore"]


@dataclass(frozen=True, kw_only=True)
class OneRaterMore(Game):
    """One rating takes an item over the least number of common raters with all other items at once.

    Exactly as many as are too few have rated an item, all with the highest rating, and the others with the lowest. The
    differences count as nothing until one more of them rates the item.
    """

    name: str = "one-rater-more"
    view: View = "predictions"
    effort: int = 2

    def obstacle(self, target: Target, data: Interactions) -> str | None:
        if not isinstance(target.setting("minimum_overlap"), int) or not target.setting("minimum_overlap"):
            return "no number of common raters decides whether a difference counts"
        return _about_records(target) or super().obstacle(target, data)

    def worlds(self, target: Target, data: Interactions, draw: np.random.Generator) -> Worlds:
        rated, raters = max(2, target.setting("least_ratings", 2)), target.setting("minimum_overlap")
        people = [OBSERVER, *(f"u{rater}" for rater in range(raters + 1))]
        others: list[Record] = [(user, f"i{item}", 1) for user in people for item in range(1, rated + 1)]
        others += [(f"u{rater}", "i0", 5) for rater in range(raters)]
        secret = (f"u{raters}", "i0", 5)
        items = rated + 1
        return Worlds(crafted(others, items=items), crafted([*others, secret], items=items), unit=Unit("record"))

    def observe(self, fitted: Fitted, worlds: Worlds) -> Features:
        return predicted(fitted.model, OBSERVER, ["i0"])


@dataclass(frozen=True, kw_only=True)
class FirstBuyer(Game):
    """Two users have bought the same items; one of them buys an item that nobody had.

    By that one purchase the estimate for the other one goes from 0 to 1/√2, however many items they share.
    """

    name: str = "first-buyer"
    view: View = "predictions"
    effort: int = 2

    def obstacle(self, target: Target, data: Interactions) -> str | None:
        if not isinstance(target.setting("least_ratings"), int):
            return "no number of purchases decides whether there is an answer"
        return _about_records(target) or super().obstacle(target, data)

    def worlds(self, target: Target, data: Interactions, draw: np.random.Generator) -> Worlds:
        bought = target.setting("least_ratings")
        items = [f"i{item}" for item in range(bought + 1)]
        shared = [(user, item) for user in (OBSERVER, "zz-buyer") for item in items[1:]]
        without, with_ = (
            Interactions(rows, items=items, name="a crafted world")
            for rows in (shared, [*shared, ("zz-buyer", items[0])])
        )
        return Worlds(without, with_, unit=Unit("record"))

    def observe(self, fitted: Fitted, worlds: Worlds) -> Features:
        return predicted(fitted.model, OBSERVER, ["i0"])


def _about_records(target: Target) -> str | None:
    if target.guarantee is None or target.guarantee.unit.what != "record":
        return "nothing is promised about single records"
    return None
