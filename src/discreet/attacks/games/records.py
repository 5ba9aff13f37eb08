"""Is this one rating among the data, and which value has it?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.attacks.games.datasets import OBSERVER, SmallGame, added, background_records, crafted
from discreet.attacks.games.game import RECORD, VALUE, NeighboringData
from discreet.data.interactions import Interactions

if TYPE_CHECKING:
    from discreet.attacks.engine.targets import Target

__all__ = ["OneRating", "OneValue"]

OTHERS = 6


class OneRating(SmallGame):
    """A rating of an item that nobody else has rated, by somebody who has rated one other item.

    A small history gives each of its ratings the largest weight that a model may give it. A guarantee about whole users
    covers a record, too, but a game about a whole user tells more about it.
    """

    about = "record"

    def datasets(self, target: Target, data: Interactions, draw: np.random.Generator) -> NeighboringData:
        base = [*background_records(items=12, users=OTHERS), ("zz-rater", "i0", 5)]
        return added(base, [("zz-rater", "i11", 5)], items=12, unit=RECORD)


class OneValue(SmallGame):
    """A member of whom all other ratings are known: is the last one the best there is, or the worst?

    Nobody else has rated that item. The observer has rated what the member is known to have rated, in the same way, so
    that a model which goes by similarity tells it what the member thinks.

    Notes
    -----
    Both datasets have the same records but for one value. A guarantee about records that are present or absent covers
    that at twice its ε, one is removed and another one added; a guarantee about values covers it as it stands.
    """

    about = "record"
    effort = 4

    def datasets(self, target: Target, data: Interactions, draw: np.random.Generator) -> NeighboringData:
        others = background_records(items=10, users=OTHERS)
        known = [("zz-member", item, rating) for user, item, rating in others if user == OBSERVER]
        worst, best = (crafted([*others, *known, ("zz-member", "i9", rating)], items=10) for rating in (1, 5))
        return NeighboringData(worst, best, unit=VALUE)
