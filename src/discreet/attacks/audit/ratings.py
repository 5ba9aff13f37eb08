"""Is this one rating among the data?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.attacks.audit.game import Features, Game, Worlds
from discreet.attacks.audit.membership import seen
from discreet.attacks.audit.small_worlds import background_records, crafted
from discreet.attacks.audit.targets import Fitted, Target
from discreet.data.interactions import Interactions
from discreet.privacy.units import Unit

__all__ = ["RATING", "RATING_PREDICTIONS", "RATING_RECOMMENDATIONS", "RATING_SIMILAR_ITEMS", "OneRating"]

ITEMS = 12


@dataclass(frozen=True, kw_only=True)
class OneRating(Game):
    """A rating of an item that nobody else has rated, by somebody who has rated one other item.

    A small history gives each of its ratings the largest weight that a model may give it. Played where single records
    are promised something, or where nothing is promised; a promise about whole users covers a record, too, but a game
    about a whole user tells more about it.

    Parameters
    ----------
    users
        How many others there are.
    """

    name: str = "rating"
    users: int = 6

    def obstacle(self, target: Target, data: Interactions) -> str | None:
        if target.guarantee is not None and target.guarantee.unit.what != "record":
            return "the promise is about more than single records"
        return super().obstacle(target, data)

    def worlds(self, target: Target, data: Interactions, draw: np.random.Generator) -> Worlds:
        base = [*background_records(items=ITEMS, users=self.users), ("zz-rater", "i0", 5)]
        secret = ("zz-rater", f"i{ITEMS - 1}", 5)
        return Worlds(crafted(base, items=ITEMS), crafted([*base, secret], items=ITEMS), unit=Unit("record"))

    def observe(self, fitted: Fitted, worlds: Worlds) -> Features:
        return seen(self, fitted)


RATING = OneRating()
RATING_PREDICTIONS = OneRating(name="rating-predictions", view="predictions")
RATING_RECOMMENDATIONS = OneRating(name="rating-recommendations", view="recommendations")
RATING_SIMILAR_ITEMS = OneRating(name="rating-similar-items", view="similar items")
