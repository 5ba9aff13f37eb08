"""Bounding: what one person can change is limited before anything is computed, and the limit travels with the data.

Every function here treats each user's records alone. A mechanism that is private for bounded data is then private
for the data as they were, whatever the function does within a user, at random or not (``docs/proofs/bounding.md``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.data.interactions import Interactions
from discreet.errors import PrivacyError, UsageError
from discreet.privacy import entropy
from discreet.privacy.numbers import Rational, as_fraction
from discreet.privacy.units import Unit

__all__ = [
    "BoundedInteractions",
    "BoundedSums",
    "Choice",
    "cap_items",
    "cap_records",
    "check_cap",
    "clip_ratings",
    "distinct_item_counts",
    "distinct_items",
    "require_catalog",
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
            remedy=(
                "Give the catalog (Interactions(…, items=…) or data.with_catalog(ids); on the command line --catalog "
                'FILE), or declare that it is public knowledge which items occur: data.with_catalog("observed") or '
                "--items-public."
            ),
        )


def cap_records(data: Interactions, cap: int, *, choice: Choice = "random") -> BoundedInteractions:
    """At most ``cap`` records of each user, chosen at random or the most recent.

    Ties of time go by item, an order that no other user can change.
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
    return data.filter(keep, independent=True).without_repeats()


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


def clip_ratings(data: Interactions, low: Rational, high: Rational) -> Interactions:
    """Ratings or weights moved into a public range; the range becomes the scale."""
    from discreet.data.scales import RatingScale

    if data.rating is None:
        raise UsageError("there are no ratings to clip.")
    least, most = as_fraction(low, "low"), as_fraction(high, "high")
    if least >= most:
        raise UsageError(f"the range from {low} to {high} is empty.")
    ratings = data.rating.astype(np.float64)
    return data.with_ratings(np.clip(ratings, _float_up(least), -_float_up(-most)), RatingScale(least, most, None))


def _chosen_records(data: Interactions, cap: int, choice: Choice) -> NDArray[np.bool_]:
    """Mask of each user's first ``cap`` records, by fresh random keys or by time, latest first."""
    if choice not in ("random", "recent"):
        raise UsageError(f"choice={choice!r}?", remedy="Choose 'random' or 'recent'.")
    if choice == "recent" and data.timestamp is None:
        raise UsageError("there are no times to choose the most recent by.", remedy="Choose at random.")
    keep = np.ones(len(data), dtype=bool)
    crowded = np.flatnonzero((data.records_per_user > cap)[data.user])
    key = (
        entropy.random_words(crowded.size) if data.timestamp is None or choice == "random" else -data.timestamp[crowded]
    )
    order = crowded[np.lexsort((data.item[crowded], key, data.user[crowded]))]
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


def _float_up(value: Fraction) -> float:
    """The least float that is not below the value."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
