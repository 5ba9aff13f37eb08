"""Is this user among the data? A canary, made to be conspicuous, in a small world."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.attacks.audit.game import Features, Game, Worlds
from discreet.attacks.audit.observing import predicted, recommended, release_vector, similarity
from discreet.attacks.audit.small_worlds import OBSERVER, background_records, crafted
from discreet.attacks.audit.targets import Fitted, Target
from discreet.data.interactions import Interactions

__all__ = ["CANARY", "CANARY_PREDICTIONS", "CANARY_RECOMMENDATIONS", "CANARY_SIMILAR_ITEMS", "Canary", "seen"]

FEWEST, USUAL, MOST = 3, 6, 20


@dataclass(frozen=True, kw_only=True)
class Canary(Game):
    """A user who touched every other item of a small catalog, and two items that nobody else did.

    There are as many of them as the cap of the target allows, within reason: a canary who uses all that one user may
    moves a release by as much as one user can. From outside an observer asks, who is in both worlds.

    Parameters
    ----------
    users
        How many others there are.
    """

    name: str = "canary"
    users: int = 6

    def obstacle(self, target: Target, data: Interactions) -> str | None:
        if target.guarantee is not None and target.guarantee.unit.what == "record":
            return "the promise is about single records"
        return super().obstacle(target, data)

    def worlds(self, target: Target, data: Interactions, draw: np.random.Generator) -> Worlds:
        touched = touched_items(target)
        items = 2 * touched
        others = background_records(items=items, users=self.users)
        codes = [*range(1, items - 3, 2), items - 2, items - 1]
        canary = [("zz-canary", f"i{item}", 1 if item < items // 2 else 5) for item in codes]
        return Worlds(crafted(others, items=items), crafted([*others, *canary], items=items), records=len(canary))

    def observe(self, fitted: Fitted, worlds: Worlds) -> Features:
        return seen(self, fitted)


def touched_items(target: Target) -> int:
    """How many items the canary has."""
    cap = target.setting("cap", USUAL)
    return min(MOST, max(FEWEST, cap)) if isinstance(cap, int) else USUAL


def seen(game: Game, fitted: Fitted) -> Features:
    """All that the view of a game shows in a small world."""
    items = fitted.data.items
    if game.view == "white box":
        assert fitted.release is not None
        return release_vector(fitted.release, items)
    names = items.ids()
    if game.view == "predictions":
        return predicted(fitted.model, OBSERVER, names)
    if game.view == "recommendations":
        return recommended(fitted.model, OBSERVER, items, n=len(names))
    # The last two items are those that only a secret connects with the others.
    return similarity(fitted.model, [names[0], *names[-2:]], items, n=len(names))


CANARY = Canary()
CANARY_PREDICTIONS = Canary(name="canary-predictions", view="predictions")
CANARY_RECOMMENDATIONS = Canary(name="canary-recommendations", view="recommendations")
CANARY_SIMILAR_ITEMS = Canary(name="canary-similar-items", view="similar items")
