"""FolkRank (Hotho et al.; Jäschke et al. 2008), as the thesis of Zhu configures it (4.5.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.data.ids import Codes
from discreet.data.tags import TagAssignments
from discreet.errors import UsageError
from discreet.tagging.recommenders.base import TagRecommender
from discreet.tagging.recommenders.folk_graph import Changes, Nodes, Weight, folk_graph
from discreet.tagging.recommenders.own_triples import OwnTriples

__all__ = ["FolkRank"]

Floats = NDArray[np.floating]

QUERIES_AT_ONCE = 32
"""Queries that are spread together: enough to read the graph seldom, few enough to stay near the processor."""


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
