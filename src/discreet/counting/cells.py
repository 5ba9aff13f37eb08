"""Cells: what is counted, an item in a context. The one place in which counting reads records and public lists."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, time
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal
from uuid import UUID

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.common.arrays import AnyIntegers, Codes, Integers, Mask
from discreet.common.remedies import PUBLIC_CATALOG
from discreet.data.contexts import TYPES_OF_TABLE, Context, contexts_of
from discreet.data.interactions import Interactions
from discreet.errors import PrivacyError, UsageError
from discreet.privacy import entropy
from discreet.privacy.bounding import BoundedSums, cap_records
from discreet.privacy.choosing import Key, id_words, keyed_words, numbered
from discreet.privacy.units import Unit
from discreet.privacy.weighing import (
    GRID_BITS,
    squared_norms,
    sums_within_l1,
    sums_within_l2,
    weights_within_l1,
    weights_within_l2,
)

__all__ = ["Cells", "Level", "best_records", "catalog_table", "fresh_key", "moved_by_one"]

Level = Literal["items", "edges"]

USER = Unit("user")
BLOCK = 2**16
MOST_CELLS = 2**31
MOST_RECORDS = 2**22
"""Records that are hashed at a time: some 100 MB of words."""


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
    data
        What they were made from: ids of the users, and the public catalog. Without it users go by their codes.
    """

    user: Codes
    item: Codes
    place: Codes
    n_users: int
    n_items: int
    contexts: tuple[Context, ...]
    may_repeat: bool
    data: Interactions | None = None

    @classmethod
    def of(cls, data: Interactions, contexts: Sequence[Context | str] = ()) -> Cells:
        """Records of which every context has one of its public values; the others are left out."""
        if not data.catalog_is_public:
            raise PrivacyError(
                "counts need a public list of items; these data only show which items occur, and that is secret.",
                remedy=PUBLIC_CATALOG,
            )
        declared = contexts_of(contexts, data)
        if math.prod(len(context.values) for context in declared) * max(data.n_items, 1) >= MOST_CELLS:
            raise UsageError(
                "these contexts and items make more than two thousand million counts.", remedy="Take fewer."
            )
        place = np.zeros(data.item.size, dtype=np.int32)
        unknown = np.zeros(data.item.size, dtype=bool)
        for context in declared:
            codes = context.codes(data)
            place *= len(context.values)
            place += codes
            if codes.size and codes.min() < 0:
                unknown |= codes < 0
        user, item = data.user, data.item
        if unknown.any():
            user, item, place = user[~unknown], item[~unknown], place[~unknown]
        return cls(user, item, place, data.n_users, data.n_items, declared, data.may_repeat, data)

    @property
    def n_places(self) -> int:
        """How many combinations of values the contexts have; 1 without contexts."""
        return math.prod(len(context.values) for context in self.contexts)

    @property
    def one_place_each(self) -> bool:
        """Whether all records of a user have one place: contexts that are facts about users."""
        return all(context.of_user for context in self.contexts)

    @cached_property
    def starts(self) -> Integers:
        """Records of user u are those from ``starts[u]`` to ``starts[u + 1]``."""
        return np.searchsorted(self.user, np.arange(self.n_users + 1, dtype=np.int32)).astype(np.int64)

    @cached_property
    def records_per_user(self) -> Integers:
        return np.diff(self.starts)

    @property
    def not_covered(self) -> tuple[str, ...]:
        """What no guarantee about counts covers."""
        lists = (
            "the public list of items and of the values of contexts" if self.contexts else "the public list of items"
        )
        typed = (TYPES_OF_TABLE,) if any(context.from_table for context in self.contexts) else ()
        return (lists, "facts that would be true without this person's data", *typed)

    @property
    def contexts_as_json(self) -> dict[str, Any]:
        """The contexts as parameters of a release."""
        contexts = {"contexts": {context.name: list(context.values) for context in self.contexts}}
        types = {"context_types": {context.name: context.kind for context in self.contexts}} if self.contexts else {}
        return {**contexts, **types}

    def named(self, what: str) -> str:
        """The subject of a guarantee: what is released, and by which contexts."""
        return what + (f" by {', '.join(context.name for context in self.contexts)}" if self.contexts else "")

    # Which records

    def keep(self, mask: Mask) -> Cells:
        """The records under a mask that was made for each user alone."""
        chosen = np.flatnonzero(mask)
        return replace(self, user=self.user[chosen], item=self.item[chosen], place=self.place[chosen])

    def of_items(self, codes: Integers) -> Cells:
        """The records of some items, given in the order of the catalog, as cells of a catalog of these alone."""
        place = np.full(self.n_items, -1, dtype=np.int32)
        place[codes] = np.arange(codes.size, dtype=np.int32)
        item = place[self.item]
        kept = item >= 0
        return replace(self, user=self.user[kept], item=item[kept], place=self.place[kept], n_items=codes.size)

    def once(self) -> Cells:
        """One record for each user, item and place."""
        if not self.may_repeat:
            return self
        key = self.user.astype(np.int64) * self.size("edges") + self.cell("edges")
        # Without contexts the records stand in this order already.
        order = np.argsort(key, kind="stable") if self.contexts else np.arange(key.size)
        first = np.ones(key.size, dtype=bool)
        first[1:] = np.diff(key[order]) != 0
        keep = np.zeros(key.size, dtype=bool)
        keep[order[first]] = True
        return self.keep(keep)

    def in_one_place(self, data: Interactions) -> Cells:
        """The records of each user in one place: that of a record of the data drawn at random, for each user alone.

        A user whose drawn record has none of the public values is left out.
        """
        drawn = Cells.of(cap_records(data, 1).records, self.contexts)
        place = np.full(self.n_users, -1, dtype=np.int32)
        place[drawn.user] = drawn.place
        return self.keep(self.place == place[self.user])

    def words(self, rows: AnyIntegers, key: Key) -> NDArray[np.uint64]:
        """A keyed hash of person, record and occurrence for all records of some users (``privacy.choosing``)."""
        user = self.user[rows]
        # Items and places are public, and records of one user that agree in both count alike.
        cell = self.item[rows].astype(np.uint64) * np.uint64(self.n_places) + self.place[rows].astype(np.uint64)
        words = keyed_words(key, [self._people[user], cell])
        return numbered(user, words) if self.may_repeat else words

    @cached_property
    def _people(self) -> NDArray[np.uint64]:
        """A word for each user that follows from the user's id alone."""
        return np.arange(self.n_users, dtype=np.uint64) if self.data is None else id_words(self.data.users)

    # Tables: the shape that counts and lists are released in

    def table(self, codes: AnyIntegers | None = None, **columns: NDArray[Any] | pl.Series) -> pl.DataFrame:
        """Items (all of the catalog unless codes are given) with their ids, public titles and more columns."""
        assert self.data is not None
        return catalog_table(self.data, codes, **columns)

    def place_columns(self, place: AnyIntegers) -> dict[str, pl.Series]:
        """The values of the contexts at these places, one column a context; the last context runs fastest."""
        if not self.contexts:
            return {}
        codes = np.unravel_index(place, tuple(len(context.values) for context in self.contexts))
        return {
            context.name: pl.Series(code.astype(np.uint32)).cat.to(pl.Enum(context.values))
            for context, code in zip(self.contexts, codes, strict=True)
        }

    # Sums

    def size(self, level: Level) -> int:
        """How many counts there are."""
        return self.n_items * (self.n_places if level == "edges" else 1)

    def cell(self, level: Level) -> AnyIntegers:
        """The count that each record belongs to."""
        return self.item if level == "items" or self.n_places == 1 else self._cells(slice(None))

    def totals(
        self, level: Level, weight: AnyIntegers | None = None, *, user_weight: AnyIntegers | None = None
    ) -> Integers:
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
            unit=USER,
            caps=caps,
        )

    def within(self, level: Level, cap: int | Fraction, norm: int, *, bits: int = GRID_BITS) -> BoundedSums:
        """Counts in which one user weighs at most ``cap``: in all (norm 1), or in squared length (norm 2).

        Of T records each weighs min(1, cap/T); for norm 2 the root of that, with the squared length in the place of T.
        Lengths are those over items, which are at least as large as those over edges: both levels take equal weights.
        """
        if norm == 1:
            weight = weights_within_l1(self.records_per_user, int(cap), bits=bits)
        else:
            norms = squared_norms(self.user, self.item, self.starts, may_repeat=self.may_repeat)
            weight = weights_within_l2(norms, Fraction(cap), bits=bits)
        return self.bounded(self.totals(level, user_weight=weight), cap, norm, bits=bits)

    def bounded(self, sums: Integers, cap: int | Fraction, norm: int, *, bits: int = GRID_BITS) -> BoundedSums:
        """Sums of weights of which those of one user keep to the cap, as ``within`` and ``leaning_weights`` do it."""
        if norm == 1:
            return sums_within_l1(sums, int(cap), may_repeat=self.may_repeat, bits=bits)
        return sums_within_l2(sums, Fraction(cap), may_repeat=self.may_repeat, bits=bits)


def moved_by_one(values: Integers, l1: int) -> BoundedSums:
    """Whole numbers of which one user raises at most ``l1`` by 1 each."""
    bound = Fraction(l1)
    return BoundedSums(
        values=values,
        step=Fraction(1),
        l1=bound,
        l2_squared=bound,
        linf=Fraction(1),
        nonnegative=True,
        unit=USER,
        caps=(),
    )


# A bounded number of records of each user


def fresh_key() -> Key:
    """A new key for one choice of records of all users. With one key the choice is that for any parts of them."""
    return entropy.bounding_key()


def best_records(
    cells: Cells, cap: int, score: Integers | None = None, key: Key | None = None, *, own: Integers | None = None
) -> Mask:
    """Mask of the ``cap`` records of each user whose items have the highest scores, ties uniformly at random.

    Every user is treated alone, given public values and a fresh key (``docs/proofs/counting.md``, Theorem 1).

    Parameters
    ----------
    score
        One whole number an item; public or released. Without one the choice is uniform.
    key
        What decides among equal scores; a fresh one unless given.
    own
        In place of scores of items: one whole number a record, each from the same user's records alone.

    Examples
    --------
    >>> cells = Cells(np.zeros(5, np.int32), np.arange(5, dtype=np.int32), np.zeros(5, np.int32), 1, 5, (), False)
    >>> best_records(cells, 2, np.array([4, 0, 7, 5, 1])).tolist()
    [False, False, True, True, False]
    >>> int(best_records(cells, 2).sum())
    2
    """
    from discreet.counting.kernels import choose_best

    key = fresh_key() if key is None else key
    score = np.zeros(cells.n_items, dtype=np.int64) if score is None else score
    kept = np.repeat(cells.records_per_user <= cap, cells.records_per_user)
    for rows, starts in _blocks(cells, cap):
        chosen = np.zeros(rows.size, dtype=np.bool_)
        given = score[cells.item[rows]] if own is None else own[rows]
        choose_best(starts, cap, given, cells.words(rows, key), chosen)
        kept[rows] = chosen
    return kept


def _blocks(cells: Cells, cap: int) -> Iterator[tuple[Integers, Integers]]:
    """Records of users with more than the cap, some users at a time, and where each user's begin among them."""
    crowded = np.flatnonzero(cells.records_per_user > cap)
    sizes = cells.records_per_user[crowded]
    before = np.concatenate([[0], np.cumsum(sizes)])
    first = 0
    while first < crowded.size:
        # At least one user, however many records that takes.
        last = max(first + 1, int(np.searchsorted(before, before[first] + MOST_RECORDS, side="right")) - 1)
        starts = before[first : last + 1] - before[first]
        shift = cells.starts[crowded[first:last]] - starts[:-1]
        yield np.arange(starts[-1]) + np.repeat(shift, sizes[first:last]), starts
        first = last


def _as_text(value: Any) -> str:
    """An id that is neither number nor text; of both in one catalog, text has quotes."""
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else repr(value)


def catalog_table(
    data: Interactions, codes: AnyIntegers | None = None, **columns: NDArray[Any] | pl.Series
) -> pl.DataFrame:
    """A table of items (all of the catalog unless codes are given) with their ids, public titles and more columns."""
    ids = data.items.series
    # Ids that are neither numbers nor text are released as text: a release is plain files.
    named = {"item_id": pl.Series(map(_as_text, ids), dtype=pl.String) if ids.dtype == pl.Object else ids}
    if data.item_table is not None and "title" in data.item_table.columns:
        named["title"] = pl.Series([str(title) for title in data.item_table["title"]], dtype=pl.String)
    table = pl.DataFrame(named)
    return (table if codes is None else table[codes]).with_columns(**{n: pl.Series(c) for n, c in columns.items()})
