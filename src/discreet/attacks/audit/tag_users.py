"""Is this person among those who tagged?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.attacks.audit.game import Features, Worlds
from discreet.attacks.audit.tag_triples import TagGame
from discreet.attacks.audit.tag_worlds import Triple, tagged, touched_by, triples_of_others
from discreet.attacks.audit.targets import Fitted, Target
from discreet.data.tags import TagAssignments
from discreet.privacy.units import Relation, Unit

__all__ = ["TAG_CANARY", "TAG_CANARY_RECOMMENDATIONS", "ExchangedTags", "OneTag", "TagCanary", "Tagger"]


@dataclass(frozen=True, kw_only=True)
class UserGame(TagGame):
    """Games about a whole user: not played where only single triples are promised something."""

    def obstacle(self, target: Target, data: TagAssignments) -> str | None:
        if target.guarantee is not None and target.guarantee.unit.what == "record":
            return "the promise is about single triples"
        return super().obstacle(target, data)


@dataclass(frozen=True, kw_only=True)
class TagCanary(UserGame):
    """A user with many triples, most of them of tags and resources that nobody else has."""

    name: str = "tag-canary"

    def worlds(self, target: Target, data: TagAssignments, draw: np.random.Generator) -> Worlds:
        others = triples_of_others()
        canary: list[Triple] = [
            ("zz-canary", resource, tag) for resource in ("r1", "r6", "r7") for tag in ("t01", "t10", "t11")
        ]
        return Worlds(tagged(others), tagged([*others, *canary]), records=len(canary))


@dataclass(frozen=True, kw_only=True)
class OneTag(UserGame):
    """A user who has one triple, so that all the weight of a user lies on one tag and one resource."""

    name: str = "one-tag"

    def worlds(self, target: Target, data: TagAssignments, draw: np.random.Generator) -> Worlds:
        others = triples_of_others()
        return Worlds(tagged(others), tagged([*others, ("zz-canary", "r7", "t11")]))


@dataclass(frozen=True, kw_only=True)
class ExchangedTags(UserGame):
    """A user who is there in both worlds, with the same resources and with other tags on all of them.

    Selections that are made tag by tag have to be paid for tag by tag.
    """

    relation: ClassVar[Relation] = "replace"

    name: str = "exchanged-tags"

    def worlds(self, target: Target, data: TagAssignments, draw: np.random.Generator) -> Worlds:
        sides = [[("zz-canary", f"r{place}", f"t{first + place:02}") for place in range(6)] for first in (0, 6)]
        without, with_ = (tagged([*triples_of_others(), *side]) for side in sides)
        return Worlds(without, with_, unit=Unit("user", "replace"), records=6)


@dataclass(frozen=True, kw_only=True)
class Tagger(UserGame):
    """Somebody who is drawn from the given triples, and what the release says about what they tagged."""

    name: str = "tagger"
    crafted: bool = False

    def worlds(self, target: Target, data: TagAssignments, draw: np.random.Generator) -> Worlds:
        others = data.user != int(draw.integers(data.n_users))
        member = data.filter(~others).to_frame()
        return Worlds(data.filter(others), data, records=member.height, secret=member)

    def observe(self, fitted: Fitted, worlds: Worlds) -> Features:
        assert fitted.release is not None
        return touched_by(fitted.release, worlds.secret)


TAG_CANARY = TagCanary()
TAG_CANARY_RECOMMENDATIONS = TagCanary(name="tag-canary-recommendations", view="recommendations")
