"""Everything that is wrong with rows that could not be read, in one error.

Good data never come here. Rows that are missing a value, or have one that cannot be read, are found first; the others
are then compared with the public catalog and with each other.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.catalogs import NOT_IN_CATALOG, side_table
from discreet.data.domains import Domain
from discreet.data.frames import times_within
from discreet.data.id_forms import IdKind, coded
from discreet.data.periods import Window
from discreet.data.problems import LACKING, Found, Missing, Problems
from discreet.data.repeats import SEVERAL_RECORDS, Duplicates
from discreet.data.scales import RatingScale
from discreet.data.screening import lacks_id, wrong_ids, wrong_numbers, wrong_times
from discreet.errors import DiscreetError, RecordsError, Remedy

__all__ = ["DECLARE_ANOTHER", "Columns", "Declared", "all_problems", "values_outside", "wrong_rows", "wrong_triples"]

Mask = NDArray[np.bool_]

DECLARE_ANOTHER = Remedy(
    "Correct the value, or declare another domain with domains=.",
    cli="Correct the value, or declare another domain with --domains FILE.",
)
UNKNOWN_VALUE = Remedy(
    "Declare a value for what is not known, such as '' for a blank field or 'unknown', in the domain.",
    cli='Declare a value for what is not known, such as "" for a blank field or "unknown", in --domains FILE.',
)


class Columns(NamedTuple):
    """The names of the columns of interactions."""

    user: str = "user_id"
    item: str = "item_id"
    rating: str | None = "rating"
    timestamp: str | None = "timestamp"


@dataclass(frozen=True)
class Declared:
    """What the caller declared about interactions."""

    columns: Columns
    kinds: Mapping[str, IdKind | None]
    scale: RatingScale | None
    items: Any
    duplicates: Duplicates
    missing: Missing = "error"
    window: Window | None = None


class Search:
    """A search for all problems of some rows.

    Parameters
    ----------
    frame
        The rows.
    problems
        Where they are counted.
    where
        Keyword arguments of ``Problems.add_rows`` that say where the rows come from.
    """

    def __init__(self, frame: pl.DataFrame, problems: Problems, **where: Any) -> None:
        self.frame, self.problems, self.where = frame, problems, where
        self.rows: NDArray[np.int64] = np.arange(frame.height)
        """The rows that are good so far."""

    def keep(self, mask: Mask) -> None:
        """Leave out rows that do not count."""
        self.rows = self.rows[mask]

    def look(self, *searches: Callable[[pl.DataFrame], list[Found]]) -> None:
        """Count what some searches find among the good rows. Their rows are not good afterwards.

        A search that fails finds nothing: then the column as a whole is wrong, which is another error.
        """
        rows = self.frame[self.rows] if self.rows.size < self.frame.height else self.frame
        found: list[Found] = []
        for search in searches:
            try:
                found += search(rows)
            except (DiscreetError, TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
                continue
        whole = [replace(one, rows=self._spread(one.rows)) for one in found]
        good = self.problems.add_rows(whole, self.frame, **self.where)
        self.rows = self.rows[good[self.rows]]

    def _spread(self, mask: Mask) -> Mask:
        spread = np.zeros(self.frame.height, dtype=bool)
        spread[self.rows[mask]] = True
        return spread


def all_problems(
    frame: pl.DataFrame,
    declared: Declared,
    problems: Problems | None = None,
    *,
    blank: bool | None = None,
    place: Callable[[int], str] = lambda row: f"row {row}",
    **where: Any,
) -> RecordsError | None:
    """The error with all problems of interactions; None where nothing is wrong with single rows.

    Parameters
    ----------
    frame
        The rows as they came.
    problems
        What was found earlier.
    blank
        Whether blank text is a missing id; by default where missing values are dropped.
    place
        A row in words.
    """
    columns, problems = declared.columns, Problems(declared.missing) if problems is None else problems
    blank = declared.missing == "drop" if blank is None else blank
    search = Search(frame, problems, **where)
    if declared.window is not None:
        # Times that cannot be read are found below.
        with contextlib.suppress(DiscreetError, pl.exceptions.PolarsError):
            search.keep(times_within(frame, columns.timestamp, declared.window).to_numpy())
    kinds = declared.kinds
    present = {name for name in columns if name in frame.columns}
    searches: list[Callable[[pl.DataFrame], list[Found]]] = [
        lambda rows: wrong_ids(rows[columns.user], kinds["user"], what="user", blank=blank),
        lambda rows: wrong_ids(rows[columns.item], kinds["item"], what="item", blank=blank),
    ]
    if columns.rating in present:
        searches.append(lambda rows: wrong_numbers(rows[str(columns.rating)], declared.scale))
    if columns.timestamp in present:
        searches.append(lambda rows: wrong_times(rows[str(columns.timestamp)]))
    search.look(*searches)
    search.look(lambda rows: _outside_of_catalog(rows[columns.item], declared))
    if declared.duplicates == "error":
        search.look(lambda rows: _repeated(rows, declared, search.rows, place))
    return problems.error() if problems else None


def _outside_of_catalog(column: pl.Series, declared: Declared) -> list[Found]:
    kind = declared.kinds["item"]
    catalog = side_table(declared.items, column.name, what="item", kind=kind)[0]
    if catalog is None:
        return []
    seen, places = coded(column, kind, what="item")
    outside = catalog.encode(seen.series, unknown="mark")[places] < 0
    return [Found(outside, column.name, "the item is not in the public catalog.", NOT_IN_CATALOG)]


def _repeated(
    rows: pl.DataFrame, declared: Declared, numbers: NDArray[np.int64], place: Callable[[int], str]
) -> list[Found]:
    """Rows that repeat the user and item of an earlier one."""
    user, item = declared.columns.user, declared.columns.item
    users, user_codes = coded(rows[user], declared.kinds["user"], what="user")
    items, item_codes = coded(rows[item], declared.kinds["item"], what="item")
    pairs = pl.DataFrame({"user": user_codes, "item": item_codes}).to_struct("pair")
    repeated = ~pairs.is_first_distinct().to_numpy()
    if not repeated.any():
        return []
    if int(repeated.sum()) == 1:
        row = int(np.argmax(repeated))
        first = int(np.argmax((user_codes == user_codes[row]) & (item_codes == item_codes[row])))
        words = (
            f"user {users.decode([user_codes[row]])[0]!r} has a second record of item "
            f"{items.decode([item_codes[row]])[0]!r}; the first is in {place(int(numbers[first]))}."
        )
        return [Found(repeated, item, words, SEVERAL_RECORDS)]
    what = "the user has a record of this item in an earlier row."
    return [Found(repeated, item, what, SEVERAL_RECORDS, beside=user)]


# Tables


def wrong_rows(
    frame: pl.DataFrame, domains: Mapping[str, Domain], group: str | None, problems: Problems, **where: Any
) -> Mask:
    """Count what is wrong with the rows of a table; returns which of them are good."""
    searches: list[Callable[[pl.DataFrame], list[Found]]] = [
        lambda rows, name=name, domain=domain: _outside(rows[name], domain) for name, domain in domains.items()
    ]
    if group is not None:
        searches.append(lambda rows: wrong_ids(rows[group], None, what="group", blank=problems.missing == "drop"))
    search = Search(frame, problems, **where)
    search.look(*searches)
    return np.isin(np.arange(frame.height), search.rows)


def _outside(column: pl.Series, domain: Domain) -> list[Found]:
    """Where a value is missing (null, NaN, blank text that is not in the domain), and where it is another one."""
    outside = domain.encode(column) < 0
    lacking = lacks_id(column) & outside
    return values_outside(column.name, domain, lacking, outside & ~lacking)


def values_outside(column: str, domain: Domain, lacking: Mask, outside: Mask) -> list[Found]:
    """What is said about values of a table that are missing or not in their domain."""
    return [
        Found(lacking, column, LACKING, UNKNOWN_VALUE, missing=True),
        Found(outside, column, f"the value is outside the declared domain {domain}.", DECLARE_ANOTHER),
    ]


# Tags


def wrong_triples(
    frame: pl.DataFrame,
    columns: Mapping[str, str],
    kinds: Mapping[str, IdKind | None],
    problems: Problems,
    *,
    blank: bool | None = None,
    **where: Any,
) -> None:
    """Count what is wrong with triples, whose columns are given by role."""
    blanks = problems.missing == "drop" if blank is None else blank
    searches: list[Callable[[pl.DataFrame], list[Found]]] = [
        lambda rows, role=role, name=name: wrong_ids(rows[name], kinds[role], what=role, blank=blanks)
        for role, name in columns.items()
    ]
    Search(frame, problems, **where).look(*searches)
