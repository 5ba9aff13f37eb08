"""Triples of users, resources and tags, and public rules that clean tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.catalogs import Outside, public_list, recoded
from discreet.data.dataset import UserRecords, check_size, frozen
from discreet.data.diagnosis import wrong_triples
from discreet.data.fingerprints import WITHOUT_MISSING, Cut, HashedColumns, cut_from, marks_of
from discreet.data.frames import as_frame, as_mask, require_columns, times_within
from discreet.data.id_forms import IdKinds, coded, id_as_text, id_kinds
from discreet.data.ids import Codes, IdMap, code_order, compact
from discreet.data.periods import Window
from discreet.data.problems import Missing, Problems
from discreet.data.screening import dropped_missing
from discreet.errors import DataError, Remedy, UsageError

__all__ = ["SYSTEM_TAGS", "Cleaning", "Posts", "TagAssignments", "TagRule"]

SYSTEM_TAGS = frozenset({"imported", "public", "no-tag", "unfiled", "jabref:noKeywordAssigned"})
"""Tags that bookmarking sites and import tools add."""

NAME_COLUMNS = Remedy(
    "Name the columns with user=, resource=, tag=.",
    cli="Name the columns: --column user=… --column resource=… --column tag=….",
)


@dataclass(frozen=True)
class TagRule:
    """A public rule that rewrites or drops each tag by itself.

    Parameters
    ----------
    lower
        Whether ``Python`` and ``python`` are the same tag.
    strip
        Whether to strip blanks around a tag.
    drop
        Tags to drop; compared after the two steps above, and without regard to case when ``lower`` is set.
    drop_prefixes
        Beginnings of tags to drop, compared in the same way.

    Privacy
    -------
    The rule maps one triple to one triple or none, in the same way for everybody. Datasets that differ in one user or
    one triple, present or absent, still do after cleaning, so guarantees for these units carry over to the raw triples.
    They do not where the unit is the value of a tag, or where a user is replaced: a triple may be dropped, or become
    equal to another one, because of its tag.

    Examples
    --------
    >>> rule = TagRule()
    >>> rule(" Python "), rule("imported"), rule("system:unfiled")
    ('python', None, None)
    """

    lower: bool = True
    strip: bool = True
    drop: frozenset[str] = SYSTEM_TAGS
    drop_prefixes: tuple[str, ...] = ("system:", "sys:", "for:")

    def __post_init__(self) -> None:
        if isinstance(self.drop, str) or isinstance(self.drop_prefixes, str):
            raise UsageError("drop and drop_prefixes are collections of text.", remedy='Write ("system:",).')
        object.__setattr__(self, "drop", frozenset(map(self._folded, self.drop)))
        object.__setattr__(self, "drop_prefixes", tuple(map(self._folded, self.drop_prefixes)))

    def __call__(self, tag: str) -> str | None:
        """The rewritten tag, or None when it is dropped; an empty tag is dropped."""
        tag = self._folded(tag.strip() if self.strip else tag)
        if not tag or tag in self.drop or tag.startswith(self.drop_prefixes):
            return None
        return tag

    def _folded(self, tag: str) -> str:
        return tag.lower() if self.lower else tag


@dataclass(frozen=True)
class Cleaning:
    """What a rule did to the triples. Not private, for their owner only.

    Attributes
    ----------
    rule
        The rule.
    dropped
        Triples with a tag that the rule dropped.
    collapsed
        Triples that became equal to another one.
    """

    rule: TagRule
    dropped: int
    collapsed: int


@dataclass(frozen=True, eq=False)
class Posts:
    """The posts of a set of triples: a user and a resource, with the tags that the user gave it.

    Attributes
    ----------
    user, resource
        Codes of each post, sorted by user, then resource.
    starts
        Triples of post ``p`` are those from ``starts[p]`` to ``starts[p + 1]``.
    """

    user: Codes
    resource: Codes
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.user.size)


class TagAssignments(UserRecords):
    """A set of triples: this user tagged this resource with this tag. Immutable; repeats are merged.

    Triples are sorted by user, then resource, then tag, whatever order they came in.

    Parameters
    ----------
    data
        A polars, pandas or Arrow table with the columns below, a mapping of arrays, or tuples
        ``(user, resource, tag)``. Columns of a table keep their types; Python values keep theirs, each its own.
    user, resource, tag
        Names of the columns.
    ids
        The declared type of the ids: "text", "number" (whole numbers), or one for some of user, resource and tag, as in
        ``"resource=number"``. Without it every id keeps the type that it came with.
    missing
        What to do with a row that lacks a user, resource or tag (None, null, NaN): ``"error"``, or ``"drop"`` it. With
        ``"drop"`` blank text is missing too.
    timestamp, window, time_zone
        Where a window is declared: the column of times, the days that count, and where days begin (UTC by default).
        Triples of other times, and without a time, are left out one by one, before repeats are merged. Times are used
        for nothing else and are not kept.
    name
        What the data are called in messages and in the ledger.

    Attributes
    ----------
    users, resources, tags : IdMap
        Ids and their codes. Without a public list, those that occur.
    user, resource, tag : int32 arrays
        Codes of each triple.
    vocabulary_is_public, resources_are_public : bool
        Whether the list of tags, or of resources, was declared public.
    cleaning : tuple of Cleaning
        The rules that were applied, and what they did.
    dropped_duplicates : int
        How many repeated triples were merged. Not private: for the owner of the records only, like the next two.
    dropped_missing : int
        How many rows ``missing="drop"`` left out.
    missing_by_column : dict
        How many of them lack a value in each column.

    Examples
    --------
    >>> triples = [("ann", "tea.org", "Tea"), ("ann", "tea.org", "tea"), ("bob", "rum.com", "imported")]
    >>> tags = TagAssignments(triples)
    >>> tags
    TagAssignments(3 triples, 2 users, 2 resources, 3 tags)
    >>> tags.cleaned(TagRule()).to_frame().rows()
    [('ann', 'tea.org', 'tea')]
    """

    resources: IdMap
    tags: IdMap
    n_resources: int
    n_tags: int
    resource: Codes
    tag: Codes
    vocabulary_is_public: bool
    resources_are_public: bool
    cleaning: tuple[Cleaning, ...]
    dropped_duplicates: int = 0
    dropped_missing: int = 0
    missing_by_column: Mapping[str, int] = MappingProxyType({})

    def __init__(
        self,
        data: Any,
        *,
        user: str = "user_id",
        resource: str = "resource_id",
        tag: str = "tag",
        timestamp: str = "timestamp",
        window: Window | str | Sequence[str] | None = None,
        time_zone: str | None = None,
        ids: IdKinds = None,
        missing: Missing = "error",
        name: str = "",
    ) -> None:
        kinds = id_kinds(ids, ("user", "resource", "tag"))
        names, problems = (user, resource, tag), Problems(missing)
        self.window = Window.declared(window, time_zone)
        columns = names if self.window is None else (*names, timestamp)
        frame = as_frame(data, columns, at_least=3, ids=names)
        require_columns(frame, names, NAME_COLUMNS)
        if self.window is not None:
            frame = frame.filter(times_within(frame, timestamp, self.window))
        self.name, self.lineage, self.cleaning = name, (), ()
        if missing == "drop":
            frame = dropped_missing(frame, names, (), problems)
            self.dropped_missing, self.missing_by_column = problems.dropped, problems.dropped_by_column
            self.lineage = (WITHOUT_MISSING,)
        try:
            self.users, users = coded(frame[user], kinds["user"], what="user")
            self.resources, resources = coded(frame[resource], kinds["resource"], what="resource")
            self.tags, tags = coded(frame[tag], kinds["tag"], what="tag")
        except DataError as error:
            wrong_triples(frame, dict(zip(kinds, names, strict=True)), kinds, problems)
            raise problems.error() if problems else error from None
        self.vocabulary_is_public = self.resources_are_public = False
        self.once_inferred = frozenset()
        self._set_codes(users, resources, tags)
        self.dropped_duplicates = frame.height - len(self)

    def _set_codes(self, user: Codes, resource: Codes, tag: Codes) -> None:
        """Sort the triples, drop exact repeats, and freeze the columns."""
        check_size(user.size, "triples")
        order = code_order([(user, len(self.users)), (resource, len(self.resources)), (tag, len(self.tags))])
        columns = np.stack([user[order], resource[order], tag[order]])
        fresh = np.ones(user.size, dtype=bool)
        fresh[1:] = (columns[:, 1:] != columns[:, :-1]).any(axis=0)
        self._set_users(self.users, columns[0][fresh])
        self.resource, self.tag = (frozen(column[fresh]) for column in columns[1:])
        self.n_resources, self.n_tags = len(self.resources), len(self.tags)

    # Properties

    def _parts_of_repr(self) -> list[str]:
        return [
            f"{len(self):,} triples",
            f"{self.n_users:,} users",
            f"{self.n_resources:,} resources",
            f"{self.n_tags:,} tags",
        ]

    @property
    def complete(self) -> bool:
        """Whether no triples were dropped or merged because of their tags: who tagged what is as it was read."""
        return marks_of(self.lineage) <= {"=", "#"}

    @cached_property
    def posts(self) -> Posts:
        """Which user tagged which resource, with any tag."""
        begins = np.ones(len(self), dtype=bool)
        begins[1:] = (np.diff(self.user) != 0) | (np.diff(self.resource) != 0)
        first = np.flatnonzero(begins)
        return Posts(self.user[first], self.resource[first], np.append(first, len(self)))

    def _hashed(self) -> HashedColumns:
        ids = {
            "user_id": (self.users, self.user),
            "resource_id": (self.resources, self.resource),
            "tag": (self.tags, self.tag),
        }
        return HashedColumns("tags", ids, values={}, repeats=False)

    def describe(self) -> dict[str, Any]:
        """Facts about these triples, for their owner: they are **not** private and not for publication."""
        posts, per_user = len(self.posts), self.records_per_user
        return {
            "name": self.name,
            "triples": len(self),
            "posts": posts,
            "users": self.n_users,
            "resources": self.n_resources,
            "tags": self.n_tags,
            "vocabulary_public": self.vocabulary_is_public,
            "resources_public": self.resources_are_public,
            "tags_per_post": len(self) / posts if posts else 0.0,
            "triples_per_user": {"median": float(np.median(per_user)), "max": int(per_user.max())} if len(self) else {},
            "dropped_by_rules": sum(step.dropped for step in self.cleaning),
            "collapsed_by_rules": sum(step.collapsed for step in self.cleaning),
            "dropped_missing": self.dropped_missing,
            "missing_by_column": dict(self.missing_by_column),
            "fingerprint": self.fingerprint,
        }

    def to_frame(self) -> pl.DataFrame:
        """The triples with the caller's ids: user_id, resource_id, tag."""
        return pl.DataFrame({name: ids.take(codes) for name, (ids, codes) in self._hashed().ids.items()})

    # Parts and other shapes

    def without_posts(self, left_out: NDArray[np.bool_]) -> TagAssignments:
        """The triples of all posts but those under the mask, which must not depend on the tags.

        Everybody must keep a post: where this is used, it may be public who is in the data and who tagged what.
        """
        posts, mask = self.posts, as_mask(left_out, len(self.posts))
        if np.bincount(posts.user[~mask], minlength=self.n_users).min(initial=1) == 0:
            raise UsageError("a user would be left without any post.", remedy="Leave every user at least one.")
        return self._part(np.repeat(~mask, np.diff(posts.starts)), cut="posts")

    def cleaned(self, rule: TagRule | None = None) -> TagAssignments:
        """The triples with tags rewritten by a public rule; ``cleaning`` says how many triples that removed.

        A public vocabulary is rewritten with them and stays public. Whole numbers are written as text; tags that are
        neither are dropped.
        """
        rule = TagRule() if rule is None else rule
        if not isinstance(rule, TagRule):
            raise UsageError(f"a rule for tags must be a TagRule, got {rule!r}.")
        # Each tag by itself: the type of one must not depend on the others.
        texts = [id_as_text(tag) for tag in self.tags.ids()]
        rewritten = [None if text is None else rule(text) for text in texts]
        tags = IdMap([tag for tag in rewritten if tag is not None], what="tag")
        codes = tags.encode(["" if tag is None else tag for tag in rewritten], unknown="mark")[self.tag]
        clean = self._part(codes >= 0, cut="records", tags=tags, tag=codes)
        kept = int((codes >= 0).sum())
        clean.cleaning = (*self.cleaning, Cleaning(rule, len(self) - kept, kept - len(clean)))
        return clean

    def with_vocabulary(self, tags: Any, *, outside: Outside = "error") -> TagAssignments:
        """The same triples with a public vocabulary.

        Parameters
        ----------
        tags
            The tags, or ``"observed"``, which declares that it is public knowledge which tags occur. Nobody can check
            this for you: somebody's name may be a tag.
        outside
            What happens to a triple with another tag: ``"error"``, or ``"drop"`` it.
        """
        listed = public_list(self.tags, tags, "vocabulary")
        codes = recoded(self.tags, listed, self.tag, outside)
        return self._part(codes >= 0, cut=_cut(outside), tags=listed, tag=codes, vocabulary_is_public=True)

    def with_resources(self, resources: Any, *, outside: Outside = "error") -> TagAssignments:
        """The same triples with a public list of resources, as in ``with_vocabulary``."""
        listed = public_list(self.resources, resources, "list of resources")
        codes = recoded(self.resources, listed, self.resource, outside)
        return self._part(codes >= 0, cut=_cut(outside), resources=listed, resource=codes, resources_are_public=True)

    def _part(self, mask: NDArray[np.bool_], *, cut: Cut | None, **changes: Any) -> TagAssignments:
        """Triples under the mask, after attributes were changed.

        Users without triples go; tags and resources go only where their list is not public.
        """
        part = self._copy()
        vars(part).update(changes)
        part.users, user = compact(part.users, part.user[mask])
        resource, tag = part.resource[mask], part.tag[mask]
        if not part.resources_are_public:
            part.resources, resource = compact(part.resources, resource)
        if not part.vocabulary_is_public:
            part.tags, tag = compact(part.tags, tag)
        part._set_codes(user, resource, tag)
        if cut is not None:
            part.lineage = cut_from(self, cut)
        return part


def _cut(outside: Outside) -> Cut:
    """How the triples are cut where ids become those of a public list, whether or not one is dropped."""
    return "records" if outside == "drop" else "rewritten"
