"""Is this one triple among the data, and with which tag?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.attacks.audit.game import Features, Game, Worlds
from discreet.attacks.audit.tag_worlds import recommended_tags, tag_vector, tagged, touched_by, triples_of_others
from discreet.attacks.audit.targets import Fitted, Target
from discreet.data.tags import TagAssignments
from discreet.privacy.units import Relation, Unit

__all__ = ["ASSIGNMENT", "ASSIGNMENT_RECOMMENDATIONS", "GivenTriple", "LoneTag", "OneAssignment", "TagGame", "TagValue"]

TAGGER = "zz-tagger"


@dataclass(frozen=True, kw_only=True)
class TagGame(Game):
    """What all games in small worlds of tags share.

    Parameters
    ----------
    effort
        As for all games; the usual releases of tags take longer than counts.

    Attributes
    ----------
    relation
        Whether something is there in one world only.
    """

    data_type: ClassVar[type[Any]] = TagAssignments
    relation: ClassVar[Relation] = "add-remove"

    effort: int = 1

    def obstacle(self, target: Target, data: TagAssignments) -> str | None:
        promise = target.guarantee
        if promise is not None and self.relation == "add-remove" != promise.unit.relation:
            return "what is there and not there in the two worlds is public under this promise"
        return super().obstacle(target, data)

    def observe(self, fitted: Fitted, worlds: Worlds) -> Features:
        known = worlds.with_
        assert isinstance(known, TagAssignments)
        if self.view != "white box":
            return recommended_tags(fitted.model, known)
        assert fitted.release is not None
        return tag_vector(fitted.release, known)


@dataclass(frozen=True, kw_only=True)
class TripleGame(TagGame):
    """Games about one triple: played where single triples are promised something, or nothing is."""

    def obstacle(self, target: Target, data: TagAssignments) -> str | None:
        if target.guarantee is not None and target.guarantee.unit.what != "record":
            return "the promise is about more than single triples"
        return super().obstacle(target, data)


@dataclass(frozen=True, kw_only=True)
class OneAssignment(TripleGame):
    """One triple more, of a tag and a resource that others use as well, by somebody who has one other triple."""

    name: str = "assignment"

    def worlds(self, target: Target, data: TagAssignments, draw: np.random.Generator) -> Worlds:
        base = [*triples_of_others(), (TAGGER, "r0", "t00")]
        return Worlds(tagged(base), tagged([*base, (TAGGER, "r1", "t01")]), unit=Unit("record"))


@dataclass(frozen=True, kw_only=True)
class LoneTag(TripleGame):
    """One triple with a tag that nobody else uses, on a resource that nobody else tags.

    What is made of the tags that occur, or keeps who tagged what, shows a tag or a link that is not there without it.
    """

    name: str = "lone-tag"

    def worlds(self, target: Target, data: TagAssignments, draw: np.random.Generator) -> Worlds:
        base = [*triples_of_others(), (TAGGER, "r0", "t00")]
        return Worlds(tagged(base), tagged([*base, (TAGGER, "r7", "t11")]), unit=Unit("record"))


@dataclass(frozen=True, kw_only=True)
class TagValue(TripleGame):
    """One post, with one tag or with another; that the post is there is the same in both worlds."""

    relation: ClassVar[Relation] = "value"

    name: str = "tag-value"

    def worlds(self, target: Target, data: TagAssignments, draw: np.random.Generator) -> Worlds:
        without, with_ = (tagged([*triples_of_others(), (TAGGER, "r7", tag)]) for tag in ("t10", "t11"))
        return Worlds(without, with_, unit=Unit("record", "value"))


@dataclass(frozen=True, kw_only=True)
class GivenTriple(TripleGame):
    """A triple that is drawn from the given ones, and what the release says about its user, resource and tag."""

    name: str = "triple"
    crafted: bool = False

    def worlds(self, target: Target, data: TagAssignments, draw: np.random.Generator) -> Worlds:
        keep = np.ones(len(data), dtype=bool)
        keep[int(draw.integers(len(data)))] = False
        return Worlds(data.filter(keep), data, unit=Unit("record"), secret=data.filter(~keep).to_frame())

    def observe(self, fitted: Fitted, worlds: Worlds) -> Features:
        assert fitted.release is not None
        return touched_by(fitted.release, worlds.secret)


ASSIGNMENT = OneAssignment()
ASSIGNMENT_RECOMMENDATIONS = OneAssignment(name="assignment-recommendations", view="recommendations")
