"""Step 3 of PriTop: every tag of a list is replaced by one that is drawn from its topic."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.published_draws import uniforms
from discreet.tagging.pritop.topics import TopicCounts
from discreet.tagging.pritop.weights import RevisedLists

__all__ = ["SparseRows", "closeness", "members_of", "replace", "sparse_rows"]

Integers = NDArray[np.int64]
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

SparseRows = tuple[Integers, Integers, Vector, Vector]
"""Starts, columns, values v and v·log₂ v of the cells above 0."""

CACHED_CELLS = 2**25
"""Weights are kept for this number of pairs of tags at a time."""


def sparse_rows(table: Matrix) -> SparseRows:
    """The cells above 0, row by row."""
    row, column = np.nonzero(table > 0)
    starts = np.searchsorted(row, np.arange(table.shape[0] + 1))
    value = np.ascontiguousarray(table[row, column])
    return starts.astype(np.int64), column.astype(np.int64), value, value * np.log2(value)


def closeness(topic_given_tag: Matrix) -> Matrix:
    """q of each pair of tags: 1 − JS of their topics, with logarithms of base 2 (equations 4.3.9 to 4.3.11).

    Examples
    --------
    >>> closeness(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])).round(4)
    array([[1.    , 0.    , 0.6887],
           [0.    , 1.    , 0.6887],
           [0.6887, 0.6887, 1.    ]])
    """
    from discreet.tagging.pritop.kernels import weight_matrix

    n_tags, n_topics = topic_given_tag.shape
    return 1 + np.log(weight_matrix(np.arange(n_tags), *sparse_rows(topic_given_tag), n_topics, 1.0))


def members_of(counts: TopicCounts, members: str) -> list[Integers]:
    """The tags of each topic.

    Parameters
    ----------
    members
        "assigned": tags of which at least one occurrence was assigned to the topic, so that a tag can be in several.
        "likeliest": tags that were assigned to it more often than to any other; each is in one topic.
    """
    if members == "assigned":
        return [np.flatnonzero(column > 0) for column in counts.tags.T]
    home = np.where(counts.tags.sum(axis=1) > 0, counts.tags.argmax(axis=1), -1)
    return [np.flatnonzero(home == topic) for topic in range(counts.n_topics)]


def replace(
    lists: RevisedLists, rows: SparseRows, *, n_topics: int, epsilon: float, candidates: Integers | None
) -> Integers:
    """What every tag of the lists is replaced by; −1 where no candidate is left.

    Parameters
    ----------
    rows
        Pr(z|t) of every tag.
    candidates
        The tags to choose from; None for those of the list itself, user by user.
    """
    from discreet.tagging.pritop.kernels import drawn_from_lists, drawn_from_topic

    chance = uniforms((lists.tag.size,))
    if candidates is None:
        return drawn_from_lists(lists.starts, lists.tag, *rows, n_topics, epsilon / 8, chance)
    slots = max(1, min(CACHED_CELLS // max(1, candidates.size), rows[0].size))
    return drawn_from_topic(lists.starts, lists.tag, candidates, *rows, n_topics, epsilon / 8, chance, slots)
