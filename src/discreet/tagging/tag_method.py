"""What releases of tags add to ``Method``: the kinds of releases, and the public lists that they are made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import polars as pl

from discreet.data.ids import IdMap
from discreet.data.tags import TagAssignments
from discreet.errors import PrivacyError, Remedy, UsageError
from discreet.privacy.budget import Budget
from discreet.privacy.method import Method
from discreet.privacy.numbers import Rational, as_fraction

if TYPE_CHECKING:
    from discreet.privacy.release import Release
    from discreet.tagging.recommenders.base import TagRecommender

__all__ = [
    "ASSIGNMENTS",
    "STATISTICS",
    "PublicList",
    "TagMethod",
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
        """Replace ``epsilon``, ``delta`` and the named settings by exact fractions, whether given as "1/2" or 0.5."""
        exact = {"epsilon": self._budget.epsilon, "delta": self._budget.delta}
        exact |= {name: as_fraction(getattr(self, name), name) for name in shares}
        for name, value in exact.items():
            object.__setattr__(self, name, value)

    @property
    def _budget(self) -> Budget:
        return Budget(self.epsilon, self.delta)

    def recommender(self, release: Release) -> TagRecommender:
        """What recommends tags from a release of this method."""
        from discreet.tagging.recommenders.local_tags import recommender

        return recommender(release)

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
