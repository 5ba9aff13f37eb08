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
from discreet.errors import DataError, PrivacyError, UsageError
from discreet.privacy import entropy
from discreet.privacy.numbers import Rational, as_fraction, as_positive, plain
from discreet.privacy.units import Unit

__all__ = [
    "BoundedInteractions",
    "BoundedSums",
    "Choice",
    "cap_items",
    "cap_records",
    "check_cap",
    "clip_l2",
    "clip_ratings",
    "distinct_item_counts",
    "distinct_items",
    "on_grid",
    "require_catalog",
    "sum_rows",
    "weigh",
]

Choice = Literal["random", "recent"]

GRID_BITS = 20


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


def weigh(data: Interactions, cap: int, *, bits: int = GRID_BITS) -> BoundedSums:
    """Item counts in which each record of user u weighs min(1, cap/|T_u|), rounded down to the grid 2^−bits.

    What ``cap`` random records of each user would give on average, without the chance. Of T records each weighs
    ⌊2^bits·cap/T⌋ steps, so a user weighs at most cap·2^bits in all: rounding down keeps the bound exact.
    """
    check_cap(cap)
    require_catalog(data, "item counts")
    _check_bits(bits)
    counts = np.maximum(data.records_per_user, 1)
    weight = np.minimum(2**bits, cap * 2**bits // counts)
    values = np.bincount(data.item, weights=weight[data.user], minlength=data.n_items)
    # One item takes at most all records of a user, or one where the public policy admits no repeats.
    linf = cap if data.may_repeat else 1
    return BoundedSums(
        values=values.astype(np.int64),
        step=Fraction(1, 2**bits),
        l1=Fraction(cap * 2**bits),
        l2_squared=Fraction((cap * linf) * 4**bits),
        linf=Fraction(linf * 2**bits),
        nonnegative=True,
        unit=Unit("user"),
        caps=(f"each user's records were weighed down to at most {cap} in all",),
    )


def clip_l2(data: Interactions, norm_squared: Rational, *, bits: int = GRID_BITS) -> BoundedSums:
    """Item counts in which each user's vector is scaled to an L2 norm of at most √norm_squared, on the grid.

    A user whose squared norm is s gets the weight ⌊2^bits·√(norm_squared/s)⌋, found by integer square roots.
    """
    require_catalog(data, "item counts")
    _check_bits(bits)
    bound = as_positive(norm_squared, "norm_squared")
    distinct, inverse = np.unique(_squared_norms(data), return_inverse=True)
    roots = [min(2**bits, math.isqrt(math.floor(bound * 4**bits / int(square)))) for square in distinct]
    weight = np.array(roots, dtype=np.int64)[inverse]
    values = np.bincount(data.item, weights=weight[data.user], minlength=data.n_items)
    total = bound * 4**bits
    one_item = total if data.may_repeat else min(total, Fraction(4**bits))
    return BoundedSums(
        values=values.astype(np.int64),
        step=Fraction(1, 2**bits),
        l1=_sqrt_up_int(total * data.n_items),
        l2_squared=total,
        linf=_sqrt_up_int(one_item),
        nonnegative=True,
        unit=Unit("user"),
        caps=(f"each user's counts were scaled to a squared length of at most {plain(bound)}",),
    )


def on_grid(values: NDArray[np.floating], bits: int) -> NDArray[np.int64]:
    """Real numbers as whole grid steps of 2^−bits, rounded **towards zero**, so that no norm can grow.

    Scaling by a power of two is exact in floating point, and truncation only takes away.

    Examples
    --------
    >>> on_grid(np.array([0.3, -0.3, 1.0]), 3)
    array([ 2, -2,  8])
    """
    if not np.isfinite(values).all():
        raise DataError("a statistic is not a finite number.")
    scaled = np.trunc(np.ldexp(np.asarray(values, dtype=np.float64), bits))
    if scaled.size and np.abs(scaled).max() >= 2**52:
        raise UsageError(f"a grid of 2^−{bits} is too fine for these values.", remedy="Take fewer bits.")
    return scaled.astype(np.int64)


def sum_rows(
    rows: NDArray[np.floating],
    *,
    l2: Rational | None = None,
    l1: Rational | None = None,
    bits: int = GRID_BITS,
    caps: tuple[str, ...] = (),
) -> BoundedSums:
    """The sum of one real vector per user, each first scaled down to a norm bound and put on the grid.

    Floating point may leave a scaled vector a hair too long. The norm is therefore checked in whole grid steps,
    and a vector that is over is shrunk by a grid step in a thousand until it is not.

    Parameters
    ----------
    rows
        One row a user. Each row may depend on that user's records and on public values, on nothing else.
    l2, l1
        The bound on the norm of a row: exactly one of them.
    """
    if (l2 is None) == (l1 is None):
        raise UsageError("say either l2= or l1=.")
    order = 2 if l2 is not None else 1
    bound = as_positive(l2 if l2 is not None else l1, "l2" if l2 is not None else "l1")  # type: ignore[arg-type]
    if bound * 2**bits > 2**31:
        raise UsageError(f"a grid of 2^−{bits} is too fine for a norm of {plain(bound)}.", remedy="Take fewer bits.")
    dense = np.asarray(rows, dtype=np.float64)
    if dense.ndim != 2:
        raise UsageError("give one row a user: an array of two dimensions.")
    # A row that is no vector of numbers counts as nothing; to stop here would tell that it is there.
    dense = np.where(np.isfinite(dense).all(axis=1, keepdims=True), dense, 0.0)
    norms = np.linalg.norm(dense, ord=order, axis=1)
    factor = np.minimum(1.0, float(bound) / np.maximum(norms, np.finfo(float).tiny))
    steps = on_grid(dense * factor[:, None], bits)
    limit = math.floor((bound * 2**bits) ** order)
    # Far enough below the limit the float sum decides; near it whole numbers do.
    lengths = (np.abs(steps).astype(np.float64) ** order).sum(axis=1)
    for row in np.flatnonzero(lengths >= limit * (1 - (dense.shape[1] + 4) * 2.0**-50)):
        while sum(abs(int(x)) ** order for x in steps[row]) > limit:
            steps[row] = np.trunc(steps[row] * (1 - 2.0**-10)).astype(np.int64)
    norm = bound * 2**bits
    width = dense.shape[1]
    return BoundedSums(
        values=steps.sum(axis=0),
        step=Fraction(1, 2**bits),
        l1=norm if order == 1 else _sqrt_up_int(norm**2 * width),
        l2_squared=norm**2,
        linf=norm,
        nonnegative=False,
        unit=Unit("user"),
        caps=(*caps, f"each user's vector was scaled to an L{order} norm of at most {plain(bound)}"),
    )


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


def _squared_norms(data: Interactions) -> NDArray[np.int64]:
    """Σ over items of the squared number of records, for each user, in whole numbers."""
    begins = np.ones(len(data), dtype=bool)
    begins[1:] = (data.user[1:] != data.user[:-1]) | (data.item[1:] != data.item[:-1])
    first = np.flatnonzero(begins)
    repeats = np.diff(np.append(first, len(data)))
    running = np.concatenate([[0], np.cumsum(repeats * repeats)])
    pairs_before = np.searchsorted(first, data.user_starts)
    return np.diff(running[pairs_before])


def _chosen(choice: Choice) -> str:
    return "at random" if choice == "random" else "most recent"


def check_cap(cap: int) -> None:
    if isinstance(cap, bool) or not isinstance(cap, int) or not 1 <= cap <= 10**9:
        raise UsageError(f"cap = {cap!r} must be a whole number of records, at least 1.")


def _check_bits(bits: int) -> None:
    """Sums of at most 2³¹ weights of at most 2^bits must be exact in the float64 that bincount adds in."""
    if not 0 <= bits <= 21:
        raise UsageError(f"a grid of 2^−{bits} is not offered.", remedy="Take from 0 to 21 bits.")


def _float_up(value: Fraction) -> float:
    """The least float that is not below the value."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def _sqrt_up_int(value: Fraction) -> Fraction:
    floor = math.isqrt(math.floor(value))
    return Fraction(floor if floor * floor == value else floor + 1)
