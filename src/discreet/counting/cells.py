"""Cells: what is counted, an item in a context; and what one user can change about the counts of all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.counting.contexts import Context, contexts_of
from discreet.data.interactions import Interactions
from discreet.privacy.bounding import BoundedSums, require_catalog
from discreet.privacy.units import Unit

__all__ = ["Cells", "Level"]

Level = Literal["items", "edges"]


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
    """

    user: NDArray[np.int32]
    item: NDArray[np.int32]
    place: NDArray[np.int32]
    n_users: int
    n_items: int
    contexts: tuple[Context, ...]
    may_repeat: bool

    @classmethod
    def of(cls, data: Interactions, contexts: Sequence[Context | str] = ()) -> Cells:
        """Records of which every context has one of its public values; the others are left out."""
        require_catalog(data, "item counts")
        declared = contexts_of(contexts, data)
        place = np.zeros(len(data), dtype=np.int32)
        known = np.ones(len(data), dtype=bool)
        for context in declared:
            codes = context.codes(data)
            known &= codes >= 0
            place *= len(context.values)
            place += codes
        user, item = data.user, data.item
        if not known.all():
            user, item, place = user[known], item[known], place[known]
        return cls(user, item, place, data.n_users, data.n_items, declared, data.may_repeat)

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
        return Cells(
            self.user[mask],
            self.item[mask],
            self.place[mask],
            self.n_users,
            self.n_items,
            self.contexts,
            self.may_repeat,
        )

    def size(self, level: Level) -> int:
        """How many counts there are."""
        return self.n_items * (self.n_places if level == "edges" else 1)

    def cell(self, level: Level) -> NDArray[np.integer]:
        """The count that each record belongs to."""
        if level == "items" or self.n_places == 1:
            return self.item
        return self.item.astype(np.int64) * self.n_places + self.place

    def totals(self, level: Level, weight: NDArray[np.integer] | None = None) -> NDArray[np.int64]:
        """Sums of whole weights (1 unless given) over the records of each cell.

        bincount adds in float64: exact below 2⁵³, which 2³¹ records of at most 2²¹ steps keep to.
        """
        sums = np.bincount(self.cell(level), weights=weight, minlength=self.size(level))
        return sums.astype(np.int64, copy=False)

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
