"""From rewritten lists of tags back to triples: which resources the new tags stand on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.tags import Posts, TagAssignments
from discreet.privacy.published_draws import uniforms
from discreet.tagging.pritop.topics import Profiles
from discreet.tagging.pritop.weights import RevisedLists

__all__ = ["Rewriting"]

Integers = NDArray[np.int64]
Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rewriting:
    """Triples after the rewriting, with what they were before.

    Attributes
    ----------
    user, resource, tag
        Codes of the new triples; some may be equal.
    topic
        The topic of the list that a tag comes from.
    old
        Which tag was replaced; −1 where the tag was added.
    """

    user: Integers
    resource: Integers
    tag: Integers
    topic: Integers
    old: Integers

    def __len__(self) -> int:
        return int(self.user.size)

    @classmethod
    def of_topic(
        cls,
        lists: RevisedLists,
        chosen: Integers,
        profiles: Profiles,
        posts: Posts,
        topic: int,
        *,
        resource_weights: Vector,
        links: str,
        inserted: str,
    ) -> Rewriting:
        """The triples of one topic.

        Parameters
        ----------
        lists, chosen
            The lists of all users, and what their tags are replaced by (−1 for nothing).
        resource_weights
            How often the tags of each resource were assigned to this topic; resources are drawn by it.
        links
            A new tag stands on the resources of the one it replaces ("kept"), or on as many others ("drawn").
        inserted
            A tag that was added stands on a resource of the user, all being equally likely ("own"), on one of the topic
            ("drawn"), or in no triple at all ("none").
        """
        owner = np.repeat(np.arange(lists.starts.size - 1), np.diff(lists.starts))
        added = np.flatnonzero((lists.origin < 0) & (chosen >= 0))
        kept = np.flatnonzero((lists.origin >= 0) & (chosen >= 0))
        entry, resource = _links_of(profiles, lists.origin[kept])
        kept = kept[entry]
        if links == "drawn":
            resource = _drawn(resource_weights, kept.size)
        if inserted == "own":
            theirs = _of_user(posts, owner[added])
        elif inserted == "drawn":
            theirs = _drawn(resource_weights, added.size)
        else:
            added, theirs = added[:0], np.empty(0, dtype=np.int64)
        place = np.concatenate([kept, added])
        return cls(
            user=owner[place],
            resource=np.concatenate([resource, theirs]),
            tag=chosen[place],
            topic=np.full(place.size, topic),
            old=np.where(lists.origin[place] >= 0, lists.tag[place], -1),
        )

    @classmethod
    def together(cls, parts: list[Rewriting]) -> Rewriting:
        """Several topics in one."""
        columns = ("user", "resource", "tag", "topic", "old")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in columns))

    def to_frame(self, data: TagAssignments) -> pl.DataFrame:
        """The distinct triples with the ids of ``data``: user_id, resource_id, tag."""
        codes = pl.DataFrame({"user": self.user, "resource": self.resource, "tag": self.tag})
        codes = codes.unique().sort("user", "resource", "tag")
        return pl.DataFrame(
            {
                "user_id": data.users.take(codes["user"].to_numpy()),
                "resource_id": data.resources.take(codes["resource"].to_numpy()),
                "tag": data.tags.take(codes["tag"].to_numpy()),
            }
        )


def _links_of(profiles: Profiles, entries: Integers) -> tuple[Integers, Integers]:
    """Every link of some entries: which of the entries it belongs to, and its resource."""
    first = profiles.link_starts[entries]
    sizes = profiles.link_starts[entries + 1] - first
    entry = np.repeat(np.arange(entries.size), sizes)
    rank = np.arange(entry.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return entry, profiles.link[first[entry] + rank]


def _of_user(posts: Posts, users: Integers) -> Integers:
    """A resource of each of these users, all of the user's being equally likely."""
    first = np.searchsorted(posts.user, users, side="left")
    last = np.searchsorted(posts.user, users, side="right")
    place = first + np.floor(uniforms((users.size,)) * (last - first)).astype(np.int64)
    return posts.resource[place].astype(np.int64)


def _drawn(weights: Vector, size: int) -> Integers:
    """This number of resources, with probability proportional to their weights; uniform where all weights are 0."""
    passed = np.cumsum(weights if weights.any() else np.ones(weights.size))
    place = np.searchsorted(passed, uniforms((size,)) * passed[-1], side="right")
    return np.minimum(place, weights.size - 1).astype(np.int64)
