"""The triples of the people who ask, as they stand on their own side."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.id_forms import recognized, written
from discreet.data.ids import Codes, IdMap
from discreet.data.tags import TagAssignments

__all__ = ["ExtendedIds", "OwnTriples", "own_triples"]


@dataclass(frozen=True, eq=False)
class OwnTriples:
    """What the people who ask have tagged themselves, known on their side only.

    Attributes
    ----------
    starts
        The triples of query ``q`` are those from ``starts[q]`` to ``starts[q + 1]``.
    resource, tag
        Codes of each triple. From ``len(resources_)`` and ``len(tags_)`` on, they stand for resources and tags that
        the model has never seen.
    n_resources, n_tags
        How many resources and tags there are, those of the model and the new ones together.
    """

    starts: NDArray[np.int64]
    resource: NDArray[np.int64]
    tag: NDArray[np.int64]
    n_resources: int
    n_tags: int

    @property
    def query(self) -> NDArray[np.int64]:
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

    def places(self, ids: Iterable[Hashable] | pl.Series) -> NDArray[np.int64]:
        """Where ids stand; −1 for those that are not there, or have no form in this type."""
        codes, new = recognized(self.known, ids).astype(np.int64), recognized(self.new, ids)
        return np.where((codes < 0) & (new >= 0), len(self.known) + new, codes)


def own_triples(
    own: TagAssignments, tags: IdMap, resources: IdMap, askers: list[Any], asked: list[Any]
) -> tuple[list[Any], Codes, OwnTriples]:
    """All tags, codes of the resources that are asked about, and each query's triples, with room for what is new.

    Parameters
    ----------
    tags, resources
        What the model knows.
    askers, asked
        User and resource of each query.
    """
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
