"""Users who would set a number that no single user may set: the most active one, and the least active one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.attacks.audit.game import Features, Game, Worlds
from discreet.attacks.audit.membership import seen
from discreet.attacks.audit.small_worlds import OBSERVER, Record, crafted
from discreet.attacks.audit.targets import Fitted, Target
from discreet.data.interactions import Interactions

__all__ = ["ActiveUser", "QuietUser"]

ITEMS = 40


@dataclass(frozen=True, kw_only=True)
class ActiveUser(Game):
    """All items are equally popular, and everybody has one record; then a user with half of the catalog comes.

    It moves three things that must not depend on one user unless that is paid for: the largest number of records that
    anybody has, which items are the most popular, and which counts are above those of the others.
    """

    name: str = "active-user"
    effort: int = 2

    def obstacle(self, target: Target, data: Interactions) -> str | None:
        return _about_users(target) or super().obstacle(target, data)

    def worlds(self, target: Target, data: Interactions, draw: np.random.Generator) -> Worlds:
        others: list[Record] = [(f"u{item:02}", f"i{item}", 5 if item % 2 else 2) for item in range(1, ITEMS)]
        others.append((OBSERVER, "i0", 5))
        active = [("zz-active", f"i{item}", 5) for item in range(ITEMS // 2, ITEMS)]
        return Worlds(crafted(others, items=ITEMS), crafted([*others, *active], items=ITEMS), records=len(active))

    def observe(self, fitted: Fitted, worlds: Worlds) -> Features:
        return seen(self, fitted)


@dataclass(frozen=True, kw_only=True)
class QuietUser(Game):
    """Everybody has half of the catalog; then a user with a single record comes.

    What was taken from the least active user, how many records of each are looked at for instance, falls to one.

    Parameters
    ----------
    users
        How many others there are.
    """

    name: str = "quiet-user"
    effort: int = 2
    users: int = 3

    def obstacle(self, target: Target, data: Interactions) -> str | None:
        return _about_users(target) or super().obstacle(target, data)

    def worlds(self, target: Target, data: Interactions, draw: np.random.Generator) -> Worlds:
        people = [OBSERVER, *(f"u{user}" for user in range(self.users))]
        others: list[Record] = [
            (user, f"i{item}", 5 if (place + item) % 2 else 2)
            for place, user in enumerate(people)
            for item in range(ITEMS // 2)
        ]
        quiet = ("zz-quiet", "i0", 5)
        return Worlds(crafted(others, items=ITEMS), crafted([*others, quiet], items=ITEMS))

    def observe(self, fitted: Fitted, worlds: Worlds) -> Features:
        return seen(self, fitted)


def _about_users(target: Target) -> str | None:
    if target.guarantee is not None and target.guarantee.unit.what == "record":
        return "the promise is about single records"
    return None
