"""What all tagging releases share: a promise before, a charge, a release."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.ids import IdMap
from discreet.data.tags import TagAssignments
from discreet.errors import PrivacyError, UsageError
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Loss
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

__all__ = [
    "ASSIGNMENTS",
    "STATISTICS",
    "TagMethod",
    "TagPlan",
    "emptied",
    "require_complete",
    "require_plain",
    "require_resources",
    "require_vocabulary",
]

ASSIGNMENTS = "tag-assignments"
"""The kind of a release whose part "assignments" is a table of triples: user_id, resource_id, tag."""

STATISTICS = "tag-statistics"
"""The kind of a release of sums about tags, which the asking person's own tags complete on that person's side."""

Parts = Mapping[str, pl.DataFrame | NDArray[Any]]


@dataclass(frozen=True)
class TagPlan:
    """What a method will do, from public values alone.

    Parameters
    ----------
    loss, unit, basis, subject, caps, not_covered, standing, joint
        As in ``Guarantee``.
    expected
        Figures about the noise, JSON-able: they stand in the estimate and in the parameters of the release.
    """

    loss: Loss
    unit: Unit
    basis: str
    subject: str
    caps: tuple[str, ...] = ()
    not_covered: tuple[str, ...] = ()
    expected: Mapping[str, Any] = field(default_factory=dict)
    standing: Standing = Standing.PROVED
    joint: bool = False

    def guarantee(self) -> Guarantee:
        return Guarantee(
            loss=self.loss,
            unit=self.unit,
            standing=self.standing,
            basis=self.basis,
            subject=self.subject,
            caps=self.caps,
            not_covered=self.not_covered,
            joint=self.joint,
        )


@dataclass(frozen=True)
class TagMethod(ABC):
    """A way to release tagging data: subclasses are frozen dataclasses that plan from public values and then draw.

    ``_plan`` is handed what is public (``_public``: without further words the public lists and no triple) and must find
    every mistake: it runs before the ledger is charged. ``_make`` runs after, and gives the parts of the release.

    A subclass has a classmethod ``of`` that takes plain numbers, and says in ``not_covered`` of its plan, in words that
    a person understands, what it does not hide.
    """

    name: ClassVar[str]
    kind: ClassVar[str]
    takes_all: ClassVar[bool] = False
    """Whether who is in the data and who tagged what is taken for public, so that no triple may have been left out."""

    @abstractmethod
    def _plan(self, public: TagAssignments) -> TagPlan: ...

    @abstractmethod
    def _make(self, data: TagAssignments) -> Parts: ...

    def _require(self, data: TagAssignments) -> None:
        """Refuse data that lack a public list which the method needs: here that of tags and that of resources."""
        require_vocabulary(data, self.name)
        require_resources(data, self.name)

    def _public(self, data: TagAssignments) -> TagAssignments:
        """What a plan may look at. Methods under which more is public, such as who tagged what, say so here."""
        return emptied(data)

    @property
    def parameters(self) -> dict[str, Any]:
        """The settings, which are public, JSON-able."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: str(value) if isinstance(value, Fraction) else value for name, value in given.items()}

    def guarantee(self, data: TagAssignments) -> Guarantee:
        """What a release will promise, known before it is made."""
        return self._planned(data).guarantee()

    def estimate(self, data: TagAssignments) -> dict[str, Any]:
        """What to expect, from public values alone: no triple is read, nothing is spent."""
        plan = self._planned(data)
        return {
            "method": self.name,
            **self.parameters,
            "loss": str(plan.loss),
            "standing": plan.standing.value,
            **plan.expected,
        }

    def release(self, data: TagAssignments, *, ledger: Ledger | None = None, allow_refuted: bool = False) -> Release:
        """Charge the ledger, draw, hand out."""
        plan = self._planned(data)
        guarantee = plan.guarantee()
        parameters = {"method": self.name, **self.parameters}
        with charged(
            ledger, data, guarantee, mechanism=self.name, parameters=parameters, allow_refuted=allow_refuted
        ) as charge:
            release = Release(
                kind=self.kind,
                guarantee=guarantee,
                mechanism=self.name,
                parameters={**parameters, **plan.expected},
                parts=self._make(data),
                dataset=data.name,
            )
            charge.settle(release.id)
        return release

    def _planned(self, data: TagAssignments) -> TagPlan:
        require_assignments(data, self.name)
        if self.takes_all:
            require_complete(data, self.name)
            for ids in (data.users, data.resources):
                require_plain(ids, self.name)
        self._require(data)
        return self._plan(self._public(data))


def emptied(data: TagAssignments) -> TagAssignments:
    """No triples, the same public lists: what a plan may look at.

    Examples
    --------
    >>> data = TagAssignments([("ann", "tea.org", "tea")]).with_vocabulary(["tea", "rum"])
    >>> emptied(data)
    TagAssignments(0 triples, 0 users, 0 resources, 2 tags)
    """
    return data.filter(np.zeros(len(data), dtype=bool), independent=True)


def require_assignments(data: TagAssignments, what: str) -> None:
    """Refuse anything but tag assignments."""
    if not isinstance(data, TagAssignments):
        raise UsageError(
            f"{what} works on TagAssignments, not on {type(data).__name__}.",
            remedy='Wrap your table: TagAssignments(table, user="…", resource="…", tag="…").',
        )


def require_vocabulary(data: TagAssignments, what: str) -> None:
    """Refuse to work on the tags that happen to occur: which ones do is somebody's secret."""
    if not data.vocabulary_is_public:
        raise PrivacyError(
            f"{what} needs a public list of tags; these data only show which tags occur, and that is secret.",
            remedy=(
                'Give the list: data.with_vocabulary(tags, outside="drop") (on the command line --vocabulary FILE), '
                "find one privately with discover_tags, or declare that it is public knowledge which tags occur: "
                'data.with_vocabulary("observed").'
            ),
        )
    require_plain(data.tags, what)


def require_complete(data: TagAssignments, what: str) -> None:
    """Refuse triples of which some were left out by their tags: which posts there are would tell about the tags."""
    if not data.complete:
        raise PrivacyError(
            f"{what} takes for public who is in the data and who tagged what; of these triples some may have been left "
            "out or merged because of their tags, and then it is not.",
            remedy="Give all triples, with a list of tags that names every one of them: data.with_vocabulary(tags), "
            'which refuses others. Methods that hide whole users (ptr-j) work with outside="drop".',
        )


def require_resources(data: TagAssignments, what: str) -> None:
    """Refuse to work on the resources that happen to occur."""
    if not data.resources_are_public:
        raise PrivacyError(
            f"{what} needs a public list of resources; these data only show which occur, and that is secret.",
            remedy=(
                'Give the list: data.with_resources(ids, outside="drop"), find one privately with discover_resources, '
                'or declare that it is public knowledge which resources occur: data.with_resources("observed").'
            ),
        )
    require_plain(data.resources, what)


def require_plain(ids: IdMap, what: str) -> None:
    """Refuse ids that a release cannot hold. Asked only about ids that are public: their type is, too."""
    if len(ids) and ids.series.dtype == pl.Object:
        raise UsageError(
            f"{what} releases ids that are text or whole numbers; the {ids.what} ids here are others, or both.",
            remedy="Write all of them as text.",
        )
