"""The records of a series: what is public about them, and the tables in which they are kept from step to step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
import polars as pl

from discreet.data.fingerprints import cut_by_record
from discreet.data.ids import IdMap, stable_text
from discreet.data.interactions import Interactions
from discreet.data.parted import Parted
from discreet.data.periods import Window
from discreet.data.values import spelled_column
from discreet.errors import PrivacyError, Remedy, UsageError
from discreet.privacy.bounding import require_catalog

__all__ = ["ITEM", "PERSON", "STEP", "TIME", "RecordShape", "held_to", "public_of"]

PERSON, ITEM, RATING, TIME, STEP = "person", "item", "rating", "time", "step"
"""Columns of the tables of a series; ``item`` is the code in the catalog."""


@dataclass(frozen=True, eq=False)
class RecordShape:
    """What is public about the records of a series, settled when it opens.

    Parameters
    ----------
    catalog
        The public items and what is known of them, in the order of their codes.
    scale
        The rating scale as text; None where there is none.
    rated, timed, may_repeat
        Whether records have ratings and times, and whether a person may have several records of one item.
    contexts
        Columns that are counted by.
    of_users
        Those of them that come from the table of users, which has no times.
    name
        What the data are called.
    """

    catalog: pl.DataFrame
    scale: str | None
    rated: bool
    timed: bool
    may_repeat: bool
    contexts: tuple[str, ...] = ()
    of_users: tuple[str, ...] = ()
    name: str = ""

    @classmethod
    def of(cls, data: Interactions, contexts: Sequence[str]) -> RecordShape:
        """The shape of data. Of contexts that are neither columns of the records nor facts about users, the time has
        all that is needed.
        """
        require_catalog(data, "the releases of a series")
        if data.items.series.dtype == pl.Object:
            raise UsageError("a series names its items: their ids must be numbers or text.")
        catalog = pl.DataFrame({"item_id": data.items.series})
        of_users = data.user_table.columns if data.user_table is not None else ()
        kept = {*data.context.columns, *of_users}
        return cls(
            catalog=catalog if data.item_table is None else catalog.hstack(data.item_table),
            scale=None if data.scale is None else str(data.scale),
            rated=data.rating is not None,
            timed=data.timestamp is not None,
            may_repeat=data.may_repeat,
            contexts=tuple(name for name in contexts if name in kept),
            of_users=tuple(name for name in contexts if name in kept and name not in data.context.columns),
            name=data.name,
        )

    @classmethod
    def from_json(cls, facts: Mapping[str, Any], catalog: pl.DataFrame) -> RecordShape:
        lists = {name: tuple(facts[name]) for name in ("contexts", "of_users")}
        return cls(catalog, **{**facts, **lists})

    def to_json(self) -> dict[str, Any]:
        """Everything but the catalog."""
        names = ("scale", "rated", "timed", "may_repeat", "name")
        lists = {"contexts": list(self.contexts), "of_users": list(self.of_users)}
        return {name: getattr(self, name) for name in names} | lists

    @cached_property
    def items(self) -> IdMap:
        return IdMap(self.catalog["item_id"], what="item")

    @cached_property
    def schema(self) -> pl.Schema:
        """Columns and types of a table of records."""
        columns: dict[str, Any] = {
            PERSON: pl.String,
            ITEM: pl.Int32,
            **({RATING: pl.Float64} if self.rated else {}),
            **({TIME: pl.Int64} if self.timed else {}),
            **dict.fromkeys((_column(name) for name in self.contexts), pl.String),
        }
        return pl.Schema(columns)

    @cached_property
    def public(self) -> Interactions:
        """No records, the public lists: what a plan may look at."""
        return self.records(pl.DataFrame(schema=self.schema), may_repeat=self.may_repeat)

    def table(self, data: Interactions) -> pl.DataFrame:
        """The records as a table. Each is treated by itself; records of items outside of the catalog are left out."""
        self._require_alike(data)
        codes = self.items.encode(data.items.series, unknown="mark")[data.item]
        columns: dict[str, Any] = {
            PERSON: _names(data.users).gather(data.user),
            ITEM: pl.Series(codes, dtype=pl.Int32),
        }
        if self.rated:
            assert data.rating is not None
            columns[RATING] = data.rating.astype(np.float64)
        if self.timed:
            columns[TIME] = data.timestamp
        for name in self.contexts:
            # As text, each value by itself: the type of a column may follow from somebody else's value.
            of_user = name in self.of_users
            column = data.user_table[name].gather(data.user) if of_user else data.context[name]  # type: ignore[index]
            columns[_column(name)] = spelled_column(column)
        return pl.DataFrame(columns).cast(self.schema).filter(pl.col(ITEM) >= 0)

    def records(self, table: pl.DataFrame, *, may_repeat: bool) -> Interactions:
        """Records from a table of this shape."""
        columns: dict[str, Any] = {
            "user_id": table[PERSON],
            "item_id": self.items.take(table[ITEM].to_numpy()),
            **({"rating": table[RATING]} if self.rated else {}),
            **({"timestamp": table[TIME]} if self.timed else {}),
            **{name: table[_column(name)] for name in self.contexts},
        }
        return Interactions(
            pl.DataFrame(columns),
            context=self.contexts,
            scale=self.scale,
            duplicates="keep" if may_repeat else "error",
            items=self.catalog,
            name=self.name,
        )

    def _require_alike(self, data: Interactions) -> None:
        """Refuse data that lack what the series was opened with: declared facts, not what occurs in the records."""
        if not isinstance(data, Interactions):
            raise UsageError(f"a series takes Interactions, not {type(data).__name__}.")
        of_users = () if data.user_table is None else data.user_table.columns
        lacking = [
            *(["ratings"] if self.rated and data.rating is None else []),
            *(["times"] if self.timed and data.timestamp is None else []),
            *(name for name in self.contexts if name not in (of_users if name in self.of_users else data.context)),
        ]
        if lacking:
            raise UsageError(
                f"these records have no {lacking[0]}; those that the series was opened with had.",
                remedy="Give every step the same columns.",
            )
        scale = None if data.scale is None else str(data.scale)
        if self.rated and scale != self.scale:
            raise UsageError(f"the scale of these ratings is {scale}; the series was opened with {self.scale}.")


def public_of(data: Interactions | Parted) -> Interactions:
    """Records in memory, or what is public about records in parts."""
    return data.public if isinstance(data, Parted) else data


@overload
def held_to(data: Interactions, window: Window | None) -> Interactions: ...
@overload
def held_to(data: Interactions | Parted, window: Window | None) -> Interactions | Parted: ...
def held_to(data: Interactions | Parted, window: Window | None) -> Interactions | Parted:
    """The records of a window, each kept or left out by its own time; the result has this window.

    Refuses a part in which a record of the window may be missing because of one outside of it.
    """
    if isinstance(data, Parted):
        return _parts_within(data, window)
    if window is None or (data.window is not None and window.covers(data.window)):
        held = data._copy()
    elif data.timestamp is None:
        raise UsageError("records without times cannot be held to a window of time.")
    elif not cut_by_record(data.lineage):
        raise PrivacyError(
            f"these records were cut by a rule about all records of a user, so that records outside of {window} may "
            "have decided about those inside of it.",
            remedy=Remedy(
                "Read them with the window of the series, and cut afterwards: read(…, window=series.window).",
                cli="Read the whole file; the window of the series is applied to it first.",
            ),
        )
    else:
        held = data.filter(window.contains(data.timestamp), independent="record")
    held.window = window
    return held


def _parts_within(data: Parted, window: Window | None) -> Parted:
    if window is not None and (data.window is None or not window.covers(data.window)):
        raise UsageError(
            f"these records are in parts and were not held to {window}, which the series is about.",
            remedy=Remedy(
                "Scan them with the window of the series: scan(…, window=series.window).",
                cli="Leave --window out: the window of the series is applied when the records are read.",
            ),
        )
    held = copy(data)
    held.public = data.public._copy()
    held.public.window = window
    return held


def _column(context: str) -> str:
    return f"context.{context}"


def _names(users: IdMap) -> pl.Series:
    """A text for each id that tells apart ids of different types, and follows from the id alone: whether somebody else
    has an id of another type changes nothing.
    """
    ids = users.series
    if ids.dtype == pl.Object:
        return pl.Series([_name(value) for value in ids.to_list()], dtype=pl.String)
    return ("int:" if ids.dtype == pl.Int64 else "text:") + ids.cast(pl.String)


def _name(value: object) -> str:
    if isinstance(value, str):
        return f"text:{value}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"int:{value}"
    return f"other:{type(value).__name__}:{stable_text(value)}"
