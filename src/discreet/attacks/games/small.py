"""Games on small datasets of interactions that are made up: is this user, this rating or this value among the data?

Functions here make the two datasets of a game, or turn what an attacker sees into numbers; ``registry`` puts them
together.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from discreet.attacks.games.datasets import Record, added, background_records, crafted
from discreet.attacks.games.game import RECORD, VALUE, Features, NeighboringData, SmallGame, View
from discreet.attacks.games.observing import OBSERVER, predicted, recommended, release_vector, seen
from discreet.common.arrays import Floats

if TYPE_CHECKING:
    from discreet.attacks.engine.targets import Fitted, Target

__all__ = ["AskAgain", "finest_digits"]

CATALOG, LARGE_CATALOG = 40, 300
FEWEST, USUAL, MOST = 3, 6, 20
MANY_TIMES = 300
"""More records of one user than any cap allows."""
MANTISSA = 53
COARSE = 64.0
MOST_DIGITS = 1_000
"""More digits and differences than this are not looked at."""
UNCHANGED = 3
"""After this many equal answers the model is not asked further: it draws nothing when it is asked."""


def touched_items(target: Target) -> int:
    """How many items a canary has: as many as the cap of the target allows, within reason."""
    cap = target.setting("cap", USUAL)
    return min(MOST, max(FEWEST, cap)) if isinstance(cap, int) else USUAL


# Users


def canary(target: Target) -> NeighboringData:
    """A user who touched every other item of a small catalog, and two items that nobody else did.

    There are as many of them as the cap of the target allows, within reason: a canary who uses all that one user may
    moves a release by as much as one user can. From outside an observer asks, who is in both datasets.
    """
    items = 2 * touched_items(target)
    codes = [*range(1, items - 3, 2), items - 2, items - 1]
    own = [("zz-canary", f"i{item}", 1 if item < items // 2 else 5) for item in codes]
    return added(background_records(items=items), own, items=items)


def one_item(target: Target) -> NeighboringData:
    """A user who has touched one item as often as the cap allows, and nobody else has touched it.

    Noise is made for the largest change that a user can cause. A user who spreads it over many counts moves each of
    them by little, and no attacker finds out all that was given away; one who puts it all on one count moves it by the
    scale of its noise times ε. Records may repeat in these datasets; models that refuse that are not asked.
    """
    return _devoted(touched_items(target))


def repeated_item(target: Target) -> NeighboringData:
    """The same with many more records than any cap: it shows whether there is a cap at all."""
    return _devoted(MANY_TIMES)


def _devoted(times: int) -> NeighboringData:
    return added(background_records(items=6), [("zz-devoted", "i5", 5)] * times, items=6, repeats=True)


def seen_together(target: Target, view: View) -> str | None:
    """Predictions and recommendations that a model has both are looked at together."""
    covered = view in ("predictions", "recommendations") and target.views >= {"predictions", "recommendations"}
    return "one-item-both-views looks at both" if covered else None


def active_user(target: Target) -> NeighboringData:
    """All items are equally popular, and everybody has one record; then a user with half of the catalog comes.

    It moves three things that must not depend on one user unless that is paid for: the largest number of records that
    anybody has, which items are the most popular, and which counts are above those of the others.
    """
    others: list[Record] = [(f"u{item:02}", f"i{item}", 5 if item % 2 else 2) for item in range(1, CATALOG)]
    active = [("zz-active", f"i{item}", 5) for item in range(CATALOG // 2, CATALOG)]
    return added([*others, (OBSERVER, "i0", 5)], active, items=CATALOG)


def quiet_user(target: Target) -> NeighboringData:
    """Everybody has half of the catalog; then a user with a single record comes.

    What was taken from the least active user, how many records of each are looked at for instance, falls to one.
    """
    others: list[Record] = [
        (user, f"i{item}", 5 if (place + item) % 2 else 2)
        for place, user in enumerate((OBSERVER, "u0", "u1", "u2"))
        for item in range(CATALOG // 2)
    ]
    return added(others, [("zz-quiet", "i0", 5)], items=CATALOG)


def many_records(target: Target) -> NeighboringData:
    """A few users with three records each; then a user comes who has the whole catalog but for these three items.

    Where each user counts for a limited number of records, most of these records are dropped. Where the limit was
    forgotten, every count moves, and the noise was made for a few of them.
    """
    people = (OBSERVER, "u0", "u1", "u2")
    others: list[Record] = [(user, f"i{item}", 5 if item else 2) for user in people for item in range(3)]
    everything = [("zz-everything", f"i{item}", 5) for item in range(3, LARGE_CATALOG)]
    return added(others, everything, items=LARGE_CATALOG)


def seen_with_sum(view: View, fitted: Fitted, pair: NeighboringData) -> Features:
    """Many small moves in one direction show in the sum."""
    numbers = seen(view, fitted, pair)
    return np.append(np.nansum(numbers), numbers)


# Records


def one_rating(target: Target) -> NeighboringData:
    """A rating of an item that nobody else has rated, by somebody who has rated one other item.

    A small history gives each of its ratings the largest weight that a model may give it. A guarantee about whole users
    covers a record, too, but a game about a whole user tells more about it.
    """
    base = [*background_records(items=12), ("zz-rater", "i0", 5)]
    return added(base, [("zz-rater", "i11", 5)], items=12, unit=RECORD)


def one_value(target: Target) -> NeighboringData:
    """A member of whom all other ratings are known: is the last one the best there is, or the worst?

    Nobody else has rated that item. The observer has rated what the member is known to have rated, in the same way, so
    that a model which goes by similarity tells it what the member thinks. Both datasets have the same records but for
    one value. A guarantee about records that are present or absent covers that at twice its ε, one is removed and
    another one added; a guarantee about values covers it as it stands.
    """
    others = background_records(items=10)
    known = [("zz-member", item, rating) for user, item, rating in others if user == OBSERVER]
    worst, best = (crafted([*others, *known, ("zz-member", "i9", rating)], items=10) for rating in (1, 5))
    return NeighboringData(worst, best, unit=VALUE)


# What several answers of one model give away together


def by_guarantee(target: Target) -> NeighboringData:
    """Two datasets that differ in what the guarantee is about: one user, one record or one value."""
    promise = target.guarantee
    if promise is None or promise.unit.what != "record":
        return canary(target)
    return one_rating(target) if promise.unit.relation == "add-remove" else one_value(target)


@dataclass(frozen=True, kw_only=True)
class AskAgain(SmallGame):
    """The same question many times, and the mean of the answers.

    Noise that is drawn afresh at each call averages out. A guarantee about a fitted model covers all answers that it
    will ever give; one that draws its noise at the call must count its calls, and stop.

    Parameters
    ----------
    asks
        How often the question is asked. A model that gives the same first answers is not asked further.
    """

    asks: int = 100

    def observe(self, fitted: Fitted, pair: NeighboringData) -> Features:
        answers: list[Features] = []
        while len(answers) < self.asks:
            answers.append(super().observe(fitted, pair))
            if len(answers) == UNCHANGED and all(np.array_equal(answers[0], x, equal_nan=True) for x in answers[1:]):
                break
        told = np.array(answers)
        answered = ~np.isnan(told)
        times = answered.sum(axis=0)
        totals = np.where(answered, told, 0.0).sum(axis=0)
        return np.where(times > 0, totals / np.maximum(times, 1), np.nan)


def across_views(view: View, fitted: Fitted, pair: NeighboringData) -> Features:
    """Predictions and scores of recommendations, item by item: their differences and their sums.

    Noise that both share is gone from the difference, and noise that enters them with opposite signs from the sum.
    """
    items = fitted.data.items
    names = items.ids()
    predictions = predicted(fitted.model, OBSERVER, names)
    scores = recommended(fitted.model, OBSERVER, items, n=len(names))[len(names) :]
    return np.concatenate([predictions - scores, predictions + scores, predictions, scores])


# What careless noise leaves behind: digits that are too fine, and differences that have no noise


def lone_items(target: Target) -> NeighboringData:
    """A canary who alone touches most items, none of which is touched by nobody: many places to look at."""
    own = touched_items(target)
    others: list[Record] = [(user, f"i{item}", 5 - 3 * item) for user in (OBSERVER, "u0", "u1") for item in (0, 1)]
    # Both kinds of ratings: lists of good ones and of all of them must differ.
    mine = [("zz-canary", f"i{2 + item}", 1 if item % 2 else 5) for item in range(own)]
    return added(others, mine, items=own + 2)


def traces(view: View, fitted: Fitted, pair: NeighboringData) -> Features:
    """The last digits of what is shown, and differences.

    A number that noise in floating point was added to shows in its lowest digits what it was added to: whether that was
    0 shows most (I. Mironov: On significance of the least significant bits for differential privacy. CCS 2012). Noise
    that two numbers share is gone from their difference.
    """
    items = fitted.data.items
    if view == "white box":
        parts = [release_vector(fitted.released, items, only=name) for name in sorted(fitted.released.parts)]
    else:
        # Recommendations begin with places, which have no digits.
        parts = [seen(view, fitted, pair)[-len(items) :]]
    digits = [finest_digits(vector) for vector in parts]
    # The finest digit of all comes first: which of the numbers shows it is a matter of chance.
    finest = [vector.min(initial=COARSE) for vector in digits]
    # Noise between −1/2 and 1/2 on a count of 0 has digits finer than any sum with a count of 1 or more.
    too_fine = [float((vector < -MANTISSA).sum()) for vector in digits]
    differences = [one - other for one, other in combinations(parts, 2) if one.size == other.size]
    neighbors = [np.diff(vector) for vector in parts]
    found = np.concatenate([finest, too_fine, *digits, *differences, *neighbors])[:MOST_DIGITS]
    shown = any(np.nan_to_num(vector).any() for vector in parts)
    return found if shown else np.full(found.size, np.nan)  # of nothing there are no digits


def finest_digits(numbers: Floats) -> Floats:
    """The place of the lowest binary digit of each number that is not 0: 0 for odd integers, −1 for halves.

    Examples
    --------
    >>> finest_digits(np.array([6.0, 1.5, 0.0, 0.1])).tolist()
    [1.0, -1.0, 64.0, -55.0]
    """
    fraction, exponent = np.frexp(np.where(np.isfinite(numbers), numbers, 0.0))
    digits = np.abs(fraction * 2.0**MANTISSA).astype(np.int64)
    lowest = np.maximum(digits & -digits, 1)
    place = np.log2(lowest.astype(np.float64)) + exponent - MANTISSA
    return np.where(digits == 0, COARSE, place)
