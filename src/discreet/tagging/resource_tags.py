"""What released counts say about each resource, given to its posts: post-processing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.data.tags import TagAssignments
from discreet.tagging.exact_draws import uniform_below
from discreet.tagging.gram_topics import Topics

__all__ = ["ResourceLists", "channel_topics", "fill_posts"]

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ResourceLists:
    """The tags that resources are believed to have, and in how many posts.

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
            From which count on each tag of the head is believed.
        posts
            How many posts each resource has, which is public: no tag can be in more of them.
        """
        believed = np.where(counts >= least, counts, 0)
        best = np.argsort(-believed, axis=1, kind="stable")[:, :most]
        value = np.take_along_axis(believed, best, axis=1)
        row, place = np.nonzero(value > 0)
        resource = rows[row]
        return cls(resource, head[best[row, place]], np.minimum(value[row, place], posts[resource]))


def fill_posts(data: TagAssignments, lists: ResourceLists, said: Whole | None) -> tuple[Whole, Whole]:
    """A tag for the places of public posts: triples by their place, and the tag that each is given.

    A place of a resource with n places takes a tag of its list with probability count/n (all of them scaled down where
    they add up to more than 1). Otherwise it takes what was ``said`` of it, or stays out. From the data only the public
    posts are read.
    """
    places = np.bincount(data.resource, minlength=data.n_resources)
    total = np.bincount(lists.resource, weights=lists.count, minlength=data.n_resources)
    chance = lists.count / np.maximum(np.maximum(total, places), 1)[lists.resource]
    # All lists one after the other on one line, each resource from its own whole number on.
    running = np.cumsum(chance)
    starts = np.searchsorted(lists.resource, np.arange(data.n_resources + 1))
    before = np.append(0.0, running)[starts[:-1]]
    line = lists.resource + np.minimum(running - before[lists.resource], 1.0)
    drawn = uniform_below(np.full(len(data), 2**53)) * 2.0**-53
    found = np.searchsorted(line, data.resource + drawn, side="right")
    listed = found < starts[data.resource + 1]
    tag = np.full(len(data), -1, dtype=np.int64) if said is None else said.copy()
    tag[listed] = lists.tag[found[listed]]
    place = np.flatnonzero(tag >= 0)
    return place, tag[place]


def channel_topics(topics: Topics, head: Whole, n_tags: int) -> Whole:
    """The topic of every tag: for the head the most probable one, for all others one topic of what is rare."""
    topic_of = np.full(n_tags, topics.n_topics, dtype=np.int64)
    topic_of[head] = np.where(topics.known, topics.topic_of, topics.n_topics)
    return topic_of
