"""FolkRank (Hotho et al.; Jäschke et al. 2008), as the thesis of Zhu configures it (4.5.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.common.arrays import AnyFloats, Codes, Integers
from discreet.data.tags import TagAssignments
from discreet.errors import UsageError
from discreet.tagging.recommenders.base import OwnTriples, TagRecommender

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["FolkRank", "folk_graph"]

QUERIES_AT_ONCE = 32
"""Queries that are spread together: enough to read the graph seldom, few enough to stay near the processor."""

Weight = np.float32  # half the memory to read is half the time; the seventh digit of a weight decides nothing


@dataclass
class FolkRank(TagRecommender):
    """Tags that weight flows to when it starts from a user and a resource.

    Users, resources and tags are the nodes of one graph without directions. The edge between a user and a tag weighs
    as many resources as the user gave that tag; that between a resource and a tag, as many users as gave it; that
    between a user and a resource, as many tags. Weight moves along the edges of a node in proportion to theirs:
    ``w ← λ·A·w + (1 − λ)·p``, where all nodes have preference 1, but the user who asks ``1 + |U|`` and the resource
    ``1 + |R|``.

    Parameters
    ----------
    damping
        The λ above: how much of the weight flows on, where the rest returns to the preferred nodes.
    iterations
        How often weight is moved.
    differential
        Rank by the difference that the preference makes: weights with it less weights without it, which only know
        what is popular. Otherwise rank by the weights with it.

    Attributes
    ----------
    graph_ : csr_array
        Weights of the edges; users first, then resources, then tags.

    Privacy
    -------
    None of its own: weights are functions of the triples. Fitted on a release, it is post-processing of that release;
    with ``own=`` it also reads the triples of the person who asks, for that person's tags and nothing else.

    Notes
    -----
    Both runs of the difference are linear in the preference and begin at it, so the difference of the weights is the
    run with the difference of the preferences: ``|U|`` at the user, ``|R|`` at the resource, 0 elsewhere. One
    run in place of two, and the ranks are the same.

    Weight is moved ``iterations`` times, even if it has settled: queries are computed together, and a rule that stops
    when all have settled would let the triples of one person who asks change another's weights.

    A query of which the model knows neither the user nor the resource is answered by the weights without preference.
    The thesis says nothing of ties; they go by the order of the tags.

    References
    ----------
    R. Jäschke, L. Marinho, A. Hotho, L. Schmidt-Thieme and G. Stumme, "Tag recommendations in social bookmarking
    systems", AI Communications 21 (2008). T. Zhu, thesis (2014), equation 4.2.1 and section 4.5.3.

    Examples
    --------
    >>> triples = [("ann", "blue", "jazz"), ("ann", "kind", "jazz"), ("bob", "blue", "cool"), ("eve", "hits", "pop")]
    >>> model = FolkRank().fit(TagAssignments(triples))
    >>> model.recommend([("ann", "blue"), ("eve", "hits")], n=2)["tag"].to_list()
    ['jazz', 'cool', 'pop', 'cool']
    """

    name: ClassVar[str] = "folk-rank"

    damping: float = 0.7
    iterations: int = 10
    differential: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.damping <= 1:
            raise UsageError(f"damping = {self.damping!r} is not a share.", remedy="Give a number from 0 to 1.")
        if isinstance(self.iterations, bool) or not isinstance(self.iterations, int) or self.iterations < 1:
            raise UsageError(f"iterations must be a whole number, at least 1, got {self.iterations!r}.")

    def _fit(self, data: TagAssignments) -> None:
        self.graph_ = folk_graph(data)
        self._data = data

    def _score(self, users: Codes, resources: Codes, own: OwnTriples | None = None) -> AnyFloats:
        n_tags = self._data.n_tags if own is None else own.n_tags
        scores, graph = np.empty((users.size, n_tags), dtype=Weight), self._with_room(own)
        for begin in range(0, users.size, QUERIES_AT_ONCE):
            end = min(begin + QUERIES_AT_ONCE, users.size)
            some = None if own is None else own.part(begin, end)
            weights = self._spread(graph, users[begin:end], resources[begin:end], some)
            scores[begin:end] = weights[weights.shape[0] - n_tags :].T
        return scores

    def _with_room(self, own: OwnTriples | None) -> csr_array:
        """The graph with nodes for what the people who ask bring along.

        Users come first, then one place for a stranger (each query has a column of its own), resources, tags.
        """
        from scipy.sparse import csr_array

        data = self._data
        known = (data.n_users, data.n_resources, data.n_tags)
        wanted = (data.n_users + 1, *(known[1:] if own is None else (own.n_resources, own.n_tags)))
        first, size = np.cumsum([0, *wanted[:2]]), sum(wanted)
        node = np.concatenate([start + np.arange(number) for start, number in zip(first, known, strict=True)])
        starts = np.zeros(size + 1, dtype=self.graph_.indptr.dtype)
        starts[node + 1] = np.diff(self.graph_.indptr)
        columns = node.astype(self.graph_.indices.dtype)[self.graph_.indices]
        return csr_array((self.graph_.data, columns, np.cumsum(starts, dtype=starts.dtype)), shape=(size, size))

    def _spread(self, graph: csr_array, users: Codes, resources: Codes, own: OwnTriples | None) -> AnyFloats:
        """Weights of all nodes after the last iteration; one column a query."""
        degree = np.asarray(graph.sum(axis=1), dtype=Weight)[:, np.newaxis]
        asking, changes = users.astype(np.int64), None
        if own is not None and own.tag.size:
            asking[(users < 0) & (np.diff(own.starts) > 0)] = self._data.n_users
            changes = self._changes(users, asking, own)
            degree = degree + np.asarray(changes.sum(axis=1)).reshape(len(degree), users.size)
        share = np.divide(Weight(1), degree, out=np.zeros_like(degree), where=degree > 0)
        weights = preference = self._preference(asking, resources, len(degree))
        for _ in range(self.iterations):
            sent = weights * share
            weights = Weight(1 - self.damping) * preference
            weights += Weight(self.damping) * (graph @ sent)
            if changes is not None:
                weights += Weight(self.damping) * (changes @ sent.ravel()).reshape(sent.shape)
        return weights

    def _preference(self, asking: Integers, resources: Codes, size: int) -> AnyFloats:
        """Where weight comes from; one column a query."""
        lost = (asking < 0) & (resources < 0)
        preference = np.zeros((size, asking.size), dtype=Weight)
        preference[:] = np.where(lost, 1.0, 0.0 if self.differential else 1.0)
        known, asked = np.flatnonzero(asking >= 0), np.flatnonzero(resources >= 0)
        # Counted among what was learned: what others who ask bring along is none of this query's business.
        # A release without triples has no users and no resources; the triples of the person who asks still count.
        preference[asking[known], known] += max(self._data.n_users, 1)
        preference[self._data.n_users + 1 + resources[asked], asked] += max(self._data.n_resources, 1)
        return preference

    def _changes(self, users: Codes, asking: Integers, own: OwnTriples) -> csr_array:
        """How the graph of each query differs from the common one: the user's own triples for those of the release.

        A node of a query is numbered ``node · queries + query``.
        """
        from scipy.sparse import coo_array

        data = self._data
        resource_node, tag_node = data.n_users + 1, data.n_users + 1 + own.n_resources
        query, place = _released(data, users, own)
        user = np.concatenate([asking[own.query], users[query]])
        resource = resource_node + np.concatenate([own.resource, data.resource[place]])
        tag = tag_node + np.concatenate([own.tag, data.tag[place]])
        weight = np.repeat(np.array([1, -1], dtype=Weight), [own.tag.size, place.size])
        query = np.concatenate([own.query, query])
        ends = [(user, resource), (user, tag), (resource, tag)]
        into = np.concatenate([end for pair in ends for end in pair]) * users.size + np.tile(query, 6)
        out_of = np.concatenate([end for pair in ends for end in pair[::-1]]) * users.size + np.tile(query, 6)
        size = (tag_node + own.n_tags) * users.size
        # What a user's own triples and the release have in common adds up to 0.
        return coo_array((np.tile(weight, 6), (into, out_of)), shape=(size, size)).tocsr()


def _released(data: TagAssignments, users: Codes, own: OwnTriples) -> tuple[Integers, Integers]:
    """Query and place in the data of each triple that a user's own ones replace."""
    known = (users >= 0) & (np.diff(own.starts) > 0)
    user = np.where(known, users, -1)
    first = data.user_starts[user]
    sizes = np.where(known, data.user_starts[user + 1] - first, 0)
    before = np.cumsum(sizes) - sizes
    query = np.repeat(np.arange(users.size), sizes)
    return query, np.arange(query.size) + (first - before)[query]


def folk_graph(data: TagAssignments) -> csr_array:
    """The weights of the edges between users, resources and tags."""
    from scipy.sparse import coo_array

    size = data.n_users + data.n_resources + data.n_tags
    user = data.user.astype(np.int64)
    resource = data.n_users + data.resource.astype(np.int64)
    tag = data.n_users + data.n_resources + data.tag.astype(np.int64)
    one = np.concatenate([user, user, resource])
    other = np.concatenate([resource, tag, tag])
    both = (np.concatenate([one, other]), np.concatenate([other, one]))
    return coo_array((np.ones(both[0].size, dtype=Weight), both), shape=(size, size)).tocsr()
