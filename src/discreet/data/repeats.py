"""Several records of one user and item: refused, kept, or made one by a public rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.data.dataset import frozen
from discreet.data.fingerprints import LATEST
from discreet.data.ids import Codes
from discreet.data.scales import check_ratings
from discreet.errors import DataError, Remedy, UsageError

if TYPE_CHECKING:
    from discreet.data.interactions import Interactions

__all__ = [
    "POLICIES",
    "SEVERAL_RECORDS",
    "Duplicates",
    "latest_of_each",
    "repeated_records",
    "require_summable",
    "settle_repeats",
]

Duplicates = Literal["error", "last", "sum", "keep"]
"""What happens to several records of one user and item."""

POLICIES: tuple[Duplicates, ...] = ("error", "last", "sum", "keep")

SEVERAL_RECORDS = Remedy(
    "Choose duplicates='keep' (visits, plays: all of them count), duplicates='last' (ratings: the latest counts) or "
    "duplicates='sum' (quantities: they are added up). With the last two, guarantees about the presence of one record "
    "are then refused.",
    cli="Choose --duplicates keep (visits, plays: all of them count), --duplicates last (ratings: the latest counts) "
    "or --duplicates sum (quantities: they are added up). With the last two, guarantees about the presence of one "
    "record are then refused.",
)
"""The remedy where a user has several records of one item."""


def repeated_records(user: Codes, item: Codes) -> NDArray[np.bool_]:
    """Which records have the user and item of the record before; records are sorted by user, then item."""
    repeated = np.zeros(user.size, dtype=bool)
    repeated[1:] = (user[1:] == user[:-1]) & (item[1:] == item[:-1])
    return repeated


def latest_of_each(repeated: NDArray[np.bool_], timestamp: NDArray[np.int64] | None) -> NDArray[np.bool_]:
    """Mask of one record in each run of repeats: the latest, or the last in order among equals.

    Examples
    --------
    >>> latest_of_each(np.array([False, True, False]), np.array([9, 5, 7]))
    array([ True, False,  True])
    """
    keep = np.ones(repeated.size, dtype=bool)
    keep[:-1] = ~repeated[1:]
    if timestamp is None:
        return keep
    run = np.cumsum(~repeated) - 1
    latest = np.flatnonzero(timestamp == np.maximum.reduceat(timestamp, np.flatnonzero(~repeated))[run])
    keep[:] = False
    keep[latest[np.append(run[latest][1:] != run[latest][:-1], True)]] = True
    return keep


def sum_of_each(repeated: NDArray[np.bool_], rating: NDArray[np.floating]) -> NDArray[np.float64]:
    """The sum of each run of repeats. It does not depend on the order in which the records came.

    Examples
    --------
    >>> sum_of_each(np.array([False, True, False]), np.array([2.0, 3.0, 7.0]))
    array([5., 7.])
    """
    run = np.cumsum(~repeated) - 1
    # Floating-point sums depend on the order of the terms.
    ordered = rating.astype(np.float64)[np.lexsort((rating, run))]
    with np.errstate(over="ignore", invalid="ignore"):  # the caller refuses sums that are not finite
        return np.add.reduceat(ordered, np.flatnonzero(~repeated)) if ordered.size else ordered


def require_summable(policy: Duplicates, *, rated: bool, scaled: bool) -> None:
    """Refuse to add up ratings of a scale, and what is not there; whether anything repeats does not matter."""
    if policy == "sum" and scaled:
        raise UsageError(
            "ratings of a scale cannot be added up.",
            remedy=Remedy(
                "Choose duplicates='last', or leave scale= out where these are quantities.",
                cli="Give --duplicates last, or leave --scale out where these are quantities.",
            ),
        )
    if policy == "sum" and not rated:
        raise UsageError(
            "there are no quantities to add up.",
            remedy=Remedy(
                "Name the column with rating=, or choose duplicates='keep', which counts every record.",
                cli="Name it with --column rating=NAME, or give --duplicates keep, which counts every record.",
            ),
        )


def settle_repeats(data: Interactions, policy: Duplicates) -> None:
    """Make several records of one user and item one, or refuse them; ``data`` are new and changed in place.

    Privacy
    -------
    The record that stays depends on its user's records alone, and there is one for every user and item of them. One
    record more can change another one, so the lineage is marked, whether or not anything repeats.
    """
    require_summable(policy, rated=data.rating is not None, scaled=data.scale is not None)
    repeated = repeated_records(data.user, data.item)
    if policy == "sum" and data.rating is not None:
        data.rating = frozen(data.rating.astype(np.float64))  # whether or not anything repeats
    data.may_repeat = policy == "keep"
    data._repeats = bool(repeated.any())
    if policy in ("last", "sum"):
        data.lineage = (*data.lineage, LATEST)
    if not data._repeats or data.may_repeat:
        return
    if policy == "error":
        row = int(np.argmax(repeated))
        raise DataError(
            f"user {data.users.decode([data.user[row]])[0]!r} has more than one record of item "
            f"{data.items.decode([data.item[row]])[0]!r} ({int(repeated.sum()):,} such records in all).",
            remedy=SEVERAL_RECORDS,
        )
    part = data._part(latest_of_each(repeated, data.timestamp), cut=None)
    if policy == "sum":
        assert data.rating is not None
        total = sum_of_each(repeated, data.rating)
        check_ratings(total, None)
        part = part._rewritten(rating=total)
    # Nothing of the longer records may stay, such as a cached fingerprint.
    vars(data).clear()
    vars(data).update(vars(part))
    data.dropped_duplicates = int(repeated.sum())
