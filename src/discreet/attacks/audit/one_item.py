"""All that one user may weigh, on one item: the sharpest question about noise that is added to counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.attacks.audit.game import Features, Game, Worlds
from discreet.attacks.audit.membership import seen, touched_items
from discreet.attacks.audit.small_worlds import Record, background_records
from discreet.attacks.audit.targets import Fitted, Target
from discreet.data.interactions import Interactions

__all__ = ["OneItem"]

ITEMS = 6


@dataclass(frozen=True, kw_only=True)
class OneItem(Game):
    """A user who has touched one item again and again, and nobody else has touched it.

    Noise is made for the largest change that a user can cause. A user who spreads it over many counts moves each of
    them by little, and no attacker finds out all that was given away; one who puts it all on one count moves it by the
    scale of its noise times ε. Records may repeat in these worlds; models that refuse that are not asked.

    Parameters
    ----------
    users
        How many others there are.
    """

    name: str = "one-item"
    users: int = 6

    def obstacle(self, target: Target, data: Interactions) -> str | None:
        if target.guarantee is not None and target.guarantee.unit.what == "record":
            return "the promise is about single records"
        return super().obstacle(target, data)

    def worlds(self, target: Target, data: Interactions, draw: np.random.Generator) -> Worlds:
        others = background_records(items=ITEMS, users=self.users)
        devoted: list[Record] = [("zz-devoted", f"i{ITEMS - 1}", 5)] * touched_items(target)
        return Worlds(_repeating(others), _repeating([*others, *devoted]), records=len(devoted))

    def observe(self, fitted: Fitted, worlds: Worlds) -> Features:
        return seen(self, fitted)


def _repeating(records: list[Record]) -> Interactions:
    items = [f"i{item}" for item in range(ITEMS)]
    return Interactions(records, items=items, scale="1:5", duplicates="keep", name="a crafted world")
