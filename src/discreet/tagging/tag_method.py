"""What releases of tags add to ``Method``: the kinds of releases, and the public lists that they are made from."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import polars as pl

from discreet.data.ids import IdMap
from discreet.data.tags import TagAssignments
from discreet.errors import PrivacyError, Remedy, UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.budget import Budget, as_share
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.method import Method, Plan, Sums
from discreet.privacy.numbers import Rational
from discreet.privacy.units import Unit
from discreet.tagging.sums import ASSIGNMENT, USER

if TYPE_CHECKING:
    from discreet.privacy.release import Release
    from discreet.tagging.recommenders.base import TagRecommender

__all__ = [
    "ASSIGNMENTS",
    "STATISTICS",
    "PublicList",
    "TagMethod",
    "id_columns",
    "require_assignments",
    "require_plain",
]

ASSIGNMENTS = "tag-assignments"
"""The kind of a release with the part "assignments", a table of triples: user_id, resource_id, tag."""

STATISTICS = "tag-statistics"
"""The kind of a release of sums about tags. The tags of the person who asks are added on that person's side."""

PublicList = Literal["tags", "resources"]


class TagMethod(Method):
    """A method that releases tagging data.

    Attributes
    ----------
    posts_are_public : bool
        Whether the guarantee takes for public who is in the data and who tagged what. No triple may have been dropped
        because of its tag then.
    """

    posts_are_public: ClassVar[bool] = False

    epsilon: Rational
    delta: Rational = 0

    def _set_exact(self, *shares: str) -> None:
        """Replace ``epsilon``, ``delta`` and the named shares by exact fractions, whether given as "1/2" or 0.5."""
        given = Budget(self.epsilon, self.delta)
        exact = {"epsilon": given.epsilon, "delta": given.delta}
        exact |= {name: as_share(getattr(self, name), name, whole=True) for name in shares}
        for name, value in exact.items():
            object.__setattr__(self, name, value)

    # The budget is divided here

    @property
    def _unit(self) -> Unit:
        """What is protected."""
        return USER

    @property
    def _budget(self) -> Budget:
        # One assignment moves two counts by 1: that takes less Laplace noise than normal noise, at every usual ε.
        return Budget(self.epsilon, 0 if self._unit == ASSIGNMENT else self.delta, self._unit)

    @property
    def _norm(self) -> int:
        """The norm that contributions have to be bounded in."""
        return self._budget.norm

    @property
    def _shares(self) -> Mapping[str, Fraction]:
        """How the budget is divided among the sums that are released, by their names."""
        raise NotImplementedError(f"{type(self).__name__} divides no budget")

    def _noise(self, name: str) -> AdditiveMechanism:
        """The noise that the share of some sums pays for."""
        return self._budget.part(self._shares[name]).for_sums()

    def _threshold(self, name: str, sums: BoundedSums, chance: float) -> float:
        """What noise alone exceeds with this probability."""
        return self._budget.part(self._shares[name]).interval(sums, 1 - 2 * chance)

    def _noisy_plan(
        self, public: Any, sums: Mapping[str, Sums], basis: str, subject: str, not_covered: tuple[str, ...], **more: Any
    ) -> Plan:
        """The plan of a release of sums; those given here hold no record and have the bounds of those to come."""
        budget = self._budget
        noise = {f"{name}_noise_sd": budget.part(self._shares[name]).deviation(some) for name, some in sums.items()}
        return Plan(
            loss=budget.loss,
            basis=basis,
            subject=subject,
            unit=self._unit,
            caps=tuple(cap for some in sums.values() for cap in some.caps),
            not_covered=(*not_covered, "facts that would be true without this person's data"),
            expected={**noise, **more},
            public=public,
        )

    def recommender(self, release: Release) -> TagRecommender:
        """What recommends tags from a release of this method."""
        from discreet.tagging.recommenders.local_tags import recommender

        return recommender(release)

    # Public lists

    @property
    def _lists(self) -> tuple[PublicList, ...]:
        """The public lists that the method needs."""
        return ("tags", "resources")

    def _public(self, data: TagAssignments) -> Any:
        require_assignments(data, self.name)
        if self.posts_are_public:
            _require_complete(data, self.name)
            require_plain(data.users, self.name)
            require_plain(data.resources, self.name)
        for which in self._lists:
            _require_list(data, which, self.name)
        return data.emptied()


def id_columns(data: Any, **codes: Any) -> dict[str, pl.Series]:
    """Columns of ids for the codes of users, resources and tags: "user_id", "resource_id", "tag"; None for all ids."""
    lists = {"user": ("user_id", data.users), "resource": ("resource_id", data.resources), "tag": ("tag", data.tags)}
    found = {}
    for what, some in codes.items():
        column, ids = lists[what]
        found[column] = ids.series if some is None else ids.take(some)
    return found


def require_assignments(data: TagAssignments, what: str) -> None:
    """Refuse anything but tag assignments."""
    if not isinstance(data, TagAssignments):
        raise UsageError(
            f"{what} works on TagAssignments, not on {type(data).__name__}.",
            remedy='Wrap your table: TagAssignments(table, user="…", resource="…", tag="…").',
        )


def require_plain(ids: IdMap, what: str) -> None:
    """Refuse ids that a release cannot hold. Called only for public ids: their type is public too."""
    if len(ids) and ids.series.dtype == pl.Object:
        raise UsageError(
            f"{what} releases ids that are text or whole numbers; the {ids.what} ids here are others, or both.",
            remedy="Write all of them as text.",
        )


def _require_list(data: TagAssignments, which: PublicList, what: str) -> None:
    """Refuse data without a public list: the tags or resources that occur may reveal a person."""
    public, ids = (data.resources_are_public, data.resources)
    setter, option, command = "with_resources", "--resources", "discreet tags vocabulary --of resources"
    if which == "tags":
        public, ids = (data.vocabulary_is_public, data.tags)
        setter, option, command = "with_vocabulary", "--vocabulary", "discreet tags vocabulary"
    if not public:
        raise PrivacyError(
            f"{what} needs a public list of {which}; these data only show which {which} occur, and that is secret.",
            remedy=Remedy(
                f'Give the list: data.{setter}({which}, outside="drop"), find one privately with discover_{which}, '
                f'or declare that it is public knowledge which {which} occur: data.{setter}("observed").',
                cli=f"Give the list with {option} FILE, make one privately with {command}, or declare with "
                f"{option}-public that it is public knowledge which {which} occur.",
            ),
        )
    require_plain(ids, what)


def _require_complete(data: TagAssignments, what: str) -> None:
    """Refuse triples of which some were dropped because of their tags: which posts are left tells about the tags."""
    if not data.complete:
        raise PrivacyError(
            f"{what} takes for public who is in the data and who tagged what; some of these triples may have been "
            "dropped or merged because of their tags, and then it is not.",
            remedy=Remedy(
                "Give all triples, with a list of tags that names every one of them: data.with_vocabulary(tags), "
                'which refuses others. Methods that protect whole users (ptr-j) work with outside="drop".',
                cli="Give a list that names every tag of the data with --vocabulary FILE. Methods that protect whole "
                "users (ptr-j) drop other tags.",
            ),
        )
