"""The records and parameters of the study of counts from samples."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.counting.cells import Cells, catalog_table
from discreet.counting.contexts import Context, contexts_of
from discreet.data.interactions import Interactions
from discreet.errors import DataError
from discreet.studies.study import Settings

__all__ = ["CountingRun"]

AGES = ("<25", "25-34", "35+")
"""The bands of section 6.3."""

FAVORED = ("M", "m", "male", "Male", "man", "<25", "Tuesday")
"""The paper's examples: lists are shown for these values."""

LENGTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
TOP = 10
MANY, FEW = 30, 10
MANY_FROM = 20


@dataclass(frozen=True)
class CountingRun:
    """Records with a catalog and contexts, and the parameters of section 6.

    Parameters
    ----------
    data
        The records, their catalog declared public.
    contexts
        What edges are counted by.
    cap
        l: 30 where everybody has 20 records or more, as in MovieLens, otherwise 10.
    caps
        Values of l that are tried.
    runs
        Releases of each method.
    epsilon
        The budget of items and edges together.
    single
        The budget of one release of item counts alone.
    as_they_came
        The records before their items were renumbered, where no catalog was declared.
    """

    data: Interactions
    contexts: tuple[Context, ...]
    cap: int
    caps: tuple[int, ...]
    runs: int
    epsilon: Fraction = Fraction(1)
    single: Fraction = Fraction(1, 2)
    delta: Fraction = Fraction(1, 10**6)
    as_they_came: Interactions | None = None

    @classmethod
    def of(cls, data: Interactions, settings: Settings, *, seed: int) -> CountingRun:
        """These records with their contexts and parameters; records that cannot be counted are refused."""
        if len(data) == 0:
            raise DataError("there are no records to count.")
        contexts = contexts_of(_contexts(data), data)
        as_they_came = None
        if not data.catalog_is_public:
            as_they_came = data.with_catalog("observed")
            data = _renumbered(data, np.random.default_rng(seed).permutation(data.n_items))
        fewest = int(data.records_per_user[data.records_per_user > 0].min())
        return cls(
            data=data,
            contexts=contexts,
            cap=MANY if fewest >= MANY_FROM else FEW,
            caps=tuple(cap for cap in settings.caps if cap <= int(data.records_per_user.max())),
            runs=settings.runs,
            as_they_came=as_they_came,
        )

    @cached_property
    def cells(self) -> Cells:
        return Cells.of(self.data, self.contexts)

    @cached_property
    def items(self) -> NDArray[np.int64]:
        """True counts of items."""
        return self.cells.totals("items")

    @cached_property
    def edges(self) -> NDArray[np.int64]:
        """True counts of edges, one row an item."""
        return self.cells.totals("edges").reshape(self.cells.n_items, self.cells.n_places)

    @cached_property
    def code_of(self) -> dict[Any, int]:
        """Codes by the ids that releases have."""
        return {item: code for code, item in enumerate(catalog_table(self.data)["item_id"])}

    @property
    def top(self) -> int:
        """How long lists are."""
        return min(TOP, self.data.n_items)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The K of top-K lists."""
        return tuple(length for length in LENGTHS if length <= self.data.n_items)

    @property
    def has_days(self) -> bool:
        return self.data.timestamp is not None or "weekday" in self.data.context.columns

    @property
    def place(self) -> int:
        """The combination of values that lists are shown for."""
        codes = [next((one.code(v) for v in FAVORED if v in one.values), 0) for one in self.contexts]
        return int(np.ravel_multi_index(codes, [len(one.values) for one in self.contexts]))

    @property
    def place_name(self) -> str:
        codes = np.unravel_index(self.place, [len(one.values) for one in self.contexts])
        return ", ".join(f"{one.name} {one.values[int(code)]}" for one, code in zip(self.contexts, codes, strict=True))


def _renumbered(data: Interactions, number: NDArray[np.int64]) -> Interactions:
    """The same records with new numbers for items, and their ids as titles.

    Items that nobody declared may be numbered in the order they occurred, which is by popularity more or less. The
    Fourier transform goes by the order of the catalog and would profit from that.
    """
    users = None
    if data.user_table is not None:
        users = data.user_table.with_columns(data.users.series.alias("user_id"))
    return Interactions(
        data.to_frame().with_columns(pl.Series("item_id", number[data.item])),
        context=data.context.columns,
        scale=data.scale,
        duplicates="keep" if data.may_repeat else "error",
        items=pl.DataFrame({"item_id": number, "title": data.titles(np.arange(data.n_items))}),
        users=users,
        name=data.name,
    )


def _contexts(data: Interactions) -> list[Context | str]:
    """Gender and age where they are known, otherwise the day of the week, otherwise a column with declared values.

    A study may look the values of gender up: it is for the owner of the records, who knows them.
    """
    about_users: list[Context | str] = []
    users = data.user_table
    if users is not None and "gender" in users.columns:
        values = users["gender"].drop_nulls().cast(pl.String).unique().sort()
        about_users.append(Context("gender", tuple(values)))
    if users is not None and "age" in users.columns and users["age"].cast(pl.Float64, strict=False).is_not_null().any():
        about_users.append(Context("age", AGES))
    if about_users:
        return about_users
    if data.timestamp is not None or "weekday" in data.context.columns:
        return ["weekday"]
    for name, kind in data.context.schema.items():
        if isinstance(kind, pl.Enum):
            return [name]
    raise DataError(
        "these records have no context to count by.",
        remedy="The study needs times, a table of users with gender or age, or a context column with declared values.",
    )
