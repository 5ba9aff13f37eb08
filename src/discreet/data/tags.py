"""Who tagged which resource with which tag."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.fingerprints import Cut, covered, cut_from, fingerprint_of_records, kind_of_cut
from discreet.data.frames import as_frame, as_mask
from discreet.data.id_forms import recognized
from discreet.data.ids import Codes, IdMap, compact, group_order
from discreet.data.tag_rules import Cleaning, TagRule
from discreet.errors import DataError, UsageError

__all__ = ["Posts", "TagAssignments"]

Outside = Literal["error", "drop"]


@dataclass(frozen=True, eq=False)
class Posts:
    """The posts of a set of triples: a user and a resource, with the tags that the one gave the other.

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


class TagAssignments:
    """A set of triples: this user tagged this resource with this tag. Immutable; exact repeats collapse.

    Triples stand sorted by user, then resource, then tag, whatever the order they came in.

    Parameters
    ----------
    data
        A polars, pandas or Arrow table with the columns below, a mapping of arrays, or tuples
        ``(user, resource, tag)``.
    user, resource, tag
        Names of the columns.
    name
        What to call these data in messages and in the ledger.

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
    lineage : tuple of str
        Fingerprints of the data that these are a part of.

    Examples
    --------
    >>> triples = [("ann", "tea.org", "Tea"), ("ann", "tea.org", "tea"), ("bob", "rum.com", "imported")]
    >>> tags = TagAssignments(triples)
    >>> tags
    TagAssignments(3 triples, 2 users, 2 resources, 3 tags)
    >>> tags.cleaned(TagRule()).to_frame().rows()
    [('ann', 'tea.org', 'tea')]
    """

    users: IdMap
    resources: IdMap
    tags: IdMap
    user: Codes
    resource: Codes
    tag: Codes
    vocabulary_is_public: bool
    resources_are_public: bool
    cleaning: tuple[Cleaning, ...]
    name: str
    lineage: tuple[str, ...]

    def __init__(
        self,
        data: Any,
        *,
        user: str = "user_id",
        resource: str = "resource_id",
        tag: str = "tag",
        name: str = "",
    ) -> None:
        frame = as_frame(data, [user, resource, tag], at_least=3, ids=(user, resource, tag))
        for column in (user, resource, tag):
            if column not in frame.columns:
                raise DataError(
                    f"there is no column {column!r}; the columns are {', '.join(map(repr, frame.columns))}.",
                    column=column,
                    remedy="Name the columns with user=, resource=, tag=.",
                )
        users, resources = IdMap(frame[user], what="user"), IdMap(frame[resource], what="resource")
        tags = IdMap(frame[tag], what="tag")
        self.name, self.lineage, self.cleaning = name, (), ()
        self.vocabulary_is_public = self.resources_are_public = False
        self._set_columns(
            users,
            resources,
            tags,
            users.encode(frame[user]),
            resources.encode(frame[resource]),
            tags.encode(frame[tag]),
        )

    def _set_columns(
        self, users: IdMap, resources: IdMap, tags: IdMap, user: Codes, resource: Codes, tag: Codes
    ) -> None:
        """Sort the triples, drop exact repeats, and freeze the columns."""
        self.users, self.resources, self.tags = users, resources, tags
        if user.size > 2**31 - 2:
            raise DataError(f"{user.size:,} triples are more than one table holds.", remedy="Split the data.")
        order, _ = group_order(tag, len(tags))
        order = order[group_order(resource[order], len(resources))[0]]
        order = order[group_order(user[order], len(users))[0]]
        columns = np.stack([user[order], resource[order], tag[order]])
        fresh = np.ones(user.size, dtype=bool)
        fresh[1:] = (columns[:, 1:] != columns[:, :-1]).any(axis=0)
        self.user, self.resource, self.tag = (np.ascontiguousarray(column[fresh]) for column in columns)
        for column in (self.user, self.resource, self.tag):
            column.flags.writeable = False

    # What it is

    def __len__(self) -> int:
        return int(self.user.size)

    def __repr__(self) -> str:
        name = f"{self.name!r}: " if self.name else ""
        return (
            f"TagAssignments({name}{len(self):,} triples, {self.n_users:,} users, "
            f"{self.n_resources:,} resources, {self.n_tags:,} tags)"
        )

    @property
    def n_users(self) -> int:
        return len(self.users)

    @property
    def n_resources(self) -> int:
        return len(self.resources)

    @property
    def n_tags(self) -> int:
        return len(self.tags)

    @cached_property
    def user_starts(self) -> NDArray[np.int64]:
        """Triples of user ``u`` are those from ``user_starts[u]`` to ``user_starts[u + 1]``."""
        return np.searchsorted(self.user, np.arange(self.n_users + 1, dtype=np.int32)).astype(np.int64)

    @property
    def complete(self) -> bool:
        """Whether no triples were left out or merged by what their tags are: who tagged what is as it was read."""
        return covered(self.lineage, "record", "value")

    @cached_property
    def posts(self) -> Posts:
        """Who tagged which resource, whatever with."""
        begins = np.ones(len(self), dtype=bool)
        begins[1:] = (np.diff(self.user) != 0) | (np.diff(self.resource) != 0)
        first = np.flatnonzero(begins)
        return Posts(self.user[first], self.resource[first], np.append(first, len(self)))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the triples: the same for the same triples in any order, whatever is declared public."""
        return fingerprint_of_records(
            kind="tags",
            ids=[(self.users, self.user), (self.resources, self.resource), (self.tags, self.tag)],
            values={},
            repeats=False,
        )

    def describe(self) -> dict[str, Any]:
        """Facts about these triples, for their owner: they are **not** private and not for publication."""
        posts = len(self.posts)
        per_user = np.diff(self.user_starts)
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
            "fingerprint": self.fingerprint,
        }

    def to_frame(self) -> pl.DataFrame:
        """The triples with the caller's ids: user_id, resource_id, tag."""
        return pl.DataFrame(
            {
                "user_id": self.users.take(self.user),
                "resource_id": self.resources.take(self.resource),
                "tag": self.tags.take(self.tag),
            }
        )

    # Parts and other shapes

    def filter(
        self,
        keep: NDArray[np.bool_] | Callable[[pl.DataFrame], pl.Series],
        *,
        independent: bool | Literal["record"] = False,
    ) -> TagAssignments:
        """The triples for which ``keep`` is true: a mask, or a function of ``to_frame()`` that gives one.

        The part remembers where it came from, so the ledger charges what is done with it to the whole;
        ``independent`` is explained at ``Interactions.filter``.
        """
        mask = as_mask(keep(self.to_frame()) if callable(keep) else keep, len(self))
        columns = (self.user[mask], self.resource[mask], self.tag[mask])
        return self._part(self.resources, self.tags, *columns, cut=kind_of_cut(independent))

    def without_posts(self, left_out: NDArray[np.bool_]) -> TagAssignments:
        """The triples of all posts but those under the mask, which must not have been drawn with a look at the tags.

        Everybody must keep a post: who is in the data, and who tagged what, may be public where this is used.
        """
        posts, mask = self.posts, as_mask(left_out, len(self.posts))
        if np.bincount(posts.user[~mask], minlength=self.n_users).min(initial=1) == 0:
            raise UsageError("somebody would be left without any post.", remedy="Leave everybody at least one.")
        kept = np.repeat(~mask, np.diff(posts.starts))
        return self._part(self.resources, self.tags, self.user[kept], self.resource[kept], self.tag[kept], cut="posts")

    def sample_users(self, n: int, *, seed: int) -> TagAssignments:
        """All triples of ``n`` users chosen at random. For experiments: it protects nothing."""
        from discreet.data.splits import choose_users

        return self.filter(choose_users(self.n_users, n, seed=seed)[self.user])

    def cleaned(self, rule: TagRule | None = None) -> TagAssignments:
        """The triples as a public rule rewrites them; ``cleaning`` says how many that removed.

        A public vocabulary is rewritten with them and stays public.
        """
        rule = TagRule() if rule is None else rule
        if not isinstance(rule, TagRule):
            raise UsageError(f"{rule!r} is not a rule.", remedy="Give a TagRule.")
        if len(self.tags) and self.tags.series.dtype != pl.String:
            raise UsageError("these tags are not text, so no rule can read them.", remedy="Give tags as text.")
        rewritten = [rule(tag) for tag in self.tags.ids()]
        tags = IdMap([tag for tag in rewritten if tag is not None], what="tag")
        codes = tags.encode(["" if tag is None else tag for tag in rewritten], unknown="mark")[self.tag]
        mask = codes >= 0
        clean = self._part(self.resources, tags, self.user[mask], self.resource[mask], codes[mask], cut="records")
        kept = int(mask.sum())
        clean.cleaning = (*self.cleaning, Cleaning(rule, len(self) - kept, kept - len(clean)))
        return clean

    def with_vocabulary(self, tags: Any, *, outside: Outside = "error") -> TagAssignments:
        """The same triples with a public vocabulary.

        Parameters
        ----------
        tags
            The tags, or ``"observed"``, which declares that it is public knowledge which tags occur. That is
            a statement about the world (somebody's name may be a tag), and nobody can check it for you.
        outside
            What happens to a triple with another tag: ``"error"``, or ``"drop"`` it.
        """
        vocabulary = _public(self.tags, tags, "vocabulary")
        codes = _recoded(self.tags, vocabulary, self.tag, outside)
        mask = codes >= 0
        whole = self._copy()
        whole.vocabulary_is_public = True
        columns = (self.user[mask], self.resource[mask], codes[mask])
        return whole._part(self.resources, vocabulary, *columns, cut=_cut(self.tags, vocabulary, outside))

    def with_resources(self, resources: Any, *, outside: Outside = "error") -> TagAssignments:
        """The same triples with a public list of resources, as in ``with_vocabulary``."""
        catalog = _public(self.resources, resources, "list of resources")
        codes = _recoded(self.resources, catalog, self.resource, outside)
        mask = codes >= 0
        whole = self._copy()
        whole.resources_are_public = True
        columns = (self.user[mask], codes[mask], self.tag[mask])
        return whole._part(catalog, self.tags, *columns, cut=_cut(self.resources, catalog, outside))

    def _part(
        self, resources: IdMap, tags: IdMap, user: Codes, resource: Codes, tag: Codes, *, cut: Cut | None
    ) -> TagAssignments:
        """Some triples; users without any go, tags and resources go only where their list is not public."""
        users, user = compact(self.users, user)
        if not self.resources_are_public:
            resources, resource = compact(resources, resource)
        if not self.vocabulary_is_public:
            tags, tag = compact(tags, tag)
        part = self._copy()
        part._set_columns(users, resources, tags, user, resource, tag)
        if cut is not None:
            part.lineage = cut_from(self, cut)
        return part

    def _copy(self) -> TagAssignments:
        """A shallow copy without the cached views."""
        twin = object.__new__(TagAssignments)
        cached = {name for name, value in vars(TagAssignments).items() if isinstance(value, cached_property)}
        twin.__dict__.update({name: value for name, value in self.__dict__.items() if name not in cached})
        return twin


def _public(seen: IdMap, given: Any, what: str) -> IdMap:
    """A list that the caller declares public."""
    if isinstance(given, str):
        if given != "observed":
            raise UsageError(f"a {what} cannot be {given!r}.", remedy='Give the ids, or "observed".')
        return seen
    try:
        listed = given if isinstance(given, IdMap) else IdMap(given, what=seen.what)
    except TypeError:
        raise UsageError(
            f"a {what} cannot be read from {type(given).__name__}.", remedy='Give the ids, or "observed".'
        ) from None
    kinds = {type(one) for one in listed.series} if listed.series.dtype == pl.Object else set()
    # Numbers and text are written in each other's form: which form the data have may follow from a single record.
    if len(kinds) > 1 or kinds & {bool, float}:
        raise UsageError(
            f"this {what} has entries of the type{'s' if len(kinds) > 1 else ''} "
            f"{', '.join(sorted(kind.__name__ for kind in kinds))}.",
            remedy="Give all of them as text, or all as whole numbers.",
        )
    return listed


def _recoded(old: IdMap, new: IdMap, codes: Codes, outside: Outside) -> Codes:
    """Codes of the same ids in another map; −1 for those to drop."""
    if outside not in ("error", "drop"):
        raise UsageError(f"outside={outside!r}?", remedy="Choose 'error' or 'drop'.")
    code_of = recognized(new, old.series)
    recoded = code_of[codes]
    if outside == "error" and recoded.size and recoded.min() < 0:
        culprit = old.decode([codes[int(np.argmax(recoded < 0))]])[0]
        raise DataError(
            f"the {old.what} {culprit!r} occurs, but it is not on the public list.",
            value=culprit,
            remedy="Complete the list, or choose outside='drop'.",
        )
    if outside == "error":
        _refuse_merging(old, new, np.unique(codes), code_of)
    return recoded


def _cut(old: IdMap, new: IdMap, outside: Outside) -> Cut | None:
    """How the triples are cut where ids become those of a public list; None if they stay what they are."""
    if outside == "drop":
        return "records"
    return None if new.series.dtype == old.series.dtype else "rewritten"


def _refuse_merging(old: IdMap, new: IdMap, seen: NDArray[np.integer[Any]], code_of: Codes) -> None:
    """1 and "1" are one entry of a list. Nobody's triples may run together where none may be left out."""
    many = np.bincount(code_of[seen], minlength=len(new))
    if (many > 1).any():
        twice = int(np.argmax(many > 1))
        both = old.decode(seen[code_of[seen] == twice])
        raise DataError(
            f"the {old.what}s {' and '.join(map(repr, both))} are the same entry of the public list.",
            value=both[0],
            remedy="Write them alike, or choose outside='drop'.",
        )
