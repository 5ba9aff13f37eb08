"""Is this user among the data? Users who are conspicuous in a small dataset, each in a way of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.attacks.games.datasets import OBSERVER, Record, SmallGame, added, background_records
from discreet.attacks.games.game import Features, NeighboringData
from discreet.data.interactions import Interactions

if TYPE_CHECKING:
    from discreet.attacks.engine.targets import Fitted, Target

__all__ = ["ActiveUser", "Canary", "ManyRecords", "OneItem", "QuietUser", "RepeatedItem", "touched_items"]

OTHERS = 6
"""How many other users there are, besides the observer."""
CATALOG, LARGE_CATALOG = 40, 300
FEWEST, USUAL, MOST = 3, 6, 20


def touched_items(target: Target) -> int:
    """How many items a canary has: as many as the cap of the target allows, within reason."""
    cap = target.setting("cap", USUAL)
    return min(MOST, max(FEWEST, cap)) if isinstance(cap, int) else USUAL


class Canary(SmallGame):
    """A user who touched every other item of a small catalog, and two items that nobody else did.

    There are as many of them as the cap of the target allows, within reason: a canary who uses all that one user may
    moves a release by as much as one user can. From outside an observer asks, who is in both datasets.
    """

    about = "user"

    def datasets(self, target: Target, data: Interactions, draw: np.random.Generator) -> NeighboringData:
        items = 2 * touched_items(target)
        codes = [*range(1, items - 3, 2), items - 2, items - 1]
        canary = [("zz-canary", f"i{item}", 1 if item < items // 2 else 5) for item in codes]
        return added(background_records(items=items, users=OTHERS), canary, items=items)


class OneItem(SmallGame):
    """A user who has touched one item as often as the cap allows, and nobody else has touched it.

    Noise is made for the largest change that a user can cause. A user who spreads it over many counts moves each of
    them by little, and no attacker finds out all that was given away; one who puts it all on one count moves it by the
    scale of its noise times ε. Records may repeat in these datasets; models that refuse that are not asked.
    """

    about = "user"
    effort = 16
    share = 15  # how much noise there is shows nowhere as well as here
    times: ClassVar[int | None] = None
    """How many records the user has; None for as many as the cap of the target allows."""

    def obstacle(self, target: Target, data: Interactions) -> str | None:
        single = self.times is None and self.view in ("predictions", "recommendations")
        covered = single and target.views >= {"predictions", "recommendations"}
        return super().obstacle(target, data) or ("one-item-both-views looks at both" if covered else None)

    def datasets(self, target: Target, data: Interactions, draw: np.random.Generator) -> NeighboringData:
        devoted: list[Record] = [("zz-devoted", "i5", 5)] * (self.times or touched_items(target))
        return added(background_records(items=6, users=OTHERS), devoted, items=6, repeats=True)


class RepeatedItem(OneItem):
    """The same with many more records than any cap: it shows whether there is a cap at all."""

    effort = 2
    share = 3
    times = 300


class ActiveUser(SmallGame):
    """All items are equally popular, and everybody has one record; then a user with half of the catalog comes.

    It moves three things that must not depend on one user unless that is paid for: the largest number of records that
    anybody has, which items are the most popular, and which counts are above those of the others.
    """

    about = "user"
    effort = 2

    def datasets(self, target: Target, data: Interactions, draw: np.random.Generator) -> NeighboringData:
        others: list[Record] = [(f"u{item:02}", f"i{item}", 5 if item % 2 else 2) for item in range(1, CATALOG)]
        active = [("zz-active", f"i{item}", 5) for item in range(CATALOG // 2, CATALOG)]
        return added([*others, (OBSERVER, "i0", 5)], active, items=CATALOG)


class QuietUser(SmallGame):
    """Everybody has half of the catalog; then a user with a single record comes.

    What was taken from the least active user, how many records of each are looked at for instance, falls to one.
    """

    about = "user"
    effort = 2

    def datasets(self, target: Target, data: Interactions, draw: np.random.Generator) -> NeighboringData:
        others: list[Record] = [
            (user, f"i{item}", 5 if (place + item) % 2 else 2)
            for place, user in enumerate((OBSERVER, "u0", "u1", "u2"))
            for item in range(CATALOG // 2)
        ]
        return added(others, [("zz-quiet", "i0", 5)], items=CATALOG)


class ManyRecords(SmallGame):
    """A few users with three records each; then a user comes who has the whole catalog but for these three items.

    Where each user counts for a limited number of records, most of these records are dropped. Where the limit was
    forgotten, every count moves, and the noise was made for a few of them.
    """

    about = "user"
    effort = 2

    def datasets(self, target: Target, data: Interactions, draw: np.random.Generator) -> NeighboringData:
        people = (OBSERVER, "u0", "u1", "u2")
        others: list[Record] = [(user, f"i{item}", 5 if item else 2) for user in people for item in range(3)]
        everything = [("zz-everything", f"i{item}", 5) for item in range(3, LARGE_CATALOG)]
        return added(others, everything, items=LARGE_CATALOG)

    def observe(self, fitted: Fitted, pair: NeighboringData) -> Features:
        numbers = super().observe(fitted, pair)
        # Many small moves in one direction show in the sum.
        return np.append(np.nansum(numbers), numbers)
