"""FolkRank (Hotho et al.; Jäschke et al. 2008), as the thesis of Zhu configures it (4.5.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.data.ids import Codes
from discreet.data.tags import TagAssignments
from discreet.errors import UsageError
from discreet.tagging.recommenders.base import OwnTriples, TagRecommender

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Changes", "FolkRank", "Nodes", "Weight", "folk_graph"]


Floats = NDArray[np.floating]

QUERIES_AT_ONCE = 32
"""Queries that are spread together: enough to read the graph seldom, few enough to stay near the processor."""

Integers = NDArray[np.int64]

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
        self._degree = np.asarray(self.graph_.sum(axis=1), dtype=Weight)
        self._data = data

    def _score(self, users: Codes, resources: Codes, own: OwnTriples | None = None) -> Floats:
        nodes = Nodes.of(self._data, own)
        scores = np.empty((users.size, nodes.n_tags), dtype=Weight)
        for begin in range(0, users.size, QUERIES_AT_ONCE):
            end = min(begin + QUERIES_AT_ONCE, users.size)
            some = None if own is None else own.part(begin, end)
            asking, asked = users[begin:end], resources[begin:end]
            weights = self._spread(
                self._preference(nodes, asking, asked, some), Changes.of(self._data, nodes, asking, some)
            )
            scores[begin:end] = weights[nodes.tags].T
        return scores

    def _preference(self, nodes: Nodes, users: Codes, resources: Codes, own: OwnTriples | None) -> Floats:
        """Where weight comes from; one column a query."""
        asking = nodes.asking(users, own)
        lost = (asking < 0) & (resources < 0)
        preference = np.zeros((nodes.size, users.size), dtype=Weight)
        preference[:] = np.where(lost, 1.0, 0.0 if self.differential else 1.0)
        known, asked = np.flatnonzero(asking >= 0), np.flatnonzero(resources >= 0)
        # Counted among what was learned: what others who ask bring along is none of this query's business.
        # A release without triples has no users and no resources; the triples of the person who asks still count.
        preference[asking[known], known] += max(nodes.n_users, 1)
        preference[nodes.resource(resources[asked]), asked] += max(nodes.n_known_resources, 1)
        return preference

    def _spread(self, preference: Floats, changes: Changes | None) -> Floats:
        """Weights of all nodes after the last iteration; one column a query."""
        n_known = self._degree.size
        degree = np.zeros(preference.shape[0], dtype=Weight)
        degree[:n_known] = self._degree
        share = np.divide(Weight(1), degree, out=np.zeros_like(degree), where=degree > 0)[:, None]
        weights, returned = preference, Weight(1 - self.damping) * preference
        for _ in range(self.iterations):
            sent = weights * share
            if changes is not None:
                changes.correct(sent, weights, degree)
            moved = returned.copy()
            moved[:n_known] += Weight(self.damping) * (self.graph_ @ sent[:n_known])
            if changes is not None:
                changes.move(sent, moved, self.damping)
            weights = moved
        return weights


@dataclass(frozen=True)
class Nodes:
    """Where users, resources and tags stand: the known ones first, then a place for a stranger and what is new.

    One place for strangers is enough: each query has a column of its own.
    """

    n_users: int
    n_known_resources: int
    n_known_tags: int
    n_resources: int
    n_tags: int

    @classmethod
    def of(cls, data: TagAssignments, own: OwnTriples | None) -> Nodes:
        more = (data.n_resources, data.n_tags) if own is None else (own.n_resources, own.n_tags)
        return cls(data.n_users, data.n_resources, data.n_tags, *more)

    @property
    def n_known(self) -> int:
        return self.n_users + self.n_known_resources + self.n_known_tags

    @property
    def size(self) -> int:
        return self.n_users + 1 + self.n_resources + self.n_tags

    @property
    def tags(self) -> Integers:
        """The node of each tag."""
        return self.tag(np.arange(self.n_tags))

    def asking(self, users: Codes, own: OwnTriples | None) -> Integers:
        """The node of each query's user; −1 for one of whom nothing is known."""
        nodes = users.astype(np.int64)
        if own is not None:
            nodes[(users < 0) & (np.diff(own.starts) > 0)] = self.n_known
        return nodes

    def resource(self, codes: NDArray[np.integer]) -> Integers:
        known = self.n_users + codes.astype(np.int64)
        return np.where(codes < self.n_known_resources, known, self.n_known + 1 + codes - self.n_known_resources)

    def tag(self, codes: NDArray[np.integer]) -> Integers:
        known = self.n_users + self.n_known_resources + codes.astype(np.int64)
        new = self.n_known + 1 + self.n_resources - self.n_known_resources + codes - self.n_known_tags
        return np.where(codes < self.n_known_tags, known, new)


@dataclass(frozen=True)
class Changes:
    """How the graph of each query differs from the common one: the user's own triples for those of the release.

    Attributes
    ----------
    out_of, weight
        What is added to the edges out of a node; a node of a query is numbered ``node · queries + query``. Ordered by
        the node that an edge leads to.
    begins, targets
        Where the edges to each such node begin, and which node it is.
    degree
        By how much the degree of each target changes.
    """

    out_of: Integers
    weight: Floats
    begins: Integers
    targets: Integers
    degree: Floats

    @classmethod
    def of(cls, data: TagAssignments, nodes: Nodes, users: Codes, own: OwnTriples | None) -> Changes | None:
        """None where nothing changes."""
        if own is None or not own.tag.size:
            return None
        query, asking = own.query, nodes.asking(users, own)
        added = (query, asking[query], nodes.resource(own.resource), nodes.tag(own.tag))
        query, place = _released(data, users, own)
        removed = (query, users[query], nodes.resource(data.resource[place]), nodes.tag(data.tag[place]))
        query, user, resource, tag = (np.concatenate(both) for both in zip(added, removed, strict=True))
        sign = np.repeat([1.0, -1.0], [added[0].size, removed[0].size])
        ends = [(user, resource), (user, tag), (resource, tag)]
        into = np.concatenate([end for pair in ends for end in pair]) * users.size + np.tile(query, 6)
        out_of = np.concatenate([end for pair in ends for end in pair[::-1]])
        keys, inverse = np.unique(into * nodes.size + out_of, return_inverse=True)
        weight = np.bincount(inverse, weights=np.tile(sign, 6), minlength=keys.size).astype(Weight)
        # What a user's own triples and the release have in common is no change.
        keys, weight = keys[weight != 0], weight[weight != 0]
        if not keys.size:
            return None
        into, out_of = np.divmod(keys, nodes.size)
        targets, begins = np.unique(into, return_index=True)
        return cls(out_of * users.size + into % users.size, weight, begins, targets, np.add.reduceat(weight, begins))

    def correct(self, sent: Floats, weights: Floats, degree: Floats) -> None:
        """What nodes with another degree send along a unit of weight."""
        changed = degree[self.targets // sent.shape[1]] + self.degree
        held = weights.reshape(-1)[self.targets]
        sent.reshape(-1)[self.targets] = np.divide(held, changed, out=np.zeros_like(held), where=changed > 0)

    def move(self, sent: Floats, moved: Floats, damping: float) -> None:
        """Weight along the edges that are new, less that along those which are gone."""
        along = np.add.reduceat(self.weight * sent.reshape(-1)[self.out_of], self.begins)
        moved.reshape(-1)[self.targets] += damping * along


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
