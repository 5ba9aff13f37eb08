"""What released counts say about each resource, given to its posts: post-processing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.data.ids import Codes, IdMap
from discreet.data.tags import TagAssignments
from discreet.tagging.synthetic_posts import uniforms

__all__ = ["PublicPosts", "ResourceLists", "fill_posts"]

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PublicPosts:
    """What is public where posts are: who tagged what and with how many tags, and the list of tags.

    Attributes
    ----------
    users, resources, tags
        The ids.
    user, resource
        One entry for each tag that was given: by whom and to what, and not which tag.
    posts
        How many posts each resource has.
    """

    users: IdMap
    resources: IdMap
    tags: IdMap
    user: Codes
    resource: Codes
    posts: Whole

    @classmethod
    def of(cls, data: TagAssignments) -> PublicPosts:
        """The public part of these triples."""
        posts = np.bincount(data.posts.resource, minlength=data.n_resources)
        return cls(data.users, data.resources, data.tags, data.user, data.resource, posts)

    @property
    def n_posts(self) -> int:
        return int(self.posts.sum())

    def with_posts(self, least: int) -> Whole:
        """Codes of the resources that have at least this number of posts."""
        return np.flatnonzero(self.posts >= least)


@dataclass(frozen=True, eq=False)
class ResourceLists:
    """The tags that each resource is given, and in how many posts.

    Attributes
    ----------
    resource, tag, count
        One entry each; sorted by resource, then by count, the largest first.
    """

    resource: Whole
    tag: Whole
    count: Whole

    @classmethod
    def of(cls, counts: Whole, rows: Whole, head: Whole, *, least: Whole, most: int, posts: Whole) -> ResourceLists:
        """From noisy counts of resources × head those that are large enough, for each resource the ``most`` largest.

        Parameters
        ----------
        rows, head
            Codes of the resources and of the tags.
        least
            From which count on each tag of the head is listed.
        posts
            How many posts each resource has, which is public: no tag can be in more of them.
        """
        listed = np.where(counts >= least, counts, 0)
        best = np.argsort(-listed, axis=1, kind="stable")[:, :most]
        value = np.take_along_axis(listed, best, axis=1)
        row, place = np.nonzero(value > 0)
        resource = rows[row]
        return cls(resource, head[best[row, place]], np.minimum(value[row, place], posts[resource]))


def fill_posts(public: PublicPosts, lists: ResourceLists) -> tuple[Whole, Whole]:
    """Tags for the places of public posts: places that are given a tag, and the tag of each.

    A place of a resource with n places takes a tag of its list with probability count/n (all of them scaled down where
    they add up to more than 1), and otherwise none.
    """
    n_resources = public.posts.size
    places = np.bincount(public.resource, minlength=n_resources)
    total = np.bincount(lists.resource, weights=lists.count, minlength=n_resources)
    chance = lists.count / np.maximum(np.maximum(total, places), 1)[lists.resource]
    # All lists one after the other on one line, each resource from its own whole number on.
    running = np.cumsum(chance)
    starts = np.searchsorted(lists.resource, np.arange(n_resources + 1))
    before = np.append(0.0, running)[starts[:-1]]
    line = lists.resource + np.minimum(running - before[lists.resource], 1.0)
    found = np.searchsorted(line, public.resource + uniforms(public.resource.size), side="right")
    place = np.flatnonzero(found < starts[public.resource + 1])
    return place, lists.tag[found[place]]
