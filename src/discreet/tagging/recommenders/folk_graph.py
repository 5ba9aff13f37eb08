"""The graph that FolkRank moves weight on, and what the person who asks changes about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.data.ids import Codes
from discreet.data.tags import TagAssignments
from discreet.tagging.recommenders.own_triples import OwnTriples

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Changes", "Nodes", "Weight", "folk_graph"]

Floats = NDArray[np.floating]
Integers = NDArray[np.int64]

Weight = np.float32  # half the memory to read is half the time; the seventh digit of a weight decides nothing


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
