"""Check-ins of people with habits, weekly patterns, and a few very active users."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.common.arrays import AnyFloats, AnyIntegers, Codes, Integers
from discreet.data.interactions import Interactions
from discreet.data.splits import seeded
from discreet.data.synthetic.drawing import (
    WeightedRows,
    check_size,
    drawn,
    long_tail,
    numbered,
    owners,
    shared_out,
    zipf_weights,
)
from discreet.data.synthetic.names import PLACE_KINDS, place_names
from discreet.data.values import WEEKDAYS

__all__ = ["CheckinTruth", "checkin_world", "checkins"]

# Share of the visits on each day from Monday to Sunday, usual hour, share of the places, and attraction.
_KINDS: dict[str, tuple[tuple[int, ...], int, float, float]] = {
    "Bar": ((4, 5, 8, 12, 28, 32, 11), 21, 0.10, 1.2),
    "Cafe": ((13, 13, 13, 14, 15, 17, 15), 10, 0.14, 1.3),
    "Church": ((2, 2, 4, 2, 3, 10, 77), 10, 0.04, 0.6),
    "Cinema": ((9, 14, 10, 10, 19, 23, 15), 20, 0.03, 1.5),
    "Gym": ((19, 17, 18, 16, 11, 11, 8), 18, 0.07, 1.2),
    "Market": ((11, 11, 12, 13, 18, 25, 10), 17, 0.13, 1.5),
    "Museum": ((2, 11, 12, 13, 14, 25, 23), 14, 0.04, 0.8),
    "Office": ((21, 21, 20, 19, 16, 2, 1), 9, 0.14, 1.0),
    "Park": ((8, 8, 8, 9, 11, 27, 29), 15, 0.08, 1.1),
    "Restaurant": ((8, 9, 11, 13, 20, 23, 16), 19, 0.17, 1.0),
    "Stadium": ((2, 7, 10, 6, 10, 40, 25), 18, 0.01, 3.0),
    "Station": ((17, 17, 17, 17, 17, 8, 7), 8, 0.05, 4.0),
}
_DISTRICTS = ("Old Town", "Harbor", "University", "North Side", "Garden Hill", "Mill Quarter", "Riverside", "West End")

FAVORITES = 25  # places that a user returns to
HABIT = 0.85  # share of the visits that go to them
NEARBY = 0.75  # share of the favorites in the home district
MONDAY, WEEKS = 1_333_324_800, 46  # 2 April 2012
HEAVY = (200, 60, 20)  # visits of the three heaviest users, in medians


@dataclass(frozen=True)
class CheckinTruth:
    """The parameters that the visits were drawn with. Arrays follow the codes of the data.

    Attributes
    ----------
    popularity
        Probability of each place in visits that are not to a favorite; sums to one.
    weekday
        Probability of Monday to Sunday for a visit of each place; one row per place.
    favorites
        The places that each user returns to, the most frequent first; one row per user. A place may be listed twice.
    favorite_weights
        Probability of the first, the second … favorite; the same for all users; sums to one.
    heavy
        Codes of the users with very many visits.
    """

    popularity: AnyFloats
    weekday: AnyFloats
    favorites: Codes
    favorite_weights: AnyFloats
    heavy: Codes

    def visit(self, user: AnyIntegers) -> AnyFloats:
        """Probability of each place for a visit of a user; one row per user."""
        user = np.atleast_1d(user)
        chosen = np.tile((1 - HABIT) * self.popularity, (user.size, 1))
        rows = np.repeat(np.arange(user.size), FAVORITES)
        habit = np.tile(HABIT * self.favorite_weights, user.size)
        np.add.at(chosen, (rows, self.favorites[user].ravel()), habit)
        return chosen


def checkins(
    *, users: int = 2_000, items: int = 400, records: int | None = None, busiest: int | None = None, seed: int
) -> Interactions:
    """Visits of places, repeats kept, each with its time and weekday.

    Parameters
    ----------
    users, items
        Number of users and places.
    records
        Number of visits; by default sixty per user.
    busiest
        Number of visits of the busiest user. The others then have fewer by a power of their rank, at least one each, as
        in real check-ins; without it, three users have very many and the others a log-normal number.
    seed
        The same seed gives the same data.

    Notes
    -----
    Most visits are to a few favorites, most of them in the home district; the weekday depends on the kind of the place.
    Without ``busiest`` three users have 200, 60 and 20 times the visits of the median, each up to a fifth of all
    records, to show what a cap on contributions does. The list of places is public; the district where a user lives is
    not. A city of the size of real check-ins: ``checkins(users=7_115, items=21_509, records=138_957, busiest=1_794,
    seed=7)``.

    Examples
    --------
    >>> checkins(users=100, items=50, seed=7)
    Interactions('checkins': 6,000 records, 100 users, 50 items, times, weekday)
    >>> int(checkins(users=100, items=50, records=1_000, busiest=200, seed=7).records_per_user.max())
    200
    """
    return checkin_world(users=users, items=items, records=records, busiest=busiest, seed=seed)[0]


def checkin_world(
    *, users: int = 2_000, items: int = 400, records: int | None = None, busiest: int | None = None, seed: int
) -> tuple[Interactions, CheckinTruth]:
    """The same visits as ``checkins``, and the parameters that they were drawn with."""
    n_users, n_items = check_size(users, "users", least=1), check_size(items, "items", least=1)
    n_records = 60 * n_users if records is None else check_size(records, "records", least=n_users)
    generator = seeded(seed, "checkins")

    kind, district, truth, home = _city(n_users, n_items, generator)
    if busiest is None:
        counts, heavy = _activity(n_users, n_records, generator)
    else:
        least, most = -(-n_records // n_users), n_records - n_users + 1
        counts, heavy = _by_rank(n_users, n_records, check_size(busiest, "busiest", least=least, most=most), generator)
    truth = CheckinTruth(**truth, heavy=heavy)
    user = owners(counts)
    item = _places(user, truth, generator)
    weekday = WeightedRows(truth.weekday).draw(item, generator)
    timestamp = _times(weekday, kind[item], generator)

    place_ids, user_ids = numbered("place-", n_items), numbered("u", n_users)
    names = pl.Series(list(_DISTRICTS))
    data = Interactions(
        {
            "user_id": user_ids.gather(user),
            "item_id": place_ids.gather(item),
            "timestamp": timestamp,
            "weekday": pl.Series(WEEKDAYS, dtype=pl.Enum(WEEKDAYS)).gather(weekday),
        },
        context=["weekday"],
        duplicates="keep",
        items=pl.DataFrame(
            {
                "item_id": place_ids,
                "title": place_names(kind),
                "kind": pl.Series(list(_KINDS)).gather(kind),
                "district": names.gather(district),
            }
        ),
        users=pl.DataFrame({"user_id": user_ids, "home": names.gather(home)}),
        name="checkins",
    )
    return data, truth


def _city(
    n_users: int, n_items: int, generator: np.random.Generator
) -> tuple[Integers, Integers, dict[str, NDArray], Integers]:
    """Kinds and districts of the places, parameters of places and users, and where the users live."""
    assert tuple(_KINDS) == tuple(PLACE_KINDS)
    days, _, shares, draw = (np.array(column, dtype=float) for column in zip(*_KINDS.values(), strict=True))
    kind = generator.choice(len(_KINDS), n_items, p=shares / shares.sum())
    district = generator.integers(0, len(_DISTRICTS), n_items)
    popularity = zipf_weights(n_items, exponent=0.9, shift=3)[generator.permutation(n_items)] * draw[kind]
    popularity /= popularity.sum()
    weekday = days[kind] * generator.lognormal(0.0, 0.15, (n_items, 7))
    weekday /= weekday.sum(axis=1, keepdims=True)

    home = generator.integers(0, len(_DISTRICTS), n_users)
    # Users of a district without places choose from all districts.
    inside = np.arange(len(_DISTRICTS))[:, None] == district
    rows = WeightedRows(popularity * np.vstack([np.ones(n_items), np.where(inside.any(1, keepdims=True), inside, 1)]))
    nearby = generator.random((n_users, FAVORITES)) < NEARBY
    favorites = rows.draw((nearby * (1 + home[:, None])).ravel(), generator).reshape(nearby.shape)
    truth = {
        "popularity": popularity,
        "weekday": weekday,
        "favorites": favorites.astype(np.int32),
        "favorite_weights": zipf_weights(FAVORITES, exponent=1.2),
    }
    return kind, district, truth, home


def _activity(n_users: int, n_records: int, generator: np.random.Generator) -> tuple[Integers, Codes]:
    """Visits of each user, and the codes of the heavy users."""
    activity = long_tail(n_users, spread=0.9, generator=generator)
    n_heavy = min(len(HEAVY), n_users // 20)
    heavy = generator.permutation(n_users)[:n_heavy].astype(np.int32)
    light = np.ones(n_users, dtype=bool)
    light[heavy] = False
    # With m the median of the light users, their visits and HEAVY · m add up to all records.
    median_share = np.median(activity[light]) / activity[light].sum()
    median = n_records * median_share / (1 + median_share * sum(HEAVY[:n_heavy]))
    most = (n_records - n_users) // 5
    counts = np.zeros(n_users, dtype=np.int64)
    counts[heavy] = [max(1, min(round(times * median), most)) for times in HEAVY[:n_heavy]]
    rest = n_records - int(counts.sum())
    counts[light] = shared_out(rest, activity[light], least=1, most=rest)
    return counts, heavy


def _by_rank(n_users: int, n_records: int, busiest: int, generator: np.random.Generator) -> tuple[Integers, Codes]:
    """Visits of each user, and the codes of the heavy ones: busiest/rank^s, at least 1, with the s that adds up."""
    rank = np.arange(1, n_users + 1)
    low, high = 0.0, 64.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(1, busiest * rank**-middle).sum() > n_records else (low, middle)
    counts = np.full(n_users, busiest, dtype=np.int64)
    above_one = np.maximum(busiest * rank**-high - 1, 0)
    counts[1:] = shared_out(n_records - busiest, above_one[1:], least=1, most=busiest)
    order = generator.permutation(n_users).astype(np.int32)
    visits = np.empty_like(counts)
    visits[order] = counts
    return visits, order[: min(len(HEAVY), n_users // 20)]


def _places(user: Codes, truth: CheckinTruth, generator: np.random.Generator) -> Codes:
    item = truth.favorites[user, drawn(truth.favorite_weights, user.size, generator)]
    strays = np.flatnonzero(generator.random(user.size) >= HABIT)
    item[strays] = drawn(truth.popularity, strays.size, generator)
    return item


def _times(weekday: Integers, kind: Integers, generator: np.random.Generator) -> Integers:
    """Seconds since 1970: any week, the given weekday, near the usual hour of the kind."""
    hour = np.array([hour for _, hour, _, _ in _KINDS.values()], dtype=np.float32)[kind]
    second = (hour * 3_600 + 5_400 * generator.standard_normal(kind.size, dtype=np.float32)).astype(np.int64)
    day = 7 * generator.integers(0, WEEKS, kind.size) + weekday
    return MONDAY + 86_400 * day + np.clip(second, 0, 86_399)
