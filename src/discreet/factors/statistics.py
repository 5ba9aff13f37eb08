"""What the proved models release: sums over users in whole numbers, with what one user can change.

``docs/proofs/factors.md`` proves each bound. Users are handled one by one in compiled loops, so that the numbers of one
do not depend, not even in their last digits, on who else is in the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from discreet.common.arrays import AnyFloats, Codes, Floats, Integers, Mask, places_of
from discreet.data.ids import group_order
from discreet.data.interactions import Interactions
from discreet.factors.kernels import projected_values, unit_values
from discreet.models.likes import threshold_of
from discreet.privacy.bounding import BoundedSums, require_named_items
from discreet.privacy.gram import DIRECTION_BITS, BoundedGram, ProjectedGram, on_grid
from discreet.privacy.numbers import Rational
from discreet.privacy.units import Unit

__all__ = [
    "COUNT_SHARE",
    "HEAD_BITS",
    "ITEMS_SHARE",
    "POPULARITY_STEP",
    "USER",
    "Likes",
    "NoisyPopularity",
    "Opinions",
    "gram_bounds",
    "head_records",
    "lowest_rating",
    "popularity_sums",
    "projected_gram",
    "rating_height",
    "unit_bounds",
    "unit_gram",
]

BITS = 20
HEAD_BITS = 12
COUNT_SHARE = Fraction(1, 10)
"""Length of the coordinate that counts users, in units of the whole; the items of a user have the rest."""

ITEMS_SHARE = math.sqrt(1 - COUNT_SHARE**2)
USER = Unit("user")

LONGEST = 16
"""So many times as long may a user's vector be before its part along popularity is taken out."""

GRAM_STEP = Fraction(1, 4**HEAD_BITS)
TASTE_CAPS = ("each user's taste was scaled to length 1",)

POPULARITY_STEP = Fraction(1, 2**BITS)

HIGHEST = 2.0
"""The most that a rating says, in units of one at the threshold of a like."""


@dataclass(frozen=True)
class Likes:
    """Who likes what, sorted by user; users and items keep their codes. The threshold is that of ``threshold_of``."""

    user: Codes
    item: Codes
    n_users: int
    n_items: int
    threshold: str | None

    @classmethod
    def of(cls, data: Interactions, positive: Rational | None) -> Likes:
        """The liked items of each user, each once; each record is judged by itself."""
        records = require_named_items(data, "recommendations")
        threshold, liked = threshold_of(records, positive), slice(None)
        if threshold is not None and records.rating is not None:
            liked = records.rating >= float(Fraction(threshold))
        return cls(records.user[liked], records.item[liked], records.n_users, records.n_items, threshold)


@dataclass(frozen=True)
class Opinions:
    """What people like, and what else they rated.

    Parameters
    ----------
    likes
        Who likes what.
    rated
        The same, and who rated what below the threshold.
    values
        How much each record of ``rated`` says: 1 at the threshold.
    """

    likes: Likes
    rated: Likes
    values: Floats

    @classmethod
    def of(cls, data: Interactions, positive: Rational | None, below: Fraction) -> Opinions:
        """Each record is judged by itself: ``rating_height``, times ``below`` where the item is not liked."""
        likes = Likes.of(data, positive)
        records = require_named_items(data, "recommendations")
        if likes.threshold is None or records.rating is None:
            return cls(likes, likes, np.ones(likes.user.size))
        threshold = float(Fraction(likes.threshold))
        values = rating_height(records.rating, threshold, lowest_rating(data))
        values[records.rating < threshold] *= float(below)
        return cls(likes, replace(likes, user=records.user, item=records.item), values)


def lowest_rating(data: Interactions) -> float:
    """The low end of the scale, which is public; 0 where there is none."""
    return 0.0 if data.scale is None else float(data.scale.low)


def rating_height(ratings: AnyFloats, threshold: float, low: float) -> Floats:
    """How far up ratings are: 0 at the low end of the scale, 1 at the threshold of a like, and at most 2.

    Examples
    --------
    >>> rating_height(np.array([1.0, 3.0, 4.0, 5.0]), threshold=4.0, low=1.0).round(2).tolist()
    [0.0, 0.67, 1.0, 1.33]
    """
    liked = ratings >= threshold
    if threshold <= low:
        return liked.astype(np.float64)
    return np.clip((ratings.astype(np.float64) - low) / (threshold - low), liked, HIGHEST)


Records = Interactions | Likes
"""What sums over users are computed from: each user and item once."""


def popularity_sums(data: Records) -> BoundedSums:
    """For every item the sum of 1/√n over its users, n the number of items of a user; and the number of users.

    One user's squared length: n·w_n² ≤ (1 − c²)·4^bits for the items and c²·4^bits for the count, c = COUNT_SHARE.
    """
    counts = np.bincount(data.user, minlength=data.n_users)
    weight = root_weights(data.n_items, 1 - COUNT_SHARE**2)[counts]
    items = np.bincount(data.item, weights=weight[data.user], minlength=data.n_items).astype(np.int64)
    one = math.floor(COUNT_SHARE * 2**BITS)
    return BoundedSums(
        values=np.append(items, one * int((counts > 0).sum())),
        step=POPULARITY_STEP,
        l1=Fraction(2**BITS * (math.isqrt(data.n_items) + 2)),
        l2_squared=Fraction(4**BITS),
        linf=Fraction(2**BITS),
        nonnegative=True,
        unit=USER,
        caps=("each user's records were scaled to a length of 1",),
    )


def root_weights(n_items: int, squared: Fraction) -> Integers:
    """⌊2^bits·√(squared/n)⌋ for n = 0, 1, …, n_items; for n = 0 it is 0. A public table."""
    roots = [math.isqrt(math.floor(squared * 4**BITS / n)) for n in range(1, n_items + 1)]
    return np.array([0, *roots], dtype=np.int64)


@dataclass(frozen=True)
class NoisyPopularity:
    """What released ``popularity_sums`` tell. All of it is post-processing.

    Parameters
    ----------
    items
        Noisy popularity of every item.
    known
        The same, and nothing is as rare as the noise can make it look.
    users
        How many users there are, at least 1.
    noise
        Standard deviation of the sums.
    """

    items: Floats
    known: Floats
    users: float
    noise: float

    @classmethod
    def of(cls, noisy: Floats, noise: float) -> NoisyPopularity:
        items = noisy[:-1] / ITEMS_SHARE
        return cls(items, np.maximum(items, noise), max(1.0, noisy[-1] / float(COUNT_SHARE)), noise)

    def with_more(self, other: NoisyPopularity) -> NoisyPopularity:
        """Both releases of the same sums together, each by how exact it is."""
        share = self.noise**-2 / (self.noise**-2 + other.noise**-2)
        items = share * self.items + (1 - share) * other.items
        users = share * self.users + (1 - share) * other.users
        noise = math.sqrt(share) * self.noise
        return NoisyPopularity(items, np.maximum(items, noise), max(1.0, users), noise)

    def most_popular(self, size: int) -> Codes:
        """Codes of so many items, or of all, in the order of the catalog."""
        return np.sort(np.argsort(-self.items, kind="stable")[:size]).astype(np.int32)


def gram_bounds() -> BoundedGram:
    """An empty matrix with the bounds of ``projected_gram``: what a budget can be checked against."""
    nobody = np.zeros((1, 1), dtype=np.int64)
    return ProjectedGram(nobody, nobody[0], 2**HEAD_BITS, GRAM_STEP, USER, TASTE_CAPS).settled()


def unit_bounds() -> BoundedGram:
    """An empty matrix with the bounds of ``unit_gram``."""
    return _bounded(np.zeros((1, 1), dtype=np.int64))


def head_records(data: Records, head: Codes) -> tuple[Integers, Integers, Mask]:
    """Where each user's records of head items begin, the places of their items in the head, and which records."""
    places = places_of(head, data.n_items)[data.item]
    known = places >= 0
    starts = np.zeros(data.n_users + 1, dtype=np.int64)
    np.cumsum(np.bincount(data.user[known], minlength=data.n_users), out=starts[1:])
    return starts, places[known], known


def projected_gram(
    data: Records, head: Codes, weights: Floats, direction: Floats, values: Floats | None = None
) -> ProjectedGram:
    """Σ_u y yᵀ over users, y the weighted items of a user without their part along a direction, at most of length 1.

    Records weigh as their items do, times their own ``values``, if there are any. A user whose weights are nearly along
    the direction counts for less: what is added up before the direction is taken out is at most ``LONGEST`` times as
    long.
    """
    starts, places, known = head_records(data, head)
    grid, side = on_grid(direction), 2**HEAD_BITS
    weighed = weights[places] if values is None else weights[places] * values[known]
    steps = projected_values(starts, places, weighed, grid, DIRECTION_BITS, side, LONGEST)
    total = _outer_sums(data.user[known], places, starts, steps, head.size)
    return ProjectedGram(total, grid, side, GRAM_STEP, USER, TASTE_CAPS)


def unit_gram(data: Records, head: Codes, values: Floats) -> BoundedGram:
    """Σ_u z zᵀ over users, z the values of a user's records of head items, scaled to length 1 at most."""
    starts, places, known = head_records(data, head)
    steps = unit_values(starts, values[known], 2**HEAD_BITS)
    return _bounded(_outer_sums(data.user[known], places, starts, steps, head.size))


def _outer_sums(user: Codes, places: Integers, starts: Integers, values: Integers, size: int) -> Integers:
    """Σ_u x xᵀ in whole numbers. An entry is below 2³² for each user, so the sums of 2³⁰ users are exact."""
    from discreet.models.gram_kernels import outer_sums

    order, item_starts = group_order(places.astype(np.int32), size)
    above = outer_sums(item_starts, user[order], order.astype(np.int64), starts, places, values)
    return above + np.triu(above, 1).T


def _bounded(total: Integers) -> BoundedGram:
    return BoundedGram(
        matrices=(total,),
        step=GRAM_STEP,
        frobenius_squared=Fraction(4 ** (2 * HEAD_BITS)),
        unit=USER,
        caps=TASTE_CAPS,
    )
