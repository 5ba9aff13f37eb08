"""The interface that every recommender of tags has: fit, recommend.

The public methods check, translate ids and shape the result; a model computes on codes in ``_fit`` and ``_score``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from discreet.common.arrays import AnyFloats, Codes, Floats, Integers
from discreet.data.id_forms import recognized, written
from discreet.data.ids import IdMap
from discreet.data.tags import TagAssignments
from discreet.errors import DataError, ReleaseError, UsageError
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.method import Reads
from discreet.privacy.release import Release
from discreet.tagging.tag_method import ASSIGNMENTS

__all__ = ["ExtendedIds", "OwnTriples", "TagRecommender", "beside_own_triples", "own_triples"]

SCORES_AT_ONCE = 4_000_000
"""Scores are computed for this number of queries × tags at a time."""


class TagRecommender(ABC):
    """What all recommenders of tags share.

    Attributes
    ----------
    users_, resources_, tags_ : IdMap
        The users, resources and tags that the model knows.
    guarantee_ : Guarantee or None
        The guarantee about the triples that it learned from; None for a model without privacy.
    """

    name: ClassVar[str]
    reads: ClassVar[Reads] = "records"

    users_: IdMap
    resources_: IdMap
    tags_: IdMap
    guarantee_: Guarantee | None

    def fit(self, data: TagAssignments) -> Self:
        """Learn from triples: raw ones (then nobody is protected), or those of a release."""
        if not isinstance(data, TagAssignments):
            raise UsageError(
                f"a recommender of tags learns from TagAssignments, not from {type(data).__name__}.",
                remedy='Wrap your table: TagAssignments(table, user="…", resource="…", tag="…").',
            )
        if len(data) == 0:
            raise DataError("there are no triples to learn from.")
        return self._learn(data)

    def fit_release(self, release: Release) -> Self:
        """Learn from released triples: post-processing, so the guarantee is that of the release.

        Whoever asks with ``own=`` gets lists that read their own triples, too: to them, and to nobody else, the
        guarantee does not apply (it is *joint*). A release without any triple knows nothing, and what it is asked is
        answered from own triples alone.
        """
        if not isinstance(release, Release) or release.kind != ASSIGNMENTS:
            kind = release.kind if isinstance(release, Release) else type(release).__name__
            raise ReleaseError(f"{kind!r} is no release of triples.", remedy="Use recommender(release).")
        self._learn(TagAssignments(release.table("assignments"), name=release.dataset))
        self.guarantee_ = beside_own_triples(release.guarantee)
        return self

    def _learn(self, data: TagAssignments) -> Self:
        # First: if learning is interrupted, the earlier guarantee no longer holds.
        self.guarantee_ = None
        self._fit(data)
        self.users_, self.resources_, self.tags_ = data.users, data.resources, data.tags
        return self

    @property
    def guarantee(self) -> Guarantee | None:
        """The guarantee; None for a model without privacy."""
        self._require_fitted()
        return self.guarantee_

    def recommend(
        self, queries: Iterable[tuple[Hashable, Hashable]], n: int = 10, *, own: TagAssignments | None = None
    ) -> pl.DataFrame:
        """The best ``n`` tags for each user who is about to tag a resource.

        Parameters
        ----------
        queries
            Pairs (user, resource). A model makes the best of those that it does not know.
        n
            How many; fewer only where there are fewer tags.
        own
            What the people who ask have tagged, as it stands on their own side. A query is answered with the triples
            of its own user and with no others. Where they are given, they replace what the model has learned
            about that user. Ids are written in the type of the model's, each by itself; a triple of which one has no
            such form is left out.

        Returns
        -------
        polars.DataFrame
            user_id, resource_id, tag, score, rank (from 1); queries in the order asked.
        """
        self._require_fitted()
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise UsageError(f"n must be a whole number from 1, got {n!r}.")
        asked = [_query(query) for query in queries]
        user_ids, resource_ids = [user for user, _ in asked], [resource for _, resource in asked]
        users, resources = recognized(self.users_, user_ids), recognized(self.resources_, resource_ids)
        tags, triples = self.tags_.ids(), None
        if own is not None:
            if not isinstance(own, TagAssignments):
                raise UsageError(f"own= holds TagAssignments, not {type(own).__name__}.")
            tags, resources, triples = own_triples(own, self.tags_, self.resources_, user_ids, resource_ids)
        query, tag, score, rank = self._best(users, resources, triples, n)
        return pl.DataFrame(
            {
                "user_id": _chosen(user_ids, query, "user"),
                "resource_id": _chosen(resource_ids, query, "resource"),
                "tag": _chosen(tags, tag, "tag"),
                "score": score,
                "rank": rank,
            }
        )

    # What a model fills in

    @abstractmethod
    def _fit(self, data: TagAssignments) -> None:
        """Learn."""

    @abstractmethod
    def _score(self, users: Codes, resources: Codes, own: OwnTriples | None = None) -> AnyFloats:
        """Scores of all tags for each query, larger is better; −inf for a tag not to be shown.

        A user or resource that the model does not know has the code −1; a resource that only ``own`` knows has one
        from ``len(resources_)`` on. There is one column a tag: ``own.n_tags`` of them where ``own`` is given,
        ``len(tags_)`` otherwise.
        """

    # Helpers

    def _require_fitted(self) -> None:
        if not hasattr(self, "tags_"):
            raise UsageError(f"this {type(self).__name__} has not been fitted.", remedy="Call fit(data) first.")

    def _best(
        self, users: Codes, resources: Codes, own: OwnTriples | None, n: int
    ) -> tuple[Integers, Integers, Floats, Integers]:
        """Query, tag, score and rank of the best ``n`` tags of each query; equal ones in the order of the tags."""
        n_tags = len(self.tags_) if own is None else own.n_tags
        step = max(1, SCORES_AT_ONCE // max(1, n_tags))
        parts = []
        for begin in range(0, users.size, step):
            end = min(begin + step, users.size)
            some = None if own is None else own.part(begin, end)
            scores = self._score(users[begin:end], resources[begin:end], some)
            assert scores.shape == (end - begin, n_tags)
            if some is not None:
                _hide_words_of_others(scores, some, len(self.tags_))
            parts.append(_ranked(scores, n, first_query=begin))
        if not parts:
            nothing = np.empty(0, dtype=np.int64)
            return nothing, nothing, np.empty(0), nothing
        query, tag, score, rank = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return query, tag, score, rank


def beside_own_triples(guarantee: Guarantee) -> Guarantee:
    """The guarantee of a release that is read together with the triples of the person who asks: it holds against all
    others together (``docs/proofs/tagging.md``, Theorem 7).
    """
    own = "what a person sees in their own recommendations"
    return replace(guarantee, joint=True, not_covered=(*guarantee.not_covered, own))


def _query(query: Any) -> tuple[Any, Any]:
    if not isinstance(query, tuple | list) or len(query) != 2:
        raise UsageError(f"{query!r} is not a (user, resource) pair.")
    return query[0], query[1]


def _hide_words_of_others(scores: AnyFloats, own: OwnTriples, n_known: int) -> None:
    """A tag that the model has never seen is shown to those who brought it and to nobody else."""
    hidden = np.ones((scores.shape[0], own.n_tags - n_known), dtype=bool)
    new = own.tag >= n_known
    hidden[own.query[new], own.tag[new] - n_known] = False
    scores[:, n_known:][hidden] = -np.inf


def _chosen(ids: list[Any], rows: Integers, what: str) -> pl.Series:
    """``ids[row]`` for each row, whatever the ids are."""
    map_ = IdMap(ids, what=what)
    return map_.take(map_.encode(ids)[rows])


def _ranked(scores: AnyFloats, n: int, *, first_query: int) -> tuple[Integers, Integers, Floats, Integers]:
    """The ``n`` largest finite scores of each row, best first; equal ones stand in the order of the columns."""
    n = min(n, scores.shape[1])
    if not n:
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing, np.empty(0), nothing
    # What is clearly below the n-th need not be sorted; what equals it is, so that ties go by column.
    least = -np.partition(-scores, n - 1, axis=1)[:, n - 1, None]
    row, column = np.nonzero((scores >= least) & np.isfinite(scores))
    value = scores[row, column].astype(np.float64)
    order = np.lexsort((column, -value, row))
    row, column, value = row[order], column[order], value[order]
    rank = np.arange(row.size) - np.searchsorted(row, row) + 1
    keep = rank <= n
    return row[keep] + first_query, column[keep], value[keep], rank[keep]


@dataclass(frozen=True, eq=False)
class OwnTriples:
    """What the people who ask have tagged themselves, known on their side only.

    The triples of query ``q`` are those from ``starts[q]`` to ``starts[q + 1]``. Codes from ``len(resources_)`` and
    ``len(tags_)`` on stand for resources and tags that the model has never seen; both kinds are counted in
    ``n_resources`` and ``n_tags``.
    """

    starts: Integers
    resource: Integers
    tag: Integers
    n_resources: int
    n_tags: int

    @property
    def query(self) -> Integers:
        """The query that each triple belongs to."""
        return np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))

    def part(self, begin: int, end: int) -> OwnTriples:
        """The triples of some consecutive queries."""
        first, last = int(self.starts[begin]), int(self.starts[end])
        return OwnTriples(
            self.starts[begin : end + 1] - first,
            self.resource[first:last],
            self.tag[first:last],
            self.n_resources,
            self.n_tags,
        )


@dataclass(frozen=True, eq=False)
class ExtendedIds:
    """Ids that a model knows, followed by those that the people who ask bring along.

    All have the model's type, whoever else asks: it is the type of the answer.
    """

    known: IdMap
    new: IdMap

    @classmethod
    def of(cls, known: IdMap, more: IdMap) -> ExtendedIds:
        unknown = more.take(np.flatnonzero(recognized(known, more.series) < 0))
        dtype = known.series.dtype
        if dtype != pl.Object:
            unknown = pl.Series(written(unknown, dtype), dtype=dtype).drop_nulls()
        return cls(known, IdMap(unknown, what=known.what))

    def __len__(self) -> int:
        return len(self.known) + len(self.new)

    def ids(self) -> list[Any]:
        return [*self.known.ids(), *self.new.ids()]

    def places(self, ids: Iterable[Hashable] | pl.Series) -> Integers:
        """Where ids stand; −1 for those that are not there, or have no form in this type."""
        codes, new = recognized(self.known, ids).astype(np.int64), recognized(self.new, ids)
        return np.where((codes < 0) & (new >= 0), len(self.known) + new, codes)


def own_triples(
    own: TagAssignments, tags: IdMap, resources: IdMap, askers: list[Any], asked: list[Any]
) -> tuple[list[Any], Codes, OwnTriples]:
    """All tags, codes of the resources that are asked about, and each query's triples, with room for what is new."""
    words, things = ExtendedIds.of(tags, own.tags), ExtendedIds.of(resources, own.resources)
    asker = recognized(own.users, askers)
    first, last = own.user_starts[asker], own.user_starts[asker + 1]
    sizes = np.where(asker < 0, 0, last - first)
    query = np.repeat(np.arange(asker.size), sizes)
    place = np.arange(query.size) - (np.cumsum(sizes) - sizes - first)[query]
    resource = things.places(own.resources.series)[own.resource[place]]
    tag = words.places(own.tags.series)[own.tag[place]]
    kept = (resource >= 0) & (tag >= 0)
    starts = np.append(0, np.cumsum(np.bincount(query[kept], minlength=asker.size)))
    triples = OwnTriples(starts, resource[kept], tag[kept], len(things), len(words))
    codes = things.places(asked)
    # A resource that only others have tagged is as unknown as any.
    new = np.flatnonzero(codes >= len(resources))
    brought = np.isin(new * len(things) + codes[new], triples.query * len(things) + triples.resource)
    codes[new[~brought]] = -1
    return words.ids(), codes.astype(np.int32), triples
