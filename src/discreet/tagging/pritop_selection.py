"""Step 3 of PriTop: every tag of a list is replaced by one that is drawn from its topic."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.neighbors.selection.draws import uniforms
from discreet.tagging.pritop_options import Members
from discreet.tagging.pritop_topics import TopicCounts
from discreet.tagging.pritop_weights import RevisedLists

__all__ = ["SparseRows", "closeness", "list_law", "members_of", "replace", "selection_law", "sparse_rows"]

Integers = NDArray[np.int64]
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

SparseRows = tuple[Integers, Integers, Vector, Vector]
"""Starts, columns, values v and v·log₂ v of the cells above 0."""

CACHED_CELLS = 2**25
"""Weights are kept for so many pairs of tags at a time."""


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
    from discreet.tagging.pritop_kernels import weight_matrix

    n_tags, n_topics = topic_given_tag.shape
    return 1 + np.log(weight_matrix(np.arange(n_tags), *sparse_rows(topic_given_tag), n_topics, 1.0))


def selection_law(scores: Vector, epsilon: float) -> Vector:
    """Probability of each candidate, equation 4.3.12: proportional to exp(ε·q/8).

    Examples
    --------
    >>> selection_law(np.array([1.0, 0.5]), 1.0).round(4)
    array([0.5156, 0.4844])
    """
    weights = np.exp(epsilon * (scores - scores.max()) / 8)
    return weights / weights.sum()


def list_law(scores: Matrix, epsilon: float) -> dict[tuple[int, ...], float]:
    """Probability of each way to replace a list: Algorithm 5, one entry after the other, without replacement.

    Parameters
    ----------
    scores
        q of each candidate (column) for each entry of the list (row). Entries for which no candidate is left are not
        replaced: the outcome is shorter.

    Examples
    --------
    >>> law = list_law(np.array([[1.0, 0.5], [0.5, 1.0]]), 1.0)
    >>> {outcome: round(chance, 4) for outcome, chance in law.items()}
    {(0, 1): 0.5156, (1, 0): 0.4844}
    """
    law: dict[tuple[int, ...], float] = {(): 1.0}
    for row in scores:
        longer: dict[tuple[int, ...], float] = {}
        for outcome, chance in law.items():
            left = np.array([j for j in range(row.size) if j not in outcome], dtype=np.int64)
            if not left.size:
                longer[outcome] = chance
                continue
            for j, share in zip(left.tolist(), selection_law(row[left], epsilon).tolist(), strict=True):
                longer[(*outcome, j)] = chance * share
        law = longer
    return law


def members_of(counts: TopicCounts, members: Members) -> list[Integers]:
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
    from discreet.tagging.pritop_kernels import drawn_from_lists, drawn_from_topic

    chance = uniforms((lists.tag.size,))
    if candidates is None:
        return drawn_from_lists(lists.starts, lists.tag, *rows, n_topics, epsilon / 8, chance)
    slots = max(1, min(CACHED_CELLS // max(1, candidates.size), rows[0].size))
    return drawn_from_topic(lists.starts, lists.tag, candidates, *rows, n_topics, epsilon / 8, chance, slots)
