"""MovieLens: 100K, 1M, 10M, and the CSV releases (20M, 25M, 32M, latest).

References
----------
F. M. Harper and J. A. Konstan, "The MovieLens Datasets: History and Context", ACM TiiS 5(4), 2015.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from discreet.data.readers.delimited import read_delimited
from discreet.data.readers.drafts import InteractionsDraft, TagsDraft
from discreet.data.readers.formats import Format, Place, begins_with, first_fields
from discreet.data.readers.layout import Column, Layout, skipped

__all__ = ["FORMATS"]

STARS = "1:5"
HALF_STARS = "0.5:5:0.5"

# In the order of the columns of u.item.
GENRES_100K = (
    "unknown",
    "Action",
    "Adventure",
    "Animation",
    "Children's",
    "Comedy",
    "Crime",
    "Documentary",
    "Drama",
    "Fantasy",
    "Film-Noir",
    "Horror",
    "Musical",
    "Mystery",
    "Romance",
    "Sci-Fi",
    "Thriller",
    "War",
    "Western",
)

_RATING = (
    Column("user_id", "integer", headers=("userId",)),
    Column("item_id", "integer", headers=("movieId",)),
    Column("rating", "number"),
    Column("timestamp", "integer"),
)
_TAG = (
    Column("user_id", "integer", headers=("userId",)),
    Column("resource_id", "integer", headers=("movieId",)),
    Column("tag"),
    *skipped(1),
)
_MOVIE = (
    Column("item_id", "integer", headers=("movieId",)),
    Column("title"),
    Column("genres"),
)
_NO_GENRES = "(no genres listed)"


# 100K


def load_100k(place: Place, *, encoding: str = "latin-1", tables: bool = True) -> InteractionsDraft:
    """Ratings from 1 to 5, with the films and the users."""
    records = read_delimited(place.need("u.data"), Layout(_RATING, separator="\t"))
    items, users = (place.beside("u.item"), place.beside("u.user")) if tables else (None, None)
    return InteractionsDraft(
        records,
        scale=STARS,
        items=None if items is None else _movies_100k(items, encoding),
        users=None if users is None else _users_100k(users, encoding),
    )


def _movies_100k(path: Path, encoding: str) -> pl.DataFrame:
    columns = (
        Column("item_id", "integer"),
        Column("title"),
        Column("release_date", blank=True),
        *skipped(2),
        *(Column(genre, "integer") for genre in GENRES_100K),
    )
    table = read_delimited(path, Layout(columns, separator="|", encoding=encoding)).frame
    named = [pl.when(pl.col(genre) == 1).then(pl.lit(genre)) for genre in GENRES_100K]
    return table.select(
        "item_id", "title", "release_date", genres=pl.concat_str(named, separator="|", ignore_nulls=True)
    )


def _users_100k(path: Path, encoding: str) -> pl.DataFrame:
    columns = (
        Column("user_id", "integer"),
        Column("age", "integer"),
        Column("gender"),
        Column("occupation"),
        Column("zip_code"),
    )
    return read_delimited(path, Layout(columns, separator="|", encoding=encoding)).frame


# 1M and 10M


def load_1m(place: Place, *, encoding: str = "latin-1", tables: bool = True) -> InteractionsDraft:
    """Ratings from 1 to 5, with the films and the users, whose ages and occupations are in codes."""
    draft = _load_dat(place, encoding, tables)
    draft.scale = STARS
    users = place.beside("users.dat") if tables else None
    if users is not None:
        columns = (
            Column("user_id", "integer"),
            Column("gender"),
            Column("age", "integer"),
            Column("occupation", "integer"),
            Column("zip_code"),
        )
        draft.users = read_delimited(users, Layout(columns, separator="::", encoding=encoding)).frame
    return draft


def load_10m(place: Place, *, encoding: str = "utf-8", tables: bool = True) -> InteractionsDraft:
    """Ratings from 0.5 to 5, with the films."""
    draft = _load_dat(place, encoding, tables)
    draft.scale = HALF_STARS
    return draft


def _load_dat(place: Place, encoding: str, tables: bool) -> InteractionsDraft:
    records = read_delimited(place.need("ratings.dat"), Layout(_RATING, separator="::"))
    movies = place.beside("movies.dat") if tables else None
    if movies is None:
        return InteractionsDraft(records)
    return InteractionsDraft(records, items=_movies(movies, Layout(_MOVIE, separator="::", encoding=encoding)))


# 20M, 25M, 32M, latest


def load_csv(place: Place, *, encoding: str = "utf-8", tables: bool = True) -> InteractionsDraft:
    """Ratings from 0.5 to 5, with the films."""
    layout = Layout(_RATING, header=True, quoted=True, encoding=encoding)
    records = read_delimited(place.need("ratings.csv"), layout)
    movies = place.beside("movies.csv") if tables else None
    if movies is None:
        return InteractionsDraft(records, scale=HALF_STARS)
    layout = Layout(_MOVIE, header=True, quoted=True, encoding=encoding)
    return InteractionsDraft(records, scale=HALF_STARS, items=_movies(movies, layout))


def _movies(path: Path, layout: Layout) -> pl.DataFrame:
    return read_delimited(path, layout).frame.with_columns(pl.col("genres").replace(_NO_GENRES, ""))


# Tags of 10M and of the CSV releases


def load_tags(place: Place, *, encoding: str = "utf-8") -> TagsDraft:
    """Tags of films."""
    path = place.need("tags.csv", "tags.dat")
    if begins_with(path, ",", "userId"):
        layout = Layout(_TAG[:3], header=True, quoted=True, encoding=encoding)
    else:
        layout = Layout(_TAG, separator="::", encoding=encoding)
    return TagsDraft(read_delimited(path, layout))


def _is_1m(place: Place) -> bool:
    return _has_double_colons(place.main("ratings.dat")) and place.beside("users.dat") is not None


def _is_10m(place: Place) -> bool:
    # Without either file beside it, ratings.dat does not say which of the two scales it is on.
    return (
        _has_double_colons(place.main("ratings.dat"))
        and place.beside("tags.dat") is not None
        and place.beside("users.dat") is None
    )


def _is_csv(place: Place) -> bool:
    return begins_with(place.main("ratings.csv"), ",", "userId", "movieId", "rating", "timestamp")


def _are_tags(place: Place) -> bool:
    return not place.is_folder and (
        begins_with(place.main("tags.csv"), ",", "userId", "movieId", "tag")
        or _has_double_colons(place.main("tags.dat"))
    )


def _has_double_colons(path: Path | None) -> bool:
    return len(first_fields(path, "::")) == 4


FORMATS = (
    Format(
        "movielens-100k",
        "Interactions",
        "MovieLens 100K: ratings 1:5 with times, movies, users (gender, age, occupation, zip code)",
        "u.data (u.item and u.user beside it)",
        lambda place: place.main("u.data") is not None,
        load_100k,
        aliases=("ml-100k",),
    ),
    Format(
        "movielens-1m",
        "Interactions",
        "MovieLens 1M: ratings 1:5 with times, movies, users (gender, age, occupation, zip code)",
        "ratings.dat separated by ::, with users.dat beside it",
        _is_1m,
        load_1m,
        aliases=("ml-1m",),
    ),
    Format(
        "movielens-10m",
        "Interactions",
        "MovieLens 10M: ratings 0.5:5:0.5 with times, movies",
        "ratings.dat separated by ::, with tags.dat beside it",
        _is_10m,
        load_10m,
        aliases=("ml-10m",),
    ),
    Format(
        "movielens-csv",
        "Interactions",
        "MovieLens 20M, 25M, 32M and latest: ratings 0.5:5:0.5 with times, movies",
        "ratings.csv with the header userId,movieId,rating,timestamp",
        _is_csv,
        load_csv,
        aliases=("ml-20m", "ml-25m", "ml-32m", "ml-latest", "ml-latest-small"),
    ),
    Format(
        "movielens-tags",
        "TagAssignments",
        "MovieLens 10M, 20M, 25M, 32M and latest: tags of movies",
        "the file tags.csv or tags.dat itself (of a whole folder the ratings are read)",
        _are_tags,
        load_tags,
    ),
)
