"""MovieLens: 100K, 1M, 10M, and the CSV releases (20M, 25M, 32M, latest).

References
----------
F. M. Harper and J. A. Konstan, "The MovieLens Datasets: History and Context", ACM TiiS 5(4), 2015.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from discreet.data.readers.formats import Location, begins_with, first_fields
from discreet.data.readers.layout import Column, Layout, skipped
from discreet.data.readers.published import Source, published
from discreet.data.readers.records import Records

__all__ = ["FORMATS"]

STARS, HALF_STARS = "1:5", "0.5:5:0.5"

# In the order of the columns of u.item.
_GENRES = (
    "unknown|Action|Adventure|Animation|Children's|Comedy|Crime|Documentary|Drama|Fantasy|Film-Noir|Horror|Musical|"
    "Mystery|Romance|Sci-Fi|Thriller|War|Western"
)
GENRES_100K = tuple(_GENRES.split("|"))

_USER = Column("user_id", "integer", headers=("userId",))
_MOVIE = Column("item_id", "integer", headers=("movieId",))
_RATING = (_USER, _MOVIE, Column("rating", "number"), Column("timestamp", "integer"))
_TAG = (_USER, Column("resource_id", "integer", headers=("movieId",)), Column("tag"))
_MOVIES = (_MOVIE, Column("title"), Column("genres"))
_MOVIES_100K = (
    *(_MOVIE, Column("title"), Column("release_date", blank=True), *skipped(2)),
    *(Column(genre, "integer") for genre in GENRES_100K),
)
_USERS_100K = (_USER, Column("age", "integer"), Column("gender"), Column("occupation"), Column("zip_code"))
# Ages and occupations are in codes.
_USERS_1M = (*(_USER, Column("gender"), Column("age", "integer"), Column("occupation", "integer"), Column("zip_code")),)


def _named_genres(records: Records, location: Location, encoding: str | None) -> Records:
    """One column of genres from a column of zeros and ones for each."""
    named = [pl.when(pl.col(genre) == 1).then(pl.lit(genre)) for genre in GENRES_100K]
    genres = pl.concat_str(named, separator="|", ignore_nulls=True)
    return records.with_frame(records.frame.select("item_id", "title", "release_date", genres=genres))


def _without_placeholder(records: Records, location: Location, encoding: str | None) -> Records:
    return records.with_frame(records.frame.with_columns(pl.col("genres").replace("(no genres listed)", "")))


def _tag_layout(path: Path, head: str) -> Layout:
    if begins_with(path, ",", "userId"):
        return Layout(_TAG, header=True, quoted=True)
    return Layout((*_TAG, *skipped(1)), separator="::")


def _is_dat(place: Location) -> bool:
    return _has_double_colons(place.main("ratings.dat"))


def _is_tag_file(place: Location) -> bool:
    return not place.is_folder and (
        begins_with(place.main("tags.csv"), ",", "userId", "movieId", "tag")
        or _has_double_colons(place.main("tags.dat"))
    )


def _has_double_colons(path: Path | None) -> bool:
    return len(first_fields(path, "::")) == 4


_DAT = Source(("ratings.dat",), Layout(_RATING, separator="::"))

FORMATS = (
    published(
        "movielens-100k",
        "MovieLens 100K: ratings 1:5 with times, movies, users (gender, age, occupation, zip code)",
        "u.data (u.item and u.user beside it)",
        records=Source(("u.data",), Layout(_RATING, separator="\t")),
        items=Source(("u.item",), Layout(_MOVIES_100K, separator="|", encoding="latin-1"), _named_genres),
        users=Source(("u.user",), Layout(_USERS_100K, separator="|", encoding="latin-1")),
        scale=STARS,
        aliases=("ml-100k",),
    ),
    published(
        "movielens-1m",
        "MovieLens 1M: ratings 1:5 with times, movies, users (gender, age, occupation, zip code)",
        "ratings.dat separated by ::, with users.dat beside it",
        records=_DAT,
        items=Source(("movies.dat",), Layout(_MOVIES, separator="::", encoding="latin-1"), _without_placeholder),
        users=Source(("users.dat",), Layout(_USERS_1M, separator="::", encoding="latin-1")),
        scale=STARS,
        recognize=lambda place: _is_dat(place) and place.beside("users.dat") is not None,
        aliases=("ml-1m",),
    ),
    published(
        "movielens-10m",
        "MovieLens 10M: ratings 0.5:5:0.5 with times, movies",
        "ratings.dat separated by ::, with tags.dat beside it",
        records=_DAT,
        items=Source(("movies.dat",), Layout(_MOVIES, separator="::"), _without_placeholder),
        scale=HALF_STARS,
        # Without tags.dat or users.dat beside it, ratings.dat does not say which of the two scales it is on.
        recognize=lambda place: (
            _is_dat(place) and place.beside("tags.dat") is not None and place.beside("users.dat") is None
        ),
        aliases=("ml-10m",),
    ),
    published(
        "movielens-csv",
        "MovieLens 20M, 25M, 32M and latest: ratings 0.5:5:0.5 with times, movies",
        "ratings.csv with the header userId,movieId,rating,timestamp",
        records=Source(("ratings.csv",), Layout(_RATING, header=True, quoted=True)),
        items=Source(("movies.csv",), Layout(_MOVIES, header=True, quoted=True), _without_placeholder),
        scale=HALF_STARS,
        recognize=lambda place: begins_with(place.main("ratings.csv"), ",", "userId", "movieId", "rating", "timestamp"),
        aliases=("ml-20m", "ml-25m", "ml-32m", "ml-latest", "ml-latest-small"),
    ),
    published(
        "movielens-tags",
        "MovieLens 10M, 20M, 25M, 32M and latest: tags of movies",
        "the file tags.csv or tags.dat itself (of a whole folder the ratings are read)",
        records=Source(("tags.csv", "tags.dat"), _tag_layout),
        tags=True,
        recognize=_is_tag_file,
    ),
)
