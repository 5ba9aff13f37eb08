"""Cells: what is counted, an item in a context."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.counting.contexts import Context, contexts_of
from discreet.data.interactions import Interactions
from discreet.privacy.bounding import BoundedSums, require_catalog
from discreet.privacy.choosing import Key, id_words, keyed_words, numbered
from discreet.privacy.units import Unit

__all__ = ["Cells", "Level"]

Level = Literal["items", "edges"]

BLOCK = 2**16


@dataclass(frozen=True)
class Cells:
    """Records as users, items and places among the values of the contexts; sorted by user.

    Parameters
    ----------
    user, item, place
        Codes of each record; ``place`` counts through all combinations of the values of the contexts.
    n_users, n_items
        Users are secret in number; items are the public catalog.
    contexts
        Public.
    may_repeat
        Whether a user may have several records of one item; public policy.
    people
        A word for each user that follows from the user's id alone; from the codes where there are no ids.
    """

    user: NDArray[np.int32]
    item: NDArray[np.int32]
    place: NDArray[np.int32]
    n_users: int
    n_items: int
    contexts: tuple[Context, ...]
    may_repeat: bool
    people: NDArray[np.uint64] | None = None

    @classmethod
    def of(cls, data: Interactions, contexts: Sequence[Context | str] = ()) -> Cells:
        """Records of which every context has one of its public values; the others are left out."""
        require_catalog(data, "item counts")
        declared = contexts_of(contexts, data)
        place = np.zeros(len(data), dtype=np.int32)
        unknown = np.zeros(len(data), dtype=bool)
        for context in declared:
            codes = context.codes(data)
            place *= len(context.values)
            place += codes
            if codes.size and codes.min() < 0:
                unknown |= codes < 0
        user, item = data.user, data.item
        if unknown.any():
            user, item, place = user[~unknown], item[~unknown], place[~unknown]
        return cls(user, item, place, data.n_users, data.n_items, declared, data.may_repeat, id_words(data.users))

    @property
    def n_places(self) -> int:
        """How many combinations of values the contexts have; 1 without contexts."""
        return math.prod(len(context.values) for context in self.contexts)

    @property
    def one_place_each(self) -> bool:
        """Whether all records of a user have one place: contexts that are facts about users."""
        return all(context.of_user for context in self.contexts)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Records of user u are those from ``starts[u]`` to ``starts[u + 1]``."""
        return np.searchsorted(self.user, np.arange(self.n_users + 1, dtype=np.int32)).astype(np.int64)

    @cached_property
    def records_per_user(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    def keep(self, mask: NDArray[np.bool_]) -> Cells:
        """The records under a mask that was made for each user alone."""
        chosen = np.flatnonzero(mask)
        return replace(self, user=self.user[chosen], item=self.item[chosen], place=self.place[chosen])

    def words(self, rows: NDArray[np.integer], key: Key) -> NDArray[np.uint64]:
        """A keyed hash of person, record and occurrence for all records of some users (``privacy.choosing``)."""
        user = self.user[rows]
        people = np.arange(self.n_users, dtype=np.uint64) if self.people is None else self.people
        # Items and places are public, and records of one user that agree in both count alike.
        cell = self.item[rows].astype(np.uint64) * np.uint64(self.n_places) + self.place[rows].astype(np.uint64)
        words = keyed_words(key, [people[user], cell])
        return numbered(user, words) if self.may_repeat else words

    def size(self, level: Level) -> int:
        """How many counts there are."""
        return self.n_items * (self.n_places if level == "edges" else 1)

    def cell(self, level: Level) -> NDArray[np.integer]:
        """The count that each record belongs to."""
        if level == "items" or self.n_places == 1:
            return self.item
        return self._cells(slice(None))

    def totals(
        self,
        level: Level,
        weight: NDArray[np.integer] | None = None,
        *,
        user_weight: NDArray[np.integer] | None = None,
    ) -> NDArray[np.int64]:
        """Sums of whole weights over the records of each cell: one for each record, or one for each user; else 1."""
        sums = np.zeros(self.size(level), dtype=np.int64)
        # In blocks: what is made on the way stays in the processor's cache, however many records there are.
        for start in range(0, self.item.size, BLOCK):
            block = slice(start, start + BLOCK)
            cell = self._cells(block) if level == "edges" else self.item[block].astype(np.intp)
            if user_weight is not None:
                added = user_weight[self.user[block]]
            else:
                added = np.ones(1, dtype=np.int64) if weight is None else weight[block]
            # In the type of the sums: numpy is twenty times slower at adding numbers of another one.
            np.add.at(sums, cell, added.astype(np.int64, copy=False))
        return sums

    def _cells(self, block: slice) -> NDArray[np.intp]:
        """The edges that records belong to."""
        cell = self.item[block].astype(np.intp)
        cell *= self.n_places
        cell += self.place[block]
        return cell

    def counts(self, level: Level, cap: int, *, caps: tuple[str, ...]) -> BoundedSums:
        """Counts of records that were cut to at most ``cap`` of each user."""
        repeats = cap if self.may_repeat else 1
        full, rest = divmod(cap, repeats)
        return BoundedSums(
            values=self.totals(level),
            step=Fraction(1),
            l1=Fraction(cap),
            l2_squared=Fraction(full * repeats**2 + rest**2),
            linf=Fraction(repeats),
            nonnegative=True,
            unit=Unit("user"),
            caps=caps,
        )
