"""What did this member say? One rating of one user is the lowest or the highest there is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.attacks.audit.game import Features, Game, Worlds
from discreet.attacks.audit.membership import seen
from discreet.attacks.audit.small_worlds import OBSERVER, background_records, crafted
from discreet.attacks.audit.targets import Fitted, Target
from discreet.data.interactions import Interactions
from discreet.privacy.units import Unit

__all__ = [
    "ATTRIBUTE",
    "ATTRIBUTE_PREDICTIONS",
    "ATTRIBUTE_RECOMMENDATIONS",
    "ATTRIBUTE_SIMILAR_ITEMS",
    "OneValue",
]

ITEMS = 10


@dataclass(frozen=True, kw_only=True)
class OneValue(Game):
    """A member whose other ratings are known: is the last one the best there is, or the worst?

    Nobody else has rated that item. The observer has rated what the member is known to have rated, in the same way, so
    that a model which goes by likeness tells it what the member thinks.

    Parameters
    ----------
    users
        How many others there are.

    Notes
    -----
    Both worlds have the same records but for one value. A promise about records that come and go covers that at twice
    its ε, one goes and another one comes; a promise about values covers it as it stands. Where whole users are promised
    something, games about whole users tell more.
    """

    name: str = "attribute"
    effort: int = 4
    users: int = 6

    def obstacle(self, target: Target, data: Interactions) -> str | None:
        if target.guarantee is not None and target.guarantee.unit.what != "record":
            return "the promise is about more than single records"
        return super().obstacle(target, data)

    def worlds(self, target: Target, data: Interactions, draw: np.random.Generator) -> Worlds:
        others = background_records(items=ITEMS, users=self.users)
        known = [("zz-member", item, rating) for user, item, rating in others if user == OBSERVER]
        worst, best = (
            crafted([*others, *known, ("zz-member", f"i{ITEMS - 1}", rating)], items=ITEMS) for rating in (1, 5)
        )
        return Worlds(worst, best, unit=Unit("record", "value"), records=1)

    def observe(self, fitted: Fitted, worlds: Worlds) -> Features:
        return seen(self, fitted)


ATTRIBUTE = OneValue()
ATTRIBUTE_PREDICTIONS = OneValue(name="attribute-predictions", view="predictions")
ATTRIBUTE_RECOMMENDATIONS = OneValue(name="attribute-recommendations", view="recommendations")
ATTRIBUTE_SIMILAR_ITEMS = OneValue(name="attribute-similar-items", view="similar items")
