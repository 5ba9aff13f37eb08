"""Ratings of films, drawn from tastes, quality, popularity and demographics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.common.arrays import AnyFloats, AnyIntegers, Codes, Integers, Mask
from discreet.data.interactions import Interactions
from discreet.data.splits import seeded
from discreet.data.synthetic.drawing import (
    WeightedRows,
    check_size,
    distinct_choices,
    long_tail,
    numbered,
    shared_out,
    zipf_weights,
)
from discreet.data.synthetic.names import GENRES, film_titles

__all__ = ["FilmTruth", "film_world", "films"]

# Standard deviations of the parts of a rating, in stars. With the cuts below, one to five stars are about as frequent
# as on MovieLens: four stars are the most frequent rating.
GENEROSITY, QUALITY, TASTE, MOOD = 0.40, 0.45, 0.55, 0.75
CUTS = (1.75, 2.50, 3.40, 4.45)
MIDDLE = 3.28

TASTES = 8  # kinds of taste
CHANCE = 0.2  # share of the choices by popularity alone
ACTIVITY_SPREAD = 1.1
BEGINNING, YEARS = 1_577_836_800, 3  # 1 January 2020
YEAR = 365 * 86_400
CHUNK = 4_000_000


@dataclass(frozen=True)
class FilmTruth:
    """The parameters that the ratings were drawn with, to compare models with. Arrays follow the codes.

    Attributes
    ----------
    user_factors, item_factors
        Users and films along the dimensions of ``GENRES``; their product is the part of taste in a rating, in stars.
    user_bias, item_quality
        The generosity of each user, and the quality of each film, in stars.
    taste
        The kind of taste of each user.
    popularity
        Probability of each film in choices by popularity alone; sums to one.
    """

    user_factors: AnyFloats
    item_factors: AnyFloats
    user_bias: AnyFloats
    item_quality: AnyFloats
    taste: Codes
    popularity: AnyFloats
    _choices: WeightedRows

    def liking(self, user: AnyIntegers, item: AnyIntegers) -> AnyFloats:
        """How much each user likes the item at the same position, in stars, before noise and rounding."""
        taste = np.einsum("ij,ij->i", self.user_factors[user], self.item_factors[item])
        return MIDDLE + self.user_bias[user] + self.item_quality[item] + taste

    def expected_rating(self, user: AnyIntegers, item: AnyIntegers) -> AnyFloats:
        """Mean rating of each user for the item at the same position: the prediction of the smallest squared error."""
        from scipy.special import ndtr

        liking = self.liking(np.asarray(user), np.asarray(item))
        return 1 + ndtr((liking[:, None] - np.array(CUTS)) / MOOD).sum(axis=1)

    def choice(self, user: AnyIntegers) -> AnyFloats:
        """Probability of each item to be the first choice of a user; one row per user."""
        chance, own = self._choices.probabilities[0], self._choices.probabilities[1 + self.taste[user]]
        return CHANCE * chance + (1 - CHANCE) * own


def films(*, users: int = 3_000, items: int = 500, records: int | None = None, seed: int) -> Interactions:
    """Ratings of films on the scale 1:5, with times, titles, genres, and the gender and age of the users.

    Parameters
    ----------
    users, items
        Number of users and of films.
    records
        Number of ratings; by default about fifty per user, fewer in a small catalog.
    seed
        The same seed gives the same data.

    Notes
    -----
    A user belongs to one of a few kinds of taste, more or less likely by gender and age. Users choose films by
    popularity (Zipf's law) times their taste, each at most once, and rate by quality, taste, generosity and noise. A
    few users rate very many films; many films have few ratings. The catalog is public, gender and age are not.

    Examples
    --------
    >>> films(users=200, items=80, seed=7)
    Interactions('films': 2,000 records, 200 users, 80 items, ratings 1:5:1, times)
    """
    return film_world(users=users, items=items, records=records, seed=seed)[0]


def film_world(
    *, users: int = 3_000, items: int = 500, records: int | None = None, seed: int
) -> tuple[Interactions, FilmTruth]:
    """The same ratings as ``films``, and the parameters that they were drawn with."""
    n_users, n_items = check_size(users, "users", least=1), check_size(items, "items", least=2)
    n_records = _checked_records(records, n_users, n_items)
    generator = seeded(seed, "films")

    genres = _genres(n_items, generator)
    people, gender, age = _people(n_users, generator)
    truth = _truth(genres, gender, age, generator)
    counts = shared_out(
        n_records,
        long_tail(n_users, spread=ACTIVITY_SPREAD, generator=generator),
        least=max(1, n_records // n_users // 6),
        most=min(n_items, max(6 * n_items // 10, ceil(1.25 * n_records / n_users))),
    )
    user, item, rating = _ratings(counts, truth, generator)
    timestamp = _times(counts, user, generator)

    film_ids, user_ids = numbered("film-", n_items), numbered("u", n_users)
    catalog = _catalog(film_ids, genres, generator)
    data = Interactions(
        {
            "user_id": user_ids.gather(user),
            "item_id": film_ids.gather(item),
            "rating": rating,
            "timestamp": timestamp,
        },
        scale="1:5",
        items=catalog,
        users=people.with_columns(user_ids.alias("user_id")),
        name="films",
    )
    return data, truth


def _checked_records(records: int | None, n_users: int, n_items: int) -> int:
    if records is None:
        # A tenth of a small catalog, but enough to learn from.
        return n_users * max(1, min(50, max(n_items // 10, min(10, n_items // 2))))
    return check_size(records, "records", least=n_users, most=min(2**31 - 2, n_users * n_items * 3 // 4))


def _people(n_users: int, generator: np.random.Generator) -> tuple[pl.DataFrame, AnyFloats, AnyFloats]:
    """Gender and age of the users: the table, and the two as numbers around zero."""
    woman = generator.random(n_users) < 0.45
    age = np.clip(np.rint(16 + generator.gamma(2.6, 7.0, n_users)), 16, 90).astype(np.int64)
    table = pl.DataFrame({"gender": np.where(woman, "F", "M"), "age": age})
    return table, np.where(woman, 1.0, -1.0), (age - 34) / 12


def _genres(n_items: int, generator: np.random.Generator) -> Mask:
    """Films × genres: one to three each, the first genres of the list no more common than the last."""
    likely = generator.permutation(zipf_weights(len(GENRES), exponent=0.6))
    clocks = generator.standard_exponential((n_items, len(GENRES))) / likely
    how_many = generator.choice([1, 2, 3], n_items, p=[0.45, 0.4, 0.15])
    return np.argsort(np.argsort(clocks, axis=1), axis=1) < how_many[:, None]


def _truth(genres: Mask, gender: AnyFloats, age: AnyFloats, generator: np.random.Generator) -> FilmTruth:
    n_items, n_genres = genres.shape
    ranks = generator.permutation(n_items)
    popularity = zipf_weights(n_items, exponent=1.1, shift=4 + np.sqrt(n_items) / 2)[ranks]
    fame = _standard(np.log(popularity))
    quality = QUALITY * _standard(0.4 * fame + 0.9 * generator.standard_normal(n_items))
    # Popular films are better; this must not make the mean rating depend on the size of the catalog.
    quality -= popularity @ quality

    item_factors = genres / np.sqrt(genres.sum(axis=1, keepdims=True))
    item_factors = item_factors + 0.15 * generator.standard_normal(item_factors.shape)
    kinds = generator.standard_normal((TASTES, n_genres))
    by_gender, by_age = 0.45 * generator.standard_normal((2, n_genres))
    leaning = np.outer(gender, by_gender) + np.outer(age, by_age)
    # Gumbel noise makes the best fit a draw by softmax.
    fit = leaning @ kinds.T / 2 + generator.gumbel(size=(gender.size, TASTES))
    taste = np.argmax(fit, axis=1).astype(np.int32)
    user_factors = kinds[taste] + leaning + 0.6 * generator.standard_normal((gender.size, n_genres))
    user_factors -= user_factors.mean(axis=1, keepdims=True)
    user_factors *= TASTE / np.sqrt((user_factors**2).mean())

    drawn_to = np.exp(1.5 * _standard(kinds - kinds.mean(axis=1, keepdims=True)) @ item_factors.T)
    return FilmTruth(
        user_factors=user_factors.astype(np.float32),
        item_factors=item_factors.astype(np.float32),
        user_bias=(GENEROSITY * generator.standard_normal(gender.size)).astype(np.float32),
        item_quality=quality.astype(np.float32),
        taste=taste,
        popularity=popularity,
        _choices=WeightedRows(popularity * np.vstack([np.ones(n_items), drawn_to])),
    )


def _ratings(
    counts: Integers, truth: FilmTruth, generator: np.random.Generator
) -> tuple[Codes, Codes, NDArray[np.int8]]:
    """Users, items and ratings, in chunks of users so that memory stays bounded."""
    n_items = truth.popularity.size
    total = int(counts.sum())
    user, item = np.empty(total, dtype=np.int32), np.empty(total, dtype=np.int32)
    rating = np.empty(total, dtype=np.int8)
    ends = np.cumsum(counts)
    for begin, end in _chunks(ends):

        def draw(owner: Codes, begin: int = begin) -> Integers:
            by_taste = generator.random(owner.size) >= CHANCE
            return truth._choices.draw(by_taste * (1 + truth.taste[begin + owner]), generator)

        def weights_of(owner: Codes, begin: int = begin) -> AnyFloats:
            return truth.choice(begin + owner)

        keys = distinct_choices(counts[begin:end], n_items, draw=draw, weights_of=weights_of, generator=generator)
        here = slice(int(ends[begin] - counts[begin]), int(ends[end - 1]))
        user[here], item[here] = keys // n_items + begin, keys % n_items
        liking = truth.liking(user[here], item[here])
        liking += MOOD * generator.standard_normal(keys.size, dtype=np.float32)
        rating[here] = 1 + np.searchsorted(CUTS, liking)
    return user, item, rating


def _chunks(ends: Integers) -> Sequence[tuple[int, int]]:
    """Runs of users with about ``CHUNK`` records each."""
    last = np.searchsorted(ends, np.arange(CHUNK, ends[-1] + CHUNK, CHUNK), side="left") + 1
    stops = np.unique(np.minimum(last, ends.size))
    return list(zip([0, *stops[:-1].tolist()], stops.tolist(), strict=True))


def _times(counts: Integers, user: Codes, generator: np.random.Generator) -> Integers:
    """Seconds since 1970: users join, and rate in sittings of about twenty films."""
    joined = generator.random(counts.size) * YEARS * YEAR
    sittings = 1 + generator.poisson(counts / 20)
    starts = np.cumsum(sittings) - sittings
    # Most sittings come soon after joining.
    offset = (YEARS * YEAR - np.repeat(joined, sittings)) * generator.random(int(sittings.sum())) ** 3
    begins = BEGINNING + (np.repeat(joined, sittings) + offset).astype(np.int64)
    chosen = starts[user] + (generator.random(user.size) * sittings[user]).astype(np.int64)
    return begins[chosen] + generator.integers(0, 3_600, user.size)


def _catalog(film_ids: pl.Series, genres: Mask, generator: np.random.Generator) -> pl.DataFrame:
    year = 2019 - np.minimum(generator.gamma(1.1, 17.0, len(film_ids)), 89).astype(np.int64)
    first = np.argmax(genres * generator.random(genres.shape), axis=1)
    names = np.array(GENRES)
    return pl.DataFrame(
        {
            "item_id": film_ids,
            "title": film_titles(first),
            "year": year,
            "genres": ["|".join(names[row]) for row in genres],
        }
    )


def _standard(values: AnyFloats) -> AnyFloats:
    spread = values.std()
    return (values - values.mean()) / (spread if spread > 0 else 1.0)
