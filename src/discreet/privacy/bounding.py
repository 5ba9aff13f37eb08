"""Bounding: what one person can change is limited before anything is computed, and the limit travels with the data.

Every function here treats each user's records alone. A mechanism that is private for bounded data is then private
for the data as they were, whatever the function does within a user, at random or not (``docs/proofs/bounding.md``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.common.remedies import PUBLIC_CATALOG
from discreet.data.fingerprints import LATEST
from discreet.data.interactions import Interactions
from discreet.errors import PrivacyError, UsageError
from discreet.privacy import entropy
from discreet.privacy.choosing import record_words
from discreet.privacy.units import Unit

__all__ = [
    "BoundedInteractions",
    "BoundedSums",
    "Choice",
    "cap_items",
    "cap_records",
    "check_cap",
    "distinct_item_counts",
    "distinct_items",
    "require_catalog",
    "require_named_catalog",
    "require_named_items",
]

Choice = Literal["random", "recent"]

MOST_CAP = 10**9
"""Whole grid steps of so many records are far from overflowing."""


@dataclass(frozen=True)
class BoundedSums:
    """Sums over users on an integer grid, with what one user can change: the input of every mechanism.

    Parameters
    ----------
    values
        The sums in grid steps.
    step
        What one grid step is worth.
    l1, l2_squared, linf
        Bounds on the norms of one user's contribution, in grid steps.
    nonnegative
        Whether contributions are never negative, so that one more user can only raise each sum.
    unit
        Whose contribution is bounded.
    caps
        The limits that were applied, as phrases for the guarantee.
    """

    values: NDArray[np.int64]
    step: Fraction
    l1: Fraction
    l2_squared: Fraction
    linf: Fraction
    nonnegative: bool
    unit: Unit
    caps: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.values.dtype != np.int64:
            raise UsageError("bounded sums are whole numbers of grid steps (int64).")

    def __add__(self, other: BoundedSums) -> BoundedSums:
        """The sums of two disjoint groups of units together; their bounds must be equal.

        What one unit changes in its own group's sums it changes in the total: the bounds stay
        (``docs/proofs/bounding.md``, "Sums of parts").
        """
        require_same_bounds(self, other, ("step", "l1", "l2_squared", "linf", "nonnegative", "unit", "caps"))
        return replace(self, values=added(self.values, other.values))

    @property
    def arrays(self) -> tuple[NDArray[np.int64], ...]:
        """What adds up; everything else is the same for all parts of the people."""
        return (self.values,)

    def with_arrays(self, arrays: tuple[NDArray[np.int64], ...]) -> BoundedSums:
        """The same bounds for other sums."""
        return replace(self, values=arrays[0])

    @property
    def l1_sensitivity(self) -> Fraction:
        """Largest L1 change by one neighboring step: a replaced user takes one contribution out, puts one in."""
        return self.l1 * (2 if self._exchanged else 1)

    @property
    def l2_sensitivity_squared(self) -> Fraction:
        """Largest squared L2 change; ‖x − y‖² ≤ ‖x‖² + ‖y‖² where x and y are nowhere negative."""
        if not self._exchanged:
            return self.l2_squared
        return self.l2_squared * (2 if self.nonnegative else 4)

    @property
    def linf_sensitivity(self) -> Fraction:
        """Largest change of a single sum."""
        return self.linf * (2 if self._exchanged and not self.nonnegative else 1)

    @property
    def score_range(self) -> Fraction:
        """max − min of the change over all sums: what the exponential mechanism pays for.

        A user who is added to nonnegative sums only raises them, so the range is the largest change itself;
        otherwise changes in both directions can meet.
        """
        return self.linf if self.one_sided else 2 * self.linf_sensitivity

    @property
    def one_sided(self) -> bool:
        """Whether one neighboring step moves all sums in one direction."""
        return self.nonnegative and not self._exchanged

    @property
    def _exchanged(self) -> bool:
        """Whether a step takes one contribution out and puts another in: replaced, or of another value."""
        return self.unit.relation != "add-remove"


@dataclass(frozen=True)
class BoundedInteractions:
    """Interactions of which each user has at most so many.

    Parameters
    ----------
    records
        What is left.
    most_records
        The most records that one user has.
    most_repeats
        The most records that one user has of one item.
    """

    records: Interactions
    most_records: int
    most_repeats: int
    caps: tuple[str, ...]

    def item_counts(self) -> BoundedSums:
        """Records of each item of the public catalog."""
        require_catalog(self.records, "item counts")
        # The most that m records, at most r of one item, can weigh: as many items with r as fit, and the rest.
        full, rest = divmod(self.most_records, self.most_repeats)
        return BoundedSums(
            values=self.records.records_per_item.astype(np.int64),
            step=Fraction(1),
            l1=Fraction(self.most_records),
            l2_squared=Fraction(full * self.most_repeats**2 + rest**2),
            linf=Fraction(min(self.most_records, self.most_repeats)),
            nonnegative=True,
            unit=Unit("user"),
            caps=self.caps,
        )


def added(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sum of two integer arrays of one shape; an error where int64 would overflow."""
    if first.shape != second.shape:
        raise UsageError(f"sums of shapes {first.shape} and {second.shape} do not add up.")
    total = first + second
    if ((first >= 0) == (second >= 0))[(total >= 0) != (first >= 0)].any():
        raise UsageError("these sums are too large to be added up in 64 bits.")
    return total


def require_same_bounds(first: object, second: object, names: tuple[str, ...]) -> None:
    """Refuse to add sums that are bounded differently: the total would have neither bound."""
    if type(first) is not type(second):
        raise TypeError(f"{type(first).__name__} and {type(second).__name__} do not add up")
    for name in names:
        if getattr(first, name) != getattr(second, name):
            raise UsageError(
                f"sums with different {name} do not add up: {getattr(first, name)} and {getattr(second, name)}."
            )


def require_catalog(data: Interactions, what: str) -> None:
    """Refuse to work on the items that happen to occur: which ones do is somebody's secret."""
    if not isinstance(data, Interactions):
        raise UsageError(
            f"{what} are made from Interactions, not from {type(data).__name__}.",
            remedy='Wrap your table: Interactions(table, user="…", item="…").',
        )
    if not data.catalog_is_public:
        raise PrivacyError(
            f"{what} need a public list of items; these data only show which items occur, and that is secret.",
            remedy=PUBLIC_CATALOG,
        )


def require_named_catalog(data: Interactions, what: str) -> None:
    """Refuse data without a public catalog, or with ids that cannot be written."""
    require_catalog(data, what)
    if data.items.series.dtype == pl.Object:
        raise UsageError(
            f"{what} name items in plain files: their ids must be whole numbers or text, all of one kind, and "
            f"{data.items.ids()[0]!r} is of another one, or there are both.",
            remedy="Write the ids of records and catalog as text.",
        )


def require_named_items(data: Interactions, what: str) -> Interactions:
    """Data with a public catalog whose ids can be written, with one record for each user and item."""
    require_named_catalog(data, what)
    return distinct_items(data)


def cap_records(data: Interactions, cap: int, *, choice: Choice = "random") -> BoundedInteractions:
    """At most ``cap`` records of each user, chosen at random or the most recent.

    The choice is by a keyed hash of the person and the record, so that no other user changes it (``choosing``); so are
    ties of time.
    """
    check_cap(cap)
    return BoundedInteractions(
        records=data.filter(_chosen_records(data, cap, choice), independent=True),
        most_records=cap,
        most_repeats=cap if data.may_repeat else 1,
        caps=(f"each user's records were cut to {cap} {_chosen(choice)}",),
    )


def cap_items(data: Interactions, cap: int, *, choice: Choice = "random") -> BoundedInteractions:
    """At most ``cap`` distinct items of each user, one record each (the latest, or the last in order)."""
    bounded = cap_records(distinct_items(data), cap, choice=choice)
    caps = (f"each user's records were cut to {cap} distinct items {_chosen(choice)}",)
    return BoundedInteractions(bounded.records, bounded.most_records, 1, caps)


def distinct_items(data: Interactions) -> Interactions:
    """One record of each user and item: the latest."""
    if not data.may_repeat:
        return data
    last = np.ones(len(data), dtype=bool)
    order = np.arange(len(data))
    if data.timestamp is not None:
        order = np.lexsort((data.timestamp, data.item, data.user))
    last[:-1] = (data.user[1:] != data.user[:-1]) | (data.item[1:] != data.item[:-1])
    keep = np.zeros(len(data), dtype=bool)
    keep[order[last]] = True
    latest = data.filter(keep, independent=True).without_repeats()
    latest.lineage = (*latest.lineage, LATEST)
    return latest


def distinct_item_counts(data: Interactions) -> BoundedSums:
    """How many users touched each item of the public catalog. One user moves each count by at most 1, any number of
    them: made for selection, which needs no other cap.
    """
    require_catalog(data, "item counts")
    if data.may_repeat:
        data = distinct_items(data)
    return BoundedSums(
        values=data.records_per_item.astype(np.int64),
        step=Fraction(1),
        l1=Fraction(data.n_items),
        l2_squared=Fraction(data.n_items),
        linf=Fraction(1),
        nonnegative=True,
        unit=Unit("user"),
        caps=("each user was counted once for each item",),
    )


def _chosen_records(data: Interactions, cap: int, choice: Choice) -> NDArray[np.bool_]:
    """Mask of each user's first ``cap`` records, by a keyed hash or by time, latest first."""
    if choice not in ("random", "recent"):
        raise UsageError(f"there is no choice {choice!r}.", remedy="Choose 'random' or 'recent'.")
    if choice == "recent" and data.timestamp is None:
        raise UsageError("there are no times to choose the most recent by.", remedy="Choose at random.")
    keep = np.ones(len(data), dtype=bool)
    crowded = np.flatnonzero((data.records_per_user > cap)[data.user])
    words = record_words(data, crowded, entropy.bounding_key())
    if data.timestamp is None or choice == "random":
        order = crowded[np.lexsort((words, data.user[crowded]))]
    else:
        # Of records with equal times those that the key puts first are kept.
        order = crowded[np.lexsort((words, -data.timestamp[crowded], data.user[crowded]))]
    starts = np.flatnonzero(np.diff(data.user[order], prepend=-1))
    place = np.arange(order.size) - np.repeat(starts, np.diff(np.append(starts, order.size)))
    keep[order[place >= cap]] = False
    return keep


def _chosen(choice: Choice) -> str:
    return "at random" if choice == "random" else "most recent"


def check_cap(cap: int) -> None:
    """Refuse a number of records that no cap can be."""
    if isinstance(cap, bool) or not isinstance(cap, int) or not 1 <= cap <= MOST_CAP:
        raise UsageError(f"cap = {cap!r} must be a whole number of records, from 1 to {MOST_CAP:,}.")
