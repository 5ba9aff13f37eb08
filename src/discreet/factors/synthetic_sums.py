"""What is released about whole histories: how long they are, how generous, how rated, and in which contexts.

``docs/proofs/synthetic.md`` proves each bound. Every user's numbers come from that user's records and public lists.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.common.arrays import Codes, Floats, Integers
from discreet.data.contexts import Context
from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale
from discreet.errors import UsageError
from discreet.factors.statistics import BITS, USER, Likes, root_weights
from discreet.models.likes import threshold_of
from discreet.privacy.bounding import BoundedSums, require_named_items
from discreet.privacy.numbers import Rational

__all__ = [
    "GENEROSITY",
    "GROUPS",
    "Histories",
    "Levels",
    "activity_edges",
    "activity_sums",
    "context_sums",
    "generosity_sums",
    "group_of",
    "law_sums",
]

GENEROSITY, GROUPS = 10, (1, 8, 32, 128)
"""Users are counted by the share of their records that are likes, in so many classes, for each group of lengths: those
who rate much are often those who like less of it.
"""

MOST_LEVELS = 21
"""Scales with more ratings than this are cut into twenty equal parts."""

FRACTION_STEP = Fraction(1, 2**BITS)


@dataclass(frozen=True)
class Levels:
    """The ratings that people who do not exist can give: a public list.

    Parameters
    ----------
    values
        Ratings in rising order: those of the scale, or of twenty equal parts of it the ratings nearest to the middles.
    low, step
        Where the first level begins, and how far apart levels are.
    likes
        How many of them, at the upper end, say that an item is liked.
    """

    values: Floats
    low: float
    step: float
    likes: int

    @classmethod
    def of(cls, data: Interactions, positive: Rational | None) -> Levels | None:
        """The levels of a declared scale; None where there is none."""
        threshold = threshold_of(data, positive)
        if data.rating is None or data.scale is None or threshold is None:
            return None
        low, step, many = _grid(data.scale)
        middle = 0.0 if data.scale.step is not None and many <= MOST_LEVELS and step == data.scale.step else 0.5
        values = np.array([float(_on(data.scale, low + step * (place + Fraction(middle)))) for place in range(many)])
        likes = int((values >= float(Fraction(threshold))).sum())
        if likes == 0:
            raise UsageError(
                f"no rating of the scale {data.scale} reaches {threshold}: nobody could like anything.",
                remedy="Lower positive.",
            )
        return cls(values, float(low) - (0.5 * float(step) if middle == 0 else 0.0), float(step), likes)

    def codes(self, ratings: NDArray[np.floating[Any]]) -> Codes:
        """The level of each rating, each by itself."""
        places = np.floor((ratings.astype(np.float64) - self.low) / self.step)
        return np.clip(places, 0, self.values.size - 1).astype(np.int32)


def _on(scale: RatingScale, rating: Fraction) -> Fraction:
    """The rating of a scale that is nearest to this one."""
    return rating if scale.step is None else scale.low + scale.step * round((rating - scale.low) / scale.step)


def _grid(scale: RatingScale) -> tuple[Fraction, Fraction, int]:
    """Low end, step and number of the levels of a scale."""
    if scale.step is not None and scale.width / scale.step < MOST_LEVELS:
        return scale.low, scale.step, int(scale.width / scale.step) + 1
    return scale.low, scale.width / (MOST_LEVELS - 1), MOST_LEVELS - 1


@dataclass(frozen=True)
class Histories:
    """Each user's records of different items, as the sums take them.

    Parameters
    ----------
    records
        One record of each user and item.
    likes, others
        Which of them say that an item is liked, and which do not.
    levels
        Code of the rating of each record; None where there are no ratings on a scale.
    contexts
        For each context the code of each record's value; the last code stands for none of the declared values.
    """

    records: Interactions
    likes: Likes
    others: Likes
    levels: Codes | None
    contexts: tuple[Codes, ...]

    @classmethod
    def of(
        cls, data: Interactions, positive: Rational | None, levels: Levels | None, contexts: tuple[Context, ...]
    ) -> Histories:
        """Each record is judged by itself."""
        records = require_named_items(data, "synthetic interactions")
        if levels is None or records.rating is None:
            every = Likes(records.user, records.item, records.n_users, records.n_items, None)
            likes, others, codes = every, replace(every, user=records.user[:0], item=records.item[:0]), None
        else:
            likes, codes = Likes.of(records, positive), levels.codes(records.rating)
            assert likes.threshold is not None
            not_liked = ~(records.rating >= float(Fraction(likes.threshold)))
            others = replace(likes, user=records.user[not_liked], item=records.item[not_liked])
        values = tuple(_values_of(records, context) for context in contexts)
        return cls(records, likes, others, codes, values)


def _values_of(records: Interactions, context: Context) -> Codes:
    codes = context.codes(records).astype(np.int32)
    return np.where(codes < 0, len(context.values), codes).astype(np.int32)


def activity_edges(n_items: int) -> Integers:
    """The shortest history of each class of lengths: 1, 2, 3, 4, 6, 8, 11, 16 …, by factors of about √2.

    Examples
    --------
    >>> activity_edges(30).tolist()
    [1, 2, 3, 4, 6, 8, 11, 16, 23]
    """
    lengths = {round(2 ** (power / 2)) for power in range(2 * max(1, n_items).bit_length() + 2)}
    return np.array(sorted(length for length in lengths if length <= max(1, n_items)), dtype=np.int64)


def activity_sums(histories: Histories, edges: Integers) -> BoundedSums:
    """How many users have a history of each class of lengths; a user is in one class, or in none without records."""
    counts = histories.records.records_per_user
    classes = np.searchsorted(edges, counts[counts > 0], side="right") - 1
    return _counted_once(classes, edges.size)


def generosity_sums(histories: Histories) -> BoundedSums:
    """How many users with a history of each group of lengths like each tenth of what they rated, group by group.

    A user is in one class, or in none without records.
    """
    records, likes = histories.records, histories.likes
    counts = records.records_per_user
    liked = np.bincount(likes.user, minlength=records.n_users)[counts > 0]
    classes = np.minimum(GENEROSITY * liked // counts[counts > 0], GENEROSITY - 1)
    return _counted_once(group_of(counts[counts > 0]) * GENEROSITY + classes, len(GROUPS) * GENEROSITY)


def group_of(lengths: Integers) -> Integers:
    """The group of each length."""
    return np.searchsorted(GROUPS, lengths, side="right") - 1


def _counted_once(classes: Integers, size: int) -> BoundedSums:
    return BoundedSums(
        values=np.bincount(classes, minlength=size).astype(np.int64),
        step=Fraction(1),
        l1=Fraction(1),
        l2_squared=Fraction(1),
        linf=Fraction(1),
        nonnegative=True,
        unit=USER,
        caps=(),
    )


def law_sums(histories: Histories, codes: Codes, size: int) -> BoundedSums:
    """The sum over users of the shares of their records that have each code: each user adds up to 1 at most.

    A user with c of n records of a code adds ⌊2^bits·c/n⌋ to it.
    """
    counts = histories.records.records_per_user
    # Records are sorted by user, so those of one user and code are found by counting.
    cells, found = np.unique(histories.records.user.astype(np.int64) * size + codes, return_counts=True)
    shares = (found.astype(np.int64) << BITS) // counts[cells // size]
    return BoundedSums(
        values=np.bincount(cells % size, weights=shares, minlength=size).astype(np.int64),
        step=FRACTION_STEP,
        l1=Fraction(2**BITS),
        l2_squared=Fraction(4**BITS),
        linf=Fraction(2**BITS),
        nonnegative=True,
        unit=USER,
        caps=(),
    )


def context_sums(histories: Histories, codes: Codes, size: int) -> BoundedSums:
    """For every item and code the sum of 1/√n over the users of it there, n the number of records of a user."""
    records = histories.records
    weight = root_weights(records.n_items, Fraction(1))[records.records_per_user]
    cells = records.item.astype(np.int64) * size + codes
    values = np.bincount(cells, weights=weight[records.user], minlength=records.n_items * size)
    return BoundedSums(
        values=values.astype(np.int64),
        step=FRACTION_STEP,
        l1=Fraction(2**BITS * (math.isqrt(records.n_items) + 2)),
        l2_squared=Fraction(4**BITS),
        linf=Fraction(2**BITS),
        nonnegative=True,
        unit=USER,
        caps=("each user's records were scaled to a length of 1",),
    )
