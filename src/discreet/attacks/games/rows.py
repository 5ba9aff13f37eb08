"""One entry of a row of scores that gives away the sets of items that are drawn from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.attacks.games.datasets import OBSERVER
from discreet.attacks.games.game import Features, Game, NeighboringData
from discreet.data.interactions import Interactions
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from discreet.attacks.engine.targets import Fitted, Target

__all__ = ["OneEntry"]

STEPS = 1_000
ROW_LISTS = "row lists"
"""The name of the method that draws items from the row of the observer."""


class OneEntry(Game):
    """Scores that fall evenly from the best to the worst; in the other dataset the best one is the worst.

    Only sets that have nearly all of the true best can come out of a list that is made around them. The best item of
    one row is behind all others in its neighbor.

    References
    ----------
    Y. Park, A. Acharya: Differentially private recommendation systems: practical implementation and interpretation.
    Project report, University of Texas at Austin, 2011 (section 4).
    """

    effort = 2

    def obstacle(self, target: Target, data: Interactions) -> str | None:
        if target.name != ROW_LISTS:
            return "nothing is drawn from the row of one person"
        return super().obstacle(target, data)

    def datasets(self, target: Target, data: Interactions, draw: np.random.Generator) -> NeighboringData:
        falling = np.rint(STEPS * np.linspace(5, 1, 5 * (target.setting("k") + 1))) / STEPS
        changed = np.append(1.0, falling[1:])
        return NeighboringData(_row(falling), _row(changed), unit=Unit("score", "value"))

    def observe(self, fitted: Fitted, pair: NeighboringData) -> Features:
        return fitted.released.array("drawn")


def _row(ratings: Features) -> Interactions:
    items = [f"i{place:03}" for place in range(ratings.size)]
    records = [(OBSERVER, item, float(rating)) for item, rating in zip(items, ratings, strict=True)]
    return Interactions(records, items=items, scale=f"1:5:1/{STEPS}", name="a small dataset")
